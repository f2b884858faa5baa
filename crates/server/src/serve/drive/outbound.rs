//! The messages to the client: answers, progress, log messages, changes.

use protomcp_types::{Level, Message, Notification, RawJson, RequestId, Response};

use crate::call::context::Context;
use crate::call::ended::{Ended, Outcome, Reserved};
use crate::call::session_queue::{Notice, SessionEvent, Usage, log_message};
use crate::records::clock::now;
use crate::records::overload;
use crate::serve::drive::Driver;
use crate::serve::drive::unsent::Unsent;
use crate::serve::round_trip;
use crate::service::Service;
use protomcp_fair::Reservation;
use protomcp_session::{RequestKey, ServerResult, Topic};
use protomcp_transport::{Sink, TransportError};

impl<S: Service, Q, K: Sink> Driver<S, Q, K> {
    pub(super) fn event(&mut self, event: SessionEvent) -> Result<(), TransportError> {
        match event {
            SessionEvent::Done(key, ended) => self.done(&key, ended),
            SessionEvent::CallNotification(key, notice) if self.session.is_pending(&key) => {
                self.notice(notice, Some(&key.id))
            }
            // The level is checked again, because the client may have changed it since.
            SessionEvent::Log(during, level, notice) if self.may_log(level) => {
                let during = during.filter(|key| self.session.is_pending(key));
                self.notice(notice, during.as_ref().map(|key| &key.id))
            }
            SessionEvent::Notice(notice) if self.session.is_ready() => self.notice(notice, None),
            SessionEvent::CallNotification(_, unwanted)
            | SessionEvent::Log(_, _, unwanted)
            | SessionEvent::Notice(unwanted) => {
                self.queue.release(Usage::of(&unwanted.notification));
                Ok(())
            }
            SessionEvent::CloseStream(key) => {
                if self.session.is_pending(&key)
                    && let Some(delivery) = self.connection.sink.delivery()
                {
                    delivery.close_stream(&key.id);
                }
                Ok(())
            }
            SessionEvent::ListChanged(list, scope) => {
                self.changed(list, scope);
                Ok(())
            }
            SessionEvent::ClientRequest(question) => self.ask(*question),
            // These belong to calls without a session, and to members.
            SessionEvent::Park | SessionEvent::Detach(_) | SessionEvent::Answered(_) => Ok(()),
            SessionEvent::Withdraw(number) => self.withdraw(number),
            SessionEvent::Undeliverable(request) => self.undeliverable(&request),
            SessionEvent::Updated(topic, name) => self.updated(topic, name),
            SessionEvent::TaskFound(id, task) => self.send_updates(Topic::Task, id, task.as_deref()),
            SessionEvent::Listening(key, filter, guard) => self.begin_listening(&key, &filter, Some(guard)),
        }
    }

    /// A call of this task has ended. Its progress and log messages precede its answer.
    pub(super) fn ended(&mut self, context: &Context, outcome: Outcome) -> Result<(), TransportError> {
        self.queued_events()?;
        self.done(context.key(), context.conclude(outcome))
    }

    /// Handles the events that are queued: a call of this task may have caused them before it ended.
    pub(super) fn queued_events(&mut self) -> Result<(), TransportError> {
        // The number is fixed first, because other calls may report without end.
        for _ in 0..self.events.len() {
            let Ok(event) = self.events.try_recv() else { break };
            self.event(*event)?;
        }
        Ok(())
    }

    pub(super) fn done(&mut self, key: &RequestKey, ended: Ended) -> Result<(), TransportError> {
        let Ended { outcome, reservation } = ended;
        self.calls.running.remove(&key.number);
        self.withdraw_all_of(key.number)?;
        // A dropped call was cancelled: by the client, in which case the session encodes no answer, or by the shutdown.
        let outcome = match outcome.unwrap_or_else(|| Err(overload::shutting_down())) {
            Ok(ServerResult::InputRequired(_)) => Err(round_trip::cannot_ask()),
            outcome => outcome,
        };
        let reply = self.session.reply(key, outcome);
        self.keep_changed();
        self.answer(key, reply, reservation)?;
        self.send_missed()
    }

    /// Sends the answer to a request. `reservation`: the bytes that it has reserved, if any.
    pub(super) fn answer(
        &mut self,
        key: &RequestKey,
        reply: Option<Message>,
        reservation: Option<Reservation>,
    ) -> Result<(), TransportError> {
        if reply.is_some() && self.announcements.deadline().is_some() {
            self.announcements.answered(now(), key.number);
        }
        let reply = reply.map(|reply| self.with_reservation(reply, reservation));
        if self.batches.contains(key.number) {
            let answers = self.batches.ended(key.number, reply).unwrap_or_default();
            return self.send_batch(answers);
        }
        reply.map_or(Ok(()), |reply| self.send_reserved(reply, Some(&key.id)))
    }

