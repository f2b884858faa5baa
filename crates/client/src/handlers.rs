//! The functions that a program gives its client: answers for servers, and reactions to their notifications.

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use protomcp_session::ServerQuestion;
use protomcp_types::{
    CreateMessage, CreateMessageResult, Elicit, ElicitResult, ErrorObject, Level, Notification, RawJson,
};

use crate::session::ServerContext;

/// A function of a program, whatever its type. Cloning is cheap.
pub(crate) struct Handler<T, R>(Arc<dyn Fn(T, ServerContext) -> BoxFuture<'static, R> + Send + Sync>);

/// The answer to a request of a server; an error refuses it.
pub(crate) type Answer<T> = Result<T, ErrorObject>;

/// Answers requests of servers unread.
pub(crate) type QuestionHandler = Handler<ServerQuestion, Answer<RawJson>>;

/// A function that sees notifications on the task of the connection.
#[derive(Clone)]
pub(crate) struct Observe(Arc<ObserveFn>);

type ObserveFn = dyn Fn(&Notification, &ServerContext) + Send + Sync;

/// A function that sees the methods of requests without an answer on the task of the connection.
#[derive(Clone)]
pub(crate) struct ObserveRefused(Arc<dyn Fn(&str) + Send + Sync>);

/// All functions of one client.
#[derive(Debug, Clone, Default)]
pub(crate) struct Handlers {
    pub(crate) elicit: Option<Handler<Elicit, Answer<ElicitResult>>>,
    /// The user can be sent to web pages.
    pub(crate) opens_urls: bool,
    pub(crate) sample: Option<Handler<CreateMessage, Answer<CreateMessageResult>>>,
    /// The model can use tools.
    pub(crate) samples_with_tools: bool,
    pub(crate) question: Option<QuestionHandler>,
    pub(crate) observe: Option<Observe>,
    pub(crate) refused: Option<ObserveRefused>,
    pub(crate) log: Option<Handler<LogMessage, ()>>,
    pub(crate) list_changed: Option<Handler<ListChanged, ()>>,
    pub(crate) resource_updated: Option<Handler<String, ()>>,
    pub(crate) notification: Option<Handler<Notification, ()>>,
}

/// A log message of a server (MCP 2025-11-25, server/utilities/logging).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogMessage {
    /// The severity.
    pub level: Level,
    /// The part of the server that has written it.
    pub logger: Option<String>,
    /// Any value; often a string, or an object with a message.
    pub data: RawJson,
}

/// The list of a server that has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ListChanged {
    /// The tools.
    Tools,
    /// The prompts.
    Prompts,
    /// The resources, or the templates of resources.
    Resources,
}

impl<T, R> Handler<T, R> {
    pub(crate) fn new<F>(function: impl Fn(T, ServerContext) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = R> + Send + 'static,
    {
        Self(Arc::new(move |argument, context| function(argument, context).boxed()))
    }

    pub(crate) fn call(&self, argument: T, context: ServerContext) -> BoxFuture<'static, R> {
        (self.0)(argument, context)
    }
}

impl<T, R> Clone for Handler<T, R> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T, R> fmt::Debug for Handler<T, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handler").finish_non_exhaustive()
    }
}

impl Observe {
    pub(crate) fn new(function: impl Fn(&Notification, &ServerContext) + Send + Sync + 'static) -> Self {
        Self(Arc::new(function))
    }

    /// Calls the function. A panic stays inside.
    pub(crate) fn call(&self, notification: &Notification, context: &ServerContext) {
        let call = std::panic::AssertUnwindSafe(|| (self.0)(notification, context));
        if std::panic::catch_unwind(call).is_err() {
            tracing::error!("an observer of notifications panicked");
        }
    }
}

impl fmt::Debug for Observe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Observe").finish_non_exhaustive()
    }
}

impl ObserveRefused {
    pub(crate) fn new(function: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self(Arc::new(function))
    }

    /// Calls the function. A panic stays inside.
    pub(crate) fn call(&self, method: &str) {
        if std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| (self.0)(method))).is_err() {
            tracing::error!("an observer of refused requests panicked");
        }
    }
}

impl fmt::Debug for ObserveRefused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ObserveRefused").finish_non_exhaustive()
    }
}

impl LogMessage {
    pub(crate) fn read(notification: &Notification) -> Option<Self> {
        let params = &notification.params;
        Some(Self {
            level: Level::parse(&params.member("level")?.to::<String>().ok()?)?,
            logger: params.member("logger").and_then(|raw| raw.to().ok()),
            data: params.member("data")?.clone(),
        })
    }
}
