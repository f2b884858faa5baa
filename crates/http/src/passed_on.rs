//! The response of another process, on its way to the client.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Response};
use http_body::{Frame, SizeHint};
use protomcp_fair::Reservation;
use tokio::time::{Instant, Sleep, sleep};
use tokio_util::sync::WaitForCancellationFutureOwned;
use tokio_util::task::task_tracker::TaskTrackerToken;

use crate::access_log::Answered;
use crate::box_body::{BoxBody, BoxError};
use crate::endpoint::Endpoint;
use crate::reply::Body;

/// The body. [`Endpoint::drained`] waits for its end.
struct PassedOn {
    body: BoxBody,
    /// The shutdown of this process, if it ends the body: the client of a stream without an end comes back to another
    /// process.
    shutdown: Option<Pin<Box<WaitForCancellationFutureOwned>>>,
    /// The time without a byte after which the other process counts as gone.
    silence: Pin<Box<Sleep>>,
    limit: Duration,
    _serving: Option<TaskTrackerToken>,
    _slot: Reservation,
}

/// The pauses between signs of life in which a stream without events has none.
const MISSED: u32 = 3;

/// The least time without a byte.
const LEAST_SILENCE: Duration = Duration::from_secs(60);

/// Passes the response to a request with this method on. `serving` keeps the process until the body has ended. It has its
/// line in the access log of the other process.
pub(crate) fn pass_on(
    endpoint: &Endpoint,
    method: &Method,
    response: Response<BoxBody>,
    slot: Reservation,
    serving: Option<TaskTrackerToken>,
) -> Response<Body> {
    let is_endless = *method == Method::GET;
    let shutdown = is_endless.then(|| Box::pin(endpoint.sessions.shutdown_token().cancelled_owned()));
    let limit = endpoint.config.streams.keep_alive.saturating_mul(MISSED).max(LEAST_SILENCE);
    let silence = Box::pin(sleep(limit));
    let mut response =
        response.map(|body| Body::new(PassedOn { body, shutdown, silence, limit, _serving: serving, _slot: slot }));
    response.extensions_mut().insert(Answered);
    response
}

impl http_body::Body for PassedOn {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        if self.shutdown.as_mut().is_some_and(|shutdown| shutdown.as_mut().poll(cx).is_ready()) {
            return Poll::Ready(None);
        }
        if let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(cx) {
            let end = Instant::now() + self.limit;
            self.silence.as_mut().reset(end);
            return Poll::Ready(frame);
        }
        match self.silence.as_mut().poll(cx) {
            Poll::Ready(()) => Poll::Ready(Some(Err("the process of this server that answers is silent".into()))),
            Poll::Pending => Poll::Pending,
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
