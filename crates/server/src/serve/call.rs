//! Runs one call of the service: cancels it with a grace period, catches its panics, and repeats it after questions.

use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use protomcp_types::{ErrorObject, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, RawJson, code};

use crate::call::catch_unwind::catch_unwind;
use crate::call::context::Context;
use crate::call::current_call::within;
use crate::call::ended::Outcome;
use crate::service::Service;
use crate::service::input_loop;
use protomcp_session::{ServerRequest, ServerResult};

/// A call that runs, until its outcome.
pub(super) type Running = Pin<Box<dyn Future<Output = (Context, Outcome)> + Send>>;

/// Runs one call. The future of the service is dropped before this one ends.
pub(super) async fn run<S: Service>(
    service: Arc<S>,
    mut request: ServerRequest,
    context: Context,
    grace: Duration,
) -> (Context, Outcome) {
    let (mut current, mut round, empty) = (context.clone(), 0, empty_list(&request));
    let outcome = loop {
        let kept = input_loop::keep(&request, &context);
        let outcome = {
            let mut call = pin!(catch_unwind(|| within(current.clone(), service.call(request, current.clone()))));
            tokio::select! {
                biased;
                outcome = &mut call => Some(outcome),
                () = context.cancelled() => tokio::time::timeout(grace, call).await.ok(),
            }
        };
        let (Some(kept), Some(Ok(answer))) = (kept, &outcome) else { break outcome };
        let Some(required) = input_loop::required(&current, answer) else { break outcome };
        round += 1;
        // Boxed, because few calls get here and the future of each would hold it.
        match Box::pin(input_loop::ask(&kept, &context, required, round)).await {
            Ok(next) => (current, request) = (next, kept),
            Err(refusal) => break Some(Ok(refusal)),
        }
    };
    let outcome = outcome.map(|outcome| {
        let answer = outcome.unwrap_or_else(|why| {
            tracing::error!(request = %context.request_id(), why, "the service panicked");
            Err(ErrorObject::internal("the server failed while it handled the request"))
        });
        match (answer, empty) {
            (Err(error), Some(empty)) if error.code == code::METHOD_NOT_FOUND => Ok(empty),
            (answer, _) => answer,
        }
    });
    (context, outcome)
}

/// The answer to a list that the service does not have. Some hosts ask for all lists, whatever the server declares, and
/// show an error as a server that has failed.
fn empty_list(request: &ServerRequest) -> Option<ServerResult> {
    match request {
        ServerRequest::ListResources(_) => Some(ListResourcesResult::new(RawJson::EMPTY_ARRAY).into()),
        ServerRequest::ListResourceTemplates(_) => Some(ListResourceTemplatesResult::new(RawJson::EMPTY_ARRAY).into()),
        ServerRequest::ListPrompts(_) => Some(ListPromptsResult::new(RawJson::EMPTY_ARRAY).into()),
        _ => None,
    }
}
