//! Access for the fuzzer to private parts; compiled for the fuzzer only.

#![allow(missing_docs)]

use std::borrow::Cow;
use std::net::IpAddr;

use bytes::Bytes;
use http::header::{HOST, ORIGIN};
use http::{HeaderMap, HeaderValue, Uri};
use protomcp_types::{Incoming, Message, RawJson, RequestMeta};

use crate::config::Config;
use crate::guard::Guard;
use crate::headers;
use crate::network::IpNetwork;

/// True if a request with this host and these origins is served. Only the local machine and one page are allowed.
pub fn is_served(host: &HeaderValue, origins: &[HeaderValue]) -> bool {
    let mut headers = HeaderMap::new();
    headers.insert(HOST, host.clone());
    for origin in origins {
        headers.append(ORIGIN, origin.clone());
    }
    let guard = Guard::new(&Config::default().allow_origin("https://app.example.com"));
    guard.check(&Uri::from_static("/mcp"), &headers).is_ok()
}

/// The text of a header that may be encoded in base64.
pub fn decode(value: &HeaderValue) -> Option<String> {
    headers::decode(value).map(Cow::into_owned)
}

/// True if `Accept` allows both types of responses, and true if `Content-Type` is JSON.
pub fn kinds(headers: &HeaderMap) -> (bool, bool) {
    (headers::accepts(headers, &[headers::JSON, headers::EVENTS]), headers::is_json(headers))
}

/// The stream and number of an event id.
pub fn parse_event_id(text: &str) -> Option<(u64, u64)> {
    crate::store::parse_event_id(text)
}

/// The id of an event.
pub fn event_id(stream: u64, number: u64) -> String {
    crate::store::event_id(stream, number)
}

/// The address that a request counts for.
pub fn client_of(peer: IpAddr, headers: &HeaderMap, proxies: &[IpNetwork]) -> IpAddr {
    crate::forwarded::client(peer, headers, proxies)
}

/// True if the headers of a request of 2026-07-28 repeat its body.
pub fn is_repeated(headers: &HeaderMap, body: &Bytes, tool: &RawJson) -> Option<bool> {
    let Ok(Incoming::One(Message::Request(request))) = Incoming::parse(body) else { return None };
    let meta = RequestMeta::of(&request.params);
    Some(crate::stateless_headers::check(&request, &meta, headers, |_| Some(tool.clone())).is_ok())
}
