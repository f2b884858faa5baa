//! The parts of a server that each session gets.

use std::sync::Arc;

use crate::observer::Observers;
use crate::send_layer::SendLayer;
use crate::server::sessions::Sessions;

pub(super) struct Parts<S> {
    pub(super) sessions: Sessions,
    pub(super) service: Arc<S>,
    pub(super) observers: Observers,
    /// Those that see first what is sent first.
    pub(super) sending: Vec<Arc<dyn SendLayer>>,
    /// Calls run in the task of their session instead of a task each.
    pub(super) in_place: bool,
}

impl<S> Clone for Parts<S> {
    fn clone(&self) -> Self {
        Self {
            sessions: self.sessions.clone(),
            service: Arc::clone(&self.service),
            observers: self.observers.clone(),
            sending: self.sending.clone(),
            in_place: self.in_place,
        }
    }
}
