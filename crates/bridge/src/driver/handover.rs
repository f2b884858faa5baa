//! Hands the state of the process in service over to its successor, before the successor registers.

use std::time::Duration;

use bytes::Bytes;
use protomcp_envelope::{HandOverRequest, HandOverResponse, TakeOverRequest};
use protomcp_link::{CallError, Link};
use tokio::sync::{mpsc, oneshot};

use crate::core::io::Input;
use crate::diagnostics::start_error::StartError;
use crate::driver::message::{Attachment, Message};
use crate::driver::worker_label::WorkerLabel;
use crate::generation::Generation;

/// The time for each of the two processes to answer. A busy machine may stop for seconds.
const STATE_TIME: Duration = Duration::from_secs(5);
/// The largest state, in bytes.
const STATE_MAX: usize = 1 << 20;

/// The way of a process that is being started to the state of the one in service.
#[derive(Debug)]
pub(crate) struct Handover {
    generation: Generation,
    is_expected: bool,
    worker: WorkerLabel,
    driver: mpsc::Sender<Message>,
}

impl Handover {
    /// A state `is_expected` if a process in service hands its state over.
    pub(crate) fn new(
        generation: Generation,
        is_expected: bool,
        worker: WorkerLabel,
        driver: mpsc::Sender<Message>,
    ) -> Self {
        Self { generation, is_expected, worker, driver }
    }

    /// True if there may be a state for the process that is being started.
    pub(crate) fn is_expected(&self) -> bool {
        self.is_expected
    }

    /// The process that is being started.
    pub(crate) fn generation(&self) -> Generation {
        self.generation
    }

    /// Waits until the process in service has no call in flight, and gives its state to its successor. If there is none,
    /// or the successor refuses it, the successor starts without it, and the log has the reason.
    ///
    /// # Errors
    /// If the successor has closed its link, or has not taken the state over in time: its function may still end later,
    /// and change what calls have changed since.
    pub(crate) async fn carry_out(&self, successor: &Link) -> Result<(), StartError> {
        let worker = self.worker;
        let Some(current) = self.predecessor().await else { return Ok(()) };
        let state = match state(&current).await {
            Ok(Some(state)) => state,
            Ok(None) => return Ok(()),
            Err(why) => {
                tracing::warn!("{worker}the new version starts without the state of the version before: {why}");
                return Ok(());
            }
        };
        let size = state.len();
        match successor.call(TakeOverRequest { state }, STATE_TIME).await {
            Ok(answer) if answer.error.is_empty() => {
                tracing::info!("{worker}the new version has taken over the state of the version before ({size} bytes)");
            }
            Ok(answer) => {
                let why = answer.error;
                tracing::warn!("{worker}the new version has not taken over the state of the version before: {why}");
            }
            Err(CallError::Closed(_)) => return Err(StartError::DisconnectedTakingOver),
            Err(CallError::TimedOut(time)) => return Err(StartError::StateNotTakenOver(time)),
            Err(error) => {
                tracing::warn!("{worker}the new version has not taken over the state of the version before: {error}");
            }
        }
        Ok(())
    }

    /// The link of the process whose state is to be taken over, once it has no call in flight.
    async fn predecessor(&self) -> Option<Link> {
        let (successor, decided) = oneshot::channel();
        let message = Message { input: Input::Prepared(self.generation), attached: Attachment::Successor(successor) };
        self.driver.send(message).await.ok()?;
        decided.await.ok()?
    }
}

/// The state of a process; `None`: it has none.
async fn state(process: &Link) -> Result<Option<Bytes>, String> {
    let answer = process.call(HandOverRequest {}, STATE_TIME).await;
    let HandOverResponse { state, error } = answer.map_err(|error| error.to_string())?;
    if !error.is_empty() {
        return Err(error);
    }
    if state.len() > STATE_MAX {
        return Err(format!("it has {} bytes, more than the limit of {STATE_MAX}", state.len()));
    }
    Ok(Some(state).filter(|state| !state.is_empty()))
}
