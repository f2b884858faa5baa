//! The end of a call before its answer: by its caller, or by the clock (MCP 2025-11-25, basic/utilities/cancellation;
//! 2026-07-28, basic/patterns/cancellation).

use std::time::Instant;

use protomcp_types::{JsonObject, Message, RequestId, method};

use crate::client::ClientConnection;
use crate::client::call::CallState;
use crate::client::config::Channel;
use crate::client::error::RequestError;
use crate::client::event::Transmit;
use crate::outgoing::CallId;

impl ClientConnection {
    /// Cancels a call. It gets no [`ClientEvent::Answer`](crate::ClientEvent::Answer) unless one is on its way already.
    pub fn cancel(&mut self, id: CallId) {
        self.stop(id);
        if let Some(call) = self.calls.remove(id)
            && let Some(token) = call.token
        {
            self.tokens.remove(&token);
        }
    }

    /// The time of a call is over: fails it, or asks for the state of its task.
    pub(super) fn overdue(&mut self, now: Instant, id: CallId) {
        let Some(call) = self.calls.get(id) else { return };
        match (&call.state, &call.task) {
            (CallState::Polling(_), _) if call.until > now => return self.poll_task(now, id),
            // A task has more time than one answer about it.
            (CallState::Sent(number, _), Some(task)) if call.until > now => {
                let (number, interval) = (*number, task.interval);
                if self.exchanges.forget(number) {
                    self.withdraw(number);
                }
                return self.poll_later(now, id, interval);
            }
            _ => {}
        }
        let after = match call.state {
            CallState::Sent(..) if call.until > now => call.request.timeout.unwrap_or(self.config.limits.timeout),
            _ => call.total,
        };
        self.stop(id);
        self.finish(id, Err(RequestError::TimedOut(after)));
    }

    /// The requests whose time without an answer is over at `now`, and whose time in all is not. A driver whose transport
    /// has sent one of them later than it took it calls [`ClientConnection::postpone`] before
    /// [`ClientConnection::time`].
    #[must_use]
    pub fn late_requests(&self, now: Instant) -> Vec<RequestId> {
        self.calls.late(now).into_iter().map(RequestId::from).collect()
    }

    /// The request was not sent before `since`: its time without an answer begins then.
    pub fn postpone(&mut self, request: &RequestId, since: Instant) {
        let Some((number, purpose)) = self.exchanges.purpose(request) else { return };
        let Some(id) = purpose.call() else { return };
        let default = self.config.limits.timeout;
        self.calls.change(id, |call| match &mut call.state {
            CallState::Sent(own, until) if *own == number => {
                *until = (*until).max(since + call.request.timeout.unwrap_or(default));
            }
            _ => {}
        });
    }

    /// Tells the server that the answer is not wanted.
    fn stop(&mut self, id: CallId) {
        if let Some(CallState::Sent(number, _)) = self.calls.get(id).map(|call| call.state.clone())
            && self.exchanges.forget(number)
        {
            self.withdraw(number);
        }
        self.cancel_task(id);
    }

    /// Cancels an exchange.
    pub(super) fn withdraw(&mut self, number: u64) {
        let id = RequestId::from(number);
        let is_stateless = self.phase.server().is_some_and(|server| !server.is_stateful());
        self.transmits.push_back(match self.config.channel {
            Channel::Exchanges if is_stateless => Transmit::CloseStream(id),
            Channel::Exchanges | Channel::Shared => {
                let params = JsonObject::new().with("requestId", id.to_raw());
                Transmit::Send(Message::notification(method::CANCELLED, params.into()))
            }
        });
    }
}
