//! One connection: takes messages in, hands calls out, writes what comes back.
//!
//! The task waits for many things at once and decides little; what a message means is the session's business. It
//! writes when nothing else is ready or after `BATCH` steps, so that a burst of calls leaves in one write, and it
//! never waits for the client to read while the client has something to say. A flood of one kind holds up nothing else for
//! longer than `BATCH` steps: then the task writes, reads a message, and looks at the time.

mod arrival;
mod asking;
mod beating;
mod ending;
mod inbound;
mod listening;
mod outbound;
mod parking;
mod tasks;

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Instant;

use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt, StreamExt};
use tokio::sync::{OwnedSemaphorePermit, mpsc};
use tokio::task::unconstrained;
use tokio_util::sync::CancellationToken;

use crate::cancel::Cancel;
use crate::context::Context;
use crate::ended::{Outcome, Reserved};
use crate::listen_guard::ListenGuard;
use crate::observer::Observers;
use crate::outbox::{Event, Load, Outbox};
use crate::outgoing_layer::OutgoingLayer;
use crate::server::drive::arrival::Arrival;
use crate::server::drive::asking::OpenQuestion;
use crate::server::drive::ending::Ending;
use crate::server::handle::ServerHandle;
use crate::server::parts::Parts;
use crate::server::peer::Peer;
use crate::server::serve_error::ServeError;
use crate::service::Service;
use protomcp_session::{Batches, ByNumber, KeepAlive, ListChangedDebounce, Reservation, Session, SessionId, Topic};
use protomcp_transport::{Losses, Received, Sink, Source, TransportError};

/// Steps between two looks at the writing side, while there is always something to do.
const BATCH: usize = 64;

pub(super) struct Driver<S: Service, Q, K> {
    service: Arc<S>,
    observers: Observers,
    sending: Vec<Arc<dyn OutgoingLayer>>,
    sessions: ServerHandle,
    stop: CancellationToken,
    id: SessionId,
    /// Who is at the other end, as far as the transport knows.
    peer: Peer,
    session: Session,
    source: Q,
    sink: K,
    outbox: Arc<Outbox>,
    events: mpsc::UnboundedReceiver<Box<Event>>,
    /// Calls that have not ended, by request number; cancelled ones included.
    running: ByNumber<Context>,
    /// Those that run in this task; `None` when each has a task of its own.
    inline_calls: Option<Calls>,
    batches: Batches<Reserved>,
    announcements: ListChangedDebounce,
    /// Messages and, of them, answers and notices that were sent since everything was written.
    unsent: usize,
    unsent_answers: usize,
    unsent_notices: Load,
    /// Whether one of these messages says that a list has changed.
    unsent_changes: bool,
    /// Resources and tasks of which the host was told in these messages.
    unsent_updates: Vec<(Topic, Arc<str>)>,
    /// Bytes of these messages that the sink does not look after.
    unsent_rooms: Vec<Reservation>,
    /// Places of questions that were taken back in these messages.
    unsent_places: Vec<OwnedSemaphorePermit>,
    open_questions: Vec<OpenQuestion>,
    /// What requests listen to, by request number.
    watches: ByNumber<ListenGuard>,
    heartbeat: KeepAlive,
    arrival: Arrival,
    /// The bytes of the client's introduction, which the session keeps.
    introduction: Option<Reservation>,
    reading: bool,
    opened: bool,
    ending: Ending,
}

type Calls = FuturesUnordered<Pin<Box<dyn Future<Output = (Context, Outcome)> + Send>>>;

/// What happened.
enum Step {
    Event(Option<Box<Event>>),
    /// A call of this task has ended.
    Ended(Context, Outcome),
    Received(Result<Option<Received>, TransportError>),
    Flushed(Result<(), TransportError>),
    Shutdown,
    Time,
}

impl<S: Service, Q: Source, K: Sink> Driver<S, Q, K> {
    /// Ends politely when `stop` is cancelled.
    pub(super) fn new(server: &Parts<S>, peer: Peer, source: Q, mut sink: K, stop: CancellationToken) -> Self {
        let sessions = server.sessions.clone();
        let limits = *sessions.limits();
        let room = sessions.inbound_budget().empty(&peer.owner);
        let session = Session::server(Arc::clone(sessions.info()), limits.max_pending).within(room);
        let subscriptions = Arc::clone(session.subscriptions());
        let has_logging = sessions.info().capabilities.logging.is_some();
        let (budget, owner) = (sessions.outbound_budget().clone(), peer.owner.clone());
        let (outbox, events) = Outbox::new(&limits, has_logging, Session::INITIAL_LEVEL, subscriptions, budget, owner);
        let losses = Arc::clone(&outbox);
        sink.watch(Losses::new(move |request| losses.lost(request)));
        Self {
            service: Arc::clone(&server.service),
            observers: server.observers.clone(),
            sending: server.sending.clone(),
            stop,
            id: sessions.join(peer.owner.clone(), &outbox),
            peer,
            session,
            sessions,
            source,
            sink,
            outbox,
            events,
            running: ByNumber::default(),
            inline_calls: server.inline_calls.then(FuturesUnordered::new),
            batches: Batches::default(),
            announcements: ListChangedDebounce::new(limits.announce_delay),
            unsent: 0,
            unsent_answers: 0,
            unsent_notices: Load::default(),
            unsent_changes: false,
            unsent_updates: Vec::new(),
            unsent_rooms: Vec::new(),
            unsent_places: Vec::new(),
            open_questions: Vec::new(),
            watches: ByNumber::default(),
            heartbeat: KeepAlive::new(limits.ping_interval, limits.ping_timeout),
            arrival: Arrival::default(),
            introduction: None,
            reading: true,
            opened: false,
            ending: Ending::Open,
        }
    }

