//! Requests of a call to its client, in every revision.
//!
//! With a session a question is a request to the client. Without one there are no such requests: the call is parked,
//! its request is answered with the questions, and the call continues when the client sends the request again with the
//! answers, over any connection (MCP 2026-07-28, basic/patterns/mrtr). Handlers see one await in both cases.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, ready};
use protomcp_types::{ClientMethod, ErrorObject, RawJson, RequiredCapability, TaskRequest};

use crate::call::ask::Ask;
use crate::call::client_request::ProgressCallback;
use crate::call::context::Context;
use crate::call::mrtr::MultiRoundTrip;
use crate::call::outlet::Answers;
use protomcp_session::{AskError, InputRequest, InputRequests, InputRequired, InputResponses, TaskOptions};

impl Context {
    /// Asks the client of this call, and no other; see [`Ask`].
    ///
    /// ```
    /// use protomcp_server::{AskError, Context};
    /// use protomcp_types::{ListRoots, Root};
    ///
    /// async fn roots(context: &Context) -> Result<Vec<Root>, AskError> {
    ///     match context.ask::<ListRoots>(&ListRoots::default()).await {
    ///         Ok(result) => Ok(result.roots),
    ///         Err(AskError::NotSupported(_)) => Ok(Vec::new()),
    ///         Err(error) => Err(error),
    ///     }
    /// }
    /// ```
    ///
    /// # Panics
    /// When the parameters do not serialize as an object.
    pub fn ask<M: ClientMethod>(&self, params: &M::Params) -> Ask<M> {
        Ask::in_call(self, params, self.0.queue.ask_timeout())
    }

