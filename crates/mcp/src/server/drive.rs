//! One connection: takes messages in, hands calls out, writes what comes back.
//!
//! The task waits for many things at once and decides little; what a message means is the session's business. It
//! writes when nothing else is ready or after `BATCH` steps, so that a burst of calls leaves in one write, and it
//! never waits for the host to read while the host has something to say.

use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Instant;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use protomcp_types::{ErrorObject, Incoming, Level, Malformed, Message, Notification, Params, RawJson, method};
use tokio::sync::mpsc;

use crate::context::Context;
use crate::outbox::{Event, Outbox, log_message};
use crate::server::call::{self, Outcome};
use crate::server::{ServeError, Server, Sessions};
use crate::service::Service;
use crate::session::announce::Announce;
use crate::session::batch::Batches;
use crate::session::numbers::ByNumber;
use crate::session::{Inbound, IncomingCall, Session, SessionId, SessionView, Ticket};
use crate::transport::{Received, Sink, Source, TransportError};

/// Steps between two looks at the writing side, while there is always something to do.
const BATCH: usize = 64;

pub(super) struct Driver<S: Service, Q, K> {
    service: Arc<S>,
    sessions: Sessions,
    id: SessionId,
    session: Session,
    source: Q,
    sink: K,
    outbox: Arc<Outbox>,
    events: mpsc::UnboundedReceiver<Event>,
    /// Calls that have not ended, by ticket number; cancelled ones included.
    running: ByNumber<Context>,
    /// Those that run in this task; `None` when each has a task of its own.
    in_place: Option<Calls>,
    batches: Batches,
    announce: Announce,
    /// The number that the next ticket will have.
    next_ticket: u64,
    /// Messages and, of them, notices that were sent since everything was written.
    unsent: usize,
    unsent_notices: usize,
    reading: bool,
    opened: bool,
    ending: Ending,
}

type Calls = FuturesUnordered<Pin<Box<dyn Future<Output = (Context, Outcome)> + Send>>>;

/// How far the end is.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Ending {
    /// Not near.
    Open,
    /// No new requests; calls may finish until then.
    Draining { until: Instant },
    /// Calls were told to stop; nobody waits for them longer than this.
    Leaving { until: Instant },
    /// Everything that is left is to write; `unwritten` is how much it was at the last look.
    Flushing { until: Instant, unwritten: usize },
    /// Nothing can be written any more, or nothing is left to write.
    Over,
}

/// What happened.
enum Step {
    Event(Option<Event>),
    /// A call of this task has ended.
    Ended(Context, Outcome),
    Received(Result<Option<Received>, TransportError>),
    Flushed(Result<(), TransportError>),
    Shutdown,
    Time,
}

impl<S: Service, Q: Source, K: Sink> Driver<S, Q, K> {
    pub(super) fn new(server: &Server<S>, source: Q, sink: K) -> Self {
        let sessions = server.sessions.clone();
        let limits = *sessions.limits();
        let (outbox, events) = Outbox::new(limits.max_notices, Session::INITIAL_LEVEL);
        Self {
            service: Arc::clone(&server.service),
            id: sessions.join(&outbox),
            session: Session::server(Arc::clone(sessions.info()), limits.max_pending),
            sessions,
            source,
            sink,
            outbox,
            events,
            running: ByNumber::default(),
            in_place: server.in_place.then(FuturesUnordered::new),
            batches: Batches::default(),
            announce: Announce::new(limits.announce_delay),
            next_ticket: 1,
            unsent: 0,
            unsent_notices: 0,
            reading: true,
            opened: false,
            ending: Ending::Open,
        }
    }

