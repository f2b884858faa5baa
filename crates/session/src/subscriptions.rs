//! The resources and tasks that a client has subscribed to, in its session or in requests that listen, and the changes
//! that it has not been notified of.
//!
//! At most one notification about each of them is queued or being written (`interest.rs`), so a client that does not
//! read makes no queue grow.
//!
//! A request that subscribes expects its names until it is answered (`expected.rs`): a change in between is reported
//! after the answer.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use protomcp_types::{ErrorObject, MAX_SUBSCRIBED_URI};

use crate::expected::Expected;
use crate::info::Limits;
use crate::interest::{Interest, Wanted};
use crate::topic::Topic;
use protomcp_fair::Reservation;

/// The subscriptions of one connection; shared with the parts that report changes, so that a change without a
/// subscriber costs one lookup.
#[derive(Debug)]
pub struct Subscriptions {
    max: usize,
    open: Mutex<Open>,
}

#[derive(Debug, Default)]
struct Open {
    /// By topic, then by name.
    interests: [HashMap<Arc<str>, Interest>; 2],
    /// The names of requests that have no answer yet.
    expected: Expected,
    /// The number of subscriptions, counting a name once for each subscriber and each request that expects it.
    count: usize,
    /// Their bytes; `None`: only their number is bounded.
    reservation: Option<Reservation>,
}

impl Subscriptions {
    /// None yet, and at most `max`.
    pub fn new(max: usize) -> Self {
        Self { max, open: Mutex::default() }
    }

    /// Like [`Subscriptions::new`], and bounded by the bytes for which `reservation` can grow.
    pub fn within(max: usize, reservation: Reservation) -> Self {
        Self { max, open: Mutex::new(Open { reservation: Some(reservation), ..Open::default() }) }
    }

    /// Checks that the session may subscribe to this resource.
    ///
    /// # Errors
    /// −32602 for a URI of more than [`MAX_SUBSCRIBED_URI`] bytes, and [`Subscriptions::full`].
    pub fn check(&self, uri: &str) -> Result<(), ErrorObject> {
        if uri.len() > MAX_SUBSCRIBED_URI {
            let why = format!("invalid params: uri is longer than {MAX_SUBSCRIBED_URI} bytes");
            return Err(ErrorObject::invalid_params(why));
        }
        if self.has_room(uri) { Ok(()) } else { Err(self.full()) }
    }

    /// The error for a subscription without room, −32603.
    #[must_use]
    pub fn full(&self) -> ErrorObject {
        let most = self.max;
        ErrorObject::internal(format!(
            "too many subscriptions: at most {most}, and fewer while others need the room; end some"
        ))
    }

    /// True if the session has subscribed to this one already, or there is room for it.
    pub fn has_room(&self, uri: &str) -> bool {
        let open = self.open();
        open.count < self.max || open.has_session(uri)
    }

    /// A request is going to subscribe to all of these. A change from here on is reported when it has. Returns false if
    /// there is no room.
    pub fn expect(&self, request: u64, topic: Topic, names: &[String]) -> bool {
        let mut open = self.open();
        let bytes = names.iter().map(|name| cost(name)).sum();
        if open.count + names.len() > self.max || !open.grow(bytes) {
            return false;
        }
        open.count += names.len();
        open.expected.insert(request, topic, names);
        true
    }

    /// Subscribes the session to a resource, which this request may have expected. Returns the changes in between, whose
    /// notifications need to be queued after the answer; `None`: there is no room.
    pub fn subscribe(&self, request: u64, uri: &str) -> Option<Vec<(Topic, Arc<str>)>> {
        let mut open = self.open();
        let missed = open.end_expecting(request);
        if !open.has_session(uri) {
            if open.count >= self.max || !open.grow(cost(uri)) {
                return None;
            }
            open.interest(Topic::Resource, uri).wanted.session = true;
            open.count += 1;
        }
        Some(open.report(missed))
    }

