//! Runs a server in the process of a test, over a link without a socket.

mod around;
mod shown_tools;

use std::pin::pin;
use std::time::Duration;

use protomcp_envelope::{
    BridgeInfo, CallAnswer, CallToolRequest, CallToolResponse, HandOverRequest, HandOverResponse, ListPromptsRequest,
    Msg, TakeOverRequest, TaskResultRequest, TaskStatusRequest,
};
use protomcp_link::{CallError, Config as LinkConfig, Event, Link, Options};
use protomcp_server::{ServeError, Server, Service};
use protomcp_types::{CallToolResult, CreateMessage, CreateMessageResult, Elicit, ElicitResult, RawJson};
use protomcp_wire::{question, tool_result};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;

use crate::config::Config;
use crate::harness::around::Around;
use crate::harness::shown_tools::ShownTools;
use crate::run::serve;

/// The bytes on their way in each direction.
const BUFFER: usize = 64 * 1024;
/// The features of the harness; the features of a bridge that a tool can notice.
const FEATURES: [&str; 7] =
    ["elicitation", "metadata", "raw-with-result", "list-changed", "reply-errors", "for-call", "skill-folders"];

/// A server that runs in the process of a test, with everything between a tool and the bridge. Dropping it ends the
/// server.
///
/// ```
/// use protomcp_sdk::Harness;
/// use protomcp_typed::{Registry, Tool};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let registry = Registry::builder("greeter", "1.0")
///     .tool(Tool::new("greet", "Say hi").handler(async || "Hello!"))
///     .build()?;
/// let harness = Harness::start(registry.server()).await?;
/// assert_eq!(harness.tools(), ["greet"]);
/// let result = harness.call("greet", "{}").await?;
/// assert!(!result.is_error && result.content.as_str().contains("Hello!"));
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Harness {
    link: Link,
    tools: watch::Receiver<Vec<String>>,
    events: JoinHandle<()>,
    config: LinkConfig,
    around: Around,
}

/// The client of a [`Harness`], which answers the questions of tools. Without an answer a question fails.
///
/// ```
/// use protomcp_sdk::{Harness, TestClient};
/// use protomcp_server::Context;
/// use protomcp_typed::{Registry, Tool};
/// use protomcp_types::{Elicit, ElicitAction, ElicitResult, RawJson};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let wipe = async |context: Context| {
///     let sure = context.ask::<Elicit>(&Elicit::form("Sure?", RawJson::EMPTY_OBJECT)).await;
///     sure.map(|answer| format!("{:?}", answer.action)).map_err(|error| error.to_string())
/// };
/// let registry = Registry::builder("disk", "1.0").tool(Tool::new("wipe", "Wipe").handler(wipe)).build()?;
/// let client = TestClient::default()
///     .on_elicit(|_| ElicitResult { action: ElicitAction::Decline, content: None, meta: None });
/// let harness = Harness::with_client(registry.server(), client).await?;
/// assert!(harness.call("wipe", "{}").await?.content.as_str().contains("Decline"));
/// # Ok(())
/// # }
/// ```
#[derive(Default)]
pub struct TestClient {
    elicit: Option<Box<dyn Fn(Elicit) -> ElicitResult + Send + Sync>>,
    sample: Option<Box<dyn Fn(CreateMessage) -> CreateMessageResult + Send + Sync>>,
}

