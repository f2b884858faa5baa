//! Requests the lists other than tools from a tool process.

use std::panic::{self, AssertUnwindSafe};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use protomcp_envelope::{ListPromptsRequest, ListResourceTemplatesRequest, ListResourcesRequest};
use protomcp_link::{CallError, Link};

use crate::catalog::resources_and_prompts::{Kind, Listed};

/// The time for a process in service to answer. Published SDKs answer nothing while a tool runs.
pub(crate) const RENEWAL_TIMEOUT: Duration = Duration::from_secs(300);

/// Requests one list. `None`: the request panicked, which is logged.
///
/// # Errors
/// See [`CallError`].
pub(crate) async fn ask(link: &Link, kind: Kind, timeout: Duration) -> Option<Result<Listed, CallError>> {
    unless_panicking(kind, request(link, kind, timeout)).await
}

async fn request(link: &Link, kind: Kind, timeout: Duration) -> Result<Listed, CallError> {
    let answer = match kind {
        Kind::Resources => link.call(ListResourcesRequest {}, timeout).await.map(|it| Listed::Resources(it.resources)),
        Kind::Templates => {
            link.call(ListResourceTemplatesRequest {}, timeout).await.map(|it| Listed::Templates(it.templates))
        }
        Kind::Prompts => link.call(ListPromptsRequest {}, timeout).await.map(|it| Listed::Prompts(it.prompts)),
    };
    answer.inspect_err(|error| {
        if let CallError::TooManyEntries { .. } | CallError::AnswerTooLarge { .. } | CallError::Malformed(_) = error {
            tracing::warn!("a list of the tool process was refused: {error}");
        }
    })
}

/// Catches a panic of a request: a list without an outcome would be awaited until the next reload.
async fn unless_panicking<T>(kind: Kind, request: impl Future<Output = T>) -> Option<T> {
    let mut request = pin!(request);
    std::future::poll_fn(|cx| {
        // The request is not polled again after a panic.
        match panic::catch_unwind(AssertUnwindSafe(|| request.as_mut().poll(cx))) {
            Ok(poll) => poll.map(Some),
            Err(_) => {
                tracing::error!(?kind, "the request for a list of the tool process panicked; it counts as unanswered");
                Poll::Ready(None)
            }
        }
    })
    .await
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn panics() {
        tokio::task::yield_now().await;
        panic!("for a test");
    }

    #[tokio::test]
    async fn a_panic_counts_as_no_answer() {
        assert_eq!(unless_panicking(Kind::Prompts, panics()).await, None);
        assert_eq!(unless_panicking(Kind::Prompts, async { 7 }).await, Some(7));
    }
}
