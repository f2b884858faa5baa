//! Bodies of responses that count in the outbound budget.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Frame, SizeHint};
use tonic::Status;

/// A response that holds bytes of the outbound budget until the client has read it.
pub(crate) struct ReservedBody<T> {
    body: tonic::body::Body,
    _reservations: T,
}

impl<T> ReservedBody<T> {
    pub(crate) fn new(body: tonic::body::Body, reservations: T) -> Self {
        Self { body, _reservations: reservations }
    }
}

impl<T: Unpin> http_body::Body for ReservedBody<T> {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
