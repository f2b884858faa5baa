//! The body of a response that is a stream of events.

use std::collections::VecDeque;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use protomcp_server::{Reserved, StoreError};
use protomcp_types::{Message, RequestId};
use tokio::time::{Instant, Sleep};

use crate::http_session::HttpSession;
use crate::metrics::GaugeGuard;
use crate::request_events::RequestEvents;
use crate::reserved::hold;
use crate::session_log::{Sending, holder_gone};
use crate::sse;
use crate::store::{StoredEvent, Write};
use crate::streams::stream_id::STANDALONE;
use crate::streams::{Next, StreamRef};

/// A response that is a stream of events. Dropping it detaches it from its source.
pub(crate) struct Events {
    /// Bytes that are sent before the next message.
    ready: VecDeque<Bytes>,
    source: EventSource,
    keep_alive: Duration,
    silence: Pin<Box<Sleep>>,
    /// The time at which the client must present a new token.
    end: Option<Pin<Box<Sleep>>>,
    /// Counts the stream as open.
    _open: Option<GaugeGuard>,
}

/// The source of the messages.
#[derive(Debug)]
pub(crate) enum EventSource {
    /// A stream of a session.
    Session(StreamHandle),
    /// A request without a session.
    Request(RequestEvents),
}

/// A connection's place at a stream, which is given up on drop.
#[derive(Debug)]
pub(crate) struct StreamHandle {
    pub(crate) session: Arc<HttpSession>,
    pub(crate) stream_ref: StreamRef,
    /// The time until which the stream may stay open.
    pub(crate) until: Option<SystemTime>,
    /// The event that is sent when the store has it.
    unwritten: Option<Sending>,
    /// The log has a line about an event that is not stored.
    has_warned: bool,
}

impl EventSource {
    fn until(&self) -> Option<SystemTime> {
        match self {
            Self::Session(handle) => handle.until,
            Self::Request(events) => events.until,
        }
    }

    /// The pieces of the next event; `None` at the end.
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Vec<Bytes>>> {
        match self {
            Self::Session(handle) => handle.poll(cx),
            Self::Request(events) => {
                let pieces = |Reserved { message, reservation }| hold(sse::event(None, &message), reservation);
                events.poll(cx).map(|message| message.map(pieces))
            }
        }
    }
}

impl StreamHandle {
    pub(crate) fn new(session: Arc<HttpSession>, stream_ref: StreamRef, until: Option<SystemTime>) -> Self {
        Self { session, stream_ref, until, unwritten: None, has_warned: false }
    }

    /// The pieces of the next event, when the store has it; `None` at the end. A later event may be in the store first,
    /// and waits in the queue.
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<StoredEvent>> {
        let (sending, has_waited) = match self.unwritten.take() {
            Some(sending) => (sending, true),
            None => match self.session.next(self.stream_ref, cx.waker()) {
                Next::Pending => return Poll::Pending,
                Next::End => return Poll::Ready(None),
                Next::Event(_, sending) => (sending, false),
            },
        };
        let Sending { event, write, answers } = sending;
        let written = match write {
            Write::Done(written) => written,
            Write::Pending(mut write) => match write.as_mut().poll(cx) {
                Poll::Ready(written) => written,
                Poll::Pending => {
                    self.unwritten = Some(Sending { event, write: Write::Pending(write), answers });
                    return Poll::Pending;
                }
            },
        };
        // A connection that has displaced this one has got the event from the store.
        let is_here = !has_waited || self.session.is_attached(self.stream_ref);
        let event = match written {
            Ok(()) => Some(event),
            Err(StoreError::Unavailable) if !self.session.is_shared() => {
                if !std::mem::replace(&mut self.has_warned, true) {
                    tracing::warn!("an event is sent that is not stored: its client cannot ask for it again");
                }
                Some(event)
            }
            Err(error) => self.unstored(error, answers),
        };
        Poll::Ready(event.filter(|_| is_here))
    }

    /// The text in place of an event that is not stored, and that another process may give another content: the errors
    /// for the requests of the stream. `answers`: the request that it answers.
    ///
    /// The session ends here. The process that takes it up, which may be this one, answers the requests in the store, for a
    /// client that is not connected.
    fn unstored(&mut self, error: StoreError, answers: Option<RequestId>) -> Option<StoredEvent> {
        tracing::warn!(%error, "an event is not stored, and is not sent: its stream ends");
        if self.stream_ref.stream == STANDALONE && error != StoreError::Fenced {
            return None;
        }
        let left = answers.into_iter().chain(self.session.lose_stream(self.stream_ref));
        let errors: StoredEvent =
            left.flat_map(|request| sse::event(None, &Message::error(Some(request), holder_gone()))).collect();
        (!errors.is_empty()).then_some(errors)
    }
}

impl Drop for StreamHandle {
    fn drop(&mut self) {
        self.session.detach(self.stream_ref);
    }
}

impl Events {
    pub(crate) fn new(source: EventSource, keep_alive: Duration) -> Self {
        let silence = Box::pin(tokio::time::sleep(keep_alive));
        let left = source.until().map(|until| until.duration_since(SystemTime::now()).unwrap_or_default());
        let end = left.map(|left| Box::pin(tokio::time::sleep(left)));
        Self { ready: VecDeque::new(), source, keep_alive, silence, end, _open: None }
    }

    /// Counts it for as long as it is open.
    pub(crate) fn counted(self, open: GaugeGuard) -> Self {
        Self { _open: Some(open), ..self }
    }

    /// Sends this piece first.
    pub(crate) fn with(mut self, piece: Bytes) -> Self {
        self.ready.push_back(piece);
        self
    }

    /// Sends the events that the client has missed first.
    pub(crate) fn with_missed(mut self, events: Vec<StoredEvent>) -> Self {
        self.ready.extend(events.into_iter().flatten());
        self
    }

    /// The next piece; `None` at the end.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        if self.ready.is_empty() {
            // The client has everything taken so far; the rest waits for it to reconnect.
            if self.end.as_mut().is_some_and(|end| end.as_mut().poll(cx).is_ready()) {
                return Poll::Ready(None);
            }
            match self.source.poll(cx) {
                Poll::Ready(None) => return Poll::Ready(None),
                Poll::Ready(Some(event)) => self.ready.extend(event),
                Poll::Pending => {
                    if self.silence.as_mut().poll(cx).is_pending() {
                        return Poll::Pending;
                    }
                    self.ready.push_back(sse::KEEP_ALIVE);
                }
            }
        }
        // A timer that has fired must be set again, or nothing wakes this connection for the next comment.
        self.silence.as_mut().reset(Instant::now() + self.keep_alive);
        Poll::Ready(self.ready.pop_front())
    }
}

impl fmt::Debug for Events {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Events").field("source", &self.source).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
