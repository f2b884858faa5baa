//! Notifications of servers, passed on to the sessions that they concern.

use std::sync::{Arc, PoisonError};

use protomcp_server::{Audience, ServerHandle, SessionId, SessionNotice};
use protomcp_types::{Level, Notification, RawJson, method};

use crate::environment::Environment;
use crate::known::Memory;
use crate::list::ListKind;
use crate::reach::Reach;
use crate::running::origin::is_user;
use crate::running::{Caller, Running};

/// The receiver of the notifications of one session with a server.
#[derive(Debug)]
pub(crate) struct Notices {
    pub(crate) reach: Arc<Reach>,
    pub(crate) memory: Memory,
    pub(crate) environment: Arc<Environment>,
    pub(crate) running: Arc<Running>,
    /// The session of the only client; `None`: clients share the session with the server.
    pub(crate) client: Option<SessionId>,
}

impl Notices {
    /// The sessions whose lists come from this session with the server.
    pub(crate) fn audience(&self) -> Audience {
        self.client.map_or(Audience::Everyone, Audience::Session)
    }

    /// Passes a notification on. Does not block.
    pub(crate) fn take(&self, notification: &Notification) {
        let Some(clients) = self.environment.clients() else { return };
        let text = |name: &str| notification.params.member(name).and_then(|raw| raw.to::<String>().ok());
        match notification.method.as_ref() {
            method::TOOLS_CHANGED => {
                self.list_changed(&[ListKind::Tools]);
                clients.tools_changed(self.audience());
            }
            method::RESOURCES_CHANGED => {
                self.list_changed(&[ListKind::Resources, ListKind::Templates]);
                clients.resources_changed(self.audience());
            }
            method::PROMPTS_CHANGED => {
                self.list_changed(&[ListKind::Prompts]);
                clients.prompts_changed(self.audience());
            }
            method::RESOURCE_UPDATED => match text("uri") {
                Some(uri) => self.resource_updated(&uri),
                None => tracing::debug!(server = self.server(), "a notification without a URI is ignored"),
            },
            method::ELICITATION_COMPLETE => {
                let id = text("elicitationId").unwrap_or_default();
                if let Some(client) = self.memory.pages.done(&id) {
                    clients.elicitation_complete(client, &self.environment.page_id(&self.reach, &id));
                }
            }
            method::LOG => self.log(notification),
            other => tracing::debug!(server = self.server(), method = other, "a notification is not passed on"),
        }
    }

    fn server(&self) -> &str {
        self.reach.upstream.name()
    }

    /// Lists that are kept are old from here on.
    fn list_changed(&self, kinds: &[ListKind]) {
        self.memory.known.lock().unwrap_or_else(PoisonError::into_inner).changed(kinds);
    }

    /// Tells the clients that watch a resource that it has changed.
    pub(crate) fn resource_updated(&self, uri: &str) {
        let Some(clients) = self.environment.clients() else { return };
        match self.client {
            None => clients.resource_updated(uri),
            Some(client) => clients.deliver(&Audience::Session(client), SessionNotice::ResourceUpdated(uri)),
        }
    }

    /// A log message goes to the caller that it is taken for, otherwise to a sole owner of everything that is open or was.
    fn log(&self, notification: &Notification) {
        let params = &notification.params;
        let level = params.member("level").and_then(|level| Level::parse(&level.to::<String>().ok()?));
        let (Some(level), Some(data)) = (level, params.member("data")) else { return };
        let logger = self.logger(params.member("logger").and_then(|logger| logger.to().ok()));
        let logger = logger.as_deref();
        match (self.running.caller(), self.client, self.environment.clients()) {
            (Caller::Of(_, context), ..) => context.log(level, logger, data),
            (_, Some(client), Some(clients)) => clients.log(Audience::Session(client), level, logger, data),
            (_, None, Some(clients)) => match self.sole_audience(clients) {
                Some(audience) => clients.log(audience, level, logger, data),
                None => self.keep(level, data),
            },
            _ => self.keep(level, data),
        }
    }

    /// The user that all clients are, or the only client, if no message is for another. Other processes may have
    /// clients of other users, so this is not everyone.
    fn sole_audience(&self, clients: &ServerHandle) -> Option<Audience> {
        match clients.sole_owner() {
            Some(owner) if is_user(&owner) => {
                self.running.are_all(|origin| origin.owner == owner).then_some(Audience::Owner(owner))
            }
            _ => {
                let client = clients.sole_session()?;
                self.running.are_all(|origin| origin.session == client).then_some(Audience::Session(client))
            }
        }
    }

    fn logger(&self, logger: Option<String>) -> Option<String> {
        let server = self.server();
        match logger {
            Some(logger) if self.environment.names_servers => Some(format!("{server}/{logger}")),
            None if self.environment.names_servers => Some(server.to_owned()),
            logger => logger,
        }
    }

    /// A message that may concern any of several callers stays in the log of this program.
    fn keep(&self, level: Level, data: &RawJson) {
        tracing::debug!(server = self.server(), %level, %data, "a log message of a server");
    }
}
