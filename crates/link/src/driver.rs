//! Runs a [`Connection`] over a byte stream: one task, no decisions.
//!
//! Each turn takes everything that is ready: all bytes in the socket, all commands in the queue. What they cause is
//! written with one system call, which is what makes bursts cheap.

use std::collections::HashMap;
use std::future::{Future, poll_fn};
use std::io;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::Instant;

use bytes::BytesMut;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{mpsc, oneshot};
use tokio::time::Sleep;

use crate::answer::Answer;
use crate::config::{Config, Side};
use crate::connection::Connection;
use crate::error::{CallError, Closed};
use crate::event::Event;
use crate::handle::{Command, Link, OnProgress};
use crate::id::{CallId, CallIds};

/// Room for one read. Small calls share it; a larger frame gets the room it asks for.
const READ_ROOM: usize = 64 << 10;
/// The most room that is made at once for a large frame, so that an announced size allocates nothing by itself.
const READ_ROOM_MAX: usize = 4 << 20;
/// Commands taken in one turn.
const COMMANDS_PER_TURN: usize = 256;
/// Events that may wait for the owner; beyond it the tool process is not read until the owner catches up.
const EVENTS: usize = 1024;

/// Starts the bridge's end of a link on `io` and asks for the tool list.
///
/// Returns the handle to call with and the events. The owner keeps receiving them: a full queue stops the reading of
/// the socket, never loses an event. Dropping the receiver ends the link.
pub fn drive<IO>(io: IO, config: Config) -> (Link, mpsc::Receiver<Event>)
where
    IO: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let ids = CallIds::default();
    let (link, commands) = Link::new(&config, ids.clone());
    let (events, receiver) = mpsc::channel(EVENTS);
    let mut connection = Connection::new(Side::Bridge, config, ids);
    connection.begin(now());
    let driver = Driver { io, connection, commands, events, waiting: HashMap::new() };
    tokio::spawn(driver.run());
    (link, receiver)
}

/// Tokio's clock, so that tests can pause it.
fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}

struct Waiting {
    answer: oneshot::Sender<Result<Answer, CallError>>,
    on_progress: Option<OnProgress>,
}

struct Driver<IO> {
    io: IO,
    connection: Connection,
    commands: mpsc::UnboundedReceiver<Command>,
    events: mpsc::Sender<Event>,
    waiting: HashMap<CallId, Waiting>,
}

/// What one turn of the loop found ready.
enum Turn {
    Wrote(io::Result<usize>),
    Commands(usize),
    Read(io::Result<usize>),
    Elapsed,
}

impl<IO: AsyncRead + AsyncWrite + Unpin> Driver<IO> {
    async fn run(mut self) {
        let mut writing = Vec::new();
        let mut written = 0;
        let mut input = BytesMut::with_capacity(READ_ROOM);
        let mut batch = Vec::with_capacity(COMMANDS_PER_TURN);
        let mut timer = pin!(tokio::time::sleep_until(far_future()));
        loop {
            if !self.deliver().await {
                return;
            }
            if written == writing.len() {
                writing.clear();
                written = 0;
                self.connection.poll_transmit(&mut writing);
            }
            arm(timer.as_mut(), self.connection.poll_timeout());
            let room = self.connection.wants().clamp(READ_ROOM, READ_ROOM_MAX);
            let turn = {
                let (io, commands) = (&mut self.io, &mut self.commands);
                poll_fn(|cx| {
                    poll_turn(cx, io, &writing[written..], commands, &mut batch, &mut input, room, timer.as_mut())
                })
                .await
            };
            match turn {
                Turn::Wrote(Ok(0)) => self.connection.close(Closed::ByPeer),
                Turn::Wrote(Ok(count)) => written += count,
                Turn::Read(Ok(0)) => self.connection.close(Closed::ByPeer),
                Turn::Read(Ok(_)) => {
                    if let Err(error) = self.connection.handle_bytes(now(), &mut input) {
                        self.connection.close(Closed::Broken(error.to_string()));
                    }
                }
                Turn::Wrote(Err(error)) | Turn::Read(Err(error)) => self.connection.close(broken(&error)),
                Turn::Commands(0) => self.connection.close(Closed::Here),
                Turn::Commands(_) => batch.drain(..).for_each(|command| self.carry_out(command)),
                Turn::Elapsed => self.connection.handle_timeout(now()),
            }
        }
    }

