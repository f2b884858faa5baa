//! The parts of a server that each session gets.

use std::sync::Arc;

use protomcp_types::{RawJson, Request};

use crate::layer::lazy_tools::request_target::RequestTarget;
use crate::service::observer::Observers;
use crate::service::outgoing_layer::OutgoingLayer;
use crate::state::handle::ServerHandle;

/// Looks up the definition of a tool.
pub(super) type Definitions = Arc<dyn Fn(&str) -> Option<RawJson> + Send + Sync>;

pub(super) struct Parts<S> {
    pub(super) sessions: ServerHandle,
    pub(super) service: Arc<S>,
    pub(super) observers: Observers,
    /// `None`: no transport needs them.
    pub(super) definitions: Option<Definitions>,
    /// The access that a request needs.
    pub(super) targets: fn(&Request) -> RequestTarget,
    /// Those that see first what is sent first.
    pub(super) sending: Vec<Arc<dyn OutgoingLayer>>,
    /// Calls run in the task of their session instead of a task each.
    pub(super) inline_calls: bool,
}

impl<S> Clone for Parts<S> {
    fn clone(&self) -> Self {
        Self {
            sessions: self.sessions.clone(),
            service: Arc::clone(&self.service),
            observers: self.observers.clone(),
            definitions: self.definitions.clone(),
            targets: self.targets,
            sending: self.sending.clone(),
            inline_calls: self.inline_calls,
        }
    }
}
