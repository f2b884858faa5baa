//! The stateless revision: each request names its revision and what its client can do, and what one request has said
//! means nothing to the next (MCP 2026-07-28, basic).
//!
//! Faults of a request are found in this order: members of `_meta` that are missing, a revision that is not
//! spoken, a method that does not exist, parameters that do not fit it.

use std::sync::Arc;

use protomcp_types::{
    CallTool, Complete, Discover, ErrorObject, GetPrompt, Implementation, JsonBuf, JsonObject, Kind, ListPrompts,
    ListResourceTemplates, ListResources, ListTools, Listen, Message, Method, Params, ReadResource, Request,
    RequestMeta, Response, ServerCapabilities, SubscriptionFilter, TASKS_EXTENSION, TaskRequest,
};

use crate::client_info::ClientInfo;
use crate::pending::{Era, OnSuccess};
use crate::request::ServerRequest;
use crate::server::listeners::filter;
use crate::server::stateless_info::{RetryInput, StatelessInfo};
use crate::server::{Inbound, IncomingCall, Session, encode};

impl Session {
    /// True if a request is one of the stateless revision.
    #[must_use]
    pub fn is_stateless(request: &Request) -> bool {
        Self::is_of_stateless(&request.method, &RequestMeta::of(&request.params))
    }

    pub(super) fn is_of_stateless(method: &str, meta: &RequestMeta) -> bool {
        // These have never been in any other.
        meta.is_stateless() || [Discover::NAME, Listen::NAME].contains(&method)
    }

    pub(super) fn stateless(&mut self, Request { id, method, params }: Request, meta: &RequestMeta) -> Inbound {
        let answer = match self.call_stateless(&method, params, meta) {
            Ok(Answer::Discovered(result)) => Ok(result),
            Ok(Answer::Listen(client, filter)) => match self.hear(id, &filter) {
                Ok(key) => return Inbound::Listen(key, client, filter),
                Err((id, error)) => return Inbound::Reply(Message::error(Some(id), error)),
            },
            Ok(Answer::Task(request)) => {
                return match self.pending.open(id, OnSuccess::Nothing, Era::Stateless { is_retried: false }) {
                    Ok(key) => Inbound::Task(key, request),
                    Err(id) => Inbound::Reply(Message::error(Some(id), Self::overloaded())),
                };
            }
            Ok(Answer::Call(call)) => {
                let (request, client, stateless) = *call;
                let brings = |inputs: &RetryInput| inputs.state.is_some() || !inputs.responses.is_empty();
                let is_retried = stateless.inputs.as_ref().is_some_and(brings);
                return match self.pending.open(id, OnSuccess::Nothing, Era::Stateless { is_retried }) {
                    Ok(key) => Inbound::Call(IncomingCall {
                        key,
                        request,
                        progress_token: meta.progress_token(),
                        client: Arc::new(client),
                        stateless: Some(Box::new(stateless)),
                    }),
                    Err(id) => Inbound::Reply(Message::error(Some(id), Self::overloaded())),
                };
            }
            Err(error) => Err(error),
        };
        Inbound::Reply(Response { id: Some(id), outcome: answer }.into())
    }

    fn call_stateless(&self, method: &str, mut params: Params, meta: &RequestMeta) -> Result<Answer, ErrorObject> {
        // MCP 2026-07-28, basic: both are required, whatever else may be wrong.
        meta.requested_version()?;
        let capabilities = meta.capabilities()?;
        let version = meta.version()?;
        if method == Discover::NAME {
            return Ok(Answer::Discovered(encode::discover(
                &self.info,
                &offered(&self.info.capabilities),
                self.identity(),
            )));
        }
        let client = |capabilities| {
            let implementation = meta.client().unwrap_or_else(|| Implementation::new("", ""));
            ClientInfo { version, implementation, capabilities }
        };
        if method == Listen::NAME {
            let filter = filter(params, &capabilities, &self.info.capabilities)?;
            return Ok(Answer::Listen(Arc::new(client(capabilities)), Box::new(filter)));
        }
        if TaskRequest::is_method(method) && self.info.capabilities.has_extension(TASKS_EXTENSION) {
            let request = TaskRequest::read(method, &params)?;
            if !capabilities.has_extension(TASKS_EXTENSION) {
                return Err(ErrorObject::missing_capability(&TaskRequest::required()));
            }
            return Ok(Answer::Task(request));
        }
        if !is_offered(method, &self.info.capabilities) {
            return Err(ErrorObject::method_not_found(method));
        }
        let log_level = meta.log_level()?;
        let inputs = match method {
            CallTool::NAME | GetPrompt::NAME | ReadResource::NAME => Some(inputs(&mut params)?),
            _ => None,
        };
        let mut request = ServerRequest::read(method.to_owned().into(), params)?;
        if let ServerRequest::CallTool(call) = &mut request {
            // That was the wish of another revision.
            call.task = None;
        }
        Ok(Answer::Call(Box::new((request, client(capabilities), StatelessInfo { log_level, inputs }))))
    }
}

/// Takes out what belongs to questions.
fn inputs(params: &mut Params) -> Result<RetryInput, ErrorObject> {
    let Params::Named(members) = params else { return Ok(RetryInput::default()) };
    let mut inputs = RetryInput { params: members.clone(), ..RetryInput::default() };
    let invalid = |what: &str| ErrorObject::invalid_params(format!("invalid params: {what}"));
    if let Some(state) = members.take("requestState") {
        inputs.state = Some(state.to().map_err(|_| invalid("requestState must be a string"))?);
    }
    if let Some(responses) = members.take("inputResponses") {
        let responses = JsonObject::from_raw(&responses).map_err(|_| invalid("inputResponses must be an object"))?;
        if let Some((key, _)) = responses.iter().find(|(_, response)| response.kind() != Kind::Object) {
            return Err(invalid(&format!("inputResponses[{key:?}] must be an object")));
        }
        inputs.responses = responses.iter().map(|(key, response)| (key.to_owned(), response.clone())).collect();
    }
    Ok(inputs)
}

/// The effect of a request without a fault.
enum Answer {
    /// The answer is there already.
    Discovered(JsonBuf),
    /// It goes on until the client or the server ends it.
    Listen(Arc<ClientInfo>, Box<SubscriptionFilter>),
    /// It is about a task.
    Task(TaskRequest),
    /// The service answers.
    Call(Box<(ServerRequest, ClientInfo, StatelessInfo)>),
}

/// The capabilities of a server in the stateless revision.
fn offered(capabilities: &ServerCapabilities) -> ServerCapabilities {
    // Tasks have become an extension of another shape.
    ServerCapabilities { tasks: None, ..capabilities.clone() }
}

/// True if a server with these capabilities answers a method. What the revision has removed is not there, and what it
/// has never heard of is the service's business.
fn is_offered(method: &str, capabilities: &ServerCapabilities) -> bool {
    match method {
        CallTool::NAME
        | ListTools::NAME
        | ListResources::NAME
        | ListResourceTemplates::NAME
        | ReadResource::NAME
        | ListPrompts::NAME
        | GetPrompt::NAME
        | Complete::NAME => ServerRequest::is_offered(method, capabilities),
        _ => !REMOVED.contains(&method),
    }
}

/// Methods of the stateful revisions that the stateless one does not have.
const REMOVED: [&str; 9] = [
    "initialize",
    "ping",
    "logging/setLevel",
    "resources/subscribe",
    "resources/unsubscribe",
    "tasks/get",
    "tasks/result",
    "tasks/list",
    "tasks/cancel",
];
