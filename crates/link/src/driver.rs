//! Runs a [`Connection`] over a byte stream: one task, no decisions.
//!
//! Each turn takes what is ready: the commands in the queue, what the socket accepts, what it holds. What they cause is
//! written with one system call, which is what makes bursts cheap. A turn waits for nothing: neither for a peer that does
//! not read nor for an owner that does not take its events, so deadlines and cancels always work. And it ends: after so
//! many frames or bytes every other task has a turn, however much there is to read.

mod event_sender;
mod input;

use std::collections::HashMap;
use std::future::{Future, poll_fn};
use std::io;
use std::pin::{Pin, pin};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{mpsc, oneshot};
use tokio::time::Sleep;

use crate::answer::Answer;
use crate::byte_counters::ByteCounters;
use crate::config::{Config, Side};
use crate::connection::Connection;
use crate::driver::event_sender::EventSender;
use crate::driver::input::Input;
use crate::error::{CallError, Closed};
use crate::event::Event;
use crate::handle::{Command, Link, Listeners};
use crate::id::{CallId, CallIds};

/// Commands taken in one turn.
const COMMANDS_PER_TURN: usize = 256;
/// Frames taken in one turn. Each is an event that others deal with, and these take no more in a turn of theirs.
const FRAMES_PER_TURN: usize = 64;
/// Bytes read in one turn, but for the last read.
const BYTES_PER_TURN: usize = 256 << 10;
/// What the timer is set to until there is a deadline; not polled before.
const IDLE: Duration = Duration::from_secs(365 * 86_400);
/// How long is waited for the end of the stream when writing has failed. A process that has ended has sent all it ever
/// will, but the system may tell of the failure first.
const LAST_WORDS: Duration = Duration::from_secs(1);
/// A write buffer that grew beyond this, in bytes, is given back once it is empty.
const WRITE_KEPT: usize = 1 << 20;

/// Starts the bridge's end of a link on `io` and asks for the tool list.
///
/// Returns the handle to call with and the events. The owner keeps receiving them: when it falls behind (1,024 events or
/// 64 MiB of messages) the socket is no longer read until it has caught up, and no event is lost. An event comes before
/// the answer that followed it on the wire, unless the owner has fallen behind. Dropping the receiver ends the link.
///
/// # Panics
/// Outside a tokio runtime with time enabled.
pub fn drive<IO>(io: IO, config: Config) -> (Link, mpsc::Receiver<Event>)
where
    IO: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    drive_filtered(io, config, Some)
}

/// As [`drive`], with someone who sees each event first: before any answer that followed it on the wire is handed out, and
/// before anything is written in return. What `filter` gives back goes to the owner.
///
/// It runs on the link's own task: it hands on what it keeps and returns, without waiting or panicking. Answers and progress
/// do not pass it, since they have receivers of their own.
///
/// # Panics
/// As [`drive`].
pub fn drive_filtered<IO>(
    io: IO,
    config: Config,
    filter: impl FnMut(Event) -> Option<Event> + Send + 'static,
) -> (Link, mpsc::Receiver<Event>)
where
    IO: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let ids = CallIds::default();
    let ended = Arc::new(OnceLock::new());
    let (link, commands) = Link::new(&config, ids.clone(), Arc::clone(&ended));
    let (event_sender, receiver) = EventSender::new();
    let byte_counters = Arc::clone(&config.byte_counters);
    let mut connection = Connection::new(Side::Bridge, config, ids);
    connection.begin(now());
    let driver = Driver {
        io,
        connection,
        commands,
        batch: Vec::with_capacity(COMMANDS_PER_TURN),
        filter: Box::new(filter),
        event_sender,
        waiting: HashMap::new(),
        input: Input::new(),
        turn: Turn::default(),
        output: Output::default(),
        unwritable: None,
        ended,
        byte_counters,
    };
    tokio::spawn(driver.run());
    (link, receiver)
}

/// Tokio's clock, so that tests can pause it.
fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}

struct Waiting {
    answer: oneshot::Sender<Result<Answer, CallError>>,
    listeners: Listeners,
}

type EventFilter = Box<dyn FnMut(Event) -> Option<Event> + Send>;

