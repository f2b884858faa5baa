//! Requests of clients to a process other than calls. They take no turns, but the process may send messages for them.

use std::sync::Arc;

use protomcp_link::CallId;
use protomcp_server::Context;

use crate::clock::now;
use crate::dispatcher::Dispatcher;
use crate::dispatcher::probes::GivenUp;
use crate::process::tool_process::ToolProcess;

/// A request other than a call, until it is dropped.
#[derive(Debug)]
pub(crate) struct RunningRequest<'a> {
    dispatcher: Arc<Dispatcher>,
    process: &'a ToolProcess,
    name: CallId,
    is_answered: bool,
}

impl Dispatcher {
    /// A request goes to this process, for this client. Messages of the process may name it.
    pub(crate) fn begin_request<'a>(
        self: &Arc<Self>,
        process: &'a ToolProcess,
        context: &Context,
    ) -> RunningRequest<'a> {
        let mut state = self.lock();
        // A probe that is sent now counts it, or comes before it.
        let name = process.link().new_call();
        state.attribution.begin_request(process.generation(), name, context.clone());
        drop(state);
        RunningRequest { dispatcher: Arc::clone(self), process, name, is_answered: false }
    }
}

impl RunningRequest<'_> {
    /// The name of the request on the link.
    pub(crate) fn name(&self) -> CallId {
        self.name
    }

    /// The process has nothing to do for the request. Until then, dropping it leaves a handler that may continue.
    pub(crate) fn mark_answered(&mut self) {
        self.is_answered = true;
    }
}

impl Drop for RunningRequest<'_> {
    fn drop(&mut self) {
        let (generation, now) = (self.process.generation(), now());
        let mut state = self.dispatcher.lock();
        if self.is_answered || self.process.link().is_closed() {
            state.attribution.end_request(generation, self.name);
        } else {
            state.attribution.give_up(generation, self.name, now, self.dispatcher.waits.handler_until(now));
            if self.process.sdk().announced {
                self.dispatcher.probe(&mut state, generation, GivenUp { name: self.name, tool: None });
            }
        }
        drop(state);
        self.dispatcher.left.notify_waiters();
    }
}
