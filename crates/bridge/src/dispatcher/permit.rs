//! The turn of a call: its wait in the queue, and the right to be in flight.

use std::sync::Arc;

use protomcp_fair::Ticket;
use protomcp_link::CallId;
use protomcp_server::Owner;
use protomcp_types::ToolName;

use crate::clock::now;
use crate::dispatcher::Dispatcher;
use crate::dispatcher::scheduler::Slot;
use crate::process::tool_process::ToolProcess;

/// The slot of one call in a process; dropping it lets the next call through.
#[derive(Debug)]
pub(crate) struct Permit {
    dispatcher: Arc<Dispatcher>,
    process: Arc<ToolProcess>,
    call: CallId,
    slot: Slot,
    /// The tool that is called.
    tool: Option<ToolName>,
    /// The process was sent a request for the call and has not answered it.
    is_busy: bool,
    /// The process may be working on the call, also as a task or in middleware.
    goes_on: bool,
}

impl Permit {
    pub(crate) fn new(dispatcher: Arc<Dispatcher>, process: Arc<ToolProcess>, call: CallId) -> Self {
        Self { dispatcher, process, call, slot: Slot::Occupied, tool: None, is_busy: false, goes_on: false }
    }

    /// The name of the call on the link.
    pub(crate) fn call(&self) -> CallId {
        self.call
    }

    /// The process that the call goes to.
    pub(crate) fn process(&self) -> &Arc<ToolProcess> {
        &self.process
    }

    pub(crate) fn slot(&self) -> Slot {
        self.slot
    }

    /// Records that the process is about to be asked to call this tool. Until [`mark_answered`](Self::mark_answered),
    /// dropping the permit leaves a handler that may continue.
    pub(crate) fn mark_called(&mut self, tool: &ToolName) {
        self.tool = Some(tool.clone());
        self.is_busy = true;
        self.goes_on = true;
        self.process.running().begin(self.call, tool.clone(), now());
    }

    /// The process has nothing to do for the call.
    pub(crate) fn mark_answered(&mut self) {
        self.is_busy = false;
        self.goes_on = false;
    }

    /// The process has answered with a task.
    pub(crate) fn mark_task(&mut self) {
        self.is_busy = false;
    }

    /// The process may be running middleware for the call. Its end is noticed only if the call occupies the process.
    pub(crate) fn mark_intercepted(&mut self) {
        self.is_busy = self.occupies();
        self.goes_on = true;
    }

    /// True if the process works on no other call at the same time.
    fn occupies(&self) -> bool {
        self.slot == Slot::Occupied && self.process.is_serial()
    }

    /// The process continues with the call as a task: others need not wait for the end of the task.
    pub(crate) fn detach(&mut self) {
        self.slot = self.dispatcher.detach(self);
    }

    /// The tool that is called.
    pub(super) fn tool(&self) -> Option<&ToolName> {
        self.tool.as_ref()
    }

    /// The tool whose handler occupies the whole process after the end of the call.
    pub(crate) fn leaves_busy(&self) -> Option<&ToolName> {
        let occupies = self.handler_goes_on() && self.occupies();
        self.tool.as_ref().filter(|_| occupies)
    }

    /// The tool whose handler, or middleware, may hold up those with which it should overlap after the end of the call.
    pub(super) fn may_block(&self) -> Option<&ToolName> {
        let overlaps = self.process.sdk().announced && !self.process.is_serial();
        self.tool.as_ref().filter(|_| overlaps && self.goes_on && !self.process.link().is_closed())
    }

    /// True if the process may still be working on the call.
    pub(crate) fn handler_goes_on(&self) -> bool {
        self.is_busy && !self.process.link().is_closed()
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.process.running().end(self.call);
        Arc::clone(&self.dispatcher).release(self);
    }
}

/// A waiting turn, given up with its call.
pub(super) struct Queued<'a> {
    dispatcher: &'a Arc<Dispatcher>,
    owner: Owner,
    ticket: Ticket,
}

impl<'a> Queued<'a> {
    pub(super) fn new(dispatcher: &'a Arc<Dispatcher>, owner: Owner, ticket: Ticket) -> Self {
        Self { dispatcher, owner, ticket }
    }
}

impl Drop for Queued<'_> {
    fn drop(&mut self) {
        self.dispatcher.lock().scheduler.abandon(&self.owner, self.ticket);
    }
}