    /// Unsubscribes the session from a resource.
    pub fn unsubscribe(&self, uri: &str) {
        let mut open = self.open();
        let interests = &mut open.interests[Topic::Resource as usize];
        let Some(interest) = interests.get_mut(uri) else { return };
        let had = std::mem::take(&mut interest.wanted.session);
        if !interest.is_wanted() {
            interests.remove(uri);
        }
        open.count -= usize::from(had);
        if had {
            open.shrink(cost(uri));
        }
    }

    /// Subscribes a request to all of these, and to no others that it may have expected. Returns the changes in between,
    /// whose notifications need to be queued after the acknowledgement; `None`: there is no room for all of them.
    pub fn listen(&self, listener: u64, names: [(Topic, &[String]); 2]) -> Option<Vec<(Topic, Arc<str>)>> {
        let mut open = self.open();
        let missed = open.end_expecting(listener);
        let names = || names.into_iter().flat_map(|(topic, names)| names.iter().map(move |name| (topic, name)));
        let bytes = names().map(|(_, name)| cost(name)).sum();
        if open.count + names().count() > self.max || !open.grow(bytes) {
            return None;
        }
        for (topic, name) in names() {
            let listeners = &mut open.interest(topic, name).wanted.listeners;
            if listeners.contains(&listener) {
                open.shrink(cost(name));
            } else {
                listeners.push(listener);
                open.count += 1;
            }
        }
        Some(open.report(missed))
    }

    /// Removes the subscriptions of a request, and those that it expects.
    pub fn forget(&self, listener: u64) {
        let mut open = self.open();
        open.end_expecting(listener);
        let (mut gone, mut bytes) = (0, 0);
        for interests in &mut open.interests {
            interests.retain(|name, interest| {
                let listeners = &mut interest.wanted.listeners;
                let before = listeners.len();
                listeners.retain(|number| *number != listener);
                gone += before - listeners.len();
                bytes += (before - listeners.len()) * cost(name);
                interest.is_wanted()
            });
        }
        open.count -= gone;
        open.shrink(bytes);
    }

    /// A request does not subscribe to the names that it expects.
    pub fn expect_nothing(&self, request: u64) {
        self.open().end_expecting(request);
    }

    /// The resources that the session has subscribed to, sorted.
    pub fn uris(&self) -> Vec<String> {
        let open = self.open();
        let interests = open.interests[Topic::Resource as usize].iter();
        let mut uris: Vec<_> =
            interests.filter(|(_, interest)| interest.wanted.session).map(|(uri, _)| uri.to_string()).collect();
        uris.sort_unstable();
        uris
    }

    /// True if the session has subscribed to this one.
    pub fn contains(&self, uri: &str) -> bool {
        self.open().has_session(uri)
    }

    /// A resource or task has changed. Returns its name if a notification needs to be queued.
    pub fn changed(&self, topic: Topic, name: &str) -> Option<Arc<str>> {
        let mut open = self.open();
        open.expected.changed(topic, name);
        open.changed(topic, name)
    }

    /// Changes may have been missed: all resources and tasks count as changed. Returns those for which a notification needs
    /// to be queued.
    pub fn all_changed(&self) -> Vec<(Topic, Arc<str>)> {
        let mut open = self.open();
        open.expected.all_changed();
        let topics = [Topic::Resource, Topic::Task].into_iter().zip(&mut open.interests);
        let all =
            topics.flat_map(|(topic, names)| names.iter_mut().map(move |(name, interest)| (topic, name, interest)));
        all.filter_map(|(topic, name, interest)| interest.changed().then(|| (topic, Arc::clone(name)))).collect()
    }

    /// The receivers of a queued notification that is about to be sent. `None`: there is no subscriber left.
    pub fn sending(&self, topic: Topic, name: &str) -> Option<Wanted> {
        self.open().interests[topic as usize].get_mut(name)?.sending()
    }

