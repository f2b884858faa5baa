//! The line transport by itself: however the bytes are cut, the messages are the same.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use bytes::Bytes;
use proptest::prelude::*;
use protomcp_transport::lines::Lines;
use protomcp_transport::{Received, Sink, Source, Transport, TransportError};
use protomcp_types::{Incoming, JsonBuf, Message, RawJson, SHARE_FROM};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Hands out what it holds piece by piece, with a break before each.
struct Pieces {
    pieces: VecDeque<Vec<u8>>,
    pause: bool,
}

impl AsyncRead for Pieces {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        self.pause = !self.pause;
        if self.pause {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        if let Some(mut piece) = self.pieces.pop_front() {
            let rest = piece.split_off(piece.len().min(buf.remaining()));
            buf.put_slice(&piece);
            if !rest.is_empty() {
                self.pieces.push_front(rest);
            }
        }
        Poll::Ready(Ok(()))
    }
}

/// Takes a few bytes at a time, with a break before each.
#[derive(Clone)]
struct Narrow {
    taken: Arc<Mutex<Vec<u8>>>,
    width: usize,
    vectored: bool,
    pause: bool,
}

impl AsyncWrite for Narrow {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(cx, &[io::IoSlice::new(buf)])
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.pause = !self.pause;
        if self.pause {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        let bytes: Vec<u8> = bufs.iter().flat_map(|buf| buf.iter().copied()).take(self.width).collect();
        self.taken.lock().unwrap().extend_from_slice(&bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn is_write_vectored(&self) -> bool {
        self.vectored
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

/// Reads everything; every other read is given up once before it is taken up again.
fn read(text: &[u8], cuts: &[usize], max_line: usize) -> Vec<Received> {
    let mut pieces = VecDeque::new();
    let mut rest = text;
    for cut in cuts {
        let (piece, behind) = rest.split_at((*cut).min(rest.len()));
        if !piece.is_empty() {
            pieces.push_back(piece.to_vec());
        }
        rest = behind;
    }
    pieces.push_back(rest.to_vec());
    pieces.retain(|piece| !piece.is_empty());
    let lines = Lines::new(Pieces { pieces, pause: false }, tokio::io::sink()).with_max_line(max_line);
    let (mut source, _) = lines.split();
    block_on(async {
        let mut all = Vec::new();
        loop {
            let next = tokio::select! {
                biased;
                next = source.next() => next,
                () = std::future::ready(()) => source.next().await,
            };
            match next.unwrap() {
                Some(received) => all.push(received),
                None => return all,
            }
        }
    })
}

/// Writes everything with the same interruptions.
fn write(messages: &[Message], width: usize, vectored: bool, flush_every: usize) -> Vec<u8> {
    let writer = Narrow { taken: Arc::default(), width, vectored, pause: false };
    let taken = Arc::clone(&writer.taken);
    let (_, mut sink) = Lines::new(tokio::io::empty(), writer).split();
    block_on(async {
        for (index, message) in messages.iter().enumerate() {
            sink.send(message.clone(), None).unwrap();
            assert!(sink.unwritten() > 0);
            if index % flush_every == 0 {
                // Given up in the middle, so that more is sent behind half a write.
                tokio::select! {
                    biased;
                    flushed = sink.flush() => flushed.unwrap(),
                    () = tokio::task::yield_now() => {}
                }
            }
        }
        sink.flush().await.unwrap();
        assert_eq!(sink.unwritten(), 0);
    });
    drop(sink);
    Arc::try_unwrap(taken).unwrap().into_inner().unwrap()
}

fn result(id: i64, text: &str) -> Message {
    Message::result(id.into(), JsonBuf::object().raw("x", &RawJson::parse(text.to_owned()).unwrap()).finish())
}

proptest! {
    #[test]
    fn lines_are_the_same_however_they_are_cut(
        lines in prop::collection::vec(
            prop_oneof![
                "[ \t\r]{0,4}",
                (0..100u64).prop_map(|id| format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#)),
                "[a-z]{1,300}".prop_map(|text| format!(r#"{{"jsonrpc":"2.0","method":"{text}"}}"#)),
                "[{}\\[\\]\",a]{1,20}",
            ],
            0..12,
        ),
        cuts in prop::collection::vec(1..80usize, 0..60),
        ended in any::<bool>(),
    ) {
        let max_line = 200;
        let text = lines.join("\n") + if ended { "\n" } else { "" };
        let expected: Vec<Received> = lines
            .iter()
            .filter(|line| line.len() > max_line || !line.trim().is_empty())
            .map(|line| match line.len() {
                length if length > max_line => {
                    Err(protomcp_types::Malformed::invalid(None, format!("a line is longer than {max_line} bytes")))
                }
                _ => Incoming::parse(&Bytes::from(line.clone())),
            })
            .collect();
        prop_assert_eq!(read(text.as_bytes(), &cuts, max_line), expected);
    }

    #[test]
    fn messages_are_the_same_however_they_are_written(
        sizes in prop::collection::vec(prop_oneof![1..50usize, (SHARE_FROM - 5)..(SHARE_FROM + 5)], 1..8),
        width in prop_oneof![1000..3000usize, Just(usize::MAX)],
        vectored in any::<bool>(),
        flush_every in 1..4usize,
    ) {
        let messages: Vec<_> =
            sizes.iter().zip(0..).map(|(size, id)| result(id, &format!("\"{}\"", "y".repeat(*size)))).collect();
        let expected: String = messages.iter().map(|message| message.to_text() + "\n").collect();
        let written = write(&messages, width, vectored, flush_every);
        prop_assert_eq!(String::from_utf8(written).unwrap(), expected);
    }
}

#[test]
fn line_breaks_inside_a_message_become_spaces() {
    let pretty = "{\r\n  \"a\": 1,\n  \"b\\n\": [\n]\n}";
    let big = format!("[\n\"{}\"\n]", "z".repeat(SHARE_FROM));
    let written = String::from_utf8(write(&[result(1, pretty), result(2, &big)], 7777, true, 1)).unwrap();
    let lines: Vec<_> = written.lines().collect();
    assert_eq!(lines.len(), 2);
    assert_eq!(lines[0], r#"{"jsonrpc":"2.0","id":1,"result":{"x":{    "a": 1,   "b\n": [ ] }}}"#);
    assert!(lines[1].contains("[ \"zz") && lines[1].ends_with("z\" ]}}"));
}

#[test]
fn a_batch_is_one_line() {
    let (_, mut sink) = Lines::new(tokio::io::empty(), Vec::new()).split();
    sink.send_batch(vec![result(1, "1"), result(2, "2")]).unwrap();
    assert_eq!(
        sink.unwritten(),
        r#"[{"jsonrpc":"2.0","id":1,"result":{"x":1}},{"jsonrpc":"2.0","id":2,"result":{"x":2}}]"#.len() + 1
    );
    block_on(sink.flush()).unwrap();
}

#[test]
fn a_writer_that_takes_nothing_is_closed() {
    let writer = Narrow { taken: Arc::default(), width: 0, vectored: true, pause: false };
    let (_, mut sink) = Lines::new(tokio::io::empty(), writer).split();
    sink.send(result(1, "1"), None).unwrap();
    assert!(matches!(block_on(sink.flush()), Err(TransportError::Closed)));
}

#[test]
fn a_line_of_many_megabytes_is_read() {
    let big = "x".repeat(20_000_000);
    let text = format!(
        "{{\"jsonrpc\":\"2.0\",\"method\":\"m\",\"params\":{{\"x\":\"{big}\"}}}}\n{{\"jsonrpc\":\"2.0\",\"method\":\"n\"}}"
    );
    let received = read(text.as_bytes(), &[10, 5000, 1_000_000], 64 * 1024 * 1024);
    assert_eq!(received.len(), 2);
    let Ok(Incoming::One(Message::Notification(first))) = &received[0] else { panic!() };
    assert_eq!(first.params.member("x").unwrap().len(), big.len() + 2);
}
