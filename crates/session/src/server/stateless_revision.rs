//! The stateless revision as a value: reads requests and shapes their answers (MCP 2026-07-28, basic).
//!
//! Faults of a request are found in this order: missing members of `_meta`, an unsupported revision, a method that does
//! not exist, parameters that do not fit it.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use protomcp_types::{
    CallTool, ClientCapabilities, Complete, Discover, ErrorObject, GetPrompt, JsonBuf, JsonObject, Kind, ListPrompts,
    ListResourceTemplates, ListResources, ListTools, Listen, MAX_SUBSCRIBED_URI, Method, Params, ProgressToken,
    ReadResource, RequestMeta, ServerCapabilities, SubscriptionFilter, TASKS_EXTENSION, TaskRequest,
};

use crate::client_info::ClientInfo;
use crate::info::{Limits, ServerInfo};
use crate::list_changed::List;
use crate::pending::Attempt;
use crate::request::{ServerRequest, ServerResult};
use crate::server::encode::{self, ServerIdentity, Shape};
use crate::server::stateless_info::{RetryInput, StatelessInfo};
use crate::stateless_meta::StatelessMeta;
use crate::task_view::{TaskAnswer, TaskView};

/// The stateless revision of one server: reads requests and encodes answers. It keeps nothing of earlier requests.
#[derive(Debug)]
pub struct Stateless {
    info: Arc<ServerInfo>,
    /// The identity of the server, as results name it; written with the first one.
    identity: OnceLock<ServerIdentity>,
}

/// The effect of a stateless request without a fault.
#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "most requests are calls, and the value is taken apart immediately")]
pub enum StatelessRequest {
    /// It is answered with this result.
    Discovered(JsonBuf),
    /// It listens: the client is notified of changes until the client or the server ends the request.
    Listen(Arc<ClientInfo>, Box<SubscriptionFilter>),
    /// It is about a task that belongs to no session.
    Task(TaskRequest),
    /// The service answers it.
    Call(StatelessCall),
}

/// A stateless request for the service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatelessCall {
    /// The request itself.
    pub request: ServerRequest,
    /// The client, as the request describes it.
    pub client: Arc<ClientInfo>,
    /// The token for reports of progress.
    pub progress_token: Option<ProgressToken>,
    /// The members that only this revision has.
    pub info: StatelessInfo,
    /// Answers to questions for the client; only of requests that may ask.
    pub inputs: Option<RetryInput>,
}

impl StatelessRequest {
    /// The requests beyond [`Limits::max_pending`] among which this one finds room; see [`ServerRequest::extra_room`].
    pub(super) fn extra_room(&self) -> usize {
        match self {
            Self::Call(call) => call.request.extra_room(),
            Self::Task(_) => Limits::CONTROL_ROOM,
            Self::Discovered(_) | Self::Listen(..) => 0,
        }
    }
}

impl StatelessCall {
    /// The first attempt, or one with answers of the client.
    #[must_use]
    pub fn attempt(&self) -> Attempt {
        let is_retry = |inputs: &RetryInput| inputs.state.is_some() || !inputs.responses.is_empty();
        if self.inputs.as_ref().is_some_and(is_retry) { Attempt::Retry } else { Attempt::First }
    }
}

impl Stateless {
    /// The stateless revision of the server that this describes.
    #[must_use]
    pub fn new(info: Arc<ServerInfo>) -> Self {
        Self { info, identity: OnceLock::new() }
    }

    /// The description of the server.
    #[must_use]
    pub fn info(&self) -> &Arc<ServerInfo> {
        &self.info
    }

    /// True if a request with this `_meta` is one of the stateless revision.
    #[must_use]
    pub fn has(method: &str, meta: &RequestMeta) -> bool {
        // These methods exist in no other revision.
        meta.is_stateless() || [Discover::NAME, Listen::NAME].contains(&method)
    }

