//! The replies to one call of the stateless revision: its notifications, then its answer, as values.
//!
//! The call is polled here, by the future of its request. It moves into its own task when its request is answered
//! first: when the call is parked, or continues as a task of MCP. On a connection whose calls have tasks it begins in
//! one.
//!
//! A call that asks to continue as a task goes on while the store is asked to keep the task. The answer of the store
//! decides about the request, also when the call has ended until then:
//!
//! ```text
//!             Detach                    kept
//!  attached ─────────▶ pending task ───────────▶ the request is answered with the task
//!     ▲                     │
//!     └─────────────────────┘  no room, no answer in time, cancelled, shut down
//! ```

use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context as Wakes, Poll};

use futures_util::FutureExt;
use protomcp_types::{ErrorObject, Notification};
use tokio::runtime::Handle;
use tokio::sync::mpsc;

use crate::call::call_info::CallInfo;
use crate::call::context::Context;
use crate::call::ended::{Ended, Outcome};
use crate::call::kept_tasks::PendingTask;
use crate::call::mrtr::{ReplyTarget, Returned};
use crate::call::session_queue::{Notice, SessionEvent, SessionQueue, Usage};
use crate::records::cancel::Cancel;
use crate::records::overload;
use crate::serve::call::{self, Running};
use crate::serve::ending::Ending;
use crate::serve::peer::Peer;
use crate::serve::round_trip::{self, RoundTrip};
use crate::serve::shutdown::Due;
use crate::serve::stateless::request::{Carrier, StatelessParts};
use crate::serve::stateless_tasks::{self, NewCall};
use crate::service::Service;
use crate::state::handle::ServerHandle;
use protomcp_fair::Reservation;
use protomcp_session::{
    CallerKey, Extensions, RequestKey, ServerResult, SessionId, StatelessCall, TaskOptions, TaskView,
};

/// A reply of a call to its client.
#[derive(Debug)]
pub(super) enum CallReply {
    /// It comes before the answer.
    Notification(Notification, Reservation),
    /// The answer: the call continues as this task.
    Task(TaskView),
    /// The answer, and the bytes that it has reserved. A call that asks for input continues; every other has ended.
    Answer(Result<ServerResult, ErrorObject>, Option<Reservation>),
}

/// The replies to one call and its request. Polling them drives the call.
pub(super) struct CallReplies {
    sessions: ServerHandle,
    peer: Peer,
    carrier: Carrier,
    queue: Arc<SessionQueue>,
    events: mpsc::UnboundedReceiver<Box<SessionEvent>>,
    context: Context,
    /// `None`: it has ended, or runs in its own task.
    call: Option<Running>,
    /// The outcome, until everything before it is sent.
    ended: Option<Ended>,
    /// The task that the call asks to become, until the store has decided.
    pending: Option<Box<PendingTask<NewCall>>>,
    ending: Ending,
    stage: Stage,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Open,
    /// No answer is sent.
    Cancelled,
    /// The answer has been sent, or the cancelled call has ended.
    Over,
}

