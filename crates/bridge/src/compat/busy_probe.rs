//! Waits until a process that runs one handler at a time is free again, after a call was given up.
//!
//! The handler of a cancelled call continues unless it observes the cancellation: published SDKs cannot interrupt one. The
//! next call would spend its time in the SDK's queue, so it waits in the dispatcher, where waiting costs it nothing. A
//! late answer ends the wait. The published Python SDK 0.3.1 never answers a cancelled call, so the process is also
//! asked to call an unknown tool: SDKs take calls in order, and the refusal means that the handler before it has ended.

use protomcp_envelope::CallToolRequest;
use protomcp_link::{Link, Options};
use tokio::sync::oneshot;

use crate::clock::NO_LIMIT;

/// A tool that no process has. A process answers with an error, as for any unknown name.
pub(crate) const PROBE_TOOL: &str = "protomcp/none";

/// Waits for the end of the handler, or of the process. `late` completes with a late answer.
pub(crate) async fn until_free(link: &Link, late: oneshot::Receiver<()>) {
    let request = CallToolRequest { name: PROBE_TOOL.into(), arguments_json: "{}".into(), ..Default::default() };
    // The end of the link ends the wait.
    let refusal = link.call_tool(request, NO_LIMIT, Options::default());
    let since = tokio::time::Instant::now();
    tokio::select! {
        biased;
        // Without a late answer the refusal decides, so the end of the channel has no meaning.
        Ok(()) = late => {}
        _ = refusal => {}
    }
    tracing::debug!(waited_ms = since.elapsed().as_millis(), "a call that was given up has left its process");
}
