//! The body of a request: pieces that were serialized before, and can be sent again.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use tokio_util::sync::CancellationToken;

/// A body in pieces.
#[derive(Debug, Default)]
pub(crate) struct RequestBody {
    pieces: VecDeque<Bytes>,
    left: u64,
    /// Cancelled when a connection has taken the whole body.
    taken: Option<CancellationToken>,
}

impl RequestBody {
    pub(crate) fn new(pieces: &[Bytes], taken: Option<CancellationToken>) -> Self {
        let pieces: VecDeque<Bytes> = pieces.iter().filter(|piece| !piece.is_empty()).cloned().collect();
        let left = pieces.iter().map(|piece| piece.len() as u64).sum();
        Self { pieces, left, taken }
    }
}

impl Body for RequestBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let piece = self.pieces.pop_front();
        self.left -= piece.as_ref().map_or(0, |piece| piece.len() as u64);
        if self.pieces.is_empty()
            && let Some(taken) = self.taken.take()
        {
            taken.cancel();
        }
        Poll::Ready(piece.map(|piece| Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.pieces.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left)
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[test]
    fn the_last_piece_reports_that_the_body_was_taken() {
        let taken = CancellationToken::new();
        let pieces = [Bytes::from_static(b"ab"), Bytes::new(), Bytes::from_static(b"c")];
        let mut body = RequestBody::new(&pieces, Some(taken.clone()));
        let mut next = || {
            let left = body.size_hint().exact();
            let frame = std::future::poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).now_or_never().unwrap();
            (left, frame.map(|frame| frame.unwrap().into_data().unwrap()), taken.is_cancelled())
        };
        assert_eq!(next(), (Some(3), Some(pieces[0].clone()), false));
        assert_eq!(next(), (Some(1), Some(pieces[2].clone()), true));
        assert_eq!(next(), (Some(0), None, true));
    }
}
