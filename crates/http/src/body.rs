//! Request bodies, and the bytes that they may take of what is there for all.
//!
//! Bytes are reserved as they arrive, never because a header announces them: a body has at most twice the room of what has
//! come of it so far.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;

use bytes::{Buf, Bytes};
use http::request::Parts;
use http_body::Body;
use protomcp_server::{Budget, Extensions, OverBudget, Owner, Reservation};

/// A body up to this long is copied: a piece of a connection's buffer would keep all of that buffer.
const COPIED: usize = 16 * 1024;

/// The HTTP request that a message came with. As long as it is kept, so are its bytes.
#[derive(Debug, Clone)]
pub(crate) struct SourceRequest {
    pub(crate) head: Arc<Parts>,
    pub(crate) room: Arc<Reservation>,
}

impl SourceRequest {
    /// The knowledge of handlers about the request.
    pub(crate) fn extensions(self) -> Extensions {
        Extensions::default().with(self.head).with(self.room)
    }
}

/// Why a body was not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unread {
    /// It is longer than bodies may be.
    TooLong,
    /// Bodies of this owner take too many bytes already.
    NoRoom,
    /// The connection broke, or its framing is wrong.
    Broken,
}

/// Reads a body of at most `limit` bytes. Its bytes and `overhead` more are taken out of the budget for the owner.
pub(crate) async fn read<B: Body>(
    body: B,
    limit: usize,
    budget: &Budget,
    owner: &Owner,
    overhead: usize,
) -> Result<(Bytes, Reservation), Unread> {
    let hint = body.size_hint();
    if hint.lower() > limit as u64 {
        return Err(Unread::TooLong);
    }
    let announced = hint.upper().and_then(|upper| usize::try_from(upper).ok()).unwrap_or(limit);
    let mut body = pin!(body);
    let mut text = Text { announced, ..Text::default() };
    let mut room = budget.reserve(owner, overhead);
    let mut length = 0;
    while let Some(frame) = poll_fn(|cx| body.as_mut().poll_frame(cx)).await {
        let Ok(frame) = frame else { return Err(Unread::Broken) };
        let Ok(data) = frame.into_data() else { continue };
        length += data.remaining();
        if length > limit {
            return Err(Unread::TooLong);
        }
        room = room.and_then(|room| text.add(data, room));
        if room.is_err() {
            // The rest is not kept, but it is read: many clients look for the response when all is sent.
            text = Text::default();
        }
    }
    room.map(|room| (text.into_bytes(), room)).map_err(|_| Unread::NoRoom)
}

/// What has come of a body.
#[derive(Default)]
struct Text {
    /// How long the body is, or may be.
    announced: usize,
    /// The only piece: most bodies come in one.
    first: Bytes,
    /// All pieces, when there are several.
    whole: Vec<u8>,
    length: usize,
    reserved: usize,
}

impl Text {
    fn add(&mut self, mut data: impl Buf, mut room: Reservation) -> Result<Reservation, OverBudget> {
        let before = self.length;
        self.length += data.remaining();
        if self.length > self.reserved {
            // Room for a first piece is exact, because another one hardly ever follows.
            let wanted = if before == 0 { self.length } else { self.length.max((2 * before).min(self.announced)) };
            room.grow(wanted - self.reserved)?;
            self.reserved = wanted;
        }
        if before == 0 {
            self.first = data.copy_to_bytes(data.remaining());
            return Ok(room);
        }
        self.whole.reserve_exact(self.reserved - self.whole.len());
        self.whole.extend_from_slice(&std::mem::take(&mut self.first));
        while data.has_remaining() {
            let chunk = data.chunk();
            self.whole.extend_from_slice(chunk);
            let count = chunk.len();
            data.advance(count);
        }
        Ok(room)
    }

