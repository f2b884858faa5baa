//! Asks a process if it takes calls, after a request was given up: a driver of `probes`.

use std::pin::pin;
use std::sync::Arc;

use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::dispatcher::busy_probe::until_free;
use crate::dispatcher::load_event::LoadEvent;
use crate::dispatcher::probes::GivenUp;
use crate::dispatcher::state::State;
use crate::dispatcher::{Dispatcher, Waiter};
use crate::generation::Generation;
use crate::process::tool_process::ToolProcess;

impl Dispatcher {
    /// Sends a probe to this process, because the handler of this request may hold up others.
    pub(super) fn probe(self: &Arc<Self>, state: &mut State<Waiter>, generation: Generation, given_up: GivenUp) {
        let process = state.processes.get(&generation).cloned();
        if let (Some(process), Ok(runtime)) = (process, Handle::try_current())
            && state.probes.begin(generation, given_up)
        {
            runtime.spawn(Arc::clone(self).await_answer(process));
        }
    }

    /// Reports a process that does not answer while calls wait, again after each `QueueLimits::grace`.
    async fn await_answer(self: Arc<Self>, process: Arc<ToolProcess>) {
        let generation = process.generation();
        let note = |is_sent: bool| {
            let mut state = self.lock();
            state.probes.set_sent(generation, is_sent.then(|| process.link().new_call()));
            self.grant(state);
        };
        loop {
            let (_no_answer, late) = oneshot::channel();
            let mut answered = pin!(until_free(process.link(), late, note));
            let mut was_over = self.culprit(generation).is_some();
            while timeout(self.waits.grace, &mut answered).await.is_err() {
                let culprit = self.culprit(generation);
                let is_over = culprit.is_some();
                if let Some(GivenUp { tool, .. }) = culprit
                    && was_over
                    && self.lock().scheduler.waits_for(generation)
                {
                    self.send(LoadEvent::Stuck(generation, tool));
                }
                was_over = is_over;
            }
            let mut state = self.lock();
            let since = state.probes.answered(generation);
            // Calls go between two probes, however closely they follow one another.
            self.grant(state);
            if !since.is_some_and(|given_up| self.lock().probes.begin(generation, given_up)) {
                return;
            }
        }
    }

    /// The request that may hold up others, if all that were made before the probe are over.
    fn culprit(&self, generation: Generation) -> Option<GivenUp> {
        let state = self.lock();
        state.probes.culprit(generation, &state.attribution).cloned()
    }
}
