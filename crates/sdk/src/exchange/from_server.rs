//! Messages of the server: answers, progress, log messages, changes, and questions to its session.

use bytes::Bytes;
use protomcp_proto::{
    CompletionResponse, ElicitationComplete, Envelope, GetPromptResponse, LogMessage, Msg, ProgressNotification,
    PromptListChanged, ReadResourceResponse, ResourceChangedNotification, ResourceListChanged,
};
use protomcp_server::{AskError, InputRequest, ServerResult};
use protomcp_types::{
    Amount, ErrorObject, JsonObject, Message, Method, Notification, Params, Ping, Progress, RawJson, Request,
    RequestId, Response, method,
};
use protomcp_wire::process::{question, result};
use tokio::sync::oneshot;

use crate::exchange::Exchange;
use crate::exchange::pending::{List, Pending, Reply};
use crate::exchange::questions::{Answer, Asker};
use crate::exchange::results;
use crate::step::Step;

/// The factor of the progress of a call that has reported a fraction.
const FRACTIONS: i64 = 1000;

/// The answer to a question that was asked.
pub(crate) type Asked = (String, oneshot::Receiver<Answer>);

impl Exchange {
    /// Handles a message of the server. `during`: the request that it belongs to.
    pub(crate) fn sent(&mut self, message: Message, during: Option<&RequestId>) -> Vec<Step> {
        match message {
            Message::Response(Response { id: Some(id), outcome }) => self.response(&id, outcome.map(drop)),
            Message::Response(Response { id: None, outcome }) => {
                tracing::warn!(?outcome, "the server has answered nothing");
                Vec::new()
            }
            Message::Notification(notification) => self.notification(&notification, during),
            Message::Request(request) => self.session_question(request, during),
        }
    }

    /// The session answers a request: with the result that was kept, or an error.
    fn response(&mut self, id: &RequestId, outcome: Result<(), ErrorObject>) -> Vec<Step> {
        let kept = self.results.remove(id);
        let Some(pending) = self.pending.remove(id) else { return Vec::new() };
        let answer = outcome.map(|()| kept.unwrap_or(ServerResult::Empty));
        let request = id.as_str().unwrap_or_default();
        match pending {
            Pending::Initialize => self.opened(),
            Pending::Own => {
                if let Err(error) = answer {
                    tracing::debug!(%error, "the server has refused a request of the SDK");
                }
                Vec::new()
            }
            Pending::List(listing) => self.paged(listing, answer),
            Pending::Call { .. } => self.call_answered(request, answer),
            Pending::Read => vec![Step::send(Envelope::new(request, self.read_answered(answer)))],
            Pending::Prompt => vec![Step::send(Envelope::new(request, self.prompt_answered(answer)))],
            Pending::Complete => vec![Step::send(Envelope::new(request, self.completed(answer)))],
        }
    }

    fn call_answered(&mut self, id: &str, answer: Result<ServerResult, ErrorObject>) -> Vec<Step> {
        let answer = answer.and_then(|result| match result {
            ServerResult::CallTool(result) => Ok(result),
            _ => Err(ErrorObject::internal("the server has answered with something else")),
        });
        if self.tasks.is_task(id) {
            let outcome = answer.map(result::tool).map_err(|error| error.message.into_owned());
            self.tasks.end(id, outcome);
            return Vec::new();
        }
        let response = answer.map_or_else(|error| result::failed_tool(&error), result::tool);
        results::result(id, response, &self.features, self.config.sideband_threshold)
    }

    fn read_answered(&self, answer: Result<ServerResult, ErrorObject>) -> ReadResourceResponse {
        let response = answer.and_then(|answer| match answer {
            ServerResult::ReadResource(read) => result::resource(read).map_err(ErrorObject::internal),
            _ => Err(ErrorObject::internal("the server has answered with something else")),
        });
        let mut response = response.unwrap_or_else(|error| ReadResourceResponse {
            error: Some(result::tool_error(&error)).filter(|_| self.features.has("reply-errors")),
            ..ReadResourceResponse::default()
        });
        self.keep_metadata(&mut response.metadata_json);
        response
    }

