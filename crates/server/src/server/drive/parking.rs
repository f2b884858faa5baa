//! Stateless calls that ask their host: they leave the connection with their request's answer, and come back with
//! another request (MCP 2026-07-28, basic/patterns/mrtr).

use std::sync::Arc;
use std::time::SystemTime;

use protomcp_types::{CallTool, ErrorObject, Method, RequiredCapability, TASKS_EXTENSION};

use crate::call_info::CallInfo;
use crate::context::Context;
use crate::mrtr::{MultiRoundTrip, ReplyTarget, Returned};
use crate::server::drive::{Driver, now};
use crate::service::Service;
use protomcp_session::{
    InputRequest, InputRequired, RequestBinding, RequestKey, RequestState, RetryInput, ServerResult,
};
use protomcp_transport::{Sink, TransportError};

/// The kinds of requests that may ask.
pub(super) enum RoundTrip {
    /// The first, or one that begins anew.
    First(Arc<MultiRoundTrip>),
    /// One that a call waits for.
    Retry(Context, Returned),
}

impl<S: Service, Q, K: Sink> Driver<S, Q, K> {
    /// Finds out what a request that may ask is. What is wrong with it leaves a waiting call waiting.
    pub(super) fn round_trip(
        &self,
        method: &str,
        inputs: RetryInput,
        info: &CallInfo,
    ) -> Result<RoundTrip, ErrorObject> {
        let RetryInput { responses, state, params } = inputs;
        let binding = RequestBinding::new(method, params, self.connection.peer.principal.clone());
        let target = ReplyTarget { queue: Arc::clone(&self.queue), info: info.clone() };
        let invalid = |why| ErrorObject::invalid_params(format!("invalid params: requestState {why}"));
        let state = match state {
            None => None,
            Some(token) => match self.server.sessions.keys().open(&token, binding.bound(), SystemTime::now()) {
                None => return Err(invalid("is not valid for this request")),
                Some(RequestState::Own(state)) => Some(state),
                Some(RequestState::Parked(number)) => {
                    let gone = || invalid("is used up or too old, or its call gave way to others; call again");
                    let call = self.server.sessions.parked().look(number, now()).ok_or_else(gone)?;
                    call.mrtr().map_or(Ok(()), |mrtr| mrtr.check(&responses))?;
                    // Another request may have taken it in between.
                    let call = self.server.sessions.parked().take(number, now()).ok_or_else(gone)?;
                    let resumed = call.mrtr().map(|mrtr| mrtr.resume(target, responses)).ok_or_else(gone)?;
                    return Ok(RoundTrip::Retry(call, resumed));
                }
            },
        };
        let is_known = self.server.sessions.info().capabilities.has_extension(TASKS_EXTENSION)
            && info.client.capabilities.has_extension(TASKS_EXTENSION);
        let may_be_task = is_known && method == CallTool::NAME;
        let max_questions = self.server.sessions.limits().max_questions;
        let mrtr = MultiRoundTrip::new(binding, target, state, responses, max_questions, may_be_task);
        Ok(RoundTrip::First(Arc::new(mrtr)))
    }

    /// A call has come to this connection.
    pub(super) fn resume(&mut self, key: RequestKey, call: Context, resumed: Returned) {
        self.calls.running.insert(key.number, call);
        match resumed {
            Returned::Running => {}
            Returned::Asking => self.queue.asked(key),
            Returned::Ended(ended) => self.queue.done(key, *ended),
        }
    }

    /// A call waits for answers: its request is answered with its questions, and it leaves.
    pub(super) fn park(&mut self, key: &RequestKey) -> Result<(), TransportError> {
        if !self.session.is_pending(key) {
            return Ok(());
        }
        let Some(call) = self.calls.running.get(&key.number) else { return Ok(()) };
        let Some(mrtr) = call.mrtr() else { return Ok(()) };
        if self.server.sessions.is_shut_down() {
            // No client could come back.
            mrtr.give_up();
            return Ok(());
        }
        let now = now();
        let parked = mrtr.park(|until| self.server.sessions.park(call.clone(), now, until));
        let Some((questions, until, number)) = parked else { return Ok(()) };
        let Some(binding) = mrtr.binding() else { return Ok(()) };
        let lifetime = until.saturating_duration_since(now);
        let state = self.server.sessions.keys().seal(
            &RequestState::Parked(number),
            binding.bound(),
            SystemTime::now(),
            lifetime,
        );
        self.calls.running.remove(&key.number);
        let required = InputRequired { questions, state: Some(state) };
        let reply = self.session.reply(key, Ok(ServerResult::InputRequired(required)));
        self.answer(key, reply, None)
    }

    /// A handler's own questions and state, made fit to be sent.
    pub(super) fn sealed(
        &self,
        call: Option<&Context>,
        mut required: InputRequired,
    ) -> Result<ServerResult, ErrorObject> {
        let Some((call, binding)) = call.and_then(|call| Some((call, call.mrtr()?.binding()?))) else {
            return Err(ErrorObject::internal("this request cannot be answered with questions"));
        };
        if required.questions.is_empty() && required.state.is_none() {
            return Err(ErrorObject::internal("the handler asks for nothing"));
        }
        let capabilities = call.capabilities();
        let unmet = required.questions.asked().iter().filter_map(InputRequest::need);
        let unmet = unmet.filter(|need| !need.is_met_by(capabilities)).map(RequiredCapability::to_capabilities);
        if let Some(missing) = unmet.reduce(|all, more| all.and(&more)) {
            return Err(ErrorObject::missing_capability(&missing));
        }
        let lifetime = self.server.sessions.limits().ask_timeout;
        let seal = |state| {
            self.server.sessions.keys().seal(&RequestState::Own(state), binding.bound(), SystemTime::now(), lifetime)
        };
        required.state = required.state.map(seal);
        Ok(ServerResult::InputRequired(required))
    }
}
