//! Request bodies, and their share of the inbound budget.
//!
//! Bytes are reserved as they arrive, never because a header announces them: at most twice as many bytes are
//! reserved for a body as have arrived.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;

use bytes::{Buf, Bytes};
use http::request::Parts;
use http_body::Body;
use protomcp_server::{Budget, CallerIdentity, Extensions, OverBudget, Owner, Reservation};

use crate::region::{Region, USUAL_LIMIT};

/// A body up to this length is copied: a slice of the buffer of a connection would keep the whole buffer.
const COPIED: usize = 16 * 1024;

/// The HTTP request that a message came with. It keeps the reserved bytes for as long as it lives.
#[derive(Debug, Clone)]
pub(crate) struct SourceRequest {
    pub(crate) head: Arc<Parts>,
    pub(crate) reservation: Arc<Reservation>,
}

impl SourceRequest {
    /// The extensions that handlers see of the request.
    pub(crate) fn extensions(self) -> Extensions {
        let identity = self.head.extensions.get::<Arc<CallerIdentity>>().cloned();
        let known = Extensions::default().with(self.head).with(self.reservation);
        match identity {
            Some(identity) => known.with(identity),
            None => known,
        }
    }
}

/// The reason that a body was not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Unread {
    /// It is longer than bodies may be.
    #[error("the body is too long")]
    TooLong,
    /// Bodies of this owner take too many bytes already.
    #[error("too many bytes of requests wait for their answers")]
    NoRoom,
    /// The connection broke, or its framing is wrong.
    #[error("the body cannot be read")]
    Broken,
    /// It has not arrived in time.
    #[error("the body took too long")]
    TimedOut,
}

/// Reads a body of at most `limit` bytes. Its length and `overhead` are reserved in the budget of the owner.
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
    let most = hint.upper().and_then(|upper| usize::try_from(upper).ok()).unwrap_or(limit);
    let mut body = pin!(body);
    let mut text = Text { most, ..Text::default() };
    let mut reservation = budget.reserve(owner, overhead);
    let mut length = 0;
    while let Some(frame) = poll_fn(|cx| body.as_mut().poll_frame(cx)).await {
        let Ok(frame) = frame else { return Err(Unread::Broken) };
        let Ok(data) = frame.into_data() else { continue };
        length += data.remaining();
        if length > limit {
            return Err(Unread::TooLong);
        }
        reservation = reservation.and_then(|reservation| text.add(data, reservation));
        if reservation.is_err() {
            // The rest is discarded, but read: many clients look for the response only after they have sent everything.
            text = Text::default();
        }
    }
    reservation.map(|reservation| (text.into_bytes(), reservation)).map_err(|_| Unread::NoRoom)
}

/// The part of a body that has arrived.
///
/// A small one is kept in pieces until it is complete. A large one has its own memory, see [`Region`]: pieces of many
/// large bodies would leave as many bytes behind, because an allocator keeps what is free between others.
#[derive(Default)]
struct Text {
    /// The length that is announced, or that bodies may have.
    most: usize,
    /// The only piece: most bodies come in one.
    first: Bytes,
    /// All pieces of a small body, when there are several.
    pieces: Vec<Vec<u8>>,
    /// All of a large body.
    region: Option<Region>,
    length: usize,
    reserved: usize,
}

/// The length from which a body is large.
const LARGE: usize = 128 * 1024;

/// The most bytes that are reserved before they arrive.
const AHEAD: usize = 256 * 1024;

impl Text {
    fn add(&mut self, mut data: impl Buf, mut reservation: Reservation) -> Result<Reservation, OverBudget> {
        if self.length == 0 {
            // Room for a first piece is exact, because a second one is rare.
            self.length = data.remaining();
            self.reserved = self.length;
            reservation.grow(self.length)?;
            self.first = data.copy_to_bytes(self.length);
            return Ok(reservation);
        }
        if !self.first.is_empty() {
            self.pieces.push(std::mem::take(&mut self.first).to_vec());
        }
        while data.has_remaining() {
            let left = self.reserved - self.length;
            if left == 0 {
                // Room for twice the bytes that have arrived, not beyond the end, and for these.
                let rest = self.most.saturating_sub(self.reserved);
                let more = self.length.min(AHEAD).min(rest).max(data.remaining().min(AHEAD));
                reservation.grow(more)?;
                self.reserved += more;
                self.make_room(more)?;
                continue;
            }
            let chunk = data.chunk();
            let count = chunk.len().min(left);
            let chunk = &chunk[..count];
            match (&mut self.region, self.pieces.last_mut()) {
                (Some(region), _) => region.put(chunk),
                (None, Some(last)) => last.extend_from_slice(chunk),
                (None, None) => {}
            }
            self.length += count;
            data.advance(count);
        }
        Ok(reservation)
    }

