//! Tracks the open requests of a connection.

use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use http::Version;
use http_body::{Frame, SizeHint};
use tokio::time::Instant;

use crate::fair_limit::SlotState;
use crate::slots::SlotUsage;

/// The use of one connection.
#[derive(Debug)]
pub(crate) struct Activity {
    counts: Mutex<Counts>,
    /// The slot of the connection; idle while no request is open.
    slot: SlotUsage,
}

#[derive(Debug, Default, Clone, Copy)]
struct Counts {
    /// The HTTP version of the first request.
    version: Option<Version>,
    open: usize,
    /// The end of the last response.
    ended: Option<Instant>,
}

/// The state of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Usage {
    /// No request has arrived yet.
    Silent,
    /// A request is open, or hyper itself bounds the time between two (HTTP/1.1).
    Busy,
    /// No request is open since this time, on an HTTP/2 connection.
    Idle(Instant),
}

/// One request, open until its response has ended.
#[derive(Debug)]
pub(crate) struct OpenRequest(Arc<Activity>);

pin_project_lite::pin_project! {
    /// A response body that keeps its request open.
    #[derive(Debug)]
    pub(crate) struct TrackedBody<B> {
        #[pin]
        body: B,
        open: OpenRequest,
    }
}

impl Activity {
    pub(crate) fn new(slot: SlotUsage) -> Self {
        Self { counts: Mutex::default(), slot }
    }

    /// Counts a request as open.
    pub(crate) fn open(self: &Arc<Self>, version: Version) -> OpenRequest {
        let mut counts = self.counts();
        counts.version.get_or_insert(version);
        counts.open += 1;
        if counts.open == 1 {
            self.slot.set(SlotState::Busy);
        }
        drop(counts);
        OpenRequest(Arc::clone(self))
    }

    pub(crate) fn usage(&self) -> Usage {
        let counts = *self.counts();
        match (counts.version, counts.open, counts.ended) {
            (None, ..) => Usage::Silent,
            (Some(Version::HTTP_2), 0, Some(ended)) => Usage::Idle(ended),
            (Some(_), ..) => Usage::Busy,
        }
    }

    fn counts(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl OpenRequest {
    /// Keeps the request open as long as this body.
    pub(crate) fn track<B>(self, body: B) -> TrackedBody<B> {
        TrackedBody { body, open: self }
    }
}

impl Drop for OpenRequest {
    fn drop(&mut self) {
        let mut counts = self.0.counts();
        counts.open -= 1;
        counts.ended = Some(Instant::now());
        if counts.open == 0 {
            self.0.slot.set(SlotState::Idle);
        }
    }
}

impl<B: http_body::Body> http_body::Body for TrackedBody<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        self.project().body.poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
