//! The rest of a request body that has not been read when the response is ready.
//!
//! Over HTTP/1 the next request on a connection begins behind that rest. A server that leaves it unread can only close the
//! connection, and hyper does so without saying it: a client that sends the body after the head, gets an early refusal and
//! uses the connection again would lose its next request. So the rest is read if it is small and arrives soon, and
//! otherwise the response says that the connection closes (RFC 9112, sections 9.3 and 9.6).

use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Buf;
use http::header::{CONNECTION, EXPECT};
use http::request::Parts;
use http::{HeaderValue, Response, StatusCode, Version};
use http_body::{Body, Frame, SizeHint};
use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::reply;

/// The most bytes that are read of such a rest. A larger one costs more than a new connection.
const MAX_REST: usize = 64 << 10;

/// The time for such a rest, for which the response waits.
const REST_TIME: Duration = Duration::from_secs(1);

/// The handling of the rest of a body, by the head of its request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rest {
    /// It disturbs no other request: from HTTP/2 on each has its own stream.
    Apart,
    /// It is on its way.
    Arriving,
    /// The client sends it when it is asked to: reading would ask for it.
    Withheld,
}

impl Rest {
    pub(crate) fn of(head: &Parts) -> Self {
        if head.version >= Version::HTTP_2 {
            Self::Apart
        } else if head.headers.contains_key(EXPECT) {
            Self::Withheld
        } else {
            Self::Arriving
        }
    }

    /// Reads the rest of a body before its response is sent, or makes the response announce the end of the connection.
    pub(crate) async fn settle<B: Body + Unpin>(self, body: &mut Watched<B>, response: &mut Response<reply::Body>) {
        // After a change of protocols the connection goes on without requests.
        if self == Self::Apart || body.is_at_end() || response.status().is_informational() {
            return;
        }
        // A body that has taken too long already is not waited for once more.
        let reads = self == Self::Arriving && response.status() != StatusCode::REQUEST_TIMEOUT;
        if !(reads && body.read_rest().await) {
            response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
    }
}

/// A body that remembers its end: not every body may be polled after it.
#[derive(Debug)]
pub(crate) struct Watched<B> {
    body: B,
    progress: Progress,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Progress {
    Open,
    Ended,
    Failed,
}

impl<B: Body + Unpin> Watched<B> {
    pub(crate) fn new(body: B) -> Self {
        Self { body, progress: Progress::Open }
    }

    /// True if nothing of the body is left on the connection.
    fn is_at_end(&self) -> bool {
        match self.progress {
            Progress::Open => self.body.is_end_stream(),
            Progress::Ended => true,
            Progress::Failed => false,
        }
    }

