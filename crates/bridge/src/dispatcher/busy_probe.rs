//! Waits until a process takes calls again, after one was given up.
//!
//! The handler of a cancelled call continues unless it observes the cancellation: published SDKs cannot interrupt one. In a
//! process that runs one handler at a time, the next call would spend its time in the SDK's queue; in others a handler may
//! block the event loop of all. So calls wait in the dispatcher, where waiting costs them nothing. A late answer ends the
//! wait. The published Python SDK 0.3.1 never answers a cancelled call, so the process is also asked to call an unknown
//! tool: SDKs take calls in order, and the refusal means that the handler before it has ended, or has made way.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use protomcp_envelope::{CallAnswer, CallToolRequest, NO_TOOL};
use protomcp_link::{CallError, Link, Options};
use tokio::sync::oneshot;

use crate::clock::NO_LIMIT;

/// The pause before the second probe; each further one is twice as long.
const SOON: Duration = Duration::from_millis(50);
/// The longest pause.
const OFTEN: Duration = Duration::from_secs(1);

/// Waits until the process takes calls again, or has ended. `late` completes with a late answer. `note` is called with true
/// when a probe has been sent, behind all requests before, and with false when it has to be sent again.
pub(super) async fn until_free(link: &Link, late: oneshot::Receiver<()>, note: impl Fn(bool)) {
    let since = tokio::time::Instant::now();
    tokio::select! {
        biased;
        // Without a late answer the refusal decides, so the end of the channel has no meaning.
        Ok(()) = late => {}
        () = until_refused(link, note) => {}
    }
    tracing::debug!(waited_ms = since.elapsed().as_millis(), "the process takes calls again, or has ended");
}

/// Sends probes until the process has answered one, or its link has ended.
async fn until_refused(link: &Link, note: impl Fn(bool)) {
    let mut pause = SOON;
    loop {
        let mut probe = pin!(probe(link));
        // The first poll puts it into the queue of the link.
        let first = poll_fn(|cx| Poll::Ready(probe.as_mut().poll(cx))).await;
        note(true);
        let answer = match first {
            Poll::Ready(answer) => answer,
            Poll::Pending => probe.await,
        };
        // The end of a probe that a reload interrupts, or that is not sent, says nothing about the handler.
        if !matches!(answer, Err(CallError::Interrupted | CallError::Busy(_))) {
            return;
        }
        note(false);
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(OFTEN);
    }
}

async fn probe(link: &Link) -> Result<CallAnswer, CallError> {
    let request = CallToolRequest { name: NO_TOOL.into(), arguments_json: "{}".into(), ..Default::default() };
    link.call_tool(request, NO_LIMIT, Options::default()).await
}

#[cfg(test)]
mod tests {
    use protomcp_envelope::ListPromptsRequest;
    use protomcp_link::{Config, drive};
    use tokio::io::{AsyncReadExt, DuplexStream};

    use super::*;

    /// Waits until the process has received a request with this text.
    async fn receives(process: &mut DuplexStream, text: &str) {
        let mut received = Vec::new();
        while !received.windows(text.len()).any(|part| part == text.as_bytes()) {
            let length = process.read_buf(&mut received).await.unwrap();
            assert_ne!(length, 0, "the link is open");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_probe_without_an_answer_is_sent_again() {
        let (mut process, io) = tokio::io::duplex(64 * 1024);
        let (link, _events) = drive(io, Config { requests_list: false, max_pending: 1, ..Config::default() });
        // It is the only request that may be in flight.
        let other = tokio::spawn({
            let link = link.clone();
            async move { drop(link.call(ListPromptsRequest {}, NO_LIMIT).await) }
        });
        process.read_u8().await.expect("it is sent");
        let (_never, late) = oneshot::channel();
        let waiting = tokio::spawn({
            let link = link.clone();
            async move { until_free(&link, late, |_| {}).await }
        });
        tokio::time::sleep(Duration::from_secs(60)).await;
        assert!(!waiting.is_finished(), "the process has answered nothing");
        other.abort();
        receives(&mut process, NO_TOOL).await;
        link.interrupt();
        receives(&mut process, NO_TOOL).await;
        assert!(!waiting.is_finished(), "the process has answered nothing");
        drop(process);
        waiting.await.expect("the end of the link ends the wait");
    }
}
