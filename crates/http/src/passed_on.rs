//! The response of another process, on its way to the client.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Method, Response};
use http_body::{Frame, SizeHint};
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
    _serving: TaskTrackerToken,
}

/// Passes the response to a request with this method on. It has its line in the access log of the other process.
pub(crate) fn pass_on(endpoint: &Endpoint, method: &Method, response: Response<BoxBody>) -> Response<Body> {
    let is_endless = *method == Method::GET;
    let shutdown = is_endless.then(|| Box::pin(endpoint.sessions.shutdown_token().cancelled_owned()));
    let serving = endpoint.token();
    let mut response = response.map(|body| Body::new(PassedOn { body, shutdown, _serving: serving }));
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
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