    /// Reads and drops the rest. `false`: it is too large, too slow or broken.
    async fn read_rest(&mut self) -> bool {
        if self.progress == Progress::Failed || self.body.size_hint().lower() > MAX_REST as u64 {
            return false;
        }
        let reading = async {
            let mut room = MAX_REST;
            while let Some(frame) = poll_fn(|cx| Pin::new(&mut *self).poll_frame(cx)).await {
                let Ok(frame) = frame else { return false };
                let size = frame.data_ref().map_or(0, Buf::remaining);
                if size > room {
                    return false;
                }
                room -= size;
            }
            true
        };
        timeout(REST_TIME, reading).await.unwrap_or(false)
    }
}

impl<B: Body + Unpin> Body for Watched<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        if self.progress == Progress::Ended {
            return Poll::Ready(None);
        }
        let frame = ready!(Pin::new(&mut self.body).poll_frame(cx));
        match &frame {
            Some(Ok(_)) => {}
            Some(Err(_)) => self.progress = Progress::Failed,
            // An end behind an error is none.
            None if self.progress == Progress::Failed => {}
            None => self.progress = Progress::Ended,
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.progress == Progress::Ended || self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// A body on the heap.
type Boxed<B> = Watched<Pin<Box<B>>>;

/// A body that comes back to its lender when it is dropped.
pub(crate) struct Lent<B>(Option<(Boxed<B>, oneshot::Sender<Boxed<B>>)>);

/// The way back of a [`Lent`] body.
pub(crate) struct Lender<B>(oneshot::Receiver<Boxed<B>>);

/// Lends a body to code that wants to own it.
pub(crate) fn lend<B: Body>(body: B) -> (Lent<B>, Lender<B>) {
    let (back, returned) = oneshot::channel();
    (Lent(Some((Watched::new(Box::pin(body)), back))), Lender(returned))
}

impl<B: Body> Lender<B> {
    /// Like [`Rest::settle`]. A body that is still in use, by the body of the response for example, is left alone: it is
    /// still being read.
    pub(crate) async fn settle(mut self, rest: Rest, response: &mut Response<reply::Body>) {
        if let Ok(mut body) = self.0.try_recv() {
            rest.settle(&mut body, response).await;
        }
    }
}

impl<B> Drop for Lent<B> {
    fn drop(&mut self) {
        if let Some((body, back)) = self.0.take() {
            // Without a lender the body is dropped.
            drop(back.send(body));
        }
    }
}

impl<B: Body> Body for Lent<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        match &mut self.0 {
            Some((body, _)) => Pin::new(body).poll_frame(cx),
            None => Poll::Ready(None),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.0.as_ref().is_none_or(|(body, _)| body.is_end_stream())
    }

    fn size_hint(&self) -> SizeHint {
        self.0.as_ref().map_or_else(SizeHint::default, |(body, _)| body.size_hint())
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use http::Request;
    use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
    use tokio::time::{Instant, sleep};

    use super::*;

    type Piece = Result<Bytes, &'static str>;

    /// A body out of a channel. It panics when it is polled after its end.
    struct Channel {
        pieces: UnboundedReceiver<Piece>,
        announced: u64,
        has_ended: bool,
    }

    impl Body for Channel {
        type Data = Bytes;
        type Error = &'static str;

        fn poll_frame(
            mut self: Pin<&mut Self>,
            cx: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, &'static str>>> {
            assert!(!self.has_ended, "the body has ended");
            let piece = ready!(self.pieces.poll_recv(cx));
            self.has_ended = piece.is_none();
            Poll::Ready(piece.map(|piece| piece.map(Frame::data)))
        }

        fn size_hint(&self) -> SizeHint {
            let mut hint = SizeHint::new();
            hint.set_lower(self.announced);
            hint
        }
    }

    fn channel(announced: u64) -> (UnboundedSender<Piece>, Channel) {
        let (sender, pieces) = unbounded_channel();
        (sender, Channel { pieces, announced, has_ended: false })
    }

    fn head(version: Version, expect: bool) -> Parts {
        let mut request = Request::post("/mcp").version(version);
        if expect {
            request = request.header(EXPECT, "100-continue");
        }
        request.body(()).unwrap().into_parts().0
    }

    /// True if the response announces the end of the connection, and the time for which it has waited.
    async fn settle(rest: Rest, body: &mut Watched<Channel>, status: StatusCode) -> (bool, Duration) {
        let (mut response, begin) = (reply::empty(status), Instant::now());
        rest.settle(body, &mut response).await;
        let closes = response.headers().get(CONNECTION).is_some_and(|value| value == "close");
        (closes, begin.elapsed())
    }

    async fn refuse(body: Channel) -> (bool, Duration) {
        settle(Rest::Arriving, &mut Watched::new(body), StatusCode::UNAUTHORIZED).await
    }

    const IMMEDIATELY: Duration = Duration::ZERO;
    const SOON: Duration = Duration::from_millis(300);

    #[test]
    fn the_head_tells_how_the_rest_is_handled() {
        for (version, expect, rest) in [
            (Version::HTTP_10, false, Rest::Arriving),
            (Version::HTTP_11, false, Rest::Arriving),
            (Version::HTTP_11, true, Rest::Withheld),
            (Version::HTTP_2, true, Rest::Apart),
            (Version::HTTP_2, false, Rest::Apart),
        ] {
            assert_eq!(Rest::of(&head(version, expect)), rest, "{version:?} {expect}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_rest_that_arrives_in_two_pieces_is_read() {
        let (sender, body) = channel(0);
        tokio::spawn(async move {
            sender.send(Ok(Bytes::from_static(b"{\"a\":"))).unwrap();
            sleep(SOON).await;
            sender.send(Ok(Bytes::from_static(b"1}"))).unwrap();
        });
        assert_eq!(refuse(body).await, (false, SOON));
    }

    #[tokio::test(start_paused = true)]
    async fn a_rest_that_never_arrives_closes_the_connection() {
        let (_sender, body) = channel(5);
        assert_eq!(refuse(body).await, (true, REST_TIME));
    }

    #[tokio::test(start_paused = true)]
    async fn a_rest_that_is_too_large_closes_the_connection() {
        let (sender, body) = channel(0);
        for _ in 0..2 {
            sender.send(Ok(vec![0; MAX_REST / 2].into())).unwrap();
        }
        drop(sender);
        assert_eq!(refuse(body).await, (false, IMMEDIATELY), "the most that is read");
        let (sender, body) = channel(0);
        for size in [MAX_REST, 1] {
            sender.send(Ok(vec![0; size].into())).unwrap();
        }
        assert_eq!(refuse(body).await, (true, IMMEDIATELY));
        let (_sender, body) = channel(MAX_REST as u64 + 1);
        assert_eq!(refuse(body).await, (true, IMMEDIATELY), "announced");
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_fails_closes_the_connection() {
        let (sender, body) = channel(0);
        sender.send(Err("broken")).unwrap();
        assert_eq!(refuse(body).await, (true, IMMEDIATELY));
        // The body has failed before the response, and ends then.
        let (sender, body) = channel(0);
        sender.send(Err("broken")).unwrap();
        drop(sender);
        let mut body = Watched::new(body);
        while poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await.is_some() {}
        assert_eq!(settle(Rest::Arriving, &mut body, StatusCode::BAD_REQUEST).await, (true, IMMEDIATELY));
    }

    #[tokio::test(start_paused = true)]
    async fn a_rest_is_not_read_where_that_is_of_no_use() {
        for (rest, status, closes) in [
            (Rest::Withheld, StatusCode::UNAUTHORIZED, true),
            (Rest::Arriving, StatusCode::REQUEST_TIMEOUT, true),
            (Rest::Arriving, StatusCode::SWITCHING_PROTOCOLS, false),
            (Rest::Apart, StatusCode::UNAUTHORIZED, false),
        ] {
            let (sender, body) = channel(5);
            sender.send(Ok(Bytes::from_static(b"12345"))).unwrap();
            let mut body = Watched::new(body);
            assert_eq!(settle(rest, &mut body, status).await, (closes, IMMEDIATELY), "{rest:?} {status}");
            assert_eq!(body.body.pieces.len(), 1, "{rest:?} {status}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_was_read_is_not_polled_again() {
        for rest in [Rest::Arriving, Rest::Withheld] {
            let (sender, body) = channel(0);
            sender.send(Ok(Bytes::from_static(b"{}"))).unwrap();
            drop(sender);
            let mut body = Watched::new(body);
            while poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await.is_some() {}
            assert!(body.is_end_stream());
            assert_eq!(settle(rest, &mut body, StatusCode::OK).await, (false, IMMEDIATELY));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_lent_body_is_settled_when_it_has_come_back() {
        for (is_dropped, closes) in [(true, true), (false, false)] {
            let (_sender, body) = channel(5);
            let (lent, lender) = lend(body);
            let kept = (!is_dropped).then_some(lent);
            let mut response = reply::empty(StatusCode::UNAUTHORIZED);
            lender.settle(Rest::Arriving, &mut response).await;
            assert_eq!(response.headers().contains_key(CONNECTION), closes);
            drop(kept);
        }
    }
}
