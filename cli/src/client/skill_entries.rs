//! The skills of a server, as `skills/list` has them (SEP-2640, "Listing Skills").

use protomcp_client::{ClientSession, RequestError};
use protomcp_types::RawJson;
use serde_json::Value;

use crate::client::elements::elements_if_known;

/// An entry of the list.
pub(super) struct SkillEntry {
    /// The URI of its `SKILL.md`.
    pub(super) uri: String,
    /// Its name; empty if there is none.
    pub(super) name: String,
    /// Its description.
    pub(super) description: Option<String>,
    /// The whole entry.
    pub(super) json: RawJson,
}

impl SkillEntry {
    pub(super) fn read(json: RawJson) -> Self {
        let entry: Value = json.to_value();
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let fields = &entry["frontmatter"];
        Self {
            uri: text(&entry["uri"]).unwrap_or_default(),
            name: text(&fields["name"]).unwrap_or_default(),
            description: text(&fields["description"]),
            json,
        }
    }
}

/// All skills; none if the server does not know the request.
pub(super) async fn skills(session: &ClientSession) -> Result<Vec<SkillEntry>, RequestError> {
    Ok(elements_if_known(session, "skills/list", "skills").await?.into_iter().map(SkillEntry::read).collect())
}
