//! An input for the core, with an attachment that only the driver handles.

use protomcp_link::Event;
use tokio::sync::{mpsc, oneshot};

use crate::core::io::Input;
use crate::diagnostics::start_error::StartError;
use crate::driver::launcher::PendingLists;
use crate::process::tool_process::ToolProcess;

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
