//! One request of the stateless revision, served without a session.
//!
//! The messages that answer it are polled out of [`Replies`], which drives the call and writes its replies. Nothing is
//! spawned for a request that came alone, is answered by one message and was not cancelled. A connection that carries
//! many requests, and a session in addition to them, polls the replies to each ([`Carrier`]).

mod call;
mod listener;
pub(super) mod request;
pub(crate) mod single;

use std::fmt;
use std::sync::Arc;
use std::task::{Context as Wakes, Poll, ready};

use futures_util::FutureExt;
use protomcp_types::{Message, Request, TaskRequest};
use tokio_util::task::task_tracker::TaskTrackerToken;

use crate::call::ended::Reserved;
use crate::records::overload;
use crate::records::store_future::StoreFuture;
use crate::serve::access_log::Access;
use crate::serve::parts::Parts;
use crate::serve::peer::Peer;
use crate::serve::stateless::call::{CallReplies, CallReply};
use crate::serve::stateless::listener::Listener;
use crate::serve::stateless::request::{Carrier, StatelessParts};
use crate::serve::stateless_tasks;
use crate::service::Service;
use protomcp_session::{Attempt, Extensions, ServerResult, SessionId, StatelessMeta, StatelessRequest, TaskAnswer};

/// The messages that answer one request: notifications, then the answer.
///
/// Dropping it cancels the request: a call that runs then gets its grace ([`Limits::cancel_grace`](crate::Limits)) in
/// its own task.
pub struct Replies {
    driver: Driver,
    /// The line of the access log, until the answer.
    access: Option<Access>,
    /// Counts the request until it has ended.
    token: Option<TaskTrackerToken>,
}

#[expect(clippy::large_enum_variant, reason = "most requests are calls")]
enum Driver {
    /// The answer is there, or everything was sent.
    Answered(Option<Box<Reserved>>),
    /// The store is asked for the task.
    Task(StoreFuture<'static, Reserved>),
    Call {
        call: CallReplies,
        parts: StatelessParts,
        attempt: Attempt,
    },
    Listener(Box<Listener>),
}

impl Driver {
    /// Begins to answer a request. `carrier`: the connection, if it carries other requests, too.
    fn begin<S: Service>(
        parts: StatelessParts,
        service: &Arc<S>,
        request: StatelessRequest,
        known: Extensions,
        carrier: Option<Carrier>,
    ) -> Self {
        match request {
            StatelessRequest::Discovered(result) => parts.answered(parts.response(Ok(result))),
            StatelessRequest::Task(request) => {
                let mut answer: StoreFuture<'static, Reserved> = Box::pin(parts.answer_task(request));
                match (&mut answer).now_or_never() {
                    Some(answer) => Self::Answered(Some(Box::new(answer))),
                    None => Self::Task(answer),
                }
            }
            // A connection knows itself until when it accepts requests.
            StatelessRequest::Listen(..) | StatelessRequest::Call(_)
                if carrier.is_none() && parts.sessions.is_shut_down() =>
            {
                parts.answered(parts.answer(Err(overload::shutting_down()), Attempt::First))
            }
            StatelessRequest::Listen(client, filter) => match Listener::start(parts, service, client, filter, known) {
                Ok(listener) => Self::Listener(Box::new(listener)),
                Err(answer) => Self::Answered(Some(Box::new((*answer).into()))),
            },
            StatelessRequest::Call(call) => {
                let attempt = call.attempt();
                Self::Call { call: CallReplies::start(&parts, service, call, known, carrier), parts, attempt }
            }
        }
    }
}

impl StatelessParts {
    fn answered(&self, answer: Message) -> Driver {
        Driver::Answered(Some(Box::new(self.with_reservation(answer, None))))
    }

    /// Writes a reply of a call. `None`: a layer withholds it.
    fn encode(&self, reply: CallReply, session: SessionId, attempt: Attempt) -> Option<Reserved> {
        match reply {
            CallReply::Notification(notification, reservation) => {
                self.notification(session, notification, Some(reservation))
            }
            CallReply::Task(task) => {
                let result = self.stateless.task(&task, TaskAnswer::Created);
                Some(self.with_reservation(self.response(Ok(result)), None))
            }
            CallReply::Answer(outcome, reservation) => {
                Some(self.with_reservation(self.answer(outcome, attempt), reservation))
            }
        }
    }

