//! The messages that were sent since everything was written, and the room that they hold until then.

use std::sync::Arc;

use protomcp_session::{Reservation, Topic};
use tokio::sync::OwnedSemaphorePermit;

use crate::session_queue::Usage;

#[derive(Debug, Default)]
pub(super) struct Unsent {
    pub(super) messages: usize,
    pub(super) answers: usize,
    pub(super) notices: Usage,
    /// True if one of the messages says that a list has changed.
    pub(super) has_changes: bool,
    /// The resources and tasks that updates among the messages are about.
    pub(super) updates: Vec<(Topic, Arc<str>)>,
    /// Bytes of the messages that the sink does not look after.
    pub(super) rooms: Vec<Reservation>,
    /// Places of questions that were taken back in the messages.
    pub(super) places: Vec<OwnedSemaphorePermit>,
}
