//! Handles the messages of the client: starts calls, cancels them, and passes on answers.

use std::sync::Arc;

use futures_util::FutureExt;
use protomcp_types::{Incoming, Initialize, Malformed, Message, Method, method};

use crate::call::call_info::CallInfo;
use crate::call::context::Context;
use crate::call::mrtr::ReplyTarget;
use crate::records::cancel::Cancel;
use crate::records::overload;
use crate::serve::access_log::Access;
use crate::serve::call;
use crate::serve::drive::Driver;
use crate::service::Service;
use protomcp_session::{CallerKey, Inbound, IncomingCall, Session, SessionView};
use protomcp_transport::{Received, Sink, TransportError};

impl<S: Service, Q, K: Sink> Driver<S, Q, K> {
    pub(super) fn received(&mut self, received: Received) -> Result<(), TransportError> {
        match received {
            Ok(Incoming::One(message)) => {
                if let Some(answer) = self.message(message)?.0 {
                    self.reply(answer)?;
                }
                Ok(())
            }
            Ok(Incoming::Batch(messages)) => self.batch(messages),
            Err(malformed) => self.reply(malformed.into()),
        }
    }

    /// Handles one message. Returns the answer if the session has it already, or the number of the call that makes it.
    fn message(&mut self, message: Message) -> Result<(Option<Message>, Option<u64>), TransportError> {
        if let Message::Request(request) = &message
            && self.server.sessions.logs_access()
        {
            let (peer, known) = (&self.connection.peer, &self.connection.arrival.known);
            let access = Access::begin(request, &(self.server.targets)(request), peer, known, Some(self.id));
            self.calls.logged.begin(&request.id, access);
        }
        self.pass(message)
    }

    /// Passes a message to the session, and carries out its decision.
    fn pass(&mut self, message: Message) -> Result<(Option<Message>, Option<u64>), TransportError> {
        if let Message::Request(request) = &message
            && request.method == Initialize::NAME
            && !self.opening.is_done
        {
            match self.server.sessions.inbound_budget().reserve(&self.connection.peer.owner, request.params.weight()) {
                Ok(reservation) => self.opening.introduction = Some(reservation),
                Err(_) => return Ok((Some(Message::error(Some(request.id.clone()), overload::request())), None)),
            }
        }
        match self.session.receive(message) {
            Inbound::Call(call) => return Ok(self.start(call)),
            Inbound::Reply(reply) => {
                let level = self.session.level();
                if self.queue.set_level(level) {
                    self.server.observers.log_level_set(self.id, level);
                }
                self.keep_changed();
                return Ok((Some(reply), None));
            }
            Inbound::Opened(client, reply) => {
                self.opening.is_done = true;
                if let Some(delivery) = self.connection.sink.delivery() {
                    delivery.negotiated(client.version);
                }
                self.queue.introduce(Arc::clone(&client));
                self.server.observers.opened(&SessionView {
                    id: self.id,
                    owner: self.connection.peer.owner.clone(),
                    client,
                });
                self.keep_changed();
                return Ok((Some(reply), None));
            }
            Inbound::Cancel(key) => {
                match self.calls.running.get(&key.number) {
                    Some(context) => context.cancel(),
                    None => self.calls.stateless.cancel(key.number),
                }
                self.calls.listening.remove(&key.number);
                self.calls.logged.cancelled(&key.id);
                if let Some(delivery) = self.connection.sink.delivery() {
                    delivery.request_cancelled(&key.id);
                }
                if let Some(answers) = self.batches.ended(key.number, None) {
                    self.send_batch(answers)?;
                }
            }
            Inbound::Listen(key, client, filter) => return Ok((self.listen(key, client, filter)?, None)),
            Inbound::Stateless(key, request) => return Ok((self.begin_stateless(key, *request), None)),
            Inbound::Ready => {}
            Inbound::Answer { call, outcome } => self.client_answered(call, outcome),
            Inbound::Notification(notification) if notification.method == method::PROGRESS => {
                self.client_reports(&notification);
            }
            Inbound::Notification(notification) => self.server.observers.notified(self.id, &notification),
            Inbound::Ignored(why) => tracing::debug!(session = %self.id, why, "message ignored"),
        }
        Ok((None, None))
    }

    /// Starts a call of the session.
    fn start(&mut self, call: IncomingCall) -> (Option<Message>, Option<u64>) {
        let IncomingCall { key, request, progress_token: token, client } = call;
        let known = self.connection.arrival.known.clone();
        let reservation = match self.admit(request.extra_room(), &known) {
            Ok(reservation) => reservation,
            Err(refusal) => return (self.session.reply(&key, Err(refusal)), None),
        };
        let number = key.number;
        let caller = known.find::<CallerKey>().cloned();
        let caller = caller.unwrap_or_else(|| self.connection.peer.in_session(self.id));
        let info = Arc::new(CallInfo { token, reservation, ..CallInfo::new(key, client, known) });
        let target = ReplyTarget { queue: Arc::clone(&self.queue), info };
        let limits = *self.server.sessions.limits();
        let context = Context::new(caller, self.id, target, None);
        self.calls.running.insert(number, context.clone());
        let call = call::run(Arc::clone(&self.server.service), request, context, limits.cancel_grace);
        match &mut self.calls.inline {
            Some(calls) => calls.push(Box::pin(call)),
            // An async block would store the call twice.
            None => drop(tokio::spawn(call.map(|(context, outcome)| context.finish(outcome)))),
        }
        (None, Some(number))
    }

    fn batch(&mut self, messages: Vec<Result<Message, Malformed>>) -> Result<(), TransportError> {
        if !self.session.allows_batches() {
            return self.reply(Malformed::invalid(None, "batches are for MCP 2025-03-26 only").into());
        }
        let (mut answers, mut running) = (Vec::new(), Vec::new());
        for message in messages {
            match message {
                // Its answer may take as long as the client listens, and would delay the others.
                Ok(Message::Request(request)) if Session::is_stateless(&request) => {
                    let why = "a batch holds no requests of 2026-07-28";
                    answers.push(self.with_reservation(Malformed::invalid(Some(request.id), why).into(), None));
                }
                Ok(message) => {
                    let (answer, number) = self.message(message)?;
                    answers.extend(answer.map(|answer| self.with_reservation(answer, None)));
                    running.extend(number);
                }
                Err(malformed) => answers.push(self.with_reservation(malformed.into(), None)),
            }
        }
        // A request can be cancelled by a later message of the same batch.
        running.retain(|number| {
            self.calls.running.get(number).is_some_and(|context| self.session.is_pending(context.key()))
        });
        match self.batches.open(answers, &running) {
            Some(answers) => self.send_batch(answers),
            None => Ok(()),
        }
    }
}
