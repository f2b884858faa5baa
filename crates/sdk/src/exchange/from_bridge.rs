//! Envelopes of the bridge: requests for the server, answers to questions, and requests about tasks.

use bytes::Bytes;
use protomcp_envelope::{
    ActiveToolsResponse, CallToolRequest, CallToolResponse, CancelRequest, CompletionRequest, CompletionResponse,
    Envelope, GetPromptRequest, GetPromptResponse, HandOverResponse, Msg, NO_TOOL, Pong, ReadResourceRequest,
    ReadResourceResponse, TakeOverRequest, TakeOverResponse, TaskCancelRequest, TaskResultRequest, TaskStatusRequest,
    ToolError, message_name,
};
use protomcp_server::ServerRequest;
use protomcp_types::{
    CallTool, Complete, CompleteArgument, CompleteContext, GetPrompt, JsonObject, Kind, ProgressToken, RawJson,
    ReadResource, Reference, RequestId, meta,
};
use protomcp_wire::process::question;

use crate::exchange::Exchange;
use crate::exchange::pending::{List, Pending, Reply};
use crate::exchange::questions::Asker;
use crate::exchange::results;
use crate::features::Features;
use crate::middleware::intercept;
use crate::step::{ServerCall, Step};

/// The members of `_meta` that describe the client of a request of the stateless revision (MCP 2026-07-28, basic).
const STATELESS: [&str; 4] = [meta::PROTOCOL_VERSION, meta::CLIENT_INFO, meta::CLIENT_CAPABILITIES, meta::LOG_LEVEL];

impl Exchange {
    /// Handles an envelope of the bridge.
    pub(crate) fn received(&mut self, envelope: Envelope) -> Vec<Step> {
        let Envelope { msg: Some(message), request_id: id, context, .. } = envelope else { return Vec::new() };
        if let Msg::MiddlewareIntercept(request) = message {
            return vec![Step::later(id, intercept(&self.config.middleware, request, context))];
        }
        let mut steps = self.handle(id, message);
        // A request of the bridge is at most one call, and its id a text.
        let of_bridge = steps.iter_mut().find_map(|step| match step {
            Step::Call(call) if call.id.as_str().is_some() => Some(call),
            _ => None,
        });
        if let Some(call) = of_bridge {
            call.about = context;
        }
        steps
    }

    fn handle(&mut self, id: String, message: Msg) -> Vec<Step> {
        match message {
            Msg::BridgeInfo(info) => {
                self.features = Features::new(info.features);
                if !self.config.skill_folders.is_empty() && !self.features.has("skill-folders") {
                    tracing::warn!(
                        "this pmcp does not serve the skills of a tool file: use a newer one, or pmcp run --skills DIR"
                    );
                }
                Vec::new()
            }
            Msg::ListTools(_) => self.list(List::Tools, Reply::To(id)),
            Msg::ListResourcesRequest(_) => self.list(List::Resources, Reply::To(id)),
            Msg::ListResourceTemplatesRequest(_) => self.list(List::Templates, Reply::To(id)),
            Msg::ListPromptsRequest(_) => self.list(List::Prompts, Reply::To(id)),
            // The program on disk is another one now: the bridge starts it when it sees that nothing has changed here.
            Msg::Reload(_) => self.list(List::Tools, Reply::Reload(id)),
            // The bridge asks if calls are taken: no handler and no layer has to see it.
            Msg::CallTool(call) if call.name == NO_TOOL => vec![refusal(id, &format!("unknown tool {NO_TOOL:?}"))],
            Msg::CallTool(call) => self.call(id, call),
            Msg::Cancel(CancelRequest { request_id }) => {
                self.cancel(&request_id);
                Vec::new()
            }
            Msg::ReadResourceRequest(read) => self.read(id, read),
            Msg::GetPromptRequest(get) => self.prompt(id, get),
            Msg::CompletionRequest(complete) => self.complete(id, complete),
            Msg::TaskStatus(TaskStatusRequest { task_id }) => {
                vec![Step::send(Envelope::new(id, self.tasks.status(&task_id)))]
            }
            Msg::TaskResult(TaskResultRequest { task_id }) => self.task_result(&id, &task_id),
            Msg::TaskCancel(TaskCancelRequest { task_id }) => {
                self.cancel(&task_id);
                vec![Step::send(Envelope::new(id, self.tasks.cancel(&task_id)))]
            }
            Msg::HandOver(_) => vec![match &self.config.handover {
                Some(handover) => Step::later(id, handover.hand_over(&self.running)),
                None => Step::send(Envelope::new(id, HandOverResponse::default())),
            }],
            Msg::TakeOver(TakeOverRequest { state }) => vec![match &self.config.handover {
                Some(handover) => Step::later(id, handover.take_over(state)),
                None => Step::send(Envelope::new(id, TakeOverResponse::default())),
            }],
            Msg::Ping(_) => vec![Step::send(Envelope::new(id, Pong {}))],
            Msg::RegisterMiddlewareResponse(response) => self.registered(response),
            Msg::ActiveTools(ActiveToolsResponse { tool_names }) => {
                self.selected(&id, tool_names);
                Vec::new()
            }
            other => self.answered(&id, other),
        }
    }

