//! The CORS protocol (Fetch standard), for web pages of other origins. Only pages that are named in the configuration
//! get this far.

use http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_HEADERS, VARY,
};
use http::{HeaderMap, HeaderValue, Response, StatusCode};

use crate::reply::{self, Body};

/// Headers that pages may send, in addition to the headers of annotated arguments.
const SENT: [&str; 9] = [
    "accept",
    "authorization",
    "content-type",
    "last-event-id",
    "mcp-method",
    "mcp-name",
    "mcp-protocol-version",
    "mcp-session-id",
    "x-api-key",
];

/// Answers the preflight request of a browser.
pub(crate) fn preflight(headers: &HeaderMap) -> Response<Body> {
    let wished = headers.get(ACCESS_CONTROL_REQUEST_HEADERS).and_then(|names| names.to_str().ok()).unwrap_or_default();
    let names = wished.split(',').map(|name| name.trim().to_ascii_lowercase());
    let allowed: Vec<_> =
        names.filter(|name| SENT.contains(&name.as_str()) || name.starts_with("mcp-param-")).collect();
    let mut response = reply::empty(StatusCode::NO_CONTENT);
    let answer = response.headers_mut();
    answer.insert(ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("GET, POST, DELETE"));
    if let Ok(allowed) = HeaderValue::try_from(allowed.join(", ")) {
        answer.insert(ACCESS_CONTROL_ALLOW_HEADERS, allowed);
    }
    answer.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("7200"));
    response
}

/// Lets the page read the response.
pub(crate) fn expose(response: &mut Response<Body>, origin: HeaderValue) {
    let headers = response.headers_mut();
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static("mcp-session-id, www-authenticate"));
    headers.append(VARY, HeaderValue::from_static("origin"));
}