    /// Reads a request.
    ///
    /// # Errors
    /// The error that answers the request.
    pub fn read(
        &self,
        name: Cow<'static, str>,
        mut params: Params,
        meta: &StatelessMeta,
    ) -> Result<StatelessRequest, ErrorObject> {
        let method = name.as_ref();
        let client = meta.client()?;
        if method == Discover::NAME {
            let offered = offered(&self.info.capabilities);
            return Ok(StatelessRequest::Discovered(encode::discover(&self.info, &offered, self.identity())));
        }
        if method == Listen::NAME {
            let filter = filter(params, &client.capabilities, &self.info.capabilities)?;
            return Ok(StatelessRequest::Listen(Arc::clone(client), Box::new(filter)));
        }
        if TaskRequest::is_method(method) && self.info.capabilities.has_extension(TASKS_EXTENSION) {
            let request = TaskRequest::read(method, &params)?;
            if !client.capabilities.has_extension(TASKS_EXTENSION) {
                return Err(ErrorObject::missing_capability(&TaskRequest::required()));
            }
            return Ok(StatelessRequest::Task(request));
        }
        if !is_answered(method, &self.info.capabilities) {
            return Err(ErrorObject::method_not_found(method));
        }
        let log_level = meta.members().log_level()?;
        let inputs = match method {
            CallTool::NAME => Some(inputs(CallTool::NAME, &mut params)?),
            GetPrompt::NAME => Some(inputs(GetPrompt::NAME, &mut params)?),
            ReadResource::NAME => Some(inputs(ReadResource::NAME, &mut params)?),
            _ => None,
        };
        let mut request = ServerRequest::read(name, params)?;
        if let ServerRequest::CallTool(call) = &mut request {
            // The member belongs to another revision.
            call.task = None;
        }
        let (client, progress_token) = (Arc::clone(client), meta.members().progress_token());
        let info = StatelessInfo { log_level };
        Ok(StatelessRequest::Call(StatelessCall { request, client, progress_token, info, inputs }))
    }

    /// The outcome of a request in the shape of this revision.
    ///
    /// # Errors
    /// The error of the outcome, with the code that this revision has for it.
    pub fn outcome(
        &self,
        outcome: Result<ServerResult, ErrorObject>,
        attempt: Attempt,
    ) -> Result<JsonBuf, ErrorObject> {
        let cache = Some(&self.info.cache).filter(|_| attempt == Attempt::First);
        let shape = Shape::Stateless { server: self.identity(), cache };
        match outcome {
            Ok(result) => Ok(encode::result(result, shape)),
            Err(error) => Err(encode::error(error, shape)),
        }
    }

    /// A task as a result: of the call that began it, or of a request for it.
    pub fn task(&self, task: &TaskView, answer: TaskAnswer) -> JsonBuf {
        encode::task(task, answer, Shape::Stateless { server: self.identity(), cache: None })
    }

    pub(super) fn identity(&self) -> &ServerIdentity {
        self.identity.get_or_init(|| ServerIdentity::of(&self.info.implementation))
    }
}

/// Takes the answers and the state out of the parameters.
fn inputs(method: &'static str, params: &mut Params) -> Result<RetryInput, ErrorObject> {
    let mut inputs = RetryInput { method, responses: BTreeMap::new(), state: None, params: JsonObject::new() };
    let Params::Named(members) = params else { return Ok(inputs) };
    inputs.params = members.clone();
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

/// The changes that a request listens for, without those that the server announces to no client.
fn filter(
    params: Params,
    client: &ClientCapabilities,
    server: &ServerCapabilities,
) -> Result<SubscriptionFilter, ErrorObject> {
    let Listen { notifications: mut filter } = params.try_into()?;
    filter.resource_subscriptions.sort_unstable();
    filter.resource_subscriptions.dedup();
    if filter.resource_subscriptions.iter().any(|uri| uri.len() > MAX_SUBSCRIBED_URI) {
        let why = format!("invalid params: resourceSubscriptions has a URI longer than {MAX_SUBSCRIBED_URI} bytes");
        return Err(ErrorObject::invalid_params(why));
    }
    filter.tools_list_changed &= List::Tools.is_announced_by(server);
    filter.resources_list_changed &= List::Resources.is_announced_by(server);
    filter.prompts_list_changed &= List::Prompts.is_announced_by(server);
    if !server.resources.is_some_and(|resources| resources.subscribe) {
        filter.resource_subscriptions.clear();
    }
    filter.task_ids.sort_unstable();
    filter.task_ids.dedup();
    if !server.has_extension(TASKS_EXTENSION) {
        filter.task_ids.clear();
    }
    if !filter.task_ids.is_empty() && !client.has_extension(TASKS_EXTENSION) {
        return Err(ErrorObject::missing_capability(&TaskRequest::required()));
    }
    Ok(filter)
}

/// The capabilities of a server in the stateless revision.
fn offered(capabilities: &ServerCapabilities) -> ServerCapabilities {
    // Tasks have become an extension of another shape.
    ServerCapabilities { tasks: None, ..capabilities.clone() }
}

/// True if a server with these capabilities answers a method. Methods that the revision has removed are not answered;
/// methods that it does not know go to the service.
fn is_answered(method: &str, capabilities: &ServerCapabilities) -> bool {
    match method {
        CallTool::NAME
        | ListTools::NAME
        | ListResources::NAME
        | ListResourceTemplates::NAME
        | ReadResource::NAME
        | ListPrompts::NAME
        | GetPrompt::NAME
        | Complete::NAME => ServerRequest::is_answered(method, capabilities),
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