    pub(super) async fn run(mut self) -> Result<(), ServeError> {
        let shutdown = self.sessions.shutdown_token();
        let mut shutdown = pin!(shutdown.cancelled());
        let mut failure = None;
        let mut steps = 0;
        while !self.is_over() {
            let may_read = self.reading && self.unsent < self.sessions.limits().max_unsent;
            let deadline = self.deadline();
            let step = tokio::select! {
                biased;
                event = self.events.recv() => Step::Event(event),
                Some((context, outcome)) = run_calls(&mut self.in_place) => Step::Ended(context, outcome),
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
                steps = 0;
                if let Err(error) = self.look_around().await {
                    failure.get_or_insert(error);
                }
            }
        }
        failure.map_or(Ok(()), Err)
    }

    /// What would be left for later for ever under steady load.
    async fn look_around(&mut self) -> Result<(), ServeError> {
        if self.unsent > 0 {
            let flushed = tokio::select! {
                biased;
                flushed = self.sink.flush() => Some(flushed),
                () = std::future::ready(()) => None,
            };
            if let Some(flushed) = flushed {
                self.take(Step::Flushed(flushed))?;
            }
        }
        if self.ending == Ending::Open && self.sessions.0.shutdown.is_cancelled() {
            self.take(Step::Shutdown)?;
        }
        if self.deadline().is_some_and(|deadline| deadline <= now()) {
            self.take(Step::Time)?;
        }
        Ok(())
    }

    fn take(&mut self, step: Step) -> Result<(), ServeError> {
        let done = match step {
            Step::Event(Some(event)) => self.event(event),
            Step::Event(None) => unreachable!("the driver holds a sender itself"),
            Step::Ended(context, outcome) => self.ended(&context, outcome),
            Step::Received(Ok(Some(received))) => self.received(received),
            Step::Received(Ok(None)) => {
                self.reading = false;
                self.drain();
                Ok(())
            }
            Step::Received(Err(error)) => {
                self.reading = false;
                self.drain();
                return Err(error.into());
            }
            Step::Flushed(Ok(())) => self.flushed(),
            Step::Flushed(Err(error)) => Err(error),
            Step::Shutdown => {
                self.drain();
                Ok(())
            }
            Step::Time => return self.time(),
        };
        // What cannot be written can only be given up, and with it every call.
        done.map_err(|error| {
            self.ending = Ending::Over;
            error.into()
        })
    }

    fn received(&mut self, received: Received) -> Result<(), TransportError> {
        match received {
            Ok(Incoming::One(message)) => {
                if let Some(answer) = self.message(message)?.0 {
                    self.send(answer)?;
                }
                Ok(())
            }
            Ok(Incoming::Batch(messages)) => self.batch(messages),
            Err(malformed) => self.send(malformed.into()),
        }
    }

    /// Takes one message in. Returns the answer if there is one already, or the number of the call that will have it.
    fn message(&mut self, message: Message) -> Result<(Option<Message>, Option<u64>), TransportError> {
        match self.session.receive(message) {
            Inbound::Call(call) => return Ok(self.start(call)),
            Inbound::Reply(reply) => {
                self.outbox.set_level(self.session.level());
                return Ok((Some(reply), None));
            }
            Inbound::Opened(client, reply) => {
                self.opened = true;
                self.service.session_opened(&SessionView { id: self.id, client });
                return Ok((Some(reply), None));
            }
            Inbound::Cancel(ticket) => {
                if let Some(context) = self.running.get(&ticket.number) {
                    context.cancel();
                }
                if let Some(answers) = self.batches.ended(ticket.number, None) {
                    self.send_batch(answers)?;
                }
            }
            Inbound::Ready => {}
            // Nothing of ours is asked yet, and no notification of a host concerns tools.
            Inbound::Answer { .. } | Inbound::Told(_) => {}
            Inbound::Ignored(why) => tracing::debug!(session = %self.id, why, "message ignored"),
        }
        Ok((None, None))
    }

