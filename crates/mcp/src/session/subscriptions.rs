//! Which resources a host wants to hear of, in its session or in requests that listen, and which changes it has not heard of yet.
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

use smallvec::SmallVec;

/// The subscriptions of one connection; shared with whoever reports changes, so that what nobody wants costs a look.
#[derive(Debug)]
pub(crate) struct Subscriptions {
    max: usize,
    open: Mutex<Open>,
}

#[derive(Debug, Default)]
struct Open {
    by_uri: HashMap<Arc<str>, Interest>,
    /// How many there are, counting a resource once for each that wants it.
    count: usize,
}

/// Who wants to hear of a resource.
#[derive(Debug)]
struct Interest {
    update: Update,
    wanted: Wanted,
}

/// Who is to be told.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Wanted {
    /// The session, which has subscribed.
    pub(crate) session: bool,
    /// Requests that listen, by ticket number.
    pub(crate) listeners: SmallVec<[u64; 1]>,
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
        open.count < self.max || open.has_session(uri)
    }

    /// The session wants to hear of a resource. Whether there was room.
    pub(crate) fn subscribe(&self, uri: &str) -> bool {
        let mut open = self.open();
        let room = open.count < self.max || open.has_session(uri);
        if room && !std::mem::replace(&mut open.interest(uri).wanted.session, true) {
            open.count += 1;
        }
        room
    }

    pub(crate) fn unsubscribe(&self, uri: &str) {
        let mut open = self.open();
        let Some(interest) = open.by_uri.get_mut(uri) else { return };
        let had = std::mem::take(&mut interest.wanted.session);
        if !interest.is_wanted() {
            open.by_uri.remove(uri);
        }
        open.count -= usize::from(had);
    }

    /// A request listens to these resources. Whether there was room for all of them.
    pub(crate) fn listen(&self, listener: u64, uris: &[String]) -> bool {
        let mut open = self.open();
        if open.count + uris.len() > self.max {
            return false;
        }
        for uri in uris {
            let listeners = &mut open.interest(uri).wanted.listeners;
            if !listeners.contains(&listener) {
                listeners.push(listener);
                open.count += 1;
            }
        }
        true
    }

    /// A request does not listen any more.
    pub(crate) fn forget(&self, listener: u64) {
        let mut open = self.open();
        let mut gone = 0;
        open.by_uri.retain(|_, interest| {
            let listeners = &mut interest.wanted.listeners;
            let before = listeners.len();
            listeners.retain(|number| *number != listener);
            gone += before - listeners.len();
            interest.is_wanted()
        });
        open.count -= gone;
    }

    /// Whether the session has subscribed to this one.
    pub(crate) fn contains(&self, uri: &str) -> bool {
        self.open().has_session(uri)
    }

    /// A resource has changed. Returns its URI if a notice is to be queued.
    pub(crate) fn changed(&self, uri: &str) -> Option<Arc<str>> {
        let mut open = self.open();
        let known = open.by_uri.get_key_value(uri)?.0.clone();
        let update = &mut open.by_uri.get_mut(uri)?.update;
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

    /// A queued notice is about to be sent to these. `None`: everybody has lost interest.
    pub(crate) fn sending(&self, uri: &str) -> Option<Wanted> {
        let mut open = self.open();
        let interest = open.by_uri.get_mut(uri).filter(|interest| interest.update == Update::Queued)?;
        interest.update = Update::Sent;
        Some(interest.wanted.clone())
    }

    /// A notice was written. Whether the next one is to be queued.
    pub(crate) fn flushed(&self, uri: &str) -> bool {
        let mut open = self.open();
        let Some(Interest { update, .. }) = open.by_uri.get_mut(uri) else { return false };
        let (next, again) = match *update {
            Update::Sent => (Update::Quiet, false),
            Update::Stale => (Update::Queued, true),
            other @ (Update::Quiet | Update::Queued) => (other, false),
        };
        *update = next;
        again
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Open {
    fn has_session(&self, uri: &str) -> bool {
        self.by_uri.get(uri).is_some_and(|interest| interest.wanted.session)
    }

    fn interest(&mut self, uri: &str) -> &mut Interest {
        let new = || Interest { update: Update::Quiet, wanted: Wanted::default() };
        self.by_uri.entry(uri.into()).or_insert_with(new)
    }
}

impl Interest {
    fn is_wanted(&self) -> bool {
        self.wanted.session || !self.wanted.listeners.is_empty()
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
        assert!(wanted.sending("a").is_some());
        assert!(wanted.sending("a").is_none());
        assert!(wanted.changed("a").is_none());
        assert!(wanted.changed("a").is_none());
        assert!(wanted.flushed("a"), "it changed after the notice was sent");
        assert!(wanted.sending("a").is_some());
        assert!(!wanted.flushed("a"));
        assert!(wanted.changed("a").is_some());
        wanted.unsubscribe("a");
        assert!(wanted.sending("a").is_none() && !wanted.flushed("a") && !wanted.contains("a"));
    }

    #[test]
    fn there_is_room_for_so_many_and_the_same_one_again() {
        let wanted = Subscriptions::new(2);
        assert!(wanted.subscribe("a") && wanted.subscribe("b") && wanted.subscribe("a"));
        assert!(!wanted.has_room("c") && !wanted.subscribe("c") && wanted.has_room("b"));
        wanted.unsubscribe("a");
        assert!(wanted.subscribe("c"));
    }

    #[test]
    fn a_notice_is_for_all_that_want_it() {
        let subscriptions = Subscriptions::new(4);
        let uris = ["a".to_owned(), "b".to_owned(), "a".to_owned()];
        assert!(subscriptions.listen(7, &uris) && subscriptions.subscribe("a"));
        assert!(!subscriptions.listen(8, &uris), "there is room for one more only");
        assert!(subscriptions.listen(8, &uris[..1]) && !subscriptions.has_room("c"));
        assert!(!subscriptions.contains("b"), "the session has not asked for it");
        let told = |uri| {
            subscriptions.changed(uri)?;
            let wanted = subscriptions.sending(uri);
            subscriptions.flushed(uri);
            wanted.map(|wanted| (wanted.session, wanted.listeners.to_vec()))
        };
        assert_eq!(told("a"), Some((true, vec![7, 8])));
        assert_eq!(told("b"), Some((false, vec![7])));
        subscriptions.forget(7);
        assert_eq!((told("a"), told("b")), (Some((true, vec![8])), None));
        subscriptions.unsubscribe("a");
        assert_eq!(told("a"), Some((false, vec![8])));
        subscriptions.forget(8);
        assert_eq!(told("a"), None);
        assert!(subscriptions.listen(9, &["a", "b", "c", "d"].map(String::from)), "all room is back");
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
                        prop_assert!(wanted.sending("a").is_some());
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
