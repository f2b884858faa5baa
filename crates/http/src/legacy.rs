//! The transport of MCP 2024-11-05: one GET for everything that the server says, POSTs for what the host says.
//!
//! The first event names where to POST: the same path, with the session in the query. The session ends with its
//! connection. Deprecated, but old hosts know nothing else.

use std::sync::Arc;

use bytes::Bytes;
use http::request::Parts;
use http::{Method, Response, StatusCode};
use protomcp_types::{Incoming, Message};

use crate::auth::valid_until;
use crate::body::Origin;
use crate::caller::Principal;
use crate::endpoint::Endpoint;
use crate::events::Seat;
use crate::exchange::{Exchange, Kind};
use crate::headers::{EVENTS, SESSION, accepts};
use crate::reply::{self, Body, NO_SESSION, TRANSPORT_ERROR};
use crate::sse;

/// Whether a request is for this transport.
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
    let exchange = match endpoint.begin(Kind::Legacy, parts) {
        Ok(exchange) => exchange,
        Err(refusal) => return *refusal,
    };
    let address = sse::endpoint(&format!("?sessionId={}", exchange.key()));
    match exchange.listen() {
        Some((place, _)) => {
            let seat = Seat { exchange, place, until: valid_until(parts) };
            reply::events(endpoint.events(seat).with(address))
        }
        None => gone(),
    }
}

pub(crate) async fn post(endpoint: &Endpoint, origin: &Origin, body: Bytes) -> Response<Body> {
    let parts = &*origin.head;
    let principal = parts.extensions.get::<Principal>();
    let exchange = session_id(parts).and_then(|key| endpoint.table.find(key));
    let Some(exchange) = exchange.filter(|exchange| is_legacy(exchange) && exchange.belongs_to(principal)) else {
        return gone();
    };
    match Incoming::parse(&body) {
        Ok(Incoming::Batch(_)) => reply::bad_request(None, "batches are for MCP 2025-03-26 only"),
        Ok(Incoming::One(Message::Request(request))) => match endpoint.permit(parts, &request) {
            Ok(()) => deliver(&exchange, request.into(), origin).await,
            Err(refusal) => *refusal,
        },
        Ok(Incoming::One(message)) => deliver(&exchange, message, origin).await,
        Err(malformed) => reply::refuse(StatusCode::BAD_REQUEST, malformed.id, malformed.error),
    }
}

async fn deliver(exchange: &Exchange, message: Message, origin: &Origin) -> Response<Body> {
    match exchange.deliver(Ok(Incoming::One(message)), Some(origin.clone())).await {
        true => reply::text(StatusCode::ACCEPTED, "Accepted"),
        false => gone(),
    }
}

fn is_legacy(exchange: &Exchange) -> bool {
    exchange.kind() == Kind::Legacy
}

fn session_id(parts: &Parts) -> Option<&str> {
    let mut pairs = parts.uri.query()?.split('&');
    pairs.find_map(|pair| pair.strip_prefix("sessionId=").or_else(|| pair.strip_prefix("session_id=")))
}

fn gone() -> Response<Body> {
    reply::error(StatusCode::NOT_FOUND, NO_SESSION, "there is no such session")
}