    /// Carries out a request about a task.
    async fn answer_task(self, request: TaskRequest) -> Reserved {
        let answer = match stateless_tasks::answer(&self.sessions, &self.peer, request).await {
            Ok(Some(task)) => self.response(Ok(self.stateless.task(&task, TaskAnswer::Queried))),
            Ok(None) => self.answer(Ok(ServerResult::Empty), Attempt::First),
            Err(error) => self.answer(Err(error), Attempt::First),
        };
        self.with_reservation(answer, None)
    }
}

impl Replies {
    /// Begins to answer a request that came alone; see [`Server::answer`](crate::Server::answer).
    pub(super) fn alone<S: Service>(
        server: &Parts<S>,
        request: Request,
        meta: &StatelessMeta,
        peer: Peer,
        known: Extensions,
    ) -> Self {
        let access = server.sessions.logs_access();
        let access = access.then(|| Access::begin(&request, &(server.targets)(&request), &peer, &known, None));
        let Request { id, method, params } = request;
        let (sessions, stateless) = (server.sessions.clone(), server.sessions.stateless());
        let parts = StatelessParts { sessions, stateless, sending: server.sending.clone(), peer, id };
        let driver = match parts.stateless.read(method, params, meta) {
            Ok(request) => Driver::begin(parts, &server.service, request, known, None),
            Err(error) => parts.answered(parts.response(Err(error))),
        };
        Self { driver, access, token: None }
    }

    /// Begins to answer a request of a connection that carries others, too.
    pub(super) fn carried<S: Service>(
        parts: StatelessParts,
        service: &Arc<S>,
        request: StatelessRequest,
        known: Extensions,
        carrier: Carrier,
    ) -> Self {
        Self { driver: Driver::begin(parts, service, request, known, Some(carrier)), access: None, token: None }
    }

    /// The client does not wait for the answer. Keep polling: a call may still end within its grace.
    pub(super) fn cancel(&mut self) {
        if let Driver::Call { call, .. } = &mut self.driver {
            call.cancel();
        }
    }

    /// Cancels the call at the end of its connection. The answer that it then gives is still one of the replies.
    pub(super) fn interrupt(&self) {
        if let Driver::Call { call, .. } = &self.driver {
            call.interrupt();
        }
    }

    /// Counts the request until it has ended, the grace of a cancelled call included.
    #[must_use]
    pub fn tracked(mut self, token: TaskTrackerToken) -> Self {
        self.token = Some(token);
        self
    }

    /// The next message for the client; `None` after the answer.
    pub fn poll_next(&mut self, cx: &mut Wakes<'_>) -> Poll<Option<Reserved>> {
        let next = ready!(self.poll_driver(cx));
        if self.access.is_some()
            && let Some(Reserved { message: Message::Response(answer), .. }) = &next
            && let Some(access) = self.access.take()
        {
            access.answered(&answer.outcome);
        }
        Poll::Ready(next)
    }

    fn poll_driver(&mut self, cx: &mut Wakes<'_>) -> Poll<Option<Reserved>> {
        match &mut self.driver {
            Driver::Answered(answer) => Poll::Ready(answer.take().map(|answer| *answer)),
            Driver::Task(answer) => {
                let answer = ready!(answer.as_mut().poll(cx));
                self.driver = Driver::Answered(None);
                Poll::Ready(Some(answer))
            }
            Driver::Call { call, parts, attempt } => loop {
                let Some(reply) = ready!(call.poll_next(cx)) else { return Poll::Ready(None) };
                if let Some(message) = parts.encode(reply, call.session(), *attempt) {
                    return Poll::Ready(Some(message));
                }
            },
            Driver::Listener(listener) => listener.poll_next(cx),
        }
    }
}

impl Drop for Replies {
    fn drop(&mut self) {
        if !matches!(&self.driver, Driver::Call { call, .. } if call.is_open()) {
            return;
        }
        if let Driver::Call { call, .. } = std::mem::replace(&mut self.driver, Driver::Answered(None)) {
            call.abandon(self.token.take());
        }
    }
}

impl fmt::Debug for Replies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Replies").finish_non_exhaustive()
    }
}
