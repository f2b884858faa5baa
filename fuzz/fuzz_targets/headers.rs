//! Any headers: only this machine and its named page are served, encoded values are what was encoded, and a proxy
//! decides whose request it is.
//!
//! The first byte says what the rest is; its parts are cut at 0xff.

#![no_main]

use std::net::IpAddr;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue};
use libfuzzer_sys::fuzz_target;
use protomcp_http::fuzzing::{client_of, decode, event_id, is_repeated, is_served, kinds, parse_event_id};
use protomcp_types::RawJson;

/// Headers of which a request may have several.
const NAMES: [&str; 10] = [
    "accept",
    "content-type",
    "mcp-session-id",
    "mcp-protocol-version",
    "mcp-method",
    "mcp-name",
    "mcp-param-region",
    "mcp-param-level",
    "x-forwarded-for",
    "forwarded",
];

const TOOL: &str = r#"{"name":"t","inputSchema":{"type":"object","properties":{
    "region":{"type":"string","x-mcp-header":"Region"},
    "deep":{"type":"object","properties":{"level":{"type":"integer","x-mcp-header":"Level"}}}}}}"#;

fuzz_target!(|input: &[u8]| {
    let Some((kind, rest)) = input.split_first() else { return };
    let parts: Vec<&[u8]> = rest.split(|byte| *byte == 0xff).collect();
    match kind % 5 {
        0 => names(&parts),
        1 => wrapped(rest),
        2 => event_ids(rest),
        3 => forwarded(&parts),
        _ => repeated(&parts),
    }
});

/// The host names that are served, by a second implementation.
fn names(parts: &[&[u8]]) {
    let values: Vec<_> = parts.iter().filter_map(|part| HeaderValue::from_bytes(part).ok()).collect();
    let Some((host, origins)) = values.split_first() else { return };
    if !is_served(host, origins) {
        return;
    }
    assert!(is_local(host.to_str().expect("it was read")), "{host:?}");
    assert!(origins.len() <= 1);
    for origin in origins {
        let origin = origin.to_str().expect("it was read");
        let name = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
        assert!(name.is_some_and(is_local) || origin.eq_ignore_ascii_case("https://app.example.com"), "{origin}");
    }
}

fn is_local(host: &str) -> bool {
    let host = host.to_ascii_lowercase();
    ["localhost", "127.0.0.1", "[::1]"].iter().any(|name| {
        let Some(port) = host.strip_prefix(name) else { return false };
        port.is_empty() || port.strip_prefix(':').is_some_and(|port| port.bytes().all(|byte| byte.is_ascii_digit()))
    })
}

fn wrapped(text: &[u8]) {
    if let Ok(header) = HeaderValue::from_bytes(text) {
        let _read = decode(&header);
    }
    let header = HeaderValue::from_str(&format!("=?base64?{}?=", STANDARD.encode(text))).expect("base64 is ASCII");
    assert_eq!(decode(&header), String::from_utf8(text.to_vec()).ok());
}

fn event_ids(text: &[u8]) {
    let Ok(text) = std::str::from_utf8(text) else { return };
    if let Some((stream, number)) = parse_event_id(text) {
        assert_eq!(parse_event_id(&event_id(stream, number)), Some((stream, number)));
    }
}

/// The client that a request counts for: the peer, or an address that a header names after all that a client may have
/// written.
fn forwarded(parts: &[&[u8]]) {
    let mut headers = HeaderMap::new();
    for (index, part) in parts.iter().enumerate() {
        if let Ok(value) = HeaderValue::from_bytes(part) {
            headers.append(HeaderName::from_static(NAMES[8 + index % 2]), value);
        }
    }
    let (proxy, stranger) = (IpAddr::from([10, 0, 0, 1]), IpAddr::from([192, 0, 2, 1]));
    let proxies = [proxy.into()];
    assert_eq!(client_of(stranger, &headers, &proxies), stranger);
    let _client = client_of(proxy, &headers, &proxies);
    // The entry that the proxy adds counts, even if the client has sent the same header.
    headers.remove("forwarded");
    headers.append("x-forwarded-for", HeaderValue::from_static("192.0.2.7"));
    assert_eq!(client_of(proxy, &headers, &proxies), IpAddr::from([192, 0, 2, 7]));
}

/// Headers and a body: the last part is the body, the others are values.
fn repeated(parts: &[&[u8]]) {
    let mut headers = HeaderMap::new();
    let Some((body, values)) = parts.split_last() else { return };
    for (index, part) in values.iter().enumerate() {
        if let Ok(value) = HeaderValue::from_bytes(part) {
            headers.append(HeaderName::from_static(NAMES[index % NAMES.len()]), value);
        }
    }
    let _kinds = kinds(&headers);
    let tool = RawJson::parse(TOOL).expect("it is JSON");
    if is_repeated(&headers, &Bytes::copy_from_slice(body), &tool) == Some(true) {
        for name in &NAMES[2..8] {
            assert!(headers.get_all(*name).iter().count() <= 1, "{name} is there twice");
        }
        assert!(headers.contains_key("mcp-protocol-version") && headers.contains_key("mcp-method"));
    }
}
