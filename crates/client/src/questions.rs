//! Requests of servers, answered by the handlers of the client. Handlers run in their own tasks: a bounded number
//! concurrently, each with a deadline, and a panic is an error of its request.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::join_all;
use protomcp_session::{CallId, RequestKey, ServerQuestion};
use protomcp_types::{
    CreateMessage, CreateMessageResult, Elicit, ElicitResult, ErrorObject, JsonBuf, ListRoots, ListRootsResult, Method,
    RawJson,
};
use serde::Serialize;
use tokio::sync::{Semaphore, mpsc};
use tokio::task::AbortHandle;

use crate::command::{Command, InputHandler};
use crate::defaults;
use crate::registry::Registry;
use crate::session::ServerContext;
use crate::settings::Settings;

/// Answers the requests of one server.
#[derive(Debug, Clone)]
pub(crate) struct Answerer {
    pub(crate) settings: Arc<Settings>,
    pub(crate) registry: Arc<Registry>,
    pub(crate) context: ServerContext,
    /// Where the answers go. It does not keep the connection open.
    pub(crate) commands: mpsc::WeakUnboundedSender<Command>,
    /// Permits for handlers.
    pub(crate) permits: Arc<Semaphore>,
}

impl Answerer {
    /// Answers a request of a session.
    pub(crate) fn answer(&self, key: RequestKey, question: ServerQuestion) -> AbortHandle {
        let this = self.clone();
        let task = tokio::spawn(async move {
            let outcome = this.run(question).await.map(JsonBuf::from);
            this.tell(Command::Reply(key, outcome));
        });
        task.abort_handle()
    }

    /// Answers a round of questions, with the handler of the call if it has one. The first refusal refuses all of them.
    pub(crate) fn answer_all(
        &self,
        call: CallId,
        questions: Vec<ServerQuestion>,
        handler: Option<InputHandler>,
    ) -> AbortHandle {
        let this = self.clone();
        let task = tokio::spawn(async move {
            let answers = match handler {
                Some(handler) => this.within_time("a round of questions", || handler.call(questions)).await,
                None => {
                    let answers = questions.into_iter().map(|question| {
                        let key = question.key.clone();
                        let answer = this.run(question);
                        async move { Ok((key, answer.await?)) }
                    });
                    join_all(answers).await.into_iter().collect()
                }
            };
            this.tell(Command::Inputs(call, answers));
        });
        task.abort_handle()
    }

    fn tell(&self, command: Command) {
        if let Some(commands) = self.commands.upgrade() {
            drop(commands.send(command));
        }
    }

    async fn run(&self, question: ServerQuestion) -> Result<RawJson, ErrorObject> {
        let method = question.method.clone();
        let answer = || async {
            match &self.settings.handlers.question {
                Some(handler) => {
                    let context = self.context.of_request(&question.params);
                    handler.call(question, context).await
                }
                None => self.dispatch(question).await,
            }
        };
        self.within_time(&method, answer).await
    }

    /// Runs a handler when a permit is free. `what` is for the log.
    async fn within_time<T, F>(&self, what: &str, handler: impl FnOnce() -> F) -> Result<T, ErrorObject>
    where
        F: Future<Output = Result<T, ErrorObject>>,
    {
        let limit = self.settings.answer_timeout;
        let work = async {
            let _permit = self.permits.acquire().await.map_err(|_| ErrorObject::internal("the client is closing"))?;
            let answer = AssertUnwindSafe(async { handler().await }).catch_unwind().await;
            answer.unwrap_or_else(|_| Err(ErrorObject::internal("the handler of the client panicked")))
        };
        match tokio::time::timeout(limit, work).await {
            Ok(answer) => answer,
            Err(_) => {
                tracing::warn!(question = what, ?limit, "a handler did not answer in time");
                Err(ErrorObject::internal("the handler of the client did not answer in time"))
            }
        }
    }

    async fn dispatch(&self, question: ServerQuestion) -> Result<RawJson, ErrorObject> {
        let ServerQuestion { method, params, .. } = question;
        let handlers = &self.settings.handlers;
        let context = self.context.of_request(&params);
        match (method.as_str(), &handlers.elicit, &handlers.sample) {
            (Elicit::NAME, Some(handler), _) => {
                let elicit: Elicit = params.to()?;
                let answer: ElicitResult = handler.call(elicit.clone(), context).await?;
                write(&defaults::fill(&elicit, answer))
            }
            (CreateMessage::NAME, _, Some(handler)) => {
                let answer: CreateMessageResult = handler.call(params.to()?, context).await?;
                write(&answer)
            }
            (ListRoots::NAME, ..) => write(&ListRootsResult { roots: self.registry.roots.list(), meta: None }),
            (method, ..) => Err(ErrorObject::method_not_found(method)),
        }
    }
}

fn write<T: Serialize>(answer: &T) -> Result<RawJson, ErrorObject> {
    RawJson::of(answer).map_err(|error| ErrorObject::internal(format!("the answer cannot be written: {error}")))
}
