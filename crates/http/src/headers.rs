//! The headers of a request.

use std::borrow::Cow;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, HeaderValue};

/// The id of a session.
pub(crate) const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
/// The revision of the protocol that a request uses.
pub(crate) const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
/// The method of the request, for proxies that route without reading the body (MCP 2026-07-28).
pub(crate) const METHOD: HeaderName = HeaderName::from_static("mcp-method");
/// The tool, prompt or resource that the request names, for the same proxies.
pub(crate) const NAME: HeaderName = HeaderName::from_static("mcp-name");
/// The prefix of headers that repeat an argument (MCP 2026-07-28).
pub(crate) const PARAM: &str = "mcp-param-";
/// The id of the last event that the client has read.
pub(crate) const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");

pub(crate) const JSON: &str = "application/json";
pub(crate) const EVENTS: &str = "text/event-stream";

/// True if the body is declared as JSON.
pub(crate) fn is_json(headers: &HeaderMap) -> bool {
    let Some(Ok(kind)) = headers.get(CONTENT_TYPE).map(HeaderValue::to_str) else { return false };
    kind.split(';').next().is_some_and(|kind| kind.trim().eq_ignore_ascii_case(JSON))
}

/// True if the client accepts all of these types.
pub(crate) fn accepts(headers: &HeaderMap, wanted: &[&str]) -> bool {
    wanted.iter().all(|wanted| {
        let group = wanted.split('/').next().unwrap_or_default();
        headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok()).flat_map(|value| value.split(',')).any(
            |range| {
                let mut parts = range.split(';').map(str::trim);
                let kind = parts.next().unwrap_or_default();
                let refused = parts.any(|part| matches!(part, "q=0" | "q=0.0" | "q=0.00" | "q=0.000"));
                let fits = kind.eq_ignore_ascii_case(wanted)
                    || kind == "*/*"
                    || kind.strip_suffix("/*").is_some_and(|kind| kind.eq_ignore_ascii_case(group));
                fits && !refused
            },
        )
    })
}

/// The text of a header, without surrounding blanks.
pub(crate) fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim)
}

/// The value of a header that occurs once. A repeated header may show different values to different readers.
pub(crate) fn single<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a HeaderValue> {
    let mut values = headers.get_all(name).iter();
    values.next().filter(|_| values.next().is_none())
}

/// A header of MCP that occurs more than once.
pub(crate) fn repeated(headers: &HeaderMap) -> Option<&HeaderName> {
    // Most requests repeat no header.
    if headers.len() == headers.keys_len() {
        return None;
    }
    let is_ours =
        |name: &&HeaderName| [SESSION, VERSION, METHOD, NAME].contains(name) || name.as_str().starts_with(PARAM);
    headers.keys().filter(is_ours).find(|name| single(headers, name).is_none())
}

/// The value of a header, decoded from `=?base64?…?=` if it is encoded, for text that cannot be in a header (MCP
/// 2026-07-28, basic/transports, header encoding). `None`: it cannot be decoded.
pub(crate) fn decode(value: &HeaderValue) -> Option<Cow<'_, str>> {
    let text = value.to_str().ok()?.trim_matches([' ', '\t']);
    match text.strip_prefix("=?base64?").and_then(|text| text.strip_suffix("?=")) {
        // The engine is strict about padding and trailing bits.
        Some(wrapped) => String::from_utf8(STANDARD.decode(wrapped).ok()?).ok().map(Cow::Owned),
        None => Some(Cow::Borrowed(text)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_told_from_each_other() {
        let accepts = |value: &str| {
            let headers: HeaderMap = [(ACCEPT, value.parse().unwrap())].into_iter().collect();
            accepts(&headers, &[JSON, EVENTS])
        };
        for good in [
            "application/json, text/event-stream",
            "TEXT/event-stream;q=0.9,application/JSON",
            "*/*",
            "text/*, application/json",
            "application/*;q=0.1, */*",
        ] {
            assert!(accepts(good), "{good}");
        }
        for bad in ["", "application/json", "text/event-stream", "text/html", "application/json, text/event-stream;q=0"]
        {
            assert!(!accepts(bad), "{bad}");
        }
        assert!(!super::accepts(&HeaderMap::new(), &[JSON]));
        let is_json = |value: &str| is_json(&[(CONTENT_TYPE, value.parse().unwrap())].into_iter().collect());
        assert!(is_json("application/json") && is_json("Application/JSON; charset=utf-8"));
        assert!(!is_json("text/plain") && !is_json("application/jsonl") && !is_json(""));
    }

    #[test]
    fn a_value_may_be_wrapped_in_base64_and_then_strictly() {
        for (value, decoded) in [
            ("plain", Some("plain")),
            ("  two words\t", Some("two words")),
            ("=?base64?SGVsbG8=?=", Some("Hello")),
            ("=?base64?w7w=?=", Some("ü")),
            ("=?base64??=", Some("")),
            ("=?base64?SGVsbG8=", Some("=?base64?SGVsbG8=")),
            ("SGVsbG8=?=", Some("SGVsbG8=?=")),
            ("=?base64?SGVsbG8?=", None),
            ("=?base64?SGVsb!8=?=", None),
            ("=?base64?SGVsbG9=?=", None),
            ("=?base64?/w==?=", None),
        ] {
            let header = HeaderValue::from_str(value).unwrap();
            assert_eq!(decode(&header).as_deref(), decoded, "{value}");
        }
        assert_eq!(decode(&HeaderValue::from_bytes(b"\xfc").unwrap()), None);
    }
}
