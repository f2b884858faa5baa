//! Requests on their way out, in the form of the connection's revision.

use std::time::Instant;

use protomcp_types::{JsonBuf, Message, Params, RawJson, RequestId};

use crate::client::ClientConnection;
use crate::client::call::{Call, CallState};
use crate::client::event::{RequestFacts, Transmit};
use crate::client::exchange::{Draft, Purpose};
use crate::client::identity;
use crate::outgoing::CallId;

impl ClientConnection {
    /// Sends the request of a call, if the connection is open. Otherwise it waits.
    pub(super) fn dispatch(&mut self, now: Instant, id: CallId) {
        if self.phase.server().is_none() {
            return;
        }
        let may_be_task = self.makes_tasks();
        let Some(call) = self.calls.get(id) else { return };
        let draft = Draft {
            purpose: Purpose::Call(id),
            method: call.request.method.clone(),
            params: params(call, may_be_task),
            fields: call.request.fields.clone(),
            wants_progress: call.request.wants_progress,
        };
        let wants_progress = draft.wants_progress;
        let number = self.send(draft);
        let before = self.calls.change(id, |call| {
            call.last_progress = None;
            std::mem::replace(&mut call.token, wants_progress.then_some(number))
        });
        if let Some(before) = before.flatten() {
            self.tokens.remove(&before);
        }
        if wants_progress {
            self.tokens.insert(number, id);
        }
        self.await_answer(now, id, number);
    }

    /// A call waits for the answer to this exchange.
    pub(super) fn await_answer(&mut self, now: Instant, id: CallId, number: u64) {
        let default = self.config.limits.timeout;
        self.calls.change(id, |call| {
            let until = now + call.request.timeout.unwrap_or(default);
            call.state = CallState::Sent(number, until);
        });
    }

    /// Sends a request of an open connection.
    pub(super) fn send(&mut self, mut draft: Draft) -> u64 {
        if let Some(server) = self.phase.server().filter(|server| !server.is_stateful()) {
            draft.params = self.identity.describe(draft.params, server.version.as_str(), self.log_level);
        }
        self.send_as_is(draft)
    }

    pub(super) fn send_as_is(&mut self, draft: Draft) -> u64 {
        let number = self.exchanges.begin(draft.purpose);
        let call = draft.purpose.call().and_then(|id| self.calls.get(id));
        let facts = RequestFacts { fields: draft.fields, caller: call.and_then(|call| call.request.caller.clone()) };
        let params = if draft.wants_progress { identity::with_token(draft.params, number) } else { draft.params };
        let message = Message::request(RequestId::from(number), draft.method, params);
        self.transmits.push_back(if facts == RequestFacts::default() {
            Transmit::Send(message)
        } else {
            Transmit::SendWith(message, facts)
        });
        number
    }

    /// True if the server can make tasks of calls at the client's wish.
    fn makes_tasks(&self) -> bool {
        self.phase.server().is_some_and(|server| {
            let tasks = server.capabilities.as_ref().and_then(|capabilities| capabilities.tasks);
            server.version.has_tasks() && tasks.is_some_and(|tasks| tasks.has_tool_calls())
        })
    }
}

/// The parameters of a call in its next round.
fn params(call: &Call, may_be_task: bool) -> Params {
    let params = call.request.params.clone();
    let wish = call.request.task.filter(|_| may_be_task);
    if wish.is_none() && call.round.responses.is_none() && call.round.state.is_none() {
        return params;
    }
    let mut members = identity::members(params);
    if let Some(responses) = &call.round.responses {
        members.insert("inputResponses", responses.to_body().into_raw());
    }
    if let Some(state) = &call.round.state {
        members.insert("requestState", state.clone());
    }
    if let Some(wish) = wish {
        let object = JsonBuf::object();
        let object = match wish.ttl.and_then(|ttl| u64::try_from(ttl.as_millis()).ok()) {
            Some(ttl) => object.value("ttl", &ttl),
            None => object,
        };
        let task: RawJson = object.finish().into_raw();
        members.insert("task", task);
    }
    members.into()
}
