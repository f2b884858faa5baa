//! Messages of sessions' handles to the task of the connection.

use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use protomcp_session::{CallId, CloseReason, OutgoingCall, RequestError, RequestKey, ServerQuestion, TaskNotice};
use protomcp_types::{ErrorObject, JsonBuf, Level, Params, Progress, RawJson};
use tokio::sync::{OwnedSemaphorePermit, oneshot};
use tokio::time::Instant;

/// A message to the task of a connection.
#[derive(Debug)]
pub(crate) enum Command {
    Call(Box<NewCall>),
    Cancel(CallId),
    /// A handler has answered a request of the server.
    Reply(RequestKey, Result<JsonBuf, ErrorObject>),
    /// Handlers have answered a round of questions.
    Inputs(CallId, Inputs),
    /// Keep or end the subscription to a resource without a session.
    Watch {
        uri: String,
        is_wanted: bool,
        done: oneshot::Sender<Watched>,
    },
    /// A caller of [`Command::Watch`] is gone.
    Unwatched,
    /// A subscription with a session is about to be requested.
    Subscribing(String),
    /// The request has ended. A subscription is renewed in a new session.
    Subscribed(String, Subscribed),
    /// A subscription with a session has ended.
    Unsubscribed(String),
    /// The level of the log messages that are wanted, also in a new session.
    LogLevel(Level),
    /// A notification for the server; sent only with a session.
    Notify(&'static str, Params),
    /// Close the connection, and stop waiting for the server's end of it at this time.
    Close(Instant),
}

/// The outcome of [`Command::Watch`]: true if the resource was not watched before.
pub(crate) type Watched = Result<bool, RequestError>;

/// The outcome of a request for a subscription.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Subscribed {
    Done,
    Refused,
    /// The caller is gone or the answer is lost: the server may have made the subscription.
    Unknown,
}

/// A request with the receivers of its consequences.
#[derive(Debug)]
pub(crate) struct NewCall {
    pub(crate) id: CallId,
    pub(crate) request: OutgoingCall,
    pub(crate) caller: Caller,
}

/// The receivers of the consequences of a call.
#[derive(Debug)]
pub(crate) struct Caller {
    pub(crate) answer: oneshot::Sender<CallOutcome>,
    pub(crate) progress: Option<Callback<Progress>>,
    pub(crate) task: Option<Callback<TaskNotice>>,
    /// Answers the questions of the call, instead of the handlers of the client.
    pub(crate) input: Option<InputHandler>,
    /// The permit of the call among those without an answer.
    pub(crate) permit: Option<OwnedSemaphorePermit>,
}

impl Caller {
    /// Passes the end of the call on.
    pub(crate) fn end(mut self, outcome: CallOutcome) {
        // The permit is free before the caller can use it again.
        drop(self.permit.take());
        // A caller that has gone needs no answer.
        drop(self.answer.send(outcome));
    }
}

/// The end of a call.
#[derive(Debug)]
pub(crate) struct CallOutcome {
    pub(crate) outcome: Result<JsonBuf, RequestError>,
    /// The rounds of questions before it.
    pub(crate) rounds: u32,
}

/// Answers the rounds of questions of one call.
#[derive(Clone)]
pub(crate) struct InputHandler(Arc<InputFn>);

type InputFn = dyn Fn(Vec<ServerQuestion>) -> BoxFuture<'static, Inputs> + Send + Sync;

/// The answers to a round of questions by key; an error refuses all of them.
pub(crate) type Inputs = Result<BTreeMap<String, RawJson>, ErrorObject>;

impl InputHandler {
    pub(crate) fn new<F>(function: impl Fn(Vec<ServerQuestion>) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Inputs> + Send + 'static,
    {
        Self(Arc::new(move |questions| function(questions).boxed()))
    }

    pub(crate) fn call(&self, questions: Vec<ServerQuestion>) -> BoxFuture<'static, Inputs> {
        (self.0)(questions)
    }
}

impl fmt::Debug for InputHandler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InputHandler").finish_non_exhaustive()
    }
}

/// A function that is called on the task of the connection.
pub(crate) struct Callback<T>(Arc<dyn Fn(T) + Send + Sync>);

impl<T> Callback<T> {
    pub(crate) fn new(function: impl Fn(T) + Send + Sync + 'static) -> Self {
        Self(Arc::new(function))
    }

    /// Calls the function. A panic stays inside.
    pub(crate) fn call(&self, argument: T) {
        let call = std::panic::AssertUnwindSafe(|| (self.0)(argument));
        if std::panic::catch_unwind(call).is_err() {
            tracing::error!("a progress callback panicked");
        }
    }
}

impl<T> Clone for Callback<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> fmt::Debug for Callback<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Callback").finish_non_exhaustive()
    }
}

/// The state of a connection for everyone with a handle.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Status {
    Opening,
    Open,
    /// The last messages are written.
    Closing(CloseReason),
    Closed(CloseReason),
}
