//! Reads and writes that may block, on one thread per direction: slower, and possible with every descriptor.

use std::io::{self, Read, Write};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker, ready};
use std::thread;

use bytes::{Buf, Bytes};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::mpsc;
use tokio_util::sync::PollSender;

/// The bytes that go over in one chunk.
const CHUNK: usize = 64 * 1024;

/// The number of chunks that may be on their way.
const CHUNKS: usize = 4;

/// Reads in a thread. The thread ends with the input, or with the program.
#[derive(Debug)]
pub(super) struct ThreadReader {
    chunks: mpsc::Receiver<io::Result<Bytes>>,
    current: Bytes,
}

impl ThreadReader {
    pub(super) fn spawn(mut input: impl Read + Send + 'static) -> io::Result<Self> {
        let (sender, chunks) = mpsc::channel(CHUNKS);
        let read = move || {
            let mut buffer = vec![0; CHUNK];
            loop {
                let chunk = match input.read(&mut buffer) {
                    Ok(0) => return,
                    Ok(count) => Ok(Bytes::copy_from_slice(&buffer[..count])),
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                    Err(error) => Err(error),
                };
                let failed = chunk.is_err();
                if sender.blocking_send(chunk).is_err() || failed {
                    return;
                }
            }
        };
        thread::Builder::new().name("stdin".to_owned()).spawn(read)?;
        Ok(Self { chunks, current: Bytes::new() })
    }
}

impl AsyncRead for ThreadReader {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if self.current.is_empty() {
            match ready!(self.chunks.poll_recv(cx)) {
                Some(chunk) => self.current = chunk?,
                None => return Poll::Ready(Ok(())),
            }
        }
        let count = self.current.len().min(buf.remaining());
        buf.put_slice(&self.current[..count]);
        self.current.advance(count);
        Poll::Ready(Ok(()))
    }
}

/// Writes in a thread. `flush` waits until the thread has written everything.
#[derive(Debug)]
pub(super) struct ThreadWriter {
    chunks: PollSender<Bytes>,
    sent: u64,
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    written: u64,
    failed: Option<io::ErrorKind>,
    waiting: Option<Waker>,
}

impl ThreadWriter {
    pub(super) fn spawn(mut output: impl Write + Send + 'static) -> io::Result<Self> {
        let (sender, mut chunks) = mpsc::channel::<Bytes>(CHUNKS);
        let state = Arc::new(Mutex::new(State::default()));
        let shared = Arc::clone(&state);
        let write = move || {
            while let Some(chunk) = chunks.blocking_recv() {
                let outcome = output.write_all(&chunk).and_then(|()| output.flush());
                let mut state = lock(&shared);
                state.written += chunk.len() as u64;
                state.failed = outcome.as_ref().err().map(io::Error::kind);
                if let Some(waker) = state.waiting.take() {
                    waker.wake();
                }
                if outcome.is_err() {
                    return;
                }
            }
        };
        thread::Builder::new().name("stdout".to_owned()).spawn(write)?;
        Ok(Self { chunks: PollSender::new(sender), sent: 0, state })
    }

    fn failure(&self) -> io::Error {
        lock(&self.state).failed.unwrap_or(io::ErrorKind::BrokenPipe).into()
    }
}

impl AsyncWrite for ThreadWriter {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let failed = lock(&self.state).failed;
        if failed.is_some() || ready!(self.chunks.poll_reserve(cx)).is_err() {
            return Poll::Ready(Err(self.failure()));
        }
        let chunk = Bytes::copy_from_slice(&buf[..buf.len().min(CHUNK)]);
        let count = chunk.len();
        if self.chunks.send_item(chunk).is_err() {
            return Poll::Ready(Err(self.failure()));
        }
        self.sent += count as u64;
        Poll::Ready(Ok(count))
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut state = lock(&self.state);
        if let Some(kind) = state.failed {
            return Poll::Ready(Err(kind.into()));
        }
        if state.written == self.sent {
            return Poll::Ready(Ok(()));
        }
        state.waiting = Some(cx.waker().clone());
        Poll::Pending
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_flush(cx)
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    /// Remembers what was written.
    #[derive(Clone, Default)]
    struct Memory(Arc<Mutex<Vec<u8>>>);

    impl Write for Memory {
        fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(buf);
            Ok(buf.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[tokio::test]
    async fn everything_is_read_and_then_the_end_is_seen() {
        let input = vec![7; 5 * CHUNK + 3];
        let mut read = Vec::new();
        ThreadReader::spawn(io::Cursor::new(input.clone())).unwrap().read_to_end(&mut read).await.unwrap();
        assert_eq!(read, input);
    }

    #[tokio::test]
    async fn a_flush_waits_until_all_is_written() {
        let output = Memory::default();
        let mut writer = ThreadWriter::spawn(output.clone()).unwrap();
        writer.write_all(&vec![7; 10 * CHUNK + 3]).await.unwrap();
        writer.flush().await.unwrap();
        assert_eq!(output.0.lock().unwrap().len(), 10 * CHUNK + 3);
    }

    #[tokio::test]
    async fn a_failure_of_the_thread_comes_out_of_the_flush() {
        struct Full;
        impl Write for Full {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::StorageFull.into())
            }

            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let mut writer = ThreadWriter::spawn(Full).unwrap();
        writer.write_all(b"x").await.unwrap();
        assert_eq!(writer.flush().await.unwrap_err().kind(), io::ErrorKind::StorageFull);
        assert_eq!(writer.write_all(&[0; 1]).await.unwrap_err().kind(), io::ErrorKind::StorageFull);
    }
}
