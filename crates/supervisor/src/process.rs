//! The owner's handle on a running process.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Instant;

use tokio::sync::{mpsc, watch};

use crate::command::Command;
use crate::driver::{self, DesiredState, Running};
use crate::error::SpawnError;
use crate::event::Event;
use crate::kill_handle::KillHandle;
use crate::launch;
use crate::pipes::Pipes;
use crate::policy::StopPolicy;
use crate::working_directory;

/// A running process and its descendants.
///
/// Dropping it kills them all immediately, without a runtime. With a guardian the drop waits until they are gone
/// (milliseconds, at most half a second); without one it only sends the signals.
#[derive(Debug)]
pub struct Process {
    pid: u32,
    desired: watch::Sender<DesiredState>,
    kill_handle: Arc<KillHandle>,
    pipes: Option<Pipes>,
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
        Self::prepare(command).await?.start(policy).await
    }

    /// Starts only the guardian of a process. The caller then creates the socket of
    /// [`Command::env_socket`](crate::command::Command::env_socket) and calls [`Prepared::start`]: from the first instant
    /// of the socket file there is a guardian that removes it.
    ///
    /// # Errors
    ///
    /// See [`SpawnError`]; nothing runs after one.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime.
    pub async fn prepare(command: &Command) -> Result<Prepared<'_>, SpawnError> {
        let command = working_directory::existing(command);
        let prepared = launch::prepare(&command).await?;
        Ok(Prepared { command, prepared })
    }

    /// The id of the process itself, not of its guardian.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// The standard streams of a process whose command is [piped](crate::command::Command::piped), once.
    pub fn take_pipes(&mut self) -> Option<Pipes> {
        self.pipes.take()
    }

    /// Begins a stop: [`Event::CloseLink`], then SIGTERM, then SIGKILL. Returns immediately; [`Event::Exited`] follows.
    /// Further calls have no effect.
    pub fn stop(&self) {
        self.raise(DesiredState::Stop);
    }

    /// Kills the process and its descendants, without waiting. Returns immediately; [`Event::Exited`] follows.
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

/// A process that has not been started, only its guardian. Dropping it ends the guardian.
#[derive(Debug)]
pub struct Prepared<'a> {
    command: Cow<'a, Command>,
    prepared: launch::Prepared,
}

impl Prepared<'_> {
    /// Starts the process, as [`Process::spawn`] does.
    ///
    /// # Errors
    ///
    /// See [`SpawnError`]; nothing runs after one.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime.
    pub async fn start(self, policy: StopPolicy) -> Result<(Process, mpsc::Receiver<Event>), SpawnError> {
        let Self { command, prepared } = self;
        let launched = launch::start(prepared, &command).await?;
        let (desired, changes) = watch::channel(DesiredState::Run);
        let pid = launched.pid;
        let Running { kill_handle, events, pipes } = driver::start(launched, policy, changes, Instant::now())
            .map_err(|source| SpawnError::Other { program: command.program().to_owned(), source })?;
        Ok((Process { pid, desired, kill_handle, pipes }, events))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill_handle.end_now();
    }
}
