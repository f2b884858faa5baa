//! Results, reports and questions of calls, and the notices of the server.

use bytes::Bytes;
use protomcp_envelope::{
    CompletionResponse, ElicitationComplete, Envelope, GetPromptResponse, LogMessage, Msg, ProgressNotification,
    PromptListChanged, ReadResourceResponse, ResourceChangedNotification, ResourceListChanged,
};
use protomcp_server::{AskError, InputRequest, MemberNotice, MemberQuestion, ServerResult};
use protomcp_types::{
    Amount, ErrorObject, JsonBuf, JsonObject, Level, Method, Notification, Params, Ping, Progress, ProgressToken,
    RawJson, RequestId, method,
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
    /// The server has answered a request.
    pub(crate) fn ended(&mut self, id: &RequestId, answer: Result<ServerResult, ErrorObject>) -> Vec<Step> {
        // Without an entry it was cancelled.
        let Some(pending) = self.pending.remove(id) else { return Vec::new() };
        let request = id.as_str().unwrap_or_default();
        match pending {
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

    /// The server has a notice for the bridge that belongs to no call.
    pub(crate) fn noticed(&mut self, notice: MemberNotice) -> Vec<Step> {
        match notice {
            MemberNotice::Notification(notification) => self.notification(&notification),
            MemberNotice::Question(question) => self.server_question(question),
            MemberNotice::Withdrawn(number) => {
                self.questions.withdraw(number);
                Vec::new()
            }
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

    fn notification(&mut self, notification: &Notification) -> Vec<Step> {
        let text = |name: &str| notification.params.member(name).and_then(|value| value.to::<String>().ok());
        let message: Option<Msg> = match notification.method.as_ref() {
            method::TOOLS_CHANGED => return self.list(List::Tools, Reply::Changed),
            method::LOG => Some(
                LogMessage {
                    level: text("level").unwrap_or_default(),
                    logger: text("logger").unwrap_or_default(),
                    data_json: notification.params.member("data").cloned().unwrap_or(RawJson::NULL).into_bytes(),
                }
                .into(),
            ),
            method::RESOURCE_UPDATED => text("uri").map(|uri| ResourceChangedNotification { uri }.into()),
            method::RESOURCES_CHANGED => self.known("list-changed", ResourceListChanged {}),
            method::PROMPTS_CHANGED => self.known("list-changed", PromptListChanged {}),
            method::ELICITATION_COMPLETE => {
                let id = text("elicitationId").map(|elicitation_id| ElicitationComplete { elicitation_id });
                id.and_then(|complete| self.known("elicitation-complete", complete))
            }
            other => {
                tracing::debug!(method = other, "a notification has no place in the envelope");
                None
            }
        };
        message.map(|message| Step::send(Envelope::new("", message))).into_iter().collect()
    }

    /// A message of an extension, if the bridge knows it.
    fn known(&self, feature: &str, message: impl Into<Msg>) -> Option<Msg> {
        self.features.has(feature).then(|| message.into())
    }

    /// A log message, if the server has declared them.
    pub(crate) fn log(
        &self,
        during: Option<&RequestId>,
        level: Level,
        logger: Option<&str>,
        data: &RawJson,
    ) -> Option<Envelope> {
        self.capabilities.logging.as_ref()?;
        let message = LogMessage {
            level: level.as_str().to_owned(),
            logger: logger.unwrap_or_default().to_owned(),
            data_json: data.clone().into_bytes(),
        };
        Some(self.during(during, "", message))
    }

    /// Progress of a call; the progress of a task waits for the next poll.
    pub(crate) fn progress(&mut self, id: &RequestId, token: &ProgressToken, progress: Progress) -> Option<Envelope> {
        let Some(Pending::Call { scale, .. }) = self.pending.get_mut(id) else { return None };
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
            return None;
        }
        Some(Envelope::new("", progress))
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

    /// The server asks outside any call.
    fn server_question(&mut self, question: MemberQuestion) -> Vec<Step> {
        if question.method == Ping::NAME {
            question.answer(Ok(JsonBuf::empty_object()));
            return Vec::new();
        }
        if !self.questions.has_room(1) {
            question.answer(Err(ErrorObject::internal(AskError::TooMany.to_string())));
            return Vec::new();
        }
        let message = match &question.params {
            Params::Named(members) => question::to_envelope(question.method, members),
            Params::Absent | Params::Positional(_) => question::to_envelope(question.method, &JsonObject::new()),
        };
        match message {
            Ok(message) => {
                let id = self.questions.add(Asker::Server(Box::new(question)));
                vec![Step::send(self.during(None, &id, message))]
            }
            Err(why) => {
                question.answer(Err(ErrorObject::internal(why)));
                Vec::new()
            }
        }
    }
}

fn scaled(amount: Amount, scale: i64) -> i64 {
    match amount {
        Amount::Integer(number) => number.saturating_mul(scale),
        // A cast of a number out of range takes the nearest one in range.
        Amount::Real(number) => (number * scale as f64) as i64,
    }
}
