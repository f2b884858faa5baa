//! Starts and reloads the workers of a pool in their order: a driver of `rolling`.

use std::ops::ControlFlow;

use tokio::sync::{mpsc, oneshot, watch};

use crate::core::io::Input;
use crate::driver::message::{Attachment, Message};
use crate::driver::progress::Outcome;
use crate::pool::rolling::Rolling;

/// A worker as the roller sees it.
#[derive(Debug)]
pub(crate) struct Reloadable {
    pub(crate) inputs: mpsc::Sender<Message>,
    pub(crate) outcome: watch::Receiver<Outcome>,
}

/// Reloads the workers one after another whenever a change is sent. Ends with the bridge.
pub(crate) async fn roll(mut workers: Vec<Reloadable>, mut changes: mpsc::Receiver<Message>) {
    let mut rolling = Rolling::new(workers.len());
    while changes.recv().await.is_some() {
        let mut next = Some(rolling.changed());
        while let Some(worker) = next {
            tokio::select! {
                biased;
                change = changes.recv() => match change {
                    Some(_) => next = Some(rolling.changed()),
                    None => return,
                },
                outcome = reload(&mut workers[worker]) => match outcome {
                    ControlFlow::Continue(reloaded) => next = rolling.settled(reloaded),
                    ControlFlow::Break(()) => return,
                },
            }
        }
    }
}

/// Reloads one worker. Returns true with the new version in service; breaks if the bridge has ended.
async fn reload(worker: &mut Reloadable) -> ControlFlow<(), bool> {
    let (done, taken) = oneshot::channel();
    let message = Message { input: Input::Changed, attached: Attachment::Acknowledge(done) };
    if worker.inputs.send(message).await.is_err() || taken.await.is_err() {
        return ControlFlow::Break(());
    }
    match worker.outcome.wait_for(|outcome| *outcome != Outcome::Pending).await {
        Ok(outcome) => ControlFlow::Continue(*outcome == Outcome::InService),
        Err(_) => ControlFlow::Break(()),
    }
}
