//! Requests in the session behind a conversation: from the tasks that answer a client to the connection's driver.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use protomcp_session::{CallId, Extensions, OutgoingCall, RequestError};
use protomcp_types::{Params, RawJson};
use tokio::sync::{mpsc, oneshot};

use crate::code;
use crate::fault::Fault;

/// A handle of the MCP session.
#[derive(Debug)]
pub(in crate::serve) struct SessionRequests {
    // As many commands as requests of the client are in flight, and one more for each.
    commands: mpsc::UnboundedSender<Command>,
    last: Arc<AtomicU64>,
    /// Longer than any request of a client may take: the conversation ends those.
    timeout: Duration,
    /// The facts about the client of these requests; `None`: those about the peer.
    known: Option<Extensions>,
}

/// The name of the field with the number of a call, which comes back with its message. It never leaves this process.
pub(in crate::serve) const CALL_FIELD: &str = "call";

/// A command to the driver.
#[derive(Debug)]
pub(in crate::serve) enum Command {
    /// Send this request.
    Call {
        id: CallId,
        call: Box<OutgoingCall>,
        /// The facts about its client; `None`: those about the peer.
        known: Option<Extensions>,
        done: oneshot::Sender<Result<RawJson, RequestError>>,
    },
    /// The answer is not wanted.
    Cancel(CallId),
}

impl SessionRequests {
    pub(in crate::serve) fn new(timeout: Duration) -> (Self, mpsc::UnboundedReceiver<Command>) {
        let (commands, receiver) = mpsc::unbounded_channel();
        (Self { commands, last: Arc::default(), timeout, known: None }, receiver)
    }

    /// The same for requests of this bearer of a token.
    pub(in crate::serve) fn for_bearer(&self, known: Extensions) -> Self {
        let (commands, last) = (self.commands.clone(), Arc::clone(&self.last));
        Self { commands, last, timeout: self.timeout, known: Some(known) }
    }

    /// Sends a request. Dropping the future cancels it.
    pub(super) async fn request(&self, method: &'static str, params: Params) -> Result<RawJson, Fault> {
        let mut call = OutgoingCall::new(method, params);
        (call.timeout, call.total_timeout) = (Some(self.timeout), Some(self.timeout));
        let number = self.last.fetch_add(1, Ordering::Relaxed) + 1;
        if self.known.is_some() {
            call.fields.push((CALL_FIELD.to_owned(), number.to_string()));
        }
        let id = CallId::new(number);
        let (done, answer) = oneshot::channel();
        let mut guard = CancelOnDrop { id: Some(id), commands: &self.commands };
        let (call, known) = (Box::new(call), self.known.clone());
        let sent = self.commands.send(Command::Call { id, call, known, done });
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

/// The fault of a request that the end of the server has overtaken.
fn closed() -> Fault {
    Fault::new(code::INTERNAL_ERROR, "the server is shutting down").with("reason", "shutdown")
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