struct Driver<IO> {
    io: IO,
    connection: Connection,
    commands: mpsc::UnboundedReceiver<Command>,
    batch: Vec<Command>,
    filter: EventFilter,
    event_sender: EventSender,
    waiting: HashMap<CallId, Waiting>,
    input: Input,
    turn: Turn,
    output: Output,
    /// Writing has failed, for this reason; what the peer said before is still read, until then at the latest.
    unwritable: Option<(Closed, Instant)>,
    /// For callers that come too late.
    ended: Arc<OnceLock<Closed>>,
    byte_counters: Arc<ByteCounters>,
}

/// What has been taken since the other tasks had their turn.
#[derive(Debug, Default)]
struct Turn {
    frames: usize,
    bytes: usize,
    /// There may be frames that were read and not taken.
    unfinished: bool,
}

impl Turn {
    fn is_over(&self) -> bool {
        self.frames >= FRAMES_PER_TURN || self.bytes >= BYTES_PER_TURN
    }
}

/// Frames on their way into the socket.
#[derive(Default)]
struct Output {
    bytes: Vec<u8>,
    written: usize,
    unflushed: bool,
}

impl<IO: AsyncRead + AsyncWrite + Unpin> Driver<IO> {
    async fn run(mut self) {
        let mut timer = pin!(tokio::time::sleep(IDLE));
        poll_fn(|cx| self.poll(cx, timer.as_mut())).await;
        // What is ready to be written, such as the last cancels, goes out if the socket takes it at once.
        poll_fn(|cx| Poll::Ready(self.write(cx))).await;
        let Self { io, commands, event_sender, waiting, .. } = self;
        // In this order: the peer sees the end of its input, callers that came too late fail, the owner learns of it.
        drop(io);
        drop((commands, waiting));
        event_sender.finish().await;
    }

    /// Ready: the link has ended.
    fn poll(&mut self, cx: &mut Context<'_>, mut timer: Pin<&mut Sleep>) -> Poll<()> {
        loop {
            let mut busy = self.take_commands(cx);
            busy |= self.write(cx);
            busy |= self.read(cx);
            busy |= self.pass_time(cx, timer.as_mut());
            if !busy && self.event_sender.poll_owner_left(cx).is_ready() {
                self.connection.close(Closed::Here);
            }
            self.deliver();
            if let Some(reason) = self.connection.closed() {
                let _first = self.ended.set(reason.clone());
                return Poll::Ready(());
            }
            if !busy || self.turn.is_over() {
                self.turn = Turn { unfinished: self.turn.unfinished, ..Turn::default() };
                if busy {
                    pass_the_turn(cx);
                }
                return Poll::Pending;
            }
        }
    }

    fn take_commands(&mut self, cx: &mut Context<'_>) -> bool {
        match self.commands.poll_recv_many(cx, &mut self.batch, COMMANDS_PER_TURN) {
            Poll::Pending => return false,
            // The last handle is gone.
            Poll::Ready(0) => self.connection.close(Closed::Here),
            Poll::Ready(_) => {
                let mut batch = std::mem::take(&mut self.batch);
                batch.drain(..).for_each(|command| self.carry_out(command));
                self.batch = batch;
            }
        }
        true
    }

    fn carry_out(&mut self, command: Command) {
        match command {
            // Given up before it was begun: the peer need not hear of it.
            Command::Call { answer, .. } if answer.is_closed() => {}
            Command::Call { call, request, timeout, answer, listeners } => {
                self.waiting.insert(call, Waiting { answer, listeners });
                self.connection.call(now(), call, request, timeout);
            }
            Command::Cancel(call) => {
                self.waiting.remove(&call);
                self.connection.cancel(call);
            }
            Command::Reply { id, message } => self.connection.reply(&id, message),
            Command::WorkAroundTwoReaders => self.connection.work_around_two_readers(now()),
            Command::Reload => self.connection.reload(now()),
            Command::Interrupt => self.connection.interrupt(),
            Command::Close => self.connection.close(Closed::Here),
        }
    }