    /// The answer to a question.
    fn answered(&mut self, id: &str, message: Msg) -> Vec<Step> {
        let name = message_name(&message);
        let Some(answer) = question::answer(message) else {
            tracing::debug!(name, "a message of the bridge is ignored");
            return Vec::new();
        };
        match self.questions.take(id) {
            // A call that has ended does not wait.
            Some(Asker::Call(sender)) => drop(sender.send(answer)),
            Some(Asker::Server(question)) => question.answer(answer.map(Into::into)),
            Some(Asker::Tools(_)) | None => tracing::debug!(id, name, "an answer comes too late"),
        }
        Vec::new()
    }

    fn call(&mut self, id: String, call: CallToolRequest) -> Vec<Step> {
        let CallToolRequest { name, arguments_json, progress_token, metadata_json, .. } = call;
        let arguments = match object(arguments_json) {
            Ok(arguments) => arguments,
            Err(why) => {
                return vec![refusal(id, &format!("the arguments of {name:?} are not a JSON object: {why}"))];
            }
        };
        let call = CallTool { name, arguments, meta: metadata(metadata_json), task: None };
        let mut call = ServerCall::new(id.into(), ServerRequest::CallTool(call));
        call.progress_token = (!progress_token.is_empty()).then(|| ProgressToken::from(progress_token));
        call.run = Some(self.running.begin());
        let pending = Pending::Call { scale: 1, stop: call.stop.clone() };
        self.deliver(call, pending)
    }

    fn read(&mut self, id: String, read: ReadResourceRequest) -> Vec<Step> {
        let request = ServerRequest::ReadResource(ReadResource {
            meta: metadata(read.metadata_json),
            ..ReadResource::new(read.uri.clone())
        });
        let mut steps: Vec<_> = self.subscribe(read.uri).into_iter().collect();
        if self.capabilities.resources.is_none() {
            let response = ReadResourceResponse::default();
            return vec![Step::send(Envelope::new(id, response))];
        }
        steps.extend(self.deliver(ServerCall::new(id.into(), request), Pending::Read));
        steps
    }

    fn prompt(&mut self, id: String, get: GetPromptRequest) -> Vec<Step> {
        let GetPromptRequest { name, arguments_json, metadata_json } = get;
        let meta = metadata(metadata_json);
        match object(arguments_json) {
            Ok(arguments) => {
                let request = ServerRequest::GetPrompt(GetPrompt { name, arguments, meta });
                self.deliver(ServerCall::new(id.into(), request), Pending::Prompt)
            }
            Err(why) => {
                let error = Some(invalid(format!("the arguments of {name:?} are not a JSON object: {why}")));
                vec![Step::send(Envelope::new(id, GetPromptResponse { error, ..GetPromptResponse::default() }))]
            }
        }
    }

