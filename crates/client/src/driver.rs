//! One connection: carries commands and messages to the machine, and its decisions to transport, handlers and callers.
//!
//! The task waits for many things concurrently and decides nothing; the rules are in
//! [`ClientConnection`](protomcp_session::ClientConnection). It takes all commands that are ready before it writes, so
//! a burst of requests leaves in one write.

mod deliver;
mod replacing;
mod replies;
#[cfg(test)]
mod tests;
mod watching;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use protomcp_fair::{LeftOut, LogRate};
use protomcp_session::{
    AnswerFacts, CallId, Channel, ClientConfig, ClientConnection, CloseReason, HttpStatus, NoAnswer, RequestError,
    RequestFacts, Transmit,
};
use protomcp_transport::{Received, Sink, Source, Transport, TransportError};
use protomcp_types::{Incoming, Malformed, Message};
use tokio::sync::{Semaphore, mpsc, watch};
use tokio::task::AbortHandle;
use tokio::time::Instant;

use crate::command::{CallOutcome, Caller, Command, NewCall, Status};
use crate::driver::replies::{Cause, Replies};
use crate::driver::watching::{Waiting, Watching};
use crate::notices::Notices;
use crate::questions::Answerer;
use crate::reconnection::{Reconnection, ServerEnd};
use crate::registry::Registry;
use crate::session::{ClientSession, ServerContext};
use crate::settings::Settings;
use crate::shared::Shared;

/// Opens a connection.
pub(crate) async fn connect<T: Transport>(
    settings: Arc<Settings>,
    registry: Arc<Registry>,
    transport: T,
    reconnection: Reconnection<T::Source, T::Sink>,
) -> Result<ClientSession, CloseReason> {
    let (source, mut sink) = transport.split();
    let authorization = sink.request_streams().map(|streams| streams.authorization());
    let channel = if authorization.is_some() { Channel::Exchanges } else { Channel::Shared };
    let (sender, commands) = mpsc::unbounded_channel();
    let (status, watched) = watch::channel(Status::Opening);
    let id = registry.enter(sender.downgrade());
    let shared = Arc::new(Shared::new(id, watched, &settings.limits, authorization));
    let session = ClientSession::new(Arc::clone(&shared), sender, settings.service.clone());
    let context = ServerContext::new(&session);
    let config = ClientConfig {
        implementation: settings.implementation.clone(),
        capabilities: settings.capabilities(registry.roots.are_offered()),
        mode: settings.mode,
        version: settings.version,
        channel,
        log_level: settings.log_level,
        limits: settings.limits,
    };
    let driver = Driver {
        connection: ClientConnection::new(config, Instant::now().into_std()),
        source: Some(source),
        sink: Some(sink),
        reconnection,
        commands,
        status,
        callers: HashMap::new(),
        answering: HashMap::new(),
        watching: Watching::new(&settings.handlers),
        notices: Notices::start(&settings.handlers, &context),
        answerer: Answerer {
            permits: Arc::new(Semaphore::new(settings.limits.max_incoming.min(Semaphore::MAX_PERMITS))),
            settings,
            registry,
            context,
            commands: session.commands.downgrade(),
        },
        shared,
        close_at: None,
        malformed_log: LogRate::default(),
        replies: Replies::default(),
    };
    tokio::spawn(driver.run());
    let mut status = session.shared.status.clone();
    let is_settled = status.wait_for(|status| *status != Status::Opening).await;
    match is_settled.as_deref() {
        Ok(Status::Open) => {}
        Ok(Status::Closing(reason) | Status::Closed(reason)) => return Err(reason.clone()),
        Ok(Status::Opening) | Err(_) => return Err(CloseReason::Failed("the task of the connection has ended".into())),
    }
    Ok(session)
}

struct Driver<Q, K> {
    connection: ClientConnection,
    /// `None` once the server has closed its end.
    source: Option<Q>,
    /// `None` while there is no connection.
    sink: Option<K>,
    reconnection: Reconnection<Q, K>,
    commands: mpsc::UnboundedReceiver<Command>,
    status: watch::Sender<Status>,
    callers: HashMap<CallId, Caller>,
    /// The handlers that answer the server.
    answering: HashMap<Question, AbortHandle>,
    watching: Watching,
    notices: Notices,
    answerer: Answerer,
    shared: Arc<Shared>,
    /// The end of the time for the last messages and the end of the server.
    close_at: Option<Instant>,
    /// Bounds the log of messages that cannot be read.
    malformed_log: LogRate,
    replies: Replies,
}

/// Identifies the work of handlers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Question {
    /// A request of the server, by its number.
    Request(u64),
    /// A round of questions in a call.
    Round(CallId),
}

