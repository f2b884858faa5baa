//! DELETE: the host ends its session.

use http::request::Parts;
use http::{Response, StatusCode};

use crate::era;
use crate::headers::{SESSION, VERSION, text};
use crate::post::session;
use crate::reply::{self, Body};
use crate::service::Inner;

pub(crate) fn delete(inner: &Inner, parts: &Parts) -> Response<Body> {
    // MCP 2026-07-28 knows no sessions that could be ended.
    if !parts.headers.contains_key(SESSION)
        && text(&parts.headers, &VERSION).is_some_and(|version| !era::is_stateful(version))
    {
        return reply::not_allowed("GET, POST, DELETE");
    }
    match session(inner, parts) {
        Ok(exchange) => {
            inner.table.remove(exchange.key());
            exchange.end();
            reply::empty(StatusCode::NO_CONTENT)
        }
        Err(refusal) => *refusal,
    }
}
