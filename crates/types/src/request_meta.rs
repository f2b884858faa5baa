//! The `_meta` of a request.
//!
//! Since 2026-07-28 there is no handshake: every request carries its revision and the capabilities and identity of its
//! client (MCP 2026-07-28, basic). Requests of the stateful revisions carry only a progress token.

use std::borrow::Cow;

use crate::capability::ClientCapabilities;
use crate::error::ErrorObject;
use crate::id::ProgressToken;
use crate::implementation::Implementation;
use crate::json_object::JsonObject;
use crate::level::Level;
use crate::meta_names::{CLIENT_CAPABILITIES, CLIENT_INFO, LOG_LEVEL, PROTOCOL_VERSION};
use crate::params::Params;
use crate::raw::{Kind, RawJson};
use crate::version::ProtocolVersion;

/// The `_meta` of a request. Members are read on demand.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RequestMeta(JsonObject);

impl RequestMeta {
    /// The `_meta` of these parameters; empty if it is absent or not an object.
    #[must_use]
    pub fn of(params: &Params) -> Self {
        params.member("_meta").map(Self::from_raw).unwrap_or_default()
    }

    /// This `_meta`; empty if it is not an object.
    #[must_use]
    pub fn from_raw(meta: &RawJson) -> Self {
        let members = Some(meta).filter(|meta| meta.kind() == Kind::Object);
        Self(members.and_then(|meta| JsonObject::from_raw(meta).ok()).unwrap_or_default())
    }

    /// The names of all members.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| name)
    }

    /// True for a request of the stateless revision: one of its two required members is present, with any value.
    #[must_use]
    pub fn is_stateless(&self) -> bool {
        self.0.member(PROTOCOL_VERSION).is_some() || self.0.member(CLIENT_CAPABILITIES).is_some()
    }

    /// The revision, as the client wrote it.
    ///
    /// # Errors
    /// −32602 if it is absent or not a string.
    pub fn requested_version(&self) -> Result<Cow<'_, str>, ErrorObject> {
        let version = self.0.member(PROTOCOL_VERSION).ok_or_else(|| missing(PROTOCOL_VERSION))?;
        version.to_text().ok_or_else(|| invalid(PROTOCOL_VERSION, "must be a string"))
    }

    /// The revision, if it is supported and has no handshake.
    ///
    /// # Errors
    /// −32602 like [`RequestMeta::requested_version`]; −32022 for every other revision, also for those with a
    /// handshake.
    pub fn version(&self) -> Result<ProtocolVersion, ErrorObject> {
        let requested = self.requested_version()?;
        let known = ProtocolVersion::parse(&requested).filter(|version| !version.is_stateful());
        known.ok_or_else(|| ErrorObject::unsupported_version(&requested))
    }

    /// The capabilities of the client, unread.
    ///
    /// # Errors
    /// −32602 if they are absent or not an object.
    pub fn declared_capabilities(&self) -> Result<&RawJson, ErrorObject> {
        let capabilities = self.0.member(CLIENT_CAPABILITIES).ok_or_else(|| missing(CLIENT_CAPABILITIES))?;
        let is_object = capabilities.kind() == Kind::Object;
        is_object.then_some(capabilities).ok_or_else(|| invalid(CLIENT_CAPABILITIES, "must be an object"))
    }

    /// The capabilities of the client.
    ///
    /// # Errors
    /// −32602 if they are absent or not an object.
    pub fn capabilities(&self) -> Result<ClientCapabilities, ErrorObject> {
        self.declared_capabilities()?.to().map_err(|_| invalid(CLIENT_CAPABILITIES, "must be an object"))
    }

    /// The identity of the client. Nothing depends on it, so an unreadable one is ignored.
    #[must_use]
    pub fn client(&self) -> Option<Implementation> {
        self.0.member(CLIENT_INFO)?.to().ok()
    }

    /// The least severe level of the log messages that the client asks for; without it the client gets none.
    ///
    /// # Errors
    /// −32602 if it is not one of the eight levels.
    pub fn log_level(&self) -> Result<Option<Level>, ErrorObject> {
        let Some(level) = self.0.member(LOG_LEVEL).filter(|level| level.kind() != Kind::Null) else { return Ok(None) };
        level.to().map(Some).map_err(|_| invalid(LOG_LEVEL, "is not a log level"))
    }

    /// The progress token. A token that is neither string nor integer is ignored.
    #[must_use]
    pub fn progress_token(&self) -> Option<ProgressToken> {
        self.0.member("progressToken").and_then(ProgressToken::from_raw)
    }

    /// Any member.
    #[must_use]
    pub fn member(&self, name: &str) -> Option<&RawJson> {
        self.0.member(name)
    }
}

