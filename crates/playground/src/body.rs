//! Bodies of responses.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};

use crate::journal::Reader;

/// A body that is known.
#[derive(Debug)]
pub(crate) struct Whole(pub(crate) Option<Bytes>);

impl Body for Whole {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.0.take().map(|bytes| Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.0.as_ref().map_or(0, |bytes| bytes.len() as u64))
    }
}

type Reading = Pin<Box<dyn Future<Output = (Option<Bytes>, Reader)> + Send>>;

/// A stream of server-sent events, which ends with the journal.
pub(crate) struct Events(Option<Reading>);

impl Events {
    pub(crate) fn new(reader: Reader) -> Self {
        Self(Some(read(reader)))
    }
}

fn read(mut reader: Reader) -> Reading {
    Box::pin(async move { (reader.piece().await, reader) })
}

impl Body for Events {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let Some(reading) = &mut self.0 else { return Poll::Ready(None) };
        let (piece, reader) = ready!(reading.as_mut().poll(cx));
        self.0 = piece.is_some().then(|| read(reader));
        Poll::Ready(piece.map(|piece| Ok(Frame::data(piece))))
    }
}
