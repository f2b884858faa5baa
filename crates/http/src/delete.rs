//! DELETE: the client ends its session and the calls that still run in it.

use std::sync::Arc;

use bytes::Bytes;
use http::request::Parts;
use http::{Response, StatusCode};

use crate::endpoint::Endpoint;
use crate::lookup::session;
use crate::protocol_era;
use crate::reply::{self, Body};

pub(crate) async fn delete(endpoint: &Arc<Endpoint>, parts: &Parts) -> Response<Body> {
    // MCP 2026-07-28 has no sessions.
    if protocol_era::is_sessionless(&parts.headers) {
        return reply::not_allowed(protocol_era::methods(&parts.headers));
    }
    match session(endpoint, parts, &Bytes::new()).await {
        Ok(session) => {
            endpoint.table.remove(session.key());
            session.abandon();
            reply::empty(StatusCode::NO_CONTENT)
        }
        Err(not_here) => not_here.into_response(),
    }
}