    fn write(&mut self, cx: &mut Context<'_>) -> bool {
        let mut busy = false;
        while self.unwritable.is_none() {
            let Output { bytes, written, unflushed } = &mut self.output;
            if *written == bytes.len() {
                bytes.clear();
                bytes.shrink_to(WRITE_KEPT);
                *written = 0;
                if !self.connection.poll_transmit(bytes) {
                    break;
                }
            }
            match Pin::new(&mut self.io).poll_write(cx, &bytes[*written..]) {
                Poll::Pending => break,
                Poll::Ready(Ok(0)) => self.write_failed(Closed::ByPeer),
                Poll::Ready(Ok(count)) => {
                    self.byte_counters.sent.add(count as u64);
                    *written += count;
                    *unflushed = true;
                }
                Poll::Ready(Err(error)) => self.write_failed(broken(&error)),
            }
            busy = true;
        }
        if self.output.unflushed && self.unwritable.is_none() {
            match Pin::new(&mut self.io).poll_flush(cx) {
                Poll::Pending => {}
                Poll::Ready(Ok(())) => self.output.unflushed = false,
                Poll::Ready(Err(error)) => {
                    self.write_failed(broken(&error));
                    busy = true;
                }
            }
        }
        busy
    }

    fn write_failed(&mut self, reason: Closed) {
        self.unwritable = Some((reason, now() + LAST_WORDS));
    }

    fn read(&mut self, cx: &mut Context<'_>) -> bool {
        if !self.connection.may_read() || !self.event_sender.poll_keeps_up(cx) {
            return false;
        }
        if self.turn.unfinished {
            self.take_frames();
            return true;
        }
        match self.input.poll_read(cx, &mut self.io, self.connection.bytes_needed()) {
            Poll::Pending => return false,
            Poll::Ready(Ok(0)) => self.connection.close(Closed::ByPeer),
            Poll::Ready(Ok(count)) => {
                self.byte_counters.received.add(count as u64);
                self.turn.bytes += count;
                self.take_frames();
            }
            Poll::Ready(Err(error)) => self.connection.close(broken(&error)),
        }
        true
    }

    fn take_frames(&mut self) {
        let most = FRAMES_PER_TURN.saturating_sub(self.turn.frames).max(1);
        match self.connection.handle_frames(now(), &mut self.input.bytes, most) {
            Ok(taken) => {
                self.turn.frames += taken;
                self.turn.unfinished = taken == most;
            }
            Err(error) => self.connection.close(Closed::Broken(error.to_string())),
        }
    }

    fn pass_time(&mut self, cx: &mut Context<'_>, mut timer: Pin<&mut Sleep>) -> bool {
        let give_up = self.unwritable.as_ref().map(|(_, at)| *at);
        let deadlines = [self.connection.poll_timeout(), give_up];
        let Some(deadline) = deadlines.into_iter().flatten().min() else { return false };
        let deadline = tokio::time::Instant::from_std(deadline);
        // It is moved only when it would ring too late; ringing too early costs one idle turn.
        if deadline < timer.deadline() || timer.is_elapsed() {
            timer.as_mut().reset(deadline);
        }
        let rang = timer.as_mut().poll(cx).is_ready();
        if rang {
            let now = now();
            self.connection.handle_timeout(now);
            if let Some((reason, _)) = self.unwritable.take_if(|(_, at)| *at <= now) {
                self.connection.close(reason);
            }
        }
        rang
    }

    /// Hands out what happened: answers and progress to the caller, the rest to the owner.
    fn deliver(&mut self) {
        while let Some(event) = self.connection.poll_event() {
            match event {
                Event::Answer { call, outcome } => {
                    if let Some(Waiting { answer, listeners }) = self.waiting.remove(&call) {
                        if let (Ok(answer), Some(on_task)) = (&outcome, listeners.on_task)
                            && answer.is_task()
                        {
                            on_task();
                        }
                        // A caller that stopped waiting has sent, or is about to send, a cancel.
                        let _gone = answer.send(outcome);
                    }
                }
                Event::Progress { call, progress } => {
                    let listener =
                        self.waiting.get_mut(&call).and_then(|waiting| waiting.listeners.on_progress.as_mut());
                    if let Some(listener) = listener {
                        listener(progress);
                    }
                }
                event => {
                    if let Some(event) = (self.filter)(event) {
                        self.event_sender.push(event);
                    }
                }
            }
        }
    }
}

/// Wakes this task again when the others have had their turn and input and output were looked at.
fn pass_the_turn(cx: &mut Context<'_>) {
    // The first look at it does just that, and there is no other.
    let _pending = pin!(tokio::task::yield_now()).poll(cx);
}

fn broken(error: &io::Error) -> Closed {
    match error.kind() {
        io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => Closed::ByPeer,
        _ => Closed::Io(error.to_string()),
    }
}
