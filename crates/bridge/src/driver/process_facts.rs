//! The facts that the core asks for, of the processes in service.

use std::collections::HashMap;
use std::sync::Arc;

use protomcp_server::{ServerHandle, SessionId};

use crate::core::facts::Facts;
use crate::dispatcher::Dispatcher;
use crate::generation::Generation;
use crate::process::sdk::SdkFeatures;
use crate::process::tool_process::ToolProcess;

/// Looks up the facts in the dispatcher, the processes in service and the sessions.
pub(crate) struct ProcessFacts<'a> {
    pub(crate) dispatcher: &'a Dispatcher,
    pub(crate) processes: &'a HashMap<Generation, Arc<ToolProcess>>,
    pub(crate) sessions: &'a ServerHandle,
}

impl Facts for ProcessFacts<'_> {
    fn features(&self, generation: Generation) -> Option<SdkFeatures> {
        self.processes.get(&generation).map(|process| process.sdk())
    }

    fn is_idle(&self, generation: Generation) -> bool {
        self.dispatcher.is_idle(generation)
    }

    fn is_busy(&self, generation: Generation) -> bool {
        self.dispatcher.is_busy(generation)
    }

    fn has_two_readers(&self, generation: Generation) -> bool {
        self.processes.get(&generation).is_some_and(|process| process.readers().are_two())
    }

    fn list_scope(&self, generation: Generation, for_call: &str) -> Option<SessionId> {
        self.dispatcher.list_scope(generation, for_call)
    }

    fn is_open(&self, session: SessionId) -> bool {
        self.sessions.view(session).is_some()
    }
}