    /// A notification was written. Returns true if the next one needs to be queued.
    pub fn flushed(&self, topic: Topic, name: &str) -> bool {
        self.open().interests[topic as usize].get_mut(name).is_some_and(Interest::flushed)
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The bytes of a subscription.
fn cost(name: &str) -> usize {
    name.len() + Limits::SUBSCRIPTION_OVERHEAD
}

impl Open {
    /// True if there is room for this many bytes more.
    fn grow(&mut self, bytes: usize) -> bool {
        self.reservation.as_mut().is_none_or(|reservation| reservation.grow(bytes).is_ok())
    }

    fn shrink(&mut self, bytes: usize) {
        if let Some(reservation) = &mut self.reservation {
            reservation.shrink(bytes);
        }
    }

    fn changed(&mut self, topic: Topic, name: &str) -> Option<Arc<str>> {
        let interests = &mut self.interests[topic as usize];
        let known = interests.get_key_value(name)?.0.clone();
        interests.get_mut(name)?.changed().then_some(known)
    }

    /// Frees the bytes of the names that a request expects. Returns those that have changed.
    fn end_expecting(&mut self, request: u64) -> Vec<(Topic, Box<str>)> {
        let names = self.expected.remove(request);
        self.count -= names.len();
        self.shrink(names.iter().map(|expected| cost(&expected.name)).sum());
        let changed = names.into_iter().filter(|expected| expected.has_changed);
        changed.map(|expected| (expected.topic, expected.name)).collect()
    }

    /// The changes of these that need to be queued.
    fn report(&mut self, missed: Vec<(Topic, Box<str>)>) -> Vec<(Topic, Arc<str>)> {
        let due = missed.into_iter().filter_map(|(topic, name)| Some((topic, self.changed(topic, &name)?)));
        due.collect()
    }

    fn has_session(&self, uri: &str) -> bool {
        self.interests[Topic::Resource as usize].get(uri).is_some_and(|interest| interest.wanted.session)
    }

    fn interest(&mut self, topic: Topic, name: &str) -> &mut Interest {
        self.interests[topic as usize].entry(name.into()).or_default()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use protomcp_fair::Budget;
    use protomcp_fair::Owner;

    /// True if there is room.
    fn listen(subscriptions: &Subscriptions, listener: u64, topic: Topic, names: &[String]) -> bool {
        subscriptions.listen(listener, [(topic, names), (topic, &[])]).is_some()
    }

    #[test]
    fn at_most_one_notice_is_on_its_way_and_none_is_lost() {
        let wanted = Subscriptions::new(1);
        assert_eq!(wanted.changed(Topic::Resource, "a"), None);
        assert!(wanted.subscribe(1, "a").is_some());
        assert!(wanted.changed(Topic::Resource, "a").is_some());
        assert!(wanted.changed(Topic::Resource, "a").is_none());
        assert!(wanted.sending(Topic::Resource, "a").is_some());
        assert!(wanted.sending(Topic::Resource, "a").is_none());
        assert!(wanted.changed(Topic::Resource, "a").is_none());
        assert!(wanted.changed(Topic::Resource, "a").is_none());
        assert!(wanted.flushed(Topic::Resource, "a"), "it changed after the notice was sent");
        assert!(wanted.sending(Topic::Resource, "a").is_some());
        assert!(!wanted.flushed(Topic::Resource, "a"));
        assert!(wanted.changed(Topic::Resource, "a").is_some());
        wanted.unsubscribe("a");
        assert!(
            wanted.sending(Topic::Resource, "a").is_none()
                && !wanted.flushed(Topic::Resource, "a")
                && !wanted.contains("a")
        );
    }

    #[test]
    fn subscriptions_are_bounded_and_a_repeated_one_is_free() {
        let wanted = Subscriptions::new(2);
        let subscribes = |uri| wanted.subscribe(1, uri).is_some();
        assert!(subscribes("a") && subscribes("b") && subscribes("a"));
        assert!(!wanted.has_room("c") && !subscribes("c") && wanted.has_room("b"));
        wanted.unsubscribe("a");
        assert!(subscribes("c"));
    }

    #[test]
    fn a_notice_is_for_all_that_want_it() {
        let subscriptions = Subscriptions::new(4);
        let uris = ["a".to_owned(), "b".to_owned(), "a".to_owned()];
        assert!(listen(&subscriptions, 7, Topic::Resource, &uris) && subscriptions.subscribe(1, "a").is_some());
        assert!(!listen(&subscriptions, 8, Topic::Resource, &uris), "there is room for one more only");
        assert!(listen(&subscriptions, 8, Topic::Resource, &uris[..1]) && !subscriptions.has_room("c"));
        assert!(!subscriptions.contains("b"), "the session has not asked for it");
        let notified = |uri| {
            subscriptions.changed(Topic::Resource, uri)?;
            let wanted = subscriptions.sending(Topic::Resource, uri);
            subscriptions.flushed(Topic::Resource, uri);
            wanted.map(|wanted| (wanted.session, wanted.listeners.to_vec()))
        };
        assert_eq!(notified("a"), Some((true, vec![7, 8])));
        assert_eq!(notified("b"), Some((false, vec![7])));
        subscriptions.forget(7);
        assert_eq!((notified("a"), notified("b")), (Some((true, vec![8])), None));
        subscriptions.unsubscribe("a");
        assert_eq!(notified("a"), Some((false, vec![8])));
        subscriptions.forget(8);
        assert_eq!(notified("a"), None);
        assert!(
            listen(&subscriptions, 9, Topic::Resource, &["a", "b", "c", "d"].map(String::from)),
            "all room is back"
        );
    }

    #[test]
    fn a_task_takes_the_same_room_as_a_resource() {
        let subscriptions = Subscriptions::new(2);
        let name = ["a".to_owned()];
        assert!(listen(&subscriptions, 1, Topic::Task, &name) && subscriptions.changed(Topic::Resource, "a").is_none());
        assert!(subscriptions.changed(Topic::Task, "a").is_some());
        let wanted = subscriptions.sending(Topic::Task, "a").unwrap();
        assert_eq!((wanted.session, wanted.listeners.to_vec()), (false, vec![1]));
        assert!(listen(&subscriptions, 1, Topic::Resource, &name) && !subscriptions.has_room("b"));
        subscriptions.forget(1);
        assert!(subscriptions.changed(Topic::Task, "a").is_none() && subscriptions.has_room("b"));
    }

    #[test]
    fn all_names_change_but_those_that_wait() {
        let wanted = Subscriptions::new(9);
        let (a, b) = (["a".to_owned()], ["b".to_owned()]);
        assert!(listen(&wanted, 1, Topic::Task, &a) && wanted.subscribe(2, "a").is_some());
        assert!(wanted.expect(3, Topic::Resource, &b));
        wanted.changed(Topic::Resource, "a").expect("it is queued");
        assert_eq!([wanted.all_changed(), wanted.all_changed()], [vec![(Topic::Task, "a".into())], Vec::new()]);
        let missed = wanted.subscribe(3, "b").expect("there is room");
        assert_eq!(missed, [(Topic::Resource, "b".into())], "it may have changed before the answer");
    }

    #[test]
    fn the_bytes_of_subscriptions_are_shared_and_come_back() {
        let budget = Budget::new(10 * cost("a"));
        let of = |max| Subscriptions::within(max, budget.empty(&Owner::Local));
        let (one, two) = (of(99), of(99));
        let names = |range: std::ops::Range<u32>| range.map(|name| name.to_string()).collect::<Vec<_>>();
        assert!(
            one.subscribe(1, "a").is_some()
                && one.subscribe(1, "a").is_some()
                && listen(&one, 1, Topic::Resource, &names(0..5))
        );
        assert!(!listen(&two, 1, Topic::Task, &names(0..3)), "one caller gets eight");
        assert!(listen(&two, 1, Topic::Task, &["0", "1", "1"].map(str::to_owned)[..2]));
        assert!(one.subscribe(1, "b").is_none() && !one.contains("b") && budget.taken() == 8 * cost("a"));
        one.forget(1);
        one.forget(1);
        assert_eq!(budget.taken(), 3 * cost("a"));
        assert!(listen(&two, 1, Topic::Task, &["0", "1", "1"].map(str::to_owned)));
        assert_eq!(budget.taken(), 3 * cost("a"), "a name counts once");
        one.unsubscribe("a");
        one.unsubscribe("a");
        drop(two);
        assert_eq!(budget.taken(), 0);
    }

    #[test]
    fn a_change_before_the_answer_is_due_after_it() {
        let wanted = Subscriptions::new(4);
        let names = ["a".to_owned(), "b".to_owned()];
        let due = |names: &[&str]| Some(names.iter().map(|name| (Topic::Resource, Arc::from(*name))).collect());
        assert!(wanted.expect(1, Topic::Resource, &names[..1]) && wanted.expect(2, Topic::Resource, &names));
        assert!(!wanted.expect(3, Topic::Resource, &names) && wanted.changed(Topic::Resource, "a").is_none());
        assert!(wanted.changed(Topic::Task, "b").is_none());
        assert_eq!(wanted.subscribe(1, "a"), due(&["a"]));
        assert!(wanted.sending(Topic::Resource, "a").is_some_and(|wanted| wanted.session), "it is queued once");
        assert!(!wanted.flushed(Topic::Resource, "a"));
        assert_eq!(wanted.listen(2, [(Topic::Resource, &names), (Topic::Task, &[])]), due(&["a"]));
        // One that is refused or cancelled.
        wanted.forget(2);
        assert!(wanted.expect(3, Topic::Resource, &names) && wanted.changed(Topic::Resource, "b").is_none());
        wanted.expect_nothing(3);
        assert_eq!(wanted.subscribe(4, "b"), due(&[]));
        assert!(wanted.expect(5, Topic::Task, &names), "all other room is back");
    }

    #[derive(Debug, Clone, Copy)]
    enum Step {
        Change,
        Send,
        Flush,
    }

    proptest! {
        /// Against a model: the version of a resource, and the version of which the client was told last. A client
        /// reads after a notice is written, so it sees at least the version at the time of sending.
        #[test]
        fn in_the_end_the_host_knows_of_the_last_change(
            steps in prop::collection::vec(prop::sample::select(vec![Step::Change, Step::Send, Step::Flush]), 0..40)
        ) {
            let wanted = Subscriptions::new(1);
            wanted.subscribe(1, "a");
            let (mut version, mut notified, mut queued, mut sent) = (0, 0, 0, 0);
            // A queued notice is sent, and a sent one is written, sooner or later.
            let ending = [Step::Flush, Step::Send, Step::Flush, Step::Send, Step::Flush];
            for step in steps.into_iter().chain(ending) {
                match step {
                    Step::Change => {
                        version += 1;
                        queued += usize::from(wanted.changed(Topic::Resource, "a").is_some());
                    }
                    Step::Send if queued > 0 => {
                        queued -= 1;
                        prop_assert!(wanted.sending(Topic::Resource, "a").is_some());
                        notified = version;
                        sent += 1;
                    }
                    Step::Flush if sent > 0 => {
                        sent -= 1;
                        queued += usize::from(wanted.flushed(Topic::Resource, "a"));
                    }
                    Step::Send | Step::Flush => {}
                }
                prop_assert!(queued + sent <= 1);
            }
            prop_assert_eq!((version, queued, sent), (notified, 0, 0));
        }
    }
}
