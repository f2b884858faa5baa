//! The driver of one connection: receives messages, starts calls, and sends answers and notifications.
//!
//! The driver is one task. It decides little: the [`Session`] decides about each message. It writes when nothing else
//! is ready or after `BATCH` steps, so that a burst of answers is one write, and it never waits for the client to read
//! while the client is sending. A flood of one kind of event delays the others by `BATCH` steps at most: then the task
//! writes, reads a message, and checks the timers.

mod arrival;
mod client_requests;
mod inbound;
mod keepalive;
mod listening;
mod open_question;
mod outbound;
mod restoring;
mod stateless;
mod stateless_requests;
mod timers;
mod unsent;

use std::collections::HashMap;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::Instant;

use futures_util::FutureExt;
use tokio::sync::mpsc;
use tokio::task::unconstrained;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use crate::call::context::Context;
use crate::call::ended::{Outcome, Reserved};
use crate::call::listen_guard::ListenGuard;
use crate::call::session_queue::{SessionEvent, SessionQueue};
use crate::records::cancel::Cancel;
use crate::records::clock::now;
use crate::serve::access_log::OpenAccesses;
use crate::serve::call::Running;
use crate::serve::drive::arrival::Arrival;
use crate::serve::drive::open_question::OpenQuestion;
use crate::serve::drive::stateless_requests::{StatelessReplies, StatelessRequests};
use crate::serve::drive::unsent::Unsent;
use crate::serve::parts::Parts;
use crate::serve::peer::Peer;
use crate::serve::serve_error::ServeError;
use crate::serve::shutdown::Shutdown;
use crate::service::Service;
use protomcp_fair::{FutureSet, Reservation};
use protomcp_session::{Batches, KeepAlive, ListChangedDebounce, Session, SessionId};
use protomcp_transport::{Delivery, DeliveryFailures, Received, Sink, Source, TransportError};

/// The most steps between two flushes while events are always ready.
const BATCH: usize = 64;

pub(super) struct Driver<S: Service, Q, K> {
    server: Parts<S>,
    stop: CancellationToken,
    id: SessionId,
    connection: Connection<Q, K>,
    session: Session,
    queue: Arc<SessionQueue>,
    events: mpsc::UnboundedReceiver<Box<SessionEvent>>,
    calls: Calls,
    batches: Batches<Reserved>,
    announcements: ListChangedDebounce,
    unsent: Unsent,
    open_questions: Vec<OpenQuestion>,
    keepalive: KeepAlive,
    opening: Opening,
    shutdown: Shutdown,
}

/// Both ends of the transport.
struct Connection<Q, K> {
    /// The other end, as far as the transport knows it.
    peer: Peer,
    source: Q,
    sink: K,
    /// False once the client has closed its end.
    is_reading: bool,
    arrival: Arrival,
}

/// The requests that are being answered, by request number.
struct Calls {
    /// Calls of the session that have not ended, cancelled ones included, and requests that are about to listen.
    running: HashMap<u64, Context>,
    /// Requests of the stateless revision.
    stateless: StatelessRequests,
    /// Calls of the session that run in this task; `None` when each has its own task.
    inline: Option<InlineCalls>,
    /// Keep requests listening to resources.
    listening: HashMap<u64, ListenGuard>,
    /// The requests of the access log.
    logged: OpenAccesses,
}

impl Calls {
    fn new(inline: Option<InlineCalls>) -> Self {
        Self {
            running: HashMap::new(),
            stateless: StatelessRequests::default(),
            inline,
            listening: HashMap::new(),
            logged: OpenAccesses::default(),
        }
    }
}

/// The handshake.
#[derive(Default)]
struct Opening {
    is_done: bool,
    /// The bytes of the client's name and capabilities, which the session keeps.
    introduction: Option<Reservation>,
    /// Tells the service of the subscriptions of a session that was taken over.
    subscribing: Option<AbortOnDropHandle<()>>,
}

type InlineCalls = FutureSet<Running>;

/// An event of the connection.
enum Step {
    Event(Option<Box<SessionEvent>>),
    /// A call of this task has ended.
    Ended(Context, Outcome),
    /// A request of the stateless revision has a message for the client, or has ended without an answer.
    Replied(Box<StatelessReplies>, Option<Reserved>),
    Received(Result<Option<Received>, TransportError>),
    Flushed(Result<(), TransportError>),
    Shutdown,
    Time,
}

