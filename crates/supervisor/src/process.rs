//! The owner's handle on a running process.

use std::sync::Arc;
use std::time::Instant;

use tokio::sync::{mpsc, watch};

use crate::command::Command;
use crate::driver::{self, DesiredState};
use crate::error::SpawnError;
use crate::event::Event;
use crate::kill_handle::KillHandle;
use crate::launch::launch;
use crate::policy::StopPolicy;

/// A running process and its descendants.
///
/// Dropping it kills them all at once, without a runtime. With a guardian the drop waits until they are gone
/// (milliseconds, at most half a second); without one it only sends the signals.
#[derive(Debug)]
pub struct Process {
    pid: u32,
    desired: watch::Sender<DesiredState>,
    kill_handle: Arc<KillHandle>,
}

impl Process {
    /// Starts a process; returns once the program is executed, which takes a millisecond or two.
    ///
    /// The events come from a task of the current runtime, which must have I/O and time enabled. They begin with
    /// [`Event::Started`] and end with [`Event::Exited`]. Unread events block nothing: lines are queued up to
    /// [`MAX_BACKLOG`](crate::backlog::MAX_BACKLOG) bytes and counted beyond.
    ///
    /// Dropping the future before it is ready leaves nothing behind.
    ///
    /// # Errors
    ///
    /// See [`SpawnError`]; nothing runs after one.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime.
    pub async fn spawn(command: &Command, policy: StopPolicy) -> Result<(Self, mpsc::Receiver<Event>), SpawnError> {
        let launched = launch(command).await?;
        let (desired, changes) = watch::channel(DesiredState::Run);
        let pid = launched.pid;
        let (kill_handle, events) = driver::start(launched, policy, changes, Instant::now())
            .map_err(|source| SpawnError::Other { program: command.program().to_owned(), source })?;
        Ok((Self { pid, desired, kill_handle }, events))
    }

    /// The id of the process itself, not of its guardian.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Begins a stop: [`Event::CloseLink`], then SIGTERM, then SIGKILL. Returns at once; [`Event::Exited`] follows.
    /// Further calls have no effect.
    pub fn stop(&self) {
        self.raise(DesiredState::Stop);
    }

    /// Kills the process and its descendants, without waiting. Returns at once; [`Event::Exited`] follows.
    pub fn kill(&self) {
        self.kill_handle.kill();
        self.raise(DesiredState::Kill);
    }

    /// Only raises the desired state: a kill stays a kill.
    fn raise(&self, state: DesiredState) {
        self.desired.send_if_modified(|desired| {
            let is_more = state > *desired;
            *desired = state.max(*desired);
            is_more
        });
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill_handle.end_now();
    }
}