    /// An answer with its reservation, or a short error in its place.
    pub(super) fn with_reservation(&self, message: Message, reservation: Option<Reservation>) -> Reserved {
        Reserved::new(message, reservation, self.server.sessions.outbound_budget(), &self.connection.peer.owner)
    }

    /// MCP 2025-11-25, basic/lifecycle and server/utilities/logging: log messages may come before the handshake is
    /// complete, but not before it has begun, and only from a server that declares them.
    fn may_log(&self, level: Level) -> bool {
        self.opening.is_done
            && level >= self.session.level()
            && self.server.sessions.info().capabilities.logging.is_some()
    }

    fn notice(&mut self, notice: Notice, during: Option<&RequestId>) -> Result<(), TransportError> {
        let Notice { notification, reservation } = notice;
        // The reservation of a notification that a layer withholds is freed with the next flush.
        self.unsent.notices.add(Usage::of(&notification));
        self.notify(notification, during, Some(reservation))
    }

    /// Sends a message that answers no request, unless a layer withholds it.
    pub(super) fn send_unsolicited(
        &mut self,
        message: impl Into<Message>,
        during: Option<&RequestId>,
    ) -> Result<(), TransportError> {
        match message.into() {
            Message::Notification(notification) => self.notify(notification, during, None),
            other @ (Message::Request(_) | Message::Response(_)) => self.send(other, during),
        }
    }

    fn notify(
        &mut self,
        notification: Notification,
        during: Option<&RequestId>,
        reservation: Option<Reservation>,
    ) -> Result<(), TransportError> {
        let id = self.id;
        match self.server.sending.iter().try_fold(notification, |sent, layer| layer.notification(id, sent)) {
            Some(notification) => self.send_reserved(Reserved { message: notification.into(), reservation }, during),
            // Counted as a message, so that the next flush frees its reservation.
            None => {
                self.unsent.messages += 1;
                Ok(())
            }
        }
    }

    /// Sends the answer to a message that was answered immediately.
    pub(super) fn reply(&mut self, answer: Message) -> Result<(), TransportError> {
        let id = match &answer {
            Message::Response(Response { id, .. }) => id.clone(),
            Message::Request(_) | Message::Notification(_) => None,
        };
        let answer = self.with_reservation(answer, None);
        self.send_reserved(answer, id.as_ref())
    }

    /// Sends a short message without a reservation.
    pub(super) fn send(&mut self, message: Message, during: Option<&RequestId>) -> Result<(), TransportError> {
        self.send_reserved(Reserved { message, reservation: None }, during)
    }

    pub(super) fn send_reserved(
        &mut self,
        reserved: Reserved,
        during: Option<&RequestId>,
    ) -> Result<(), TransportError> {
        let Reserved { message, reservation } = reserved;
        self.calls.logged.note(&message);
        self.unsent.messages += 1;
        self.unsent.answers += usize::from(matches!(message, Message::Response(_)));
        match reservation {
            Some(reservation) => {
                self.unsent.reservations.extend(self.connection.sink.send_reserved(message, during, reservation)?);
            }
            None => self.connection.sink.send(message, during)?,
        }
        Ok(())
    }

    pub(super) fn send_batch(&mut self, answers: Vec<Reserved>) -> Result<(), TransportError> {
        if answers.is_empty() {
            return Ok(());
        }
        self.unsent.messages += answers.len();
        self.unsent.answers += answers.len();
        let mut messages = Vec::with_capacity(answers.len());
        for Reserved { message, reservation } in answers {
            self.calls.logged.note(&message);
            messages.push(message);
            self.unsent.reservations.extend(reservation);
        }
        self.connection.sink.send_batch(messages)
    }

    pub(super) fn flushed(&mut self) -> Result<(), TransportError> {
        let Unsent { notices, updates, .. } = std::mem::take(&mut self.unsent);
        self.queue.release(notices);
        for (topic, name) in updates {
            let again = self.session.subscriptions().flushed(topic, &name);
            // A resource that changes all the time must not delay the end of the session.
            if again && !self.shutdown.is_flushing() {
                self.updated(topic, name)?;
            }
        }
        let dropped = self.queue.take_dropped();
        if dropped == 0 {
            return Ok(());
        }
        tracing::warn!(session = %self.id, dropped, "the client reads too slowly: notifications were dropped");
        if !self.may_log(Level::Warning) {
            return Ok(());
        }
        let text =
            RawJson::text(&format!("{dropped} notifications were dropped: they came faster than they were read"));
        self.send_unsolicited(log_message(Level::Warning, Some("protomcp"), &text), None)
    }

    /// Messages that are kept for the client: not written yet, or held back until their batch is complete.
    pub(super) fn kept(&self) -> usize {
        self.unsent.messages + self.batches.held()
    }

    /// Requests that are running, cancelled ones included.
    pub(super) fn running(&self) -> usize {
        self.calls.running.len() + self.calls.stateless.len()
    }

    /// Requests that are running, or whose answer is kept for the client.
    pub(super) fn in_flight(&self) -> usize {
        self.running() + self.unsent.answers + self.batches.held()
    }
}