    /// Sends a question that the client supports.
    pub(crate) fn send(
        &self,
        input: InputRequest,
        timeout: Duration,
        progress: Option<ProgressCallback>,
    ) -> BoxFuture<'static, Result<RawJson, AskError>> {
        let answers = Arc::clone(&self.0.outlet).ask_client(&self.0.info, vec![input], timeout, progress);
        let answers = unless_cancelled(self.clone(), answers);
        async move { answers.await?.pop().ok_or(AskError::Gone) }.boxed()
    }

    /// Asks several questions together, within [`Limits::ask_timeout`](crate::Limits::ask_timeout). The client of a
    /// stateless request is asked all of them in one answer.
    ///
    /// # Errors
    /// See [`Ask`], when one question fails.
    pub fn ask_all(
        &self,
        questions: InputRequests,
    ) -> impl Future<Output = Result<InputResponses, AskError>> + Send + use<> {
        let keys: Vec<_> = questions.keys().map(str::to_owned).collect();
        let timeout = self.0.queue.ask_timeout();
        let questions = questions.into_asked();
        let lacks = |asked: &&InputRequest| asked.need().is_some_and(|need| !self.can_ask(need));
        let unsupported = questions.iter().find(lacks).filter(|_| !self.is_checked_later());
        let answers: Answers = match unsupported {
            Some(unsupported) => ready(Err(AskError::NotSupported(unsupported.method))).boxed(),
            None => Arc::clone(&self.0.outlet).ask_client(&self.0.info, questions, timeout, None),
        };
        let answers = unless_cancelled(self.clone(), answers);
        async move {
            let answers: Vec<RawJson> = answers.await?;
            Ok(InputResponses::of(keys.into_iter().zip(answers).collect::<BTreeMap<_, _>>()))
        }
    }

    /// Holds the questions of this call back until the guard is dropped, so that the client of a stateless request is
    /// asked all of them in one answer. Unlike the questions of [`Context::ask_all`] they have an answer and an error
    /// each. The client of a session is asked immediately.
    ///
    /// ```
    /// use std::future::IntoFuture;
    ///
    /// use protomcp_server::{AskError, Context};
    /// use protomcp_types::{Elicit, ListRoots, RawJson};
    ///
    /// async fn look(context: &Context) -> Result<usize, AskError> {
    ///     let held = context.hold_questions();
    ///     let name = context.ask::<Elicit>(&Elicit::form("Who are you?", RawJson::EMPTY_OBJECT)).into_future();
    ///     let roots = context.ask::<ListRoots>(&ListRoots::default()).into_future();
    ///     drop(held);
    ///     name.await?;
    ///     Ok(roots.await.map_or(0, |result| result.roots.len()))
    /// }
    /// ```
    pub fn hold_questions(&self) -> HeldQuestions {
        let mrtr = self.mrtr().cloned();
        mrtr.iter().for_each(|mrtr| mrtr.hold());
        HeldQuestions(mrtr)
    }

    /// Requires input before the handler can answer: return the error, and a stateless request is answered with the
    /// questions and the state. After the retry of the client the handler is called again, in this process or in
    /// another one with the same [`RequestStateKeys`](crate::RequestStateKeys), and finds [`Context::state`] and
    /// [`Context::answers`].
    ///
    /// For servers of several processes; within one, [`Context::ask`] is simpler. With a session the questions are
    /// sent immediately, and the handler is called again in this process, at most 32 times. Requests other than
    /// calls of tools, prompts and reads of resources cannot be answered like this and fail with the error.
    ///
    /// ```
    /// use protomcp_server::{Context, InputRequired, InputRequests};
    /// use protomcp_types::{CallTool, CallToolResult, Elicit, ErrorObject, RawJson};
    ///
    /// async fn greet(_: CallTool, context: Context) -> Result<CallToolResult, ErrorObject> {
    ///     match context.answers().to::<Elicit>("name") {
    ///         Ok(answer) => Ok(CallToolResult::text(format!("Hello, {:?}!", answer.content))),
    ///         Err(_) => {
    ///             let schema = RawJson::parse(r#"{"type":"object","properties":{}}"#).expect("it is JSON");
    ///             let questions = InputRequests::new().with::<Elicit>("name", &Elicit::form("Who are you?", schema));
    ///             Err(context.input_required(InputRequired { questions, state: Some("asked".into()) }))
    ///         }
    ///     }
    /// }
    /// ```
    pub fn input_required(&self, required: InputRequired) -> ErrorObject {
        match self.mrtr() {
            Some(mrtr) => {
                mrtr.require(required);
                ErrorObject::internal("the client is asked first")
            }
            None if !self.is_stateless() => {
                *self.0.required.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(required));
                ErrorObject::internal("this request cannot be answered with questions")
            }
            None => ErrorObject::internal("this request cannot be answered with questions"),
        }
    }

    /// The state of [`Context::input_required`] that the client has returned; `None` for a first request.
    #[must_use]
    pub fn state(&self) -> Option<&str> {
        match &self.0.given {
            Some(given) => given.state.as_deref(),
            None => self.mrtr().and_then(|mrtr| mrtr.state()),
        }
    }

    /// The answers in a stateless request that no question of this call has used; with a session, the answers to
    /// [`Context::input_required`].
    #[must_use]
    pub fn answers(&self) -> InputResponses {
        match &self.0.given {
            Some(given) => given.answers.clone(),
            None => self.mrtr().map(|mrtr| mrtr.given()).unwrap_or_default(),
        }
    }

    /// True if the call is a task or can become one, by [`Context::continue_as_task`].
    #[must_use]
    pub fn can_be_task(&self) -> bool {
        self.0.outlet.can_be_task()
    }

    /// True if the call is a task, of its session or without one.
    #[must_use]
    pub fn is_task(&self) -> bool {
        self.0.outlet.is_task()
    }

    /// Continues a stateless call of a tool as a task, if client and server know the extension for it
    /// ([`ServerCapabilities::with_task_extension`](protomcp_types::ServerCapabilities::with_task_extension)): the
    /// request is answered with the task immediately, and the later result of the handler is the task's result.
    /// Questions are asked and answered through the task; log messages are dropped, and of progress only the message is
    /// kept, as the status message of the task. A call that is a task already stays one, with its options, and one whose
    /// client has been asked becomes a task when the client returns with the answer.
    ///
    /// `false`: the client waits for the result. A tool that takes too long for that refuses with
    /// [`Context::task_required_error`].
    pub fn continue_as_task(&self, options: TaskOptions) -> bool {
        self.0.outlet.continue_as_task(options);
        self.can_be_task()
    }

    /// The refusal of a tool that has to be a task, when the call cannot be one ([`Context::can_be_task`]).
    #[must_use]
    pub fn task_required_error(&self, tool: &str) -> ErrorObject {
        if self.is_stateless() {
            ErrorObject::missing_capability(&TaskRequest::required())
        } else {
            // MCP 2025-11-25, basic/utilities/tasks: a client that calls it otherwise has not found it.
            ErrorObject::method_not_found(&format!("tools/call of {tool:?} other than as a task"))
        }
    }

    /// True if the client declares what a question needs.
    #[must_use]
    pub fn can_ask(&self, need: RequiredCapability) -> bool {
        need.is_met_by(&self.0.info.client.capabilities)
    }

    /// True if a question is checked against the capabilities of the client where it is sent: a stateless call remembers
    /// the one that its client lacks, and so does the process that serves a client elsewhere.
    pub(crate) fn is_checked_later(&self) -> bool {
        self.is_stateless() || self.is_remote()
    }
}

/// The future of an answer is boxed: it is large and rarely needed, and would otherwise be part of every handler that
/// may ask.
async fn unless_cancelled<T>(context: Context, answer: BoxFuture<'static, Result<T, AskError>>) -> Result<T, AskError> {
    tokio::select! {
        biased;
        () = context.cancelled() => Err(AskError::Gone),
        answer = answer => answer,
    }
}

/// Holds questions back, so that they are asked together; see [`Context::hold_questions`].
#[derive(Debug)]
#[must_use = "the questions are sent when it is dropped"]
pub struct HeldQuestions(Option<Arc<MultiRoundTrip>>);

impl Drop for HeldQuestions {
    fn drop(&mut self) {
        self.0.iter().for_each(|mrtr| mrtr.release());
    }
}
