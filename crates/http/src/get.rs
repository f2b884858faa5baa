//! GET: the client opens the standalone stream, or resumes a stream.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::request::Parts;
use http::{Response, StatusCode};
use protomcp_server::StoreError;
use tokio::time::timeout;

use crate::auth::{authorize_reading, valid_until};
use crate::endpoint::{Endpoint, unavailable};
use crate::events::{EventSource, StreamHandle};
use crate::headers::{EVENTS, LAST_EVENT, accepts};
use crate::http_session::{Attached, HttpSession};
use crate::lookup::session;
use crate::protocol_era;
use crate::reply::{self, Body, TRANSPORT_ERROR};
use crate::sse;
use crate::store::{EventKey, EventStore, Replayed, event_id, parse_event_id};
use crate::streams::stream_id::STANDALONE;

/// The time that the store may take to find the events that a client has missed.
const REPLAY_LIMIT: Duration = Duration::from_secs(5);

pub(crate) async fn get(endpoint: &Arc<Endpoint>, parts: &Parts) -> Response<Body> {
    // MCP 2026-07-28 has POST only.
    if protocol_era::is_sessionless(&parts.headers) {
        return reply::not_allowed(protocol_era::methods(&parts.headers));
    }
    if !accepts(&parts.headers, &[EVENTS]) {
        let why = "not acceptable: Accept must allow text/event-stream";
        return reply::error(StatusCode::NOT_ACCEPTABLE, TRANSPORT_ERROR, why);
    }
    let session = match session(endpoint, parts, &Bytes::new()).await {
        Ok(session) => session,
        Err(not_here) => return not_here.into_response(),
    };
    // The stream may contain results of any request of the session.
    if let Err(refusal) = authorize_reading(&endpoint.config, parts, &session.needed(), None) {
        return *refusal;
    }
    let Some(last) = parts.headers.get(LAST_EVENT) else { return listen(endpoint, parts, session) };
    match last.to_str() {
        Ok(last) => resume(endpoint, parts, session, last.trim()).await,
        Err(_) => reply::bad_request(None, "the Last-Event-ID header cannot be read: listen without it"),
    }
}

fn listen(endpoint: &Endpoint, parts: &Parts, session: Arc<HttpSession>) -> Response<Body> {
    let Some((stream_ref, next)) = session.listen() else {
        let why = "conflict: the session has a stream of this kind already";
        return reply::error(StatusCode::CONFLICT, TRANSPORT_ERROR, why);
    };
    let opens = session.can_open_empty();
    let handle = StreamHandle::new(session, stream_ref, valid_until(parts));
    let events = endpoint.events(EventSource::Session(handle));
    reply::events(if opens {
        events.with(sse::opening(&event_id(STANDALONE, next - 1), endpoint.config.streams.retry))
    } else {
        // The first byte tells the client that the stream is open.
        events.with(sse::KEEP_ALIVE)
    })
}

/// Resumes a stream after the last event that the client has read.
async fn resume(endpoint: &Endpoint, parts: &Parts, session: Arc<HttpSession>, last: &str) -> Response<Body> {
    let Some(store) = session.store().cloned() else {
        return reply::bad_request(None, "streams cannot be resumed here: listen without Last-Event-ID");
    };
    let unknown = || reply::bad_request(None, format!("unknown event id {last:?}"));
    let Some((stream, number)) = parse_event_id(last) else { return unknown() };
    // From here on new events wait for this connection; earlier ones are in the store.
    let Ok(attached) = session.attach(stream, number) else { return unknown() };
    let end = attached.map_or(u64::MAX, |attached| attached.next);
    let until = valid_until(parts);
    let place = |Attached { stream_ref, .. }| StreamHandle::new(Arc::clone(&session), stream_ref, until);
    let handle = attached.map(place);
    let key = EventKey { session: session.key(), stream, number };
    let (number, replayed) = match replay(&*store, key, attached).await {
        Ok(replayed) => replayed,
        Err(error) => return unavailable(&error.to_string()),
    };
    let is_known = match attached {
        Some(_) => Ok(true),
        None => was_given(&*store, key, &replayed).await,
    };
    match is_known {
        Ok(true) => {}
        Ok(false) => return unknown(),
        Err(error) => return unavailable(&error.to_string()),
    }
    match (handle, replayed) {
        (None, Replayed::Missing | Replayed::Unknown) => {
            reply::bad_request(None, format!("unknown event id {last:?}, or its events are no longer kept"))
        }
        // The client would take an incomplete replay for a complete one.
        (Some(_), replayed) if is_short(&replayed, number, end) => {
            let why = format!(
                "some events after {last:?} are no longer kept: listen without Last-Event-ID, and ask again for what \
                 is missing"
            );
            reply::bad_request(None, why)
        }
        (Some(handle), replayed) => {
            let missed = match replayed {
                Replayed::Events(events) => events,
                Replayed::Missing | Replayed::Unknown => Vec::new(),
            };
            let events = endpoint.events(EventSource::Session(handle)).with_missed(missed);
            reply::events(events.with(sse::KEEP_ALIVE))
        }
        (None, Replayed::Events(missed)) => reply::past_events(missed),
    }
}

/// False if an ended stream never had the event that the client names as its last one.
async fn was_given(store: &dyn EventStore, key: EventKey<'_>, replayed: &Replayed) -> Result<bool, StoreError> {
    match replayed {
        // Nothing follows the last event of an ended stream, nor an event that it never had.
        Replayed::Events(missed) if missed.is_empty() && key.number > 0 => {
            let (_, last) = replay(store, EventKey { number: key.number - 1, ..key }, None).await?;
            Ok(!matches!(last, Replayed::Events(events) if events.is_empty()))
        }
        Replayed::Events(_) | Replayed::Missing | Replayed::Unknown => Ok(true),
    }
}

/// Like [`missed`], within the time that the store may take.
pub(crate) async fn replay(
    store: &dyn EventStore,
    key: EventKey<'_>,
    attached: Option<Attached>,
) -> Result<(u64, Replayed), StoreError> {
    timeout(REPLAY_LIMIT, missed(store, key, attached)).await.unwrap_or(Err(StoreError::Unavailable))
}

/// The events that a client has missed, and the number of the event that they follow. Events that were dropped because
/// too many waited are left out if they are not kept.
async fn missed(
    store: &dyn EventStore,
    key: EventKey<'_>,
    attached: Option<Attached>,
) -> Result<(u64, Replayed), StoreError> {
    let Some(Attached { next: end, dropped, .. }) = attached else {
        return Ok((key.number, store.replay(key, u64::MAX).await?));
    };
    let replayed = store.replay(key, end).await?;
    let Some(number) = after_dropped(&replayed, key.number, end, dropped) else { return Ok((key.number, replayed)) };
    tracing::warn!(from = key.number, to = number, "a stream is resumed without the events that were dropped");
    Ok((number, store.replay(EventKey { number, ..key }, end).await?))
}

/// The event after which a replay begins that leaves out dropped events, if the replay after this one is short of them.
pub(crate) fn after_dropped(replayed: &Replayed, number: u64, end: u64, dropped: u64) -> Option<u64> {
    let last = dropped.min(end.saturating_sub(1));
    (last > number && is_short(replayed, number, end)).then_some(last)
}

/// True if events between this number and `end` are missing.
pub(crate) fn is_short(replayed: &Replayed, number: u64, end: u64) -> bool {
    let expected = end.saturating_sub(1).saturating_sub(number);
    match replayed {
        Replayed::Events(events) => (events.len() as u64) < expected,
        Replayed::Missing => true,
        Replayed::Unknown => expected > 0,
    }
}
