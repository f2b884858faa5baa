//! The server `talker` on standard input and output, which ends at an exact byte of the conversation.
//!
//! Usage: cut_server                                  serves to the end, and tells the bytes of both directions then
//!        cut_server (read | written) N kill          kills itself with SIGKILL after N bytes
//!        cut_server (read | written) N close         closes both streams then, and stays until it is stopped
//!        cut_server --http                           serves over HTTP on a port that it tells on standard error

use std::io;
use std::pin::Pin;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use protomcp_conformance::{serve_talker, talker};
use protomcp_http::Listener;
use protomcp_transport::lines::Lines;
use protomcp_transport::stdio;
use rustix::process::{Signal, getpid, kill_process};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::Notify;

/// The end of the conversation.
#[derive(Debug, Clone)]
enum End {
    Kill,
    Close(Arc<Notify>),
}

/// A stream that ends after a number of bytes.
struct Cut<S> {
    stream: S,
    /// `None`: it does not end by itself.
    left: Option<(usize, End)>,
    /// The bytes so far.
    count: Arc<AtomicUsize>,
}

impl<S> Cut<S> {
    /// The bytes that may still pass. At none the conversation ends, and nothing returns.
    fn room(&self, cx: &mut Context<'_>) -> Poll<usize> {
        match &self.left {
            Some((0, End::Kill)) => {
                kill_process(getpid(), Signal::KILL).expect("a process may kill itself");
                cx.waker().wake_by_ref();
                Poll::Pending
            }
            Some((0, End::Close(over))) => {
                over.notify_one();
                Poll::Pending
            }
            Some((left, _)) => Poll::Ready(*left),
            None => Poll::Ready(usize::MAX),
        }
    }

    fn passed(&mut self, bytes: usize) {
        self.count.fetch_add(bytes, Ordering::Relaxed);
        if let Some((left, _)) = &mut self.left {
            *left -= bytes;
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Cut<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let Poll::Ready(room) = self.room(cx) else { return Poll::Pending };
        let mut part = buffer.take(room);
        let outcome = Pin::new(&mut self.stream).poll_read(cx, &mut part);
        let read = part.filled().to_vec();
        buffer.put_slice(&read);
        self.passed(read.len());
        outcome
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Cut<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let Poll::Ready(room) = self.room(cx) else { return Poll::Pending };
        let outcome = Pin::new(&mut self.stream).poll_write(cx, &bytes[..bytes.len().min(room)]);
        if let Poll::Ready(Ok(written)) = &outcome {
            self.passed(*written);
            // The end comes with the last byte, and not with the next one.
            let _ = self.room(cx);
        }
        outcome
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let over = Arc::new(Notify::new());
    let left = match words[..] {
        [] => None,
        ["--http"] => return over_http().await,
        [_, bytes, "kill"] => bytes.parse().ok().map(|bytes| (bytes, End::Kill)),
        [_, bytes, "close"] => bytes.parse().ok().map(|bytes| (bytes, End::Close(Arc::clone(&over)))),
        _ => return ExitCode::from(2),
    };
    let (read, written) = if words.first() == Some(&"read") { (left, None) } else { (None, left) };
    let Ok((reader, writer)) = stdio::take() else { return ExitCode::FAILURE };
    let counts = [Arc::default(), Arc::default()];
    let [reads, writes] = counts.clone();
    let lines = Lines::new(
        Cut { stream: reader, left: read, count: reads },
        Cut { stream: writer, left: written, count: writes },
    );
    let server = talker();
    tokio::select! {
        // The streams are dropped with the future.
        () = over.notified() => {}
        _ = server.serve(lines) => {
            tell(&counts.map(|count| count.load(Ordering::Relaxed).to_string()).join(" "));
            return ExitCode::SUCCESS;
        }
    }
    std::future::pending().await
}

/// Writes to standard error, for the test.
#[expect(clippy::print_stderr, reason = "a program may talk to its user")]
fn tell(text: &str) {
    eprintln!("{text}");
}

async fn over_http() -> ExitCode {
    let Ok(listener) = Listener::bind(("127.0.0.1", 0)).await else { return ExitCode::FAILURE };
    let Ok(address) = listener.local_addr() else { return ExitCode::FAILURE };
    tell(&address.to_string());
    match serve_talker(listener).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}
