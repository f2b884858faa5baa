//! Requests of clients to a process other than calls. They take no turns, but the process may send messages for them.

use std::sync::Arc;

use protomcp_link::CallId;
use protomcp_server::Context;

use crate::dispatcher::Dispatcher;
use crate::generation::Generation;
use crate::process::tool_process::ToolProcess;

/// A request other than a call, until it is dropped.
#[derive(Debug)]
pub(crate) struct RunningRequest {
    dispatcher: Arc<Dispatcher>,
    generation: Generation,
    name: CallId,
}

impl Dispatcher {
    /// A request goes to this process, for this client. Messages of the process may name it.
    pub(crate) fn begin_request(self: &Arc<Self>, process: &ToolProcess, context: &Context) -> RunningRequest {
        let (generation, name) = (process.generation(), process.link().new_call());
        self.lock().attribution.begin_request(generation, name, context.clone());
        RunningRequest { dispatcher: Arc::clone(self), generation, name }
    }
}

impl RunningRequest {
    /// The name of the request on the link.
    pub(crate) fn name(&self) -> CallId {
        self.name
    }
}

impl Drop for RunningRequest {
    fn drop(&mut self) {
        self.dispatcher.lock().attribution.end_request(self.generation, self.name);
        self.dispatcher.left.notify_waiters();
    }
}
