//! The subscribers of one name, and the change of which they were not notified.
//!
//! A change that comes while a notification is being written is sent afterwards, since the client may have read the
//! resource in between.
//!
//! ```text
//!          changed            sending            flushed
//!   Quiet ─────────▶ Queued ─────────▶ Sent ────────────────▶ Quiet
//!                       ▲               │ changed
//!                       └── flushed ── Stale
//! ```

use smallvec::SmallVec;

/// The subscribers of one name.
#[derive(Debug, Default)]
pub(crate) struct Interest {
    update: Update,
    pub(crate) wanted: Wanted,
}

/// The subscribers that a notification goes to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wanted {
    /// The session, which has subscribed.
    pub session: bool,
    /// Requests that listen, by request number.
    pub listeners: SmallVec<[u64; 1]>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq)]
enum Update {
    /// No change is unsent.
    #[default]
    Quiet,
    /// A notification is queued.
    Queued,
    /// A notification is sent and may not be written yet.
    Sent,
    /// Like `Sent`, with another change since then.
    Stale,
}

impl Interest {
    /// True if it has a subscriber.
    pub(crate) fn is_wanted(&self) -> bool {
        self.wanted.session || !self.wanted.listeners.is_empty()
    }

    /// A change. True if a notification needs to be queued.
    pub(crate) fn changed(&mut self) -> bool {
        let is_first = self.update == Update::Quiet;
        self.update = match self.update {
            Update::Quiet | Update::Queued => Update::Queued,
            Update::Sent | Update::Stale => Update::Stale,
        };
        is_first
    }

    /// The receivers of a queued notification, which is sent now.
    pub(crate) fn sending(&mut self) -> Option<Wanted> {
        if self.update != Update::Queued {
            return None;
        }
        self.update = Update::Sent;
        Some(self.wanted.clone())
    }

    /// The notification was written. True if the next one needs to be queued.
    pub(crate) fn flushed(&mut self) -> bool {
        let (next, again) = match self.update {
            Update::Sent => (Update::Quiet, false),
            Update::Stale => (Update::Queued, true),
            other @ (Update::Quiet | Update::Queued) => (other, false),
        };
        self.update = next;
        again
    }
}
