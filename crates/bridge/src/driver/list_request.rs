//! Requests the lists beside tools from a tool process.

use std::time::Duration;

use protomcp_link::{CallError, Link};
use protomcp_proto::{ListPromptsRequest, ListResourceTemplatesRequest, ListResourcesRequest};

use crate::catalog::resources_and_prompts::{Kind, Listed};

/// The time for a process in service to answer. Published SDKs answer nothing while a tool runs.
pub(crate) const RENEWAL_TIMEOUT: Duration = Duration::from_secs(300);

/// Requests one list.
///
/// # Errors
/// See [`CallError`].
pub(crate) async fn ask(link: &Link, kind: Kind, timeout: Duration) -> Result<Listed, CallError> {
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
