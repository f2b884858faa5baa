//! The messages that were sent since the last flush, and the bytes that they hold until the next.

use std::sync::Arc;

use protomcp_fair::Reservation;
use protomcp_session::Topic;
use tokio::sync::OwnedSemaphorePermit;

use crate::call::session_queue::Usage;

#[derive(Debug, Default)]
pub(super) struct Unsent {
    pub(super) messages: usize,
    pub(super) answers: usize,
    pub(super) notices: Usage,
    /// True if one of the messages is the notification that a list has changed.
    pub(super) has_changes: bool,
    /// The resources and tasks that updates among the messages are about.
    pub(super) updates: Vec<(Topic, Arc<str>)>,
    /// The reservations that the sink does not hold.
    pub(super) reservations: Vec<Reservation>,
    /// The slots of questions that the messages cancel.
    pub(super) slots: Vec<OwnedSemaphorePermit>,
}
