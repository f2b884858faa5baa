//! Keeps a panic inside the handler that caused it.

use std::future::Future;
use std::panic::{self, AssertUnwindSafe};
use std::pin::pin;
use std::task::Poll;

/// Runs a future; `None` after a panic, which the panic hook has reported.
pub(crate) async fn catch_unwind<F: Future>(start: impl FnOnce() -> F) -> Option<F::Output> {
    let future = panic::catch_unwind(AssertUnwindSafe(start)).ok()?;
    let mut future = pin!(future);
    std::future::poll_fn(|cx| match panic::catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(cx))) {
        Ok(poll) => poll.map(Some),
        Err(_) => Poll::Ready(None),
    })
    .await
}
