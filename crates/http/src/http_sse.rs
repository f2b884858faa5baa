//! The HTTP+SSE transport of MCP 2024-11-05: one GET for all messages of the server, POSTs for the messages of the
//! client.
//!
//! The first event names the address for POSTs: the same path, with the session in the query. The session ends with its
//! connection. Deprecated, but some clients support nothing else.

use std::sync::Arc;

use bytes::Bytes;
use http::request::Parts;
use http::{Method, Response, StatusCode};
use protomcp_types::{Incoming, Message, Request, without_byte_order_mark};

use crate::auth::{authorize_tasks, valid_until};
use crate::body::SourceRequest;
use crate::caller::Principal;
use crate::endpoint::Endpoint;
use crate::events::{EventSource, StreamHandle};
use crate::headers::{EVENTS, SESSION, accepts};
use crate::http_session::{HttpSession, SessionKind};
use crate::pending_requests::PendingRequests;
use crate::reply::{self, Body, NO_SESSION, Refusal, TRANSPORT_ERROR};
use crate::sse;

/// True if a request is for this transport.
pub(crate) fn is_meant(endpoint: &Endpoint, parts: &Parts) -> bool {
    endpoint.config.legacy_sse
        && match parts.method {
            Method::GET => parts.uri.path().ends_with("/sse") && !parts.headers.contains_key(SESSION),
            Method::POST => session_id(parts).is_some(),
            _ => false,
        }
}

pub(crate) fn get(endpoint: &Arc<Endpoint>, parts: &Parts) -> Response<Body> {
    if !accepts(&parts.headers, &[EVENTS]) {
        let why = "not acceptable: Accept must allow text/event-stream";
        return reply::error(StatusCode::NOT_ACCEPTABLE, TRANSPORT_ERROR, why);
    }
    // The session is new: no request of it has needed scopes that its reader would need, too.
    let session = match endpoint.begin(SessionKind::HttpSse, parts) {
        Ok(session) => session,
        Err(refusal) => return *refusal,
    };
    let address = sse::endpoint(&format!("?sessionId={}", session.key()));
    match session.listen() {
        Some((stream_ref, _)) => {
            let handle = StreamHandle::new(session, stream_ref, valid_until(parts));
            reply::events(endpoint.events(EventSource::Session(handle)).with(address))
        }
        None => gone(),
    }
}

pub(crate) async fn post(endpoint: &Endpoint, source: &SourceRequest, body: Bytes) -> Response<Body> {
    let parts = &*source.head;
    let principal = parts.extensions.get::<Principal>();
    let session = session_id(parts).and_then(|key| endpoint.table.find(key));
    let Some(session) = session.filter(|session| is_legacy(session) && session.belongs_to(principal)) else {
        return gone();
    };
    match Incoming::parse(&body.slice_ref(without_byte_order_mark(&body))) {
        Ok(Incoming::Batch(_)) => reply::bad_request(None, "batches are for MCP 2025-03-26 only"),
        Ok(Incoming::One(Message::Request(request))) => match authorize(endpoint, parts, &request, &session) {
            Ok(()) => ask(&session, request, source).await,
            Err(refusal) => *refusal,
        },
        Ok(Incoming::One(message)) => deliver(&session, message, source).await,
        Err(malformed) => reply::refuse(StatusCode::BAD_REQUEST, malformed.id, malformed.error),
    }
}

/// Checks the scopes that a request needs, and for a task the ones that the session has needed.
fn authorize(endpoint: &Endpoint, parts: &Parts, request: &Request, session: &HttpSession) -> Result<(), Refusal> {
    endpoint.authorize(parts, request)?;
    authorize_tasks(&endpoint.config, parts, request, &session.needed())
}

/// Delivers a request, and notes the scopes that it needs.
async fn ask(session: &HttpSession, request: Request, source: &SourceRequest) -> Response<Body> {
    let requests = [request.id.clone()];
    let mut pending = PendingRequests::new(session, &requests, source);
    accepted(pending.deliver(request.into()).await)
}

async fn deliver(session: &HttpSession, message: Message, source: &SourceRequest) -> Response<Body> {
    accepted(session.deliver(Ok(Incoming::One(message)), Some(source.clone())).await)
}

fn accepted(is_delivered: bool) -> Response<Body> {
    if is_delivered { reply::text(StatusCode::ACCEPTED, "Accepted") } else { gone() }
}

fn is_legacy(session: &HttpSession) -> bool {
    session.kind() == SessionKind::HttpSse
}

fn session_id(parts: &Parts) -> Option<&str> {
    let mut pairs = parts.uri.query()?.split('&');
    pairs.find_map(|pair| pair.strip_prefix("sessionId=").or_else(|| pair.strip_prefix("session_id=")))
}

fn gone() -> Response<Body> {
    reply::error(StatusCode::NOT_FOUND, NO_SESSION, "there is no such session: connect again")
}