    pub(super) fn id(&self) -> SessionId {
        self.id
    }

    #[expect(
        clippy::manual_async_fn,
        reason = "it would hold the driver twice, which is most of what a session weighs"
    )]
    pub(super) fn run(mut self) -> impl Future<Output = Result<(), ServeError>> + Send + use<S, Q, K> {
        async move {
            let shutdown = self.stop.clone();
            let mut shutdown = pin!(shutdown.cancelled());
            let mut failure = None;
            let mut steps = 0;
            while !self.is_over() {
                let may_read = self.may_read();
                let deadline = self.deadline();
                let step = tokio::select! {
                    biased;
                    event = self.events.recv() => Step::Event(event),
                    Some((context, outcome)) = run_calls(&mut self.inline_calls) => Step::Ended(context, outcome),
                    received = self.source.next(), if may_read => Step::Received(received),
                    flushed = self.sink.flush(), if self.unsent > 0 => Step::Flushed(flushed),
                    () = &mut shutdown, if self.ending == Ending::Open => Step::Shutdown,
                    () = sleep_until(deadline) => Step::Time,
                };
                if let Err(error) = self.take(step) {
                    failure.get_or_insert(error);
                }
                steps += 1;
                if steps >= BATCH {
                    // The message that is read is a step.
                    steps = 1;
                    if let Err(error) = self.look_around() {
                        failure.get_or_insert(error);
                    }
                }
            }
            failure.map_or(Ok(()), Err)
        }
    }

    /// Does what a flood of events would hold up.
    fn look_around(&mut self) -> Result<(), ServeError> {
        // The flood may have used up the budget of steps that the runtime gives a task before it yields.
        if self.unsent > 0
            && let Some(flushed) = unconstrained(self.sink.flush()).now_or_never()
        {
            self.take(Step::Flushed(flushed))?;
        }
        if self.may_read()
            && let Some(received) = unconstrained(self.source.next()).now_or_never()
        {
            self.take(Step::Received(received))?;
        }
        if self.ending == Ending::Open && self.stop.is_cancelled() {
            self.take(Step::Shutdown)?;
        }
        if self.deadline().is_some_and(|deadline| deadline <= now()) {
            self.take(Step::Time)?;
        }
        Ok(())
    }

    fn may_read(&self) -> bool {
        self.reading && self.kept() < self.sessions.limits().max_unsent
    }

    fn take(&mut self, step: Step) -> Result<(), ServeError> {
        let done = match step {
            Step::Event(Some(event)) => self.event(*event).map_err(ServeError::from),
            Step::Event(None) => unreachable!("the driver holds a sender itself"),
            Step::Ended(context, outcome) => self.ended(&context, outcome).map_err(ServeError::from),
            Step::Received(Ok(Some(received))) => {
                self.heard();
                self.arrival = Arrival::of(&received, &mut self.source);
                let done = self.received(received).map_err(ServeError::from);
                // An idle session does not keep the last request alive.
                self.arrival = Arrival::default();
                done
            }
            Step::Received(Ok(None)) => {
                self.stop_reading();
                Ok(())
            }
            Step::Received(Err(error)) => {
                self.stop_reading();
                return Err(error.into());
            }
            Step::Flushed(Ok(())) => self.flushed().map_err(ServeError::from),
            Step::Flushed(Err(error)) => Err(error.into()),
            Step::Shutdown => {
                self.drain();
                Ok(())
            }
            Step::Time => self.time(),
        };
        // What cannot be written can only be given up, and with it every call.
        done.inspect_err(|_| self.ending = Ending::Over)
    }
}

/// Ends what is left, also when the task is torn down.
impl<S: Service, Q, K> Drop for Driver<S, Q, K> {
    fn drop(&mut self) {
        self.running.values().for_each(Context::cancel);
        self.sessions.leave(self.id);
        if self.opened {
            self.observers.closed(self.id);
        }
    }
}

/// Runs the calls of this task as far as they get, until one has ended.
async fn run_calls(calls: &mut Option<Calls>) -> Option<(Context, Outcome)> {
    match calls {
        Some(calls) => calls.next().await,
        None => None,
    }
}

/// The time of the runtime, which tests can stop.
fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}

async fn sleep_until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline.into()).await,
        None => std::future::pending().await,
    }
}
