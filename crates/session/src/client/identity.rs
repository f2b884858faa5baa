//! The description that a client gives of itself: once in a handshake, or with every stateless request.

use protomcp_types::{ClientCapabilities, Implementation, JsonObject, Level, Params, RawJson, TASKS_EXTENSION, meta};

/// The client's identity and capabilities, as the stateless revision writes them.
#[derive(Debug)]
pub(super) struct Identity {
    info: RawJson,
    capabilities: RawJson,
}

impl Identity {
    pub(super) fn new(info: &Implementation, capabilities: &ClientCapabilities) -> Self {
        let capabilities = stateless(capabilities);
        Self {
            info: RawJson::of(info).expect("an implementation has string keys only"),
            capabilities: RawJson::of(&capabilities).expect("capabilities have string keys only"),
        }
    }

    /// Adds the members that every stateless request carries (MCP 2026-07-28, basic). A request of a proxy brings the
    /// identity, the capabilities and the log level of its client; those stay.
    pub(super) fn describe(&self, params: Params, version: &str, level: Option<Level>) -> Params {
        with_meta(params, |meta| {
            meta.insert(meta::PROTOCOL_VERSION, RawJson::text(version));
            let level = level.map(|level| RawJson::text(level.as_str()));
            for (name, value) in [
                (meta::CLIENT_CAPABILITIES, Some(&self.capabilities)),
                (meta::CLIENT_INFO, Some(&self.info)),
                (meta::LOG_LEVEL, level.as_ref()),
            ] {
                if let Some(value) = value.filter(|_| meta.member(name).is_none()) {
                    meta.insert(name, value.clone());
                }
            }
        })
    }
}

/// The parameters of a request that asks for progress under this token.
pub(super) fn with_token(params: Params, token: u64) -> Params {
    with_meta(params, |meta| meta.insert("progressToken", RawJson::of(&token).expect("a number is JSON")))
}

/// The members of parameters; MCP has no others than named ones.
pub(super) fn members(params: Params) -> JsonObject {
    match params {
        Params::Named(members) => members,
        Params::Absent | Params::Positional(_) => JsonObject::new(),
    }
}

fn with_meta(params: Params, change: impl FnOnce(&mut JsonObject)) -> Params {
    let mut members = members(params);
    let meta = members.take("_meta");
    let mut meta = meta.and_then(|meta| JsonObject::from_raw(&meta).ok()).unwrap_or_default();
    change(&mut meta);
    members.insert("_meta", meta.to_body().into_raw());
    members.into()
}

/// The capabilities without the ones of sessions, and with tasks, which every client of ours understands.
fn stateless(capabilities: &ClientCapabilities) -> ClientCapabilities {
    let mut all = ClientCapabilities::new();
    for name in capabilities.names() {
        let Some(value) = capabilities.capability(name) else { continue };
        match name {
            // MCP 2026-07-28, client/roots: no notification announces a change.
            "roots" => all = all.with("roots", RawJson::EMPTY_OBJECT),
            // Tasks have become an extension.
            "tasks" => {}
            _ => all = all.with(name.to_owned(), value.clone()),
        }
    }
    let extensions = all.capability("extensions").and_then(|value| JsonObject::from_raw(value).ok());
    let extensions = extensions.unwrap_or_default().with(TASKS_EXTENSION, RawJson::EMPTY_OBJECT);
    all.with("extensions", extensions.to_body().into_raw())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stateless_request_describes_its_client() {
        let capabilities = serde_json::from_str(r#"{"roots":{"listChanged":true},"sampling":{},"tasks":{}}"#).unwrap();
        let identity = Identity::new(&Implementation::new("host", "1"), &capabilities);
        let params = JsonObject::new().with("a", RawJson::NULL).into();
        let described = with_token(identity.describe(params, "2026-07-28", Some(Level::Info)), 7);
        let expected = r#"{"a":null,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"roots":{},"sampling":{},"extensions":{"io.modelcontextprotocol/tasks":{}}},"io.modelcontextprotocol/clientInfo":{"name":"host","version":"1"},"io.modelcontextprotocol/logLevel":"info","progressToken":7}}"#;
        assert_eq!(members(described).to_body().into_raw().as_str(), expected);
    }

    #[test]
    fn a_request_may_bring_the_identity_of_another_client() {
        let identity = Identity::new(&Implementation::new("proxy", "1"), &ClientCapabilities::new());
        let own = r#"{"io.modelcontextprotocol/clientInfo":{"name":"host"},"io.modelcontextprotocol/protocolVersion":"old","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/logLevel":"error"}"#;
        let params = JsonObject::new().with("_meta", RawJson::parse(own).unwrap()).into();
        let described = identity.describe(params, "2026-07-28", Some(Level::Info));
        let expected = own.replace("\"old\"", "\"2026-07-28\"");
        assert_eq!(members(described).member("_meta").unwrap().as_str(), expected);
    }
}
