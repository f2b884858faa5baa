//! GET: the host listens, for what belongs to no request or for what it has missed.

use std::sync::Arc;

use http::request::Parts;
use http::{Response, StatusCode};

use crate::auth::{permit_reading, valid_until};
use crate::endpoint::Endpoint;
use crate::era;
use crate::events::{Seat, event_id, parse_event_id};
use crate::exchange::Exchange;
use crate::headers::{EVENTS, LAST_EVENT, accepts, text};
use crate::post::session;
use crate::reply::{self, Body, TRANSPORT_ERROR};
use crate::sse;
use crate::store::{EventKey, StoredEvent};
use crate::streams::STANDALONE;

pub(crate) async fn get(endpoint: &Endpoint, parts: &Parts) -> Response<Body> {
    // MCP 2026-07-28 has POST only.
    if era::is_sessionless(&parts.headers) {
        return reply::not_allowed(era::methods(&parts.headers));
    }
    if !accepts(&parts.headers, &[EVENTS]) {
        let why = "not acceptable: Accept must allow text/event-stream";
        return reply::error(StatusCode::NOT_ACCEPTABLE, TRANSPORT_ERROR, why);
    }
    let exchange = match session(endpoint, parts) {
        Ok(exchange) => exchange,
        Err(refusal) => return *refusal,
    };
    // What came of any request of the session may be among it.
    if let Err(refusal) = permit_reading(&endpoint.config, parts, &exchange.needed(), None) {
        return *refusal;
    }
    match text(&parts.headers, &LAST_EVENT) {
        Some(last) => resume(endpoint, parts, exchange, last).await,
        None => listen(endpoint, parts, exchange),
    }
}

fn listen(endpoint: &Endpoint, parts: &Parts, exchange: Arc<Exchange>) -> Response<Body> {
    let Some((place, next)) = exchange.listen() else {
        let why = "conflict: the session has a stream of this kind already";
        return reply::error(StatusCode::CONFLICT, TRANSPORT_ERROR, why);
    };
    let opens = exchange.can_open_empty();
    let events = endpoint.events(Seat { exchange, place, until: valid_until(parts) });
    reply::events(if opens {
        events.with(sse::opening(&event_id(STANDALONE, next - 1), endpoint.config.retry))
    } else {
        // Whoever waits for the first byte knows now that the stream is open.
        events.with(sse::KEEP_ALIVE)
    })
}

/// The host comes back, and names the last event that it has read.
async fn resume(endpoint: &Endpoint, parts: &Parts, exchange: Arc<Exchange>, last: &str) -> Response<Body> {
    let Some(store) = exchange.store().cloned() else {
        return reply::bad_request(None, "streams cannot be resumed here");
    };
    let Some((stream, number)) = parse_event_id(last) else {
        return reply::bad_request(None, format!("unknown event id {last:?}"));
    };
    // From here on new events wait for this connection; those before are in the store.
    let attached = exchange.attach(stream);
    let key = exchange.key().to_owned();
    let end = attached.map_or(u64::MAX, |(_, next)| next);
    let until = valid_until(parts);
    let seat = attached.map(|(place, _)| Seat { exchange: Arc::clone(&exchange), place, until });
    let missed = store.replay(EventKey { session: &key, stream, number }, end).await;
    match (seat, missed) {
        (None, None) => {
            reply::bad_request(None, format!("unknown event id {last:?}, or its events are not kept any more"))
        }
        // The host would take what is left for all.
        (Some(_), missed) if is_short(missed.as_deref(), number, end) => {
            let why = format!(
                "some events after {last:?} are not kept any more: listen without Last-Event-ID, and ask again for what \
                 is missing"
            );
            reply::bad_request(None, why)
        }
        (seat, missed) => {
            let missed = missed.unwrap_or_default();
            match seat {
                Some(seat) => {
                    let events = endpoint.events(seat).with_missed(missed);
                    reply::events(events.with(sse::KEEP_ALIVE))
                }
                None => reply::past_events(missed),
            }
        }
    }
}

/// Whether events between this number and `end` are missing.
pub(crate) fn is_short(missed: Option<&[StoredEvent]>, number: u64, end: u64) -> bool {
    let expected = end.saturating_sub(1).saturating_sub(number);
    (missed.map_or(0, <[_]>::len) as u64) < expected
}
