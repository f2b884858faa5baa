//! The progress of the starts and reloads of one tool process, for those that wait for them.

use tokio::sync::watch;

use crate::diagnostics::report::Report;

/// The outcome of the last start or reload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It is under way.
    Pending,
    /// The process serves the files as they were at its begin.
    InService,
    /// The version before stays, or none is in service.
    Failed,
}

/// Publishes the outcome.
#[derive(Debug)]
pub(crate) struct Progress {
    sender: watch::Sender<Outcome>,
    failed: bool,
}

impl Progress {
    pub(crate) fn new(sender: watch::Sender<Outcome>) -> Self {
        Self { sender, failed: false }
    }

    /// Takes a report of the core.
    pub(crate) fn report(&mut self, report: &Report) {
        match report {
            Report::NotStarted { .. }
            | Report::ReloadFailed { .. }
            | Report::RestartFailed { .. }
            | Report::Crashed { .. } => self.failed = true,
            Report::Reloaded { .. } | Report::Restarted { .. } => self.failed = false,
            _ => {}
        }
    }

    /// Publishes the outcome if no start or reload is under way.
    pub(crate) fn publish(&self, is_settled: bool) {
        let outcome = if !is_settled {
            Outcome::Pending
        } else if self.failed {
            Outcome::Failed
        } else {
            Outcome::InService
        };
        self.sender.send_if_modified(|known| std::mem::replace(known, outcome) != outcome);
    }
}