impl<S: Service, Q: Source, K: Sink> Driver<S, Q, K> {
    /// Shuts down gracefully when `stop` is cancelled.
    pub(super) fn new(server: &Parts<S>, peer: Peer, source: Q, mut sink: K, stop: CancellationToken) -> Self {
        let sessions = &server.sessions;
        let limits = *sessions.limits();
        let reservation = sessions.inbound_budget().empty(&peer.owner);
        let mut session = Session::server(Arc::clone(sessions.info()), limits.max_pending)
            .with_stateless(sessions.stateless())
            .within(reservation);
        let restored = sink.delivery().and_then(Delivery::restored);
        if let Some(restored) = &restored {
            session = session.restored(restored);
        }
        let subscriptions = Arc::clone(session.subscriptions());
        let has_logging = sessions.info().capabilities.logging.is_some();
        let (budget, owner) = (sessions.outbound_budget().clone(), peer.owner.clone());
        let (queue, events) = SessionQueue::new(&limits, has_logging, Some(subscriptions), budget, owner);
        if let Some(delivery) = sink.delivery() {
            let queue = Arc::clone(&queue);
            delivery.on_undeliverable(DeliveryFailures::new(move |request| queue.undeliverable(request)));
        }
        let id = sessions.join(peer.owner.clone(), &queue);
        let inline = server.inline_calls.then(FutureSet::default);
        let mut driver = Self {
            server: server.clone(),
            stop,
            id,
            connection: Connection { peer, source, sink, is_reading: true, arrival: Arrival::default() },
            session,
            queue,
            events,
            calls: Calls::new(inline),
            batches: Batches::default(),
            announcements: ListChangedDebounce::new(limits.announce_delay),
            unsent: Unsent::default(),
            open_questions: Vec::new(),
            keepalive: KeepAlive::new(limits.ping_interval, limits.ping_timeout),
            opening: Opening::default(),
            shutdown: Shutdown::new(limits.drain_timeout, limits.cancel_grace),
        };
        if let Some(restored) = restored {
            driver.restore(restored);
        }
        driver
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
                let (may_read, may_send) = (self.may_read(), self.may_send());
                let deadline = self.deadline();
                let step = tokio::select! {
                    biased;
                    event = self.events.recv() => Step::Event(event),
                    Some((context, outcome)) = run_calls(&mut self.calls.inline) => Step::Ended(context, outcome),
                    Some((reply, request)) = self.calls.stateless.next(), if may_send => Step::Replied(request, reply),
                    received = self.connection.source.next(), if may_read => Step::Received(received),
                    flushed = self.connection.sink.flush(), if self.unsent.messages > 0 => Step::Flushed(flushed),
                    () = &mut shutdown, if self.shutdown.is_open() => Step::Shutdown,
                    () = sleep_until(deadline) => Step::Time,
                };
                if let Err(error) = self.take(step) {
                    failure.get_or_insert(error);
                }
                steps += 1;
                if steps >= BATCH {
                    // The message that is read is a step.
                    steps = 1;
                    if let Err(error) = self.poll_starved() {
                        failure.get_or_insert(error);
                    }
                }
            }
            failure.map_or(Ok(()), Err)
        }
    }

    /// Polls everything that a flood of events would delay.
    fn poll_starved(&mut self) -> Result<(), ServeError> {
        // The flood may have used up the budget of steps that the runtime gives a task before it yields.
        if self.unsent.messages > 0
            && let Some(flushed) = unconstrained(self.connection.sink.flush()).now_or_never()
        {
            self.take(Step::Flushed(flushed))?;
        }
        if self.may_read()
            && let Some(received) = unconstrained(self.connection.source.next()).now_or_never()
        {
            self.take(Step::Received(received))?;
        }
        if self.shutdown.is_open() && self.stop.is_cancelled() {
            self.take(Step::Shutdown)?;
        }
        if self.deadline().is_some_and(|deadline| deadline <= now()) {
            self.take(Step::Time)?;
        }
        Ok(())
    }

    fn may_read(&self) -> bool {
        self.connection.is_reading && self.may_send()
    }

    /// True if the client does not owe the reading of too many messages.
    fn may_send(&self) -> bool {
        self.kept() < self.server.sessions.limits().max_unsent
    }

    fn take(&mut self, step: Step) -> Result<(), ServeError> {
        let done = match step {
            Step::Event(Some(event)) => self.event(*event).map_err(ServeError::from),
            Step::Event(None) => unreachable!("the driver holds a sender itself"),
            Step::Ended(context, outcome) => self.ended(&context, outcome).map_err(ServeError::from),
            Step::Replied(request, reply) => self.replied(request, reply).map_err(ServeError::from),
            Step::Received(Ok(Some(received))) => {
                self.note_activity();
                self.connection.arrival = Arrival::of(&received, &mut self.connection.source);
                let done = self.received(received).map_err(ServeError::from);
                // An idle session does not keep the last request alive.
                self.connection.arrival = Arrival::default();
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
        // A connection that cannot be written ends immediately, with all of its calls.
        done.inspect_err(|_| self.shutdown.abort())
    }
}

/// Cancels the calls and closes the session, also when the task is aborted.
impl<S: Service, Q, K> Drop for Driver<S, Q, K> {
    fn drop(&mut self) {
        self.calls.running.values().for_each(Context::cancel);
        self.server.sessions.leave(self.id);
        if self.opening.is_done {
            self.server.observers.closed(self.id);
        }
    }
}

/// Polls the calls of this task until one has ended.
async fn run_calls(calls: &mut Option<InlineCalls>) -> Option<(Context, Outcome)> {
    match calls {
        Some(calls) => calls.next().await,
        None => None,
    }
}

async fn sleep_until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline.into()).await,
        None => std::future::pending().await,
    }
}