/// The reason for which a [`Harness`] has no result.
///
/// ```
/// use protomcp_sdk::{Harness, HarnessError};
///
/// async fn is_gone(harness: &Harness) -> bool {
///     matches!(harness.call("greet", "{}").await, Err(HarnessError::Call(_)))
/// }
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HarnessError {
    /// The server has ended, or has refused the handshake.
    #[error("the server is not in service: {0}")]
    NotInService(String),
    /// The arguments are not a JSON object.
    #[error("the arguments are not JSON")]
    Arguments(#[source] serde_json::Error),
    /// The call has no result.
    #[error("the call has no result")]
    Call(#[from] CallError),
    /// The result is not one of MCP, or its task has failed.
    #[error("the result cannot be used: {0}")]
    Result(String),
}

impl TestClient {
    /// Answers forms and pages.
    #[must_use]
    pub fn on_elicit(mut self, answer: impl Fn(Elicit) -> ElicitResult + Send + Sync + 'static) -> Self {
        self.elicit = Some(Box::new(answer));
        self
    }

    /// Answers requests for a message of the model.
    ///
    /// ```
    /// use protomcp_sdk::TestClient;
    /// use protomcp_types::{ContentBlock, CreateMessageResult, Role};
    ///
    /// let client = TestClient::default().on_sample(|_| CreateMessageResult {
    ///     role: Role::Assistant,
    ///     content: ContentBlock::text("forty-two").to_raw(),
    ///     model: "a-model".into(),
    ///     stop_reason: None,
    ///     meta: None,
    /// });
    /// ```
    #[must_use]
    pub fn on_sample(mut self, answer: impl Fn(CreateMessage) -> CreateMessageResult + Send + Sync + 'static) -> Self {
        self.sample = Some(Box::new(answer));
        self
    }

    fn answer(&self, message: Msg) -> Option<Msg> {
        let unanswered = || "the test client does not answer this".to_owned();
        Some(match message {
            Msg::ElicitationRequest(request) => match (&self.elicit, question::elicitation(request)) {
                (Some(answer), Ok(elicit)) => question::elicited(answer(elicit)).into(),
                (None, _) => question::not_elicited(unanswered()).into(),
                (_, Err(why)) => question::not_elicited(why).into(),
            },
            Msg::SamplingRequest(request) => match (&self.sample, question::sampling(request)) {
                (Some(answer), Ok(sample)) => question::sampled(answer(sample)).into(),
                (None, _) => question::not_sampled(unanswered()).into(),
                (_, Err(why)) => question::not_sampled(why).into(),
            },
            Msg::ListRootsRequest(_) => question::no_roots(unanswered()).into(),
            _ => return None,
        })
    }
}

impl std::fmt::Debug for TestClient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TestClient").finish_non_exhaustive()
    }
}

impl Harness {
    /// Starts a server whose client answers no questions.
    ///
    /// # Errors
    /// When the server does not list its tools.
    pub async fn start<S: Service>(server: Server<S>) -> Result<Self, HarnessError> {
        Self::with_client(server, TestClient::default()).await
    }

    /// Starts a server with this client.
    ///
    /// # Errors
    /// See [`Harness::start`].
    pub async fn with_client<S: Service>(server: Server<S>, client: TestClient) -> Result<Self, HarnessError> {
        Self::with_config(server, client, Config::default()).await
    }

    /// Starts a server with this client and these settings. Its middleware runs around calls.
    ///
    /// ```
    /// use protomcp_sdk::{Config, Harness, HarnessError, Middleware, TestClient, Verdict};
    /// use protomcp_typed::Registry;
    ///
    /// async fn closed(registry: &Registry) -> Result<Harness, HarnessError> {
    ///     let closed = Middleware::new("closed", 0).before(async |_| Verdict::Reject("on Sundays".into()));
    ///     let config = Config { middleware: vec![closed], ..Config::default() };
    ///     Harness::with_config(registry.server(), TestClient::default(), config).await
    /// }
    /// ```
    ///
    /// # Errors
    /// See [`Harness::start`].
    pub async fn with_config<S: Service>(
        server: Server<S>,
        client: TestClient,
        settings: Config,
    ) -> Result<Self, HarnessError> {
        let (near, far) = tokio::io::duplex(BUFFER);
        let serving = tokio::spawn(async move { serve(server, far, settings).await });
        let config = LinkConfig::default();
        let (link, mut events) = protomcp_link::drive(near, config.clone());
        let features = FEATURES.map(str::to_owned).to_vec();
        link.reply("", BridgeInfo { name: "harness".into(), version: String::new(), features });
        let (tools, middleware) = loop {
            match events.recv().await {
                Some(Event::Ready(handshake)) => break (handshake.tools.unwrap_or_default(), handshake.middleware),
                Some(Event::HandshakeFailed(error)) => return Err(HarnessError::NotInService(error.to_string())),
                Some(_) => {}
                None => return Err(HarnessError::NotInService("it has closed the link".into())),
            }
        };
        let (shown, tools) = ShownTools::new(tools);
        let mut answering = Answering { link: link.clone(), client, shown };
        answering.settle(&mut events, config.handshake_timeout).await?;
        let events = tokio::spawn(answering.run(events, serving));
        let around = Around::new(middleware, config.handshake_timeout);
        Ok(Self { link, tools, events, config, around })
    }

    /// The names of the tools that clients see at the moment, sorted.
    #[must_use]
    pub fn tools(&self) -> Vec<String> {
        self.tools.borrow().clone()
    }

