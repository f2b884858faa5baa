//! The task of one call: runs the service, minds cancellation, and reports the end in every case.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use protomcp_types::ErrorObject;

use crate::context::Context;
use crate::request::{ServerRequest, ServerResult};
use crate::service::Service;

/// Runs one call. The future of the service is gone before the end is reported.
pub(super) async fn run<S: Service>(service: Arc<S>, request: ServerRequest, context: Context, grace: Duration) {
    let mut report = Report { context: context.clone(), open: true };
    let outcome = {
        let mut call = pin!(service.call(request, context.clone()));
        tokio::select! {
            biased;
            outcome = &mut call => Some(outcome),
            () = context.cancelled() => tokio::time::timeout(grace, call).await.ok(),
        }
    };
    report.done(outcome);
}

/// Reports the end of a call, also when it panics or is torn down.
struct Report {
    context: Context,
    open: bool,
}

impl Report {
    fn done(&mut self, outcome: Option<Result<ServerResult, ErrorObject>>) {
        self.open = false;
        self.context.outbox().done(self.context.ticket().clone(), outcome);
    }
}

impl Drop for Report {
    fn drop(&mut self) {
        if self.open {
            tracing::error!(request = %self.context.request_id(), "the service panicked");
            self.done(Some(Err(ErrorObject::internal("the server failed while it handled the request"))));
        }
    }
}
