//! The slot of a handler whose call was given up, or has become a task, until the handler has ended: a driver of
//! `busy_probe`.

use std::pin::pin;
use std::sync::Arc;

use protomcp_link::CallId;
use protomcp_types::ToolName;
use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::dispatcher::Dispatcher;
use crate::dispatcher::busy_probe::until_free;
use crate::dispatcher::load_event::LoadEvent;
use crate::dispatcher::permit::Permit;
use crate::dispatcher::scheduler::Slot;
use crate::generation::Generation;
use crate::process::tool_process::ToolProcess;

impl Dispatcher {
    /// A call continues as a task. Returns its slot from now on. If the process has said that its handlers run one at a time,
    /// the handler of the task keeps the others from running, and the slot is free when it has ended.
    pub(crate) fn detach(self: &Arc<Self>, permit: &Permit) -> Slot {
        let (process, generation) = (permit.process(), permit.process().generation());
        let mut state = self.lock();
        let slot = state.scheduler.detach(generation);
        if !process.sdk().runs_in_turn {
            state.attribution.detach(generation, permit.call());
        }
        if let (Slot::Detached, true, Some(tool)) = (slot, process.sdk().runs_in_turn, permit.tool()) {
            state.scheduler.keep(generation);
            let (_no_answer, late) = oneshot::channel();
            tokio::spawn(Arc::clone(self).keep_slot(Arc::clone(process), permit.call(), tool.clone(), late));
        }
        self.grant(state);
        slot
    }

    /// The late answer of a call or request that was given up.
    pub(crate) fn answered_late(&self, generation: Generation, call: &str) {
        let Some(call) = CallId::from_wire(call) else { return };
        let mut state = self.lock();
        state.attribution.handler_ended(generation, call);
        if let Some(waiting) = state.given_up.remove(&(generation, call)) {
            // The probe may have been answered first.
            let _known = waiting.send(());
        }
    }

    /// Keeps the slot of a call that was given up, or has become a task, until its handler has ended. Reports one that was
    /// given up and does not end while others wait for it, again after each `QueueLimits::grace`.
    pub(super) async fn keep_slot(
        self: Arc<Self>,
        process: Arc<ToolProcess>,
        call: CallId,
        tool: ToolName,
        late: oneshot::Receiver<()>,
    ) {
        let generation = process.generation();
        let mut free = pin!(until_free(process.link(), late, |_| {}));
        // A handler that has not been given up, of this call or of a request before it, still has its time.
        let is_over = || !process.sdk().runs_in_turn || !self.lock().attribution.runs_until(generation, call);
        let mut was_over = is_over();
        while timeout(self.waits.grace, &mut free).await.is_err() {
            let is_over = is_over();
            if is_over && was_over && self.lock().scheduler.waits_for(generation) {
                self.send(LoadEvent::Stuck(generation, Some(tool.clone())));
            }
            was_over = is_over;
        }
        let mut state = self.lock();
        state.given_up.remove(&(generation, call));
        state.attribution.handler_ended(generation, call);
        state.scheduler.free(generation);
        state.ended(generation);
        self.grant(state);
    }
}