    fn complete(&mut self, id: String, complete: CompletionRequest) -> Vec<Step> {
        let CompletionRequest { ref_type, ref_name, argument_name, argument_value, context_json, metadata_json } =
            complete;
        let meta = metadata(metadata_json);
        if self.capabilities.completions.is_none() {
            return vec![Step::send(Envelope::new(id, CompletionResponse::default()))];
        }
        let reference = match ref_type.as_str() {
            "ref/prompt" => Reference::Prompt { name: ref_name },
            _ => Reference::Resource { uri: ref_name },
        };
        let argument = CompleteArgument { name: argument_name, value: argument_value };
        let settled = object(context_json).ok().flatten();
        let context = settled.map(|arguments| CompleteContext { arguments: Some(arguments) });
        let request = ServerRequest::Complete(Complete { reference, argument, context, meta });
        self.deliver(ServerCall::new(id.into(), request), Pending::Complete)
    }

    /// Gives the server a request of the bridge under its own id.
    fn deliver(&mut self, call: ServerCall, pending: Pending) -> Vec<Step> {
        if self.pending.contains_key(&call.id) {
            let method = call.request.method();
            tracing::warn!(id = %call.id, method, "the bridge uses the id of an open request again; ignored");
            return Vec::new();
        }
        self.pending.insert(call.id.clone(), pending);
        vec![Step::Call(Box::new(call))]
    }

    fn cancel(&mut self, call: &str) {
        let id = RequestId::from(call);
        if let Some(Pending::Call { stop, .. }) = self.pending.get(&id) {
            stop.cancel();
            self.pending.remove(&id);
        }
    }

    /// A message of the bridge was too large to be read.
    pub(crate) fn skipped(&mut self, message: &str, id: &str) -> Vec<Step> {
        if message != "call_tool" || id.is_empty() {
            return Vec::new();
        }
        let result_json = RawJson::text("the arguments are too large for this tool process").into_bytes();
        let response = CallToolResponse { is_error: true, result_json, ..CallToolResponse::default() };
        vec![Step::send(Envelope::new(id, response))]
    }

    fn task_result(&mut self, id: &str, task: &str) -> Vec<Step> {
        let response = self.tasks.take_result(task).unwrap_or_else(|| {
            let error = invalid(format!("the task {task:?} has no result"));
            CallToolResponse {
                is_error: true,
                result_json: RawJson::text(&error.message).into_bytes(),
                error: Some(error),
                ..CallToolResponse::default()
            }
        });
        results::result(id, response, &self.features, self.config.sideband_threshold)
    }
}

/// The answer to a call that no handler sees.
fn refusal(id: String, why: &str) -> Step {
    let result_json = RawJson::text(why).into_bytes();
    Step::send(Envelope::new(id, CallToolResponse { is_error: true, result_json, ..CallToolResponse::default() }))
}

fn invalid(message: String) -> ToolError {
    ToolError { error_code: "INVALID_PARAMS".into(), message, ..ToolError::default() }
}

/// The `_meta` of a request, without the members that describe its client: the server sees the client in the context of
/// the call, and the call in a session.
fn metadata(text: Bytes) -> Option<RawJson> {
    let meta = object(text).ok().flatten()?;
    if !STATELESS.iter().any(|name| meta::may_have(&meta, name)) {
        return Some(meta);
    }
    let mut members = JsonObject::from_raw(&meta).ok()?;
    for name in STATELESS {
        members.take(name);
    }
    (!members.is_empty()).then(|| members.to_body().into_raw())
}

/// A JSON object; `None`: the field is empty.
fn object(text: Bytes) -> Result<Option<RawJson>, String> {
    if text.is_empty() {
        return Ok(None);
    }
    let json = RawJson::parse(text).map_err(|error| error.to_string())?;
    if json.kind() == Kind::Object { Ok(Some(json)) } else { Err("it is something else".into()) }
}