/// One thing that has happened.
enum Step<Q, K> {
    Command(Option<Command>),
    Received(Result<Option<Received>, TransportError>),
    Flushed(Result<(), TransportError>),
    Reconnected(Option<(Q, K)>),
    Time,
}

impl<Q: Source, K: Sink> Driver<Q, K> {
    async fn run(mut self) {
        loop {
            self.settle();
            if self.connection.closed().is_some() {
                break;
            }
            let deadline = self.connection.deadline().map(Instant::from_std);
            self.replies.written(self.unwritten());
            let step = tokio::select! {
                command = self.commands.recv() => Step::Command(command),
                // A server that does not read the replies to it is not read either.
                received = next(&mut self.source), if !self.replies.are_too_many() => Step::Received(received),
                flushed = flush(&mut self.sink) => Step::Flushed(flushed),
                link = self.reconnection.done() => Step::Reconnected(link),
                () = sleep_until(deadline) => Step::Time,
            };
            self.take(step);
        }
        self.finish().await;
    }

    fn take(&mut self, step: Step<Q, K>) {
        match step {
            Step::Command(Some(command)) => {
                self.command(command);
                for _ in 0..BATCH {
                    let Ok(command) = self.commands.try_recv() else { break };
                    self.command(command);
                }
            }
            // The last handle is gone.
            Step::Command(None) => self.close(Instant::now() + LAST_WORDS, CloseReason::Requested),
            Step::Received(Ok(Some(received))) => self.received(received),
            Step::Received(Ok(None)) => {
                let facts = self.source.as_mut().map(Source::extensions).unwrap_or_default();
                let end = facts.find::<ServerEnd>().map(|end| end.0.clone());
                self.disconnected(CloseReason::ByServer(end));
            }
            Step::Received(Err(error)) | Step::Flushed(Err(error)) => self.disconnected(lost(&error)),
            Step::Reconnected(link) => self.reconnected(link),
            Step::Flushed(Ok(())) => {}
            Step::Time => self.time(),
        }
    }

    fn received(&mut self, received: Received) {
        let extensions = self.source.as_mut().map(Source::extensions).unwrap_or_default();
        let facts = AnswerFacts {
            no_answer: extensions.find::<NoAnswer>().copied(),
            status: extensions.find::<HttpStatus>().copied(),
        };
        let now = now();
        match received {
            Ok(Incoming::One(message)) => self.connection.receive(now, message, facts),
            // MCP 2025-03-26, basic: a server may send several messages in one array.
            Ok(Incoming::Batch(messages)) => {
                for message in messages {
                    match message {
                        Ok(message) => self.connection.receive(now, message, facts),
                        Err(malformed) => self.malformed(malformed),
                    }
                }
            }
            Err(malformed) => self.malformed(malformed),
        }
    }

    fn malformed(&mut self, malformed: Malformed) {
        if let Some(LeftOut(left_out)) = self.malformed_log.permit(now()) {
            tracing::warn!(left_out, error = %malformed.error, "a message of the server cannot be read");
        }
        self.connection.receive_malformed(now(), malformed);
    }

    fn command(&mut self, command: Command) {
        let now = now();
        match command {
            Command::Call(call) => {
                let NewCall { id, request, caller } = *call;
                if self.unwritten() > self.answerer.settings.limits.max_unwritten {
                    return caller.end(CallOutcome { outcome: Err(RequestError::TooMany), rounds: 0 });
                }
                self.callers.insert(id, caller);
                self.connection.call(now, id, request);
            }
            Command::Cancel(call) => {
                self.callers.remove(&call);
                self.stop_answering(Question::Round(call));
                self.connection.cancel(call);
            }
            Command::Reply(key, outcome) => {
                self.answering.remove(&Question::Request(key.number));
                self.connection.reply(&key, outcome);
            }
            Command::Inputs(call, answers) => {
                self.answering.remove(&Question::Round(call));
                self.connection.answer_inputs(now, call, answers);
            }
            Command::Watch { uri, is_wanted, done } => self.watch(Waiting::new(uri, is_wanted, done)),
            Command::Unwatched => self.unwatched(),
            Command::Subscribing(uri) => self.watching.subscribing(uri),
            Command::Subscribed(uri, outcome) => self.subscribed(&uri, outcome),
            Command::Unsubscribed(uri) => self.watching.unsubscribed(&uri),
            Command::LogLevel(level) => self.set_level(level),
            Command::Notify(method, params) => self.connection.notify(method, params),
            Command::Close(deadline) => self.close(deadline, CloseReason::Requested),
        }
    }

