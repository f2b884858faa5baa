//! Plain functions as tools.
//!
//! A handler takes its arguments, or the context of the call, or both in the order context, arguments, or nothing; it is
//! `async` and returns anything that implements [`IntoToolResult`]. Which of these it is follows from its signature: the
//! type parameter of [`ToolHandler`] only tells them apart, and is never written down.

use std::future::Future;
use std::pin::Pin;

use protomcp_mcp::Context;
use protomcp_types::{CallToolResult, ErrorObject, RawJson};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::schema::{Direction, infer};
use crate::tool::output::IntoToolResult;

/// A function that can be a tool. Implemented for asynchronous functions and closures; there is no need to implement it.
///
/// A closure that returns `async move { … }` has to clone what it has captured, since many calls run at once:
///
/// ```
/// # use std::sync::Arc;
/// # use protomcp_typed::Tool;
/// # struct Database;
/// # impl Database { async fn size(&self) -> u64 { 3 } }
/// let database = Arc::new(Database);
/// let tool = Tool::new("size", "How many rows there are").handler(move || {
///     let database = Arc::clone(&database);
///     async move { database.size().await }
/// });
/// ```
#[diagnostic::on_unimplemented(
    message = "this is no handler of a tool",
    note = "a handler is an async function of nothing, arguments, a `Context`, or a `Context` and arguments",
    note = "arguments implement `serde::Deserialize` and `schemars::JsonSchema`, results `IntoToolResult`; the future is `Send`"
)]
pub trait ToolHandler<Signature>: Send + Sync + 'static {
    /// The schema of the arguments; `None`: there are none.
    #[doc(hidden)]
    fn input_schema() -> Option<Value>;

    /// The schema of the structured content.
    #[doc(hidden)]
    fn output_schema() -> Option<Value>;

    /// Reads the arguments and runs.
    #[doc(hidden)]
    fn call(&self, context: Context, arguments: &RawJson) -> Result<Running, String>;
}

/// A tool at work.
#[expect(unreachable_pub, reason = "named by a hidden method of a public trait")]
pub type Running = Pin<Box<dyn Future<Output = Result<CallToolResult, ErrorObject>> + Send>>;

/// The signature of a handler, for telling functions apart.
#[derive(Debug)]
pub struct Takes<T>(T);

/// A context and nothing else.
#[derive(Debug)]
pub struct ContextOnly;

fn read<T: DeserializeOwned>(arguments: &RawJson) -> Result<T, String> {
    arguments.to().map_err(|error| format!("- {error}"))
}

fn run<F>(future: F) -> Running
where
    F: Future<Output: IntoToolResult> + Send + 'static,
{
    Box::pin(async move { future.await.into_tool_result() })
}

impl<F, Fut> ToolHandler<Takes<()>> for F
where
    F: Fn() -> Fut + Send + Sync + 'static,
    Fut: Future<Output: IntoToolResult> + Send + 'static,
{
    fn input_schema() -> Option<Value> {
        None
    }

    fn output_schema() -> Option<Value> {
        Fut::Output::output_schema()
    }

    fn call(&self, _: Context, _: &RawJson) -> Result<Running, String> {
        Ok(run(self()))
    }
}

impl<F, Fut> ToolHandler<ContextOnly> for F
where
    F: Fn(Context) -> Fut + Send + Sync + 'static,
    Fut: Future<Output: IntoToolResult> + Send + 'static,
{
    fn input_schema() -> Option<Value> {
        None
    }

    fn output_schema() -> Option<Value> {
        Fut::Output::output_schema()
    }

    fn call(&self, context: Context, _: &RawJson) -> Result<Running, String> {
        Ok(run(self(context)))
    }
}

impl<F, Fut, A> ToolHandler<Takes<(A,)>> for F
where
    F: Fn(A) -> Fut + Send + Sync + 'static,
    Fut: Future<Output: IntoToolResult> + Send + 'static,
    A: DeserializeOwned + JsonSchema + 'static,
{
    fn input_schema() -> Option<Value> {
        Some(infer::<A>(Direction::In))
    }

    fn output_schema() -> Option<Value> {
        Fut::Output::output_schema()
    }

    fn call(&self, _: Context, arguments: &RawJson) -> Result<Running, String> {
        Ok(run(self(read(arguments)?)))
    }
}

impl<F, Fut, A> ToolHandler<Takes<(Context, A)>> for F
where
    F: Fn(Context, A) -> Fut + Send + Sync + 'static,
    Fut: Future<Output: IntoToolResult> + Send + 'static,
    A: DeserializeOwned + JsonSchema + 'static,
{
    fn input_schema() -> Option<Value> {
        Some(infer::<A>(Direction::In))
    }

    fn output_schema() -> Option<Value> {
        Fut::Output::output_schema()
    }

    fn call(&self, context: Context, arguments: &RawJson) -> Result<Running, String> {
        Ok(run(self(context, read(arguments)?)))
    }
}

/// A handler whose signature is forgotten.
pub(crate) type AnyHandler = Box<dyn Fn(Context, &RawJson) -> Result<Running, String> + Send + Sync>;

pub(crate) fn erase<S: 'static, H: ToolHandler<S>>(handler: H) -> AnyHandler {
    Box::new(move |context, arguments| handler.call(context, arguments))
}
