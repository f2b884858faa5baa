//! Whether a connection is used: by requests whose responses are not over.

use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use http::Version;
use http_body::{Frame, SizeHint};
use tokio::time::Instant;

use super::fair_limit::State;
use super::places::PlaceUse;

/// What happens on one connection.
#[derive(Debug)]
pub(super) struct Activity {
    used: Mutex<Used>,
    /// The place of the connection is idle when no request is open.
    place: PlaceUse,
}

#[derive(Debug, Default, Clone, Copy)]
struct Used {
    /// The version of the first request, when there was one.
    version: Option<Version>,
    open: usize,
    /// When the last response ended.
    ended: Option<Instant>,
}

/// How a connection is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Use {
    /// There was no request yet.
    Silent,
    /// A request is open, or the protocol itself sees to the time between two.
    Busy,
    /// Nothing is open since then, on a connection for many requests at once.
    Idle(Instant),
}

/// One request, until its response is over.
#[derive(Debug)]
pub(super) struct Open(Arc<Activity>);

/// A body that keeps its request open.
#[derive(Debug)]
pub(super) struct Held<B> {
    body: B,
    _open: Open,
}

impl Activity {
    pub(super) fn new(place: PlaceUse) -> Self {
        Self { used: Mutex::default(), place }
    }

    /// A request begins.
    pub(super) fn open(self: &Arc<Self>, version: Version) -> Open {
        let mut used = self.used();
        used.version.get_or_insert(version);
        used.open += 1;
        if used.open == 1 {
            self.place.set(State::Busy);
        }
        drop(used);
        Open(Arc::clone(self))
    }

    pub(super) fn look(&self) -> Use {
        let used = *self.used();
        match (used.version, used.open, used.ended) {
            (None, ..) => Use::Silent,
            (Some(Version::HTTP_2), 0, Some(ended)) => Use::Idle(ended),
            (Some(_), ..) => Use::Busy,
        }
    }

    fn used(&self) -> MutexGuard<'_, Used> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Open {
    /// The request is open as long as this body.
    pub(super) fn hold<B>(self, body: B) -> Held<B> {
        Held { body, _open: self }
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        let mut used = self.0.used();
        used.open -= 1;
        used.ended = Some(Instant::now());
        if used.open == 0 {
            self.0.place.set(State::Idle);
        }
    }
}

impl<B: http_body::Body + Unpin> http_body::Body for Held<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
