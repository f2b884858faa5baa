//! The end of a link and its effects on callers and owner.

use std::future::{Future, poll_fn};
use std::io::{self, Write};
use std::os::unix::net::UnixStream as Blocking;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};

use protomcp_codec::{Encoder, Limits};
use protomcp_envelope::{
    Envelope, ListPromptsRequest, LogMessage, PromptListResponse, ReloadResponse, ToolListResponse,
};
use protomcp_link::{CallError, Closed, Config, Endpoint, Event, drive};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::net::UnixStream;

use super::peer::{Peer, connected, heard, join, serve, soon};
use crate::machine::talk::SECOND;

fn reason(outcome: Result<PromptListResponse, CallError>) -> Closed {
    match outcome {
        Err(CallError::Closed(reason)) => reason,
        other => panic!("{other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn a_disconnect_fails_every_call_and_then_closes() {
    let (link, mut events, mut peer) = connected(Config::default(), 4096).await;
    peer.says("", LogMessage { level: "last words".into(), ..Default::default() }).await;
    let (one, two, ()) =
        join!(link.call(ListPromptsRequest {}, SECOND), link.call(ListPromptsRequest {}, SECOND), async {
            peer.reads("list_prompts_request").await;
            drop(peer);
        });
    assert_eq!((reason(one), reason(two)), (Closed::ByPeer, Closed::ByPeer));
    assert_eq!(heard(&mut events).await, "log last words");
    assert_eq!(heard(&mut events).await, "closed: the tool process disconnected");
    assert_eq!(heard(&mut events).await, "nothing more");
    assert!(link.is_closed());
    assert_eq!(reason(soon(link.call(ListPromptsRequest {}, SECOND)).await), Closed::ByPeer);
}

#[tokio::test(start_paused = true)]
async fn closing_on_purpose_fails_calls_and_ends_the_processes_input() {
    let (link, mut events, mut peer) = connected(Config::default(), 4096).await;
    let (answer, ()) = join!(link.call(ListPromptsRequest {}, SECOND), async {
        peer.reads("list_prompts_request").await;
        assert!(!link.is_closed());
        link.close();
        assert_eq!(peer.next().await, None);
    });
    assert_eq!(reason(answer), Closed::Here);
    assert_eq!(heard(&mut events).await, "closed: it was closed on purpose");
    assert_eq!(heard(&mut events).await, "nothing more");
}

#[tokio::test(start_paused = true)]
async fn what_was_said_before_closing_is_still_written() {
    let (link, _events, mut peer) = connected(Config::default(), 4096).await;
    link.reply("goodbye", PromptListResponse::default());
    link.close();
    assert_eq!(peer.reads("prompt_list_response").await, "goodbye");
    assert_eq!(peer.next().await, None);
}

#[tokio::test(start_paused = true)]
async fn dropping_the_last_handle_ends_the_link() {
    let (link, mut events, mut peer) = connected(Config::default(), 4096).await;
    let other = link.clone();
    drop(link);
    assert!(!other.is_closed());
    drop(other);
    assert_eq!(heard(&mut events).await, "closed: it was closed on purpose");
    assert_eq!(peer.next().await, None);
}

#[tokio::test(start_paused = true)]
async fn dropping_the_events_ends_the_link() {
    let (link, events, mut peer) = connected(Config::default(), 4096).await;
    let (answer, ()) = join!(link.call(ListPromptsRequest {}, 40 * SECOND), async {
        peer.reads("list_prompts_request").await;
        drop(events);
        assert_eq!(peer.next().await, None);
    });
    assert_eq!(reason(answer), Closed::Here);
    assert!(link.is_closed());
}

#[tokio::test(start_paused = true)]
async fn bytes_that_cannot_be_followed_end_the_link_with_a_reason() {
    let (link, mut events, mut peer) = connected(Config::default(), 4096).await;
    // A raw header whose size is more than is ever read past.
    let header = protomcp_envelope::RawHeader { request_id: "x".into(), size: u64::MAX, ..Default::default() };
    peer.says("", header).await;
    let expected = "closed: the tool process sent bytes that cannot be understood: \
                    18446744073709551615 bytes are announced, more than the 4294967296 that are read past";
    assert_eq!(heard(&mut events).await, expected);
    assert!(matches!(reason(soon(link.call(ListPromptsRequest {}, SECOND)).await), Closed::Broken(_)));
}

#[tokio::test(start_paused = true)]
async fn a_process_that_never_registers_is_reported() {
    let (ours, _theirs) = tokio::io::duplex(4096);
    let (link, mut events) = drive(ours, Config::default());
    let error = soon(link.call(ListPromptsRequest {}, SECOND)).await.unwrap_err();
    assert!(matches!(error, CallError::NotInService(_)), "{error}");
    let Some(Event::HandshakeFailed(error)) = events.recv().await else { panic!() };
    assert_eq!(error.to_string(), "it did not send its tool list within 30s");
}

/// Lets a future begin.
async fn is_pending(mut future: Pin<&mut impl Future>) -> bool {
    poll_fn(|cx| Poll::Ready(future.as_mut().poll(cx).is_pending())).await
}

#[tokio::test]
async fn an_answer_sent_before_a_failed_write_arrives() {
    let (ours, theirs) = Blocking::pair().unwrap();
    ours.set_nonblocking(true).unwrap();
    let mut theirs = theirs;
    let mut says = |id: &str, message: protomcp_envelope::Msg| {
        let mut bytes = Vec::new();
        Encoder::new(Limits::default()).encode_envelope(&Envelope::new(id, message), &mut bytes).unwrap();
        theirs.write_all(&bytes).unwrap();
    };
    let (link, mut events) = drive(UnixStream::from_std(ours).unwrap(), Config::default());
    says("req-0", ToolListResponse::default().into());
    says("", ReloadResponse { success: true, ..Default::default() }.into());
    assert_eq!(heard(&mut events).await, "ready after Start");

    let mut answered = pin!(link.call(ListPromptsRequest {}, SECOND));
    let mut unanswered = pin!(link.call(ListPromptsRequest {}, SECOND));
    assert!(is_pending(answered.as_mut()).await);
    tokio::task::yield_now().await;
    // Without letting the driver run: the answer, the end, and one more request that cannot be written.
    says("req-1", PromptListResponse::default().into());
    drop(theirs);
    assert!(is_pending(unanswered.as_mut()).await);

    soon(answered).await.unwrap();
    assert_eq!(reason(soon(unanswered).await), Closed::ByPeer);
    assert_eq!(heard(&mut events).await, "closed: the tool process disconnected");
}

/// A stream that works until it is told to fail.
struct Failing<IO> {
    io: IO,
    fails: tokio::sync::oneshot::Receiver<io::ErrorKind>,
}

impl<IO: AsyncRead + Unpin> AsyncRead for Failing<IO> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, space: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if let Poll::Ready(Ok(kind)) = Pin::new(&mut self.fails).poll(cx) {
            return Poll::Ready(Err(io::Error::new(kind, "the cable is cut")));
        }
        Pin::new(&mut self.io).poll_read(cx, space)
    }
}