    fn carry_out(&mut self, command: Command) {
        match command {
            Command::Call { call, request, patience, answer, on_progress } => {
                self.waiting.insert(call, Waiting { answer, on_progress });
                self.connection.call(now(), call, request, patience);
            }
            Command::Cancel(call) => {
                self.waiting.remove(&call);
                self.connection.cancel(call);
            }
            Command::Reply { id, message } => self.connection.reply(&id, message),
            Command::Reload => self.connection.reload(now()),
            Command::Interrupt => self.connection.interrupt(),
            Command::Close => self.connection.close(Closed::Here),
        }
    }

    /// Hands out what happened: answers and progress to the caller, the rest to the owner. `false`: the link is over.
    async fn deliver(&mut self) -> bool {
        while let Some(event) = self.connection.poll_event() {
            match event {
                Event::Answer { call, outcome } => {
                    if let Some(waiting) = self.waiting.remove(&call) {
                        // A caller that stopped waiting has sent, or is about to send, a cancel.
                        let _gone = waiting.answer.send(outcome);
                    }
                }
                Event::Progress { call, progress } => {
                    if let Some(Waiting { on_progress: Some(listener), .. }) = self.waiting.get_mut(&call) {
                        listener(progress);
                    }
                }
                event => {
                    let last = matches!(event, Event::Closed(_));
                    if self.events.send(event).await.is_err() || last {
                        return false;
                    }
                }
            }
        }
        true
    }
}

#[expect(clippy::too_many_arguments, reason = "the borrowed halves of one turn; a struct would only rename them")]
fn poll_turn<IO: AsyncRead + AsyncWrite + Unpin>(
    cx: &mut Context<'_>,
    io: &mut IO,
    output: &[u8],
    commands: &mut mpsc::UnboundedReceiver<Command>,
    batch: &mut Vec<Command>,
    input: &mut BytesMut,
    room: usize,
    timer: Pin<&mut Sleep>,
) -> Poll<Turn> {
    // Commands first, so that all of them share the next write.
    if let Poll::Ready(count) = commands.poll_recv_many(cx, batch, COMMANDS_PER_TURN) {
        return Poll::Ready(Turn::Commands(count));
    }
    if !output.is_empty()
        && let Poll::Ready(result) = Pin::new(&mut *io).poll_write(cx, output)
    {
        return Poll::Ready(Turn::Wrote(result));
    }
    if let Poll::Ready(result) = poll_read(cx, io, input, room) {
        return Poll::Ready(Turn::Read(result));
    }
    timer.poll(cx).map(|()| Turn::Elapsed)
}

fn poll_read<IO: AsyncRead + Unpin>(
    cx: &mut Context<'_>,
    io: &mut IO,
    input: &mut BytesMut,
    room: usize,
) -> Poll<io::Result<usize>> {
    use bytes::BufMut;
    if input.capacity() - input.len() < room / 2 {
        input.reserve(room);
    }
    let mut space = input.limit(room);
    let mut read = pin!(tokio::io::AsyncReadExt::read_buf(io, &mut space));
    read.as_mut().poll(cx)
}

/// Moves the timer only when it would ring too late; ringing too early costs one idle turn.
fn arm(timer: Pin<&mut Sleep>, deadline: Option<Instant>) {
    let deadline = deadline.map_or_else(far_future, tokio::time::Instant::from_std);
    if deadline < timer.deadline() || timer.is_elapsed() {
        timer.reset(deadline);
    }
}

fn far_future() -> tokio::time::Instant {
    tokio::time::Instant::now() + std::time::Duration::from_secs(365 * 86_400)
}

fn broken(error: &io::Error) -> Closed {
    match error.kind() {
        io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => Closed::ByPeer,
        _ => Closed::Io(error.to_string()),
    }
}
