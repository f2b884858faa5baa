//! Waits until a process that runs one handler at a time is free again, after a call was given up.
//!
//! A handler that nobody waits for any more goes on unless it minds the cancellation: published SDKs cannot interrupt one.
//! A call written meanwhile would spend its time in the SDK's queue, so it waits before the lane, where waiting is free.
//! A late answer ends the wait. The published Python SDK 0.3.1 never sends one for a call that was cancelled, so
//! the process is also asked to call a tool that it does not have: SDKs take calls in order, and the refusal says that the
//! handler before it has ended. One that stays silent is sent the next call after so much time as the first one had.

use std::time::Duration;

use protomcp_link::{CallError, Link, Options};
use protomcp_proto::CallToolRequest;
use tokio::sync::oneshot;

use crate::duration::GoDuration;

/// The tool that no process has. A process answers with an error, as for any name it does not know.
pub(crate) const PROBE_TOOL: &str = "protomcp/none";

/// Waits for the end of the handler, no longer than `patience`. `late` completes when the answer comes after all.
pub(crate) async fn until_free(link: &Link, late: oneshot::Receiver<()>, patience: Duration) {
    let request = CallToolRequest { name: PROBE_TOOL.into(), arguments_json: "{}".into(), ..Default::default() };
    let refusal = link.call_tool(request, patience, Options::default());
    let since = tokio::time::Instant::now();
    tokio::select! {
        biased;
        // Without a late answer the refusal says it, so the end of the channel is of no account.
        Ok(()) = late => {}
        refusal = refusal => {
            if let Err(CallError::TimedOut(after)) = refusal {
                tracing::warn!(
                    "the tool process is still busy {} after a call was given up; the next call is sent all the same",
                    GoDuration(after)
                );
                return;
            }
        }
    }
    tracing::debug!(waited_ms = since.elapsed().as_millis(), "a call that was given up has left its process");
}
