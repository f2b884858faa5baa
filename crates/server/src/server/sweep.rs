//! Parks calls and keeps tasks, and ends those whose time is up.
//!
//! One task checks all of them once a second, and runs only while there are any. When the server stops, it cancels
//! them: their clients cannot return.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use crate::context::Context;
use crate::mrtr::StatelessTask;
use crate::server::handle::{ServerHandle, ServerState};
use crate::task_store::Belongs;

/// The time between two checks.
const EVERY: Duration = Duration::from_secs(1);

impl ServerHandle {
    /// Parks a call; see [`ParkedCalls::park`](crate::parked::ParkedCalls::park).
    pub(super) fn park(&self, call: Context, now: Instant, until: Instant) -> Option<u128> {
        let owner = call.caller().owner.clone();
        let number = self.0.parked.park(call, owner, now, until)?;
        self.sweep();
        Some(number)
    }

    /// Keeps a task and returns its id; `None`: there is no room.
    pub(super) fn keep_task(
        &self,
        belongs: Belongs<Option<Arc<str>>>,
        now: Instant,
        until: Instant,
        task: StatelessTask,
    ) -> Option<String> {
        let mut id = String::new();
        let make = |chosen: &str| {
            chosen.clone_into(&mut id);
            task
        };
        let (_, gone) = self.0.tasks.keep(belongs, now, until, make)?;
        gone.iter().for_each(StatelessTask::cancel);
        self.sweep();
        Some(id)
    }

    /// Starts the sweeping task, unless it runs.
    fn sweep(&self) {
        if !self.0.is_swept.swap(true, Ordering::AcqRel) {
            tokio::spawn(run(Arc::downgrade(&self.0), self.shutdown_token()));
        }
    }
}

async fn run(state: Weak<ServerState>, shutdown: CancellationToken) {
    loop {
        let _is_later = tokio::time::timeout(EVERY, shutdown.cancelled()).await;
        let Some(state) = state.upgrade() else { return };
        if shutdown.is_cancelled() {
            state.parked.cancel_all();
            // They stay: their clients may still query them.
            state.tasks.all().iter().for_each(StatelessTask::cancel);
        } else {
            let now = tokio::time::Instant::now().into_std();
            state.parked.expire(now);
            state.tasks.expire(now).iter().for_each(StatelessTask::cancel);
        }
        let is_done = || state.parked.is_empty() && (state.tasks.is_empty() || shutdown.is_cancelled());
        if is_done() {
            state.is_swept.store(false, Ordering::Release);
            // A call or task may have been added in between.
            if is_done() || state.is_swept.swap(true, Ordering::AcqRel) {
                return;
            }
        }
    }
}