    /// Does everything that is due. The time of a request begins with its turn, where requests wait for one.
    fn time(&mut self) {
        let now = now();
        if let Some(streams) = self.sink.as_mut().and_then(Sink::request_streams) {
            for request in self.connection.late_requests(now) {
                if let Some(since) = streams.turn(&request, now) {
                    self.connection.postpone(&request, since);
                }
            }
        }
        self.connection.time(now);
    }

    fn close(&mut self, deadline: Instant, reason: CloseReason) {
        self.close_at = Some(deadline);
        self.connection.close(reason);
    }

    fn stop_answering(&mut self, question: Question) {
        if let Some(task) = self.answering.remove(&question) {
            task.abort();
        }
    }

    /// Does everything that follows from the last step.
    fn settle(&mut self) {
        loop {
            while let Some(transmit) = self.connection.poll_transmit() {
                if let Err(error) = self.transmit(transmit) {
                    self.disconnected(lost(&error));
                }
            }
            let Some(event) = self.connection.poll_event() else { break };
            self.deliver(event);
        }
    }

    fn transmit(&mut self, transmit: Transmit) -> Result<(), TransportError> {
        let before = self.unwritten();
        let Some(sink) = &mut self.sink else { return Ok(()) };
        let cause = match &transmit {
            Transmit::Send(Message::Response(_)) => Cause::Server,
            _ => Cause::Client,
        };
        match (transmit, sink.request_streams()) {
            (Transmit::SendWith(message, RequestFacts { fields, caller }), streams) => {
                if let (Some(streams), Message::Request(request), false) = (streams, &message, fields.is_empty()) {
                    streams.add_fields(&request.id, fields);
                }
                match caller {
                    Some(caller) => sink.send_for(message, &caller)?,
                    None => sink.send(message, None)?,
                }
            }
            (Transmit::Send(message), _) => sink.send(message, None)?,
            (Transmit::CloseStream(id), Some(streams)) => streams.close_stream(&id),
            (Transmit::BeginSession(version), Some(streams)) => streams.begin_session(version),
            (Transmit::EndSession, Some(streams)) => streams.end_session(),
            (Transmit::CloseStream(_) | Transmit::BeginSession(_) | Transmit::EndSession, None) => {}
        }
        self.replies.sent(cause, before, self.unwritten());
        Ok(())
    }

    /// The amount that waits to be written, in the unit of the sink.
    fn unwritten(&self) -> usize {
        self.sink.as_ref().map_or(0, Sink::unwritten)
    }

    /// Writes the last messages and waits for the end of the server, within the time for it.
    async fn finish(mut self) {
        for task in self.answering.values() {
            task.abort();
        }
        let reason = self.connection.closed().cloned().unwrap_or(CloseReason::Requested);
        self.status.send_replace(Status::Closing(reason.clone()));
        // Calls that have come too late fail immediately.
        self.commands.close();
        while let Ok(command) = self.commands.try_recv() {
            self.command(command);
            self.settle();
        }
        let until = self.close_at.unwrap_or_else(|| Instant::now() + LAST_WORDS);
        let Self { mut source, sink, .. } = self;
        let last_words = async {
            if let Some(mut sink) = sink {
                drop(sink.flush().await);
                // Dropped here: the server sees the end of its input.
            }
            if let Some(source) = &mut source {
                while matches!(source.next().await, Ok(Some(_))) {}
            }
        };
        if tokio::time::timeout_at(until, last_words).await.is_err() {
            tracing::debug!("the server did not end in time");
        }
        self.answerer.registry.leave(self.shared.id);
        self.status.send_replace(Status::Closed(reason));
    }
}

fn lost(error: &TransportError) -> CloseReason {
    match error {
        TransportError::Closed => CloseReason::ByServer(None),
        error => {
            let cause = std::error::Error::source(error).map(|cause| format!(": {cause}")).unwrap_or_default();
            CloseReason::Failed(format!("{error}{cause}"))
        }
    }
}

fn now() -> std::time::Instant {
    Instant::now().into_std()
}

/// Reads the next message; never resolves without a source.
async fn next<Q: Source>(source: &mut Option<Q>) -> Result<Option<Received>, TransportError> {
    match source {
        Some(source) => source.next().await,
        None => std::future::pending().await,
    }
}

/// Writes; never resolves if there is nothing to write.
async fn flush<K: Sink>(sink: &mut Option<K>) -> Result<(), TransportError> {
    match sink {
        Some(sink) if sink.unwritten() > 0 => sink.flush().await,
        _ => std::future::pending().await,
    }
}

async fn sleep_until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

/// Commands that are taken before the next write.
const BATCH: usize = 64;

/// The time for the last messages if the caller has named none.
const LAST_WORDS: Duration = Duration::from_secs(5);
