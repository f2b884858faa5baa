//! An input for the core, with an attachment that only the driver handles.

use protomcp_link::{Closed, Event, Link};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

use crate::catalog::resources_and_prompts::Listed;
use crate::core::io::Input;
use crate::diagnostics::start_error::StartError;
use crate::process::tool_process::ToolProcess;

/// Open requests for the lists other than tools; dropping them withdraws them.
pub(crate) type PendingLists = JoinSet<Result<Listed, Closed>>;

/// An input and its attachment.
#[derive(Debug)]
pub(crate) struct Message {
    pub(crate) input: Input,
    pub(crate) attached: Attachment,
}

/// The attachment of an input.
#[derive(Debug)]
pub(crate) enum Attachment {
    None,
    /// With [`Input::Started`].
    Process(Box<NewProcess>),
    /// With [`Input::Prepared`]: the process waits for the link of the one whose state it takes over; `None`: for no state.
    Successor(oneshot::Sender<Option<Link>>),
    /// With [`Input::StartFailed`] and [`Input::CannotStart`].
    StartError(StartError),
    /// The sender waits until the effects are applied.
    Acknowledge(oneshot::Sender<()>),
}

/// A process that takes calls, and its link.
#[derive(Debug)]
pub(crate) struct NewProcess {
    pub(crate) process: ToolProcess,
    pub(crate) events: mpsc::Receiver<Event>,
    /// The lists that it has not sent yet.
    pub(crate) pending: PendingLists,
}

impl From<Input> for Message {
    fn from(input: Input) -> Self {
        Self { input, attached: Attachment::None }
    }
}
