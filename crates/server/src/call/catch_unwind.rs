//! Keeps a panic inside the call that caused it.

use std::any::Any;
use std::future::Future;
use std::panic::{self, AssertUnwindSafe};
use std::pin::pin;
use std::task::Poll;

/// Runs a future and returns a panic as its message. The future is not polled again after a panic.
pub(crate) async fn catch_unwind<F: Future>(start: impl FnOnce() -> F) -> Result<F::Output, String> {
    let future = panic::catch_unwind(AssertUnwindSafe(start)).map_err(|panic| message(&*panic))?;
    let mut future = pin!(future);
    std::future::poll_fn(|cx| match panic::catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(cx))) {
        Ok(poll) => poll.map(Ok),
        Err(panic) => Poll::Ready(Err(message(&*panic))),
    })
    .await
}

fn message(panic: &(dyn Any + Send)) -> String {
    match (panic.downcast_ref::<&str>(), panic.downcast_ref::<String>()) {
        (Some(text), _) => (*text).to_owned(),
        (None, Some(text)) => text.clone(),
        (None, None) => "unknown reason".to_owned(),
    }
}
