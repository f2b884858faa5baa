//! The era of a request: the older revisions have a handshake and sessions, 2026-07-28 has neither.

use http::HeaderMap;
use protomcp_types::{Initialize, Method, ProtocolVersion, RequestMeta};

use crate::headers::{SESSION, VERSION, text};

/// Methods that only the stateless revision has.
const STATELESS_METHODS: [&str; 2] = ["server/discover", "subscriptions/listen"];

/// The way to serve a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Era {
    /// It begins a session.
    Handshake,
    /// It belongs to a session.
    Session,
    /// It belongs to no session.
    Stateless,
}

/// The era of a request; `header` is the revision that the header names.
pub(crate) fn of(method: &str, meta: &RequestMeta, header: Option<&str>) -> Era {
    if meta.is_stateless() {
        return Era::Stateless;
    }
    // `initialize` is a handshake even if the header names another revision.
    if method == Initialize::NAME {
        return Era::Handshake;
    }
    if STATELESS_METHODS.contains(&method) || header.is_some_and(|header| !is_stateful(header)) {
        return Era::Stateless;
    }
    Era::Session
}

/// True if the headers alone name the revision without sessions, for requests without a body.
pub(crate) fn is_sessionless(headers: &HeaderMap) -> bool {
    !headers.contains_key(SESSION) && text(headers, &VERSION).is_some_and(|version| !is_stateful(version))
}

/// The methods of HTTP that are allowed in the era of these headers.
pub(crate) fn methods(headers: &HeaderMap) -> &'static str {
    if is_sessionless(headers) { "POST" } else { "GET, POST, DELETE" }
}

/// True if this names a revision with sessions.
pub(crate) fn is_stateful(version: &str) -> bool {
    ProtocolVersion::parse(version).is_some_and(ProtocolVersion::is_stateful)
}

#[cfg(test)]
mod tests {
    use protomcp_types::{JsonObject, Params, RawJson};

    use super::*;

    #[track_caller]
    fn check(method: &str, meta: &str, header: Option<&str>, expected: Era) {
        let params = match meta {
            "" => Params::Absent,
            meta => JsonObject::new().with("_meta", RawJson::parse(meta.to_owned()).unwrap()).into(),
        };
        let meta = RequestMeta::of(&params);
        assert_eq!(of(method, &meta, header), expected, "{method} {meta:?} {header:?}");
    }

    const VERSION: &str = r#"{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}"#;
    const CAPABILITIES: &str = r#"{"io.modelcontextprotocol/clientCapabilities":{}}"#;

    #[test]
    fn meta_header_or_method_makes_a_request_stateless() {
        check("tools/list", VERSION, None, Era::Stateless);
        check("tools/list", CAPABILITIES, Some("2025-11-25"), Era::Stateless);
        check("tools/list", "", Some("2026-07-28"), Era::Stateless);
        check("tools/list", "", Some("v999.0.0"), Era::Stateless);
        check("server/discover", "", None, Era::Stateless);
        check("subscriptions/listen", "", Some("2025-11-25"), Era::Stateless);
        check("tools/list", "", None, Era::Session);
        check("tools/list", "", Some("2025-03-26"), Era::Session);
        check("tools/list", r#"{"progressToken":1}"#, None, Era::Session);
        check("tools/list", r#"{"io.modelcontextprotocol/related-task":{}}"#, None, Era::Session);
    }

    #[test]
    fn initialize_begins_a_session_unless_its_meta_is_modern() {
        for header in [None, Some("2025-11-25"), Some("2026-07-28"), Some("v999")] {
            check("initialize", "", header, Era::Handshake);
            check("initialize", VERSION, header, Era::Stateless);
        }
    }
}
