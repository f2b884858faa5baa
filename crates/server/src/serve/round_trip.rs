//! Stateless calls that ask their client: the request is answered with the questions, the call is parked, and another
//! request takes it up again (MCP 2026-07-28, basic/patterns/mrtr).

use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use futures_util::FutureExt;
use futures_util::future::ready;
use protomcp_types::{CallTool, ErrorObject, Method, RequiredCapability, TASKS_EXTENSION};

use crate::call::context::Context;
use crate::call::ended::Outcome;
use crate::call::mrtr::{MultiRoundTrip, ReplyTarget, Returned};
use crate::records::clock::now;
use crate::records::node::NodeId;
use crate::records::overload;
use crate::state::handle::ServerHandle;
use protomcp_session::{
    InputRequest, InputRequired, ParkedState, RequestBinding, RequestState, RequestStateError, RetryInput, ServerResult,
};

/// The kinds of requests that may ask.
pub(super) enum RoundTrip {
    /// The first, or one that begins anew.
    First(Arc<MultiRoundTrip>),
    /// One that a parked call waits for.
    Retry(Context, Returned),
    /// One that is refused, as one whose call is not in this process. The future finds the reason.
    Refused(Refusal),
}

/// Finds the reason to refuse a request: it may ask the store of leases for the process that holds a call.
pub(super) type Refusal = Pin<Box<dyn Future<Output = ErrorObject> + Send>>;

/// The time that the store of leases may take to answer.
const WAIT_LIMIT: Duration = Duration::from_secs(30);

/// Finds the parked call that a request takes up, or prepares a new one. An error leaves a parked call parked.
pub(super) fn begin_or_resume(
    sessions: &ServerHandle,
    principal: Option<Arc<str>>,
    inputs: RetryInput,
    target: ReplyTarget,
) -> Result<RoundTrip, ErrorObject> {
    let RetryInput { method, responses, state, params } = inputs;
    let binding = RequestBinding::new(method, params, principal);
    let invalid = |why| ErrorObject::invalid_params(format!("invalid params: requestState {why}"));
    let gone = || invalid(RequestStateError::TooOld);
    let state = match state {
        None => None,
        Some(token) => match sessions.keys().open(&token, || *binding.bound(), SystemTime::now()) {
            Err(why) => return Err(invalid(why)),
            Ok(RequestState::Own(state)) => Some(state),
            Ok(RequestState::Parked(parked)) => {
                let number = parked.number();
                let Some(call) = sessions.parked().peek(number, now()) else {
                    return Ok(RoundTrip::Refused(find(sessions, parked, gone())));
                };
                call.mrtr().map_or(Ok(()), |mrtr| mrtr.check(&responses))?;
                // Another request may have taken it in between.
                let call = sessions.parked().take(number, now()).ok_or_else(gone)?;
                let returned = call.mrtr().map(|mrtr| mrtr.resume(&target, responses)).ok_or_else(gone)?;
                return Ok(RoundTrip::Retry(call, returned));
            }
        },
    };
    let is_known = sessions.stateless_info().capabilities.has_extension(TASKS_EXTENSION)
        && target.info.client.capabilities.has_extension(TASKS_EXTENSION);
    let may_be_task = is_known && method == CallTool::NAME;
    let max_questions = sessions.limits().max_questions;
    let mrtr = MultiRoundTrip::new(binding, target, responses, max_questions, may_be_task).with_state(state);
    Ok(RoundTrip::First(Arc::new(mrtr)))
}

impl RoundTrip {
    /// One that is refused with this error.
    pub(super) fn refused(error: ErrorObject) -> Self {
        Self::Refused(ready(error).boxed())
    }
}

/// The reason to refuse a request whose call is not here; `gone`: the reason for one whose call was here.
fn find(sessions: &ServerHandle, parked: ParkedState, gone: ErrorObject) -> Refusal {
    let keys = sessions.keys().clone();
    let is_in = move |node: &NodeId| keys.is_parked_in(&parked, node.as_str());
    if is_in(sessions.node()) {
        return ready(gone).boxed();
    }
    let Some(leases) = sessions.leases().cloned() else { return ready(overload::parked_elsewhere()).boxed() };
    Box::pin(async move {
        match tokio::time::timeout(WAIT_LIMIT, leases.find(is_in)).await {
            Ok(Ok(Some(lease))) => overload::in_other_process(&lease.node),
            Ok(Ok(None)) => overload::replica_gone(),
            Ok(Err(_)) | Err(_) => overload::no_store(),
        }
    })
}

/// Waits for the refusal of a request, unless it is cancelled.
pub(super) async fn refuse(context: Context, refusal: Refusal) -> (Context, Outcome) {
    let outcome = tokio::select! {
        biased;
        () = context.cancelled() => None,
        error = refusal => Some(Err(error)),
    };
    (context, outcome)
}

/// Parks a call that has asked. Returns the answer to its request; `None`: the call goes on, because nothing is to be
/// asked or its questions have failed.
pub(super) fn park(sessions: &ServerHandle, call: &Context) -> Option<InputRequired> {
    let mrtr = call.mrtr()?;
    if sessions.is_shut_down() {
        // No client could come back.
        mrtr.give_up();
        return None;
    }
    let now = now();
    let (questions, until, number) = mrtr.park(|until| sessions.park(call.clone(), now, until))?;
    let bound = mrtr.bound()?;
    let lifetime = until.saturating_duration_since(now);
    let keys = sessions.keys();
    let state = RequestState::Parked(keys.parked(number, sessions.node().as_str()));
    let state = keys.seal(&state, &bound, SystemTime::now(), lifetime);
    Some(InputRequired { questions, state: Some(state) })
}

/// Signs the state of a handler that asks by itself, if its questions can be sent.
pub(super) fn sign_state(
    sessions: &ServerHandle,
    call: &Context,
    mut required: InputRequired,
) -> Result<ServerResult, ErrorObject> {
    let bound = call.mrtr().and_then(|mrtr| mrtr.bound()).ok_or_else(cannot_ask)?;
    if required.questions.is_empty() && required.state.is_none() {
        return Err(ErrorObject::internal("the handler asks for nothing"));
    }
    let capabilities = call.capabilities();
    let unmet = required.questions.asked().iter().filter_map(InputRequest::need);
    let unmet = unmet.filter(|need| !need.is_met_by(capabilities)).map(RequiredCapability::to_capabilities);
    if let Some(missing) = unmet.reduce(|all, more| all.and(&more)) {
        return Err(ErrorObject::missing_capability(&missing));
    }
    let lifetime = sessions.limits().ask_timeout;
    let seal = |state| sessions.keys().seal(&RequestState::Own(state), &bound, SystemTime::now(), lifetime);
    required.state = required.state.map(seal);
    Ok(ServerResult::InputRequired(required))
}

/// The answer to a request whose handler requires input, and which cannot be answered with questions.
pub(super) fn cannot_ask() -> ErrorObject {
    ErrorObject::internal("this request cannot be answered with questions")
}
