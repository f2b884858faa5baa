//! The headers of a request.

use std::borrow::Cow;

use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, HeaderValue};
use protomcp_types::header;

/// The id of a session.
pub(crate) const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
/// The revision of the protocol that a request uses.
pub(crate) const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
/// The method of the request, for proxies that route without reading the body (MCP 2026-07-28).
pub(crate) const METHOD: HeaderName = HeaderName::from_static("mcp-method");
/// The tool, prompt or resource that the request names, for the same proxies.
pub(crate) const NAME: HeaderName = HeaderName::from_static("mcp-name");
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

/// A header with a meaning in MCP that occurs more than once.
pub(crate) fn repeated(headers: &HeaderMap) -> Option<&HeaderName> {
    // Most requests repeat no header.
    if headers.len() == headers.keys_len() {
        return None;
    }
    let is_ours = |name: &&HeaderName| {
        [SESSION, VERSION, METHOD, NAME, LAST_EVENT].contains(name) || name.as_str().starts_with(header::PARAM_PREFIX)
    };
    headers.keys().filter(is_ours).find(|name| single(headers, name).is_none())
}

/// The text in a header; see [`header::decode`]. `None`: it cannot be decoded.
pub(crate) fn decode(value: &HeaderValue) -> Option<Cow<'_, str>> {
    header::decode(value.to_str().ok()?)
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
    fn a_value_that_is_not_ascii_cannot_be_decoded() {
        assert_eq!(decode(&HeaderValue::from_static("=?base64?w7w=?=")).as_deref(), Some("ü"));
        assert_eq!(decode(&HeaderValue::from_bytes(b"\xfc").unwrap()), None);
    }
}
