//! Middleware that the bridge runs around the calls of this process.

use std::fmt;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, ready};
use protomcp_envelope::{MiddlewareInterceptRequest, MiddlewareInterceptResponse, RequestContext};
use protomcp_types::{JsonObject, RawJson};

/// Middleware that the bridge runs around every call of this process, wherever it came from; see
/// [`Config::middleware`](crate::Config::middleware). Layers of the server do the same for calls that have arrived. Middleware
/// of the bridge also sees the order of all middleware, and its changes are made before the bridge checks the arguments.
///
/// ```
/// use protomcp_sdk::{Config, Middleware, Verdict};
///
/// let limits = Middleware::new("limits", 10).before(async |call| {
///     let amount = call.argument::<u64>("amount").unwrap_or_default();
///     if amount > 100 { Verdict::Reject("at most 100 at a time".into()) } else { Verdict::Continue }
/// });
/// let config = Config { middleware: vec![limits], ..Config::default() };
/// ```
#[derive(Clone)]
pub struct Middleware {
    pub(crate) name: String,
    pub(crate) priority: i32,
    before: Option<Before>,
    after: Option<After>,
}

type Before = Arc<dyn Fn(InterceptedCall) -> BoxFuture<'static, Verdict> + Send + Sync>;
type After = Arc<dyn Fn(InterceptedCall, InterceptedResult) -> BoxFuture<'static, Option<RawJson>> + Send + Sync>;

/// A call that passes by.
///
/// ```
/// use protomcp_sdk::InterceptedCall;
///
/// fn user(call: &InterceptedCall) -> Option<&str> {
///     Some(call.context.as_ref()?.principal.as_ref()?.subject.as_str())
/// }
/// ```
#[derive(Debug, Clone)]
pub struct InterceptedCall {
    /// The tool.
    pub tool: String,
    /// The arguments as they are now, an object.
    pub arguments: RawJson,
    /// The client of the call; `None`: the bridge does not name it.
    pub context: Option<Box<RequestContext>>,
}

/// The result of a call that passes by.
///
/// ```
/// use protomcp_sdk::InterceptedResult;
/// use protomcp_types::RawJson;
///
/// fn shortened(result: &InterceptedResult) -> Option<RawJson> {
///     (result.content.as_str().len() > 1_000_000).then(|| RawJson::text("this is too long to read"))
/// }
/// ```
#[derive(Debug, Clone)]
pub struct InterceptedResult {
    /// The content: an array of content blocks, or a text.
    pub content: RawJson,
    /// True if the tool has failed.
    pub is_error: bool,
}

/// The outcome of a middleware before a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// The call continues.
    Continue,
    /// The call continues with these arguments, an object.
    Replace(RawJson),
    /// The call fails with this reason, and the tool does not run.
    Reject(String),
}

impl Middleware {
    /// Middleware without a function. Of several, those with lower priorities see a call earlier, and its result later.
    #[must_use]
    pub fn new(name: impl Into<String>, priority: i32) -> Self {
        Self { name: name.into(), priority, before: None, after: None }
    }

    /// Runs before each call, within its time. A panic rejects the call.
    #[must_use]
    pub fn before<F, Fut>(mut self, run: F) -> Self
    where
        F: Fn(InterceptedCall) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Verdict> + Send + 'static,
    {
        self.before = Some(Arc::new(move |call| run(call).boxed()));
        self
    }

    /// Runs after each call, within its time, and may return another content. A panic leaves the result as it is.
    ///
    /// ```
    /// use protomcp_sdk::Middleware;
    ///
    /// let audit = Middleware::new("audit", 0).after(async |call, result| {
    ///     tracing::info!(tool = call.tool, is_error = result.is_error, "called");
    ///     None
    /// });
    /// ```
    #[must_use]
    pub fn after<F, Fut>(mut self, run: F) -> Self
    where
        F: Fn(InterceptedCall, InterceptedResult) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Option<RawJson>> + Send + 'static,
    {
        self.after = Some(Arc::new(move |call, result| run(call, result).boxed()));
        self
    }

    /// The answer to a request of the bridge.
    fn run(&self, phase: &str, call: InterceptedCall, result: InterceptedResult) -> BoxFuture<'static, Answer> {
        match (phase, &self.before, &self.after) {
            ("before", Some(before), _) => before(call).map(of_verdict).boxed(),
            ("after", _, Some(after)) => after(call, result).map(of_content).boxed(),
            _ => ready(Answer::default()).boxed(),
        }
    }
}

type Answer = MiddlewareInterceptResponse;

/// The answer of the middleware that the bridge names. It is there within the time that the bridge has for the call.
pub(crate) fn intercept(
    middleware: &[Middleware],
    request: MiddlewareInterceptRequest,
    context: Option<Box<RequestContext>>,
) -> BoxFuture<'static, Answer> {
    let MiddlewareInterceptRequest { middleware_name: name, phase, tool_name, arguments_json, result_json, is_error } =
        request;
    let Some(known) = middleware.iter().find(|known| known.name == name).cloned() else {
        tracing::warn!(name, "the bridge asks for a middleware that is not there");
        return ready(Answer::default()).boxed();
    };
    let time = context.as_ref().map(|context| Duration::from_millis(context.timeout_ms));
    let call = InterceptedCall { tool: tool_name, arguments: json(&arguments_json), context };
    let result = InterceptedResult { content: json(&result_json), is_error };
    async move {
        let failed = |why: &str| {
            tracing::error!(name, phase, why, "a middleware has not answered");
            rejected(why.to_owned())
        };
        // The closure of the author is called in here: it may panic before it returns its future.
        let running = AssertUnwindSafe(async { known.run(&phase, call, result).await }).catch_unwind();
        match tokio::time::timeout(time.unwrap_or(Duration::MAX), running).await {
            Ok(Ok(answer)) => answer,
            // In the phase after a call the bridge logs this, and the result stays.
            Ok(Err(_)) => failed("it panicked"),
            Err(_) => failed("the time of the call is over"),
        }
    }
    .boxed()
}

fn of_verdict(verdict: Verdict) -> Answer {
    match verdict {
        Verdict::Continue => Answer::default(),
        Verdict::Replace(arguments) => Answer { arguments_json: arguments.into_bytes(), ..Answer::default() },
        Verdict::Reject(reason) => rejected(reason),
    }
}

fn of_content(content: Option<RawJson>) -> Answer {
    Answer { result_json: content.map(RawJson::into_bytes).unwrap_or_default(), ..Answer::default() }
}

fn rejected(reject_reason: String) -> Answer {
    Answer { reject: true, reject_reason, ..Answer::default() }
}

/// A text that is not JSON is a string.
fn json(text: &Bytes) -> RawJson {
    if text.is_empty() {
        return RawJson::NULL;
    }
    RawJson::parse(text.clone()).unwrap_or_else(|_| RawJson::text(&String::from_utf8_lossy(text)))
}

impl InterceptedCall {
    /// An argument, if it is there and of this type.
    #[must_use]
    pub fn argument<T: serde::de::DeserializeOwned>(&self, name: &str) -> Option<T> {
        JsonObject::from_raw(&self.arguments).ok()?.member(name)?.to().ok()
    }
}

impl fmt::Debug for Middleware {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Middleware").field("name", &self.name).field("priority", &self.priority).finish_non_exhaustive()
    }
}
