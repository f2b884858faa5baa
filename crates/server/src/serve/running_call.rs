//! One typed call of a member, from its request to its result.
//!
//! Nothing is spawned for a call that is polled to its end.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context as Wakes, Poll, ready};

use futures_util::FutureExt;
use futures_util::future;
use protomcp_types::{ErrorObject, Subscribe, Unsubscribe};
use tokio::runtime::Handle;

use crate::call::call_info::CallInfo;
use crate::call::context::Context;
use crate::call::ended::Outcome;
use crate::call::mrtr::ReplyTarget;
use crate::call::outlet::Outlet;
use crate::call::session_queue::SessionQueue;
use crate::records::cancel::Cancel;
use crate::records::overload;
use crate::serve::Server;
use crate::serve::access_log::{Access, as_sent};
use crate::serve::call::{self, Running};
use crate::serve::ending::Ending;
use crate::serve::membership::{CallFacts, Member};
use crate::serve::round_trip;
use crate::serve::shutdown::Due;
use crate::service::Service;
use protomcp_fair::{Owner, Reservation};
use protomcp_session::{
    Conversation, Limits, RequestKey, ServerRequest, ServerResult, Session, SessionId, Subscriptions, Topic,
};

/// One call of a member ([`Server::call`]). Polling it drives the call; its output is the result or the error of the
/// service. The bytes of the result count in no budget.
///
/// Until it is dropped the call is in flight ([`Limits::max_pending`]): drop it when the answer is written.
/// Dropping it before its end cancels the call, which then has its grace ([`Limits::cancel_grace`]) in its own task.
#[must_use = "a call runs while it is polled"]
pub struct RunningCall {
    context: Context,
    /// `None`: it has ended.
    call: Option<Running>,
    /// `None`: it is in the task of the cancelled call.
    slot: Option<Slot>,
    subscribing: Option<Subscribing>,
    access: Option<Access>,
    ending: Ending,
}

/// One of the calls of a member that are in flight.
struct Slot {
    member: Arc<Member>,
    number: u64,
}

/// The subscription of its member that a call begins or ends with its answer.
struct Subscribing {
    subscriptions: Arc<Subscriptions>,
    number: u64,
    uri: String,
    change: Change,
}

/// A change of a subscription.
enum Change {
    Begin,
    End,
}

impl<S: Service> Server<S> {
    /// Starts one typed call of a member. `outlet` is the way back to its client while it runs; progress and log
    /// messages pass the outgoing layers first. Must be called inside a tokio runtime with timers.
    ///
    /// The call is refused with an error when the server does not have the method (−32601), when too many calls or bytes
    /// are in flight, and while the server shuts down (−32603). At a shutdown a running call may end within
    /// [`Limits::drain_timeout`], as in [`Server::serve`].
    pub fn call(&self, request: ServerRequest, facts: CallFacts, outlet: Arc<dyn Outlet>) -> RunningCall {
        let access = facts.member.sessions.logs_access().then(|| self.access(&request, &facts));
        let CallFacts { client, caller, progress_token: token, known, id, member } = facts;
        let slot = Slot::take(&member);
        let (reservation, refusal) = match member.admit(&request, slot.number, &caller.owner) {
            Ok(reservation) => (Some(Arc::new(reservation)), None),
            Err(error) => (None, Some(error)),
        };
        let change = match &request {
            ServerRequest::Subscribe(Subscribe { uri, .. }) => Some((uri, Change::Begin)),
            ServerRequest::Unsubscribe(Unsubscribe { uri, .. }) => Some((uri, Change::End)),
            _ => None,
        };
        let subscribing = change.filter(|_| refusal.is_none()).map(|(uri, change)| {
            let (subscriptions, uri) = (Arc::clone(&member.subscriptions), uri.clone());
            Subscribing { subscriptions, number: slot.number, uri, change }
        });
        let session = match caller.conversation {
            Conversation::Session(session) => session,
            Conversation::Connection(_) => SessionId::STATELESS,
        };
        let key = RequestKey { number: slot.number, id };
        let info = Arc::new(CallInfo { token, reservation, ..CallInfo::new(key, client, known) });
        let target = ReplyTarget { queue: Arc::clone(&member.queue), info };
        let context = Context::with_outlet(caller, session, target, outlet, member.layers());
        let grace = member.sessions.limits().cancel_grace;
        let call: Running = match refusal {
            Some(error) => Box::pin(future::ready((context.clone(), Some(Err(error))))),
            None => Box::pin(call::run(Arc::clone(&self.0.service), request, context.clone(), grace)),
        };
        let ending = Ending::new(&member.sessions);
        RunningCall { context, call: Some(call), slot: Some(slot), subscribing, access, ending }
    }

