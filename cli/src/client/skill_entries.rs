//! The skills of a server, as `skills/list` has them (SEP-2640, "Listing Skills").

use protomcp_client::{ClientSession, RequestError, ServerRequest};
use protomcp_types::{JsonObject, Params, RawJson, code};
use serde_json::Value;

/// The most pages of the list.
const MAX_PAGES: usize = 1000;

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
    let (mut all, mut cursor) = (Vec::new(), None::<RawJson>);
    for _ in 0..MAX_PAGES {
        let members = cursor.take().map(|cursor| JsonObject::new().with("cursor", cursor)).unwrap_or_default();
        let request = ServerRequest::Other { method: "skills/list".into(), params: Params::Named(members) };
        let page = match session.forward(request).raw().await {
            Err(RequestError::Refused(error)) if error.code == code::METHOD_NOT_FOUND => break,
            page => JsonObject::from_raw(&page?).unwrap_or_default(),
        };
        let entries: Vec<RawJson> = page.member("skills").and_then(|items| items.to().ok()).unwrap_or_default();
        all.extend(entries.into_iter().map(SkillEntry::read));
        cursor = page.member("nextCursor").filter(|next| **next != RawJson::NULL).cloned();
        if cursor.is_none() {
            break;
        }
    }
    Ok(all)
}
