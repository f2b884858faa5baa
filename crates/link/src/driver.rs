//! Runs a [`Connection`] over a byte stream: one task that makes no decisions.
//!
//! Each turn handles the queued commands, the bytes the socket accepts and the bytes it holds. Their effects are
//! written with one system call, which makes bursts cheap. A turn never waits for a peer that does not read or an owner
//! that does not take its events, so deadlines and cancellation always work. A turn is bounded: after a number of
//! frames or bytes it yields to other tasks.

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

/// The most commands handled in one turn.
const COMMANDS_PER_TURN: usize = 256;
/// The most frames handled in one turn. Each becomes an event for another task, and no more of those are handled in one
/// turn.
const FRAMES_PER_TURN: usize = 64;
/// The most bytes read in one turn, except for the last read.
const BYTES_PER_TURN: usize = 256 << 10;
/// The timer's setting while there is no deadline; it is not polled then.
const IDLE: Duration = Duration::from_secs(365 * 86_400);
/// The time to wait for the end of the stream after a write has failed. A process that ended has already sent its last
/// bytes, but the system may report the failed write first.
const LAST_WORDS: Duration = Duration::from_secs(1);
/// A write buffer larger than this, in bytes, is freed once it is empty.
const WRITE_KEPT: usize = 1 << 20;

/// Starts the bridge's end of a link on `io` and requests the tool list, unless [`Config::requests_list`] is false.
///
/// Returns the handle and the events. The owner keeps receiving events: when it falls behind (1,024 events or 64 MiB of
/// messages), the driver stops reading the socket until the owner has caught up, and loses no event. Unless the owner
/// has fallen behind, an event precedes the answer that followed it on the wire. Dropping the receiver closes the link.
///
/// # Panics
/// Outside a tokio runtime with time enabled.
pub fn drive<IO>(io: IO, config: Config) -> (Link, mpsc::Receiver<Event>)
where
    IO: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    drive_filtered(io, config, Some)
}

/// Like [`drive`], with a filter that sees each event before the answer that followed it on the wire is delivered, and
/// before anything is written in return. Events that `filter` returns go to the owner.
///
/// The filter runs on the link's own task, so it must neither wait nor panic. Answers and progress do not pass through
/// it, since they have their own receivers.
///
/// # Panics
/// Like [`drive`].
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
    let requests_list = config.requests_list;
    let mut connection = Connection::new(Side::Bridge, config, ids);
    if requests_list {
        connection.begin(now());
    }
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
    /// The reason for which writing failed, and the time until which the peer's earlier bytes are still read.
    unwritable: Option<(Closed, Instant)>,
    /// For callers that arrive after the end.
    ended: Arc<OnceLock<Closed>>,
    byte_counters: Arc<ByteCounters>,
}

/// The frames handled since the last yield.
#[derive(Debug, Default)]
struct Turn {
    frames: usize,
    bytes: usize,
    /// True if frames may have been read and not handled.
    unfinished: bool,
}

impl Turn {
    fn is_over(&self) -> bool {
        self.frames >= FRAMES_PER_TURN || self.bytes >= BYTES_PER_TURN
    }
}

/// Frames being written to the socket.
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
        // Frames that are ready, such as the last cancellations, are sent if the socket accepts them immediately.
        poll_fn(|cx| Poll::Ready(self.write(cx))).await;
        let Self { io, commands, event_sender, waiting, .. } = self;
        // In this order: the peer sees the end of its input, late callers fail, and the owner is notified.
        drop(io);
        drop((commands, waiting));
        event_sender.finish().await;
    }

    /// Ready when the link has ended.
    fn poll(&mut self, cx: &mut Context<'_>, mut timer: Pin<&mut Sleep>) -> Poll<()> {
        loop {
            let mut busy = self.take_commands(cx);
            busy |= self.write(cx);
            busy |= self.read(cx);
            busy |= self.pass_time(cx, timer.as_mut());
            if !busy && self.event_sender.poll_owner_left(cx).is_ready() {
                self.connection.close(Closed::Here);
            }
            let closed = self.connection.closed().cloned();
            if let Some(reason) = &closed {
                let _first = self.ended.set(reason.clone());
                // Callers whose calls fail see that the link is closed.
                self.commands.close();
            }
            self.deliver();
            if closed.is_some() {
                return Poll::Ready(());
            }
            if !busy || self.turn.is_over() {
                self.turn = Turn { unfinished: self.turn.unfinished, ..Turn::default() };
                if busy {
                    yield_turn(cx);
                }
                return Poll::Pending;
            }
        }
    }

    fn take_commands(&mut self, cx: &mut Context<'_>) -> bool {
        match self.commands.poll_recv_many(cx, &mut self.batch, COMMANDS_PER_TURN) {
            Poll::Pending => return false,
            // The last handle was dropped.
            Poll::Ready(0) => self.connection.close(Closed::Here),
            Poll::Ready(_) => {
                let mut batch = std::mem::take(&mut self.batch);
                batch.drain(..).for_each(|command| self.apply(command));
                self.batch = batch;
            }
        }
        true
    }

    fn apply(&mut self, command: Command) {
        match command {
            // Cancelled before it was sent: the peer need not be notified.
            Command::Call { answer, .. } if answer.is_closed() => {}
            Command::Call { call, request, timeout, answer, listeners } => {
                self.waiting.insert(call, Waiting { answer, listeners });
                self.connection.call_with(now(), call, request, timeout);
            }
            Command::Cancel(call) => {
                self.waiting.remove(&call);
                self.connection.cancel(call);
            }
            Command::CancelTask(task_id) => self.connection.cancel_task(task_id),
            Command::Reply { id, message } => self.connection.reply(&id, message),
            Command::WorkAroundTwoReaders => self.connection.work_around_two_readers(now()),
            Command::KeepAlive => self.connection.keep_alive(now()),
            Command::Begin => self.connection.begin(now()),
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
                    self.byte_counters.add_sent(count);
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
            self.connection.reading_paused(now());
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
                self.byte_counters.add_received(count);
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
        // The timer is reset only when it would fire too late; firing too early costs one idle turn.
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

    /// Delivers events: answers and progress to the caller, others to the owner.
    fn deliver(&mut self) {
        while let Some(event) = self.connection.poll_event() {
            match event {
                Event::Answer { call, outcome } => {
                    if let Some(Waiting { answer, listeners }) = self.waiting.remove(&call) {
                        if let (Ok(answer), Some(on_task)) = (&outcome, listeners.on_task)
                            && answer.task().is_some()
                        {
                            on_task();
                        }
                        // A caller that stopped waiting has sent, or is about to send, a cancellation of its call.
                        if let Err(Ok(missed)) = answer.send(outcome)
                            && let Some(task) = missed.task()
                        {
                            self.connection.cancel_task(task.task_id.clone());
                        }
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

/// Wakes this task again after other tasks have run and input and output were polled.
fn yield_turn(cx: &mut Context<'_>) {
    // The first poll does exactly that, and there is no second.
    let _pending = pin!(tokio::task::yield_now()).poll(cx);
}

fn broken(error: &io::Error) -> Closed {
    match error.kind() {
        io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => Closed::ByPeer,
        _ => Closed::Io(error.to_string()),
    }
}
