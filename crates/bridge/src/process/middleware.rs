//! The middleware that a tool process has registered, run around its calls (docs/envelope.md, "Middleware").
//!
//! Before a call it runs from the lowest priority to the highest, and may rewrite the arguments or reject the call;
//! after it in reverse, and may rewrite the result. Each step is a request to the process. A failure before a call
//! fails the call, because a call must not bypass an audit or a limit; a failure after it is logged, because the tool
//! has run.

use std::sync::Arc;

use bytes::Bytes;
use protomcp_envelope::{CallToolResponse, MiddlewareInterceptRequest, MiddlewareInterceptResponse};
use protomcp_link::{CallError, CallId, Middleware, Options};
use protomcp_server::Context;
use protomcp_types::{Kind, RawJson};

use crate::diagnostics::failure::Failure;
use crate::process::deadline::Deadline;
use crate::process::request_context;
use crate::process::tool_process::ToolProcess;
use protomcp_schema::GoDuration;

/// Middleware in the order in which it runs before a call.
#[derive(Debug, Clone, Default)]
pub(crate) struct MiddlewareChain(Arc<[Middleware]>);

/// The answer of a middleware before a call.
#[derive(Debug, PartialEq)]
enum Before {
    Arguments(Bytes),
    /// Something else than an object; the arguments stay.
    Invalid,
    Rejected(String),
}

/// The call that is intercepted, and its process.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Target<'a> {
    pub(crate) process: &'a ToolProcess,
    pub(crate) call: CallId,
    pub(crate) tool: &'a str,
    pub(crate) time: &'a Deadline,
    pub(crate) context: &'a Context,
}

impl Target<'_> {
    async fn intercept(self, request: MiddlewareInterceptRequest) -> Result<MiddlewareInterceptResponse, CallError> {
        let left = self.time.remaining();
        let known = request_context::for_process(self.process.sdk(), self.context, left);
        self.process.link().call_with(request, left, Options::default().for_call(self.call).context(known)).await
    }
}

impl MiddlewareChain {
    /// Sorts by priority; ties keep the order of registration.
    pub(crate) fn new(mut middleware: Vec<Middleware>) -> Self {
        middleware.sort_by_key(|middleware| middleware.priority);
        Self(middleware.into())
    }

