//! Elicitation: requests to the user of a client.

use serde::{Deserialize, Serialize};

use crate::capability::ClientCapabilities;
use crate::method::{ClientMethod, Method};
use crate::raw::RawJson;

/// `elicitation/create` (MCP 2025-11-25, client/elicitation); since 2025-06-18.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Wire", into = "Wire")]
pub struct Elicit {
    /// The text for the user.
    pub message: String,
    /// The form or page.
    pub way: ElicitWay,
    /// Metadata, an object.
    pub meta: Option<RawJson>,
}

/// The mode of an elicitation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ElicitWay {
    /// A form that the client shows.
    Form {
        /// The JSON Schema of the form, a flat object.
        requested_schema: RawJson,
    },
    /// A web page, whose content the client does not see; since 2025-11-25.
    Url {
        /// The page.
        url: String,
        /// The id that announces its completion; empty since 2026-07-28, which has no such notification.
        elicitation_id: String,
    },
}

/// The answer to [`Elicit`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ElicitResult {
    /// The action of the user.
    pub action: ElicitAction,
    /// The values that the user entered, an object; only for an accepted form.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<RawJson>,
    /// Metadata, an object.
    #[serde(default, rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<RawJson>,
}

/// The action of a user.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ElicitAction {
    /// The user submitted the form, or agreed to open the page.
    Accept,
    /// The user declined.
    Decline,
    /// The user dismissed the request.
    Cancel,
}

impl Elicit {
    /// A form with this schema.
    #[must_use]
    pub fn form(message: impl Into<String>, requested_schema: RawJson) -> Self {
        Self { message: message.into(), way: ElicitWay::Form { requested_schema }, meta: None }
    }

    /// A web page.
    #[must_use]
    pub fn url(message: impl Into<String>, url: impl Into<String>, elicitation_id: impl Into<String>) -> Self {
        let way = ElicitWay::Url { url: url.into(), elicitation_id: elicitation_id.into() };
        Self { message: message.into(), way, meta: None }
    }
}

impl Method for Elicit {
    const NAME: &'static str = "elicitation/create";
    type Params = Self;
    type Result = ElicitResult;
}

impl ClientMethod for Elicit {
    fn is_supported_by(params: &Self, capabilities: &ClientCapabilities) -> bool {
        match params.way {
            ElicitWay::Form { .. } => capabilities.has_form_elicitation(),
            ElicitWay::Url { .. } => capabilities.has_url_elicitation(),
        }
    }
}

/// The wire format. A form has no `mode`, which every revision accepts.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Wire {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    mode: Option<String>,
    message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    requested_schema: Option<RawJson>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    url: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    elicitation_id: Option<String>,
    #[serde(default, rename = "_meta", skip_serializing_if = "Option::is_none")]
    meta: Option<RawJson>,
}

impl From<Elicit> for Wire {
    fn from(Elicit { message, way, meta }: Elicit) -> Self {
        let wire = Self { mode: None, message, requested_schema: None, url: None, elicitation_id: None, meta };
        match way {
            ElicitWay::Form { requested_schema } => Self { requested_schema: Some(requested_schema), ..wire },
            ElicitWay::Url { url, elicitation_id } => {
                let elicitation_id = Some(elicitation_id).filter(|id| !id.is_empty());
                Self { mode: Some("url".into()), url: Some(url), elicitation_id, ..wire }
            }
        }
    }
}

impl TryFrom<Wire> for Elicit {
    type Error = &'static str;

    fn try_from(wire: Wire) -> Result<Self, &'static str> {
        let way = match wire.mode.as_deref() {
            None | Some("form") => {
                ElicitWay::Form { requested_schema: wire.requested_schema.ok_or("requestedSchema is missing")? }
            }
            Some("url") => ElicitWay::Url {
                url: wire.url.ok_or("url is missing")?,
                elicitation_id: wire.elicitation_id.unwrap_or_default(),
            },
            Some(_) => return Err("the mode is neither form nor url"),
        };
        Ok(Self { message: wire.message, way, meta: wire.meta })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_and_pages_are_told_apart() {
        let form = Elicit::form("who?", RawJson::parse(r#"{"type":"object"}"#).unwrap());
        let page = Elicit::url("log in", "https://a/b", "7");
        for (elicit, text) in [
            (&form, r#"{"message":"who?","requestedSchema":{"type":"object"}}"#),
            (&page, r#"{"mode":"url","message":"log in","url":"https://a/b","elicitationId":"7"}"#),
        ] {
            assert_eq!(serde_json::to_string(elicit).unwrap(), text);
            assert_eq!(&serde_json::from_str::<Elicit>(text).unwrap(), elicit);
        }
        let explicit = r#"{"mode":"form","message":"who?","requestedSchema":{"type":"object"}}"#;
        assert_eq!(serde_json::from_str::<Elicit>(explicit).unwrap(), form);
        let stateless = r#"{"mode":"url","message":"log in","url":"https://a/b"}"#;
        assert_eq!(serde_json::to_string(&Elicit::url("log in", "https://a/b", "")).unwrap(), stateless);
        assert_eq!(serde_json::from_str::<Elicit>(stateless).unwrap(), Elicit::url("log in", "https://a/b", ""));
        for bad in [r#"{"message":""}"#, r#"{"mode":"url","message":""}"#, r#"{"mode":"x","message":""}"#] {
            assert!(serde_json::from_str::<Elicit>(bad).is_err(), "{bad}");
        }
        let pages_only = serde_json::from_str(r#"{"elicitation":{"url":{}}}"#).unwrap();
        assert!(Elicit::is_supported_by(&page, &pages_only) && !Elicit::is_supported_by(&form, &pages_only));
    }

    #[test]
    fn users_may_say_no() {
        for (text, action) in [
            (r#"{"action":"accept","content":{"a":1}}"#, ElicitAction::Accept),
            (r#"{"action":"decline"}"#, ElicitAction::Decline),
            (r#"{"action":"cancel"}"#, ElicitAction::Cancel),
        ] {
            let result: ElicitResult = serde_json::from_str(text).unwrap();
            assert_eq!(result.action, action);
            assert_eq!(serde_json::to_string(&result).unwrap(), text);
        }
    }
}
