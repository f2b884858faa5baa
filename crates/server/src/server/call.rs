//! Runs one call of the service: cancels it with a grace period, catches its panics, and repeats it after questions.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use protomcp_types::ErrorObject;

use crate::catch_unwind::catch_unwind;
use crate::context::Context;
use crate::current_call::within;
use crate::ended::Outcome;
use crate::input_loop;
use crate::service::Service;
use protomcp_session::ServerRequest;

/// Runs one call. The future of the service is dropped before this one ends.
pub(super) async fn run<S: Service>(
    service: Arc<S>,
    mut request: ServerRequest,
    context: Context,
    grace: Duration,
) -> (Context, Outcome) {
    let (mut current, mut round) = (context.clone(), 0);
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
        outcome.unwrap_or_else(|why| {
            tracing::error!(request = %context.request_id(), why, "the service panicked");
            Err(ErrorObject::internal("the server failed while it handled the request"))
        })
    });
    (context, outcome)
}
