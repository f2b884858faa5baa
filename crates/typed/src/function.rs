//! Plain functions as handlers of tools, prompts and resources.
//!
//! A handler takes its arguments, the context of the call, both (the context first), or nothing. The type parameter of
//! [`HandlerFn`] distinguishes these signatures; it is inferred and never written.

use std::borrow::Cow;
use std::future::Future;
use std::pin::Pin;

use protomcp_server::Context;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::{DeserializeOwned, IgnoredAny};
use serde::{Deserialize, Deserializer};

/// A function that can be a handler. Implemented for asynchronous functions and closures; there is no need to implement
/// it.
///
/// A closure that returns `async move { … }` has to clone its captures, since many calls run concurrently:
///
/// ```
/// # use std::sync::Arc;
/// # use protomcp_typed::Tool;
/// # struct Database;
/// # impl Database { async fn size(&self) -> u64 { 3 } }
/// let database = Arc::new(Database);
/// let tool = Tool::new("size", "The number of rows").handler(move || {
///     let database = Arc::clone(&database);
///     async move { database.size().await }
/// });
/// ```
#[diagnostic::on_unimplemented(
    message = "this is not a handler",
    note = "a handler is an async function of nothing, arguments, a `Context`, or a `Context` and arguments",
    note = "arguments implement `serde::Deserialize` and `schemars::JsonSchema`; the future is `Send`"
)]
pub trait HandlerFn<Signature>: Send + Sync + 'static {
    /// The type of the arguments.
    type Arguments: DeserializeOwned + JsonSchema + 'static;

    /// The type of the result.
    type Output;

    /// The future of a call.
    type Future: Future<Output = Self::Output> + Send + 'static;

    /// True if the function takes arguments.
    #[doc(hidden)]
    const HAS_ARGUMENTS: bool;

    /// Calls the function.
    #[doc(hidden)]
    fn call(&self, context: Context, arguments: Self::Arguments) -> Self::Future;
}

/// The signature of a handler.
#[derive(Debug)]
pub struct Signature<T>(T);

/// A context without arguments.
#[derive(Debug)]
pub struct ContextOnly;

/// The arguments of a handler without any.
#[derive(Debug)]
pub struct NoArguments;

impl<'de> Deserialize<'de> for NoArguments {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        IgnoredAny::deserialize(deserializer).map(|_| Self)
    }
}

impl JsonSchema for NoArguments {
    fn schema_name() -> Cow<'static, str> {
        "NoArguments".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        true.into()
    }
}

impl<F, Fut> HandlerFn<Signature<()>> for F
where
    F: Fn() -> Fut + Send + Sync + 'static,
    Fut: Future + Send + 'static,
{
    type Arguments = NoArguments;
    type Output = Fut::Output;
    type Future = Fut;
    const HAS_ARGUMENTS: bool = false;

    fn call(&self, _: Context, _: NoArguments) -> Fut {
        self()
    }
}

impl<F, Fut> HandlerFn<ContextOnly> for F
where
    F: Fn(Context) -> Fut + Send + Sync + 'static,
    Fut: Future + Send + 'static,
{
    type Arguments = NoArguments;
    type Output = Fut::Output;
    type Future = Fut;
    const HAS_ARGUMENTS: bool = false;

    fn call(&self, context: Context, _: NoArguments) -> Fut {
        self(context)
    }
}

impl<F, Fut, A> HandlerFn<Signature<(A,)>> for F
where
    F: Fn(A) -> Fut + Send + Sync + 'static,
    Fut: Future + Send + 'static,
    A: DeserializeOwned + JsonSchema + 'static,
{
    type Arguments = A;
    type Output = Fut::Output;
    type Future = Fut;
    const HAS_ARGUMENTS: bool = true;

    fn call(&self, _: Context, arguments: A) -> Fut {
        self(arguments)
    }
}

impl<F, Fut, A> HandlerFn<Signature<(Context, A)>> for F
where
    F: Fn(Context, A) -> Fut + Send + Sync + 'static,
    Fut: Future + Send + 'static,
    A: DeserializeOwned + JsonSchema + 'static,
{
    type Arguments = A;
    type Output = Fut::Output;
    type Future = Fut;
    const HAS_ARGUMENTS: bool = true;

    fn call(&self, context: Context, arguments: A) -> Fut {
        self(context, arguments)
    }
}

/// A future of an erased type.
pub(crate) type Running<T> = Pin<Box<dyn Future<Output = T> + Send>>;
