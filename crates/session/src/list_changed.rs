//! Debounces the notifications that a list has changed.
//!
//! A tool may change the list and then answer. The client receives the answer first if it comes within the delay, and
//! has time to act on it; several changes in a row are one notification. A further change, and each answer of a call
//! that may have caused the change, delays the notification by as much again, up to `LONGEST`. A call that runs for
//! longer is answered after the notification. Each kind of list has its own `Debounce`.

use std::time::{Duration, Instant};

use protomcp_types::{ServerCapabilities, method};

/// The longest delay of a notification, counted from the first change.
const LONGEST: Duration = Duration::from_millis(250);

/// The lists of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum List {
    /// The list of tools.
    Tools,
    /// Resources and their templates.
    Resources,
    /// The list of prompts.
    Prompts,
}

/// The sessions for which a list has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ListScope {
    /// One session alone.
    Session,
    /// All sessions, and the requests without one.
    Everyone,
}

/// The changes of all lists that the client has not been notified of.
#[derive(Debug)]
pub struct ListChangedDebounce([Debounce; List::ALL.len()]);

#[derive(Debug)]
struct Debounce {
    delay: Duration,
    due: Option<Due>,
}

#[derive(Debug)]
struct Due {
    at: Instant,
    latest: Instant,
    scope: ListScope,
    /// Requests with a smaller number were open when the list changed, and may have caused it.
    before: u64,
}

impl List {
    /// Every list.
    pub const ALL: [Self; 3] = [Self::Tools, Self::Resources, Self::Prompts];

    /// The method of the notification that the list has changed.
    pub fn changed(self) -> &'static str {
        match self {
            Self::Tools => method::TOOLS_CHANGED,
            Self::Resources => method::RESOURCES_CHANGED,
            Self::Prompts => method::PROMPTS_CHANGED,
        }
    }

    /// True if the capabilities promise notifications about the list.
    pub fn is_announced_by(self, capabilities: &ServerCapabilities) -> bool {
        let list = match self {
            Self::Tools => capabilities.tools,
            Self::Resources => capabilities.resources,
            Self::Prompts => capabilities.prompts,
        };
        list.is_some_and(|list| list.list_changed)
    }
}

impl ListChangedDebounce {
    /// No change yet; `delay` is the time between a change and its notification.
    pub fn new(delay: Duration) -> Self {
        Self(List::ALL.map(|_| Debounce::new(delay)))
    }

    /// A list has changed. `next_request` is the number that the next request will get.
    pub fn changed(&mut self, list: List, scope: ListScope, now: Instant, next_request: u64) {
        self.0[list as usize].changed(scope, now, next_request);
    }

    /// Request `number` was answered.
    pub fn answered(&mut self, now: Instant, number: u64) {
        self.0.iter_mut().for_each(|announce| announce.answered(now, number));
    }

    /// The time of the next notification.
    pub fn deadline(&self) -> Option<Instant> {
        self.0.iter().filter_map(Debounce::deadline).min()
    }

    /// The next list whose notification is due.
    pub fn poll(&mut self, now: Instant) -> Option<(List, ListScope)> {
        List::ALL.into_iter().find_map(|list| Some((list, self.0[list as usize].poll(now)?)))
    }
}

impl Debounce {
    fn new(delay: Duration) -> Self {
        Self { delay, due: None }
    }

    /// The list has changed. `next_request` is the number that the next request will get.
    fn changed(&mut self, scope: ListScope, now: Instant, next_request: u64) {
        let latest = self.due.as_ref().map_or(now + LONGEST.max(self.delay), |due| due.latest);
        let at = (now + self.delay).min(latest);
        let scope = self.due.as_ref().map_or(scope, |due| due.scope.max(scope));
        self.due = Some(Due { at, latest, scope, before: next_request });
    }

    /// Request `number` was answered.
    fn answered(&mut self, now: Instant, number: u64) {
        if let Some(due) = self.due.as_mut().filter(|due| number < due.before) {
            due.at = (now + self.delay).min(due.latest);
        }
    }

    fn deadline(&self) -> Option<Instant> {
        self.due.as_ref().map(|due| due.at)
    }

    /// `Some` if the notification is due.
    fn poll(&mut self, now: Instant) -> Option<ListScope> {
        self.due.take_if(|due| due.at <= now).map(|due| due.scope)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    enum Step {
        Changed,
        Answered(u64),
        Quiet,
        Sent,
    }
    use ListScope::{Everyone, Session};
    use Step::{Answered, Changed, Quiet, Sent};

    /// Steps with their time in milliseconds. The next request has number 10, the delay is 10 ms.
    #[track_caller]
    fn check(steps: &[(u64, Step)]) {
        let start = Instant::now();
        let mut announce = Debounce::new(Duration::from_millis(10));
        for (at, step) in steps {
            let now = start + Duration::from_millis(*at);
            match step {
                Changed => announce.changed(Session, now, 10),
                Answered(number) => announce.answered(now, *number),
                Quiet => assert_eq!(announce.poll(now), None, "at {at} ms"),
                Sent => {
                    assert_eq!(announce.deadline(), Some(now), "at {at} ms");
                    assert_eq!(announce.poll(now), Some(Session));
                    assert_eq!(announce.deadline(), None);
                }
            }
        }
    }

    #[test]
    fn nothing_is_sent_without_a_change() {
        check(&[(0, Quiet), (1, Answered(1)), (500, Quiet)]);
    }

    #[test]
    fn a_change_is_sent_after_the_delay_and_once() {
        check(&[(0, Changed), (9, Quiet), (10, Sent), (11, Quiet), (500, Quiet)]);
        check(&[(0, Changed), (5, Changed), (14, Quiet), (15, Sent), (20, Changed), (30, Sent)]);
    }

    #[test]
    fn changes_for_everyone_are_sent_to_everyone() {
        let start = Instant::now();
        let mut announce = Debounce::new(Duration::ZERO);
        for changes in [&[Everyone][..], &[Everyone, Session], &[Session, Everyone]] {
            changes.iter().for_each(|scope| announce.changed(*scope, start, 10));
            assert_eq!(announce.poll(start), Some(Everyone));
        }
    }

    #[test]
    fn answers_of_calls_that_were_there_come_first() {
        check(&[(0, Changed), (8, Answered(9)), (17, Quiet), (18, Sent)]);
        check(&[(0, Changed), (8, Answered(10)), (10, Sent)]);
    }

    #[test]
    fn nothing_puts_it_off_for_longer_than_a_quarter_of_a_second() {
        let mut steps: Vec<_> = (0..=31).map(|step| (step * 8, Changed)).collect();
        steps.push((249, Quiet));
        steps.push((250, Sent));
        check(&steps);
        let mut steps = vec![(0, Changed)];
        steps.extend((1..=31).map(|step| (step * 8, Answered(1))));
        steps.push((250, Sent));
        check(&steps);
    }
}
