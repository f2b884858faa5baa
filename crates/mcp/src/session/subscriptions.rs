//! Which resources a host wants to hear of, and which changes it has not heard of yet.
//!
//! However often a resource changes, at most one notice about it is on its way: a host that does not read makes nothing
//! grow. A change that comes while a notice is on its way is told afterwards, since the host may have read the
//! resource in between.
//!
//! ```text
//!          changed            sending            flushed
//!   Quiet ─────────▶ Queued ─────────▶ Sent ────────────────▶ Quiet
//!                       ▲               │ changed
//!                       └── flushed ── Stale
//! ```

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The subscriptions of one session; shared with whoever reports changes, so that what nobody wants costs a look.
#[derive(Debug)]
pub(crate) struct Subscriptions {
    max: usize,
    open: Mutex<HashMap<Arc<str>, Update>>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Update {
    /// The host knows everything.
    Quiet,
    /// A notice is to be sent.
    Queued,
    /// A notice is sent and may not be written yet.
    Sent,
    /// As `Sent`, and there is more to tell.
    Stale,
}

impl Subscriptions {
    pub(crate) fn new(max: usize) -> Self {
        Self { max, open: Mutex::default() }
    }

    /// Whether there is room for this one, or it is there already.
    pub(crate) fn has_room(&self, uri: &str) -> bool {
        let open = self.open();
        open.len() < self.max || open.contains_key(uri)
    }

    /// Whether there was room.
    pub(crate) fn subscribe(&self, uri: &str) -> bool {
        let mut open = self.open();
        if open.contains_key(uri) {
            return true;
        }
        let room = open.len() < self.max;
        if room {
            open.insert(uri.into(), Update::Quiet);
        }
        room
    }

    pub(crate) fn unsubscribe(&self, uri: &str) {
        self.open().remove(uri);
    }

    pub(crate) fn contains(&self, uri: &str) -> bool {
        self.open().contains_key(uri)
    }

    /// A resource has changed. Returns its URI if a notice is to be queued.
    pub(crate) fn changed(&self, uri: &str) -> Option<Arc<str>> {
        let mut open = self.open();
        let known = open.get_key_value(uri)?.0.clone();
        let update = open.get_mut(uri)?;
        match update {
            Update::Quiet => {
                *update = Update::Queued;
                return Some(known);
            }
            Update::Sent => *update = Update::Stale,
            Update::Queued | Update::Stale => {}
        }
        None
    }

    /// A queued notice is about to be sent. Not any more, when the host has lost interest.
    pub(crate) fn sending(&self, uri: &str) -> bool {
        let mut open = self.open();
        let update = open.get_mut(uri).filter(|update| **update == Update::Queued);
        update.map(|update| *update = Update::Sent).is_some()
    }

    /// A notice was written. Whether the next one is to be queued.
    pub(crate) fn flushed(&self, uri: &str) -> bool {
        let mut open = self.open();
        let Some(update) = open.get_mut(uri) else { return false };
        let (next, again) = match *update {
            Update::Sent => (Update::Quiet, false),
            Update::Stale => (Update::Queued, true),
            other @ (Update::Quiet | Update::Queued) => (other, false),
        };
        *update = next;
        again
    }

    fn open(&self) -> MutexGuard<'_, HashMap<Arc<str>, Update>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn at_most_one_notice_is_on_its_way_and_none_is_lost() {
        let wanted = Subscriptions::new(1);
        assert_eq!(wanted.changed("a"), None);
        assert!(wanted.subscribe("a"));
        assert!(wanted.changed("a").is_some());
        assert!(wanted.changed("a").is_none());
        assert!(wanted.sending("a"));
        assert!(!wanted.sending("a"));
        assert!(wanted.changed("a").is_none());
        assert!(wanted.changed("a").is_none());
        assert!(wanted.flushed("a"), "it changed after the notice was sent");
        assert!(wanted.sending("a"));
        assert!(!wanted.flushed("a"));
        assert!(wanted.changed("a").is_some());
        wanted.unsubscribe("a");
        assert!(!wanted.sending("a") && !wanted.flushed("a") && !wanted.contains("a"));
    }

    #[test]
    fn there_is_room_for_so_many_and_the_same_one_again() {
        let wanted = Subscriptions::new(2);
        assert!(wanted.subscribe("a") && wanted.subscribe("b") && wanted.subscribe("a"));
        assert!(!wanted.has_room("c") && !wanted.subscribe("c") && wanted.has_room("b"));
        wanted.unsubscribe("a");
        assert!(wanted.subscribe("c"));
    }

    #[derive(Debug, Clone, Copy)]
    enum Step {
        Change,
        Send,
        Flush,
    }

    proptest! {
        /// Against a model: the version of a resource, and the version of which the host was told last. A host reads
        /// after a notice is written, so it sees at least the version at the time of sending.
        #[test]
        fn in_the_end_the_host_knows_of_the_last_change(
            steps in prop::collection::vec(prop::sample::select(vec![Step::Change, Step::Send, Step::Flush]), 0..40)
        ) {
            let wanted = Subscriptions::new(1);
            wanted.subscribe("a");
            let (mut version, mut told, mut queued, mut sent) = (0, 0, 0, 0);
            // What is queued is sent, and what is sent is written, sooner or later.
            let ending = [Step::Flush, Step::Send, Step::Flush, Step::Send, Step::Flush];
            for step in steps.into_iter().chain(ending) {
                match step {
                    Step::Change => {
                        version += 1;
                        queued += usize::from(wanted.changed("a").is_some());
                    }
                    Step::Send if queued > 0 => {
                        queued -= 1;
                        prop_assert!(wanted.sending("a"));
                        told = version;
                        sent += 1;
                    }
                    Step::Flush if sent > 0 => {
                        sent -= 1;
                        queued += usize::from(wanted.flushed("a"));
                    }
                    Step::Send | Step::Flush => {}
                }
                prop_assert!(queued + sent <= 1);
            }
            prop_assert_eq!((version, queued, sent), (told, 0, 0));
        }
    }
}