    fn into_bytes(self) -> Bytes {
        match self.whole.is_empty() {
            true if self.first.len() <= COPIED => Bytes::copy_from_slice(&self.first),
            true => self.first,
            false => self.whole.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::convert::Infallible;
    use std::pin::Pin;
    use std::task::{Context, Poll, Waker};

    use super::*;
    use http_body::{Frame, SizeHint};

    /// A body that comes piece by piece, one for each poll, and then hangs or ends.
    struct Pieces {
        left: VecDeque<usize>,
        announced: Option<u64>,
    }

    impl Body for Pieces {
        type Data = Bytes;
        type Error = Infallible;

        fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
            match self.left.pop_front() {
                Some(0) => Poll::Pending,
                Some(length) => Poll::Ready(Some(Ok(Frame::data(vec![b'x'; length].into())))),
                None => Poll::Ready(None),
            }
        }

        fn size_hint(&self) -> SizeHint {
            self.announced.map_or_else(SizeHint::default, SizeHint::with_exact)
        }
    }

    fn pieces(left: &[usize], announced: Option<u64>) -> Pieces {
        Pieces { left: left.iter().copied().collect(), announced }
    }

    /// What is reserved while the body is waited for, and in the end.
    fn reserved(left: &[usize], announced: Option<u64>) -> (Vec<usize>, usize) {
        let budget = Budget::new(1 << 20);
        // One that announces more than is taken is refused; here it may be as long as it likes.
        let mut reading = pin!(read(pieces(left, announced), usize::MAX, &budget, &Owner::Local, 7));
        let mut steps = Vec::new();
        loop {
            match reading.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
                Poll::Pending => steps.push(budget.taken() - 7),
                Poll::Ready(read) => {
                    let (body, room) = read.unwrap();
                    assert_eq!(body.len(), left.iter().sum::<usize>(), "{left:?}");
                    return (steps, room.bytes() - 7);
                }
            }
        }
    }

    #[test]
    fn a_body_has_at_most_twice_the_room_of_what_has_come() {
        // A zero is a pause.
        for (pieces, announced, steps, end) in [
            (&[10][..], None, &[][..], 10),
            (&[10], Some(10), &[], 10),
            (&[10, 0, 1, 0, 9, 0, 20], Some(40), &[10, 20, 20], 40),
            (&[10, 0, 1, 0, 9, 0, 1], None, &[10, 20, 20], 40),
            (&[10, 0, 1, 0, 9, 0, 5], Some(25), &[10, 20, 20], 25),
            (&[1, 0, 99], Some(100), &[1], 100),
            (&[0], Some(1 << 40), &[0], 0),
        ] {
            assert_eq!(reserved(pieces, announced), (steps.to_vec(), end), "{pieces:?}");
        }
    }

    #[test]
    fn what_finds_no_room_or_is_too_long_is_refused() {
        // The budget gives one owner 401 bytes.
        for (left, announced, overhead, expected) in [
            (&[1000][..], None, 0, Unread::TooLong),
            (&[50, 950], None, 0, Unread::TooLong),
            (&[], Some(1000), 0, Unread::TooLong),
            (&[402], None, 0, Unread::NoRoom),
            (&[401], None, 1, Unread::NoRoom),
            (&[200, 202], None, 0, Unread::NoRoom),
            (&[200, 202, 1, 500], None, 0, Unread::NoRoom),
            (&[], None, 402, Unread::NoRoom),
        ] {
            let budget = Budget::new(502);
            let mut reading = Box::pin(read(pieces(left, announced), 999, &budget, &Owner::Local, overhead));
            match reading.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
                Poll::Ready(Err(why)) => assert_eq!(why, expected, "{left:?}"),
                other => panic!("{other:?} of {left:?}"),
            }
        }
    }

    #[test]
    fn a_body_without_room_is_read_and_not_kept() {
        let budget = Budget::new(502);
        let mut reading = Box::pin(read(pieces(&[200, 202, 0, 100], None), 999, &budget, &Owner::Local, 0));
        let mut cx = Context::from_waker(Waker::noop());
        assert!(reading.as_mut().poll(&mut cx).is_pending());
        assert_eq!(budget.taken(), 0);
        assert!(matches!(reading.as_mut().poll(&mut cx), Poll::Ready(Err(Unread::NoRoom))));
    }
}
