//! One request of the stateless revision, served without a session: for transports that carry each request on its own.
//!
//! The messages that answer it are polled out of [`Replies`], which drives the call. Nothing is spawned for a request
//! that is answered by one message and was not cancelled.

mod call;
mod ending;
mod listener;
mod request;
mod timer;

use std::fmt;
use std::future::poll_fn;
use std::task::{Context as Wakes, Poll, ready};

use futures_util::FutureExt;
use protomcp_types::{Message, Request, TaskRequest};
use tokio::runtime::Handle;
use tokio_util::task::task_tracker::TaskTrackerToken;

use crate::call::ended::Reserved;
use crate::records::overload;
use crate::records::store_future::StoreFuture;
use crate::serve::Server;
use crate::serve::access_log::Access;
use crate::serve::peer::Peer;
use crate::serve::stateless::call::StatelessCall;
use crate::serve::stateless::listener::Listener;
use crate::serve::stateless::request::StatelessParts;
use crate::serve::stateless_tasks;
use crate::service::Service;
use protomcp_session::{Attempt, Extensions, ServerResult, StatelessMeta, StatelessRequest, TaskAnswer};

/// The messages that answer one request: notifications, then the answer.
///
/// Dropping it cancels the request: a call that runs then gets its grace ([`Limits::cancel_grace`](crate::Limits)) in a
/// task of its own.
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
    Call(StatelessCall),
    Listener(Box<Listener>),
}

impl<S: Service> Server<S> {
    /// Serves one request of MCP 2026-07-28 without a session; `meta` is its `_meta`. Requests of other revisions are
    /// answered with an error. `known` is the knowledge of the transport about the request
    /// ([`Context::extension`](crate::Context::extension)); the caller bounds the bytes of requests. Must be called
    /// inside a tokio runtime with timers.
    ///
    /// At a shutdown a call may end within [`Limits::drain_timeout`](crate::Limits::drain_timeout), as in
    /// [`Server::serve`].
    pub fn answer(&self, request: Request, meta: &StatelessMeta, peer: Peer, known: Extensions) -> Replies {
        let access = self.0.sessions.logs_access();
        let access = access.then(|| Access::begin(&request, &(self.0.targets)(&request), &peer, &known, None));
        let Request { id, method, params } = request;
        let sessions = self.0.sessions.clone();
        let parts = StatelessParts { sessions, sending: self.0.sending.clone(), peer, id };
        let service = &self.0.service;
        let driver = match parts.sessions.stateless().read(method, params, meta) {
            Err(error) => parts.answered(parts.response(Err(error))),
            Ok(StatelessRequest::Discovered(result)) => parts.answered(parts.response(Ok(result))),
            Ok(StatelessRequest::Task(request)) => {
                let mut answer: StoreFuture<'static, Reserved> = Box::pin(parts.answer_task(request));
                match (&mut answer).now_or_never() {
                    Some(answer) => Driver::Answered(Some(Box::new(answer))),
                    None => Driver::Task(answer),
                }
            }
            Ok(StatelessRequest::Listen(..) | StatelessRequest::Call(_)) if parts.sessions.is_shut_down() => {
                parts.answered(parts.answer(Err(overload::shutting_down()), Attempt::First))
            }
            Ok(StatelessRequest::Listen(client, filter)) => {
                match Listener::start(parts, service, client, filter, known) {
                    Ok(listener) => Driver::Listener(Box::new(listener)),
                    Err(answer) => Driver::Answered(Some(Box::new((*answer).into()))),
                }
            }
            Ok(StatelessRequest::Call(call)) => match StatelessCall::start(parts, service, call, known) {
                Ok(call) => Driver::Call(call),
                Err(answer) => Driver::Answered(Some(Box::new((*answer).into()))),
            },
        };
        Replies { driver, access, token: None }
    }
}

impl StatelessParts {
    fn answered(&self, answer: Message) -> Driver {
        Driver::Answered(Some(Box::new(self.with_room(answer, None))))
    }

    /// Carries out a request about a task.
    async fn answer_task(self, request: TaskRequest) -> Reserved {
        let answer = match stateless_tasks::answer(&self.sessions, &self.peer, request).await {
            Ok(Some(task)) => self.response(Ok(self.sessions.stateless().task(&task, TaskAnswer::Queried))),
            Ok(None) => self.answer(Ok(ServerResult::Empty), Attempt::First),
            Err(error) => self.answer(Err(error), Attempt::First),
        };
        self.with_room(answer, None)
    }
}

impl Replies {
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
            Driver::Call(call) => call.poll_next(cx),
            Driver::Listener(listener) => listener.poll_next(cx),
        }
    }
}

impl Drop for Replies {
    fn drop(&mut self) {
        if !matches!(&self.driver, Driver::Call(call) if call.is_open()) {
            return;
        }
        let Driver::Call(mut call) = std::mem::replace(&mut self.driver, Driver::Answered(None)) else { return };
        call.cancel();
        let token = self.token.take();
        // Without a runtime everything has ended.
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn(async move {
                while poll_fn(|cx| call.poll_next(cx)).await.is_some() {}
                drop(token);
            });
        }
    }
}

impl fmt::Debug for Replies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Replies").finish_non_exhaustive()
    }
}
