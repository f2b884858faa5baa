//! Requests in the session behind a conversation: from the tasks that answer a client to the connection's driver.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use protomcp_session::{CallId, OutgoingCall, RequestError};
use protomcp_types::{Params, RawJson};
use tokio::sync::{mpsc, oneshot};

use crate::code;
use crate::fault::Fault;
use crate::serve::mcp::answer::{Answer, closed};

/// A handle of the MCP session.
#[derive(Debug)]
pub(in crate::serve) struct SessionRequests {
    // As many commands as requests of the client are in flight, and one more for each.
    commands: mpsc::UnboundedSender<Command>,
    last: AtomicU64,
    /// Longer than any request of a client may take: the conversation ends those.
    timeout: Duration,
}

/// A command to the driver.
#[derive(Debug)]
pub(in crate::serve) enum Command {
    /// Send this request.
    Call(CallId, Box<OutgoingCall>, oneshot::Sender<Result<RawJson, RequestError>>),
    /// The answer is not wanted.
    Cancel(CallId),
}

impl SessionRequests {
    pub(in crate::serve) fn new(timeout: Duration) -> (Self, mpsc::UnboundedReceiver<Command>) {
        let (commands, receiver) = mpsc::unbounded_channel();
        (Self { commands, last: AtomicU64::new(0), timeout }, receiver)
    }

    /// Sends a request. Dropping the future cancels it.
    pub(super) async fn request(&self, method: &'static str, params: Params) -> Answer {
        let mut call = OutgoingCall::new(method, params);
        (call.timeout, call.total_timeout) = (Some(self.timeout), Some(self.timeout));
        let id = CallId::new(self.last.fetch_add(1, Ordering::Relaxed) + 1);
        let (done, answer) = oneshot::channel();
        let mut guard = CancelOnDrop { id: Some(id), commands: &self.commands };
        let sent = self.commands.send(Command::Call(id, Box::new(call), done));
        let outcome = match sent {
            Ok(()) => answer.await.ok(),
            Err(_) => None,
        };
        guard.id = None;
        outcome.ok_or_else(closed)?.map_err(|error| match error {
            RequestError::Refused(error) => Fault::from(error),
            RequestError::Closed(_) => closed(),
            other => Fault::new(code::INTERNAL_ERROR, other.to_string()),
        })
    }
}

/// Cancels a request whose future is dropped.
struct CancelOnDrop<'a> {
    id: Option<CallId>,
    commands: &'a mpsc::UnboundedSender<Command>,
}

impl Drop for CancelOnDrop<'_> {
    fn drop(&mut self) {
        if let Some(id) = self.id {
            // Without a receiver the connection is over, and its requests with it.
            drop(self.commands.send(Command::Cancel(id)));
        }
    }
}