    /// The line of a call in the access log.
    fn access(&self, request: &ServerRequest, facts: &CallFacts) -> Access {
        let sent = as_sent(&facts.id, request);
        let (target, member) = ((self.0.targets)(&sent), &facts.member);
        Access::begin(&sent, &target, &member.peer, &facts.known, Some(member.id))
    }
}

impl Member {
    /// Takes the bytes of a call that is one of those in flight.
    ///
    /// # Errors
    /// The reason to refuse the call.
    fn admit(&self, request: &ServerRequest, number: u64, owner: &Owner) -> Result<Reservation, ErrorObject> {
        let (sessions, method) = (&self.sessions, request.method());
        if !ServerRequest::is_answered(method, &sessions.info().capabilities) {
            return Err(ErrorObject::method_not_found(method));
        }
        if sessions.is_shut_down() {
            return Err(overload::shutting_down());
        }
        let max = sessions.limits().max_pending.saturating_add(request.extra_room());
        if self.running.load(Ordering::Acquire) > max {
            return Err(Session::overloaded());
        }
        let bytes = request.weight() + Limits::REQUEST_OVERHEAD;
        let reservation = sessions.inbound_budget().reserve(owner, bytes).map_err(|_| overload::request())?;
        if let ServerRequest::Subscribe(Subscribe { uri, .. }) = request {
            self.subscriptions.check(uri)?;
            // From here on the service may report changes.
            if !self.subscriptions.contains(uri)
                && !self.subscriptions.expect(number, Topic::Resource, std::slice::from_ref(uri))
            {
                return Err(self.subscriptions.full());
            }
        }
        Ok(reservation)
    }
}

impl RunningCall {
    /// Cancels the call. Keep polling: it may still clean up within its grace, and answer.
    pub fn cancel(&mut self) {
        self.context.cancel();
        // Its line says so.
        self.access = None;
    }

    fn conclude(&mut self, outcome: Outcome) -> Result<ServerResult, ErrorObject> {
        self.call = None;
        self.context.answered();
        // A call without an outcome was dropped after it had been cancelled.
        let outcome = match outcome.unwrap_or_else(|| Err(overload::shutting_down())) {
            Ok(ServerResult::InputRequired(_)) => Err(round_trip::cannot_ask()),
            outcome => outcome,
        };
        let outcome = match (outcome, self.subscribing.take()) {
            (Ok(_), Some(subscribing)) => subscribing.carry_out(self.context.queue()),
            (outcome, _) => outcome,
        };
        if let Some(access) = self.access.take() {
            access.concluded(&outcome);
        }
        outcome
    }
}

impl Future for RunningCall {
    type Output = Result<ServerResult, ErrorObject>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Wakes<'_>) -> Poll<Self::Output> {
        loop {
            // A call that has ended is not polled again.
            let Some(call) = &mut self.call else { return Poll::Pending };
            if let Poll::Ready((_, outcome)) = call.as_mut().poll(cx) {
                return Poll::Ready(self.conclude(outcome));
            }
            match ready!(self.ending.poll(cx)) {
                Due::GiveUp => {
                    let request = self.context.request_id();
                    tracing::warn!(%request, "abandoning a call that ignored cancellation");
                    return Poll::Ready(self.conclude(None));
                }
                Due::Cancel | Due::Nothing | Due::Stalled => self.context.cancel(),
            }
        }
    }
}

impl Drop for RunningCall {
    fn drop(&mut self) {
        let Some(call) = self.call.take() else { return };
        self.context.cancel();
        let slot = self.slot.take();
        // Without a runtime everything has ended.
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn(call.map(move |_| drop(slot)));
        }
    }
}

impl Slot {
    fn take(member: &Arc<Member>) -> Self {
        member.running.fetch_add(1, Ordering::AcqRel);
        Self { member: Arc::clone(member), number: member.next_number() }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.member.running.fetch_sub(1, Ordering::AcqRel);
        self.member.queue.answered(self.number);
    }
}

impl Subscribing {
    /// Keeps the subscription, or forgets it. Changes since its beginning are reported.
    fn carry_out(self, queue: &SessionQueue) -> Result<ServerResult, ErrorObject> {
        match self.change {
            Change::Begin => {
                let missed = self.subscriptions.subscribe(self.number, &self.uri);
                for (topic, uri) in missed.ok_or_else(|| self.subscriptions.full())? {
                    queue.updated_again(topic, uri);
                }
            }
            Change::End => self.subscriptions.unsubscribe(&self.uri),
        }
        Ok(ServerResult::Empty)
    }
}

impl Drop for Subscribing {
    fn drop(&mut self) {
        self.subscriptions.expect_nothing(self.number);
    }
}

impl fmt::Debug for RunningCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunningCall").field("context", &self.context).finish_non_exhaustive()
    }
}
