//! The standard streams of a process that its owner talks to.

use tokio::net::unix::pipe::{Receiver, Sender};

/// Standard input and output of a process; see [`Command::piped`](crate::command::Command::piped).
#[derive(Debug)]
pub struct Pipes {
    /// The standard input of the process, which ends when this is dropped.
    pub stdin: Sender,
    /// The standard output of the process. It ends when the process and all descendants that inherited it have closed
    /// it.
    pub stdout: Receiver,
}
