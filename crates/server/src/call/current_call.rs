//! The call that runs in the current task, for the program's own log.

use std::future::Future;

use crate::call::context::Context;

#[cfg(feature = "tracing-layer")]
tokio::task_local! {
    static CURRENT: Context;
}

/// Runs a call: events that it logs belong to this call.
#[cfg(feature = "tracing-layer")]
pub(crate) fn within<F: Future>(context: Context, call: F) -> impl Future<Output = F::Output> {
    CURRENT.scope(context, call)
}

/// Runs a call. No log layer asks for it.
#[cfg(not(feature = "tracing-layer"))]
pub(crate) fn within<F: Future>(_: Context, call: F) -> impl Future<Output = F::Output> {
    call
}

/// The context of the call that runs in the current task.
#[cfg(feature = "tracing-layer")]
pub(crate) fn current() -> Option<Context> {
    CURRENT.try_with(Context::clone).ok()
}
