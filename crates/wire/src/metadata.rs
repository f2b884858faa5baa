//! The `_meta` of requests and results in both directions.

use bytes::Bytes;
use protomcp_types::meta::may_have;
use protomcp_types::{JsonObject, Kind, RawJson};

/// The `_meta` of a request for the process: without the progress token, which has its own field or means nothing.
/// Empty if nothing is left.
#[must_use]
pub fn to_envelope(meta: Option<RawJson>) -> Bytes {
    let Some(meta) = meta.filter(|meta| meta.kind() == Kind::Object) else { return Bytes::new() };
    // Most have no token, and are not read.
    let meta = if may_have(&meta, PROGRESS_TOKEN) {
        let mut members = JsonObject::from_raw(&meta).unwrap_or_default();
        members.take(PROGRESS_TOKEN);
        members.to_body().into_raw()
    } else {
        meta
    };
    if meta == RawJson::EMPTY_OBJECT { Bytes::new() } else { meta.into_bytes() }
}

/// The `_meta` of a result or definition for the client; `None` if it is not a JSON object.
#[must_use]
pub fn to_mcp(metadata_json: Bytes) -> Option<RawJson> {
    RawJson::parse_lossy(metadata_json).ok().filter(|meta| meta.kind() == Kind::Object)
}

const PROGRESS_TOKEN: &str = "progressToken";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_progress_token_is_left_out() {
        for (meta, expected) in [
            ("{}", ""),
            ("[1]", ""),
            (r#"{"progressToken":1}"#, ""),
            (r#"{"progressToken":"a","n":9007199254740993}"#, r#"{"n":9007199254740993}"#),
            (r#"{"a": {"progressToken":1}}"#, r#"{"a":{"progressToken":1}}"#),
            (r#"{"traceparent": "x"}"#, r#"{"traceparent": "x"}"#),
        ] {
            assert_eq!(to_envelope(RawJson::parse(meta).ok()), expected, "{meta}");
        }
        assert_eq!(to_envelope(None), "");
    }

    #[test]
    fn only_an_object_reaches_the_client() {
        let mcp = |text: &'static str| to_mcp(text.into()).map(|meta| meta.as_str().to_owned());
        assert_eq!(mcp(r#"{"a":1.0}"#).as_deref(), Some(r#"{"a":1.0}"#));
        for text in ["", "[]", "{", "1"] {
            assert_eq!(mcp(text), None, "{text}");
        }
    }
}