impl<IO: AsyncWrite + Unpin> AsyncWrite for Failing<IO> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(cx)
    }
}

#[tokio::test(start_paused = true)]
async fn a_failing_stream_closes_the_link() {
    let table = [
        (io::ErrorKind::ConnectionReset, "closed: the tool process disconnected"),
        (io::ErrorKind::BrokenPipe, "closed: the tool process disconnected"),
        (io::ErrorKind::Other, "closed: input or output failed: the cable is cut"),
    ];
    for (kind, expected) in table {
        let (ours, theirs) = tokio::io::duplex(4096);
        let (fail, fails) = tokio::sync::oneshot::channel();
        let (_link, mut events, _peer) = serve(Failing { io: ours, fails }, theirs, Config::default()).await;
        fail.send(kind).unwrap();
        assert_eq!(heard(&mut events).await, expected);
    }
}

/// A stream that takes nothing more, or cannot be flushed.
struct Full<IO> {
    io: IO,
    taken: bool,
}

impl<IO: AsyncRead + Unpin> AsyncRead for Full<IO> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, space: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_read(cx, space)
    }
}

impl<IO: AsyncWrite + Unpin> AsyncWrite for Full<IO> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        if self.taken {
            return Poll::Ready(Ok(0));
        }
        let written = Pin::new(&mut self.io).poll_write(cx, bytes);
        self.taken = bytes.len() > 100;
        written
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        let failed = io::Error::other("no way out");
        Poll::Ready(if self.taken { Err(failed) } else { Ok(()) })
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_accepts_no_bytes_closes_the_link() {
    for (size, expected) in
        [(200, "closed: input or output failed: no way out"), (5000, "closed: the tool process disconnected")]
    {
        let (ours, theirs) = tokio::io::duplex(4096);
        let (link, mut events, _peer) = serve(Full { io: ours, taken: false }, theirs, Config::default()).await;
        link.reply("n".repeat(size), PromptListResponse::default());
        assert_eq!(heard(&mut events).await, expected, "{size}");
    }
}

#[tokio::test]
async fn a_process_is_served_through_an_endpoint() {
    let folder = tempfile::tempdir().unwrap();
    let endpoint = Endpoint::bind(&folder.path().join("run/tool.sock")).unwrap();
    let (ours, theirs) = join!(endpoint.accept(), UnixStream::connect(endpoint.path()));
    let (link, mut events, mut peer) = serve(ours.unwrap(), theirs.unwrap(), Config::default()).await;
    let (answer, ()) = join!(link.call(ListPromptsRequest {}, SECOND), async {
        let id = peer.reads("list_prompts_request").await;
        peer.says(&id, PromptListResponse::default()).await;
    });
    answer.unwrap();
    peer.io.shutdown().await.unwrap();
    assert_eq!(heard(&mut events).await, "closed: the tool process disconnected");
}

#[tokio::test(start_paused = true)]
async fn half_a_frame_at_the_end_is_the_end() {
    let (ours, theirs) = tokio::io::duplex(4096);
    let (_link, mut events) = drive(ours, Config::default());
    let mut peer = Peer::new(theirs);
    peer.reads("list_tools").await;
    peer.io.write_all(&[0, 0, 1]).await.unwrap();
    drop(peer);
    assert_eq!(heard(&mut events).await, "closed: the tool process disconnected");
}
