//! When the host is told that a list has changed.
//!
//! A tool may change the list and then answer. The host must see the answer first, and gets a moment to act on it; many
//! changes in a row are told once (protomcp wire, tool list control). Each kind of list has an `Announce` of its own.

use std::time::{Duration, Instant};

/// The longest that calls which were running at the time of a change can put off telling the host.
const LONGEST: Duration = Duration::from_millis(250);

#[derive(Debug)]
pub(crate) struct Announce {
    delay: Duration,
    due: Option<Due>,
}

#[derive(Debug)]
struct Due {
    at: Instant,
    latest: Instant,
    /// Requests with a smaller number were there when the list changed, and may have caused it.
    before: u64,
}

impl Announce {
    pub(crate) fn new(delay: Duration) -> Self {
        Self { delay, due: None }
    }

    /// The list has changed. `next_request` is the number that the next request will get.
    pub(crate) fn changed(&mut self, now: Instant, next_request: u64) {
        let latest = self.due.as_ref().map_or(now + LONGEST.max(self.delay), |due| due.latest);
        let at = (now + self.delay).min(latest);
        self.due = Some(Due { at, latest, before: next_request });
    }

    /// Request `number` was answered.
    pub(crate) fn answered(&mut self, now: Instant, number: u64) {
        if let Some(due) = self.due.as_mut().filter(|due| number < due.before) {
            due.at = (now + self.delay).min(due.latest);
        }
    }

    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.due.as_ref().map(|due| due.at)
    }

    /// Whether the host is to be told now.
    pub(crate) fn poll(&mut self, now: Instant) -> bool {
        self.due.take_if(|due| due.at <= now).is_some()
    }
}