    fn start(&mut self, call: IncomingCall) -> (Option<Message>, Option<u64>) {
        let IncomingCall { ticket, request, progress_token } = call;
        self.next_ticket = ticket.number + 1;
        let refusal = match self.ending {
            Ending::Open if self.running.len() + self.unsent < self.sessions.limits().max_pending => None,
            Ending::Open => Some(Session::overloaded()),
            _ => Some(shutting_down()),
        };
        if let Some(refusal) = refusal {
            return (self.session.reply(&ticket, Err(refusal)), None);
        }
        let client = Arc::clone(self.session.client().expect("the session lets no call through before the handshake"));
        let number = ticket.number;
        let context = Context::new(self.id, client, ticket, progress_token, Arc::clone(&self.outbox));
        self.running.insert(number, context.clone());
        let grace = self.sessions.limits().cancel_grace;
        let call = call::run(Arc::clone(&self.service), request, context, grace);
        match &mut self.in_place {
            Some(calls) => calls.push(Box::pin(call)),
            None => drop(tokio::spawn(async move {
                let (context, outcome) = call.await;
                context.outbox().done(context.ticket().clone(), outcome);
            })),
        }
        (None, Some(number))
    }

    fn batch(&mut self, messages: Vec<Result<Message, Malformed>>) -> Result<(), TransportError> {
        if !self.session.allows_batches() {
            return self.send(Malformed::invalid(None, "batches are for MCP 2025-03-26 only").into());
        }
        let (mut answers, mut running) = (Vec::new(), Vec::new());
        for message in messages {
            match message {
                Ok(message) => {
                    let (answer, number) = self.message(message)?;
                    answers.extend(answer);
                    running.extend(number);
                }
                Err(malformed) => answers.push(malformed.into()),
            }
        }
        // A request can be cancelled by a later message of the same batch.
        running
            .retain(|number| self.running.get(number).is_some_and(|context| self.session.is_pending(context.ticket())));
        match self.batches.open(answers, &running) {
            Some(answers) => self.send_batch(answers),
            None => Ok(()),
        }
    }

    fn event(&mut self, event: Event) -> Result<(), TransportError> {
        match event {
            Event::Done(ticket, outcome) => self.done(&ticket, outcome),
            Event::Progress(ticket, notification) if self.session.is_pending(&ticket) => self.notice(notification),
            Event::Progress(..) => {
                self.outbox.notices_left(1);
                Ok(())
            }
            // MCP 2025-11-25, basic/lifecycle: log messages may come before the handshake is complete, but not before
            // it has begun. The level is asked again, as it may have changed meanwhile.
            Event::Log(level, notification) if self.opened && level >= self.session.level() => {
                self.notice(notification)
            }
            Event::Log(..) => {
                self.outbox.notices_left(1);
                Ok(())
            }
            Event::ToolsChanged => {
                self.outbox.tools_change_seen();
                if self.session.is_ready() {
                    self.announce.changed(now(), self.next_ticket);
                }
                Ok(())
            }
        }
    }

    /// A call of this task has ended. What it reported goes first.
    fn ended(&mut self, context: &Context, outcome: Outcome) -> Result<(), TransportError> {
        while let Ok(event) = self.events.try_recv() {
            self.event(event)?;
        }
        self.done(context.ticket(), outcome)
    }

    fn done(&mut self, ticket: &Ticket, outcome: Outcome) -> Result<(), TransportError> {
        self.running.remove(&ticket.number);
        let reply = outcome.and_then(|outcome| self.session.reply(ticket, outcome));
        self.answer(ticket, reply)
    }

    fn answer(&mut self, ticket: &Ticket, reply: Option<Message>) -> Result<(), TransportError> {
        if reply.is_some() && self.announce.deadline().is_some() {
            self.announce.answered(now(), ticket.number);
        }
        if self.batches.contains(ticket.number) {
            let answers = self.batches.ended(ticket.number, reply).unwrap_or_default();
            return self.send_batch(answers);
        }
        reply.map_or(Ok(()), |reply| self.send(reply))
    }

    fn notice(&mut self, notification: Notification) -> Result<(), TransportError> {
        self.unsent_notices += 1;
        self.send(notification.into())
    }

    fn send(&mut self, message: Message) -> Result<(), TransportError> {
        self.unsent += 1;
        self.sink.send(message)
    }

