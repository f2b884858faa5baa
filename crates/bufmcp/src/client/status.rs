//! The state of a client's conversation, as its handles see it.

use std::sync::Arc;

use crate::client::error::BinaryCloseReason;
use crate::client::session::BinaryServerView;
use crate::message::ListChanged;

/// The state of a conversation.
#[derive(Debug, Clone)]
pub(super) enum Status {
    Opening,
    Open(Arc<BinaryServerView>),
    Closed(BinaryCloseReason),
}

/// The numbers of changes of each list so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Changed {
    /// Of the tools.
    pub tools: u64,
    /// Of the resources.
    pub resources: u64,
    /// Of the prompts.
    pub prompts: u64,
}

impl Changed {
    pub(super) fn add(&mut self, changed: ListChanged) {
        self.tools += u64::from(changed.tools);
        self.resources += u64::from(changed.resources);
        self.prompts += u64::from(changed.prompts);
    }
}