fn missing(name: &str) -> ErrorObject {
    ErrorObject::invalid_params(format!("invalid params: _meta[{name:?}] is missing"))
}

fn invalid(name: &str, why: &str) -> ErrorObject {
    ErrorObject::invalid_params(format!("invalid params: _meta[{name:?}] {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::code;

    fn meta(text: &str) -> RequestMeta {
        let params = format!(r#"{{"_meta":{text}}}"#);
        RequestMeta::of(&JsonObject::from_raw(&RawJson::parse(params).unwrap()).unwrap().into())
    }

    #[test]
    fn either_of_the_required_members_marks_the_stateless_revision() {
        for (text, stateless) in [
            ("{}", false),
            ("5", false),
            (r#"{"progressToken":1,"io.modelcontextprotocol/clientInfo":{}}"#, false),
            (r#"{"io.modelcontextprotocol/protocolVersion":null}"#, true),
            (r#"{"io.modelcontextprotocol/clientCapabilities":{}}"#, true),
            (r#"{"io.modelcontextprotocol\/protocolVersion":"2026-07-28"}"#, true),
        ] {
            assert_eq!(meta(text).is_stateless(), stateless, "{text}");
        }
        assert!(!RequestMeta::of(&Params::Absent).is_stateless());
    }

    #[test]
    fn only_the_stateless_revision_needs_no_handshake() {
        let version = |version: &str| meta(&format!(r#"{{"io.modelcontextprotocol/protocolVersion":{version}}}"#));
        assert_eq!(version("\"2026-07-28\"").version(), Ok(ProtocolVersion::V2026_07_28));
        for requested in ["2025-11-25", "v999.0.0", ""] {
            let error = version(&format!("{requested:?}")).version().unwrap_err();
            assert_eq!(error.code, code::UNSUPPORTED_PROTOCOL_VERSION);
            let data = format!(r#"{{"supported":["2026-07-28"],"requested":"{requested}"}}"#);
            assert_eq!(error.data.unwrap().as_str(), data);
        }
        for wrong in [version("5"), version("null"), meta("{}")] {
            assert_eq!(wrong.version().unwrap_err().code, code::INVALID_PARAMS);
        }
    }

    #[test]
    fn members_are_read_one_by_one() {
        let full = meta(
            r#"{"progressToken":7,"io.modelcontextprotocol/clientCapabilities":{"roots":{}},"io.modelcontextprotocol/clientInfo":{"name":"a"},"io.modelcontextprotocol/logLevel":"error"}"#,
        );
        assert!(full.capabilities().unwrap().has_roots());
        assert_eq!(full.client().unwrap().name, "a");
        assert_eq!(full.log_level(), Ok(Some(Level::Error)));
        assert_eq!(full.progress_token(), Some(ProgressToken::from(7)));
        let bad = meta(
            r#"{"io.modelcontextprotocol/clientCapabilities":[],"io.modelcontextprotocol/clientInfo":5,"io.modelcontextprotocol/logLevel":"warn"}"#,
        );
        assert_eq!(bad.capabilities().unwrap_err().code, code::INVALID_PARAMS);
        assert_eq!(bad.log_level().unwrap_err().code, code::INVALID_PARAMS);
        assert_eq!((bad.client(), bad.progress_token()), (None, None));
        assert_eq!(meta("{}").log_level(), Ok(None));
        assert_eq!(meta("{}").capabilities().unwrap_err().code, code::INVALID_PARAMS);
    }
}
