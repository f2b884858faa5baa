//! Ends parked calls and tasks whose time is up.
//!
//! One task checks all of them once a second, and runs only while there are any. When the server stops, it cancels
//! them: their clients cannot return. Tasks whose results other processes can read get the time of the drain first.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::call::kept_tasks::KeptTasks;
use crate::records::clock::now;
use crate::state::handle::{ServerHandle, ServerState};

/// The time between two checks.
const EVERY: Duration = Duration::from_secs(1);

impl ServerHandle {
    /// Starts the sweeping task, unless it runs.
    pub(crate) fn sweep(&self) {
        if !self.0.is_swept.swap(true, Ordering::AcqRel) {
            tokio::spawn(run(Arc::downgrade(&self.0), self.shutdown_token()));
        }
    }
}

async fn run(state: Weak<ServerState>, shutdown: CancellationToken) {
    loop {
        let _is_later = timeout(EVERY, shutdown.cancelled()).await;
        let Some(state) = state.upgrade() else { return };
        if shutdown.is_cancelled() {
            state.parked.cancel_all();
            if state.are_tasks_shared() {
                let _late = timeout(state.limits.drain_timeout, tasks_over(&state.tasks)).await;
            }
            // They stay: their clients may still query them.
            state.tasks.end_stateless();
        } else {
            state.parked.expire(now());
            state.tasks.expire(now());
        }
        let are_tasks_over = || state.tasks.is_empty() || (shutdown.is_cancelled() && !state.tasks.has_stateless());
        let is_done = || state.parked.is_empty() && are_tasks_over();
        if is_done() {
            state.is_swept.store(false, Ordering::Release);
            // A call or task may have been added in between.
            if is_done() || state.is_swept.swap(true, Ordering::AcqRel) {
                return;
            }
        }
    }
}

/// Waits until all tasks without a session have ended, or their time is up.
async fn tasks_over(tasks: &KeptTasks) {
    while timeout(EVERY, tasks.stateless_ended()).await.is_err() {
        tasks.expire(now());
    }
}
