//! Bodies of any type behind one type.

use std::error::Error;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::{Buf, Bytes};
use http_body::{Frame, SizeHint};

/// The error of a body.
pub(crate) type BoxError = Box<dyn Error + Send + Sync>;

/// A body of any type, as it arrives: data and trailers.
pub struct BoxBody(Pin<Box<dyn http_body::Body<Data = Bytes, Error = BoxError> + Send>>);

impl BoxBody {
    /// Boxes a body.
    pub fn new<B>(body: B) -> Self
    where
        B: http_body::Body<Error: Into<BoxError>> + Send + 'static,
    {
        Self(Box::pin(InBytes(Box::pin(body))))
    }
}

impl http_body::Body for BoxBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        self.0.as_mut().poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.0.size_hint()
    }
}

impl fmt::Debug for BoxBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("BoxBody(..)")
    }
}

/// Makes the pieces of a body [`Bytes`], and boxes its error.
struct InBytes<B>(Pin<Box<B>>);

impl<B: http_body::Body<Error: Into<BoxError>>> http_body::Body for InBytes<B> {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        // Copies nothing if the piece is `Bytes` already.
        let in_bytes = |frame: Frame<B::Data>| frame.map_data(|mut data| data.copy_to_bytes(data.remaining()));
        self.0.as_mut().poll_frame(cx).map(|frame| Some(frame?.map(in_bytes).map_err(Into::into)))
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.0.size_hint()
    }
}
