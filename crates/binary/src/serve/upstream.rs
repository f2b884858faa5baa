//! The session of MCP behind a conversation: its machine, and both ends of the connection in memory.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use protomcp_server::{ServeError, Server, Service};
use protomcp_session::{
    AnswerFacts, CallId, ClientConfig, ClientConnection, ClientEvent, CloseReason, Extensions, Mode, RequestError,
    Transmit,
};
use protomcp_transport::memory::{MemorySink, MemorySource};
use protomcp_transport::{Received, Sink, Source, Transport, TransportError, memory};
use protomcp_types::{Implementation, Incoming, Message, RawJson, method};
use tokio::sync::{mpsc, oneshot};

use crate::message::ListChanged;
use crate::serve::mcp::session::{CALL_FIELD, Command, SessionRequests};
use crate::serve::peer::BinaryPeer;
use crate::serve::peer_transport::{Bearers, PeerTransport};

/// The client's end of a session of MCP, and the future that serves it.
pub(super) struct Upstream {
    machine: ClientConnection,
    source: MemorySource,
    sink: MemorySink,
    serving: Option<BoxFuture<'static, Result<(), ServeError>>>,
    commands: mpsc::UnboundedReceiver<Command>,
    waiting: HashMap<CallId, Waiting>,
    /// The facts about the clients of the requests that the server has not read.
    bearers: Bearers,
}

/// A request that waits for its answer.
struct Waiting {
    done: oneshot::Sender<Result<RawJson, RequestError>>,
    known: Option<Extensions>,
}

/// An event that the driver acts on.
pub(super) enum Step {
    /// A message of the server, or the end of its messages.
    Received(Result<Option<Received>, TransportError>),
    /// A command of a request that is being answered.
    Command(Option<Command>),
    /// Messages were passed on to the server, or cannot be.
    Flushed(Result<(), TransportError>),
    /// The server has ended the session.
    Served,
}

/// A change that the client may want to know.
pub(super) enum Notice {
    /// Lists have changed.
    Changed(ListChanged),
    /// The session is over.
    Closed,
}

impl Upstream {
    /// Begins a session for a client with this identity.
    pub(super) fn open<S: Service>(
        server: &Server<S>,
        identity: Implementation,
        peer: &BinaryPeer,
        timeout: Duration,
        now: Instant,
    ) -> (Self, SessionRequests) {
        let (ours, theirs) = memory::pair();
        let bearers = Bearers::default();
        let transport = PeerTransport { inner: theirs, peer: peer.clone(), bearers: bearers.clone() };
        let server = server.clone();
        let serving: BoxFuture<'static, _> = Box::pin(async move { server.serve_inline(transport).await });
        let (source, sink) = ours.split();
        let mut config = ClientConfig::new(identity);
        config.mode = Mode::Stateful;
        let (mcp, commands) = SessionRequests::new(timeout);
        let machine = ClientConnection::new(config, now);
        let (serving, waiting) = (Some(serving), HashMap::new());
        (Self { machine, source, sink, serving, commands, waiting, bearers }, mcp)
    }

    /// Waits for the next event. Cancel safe.
    pub(super) async fn step(&mut self) -> Step {
        let served = async {
            match &mut self.serving {
                Some(serving) => drop(serving.await),
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            received = self.source.next() => Step::Received(received),
            command = self.commands.recv() => Step::Command(command),
            flushed = self.sink.flush(), if self.sink.unwritten() > 0 => Step::Flushed(flushed),
            () = served => Step::Served,
        }
    }

    /// Takes an event.
    pub(super) fn handle(&mut self, now: Instant, step: Step) {
        match step {
            Step::Received(Ok(Some(Ok(incoming)))) => {
                let messages = match incoming {
                    Incoming::One(message) => vec![Ok(message)],
                    Incoming::Batch(messages) => messages,
                };
                for message in messages.into_iter().flatten() {
                    self.machine.receive(now, message, AnswerFacts::default());
                }
            }
            Step::Received(Ok(Some(Err(_)))) | Step::Command(None) | Step::Flushed(Ok(())) => {}
            Step::Command(Some(Command::Call { id, call, known, done })) => {
                self.waiting.insert(id, Waiting { done, known });
                self.machine.call(now, id, *call);
            }
            Step::Command(Some(Command::Cancel(id))) => {
                self.waiting.remove(&id);
                self.machine.cancel(id);
            }
            Step::Received(Ok(None) | Err(_)) | Step::Flushed(Err(_)) => {
                self.machine.close(CloseReason::ByServer(None));
            }
            Step::Served => self.serving = None,
        }
    }

    /// Does what is due.
    pub(super) fn handle_timeout(&mut self, now: Instant) {
        if self.machine.deadline().is_some_and(|deadline| deadline <= now) {
            self.machine.time(now);
        }
    }

    /// The time at which [`Upstream::handle_timeout`] has something to do.
    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        self.machine.deadline()
    }

    /// Carries out what the machine has decided, and returns what concerns the client.
    pub(super) fn pump(&mut self) -> Vec<Notice> {
        while let Some(transmit) = self.machine.poll_transmit() {
            let message = match transmit {
                Transmit::Send(message) => message,
                Transmit::SendWith(message, facts) => {
                    self.introduce(&message, &facts.fields);
                    message
                }
                _ => continue,
            };
            // A connection in memory takes every message; its end shows when it is flushed.
            drop(self.sink.send(message, None));
        }
        let mut notices = Vec::new();
        while let Some(event) = self.machine.poll_event() {
            match event {
                ClientEvent::Answer { call, outcome, .. } => {
                    if let Some(waiting) = self.waiting.remove(&call) {
                        // The request may just have been cancelled.
                        drop(waiting.done.send(outcome.map(protomcp_types::JsonBuf::into_raw)));
                    }
                }
                ClientEvent::Notification(notification) => notices.extend(changed(&notification.method)),
                ClientEvent::Closed(_) => notices.push(Notice::Closed),
                _ => {}
            }
        }
        notices
    }

    /// Lets the server know the client of this request.
    fn introduce(&self, message: &Message, fields: &[(String, String)]) {
        let call = fields.iter().find(|(name, _)| name == CALL_FIELD).and_then(|(_, number)| number.parse().ok());
        let waiting = call.and_then(|number| self.waiting.get(&CallId::new(number)));
        if let (Some(known), Message::Request(request)) = (waiting.and_then(|waiting| waiting.known.clone()), message) {
            self.bearers.add(request.id.clone(), known);
        }
    }

    /// Ends the session, and waits until the server has ended it too.
    pub(super) async fn close(mut self) {
        drop((self.source, self.sink));
        if let Some(serving) = &mut self.serving {
            drop(serving.await);
        }
    }
}

fn changed(method: &str) -> Option<Notice> {
    let changed =
        ListChanged { tools: method == method::TOOLS_CHANGED, resources: method == method::RESOURCES_CHANGED };
    (changed.tools || changed.resources).then_some(Notice::Changed(changed))
}
