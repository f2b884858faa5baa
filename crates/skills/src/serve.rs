//! Adds skills to a server.

use std::sync::Arc;

use protomcp_server::{Server, ServerInfo, Service};
use protomcp_types::{RawJson, SKILLS_EXTENSION};

use crate::layer::{SkillsLayer, WithSkills};
use crate::skills::Skills;

/// The settings of the extension.
const SETTINGS: &str = r#"{"directoryRead":true}"#;

impl Skills {
    /// A server with these skills: each `SKILL.md` is in `resources/list`, each file is read with `resources/read`, and
    /// `skills/list`, `skills/get` and `resources/directory/read` are answered. Clients are notified of changes; if
    /// several servers have the same skills, the clients of the first one.
    ///
    /// The extension is declared to clients of 2026-07-28, for which it is specified. Earlier revisions have resources
    /// alone: the server declares them itself.
    #[must_use]
    pub fn serve<S: Service>(&self, server: Server<S>) -> Server<WithSkills<Arc<S>>> {
        let sessions = server.handle();
        let mut info = ServerInfo::clone(&sessions.stateless_info());
        if info.capabilities.resources.is_none() {
            info.capabilities = info.capabilities.with_resources();
        }
        let settings = RawJson::parse(SETTINGS).expect("the settings are JSON");
        info.capabilities = info.capabilities.with_extension(SKILLS_EXTENSION, settings);
        sessions.describe_stateless(info);
        self.notify(sessions);
        server.layer(SkillsLayer::new(self.clone()))
    }
}