    /// The same with one more, which replaces the one of the same name if there is one.
    pub(crate) fn with(&self, middleware: &Middleware) -> Self {
        let others = self.0.iter().filter(|known| known.name != middleware.name);
        Self::new(others.chain([middleware]).cloned().collect())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The arguments for the call of the tool.
    pub(crate) async fn before(&self, target: Target<'_>, mut arguments: Bytes) -> Result<Bytes, Failure> {
        let Target { tool, time, .. } = target;
        for Middleware { name, .. } in &*self.0 {
            let request = MiddlewareInterceptRequest {
                middleware_name: name.clone(),
                phase: "before".into(),
                tool_name: tool.into(),
                arguments_json: arguments.clone(),
                ..Default::default()
            };
            let answer = match target.intercept(request).await {
                Ok(answer) => answer,
                // The cause is not the middleware.
                Err(error @ (CallError::Closed(_) | CallError::Interrupted | CallError::Busy(_))) => {
                    return Err(target.process.call_failure(tool, error, &target.context.caller().owner).await);
                }
                Err(error) => {
                    let (middleware, is_running) = (name.clone(), matches!(error, CallError::TimedOut(_)));
                    return Err(Failure::Middleware { middleware, why: why(&error, time), is_running });
                }
            };
            match read_before(answer, &arguments) {
                Before::Arguments(rewritten) => arguments = rewritten,
                Before::Invalid => {
                    tracing::warn!(
                        "middleware \"{name}\" rewrote the arguments of \"{tool}\" into something that is not a JSON object; ignored"
                    );
                }
                Before::Rejected(reason) => return Err(Failure::Rejected { middleware: name.clone(), reason }),
            }
        }
        Ok(arguments)
    }

    /// Runs the middleware after the call, which may rewrite the answer of the tool. Returns false if a middleware may
    /// still be running.
    pub(crate) async fn after(&self, target: Target<'_>, arguments: &Bytes, response: &mut CallToolResponse) -> bool {
        let Target { tool, time, .. } = target;
        let mut has_ended = true;
        for Middleware { name, .. } in self.0.iter().rev() {
            if time.remaining().is_zero() {
                tracing::warn!("middleware \"{name}\" does not run after \"{tool}\": the time of the call is over");
                continue;
            }
            let request = MiddlewareInterceptRequest {
                middleware_name: name.clone(),
                phase: "after".into(),
                tool_name: tool.into(),
                arguments_json: arguments.clone(),
                result_json: response.result_json.clone(),
                is_error: response.is_error,
            };
            match target.intercept(request).await {
                // Published SDKs send "reject" when the middleware itself has failed.
                Ok(answer) if answer.reject => {
                    tracing::warn!("middleware \"{name}\" failed after \"{tool}\": {}", answer.reject_reason);
                }
                Ok(answer) if answer.result_json.is_empty() => {}
                Ok(answer) => response.result_json = answer.result_json,
                Err(error) => {
                    has_ended &= !matches!(error, CallError::TimedOut(_));
                    tracing::warn!("middleware \"{name}\" after \"{tool}\": {}", why(&error, time));
                }
            }
        }
        has_ended
    }
}

/// Middleware has the time of the whole call, or the rest of it.
fn why(error: &CallError, time: &Deadline) -> String {
    match error {
        CallError::TimedOut(_) => format!("the time of the call, {}, is over", GoDuration(time.total())),
        other => other.to_string(),
    }
}

/// An empty answer, or the sent arguments, mean that the arguments stay.
fn read_before(answer: MiddlewareInterceptResponse, sent: &Bytes) -> Before {
    if answer.reject {
        return Before::Rejected(answer.reject_reason);
    }
    if answer.arguments_json.is_empty() || answer.arguments_json == sent {
        return Before::Arguments(sent.clone());
    }
    match RawJson::parse_lossy(answer.arguments_json) {
        Ok(rewritten) if rewritten.kind() == Kind::Object => Before::Arguments(rewritten.into_bytes()),
        _ => Before::Invalid,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lower_priorities_come_first_and_ties_keep_their_order() {
        let middleware = |name: &str, priority| Middleware { name: name.into(), priority };
        let chain =
            MiddlewareChain::new(vec![middleware("c", 5), middleware("a", -1), middleware("d", 5), middleware("b", 0)]);
        let names: Vec<_> = chain.0.iter().map(|middleware| middleware.name.as_str()).collect();
        assert_eq!(names, ["a", "b", "c", "d"]);
        let more = chain.with(&middleware("late", 5)).with(&middleware("a", 1)).with(&middleware("a", 1));
        let names: Vec<_> = more.0.iter().map(|middleware| middleware.name.as_str()).collect();
        assert_eq!(names, ["b", "a", "c", "d", "late"], "one that registers again changes its place");
    }

    #[test]
    fn an_answer_before_a_call_is_read_with_care() {
        let sent = Bytes::from_static(br#"{"a":1}"#);
        let answer = |arguments: &'static str, reject: bool| MiddlewareInterceptResponse {
            arguments_json: Bytes::from_static(arguments.as_bytes()),
            reject,
            reject_reason: "no".into(),
            ..Default::default()
        };
        let check = |arguments, reject, expected| assert_eq!(read_before(answer(arguments, reject), &sent), expected);
        check("", false, Before::Arguments(sent.clone()));
        check(r#"{"a":1}"#, false, Before::Arguments(sent.clone()));
        check(r#"{"a":2}"#, false, Before::Arguments(Bytes::from_static(br#"{"a":2}"#)));
        check("[1]", false, Before::Invalid);
        check("{broken", false, Before::Invalid);
        check(r#"{"a":2}"#, true, Before::Rejected("no".into()));
    }
}
