//! The right to have one call in flight.

use std::sync::Arc;

use protomcp_link::CallId;
use protomcp_types::ToolName;

use crate::clock::now;
use crate::dispatcher::Dispatcher;
use crate::dispatcher::scheduler::Slot;
use crate::process::tool_process::ToolProcess;

/// One call's place in a process; dropping it lets the next call go.
#[derive(Debug)]
pub(crate) struct Permit {
    dispatcher: Arc<Dispatcher>,
    process: Arc<ToolProcess>,
    call: CallId,
    place: Slot,
    /// The process was asked something and has not answered.
    busy: bool,
}

impl Permit {
    pub(crate) fn new(dispatcher: Arc<Dispatcher>, process: Arc<ToolProcess>, call: CallId) -> Self {
        Self { dispatcher, process, call, place: Slot::Held, busy: false }
    }

    /// The name under which the call is to be made.
    pub(crate) fn call(&self) -> CallId {
        self.call
    }

    /// The process the call goes to.
    pub(crate) fn process(&self) -> &Arc<ToolProcess> {
        &self.process
    }

    pub(crate) fn place(&self) -> Slot {
        self.place
    }

    /// The process is about to be asked to call this tool. Until [`is_answered`](Self::is_answered), dropping the permit
    /// leaves a handler that goes on.
    pub(crate) fn asks(&mut self, tool: &ToolName) {
        self.busy = true;
        self.process.running().begin(self.call, tool.clone(), now());
    }

    /// The process has nothing more to do for the call.
    pub(crate) fn is_answered(&mut self) {
        self.busy = false;
    }

    /// The process goes on with the call as a task: others need not wait for it.
    pub(crate) fn detach(&mut self) {
        self.place = self.dispatcher.detach(&self.process);
    }

    /// The handler of the call keeps the process from doing anything else. One that takes several calls
    /// takes the next one all the same.
    pub(crate) fn leaves_busy(&self) -> bool {
        self.handler_goes_on() && self.place == Slot::Held && self.process.concurrency() == 1
    }

    /// The process may still be at work on the call.
    pub(crate) fn handler_goes_on(&self) -> bool {
        self.busy && !self.process.link().is_closed()
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.process.running().end(self.call);
        Arc::clone(&self.dispatcher).release(self);
    }
}