    /// Makes room for this many bytes that are reserved.
    fn make_room(&mut self, more: usize) -> Result<(), OverBudget> {
        let no_memory = |_| OverBudget { bytes: more };
        match &mut self.region {
            Some(region) => region.grow(self.reserved).map_err(no_memory)?,
            None if self.reserved > LARGE => {
                let mut region = Region::new(self.reserved.max(self.most.min(USUAL_LIMIT))).map_err(no_memory)?;
                self.pieces.drain(..).for_each(|piece| region.put(&piece));
                self.region = Some(region);
            }
            None => self.pieces.push(Vec::with_capacity(more)),
        }
        Ok(())
    }

    fn into_bytes(self) -> Bytes {
        if let Some(region) = self.region {
            return region.into_bytes();
        }
        if !self.pieces.is_empty() {
            self.pieces.concat().into()
        } else if self.first.len() <= COPIED {
            Bytes::copy_from_slice(&self.first)
        } else {
            self.first
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
                Some(length) => Poll::Ready(Some(Ok(Frame::data(filler(length).into())))),
                None => Poll::Ready(None),
            }
        }

        fn size_hint(&self) -> SizeHint {
            self.announced.map_or_else(SizeHint::default, SizeHint::with_exact)
        }
    }

    fn filler(length: usize) -> Vec<u8> {
        (b' '..=b'~').cycle().take(length).collect()
    }

    fn pieces(left: &[usize], announced: Option<u64>) -> Pieces {
        Pieces { left: left.iter().copied().collect(), announced }
    }

    /// The bytes that are reserved at each pause of the body, and at the end.
    fn reserved(left: &[usize], announced: Option<u64>) -> (Vec<usize>, usize) {
        let budget = Budget::new(1 << 30);
        // A body that announces more than the limit is refused; here there is no limit.
        let mut reading = pin!(read(pieces(left, announced), usize::MAX, &budget, &Owner::Local, 7));
        let mut steps = Vec::new();
        loop {
            match reading.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
                Poll::Pending => steps.push(budget.taken() - 7),
                Poll::Ready(read) => {
                    let (body, reservation) = read.unwrap();
                    let whole: Vec<u8> = left.iter().flat_map(|length| filler(*length)).collect();
                    assert!(body == whole, "{left:?}");
                    return (steps, reservation.bytes() - 7);
                }
            }
        }
    }

    const KIB: usize = 1024;

    #[test]
    fn a_body_reserves_at_most_twice_the_bytes_received() {
        // A zero is a pause.
        for (pieces, announced, steps, end) in [
            (&[10][..], None, &[][..], 10),
            (&[10], Some(10), &[], 10),
            (&[10, 0, 1, 0, 9, 0, 20], Some(40), &[10, 20, 20], 40),
            (&[10, 0, 1, 0, 9, 0, 1], None, &[10, 20, 20], 40),
            (&[10, 0, 1, 0, 9, 0, 5], Some(25), &[10, 20, 20], 25),
            (&[1, 0, 99], Some(100), &[1], 100),
            (&[0], Some(1 << 40), &[0], 0),
            // Large ones: at most 256 KiB are reserved ahead.
            (&[KIB, 128 * KIB, 0, 1, 0, 300 * KIB], Some(439_297), &[129 * KIB, 258 * KIB], 429 * KIB + 1),
            (&[KIB, 128 * KIB, 0, 1, 0, 300 * KIB], None, &[129 * KIB, 258 * KIB], 514 * KIB),
            (&[5_000 * KIB, 0, 1], None, &[5_000 * KIB], 5_256 * KIB),
            (&[200 * KIB, 300 * KIB], Some(512_000), &[], 500 * KIB),
        ] {
            assert_eq!(reserved(pieces, announced), (steps.to_vec(), end), "{pieces:?}");
        }
    }

    #[test]
    fn a_body_too_long_or_without_room_is_refused() {
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
