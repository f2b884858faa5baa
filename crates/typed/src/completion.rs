//! Suggestions for one argument of a prompt or one variable of a template.

use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::sync::Arc;

use protomcp_server::Context;
use protomcp_types::{Complete, Completion, ErrorObject};

use crate::failure;
use crate::function::Running;

/// The context of a completion.
#[derive(Debug, Clone)]
pub struct CompletionContext {
    /// The other arguments that the user has filled in; since MCP 2025-06-18.
    pub arguments: BTreeMap<String, String>,
    /// The request for the completion.
    pub context: Context,
}

/// A function that completes a text: it takes the text, and optionally the [`CompletionContext`]. Implemented for
/// asynchronous functions and closures.
#[diagnostic::on_unimplemented(
    message = "this function cannot complete an argument",
    note = "it is an async function of a `String`, or of a `String` and `CompletionContext`, and returns a list of strings or a `Completion`"
)]
pub trait CompletionFn<Signature>: Send + Sync + 'static {
    /// The future of a completion.
    type Future: Future<Output: IntoCompletion> + Send + 'static;

    /// Calls the function.
    #[doc(hidden)]
    fn call(&self, value: String, filled: CompletionContext) -> Self::Future;
}

impl<F, Fut> CompletionFn<(String,)> for F
where
    F: Fn(String) -> Fut + Send + Sync + 'static,
    Fut: Future<Output: IntoCompletion> + Send + 'static,
{
    type Future = Fut;

    fn call(&self, value: String, _: CompletionContext) -> Fut {
        self(value)
    }
}

impl<F, Fut> CompletionFn<(String, CompletionContext)> for F
where
    F: Fn(String, CompletionContext) -> Fut + Send + Sync + 'static,
    Fut: Future<Output: IntoCompletion> + Send + 'static,
{
    type Future = Fut;

    fn call(&self, value: String, filled: CompletionContext) -> Fut {
        self(value, filled)
    }
}

/// A value that becomes suggestions: a list of strings, best first, a [`Completion`], or a `Result` of one of them.
pub trait IntoCompletion {
    /// The suggestions. At most [`Completion::MAX_VALUES`] of them are sent, with a mark that there are more.
    ///
    /// # Errors
    /// If they cannot be made.
    fn into_completion(self) -> Result<Completion, ErrorObject>;
}

impl IntoCompletion for Completion {
    fn into_completion(self) -> Result<Completion, ErrorObject> {
        Ok(self)
    }
}

impl<S: Into<String>> IntoCompletion for Vec<S> {
    fn into_completion(self) -> Result<Completion, ErrorObject> {
        Ok(Completion::new(self))
    }
}

impl<T: IntoCompletion, E: fmt::Display + 'static> IntoCompletion for Result<T, E> {
    fn into_completion(self) -> Result<Completion, ErrorObject> {
        self.map_err(failure::of_request)?.into_completion()
    }
}

/// A completing function of any signature.
#[derive(Clone)]
pub(crate) struct Completer(Arc<dyn Fn(String, CompletionContext) -> Completing + Send + Sync>);

type Completing = Running<Result<Completion, ErrorObject>>;

impl Completer {
    pub(crate) fn new<S, C: CompletionFn<S>>(complete: C) -> Self {
        Self(Arc::new(move |value, filled| {
            let running = complete.call(value, filled);
            Box::pin(async move { running.await.into_completion() })
        }))
    }

    pub(crate) async fn complete(&self, request: Complete, context: Context) -> Result<Completion, ErrorObject> {
        let arguments = request.context.and_then(|context| context.arguments);
        let arguments = arguments.and_then(|raw| raw.to().ok()).unwrap_or_default();
        (self.0)(request.argument.value, CompletionContext { arguments, context }).await
    }
}

impl fmt::Debug for Completer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Completer").finish_non_exhaustive()
    }
}

/// The matches among `values`: those that begin with the text, then those that contain it.
pub(crate) fn matching(values: impl IntoIterator<Item = String>, typed: &str) -> Completion {
    let typed = typed.to_lowercase();
    let mut found: Vec<(bool, String)> = values
        .into_iter()
        .filter_map(|value| {
            let lower = value.to_lowercase();
            lower.contains(&typed).then(|| (!lower.starts_with(&typed), value))
        })
        .collect();
    found.sort_by_key(|(later, _)| *later);
    Completion::new(found.into_iter().map(|(_, value)| value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_begin_with_the_text_come_first() {
        let values = ["python", "cython", "rust", "Pypy"].map(str::to_owned);
        assert_eq!(matching(values.clone(), "py").values, ["python", "Pypy"]);
        assert_eq!(matching(values.clone(), "thon").values, ["python", "cython"]);
        assert_eq!(matching(["happy", "python"].map(str::to_owned), "py").values, ["python", "happy"]);
        assert_eq!(matching(values.clone(), "y").values, ["python", "cython", "Pypy"]);
        assert_eq!(matching(values.clone(), "").values.len(), 4);
        let many = matching((0..200).map(|n| n.to_string()), "");
        assert_eq!((many.values.len(), many.total, many.has_more), (100, Some(200), Some(true)));
    }
}