impl CallReplies {
    /// Starts a call, or resumes the parked call that the request names.
    pub(super) fn start<S: Service>(
        parts: &StatelessParts,
        service: &Arc<S>,
        call: StatelessCall,
        known: Extensions,
        carrier: Option<Carrier>,
    ) -> Self {
        let (sessions, peer) = (parts.sessions.clone(), parts.peer.clone());
        let ending = Ending::new(&sessions);
        let carrier = carrier.unwrap_or_else(|| Carrier::alone(parts));
        let StatelessCall { request, client, progress_token: token, info, inputs } = call;
        let limits = *sessions.limits();
        let has_logging = parts.stateless.info().capabilities.logging.is_some();
        let (budget, owner) = (sessions.outbound_budget().clone(), peer.owner.clone());
        let (queue, events) = SessionQueue::new(&limits, has_logging, None, budget, owner);
        let key = RequestKey { number: 0, id: parts.id.clone() };
        let info = Arc::new(CallInfo { token, stateless: Some(info), ..CallInfo::new(key, client, known) });
        let round = inputs.map(|inputs| {
            let target = ReplyTarget { queue: Arc::clone(&queue), info: Arc::clone(&info) };
            let round = round_trip::begin_or_resume(&sessions, peer.principal.clone(), inputs, target);
            round.unwrap_or_else(RoundTrip::refused)
        });
        let (context, call) = match round {
            Some(RoundTrip::Retry(context, returned)) => {
                match returned {
                    Returned::Running => {}
                    Returned::Asking => queue.park(),
                    Returned::Ended(ended) => queue.done(info.key.clone(), *ended),
                }
                (context, None)
            }
            round => {
                let caller = info.known.find::<CallerKey>().cloned();
                let caller = caller.unwrap_or_else(|| peer.without_session(carrier.session));
                let target = ReplyTarget { queue: Arc::clone(&queue), info };
                let (rounds, refusal) = match round {
                    Some(RoundTrip::First(rounds)) => (Some(rounds), None),
                    Some(RoundTrip::Refused(refusal)) => (None, Some(refusal)),
                    Some(RoundTrip::Retry(..)) | None => (None, None),
                };
                let context = Context::new(caller, carrier.session, target, rounds);
                let call: Running = match refusal {
                    Some(refusal) => Box::pin(round_trip::refuse(context.clone(), refusal)),
                    None => Box::pin(call::run(Arc::clone(service), request, context.clone(), limits.cancel_grace)),
                };
                (context, Some(call))
            }
        };
        let (ended, pending, stage) = (None, None, Stage::Open);
        let mut running = Self { sessions, peer, carrier, queue, events, context, call, ended, pending, ending, stage };
        if running.carrier.spawns {
            running.spawn();
        }
        running
    }

    /// Stands for the request where others have their session.
    pub(super) fn session(&self) -> SessionId {
        self.carrier.session
    }

    /// True until the answer was sent.
    pub(super) fn is_open(&self) -> bool {
        self.stage == Stage::Open
    }

    /// The client does not wait for the answer. Keep polling: the call may still end within its grace.
    pub(super) fn cancel(&mut self) {
        self.stage = Stage::Cancelled;
        self.context.cancel();
    }