    fn prompt_answered(&self, answer: Result<ServerResult, ErrorObject>) -> GetPromptResponse {
        let response = answer.and_then(|answer| match answer {
            ServerResult::GetPrompt(prompt) => result::prompt(prompt).map_err(ErrorObject::internal),
            _ => Err(ErrorObject::internal("the server has answered with something else")),
        });
        let mut response = response.unwrap_or_else(|error| GetPromptResponse {
            error: Some(result::tool_error(&error)).filter(|_| self.features.has("reply-errors")),
            ..GetPromptResponse::default()
        });
        self.keep_metadata(&mut response.metadata_json);
        response
    }

    fn completed(&self, answer: Result<ServerResult, ErrorObject>) -> CompletionResponse {
        let mut response = match answer {
            Ok(ServerResult::Complete(completion)) => result::completion(completion),
            Ok(_) => CompletionResponse::default(),
            Err(error) => CompletionResponse {
                error: Some(result::tool_error(&error)).filter(|_| self.features.has("reply-errors")),
                ..CompletionResponse::default()
            },
        };
        self.keep_metadata(&mut response.metadata_json);
        response
    }

    /// Removes the metadata of a reply that the bridge would not read.
    fn keep_metadata(&self, metadata: &mut Bytes) {
        if !self.features.has("reply-metadata") {
            metadata.clear();
        }
    }

    fn notification(&mut self, notification: &Notification, during: Option<&RequestId>) -> Vec<Step> {
        let text = |name: &str| notification.params.member(name).and_then(|value| value.to::<String>().ok());
        let (message, during): (Option<Msg>, _) = match notification.method.as_ref() {
            method::PROGRESS => return self.progress(notification, during),
            method::TOOLS_CHANGED => return self.list(List::Tools, Reply::Changed),
            method::LOG => (Some(log(notification).into()), during),
            method::RESOURCE_UPDATED => (text("uri").map(|uri| ResourceChangedNotification { uri }.into()), None),
            method::RESOURCES_CHANGED => (self.known("list-changed", ResourceListChanged {}), None),
            method::PROMPTS_CHANGED => (self.known("list-changed", PromptListChanged {}), None),
            method::ELICITATION_COMPLETE => {
                let id = text("elicitationId").map(|elicitation_id| ElicitationComplete { elicitation_id });
                (id.and_then(|complete| self.known("elicitation-complete", complete)), None)
            }
            method::CANCELLED => {
                if let Some(id) = notification.params.member("requestId").and_then(RequestId::from_raw) {
                    self.questions.withdraw(&id);
                }
                (None, None)
            }
            other => {
                tracing::debug!(method = other, "a notification has no place in the envelope");
                (None, None)
            }
        };
        message.map(|message| Step::send(self.during(during, "", message))).into_iter().collect()
    }

    /// A message of an extension, if the bridge knows it.
    fn known(&self, feature: &str, message: impl Into<Msg>) -> Option<Msg> {
        self.features.has(feature).then(|| message.into())
    }

    /// Progress of a call; that of a task waits for the next poll.
    fn progress(&mut self, notification: &Notification, during: Option<&RequestId>) -> Vec<Step> {
        let Some((token, progress)) = Progress::from_notification(notification) else { return Vec::new() };
        let Some(id) = during else { return Vec::new() };
        let Some(Pending::Call { scale }) = self.pending.get_mut(id) else { return Vec::new() };
        let is_fraction = |amount: &Amount| matches!(amount, Amount::Real(number) if number.fract() != 0.0);
        if is_fraction(&progress.progress) || progress.total.as_ref().is_some_and(is_fraction) {
            // Progress has to grow, so that the factor stays once it is there.
            *scale = FRACTIONS;
        }
        let scale = *scale;
        let progress = ProgressNotification {
            progress_token: token.as_str().unwrap_or_default().to_owned(),
            progress: scaled(progress.progress, scale),
            total: progress.total.map(|total| scaled(total, scale)).unwrap_or_default(),
            message: progress.message.unwrap_or_default(),
        };
        let call = id.as_str().unwrap_or_default();
        if self.tasks.is_task(call) {
            self.tasks.progress(call, &progress);
            return Vec::new();
        }
        vec![Step::send(Envelope::new("", progress))]
    }

