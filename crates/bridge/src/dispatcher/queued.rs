//! The place of a call in the queue.

use std::sync::Arc;

use protomcp_server::Owner;

use crate::dispatcher::Dispatcher;
use crate::dispatcher::fair_queue::Ticket;

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