    fn send_batch(&mut self, messages: Vec<Message>) -> Result<(), TransportError> {
        if messages.is_empty() {
            return Ok(());
        }
        self.unsent += messages.len();
        self.sink.send_batch(messages)
    }

    fn flushed(&mut self) -> Result<(), TransportError> {
        self.unsent = 0;
        let dropped = self.outbox.notices_left(std::mem::take(&mut self.unsent_notices));
        if dropped == 0 {
            return Ok(());
        }
        tracing::warn!(session = %self.id, dropped, "the host reads too slowly: notifications were dropped");
        if self.session.level() > Level::Warning {
            return Ok(());
        }
        let text =
            RawJson::text(&format!("{dropped} notifications were dropped: they came faster than they were read"));
        self.send(log_message(Level::Warning, Some("protomcp"), &text).into())
    }

    fn deadline(&self) -> Option<Instant> {
        let ending = match self.ending {
            Ending::Open | Ending::Over => None,
            Ending::Draining { until } | Ending::Leaving { until } | Ending::Flushing { until, .. } => Some(until),
        };
        [ending, self.announce.deadline()].into_iter().flatten().min()
    }

    fn time(&mut self) -> Result<(), ServeError> {
        let now = now();
        if self.announce.poll(now) {
            let changed = Message::notification(method::TOOLS_CHANGED, Params::Absent);
            self.send(changed).inspect_err(|_| self.ending = Ending::Over)?;
        }
        match self.ending {
            Ending::Draining { until } if until <= now => self.leave(now).map_err(ServeError::from),
            Ending::Leaving { until } if until <= now => {
                tracing::warn!(session = %self.id, calls = self.running.len(), "calls do not end: left behind");
                self.running.clear();
                Ok(())
            }
            Ending::Flushing { until, unwritten } if until <= now => {
                if self.sink.unwritten() < unwritten {
                    self.flush_until(now);
                    return Ok(());
                }
                self.ending = Ending::Over;
                Err(ServeError::Stalled)
            }
            _ => Ok(()),
        }
    }

    fn drain(&mut self) {
        if self.ending == Ending::Open {
            self.ending = Ending::Draining { until: now() + self.sessions.limits().drain_timeout };
        }
    }

    /// The calls had their time: they are answered for and told to stop.
    fn leave(&mut self, now: Instant) -> Result<(), TransportError> {
        let tickets: Vec<_> = self.session.tickets().collect();
        for ticket in tickets {
            let reply = self.session.reply(&ticket, Err(shutting_down()));
            self.answer(&ticket, reply)?;
        }
        self.running.values().for_each(Context::cancel);
        // Twice the grace: a call gets it from the moment when it notices.
        self.ending = Ending::Leaving { until: now + self.sessions.limits().cancel_grace * 2 };
        Ok(())
    }

    fn flush_until(&mut self, now: Instant) {
        let until = now + self.sessions.limits().drain_timeout;
        self.ending = Ending::Flushing { until, unwritten: self.sink.unwritten() };
    }

    /// Whether nothing is left to do. Moves on from one part of the end to the next.
    fn is_over(&mut self) -> bool {
        match self.ending {
            Ending::Open => return false,
            Ending::Over => return true,
            Ending::Draining { .. } | Ending::Leaving { .. } => {
                if !self.running.is_empty() || !self.events.is_empty() || self.announce.deadline().is_some() {
                    return false;
                }
                self.flush_until(now());
            }
            Ending::Flushing { .. } => {}
        }
        // Nothing reads a shut down session's requests any more, and nothing can be told to it.
        self.unsent == 0
    }
}

/// Ends what is left, also when the task is torn down.
impl<S: Service, Q, K> Drop for Driver<S, Q, K> {
    fn drop(&mut self) {
        self.running.values().for_each(Context::cancel);
        self.sessions.leave(self.id);
        if self.opened {
            self.service.session_closed(self.id);
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

fn shutting_down() -> ErrorObject {
    ErrorObject::internal("the server is shutting down")
}