    /// Asks the client of a request. The answers come in the order of the questions.
    pub(crate) fn ask(
        &mut self,
        request: &RequestId,
        questions: &[InputRequest],
    ) -> Result<(Vec<Asked>, Vec<Step>), AskError> {
        if !self.questions.has_room(questions.len()) {
            return Err(AskError::TooMany);
        }
        let messages: Vec<Msg> = questions
            .iter()
            .map(|question| self.question(question.method, &question.params))
            .collect::<Result<_, _>>()?;
        let (mut asked, mut steps) = (Vec::new(), Vec::new());
        let last = messages.len().saturating_sub(1);
        for (index, (message, question)) in messages.into_iter().zip(questions).enumerate() {
            let (sender, answer) = oneshot::channel();
            let id = self.questions.add(Asker::Call(sender));
            let mut envelope = self.during(Some(request), &id, message);
            if self.features.has("question-key") {
                question.key.clone_into(&mut envelope.question_key);
            }
            envelope.more_questions =
                index < last && !envelope.for_call.is_empty() && self.features.has("question-group");
            steps.push(Step::send(envelope));
            asked.push((id, answer));
        }
        Ok((asked, steps))
    }

    /// The answer to a question is no longer needed.
    pub(crate) fn withdraw(&mut self, id: &str) {
        self.questions.take(id);
    }

    fn question(&self, method: &'static str, params: &JsonObject) -> Result<Msg, AskError> {
        let further = question::further(method, params);
        if !further.is_empty() && !self.features.has("sampling-params") {
            tracing::warn!(method, ?further, "the bridge does not know these members of a question");
        }
        match question::to_envelope(method, params) {
            Ok(Msg::ElicitationRequest(_)) if !self.features.has("elicitation") => Err(AskError::NotSupported(method)),
            Ok(message) => Ok(message),
            Err(why) => Err(AskError::Refused(ErrorObject::invalid_params(why))),
        }
    }

    /// The server asks its session beside any call.
    fn session_question(&mut self, request: Request, during: Option<&RequestId>) -> Vec<Step> {
        let Request { id, method, params } = request;
        if method == Ping::NAME {
            return vec![Step::deliver(Message::result(id, RawJson::EMPTY_OBJECT.into()))];
        }
        let members = match params {
            Params::Named(members) => members,
            Params::Absent | Params::Positional(_) => JsonObject::new(),
        };
        if !self.questions.has_room(1) {
            let error = ErrorObject::internal(AskError::TooMany.to_string());
            return vec![Step::deliver(Message::error(Some(id), error))];
        }
        match question::to_envelope(&method, &members) {
            Ok(message) => {
                let question = self.questions.add(Asker::Session(id));
                vec![Step::send(self.during(during, &question, message))]
            }
            Err(why) => vec![Step::deliver(Message::error(Some(id), ErrorObject::internal(why)))],
        }
    }
}

fn log(notification: &Notification) -> LogMessage {
    let text = |name: &str| notification.params.member(name).and_then(|value| value.to::<String>().ok());
    LogMessage {
        level: text("level").unwrap_or_default(),
        logger: text("logger").unwrap_or_default(),
        data_json: notification.params.member("data").cloned().unwrap_or(RawJson::NULL).into_bytes(),
    }
}

fn scaled(amount: Amount, scale: i64) -> i64 {
    match amount {
        Amount::Integer(number) => number.saturating_mul(scale),
        // A cast of a number out of range takes the nearest one in range.
        Amount::Real(number) => (number * scale as f64) as i64,
    }
}