    /// Cancels the call, which has its grace in its own task. `kept` lasts until it has ended.
    pub(super) fn abandon(mut self, kept: impl Send + 'static) {
        self.cancel();
        // Without a runtime everything has ended.
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn(async move {
                while poll_fn(|cx| self.poll_next(cx)).await.is_some() {}
                drop(kept);
            });
        }
    }

    /// Cancels the call. The answer that it then gives is sent.
    pub(super) fn interrupt(&self) {
        self.context.cancel();
    }

    /// The next reply; `None` after the answer.
    pub(super) fn poll_next(&mut self, cx: &mut Wakes<'_>) -> Poll<Option<CallReply>> {
        while self.stage != Stage::Over {
            if let Poll::Ready(Some(event)) = self.events.poll_recv(cx) {
                if let Some(reply) = self.event(*event) {
                    return Poll::Ready(Some(reply));
                }
            } else if let Some(ended) = self.ended.take() {
                return Poll::Ready(self.done(ended));
            } else if let Poll::Ready(task) = self.poll_pending(cx) {
                if let Some(reply) = self.detach(task) {
                    return Poll::Ready(Some(reply));
                }
            } else if let Some((context, outcome)) = self.poll_call(cx) {
                // Its notifications precede its answer.
                self.ended = context.finish_first(outcome);
            } else {
                match self.ending.poll(cx) {
                    Poll::Pending => return Poll::Pending,
                    Poll::Ready(Due::GiveUp) => {
                        let request = self.context.request_id();
                        tracing::warn!(%request, "abandoning a call that ignored cancellation");
                        return Poll::Ready(self.reply(Err(overload::shutting_down()), None));
                    }
                    Poll::Ready(Due::Cancel | Due::Nothing | Due::Stalled) => self.context.cancel(),
                }
            }
        }
        Poll::Ready(None)
    }

    fn poll_call(&mut self, cx: &mut Wakes<'_>) -> Option<(Context, Outcome)> {
        match self.call.as_mut()?.as_mut().poll(cx) {
            Poll::Pending => None,
            Poll::Ready(ended) => {
                self.call = None;
                Some(ended)
            }
        }
    }

    fn event(&mut self, event: SessionEvent) -> Option<CallReply> {
        match event {
            SessionEvent::Done(_, ended) => {
                self.ended = Some(ended);
                None
            }
            SessionEvent::CallNotification(_, notice) => self.notice(notice),
            SessionEvent::Park => self.park(),
            SessionEvent::Detach(options) => self.reserve(options),
            SessionEvent::Log(_, _, Notice { notification, .. })
            | SessionEvent::Notice(Notice { notification, .. }) => {
                self.queue.release(Usage::of(&notification));
                None
            }
            // These belong to sessions, to members, and to requests that listen.
            SessionEvent::Answered(_)
            | SessionEvent::CloseStream(_)
            | SessionEvent::ListChanged { .. }
            | SessionEvent::ClientRequest(_)
            | SessionEvent::Withdraw(_)
            | SessionEvent::Undeliverable(_)
            | SessionEvent::Updated(..)
            | SessionEvent::TaskFound(..)
            | SessionEvent::Listening(..) => None,
        }
    }

    fn notice(&mut self, notice: Notice) -> Option<CallReply> {
        let Notice { notification, reservation } = notice;
        self.queue.release(Usage::of(&notification));
        let dropped = self.queue.take_dropped();
        if dropped > 0 {
            tracing::warn!(dropped, "a call reports faster than it is read: notifications were dropped");
        }
        self.is_open().then_some(CallReply::Notification(notification, reservation))
    }

    /// The call has asked its client: its request is answered with the questions, and the call is parked.
    fn park(&mut self) -> Option<CallReply> {
        if !self.is_open() {
            return None;
        }
        let required = round_trip::park(&self.sessions, &self.context)?;
        self.leave();
        Some(CallReply::Answer(Ok(ServerResult::InputRequired(required)), None))
    }

    /// The call asks to continue as a task. One for which there is no room stays with its request.
    fn reserve(&mut self, options: TaskOptions) -> Option<CallReply> {
        let pending = if self.is_open() {
            stateless_tasks::reserve(&self.sessions, &self.peer, &self.context, options)
        } else {
            None
        };
        let Some(mut pending) = pending else { return self.detach(None) };
        // A store in memory has answered.
        match (&mut pending).now_or_never() {
            Some(task) => self.detach(stateless_tasks::kept(task)),
            None => {
                self.pending = Some(Box::new(pending));
                None
            }
        }
    }

    /// The decision about the task that the call asks to become; `Ready(None)`: it becomes none.
    fn poll_pending(&mut self, cx: &mut Wakes<'_>) -> Poll<Option<NewCall>> {
        let Some(pending) = &mut self.pending else { return Poll::Pending };
        if self.stage != Stage::Open || self.sessions.is_shut_down() {
            return Poll::Ready(None);
        }
        pending.poll_unpin(cx).map(stateless_tasks::kept)
    }

    /// Answers the request with the task. Without one the call stays with its request.
    fn detach(&mut self, task: Option<NewCall>) -> Option<CallReply> {
        self.pending = None;
        let task = task.and_then(|task| stateless_tasks::detach(&self.sessions, &self.context, task));
        if let Some(task) = task {
            self.leave();
            return Some(CallReply::Task(task));
        }
        match self.context.mrtr().and_then(|mrtr| mrtr.stay(&self.queue)) {
            Some(ended) => {
                self.ended = Some(ended);
                None
            }
            // It may have asked its client in between.
            None => self.park(),
        }
    }

    /// Ends the request, and not the call.
    fn leave(&mut self) {
        self.stage = Stage::Over;
        self.spawn();
    }

    /// From here on the call runs in its own task.
    fn spawn(&mut self) {
        if let Some(call) = self.call.take() {
            tokio::spawn(call.map(|(context, outcome)| context.finish(outcome)));
        }
    }

    fn done(&mut self, ended: Ended) -> Option<CallReply> {
        let Ended { outcome, reservation } = ended;
        // A call without an outcome was dropped after it had been cancelled.
        let outcome = match outcome.unwrap_or_else(|| Err(overload::shutting_down())) {
            Ok(ServerResult::InputRequired(required)) => {
                round_trip::sign_state(&self.sessions, &self.context, required)
            }
            outcome => outcome,
        };
        self.reply(outcome, reservation)
    }

    fn reply(
        &mut self,
        outcome: Result<ServerResult, ErrorObject>,
        reservation: Option<Reservation>,
    ) -> Option<CallReply> {
        let was_open = self.is_open();
        self.stage = Stage::Over;
        self.pending = None;
        was_open.then_some(CallReply::Answer(outcome, reservation))
    }
}
