//! Finds the session that a request belongs to.

use std::sync::Arc;

use http::request::Parts;
use http::{HeaderName, Response, StatusCode};
use protomcp_types::RequestId;

use crate::caller::Principal;
use crate::endpoint::Endpoint;
use crate::headers::{SESSION, VERSION, repeated, text};
use crate::http_session::{HttpSession, SessionKind};
use crate::protocol_era;
use crate::reply::{self, Body, NO_SESSION, Refusal};
use crate::takeover::take_over;

/// Rejects a repeated header, because readers may take different values from it.
pub(crate) fn ambiguous(parts: &Parts, id: Option<RequestId>) -> Response<Body> {
    let name = repeated(&parts.headers).map_or("", HeaderName::as_str);
    reply::bad_request(id, format!("there are several headers {name}"))
}

/// The session that a request belongs to. One that this process does not serve is taken over, if that is configured.
pub(crate) async fn session(endpoint: &Arc<Endpoint>, parts: &Parts) -> Result<Arc<HttpSession>, Refusal> {
    if repeated(&parts.headers).is_some() {
        return Err(Box::new(ambiguous(parts, None)));
    }
    let Some(key) = parts.headers.get(SESSION) else {
        return Err(Box::new(reply::bad_request(None, "header Mcp-Session-Id is missing: initialize first")));
    };
    if let Some(version) = text(&parts.headers, &VERSION).filter(|version| !protocol_era::is_stateful(version)) {
        return Err(Box::new(reply::bad_request(None, format!("unsupported protocol version {version:?}"))));
    }
    let key = key.to_str().unwrap_or_default();
    let found = endpoint.table.find(key).filter(|session| session.is_here());
    let found = match (found, &endpoint.config.leases) {
        // Boxed: it is rare, and larger than the rest of the request.
        (None, Some(keeper)) => Box::pin(take_over(endpoint, keeper, parts, key)).await?,
        (found, _) => found,
    };
    let principal = parts.extensions.get::<Principal>();
    found.filter(|session| session.kind() == SessionKind::Stateful && session.belongs_to(principal)).ok_or_else(|| {
        Box::new(reply::error(StatusCode::NOT_FOUND, NO_SESSION, "there is no such session: initialize again"))
    })
}