    /// Calls a tool with a JSON object, and waits for its result, also the result of a task. Dropping the future
    /// cancels the call.
    ///
    /// # Errors
    /// When there is no result; a failed tool has one.
    pub async fn call(&self, tool: &str, arguments: &str) -> Result<CallToolResult, HarnessError> {
        let arguments = RawJson::parse(arguments.to_owned()).map_err(HarnessError::Arguments)?;
        let mut request = CallToolRequest {
            name: tool.to_owned(),
            arguments_json: arguments.into_bytes(),
            ..CallToolRequest::default()
        };
        let response = match self.around.before(&self.link, &mut request).await? {
            Some(rejected) => rejected,
            None => self.run(request).await?,
        };
        tool_result::to_mcp(response).map_err(|error| HarnessError::Result(error.to_string()))
    }

    /// Runs a call that no middleware has rejected.
    async fn run(&self, request: CallToolRequest) -> Result<CallToolResponse, HarnessError> {
        let mut response = match self.link.call_tool(request.clone(), Duration::MAX, Options::default()).await? {
            CallAnswer::Result(response) => response,
            CallAnswer::Task(task) => self.task(task.task_id).await?,
        };
        self.around.after(&self.link, &request, &mut response).await?;
        Ok(response)
    }

    /// Hands the state of this server over to the next one, as a reload does; see [`Handover`](crate::Handover).
    ///
    /// ```
    /// use std::sync::{Arc, Mutex};
    ///
    /// use protomcp_sdk::{Config, Handover, Harness, TestClient};
    /// use protomcp_typed::Registry;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let start = async |names: Arc<Mutex<Vec<String>>>| {
    ///     let (before, after) = (Arc::clone(&names), names);
    ///     let handover = Handover::new(
    ///         move || before.lock().expect("no panic").clone(),
    ///         move |state: Vec<String>| *after.lock().expect("no panic") = state,
    ///     );
    ///     let registry = Registry::builder("guests", "1.0").build().expect("it is valid");
    ///     let config = Config { handover: Some(handover), ..Config::default() };
    ///     Harness::with_config(registry.server(), TestClient::default(), config).await
    /// };
    /// let (old, new) = (Arc::new(Mutex::new(vec!["Ada".to_owned()])), Arc::default());
    /// start(old).await?.hand_over(&start(Arc::clone(&new)).await?).await?;
    /// assert_eq!(*new.lock().expect("no panic"), ["Ada"]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// When one of them has no answer, or reports an error.
    pub async fn hand_over(&self, to: &Self) -> Result<(), HarnessError> {
        let HandOverResponse { state, error } =
            self.link.call(HandOverRequest {}, self.config.handshake_timeout).await?;
        let error = if state.is_empty() {
            error
        } else {
            to.link.call(TakeOverRequest { state }, to.config.handshake_timeout).await?.error
        };
        if error.is_empty() { Ok(()) } else { Err(HarnessError::Result(error)) }
    }

    async fn task(&self, task_id: String) -> Result<CallToolResponse, HarnessError> {
        loop {
            let request = TaskStatusRequest { task_id: task_id.clone() };
            let status = self.link.call(request, self.config.handshake_timeout).await?;
            match status.state.as_str() {
                "completed" => break,
                "running" | "pending" => tokio::time::sleep(Duration::from_millis(5)).await,
                _ => return Err(HarnessError::Result(status.message)),
            }
        }
        Ok(self.link.call(TaskResultRequest { task_id }, self.config.handshake_timeout).await?)
    }
}

impl Drop for Harness {
    fn drop(&mut self) {
        self.link.close();
        self.events.abort();
    }
}

/// The part of the bridge and of its client.
struct Answering {
    link: Link,
    client: TestClient,
    shown: ShownTools,
}

impl Answering {
    fn handle(&mut self, event: Event) {
        match event {
            Event::Request { id, message, .. } => match self.shown.control(&message) {
                Some(tools) => self.link.reply(id, tools),
                None => {
                    if let Some(answer) = self.client.answer(message) {
                        self.link.reply(id, answer);
                    }
                }
            },
            Event::Listed(tools) => self.shown.register(tools),
            _ => {}
        }
    }

    /// Handles the end of the handshake: tools that start hidden are hidden right after it, so before the answer to a
    /// further request.
    async fn settle(&mut self, events: &mut mpsc::Receiver<Event>, timeout: Duration) -> Result<(), CallError> {
        let link = self.link.clone();
        let mut listing = pin!(link.call(ListPromptsRequest {}, timeout));
        loop {
            tokio::select! {
                biased;
                Some(event) = events.recv() => self.handle(event),
                listed = &mut listing => return listed.map(drop),
            }
        }
    }

    /// Answers the server until the link is closed.
    async fn run(mut self, mut events: mpsc::Receiver<Event>, serving: JoinHandle<Result<(), ServeError>>) {
        while let Some(event) = events.recv().await {
            self.handle(event);
        }
        serving.abort();
    }
}
