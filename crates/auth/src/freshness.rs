//! Decides when to fetch a document again, and the step of a request until it has arrived. A value: time is an
//! argument.
//!
//! ```text
//!            Fetch, UseAndFetch                succeeded
//!   (idle) ─────────────────────▶ (fetching) ────────────▶ (idle, fetched)
//!      ▲                              │ failed
//!      └──── 10 s without attempts ◀──┘
//! ```

use std::time::Duration;

use tokio::time::Instant;

/// The age at which a document is fetched again.
const MAX_AGE: Duration = Duration::from_secs(600);

/// The age at which a document that cannot be fetched again becomes unusable. An issuer that is away for longer cannot
/// issue tokens either.
const MAX_STALE: Duration = Duration::from_secs(24 * 3600);

/// The pause between the end of one attempt and the start of the next. It bounds the requests that invented key names
/// cause.
const PAUSE: Duration = Duration::from_secs(10);

/// The most by which the issuer's clock may be ahead when it dates a token.
const CLOCKS: Duration = Duration::from_secs(30);

/// The age of a document, and the attempt to fetch it that is under way. There is one attempt at a time.
#[derive(Debug, Default)]
pub(crate) struct Freshness {
    /// The start of the attempt that fetched the document.
    fetched: Option<Instant>,
    /// The end of the last attempt.
    ended: Option<Instant>,
    /// The start of the attempt under way.
    fetching: Option<Instant>,
}

/// The part of the document that a request needs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wanted {
    /// The time of the request.
    pub(crate) since: Instant,
    /// Its age, if the request tells. A document that is newer would contain it.
    pub(crate) age: Option<Duration>,
}

/// The next step of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// It uses the document, which has the part or is newer than it.
    Use,
    /// The same, and starts an attempt to fetch a newer document.
    UseAndFetch,
    /// It starts an attempt and waits for its end.
    Fetch,
    /// It waits for the end of the attempt under way.
    Wait,
    /// It fails: the last attempt has just ended, so nothing newer can be known yet.
    Unavailable,
}

impl Freshness {
    /// The next step of a request; `has`: there is a document and it has the part. A new attempt is recorded.
    pub(crate) fn step(&mut self, has: bool, wanted: Wanted, now: Instant) -> Step {
        let is_due = self.fetching.is_none() && self.ended.is_none_or(|ended| now >= ended + PAUSE);
        if self.is_usable(now) && (has || self.is_newer_than(wanted, now)) {
            let is_old = self.fetched.is_none_or(|fetched| now >= fetched + MAX_AGE);
            return if is_old && is_due { self.begin(now, Step::UseAndFetch) } else { Step::Use };
        }
        match self.fetching {
            Some(_) => Step::Wait,
            None if is_due => self.begin(now, Step::Fetch),
            None => Step::Unavailable,
        }
    }

    /// True if the document may still be used.
    pub(crate) fn is_usable(&self, now: Instant) -> bool {
        self.fetched.is_some_and(|fetched| now < fetched + MAX_STALE)
    }

    /// The attempt has fetched the document.
    pub(crate) fn succeeded(&mut self, now: Instant) {
        self.fetched = self.fetching.take().or(Some(now));
        self.ended = Some(now);
    }

    /// The attempt has failed.
    pub(crate) fn failed(&mut self, now: Instant) {
        self.fetching = None;
        self.ended = Some(now);
    }

    fn begin(&mut self, now: Instant, step: Step) -> Step {
        self.fetching = Some(now);
        step
    }

    /// True if the document would have the part if that existed.
    fn is_newer_than(&self, wanted: Wanted, now: Instant) -> bool {
        let Some(fetched) = self.fetched else { return false };
        fetched >= wanted.since || wanted.age.is_some_and(|age| now.saturating_duration_since(fetched) + CLOCKS < age)
    }
}

#[cfg(test)]
mod tests {
    use Event::{Failed, Has, Lacks, Succeeded};

    use super::*;

    /// Something happens at this second. Requests came a second earlier, and know no age.
    enum Event {
        /// A request for a part that the document has.
        Has(u64, Step),
        /// A request for a part that it lacks.
        Lacks(u64, Step),
        Succeeded(u64),
        Failed(u64),
    }

    #[track_caller]
    fn check(events: &[Event]) {
        let start = Instant::now();
        let at = |seconds: u64| start + Duration::from_secs(seconds);
        let mut freshness = Freshness::default();
        for event in events {
            let (has, seconds, expected) = match *event {
                Succeeded(seconds) => {
                    freshness.succeeded(at(seconds));
                    continue;
                }
                Failed(seconds) => {
                    freshness.failed(at(seconds));
                    continue;
                }
                Has(seconds, expected) => (true, seconds, expected),
                Lacks(seconds, expected) => (false, seconds, expected),
            };
            let wanted = Wanted { since: at(seconds.saturating_sub(1)), age: None };
            assert_eq!(freshness.step(has, wanted, at(seconds)), expected, "at {seconds}");
        }
    }

    #[test]
    fn one_attempt_runs_at_a_time_and_all_wait_for_its_end() {
        check(&[Lacks(100, Step::Fetch), Lacks(100, Step::Wait), Lacks(130, Step::Wait), Has(130, Step::Wait)]);
    }

    #[test]
    fn the_pause_begins_at_the_end_of_an_attempt() {
        for end in [Failed(120), Succeeded(120)] {
            check(&[
                Lacks(100, Step::Fetch),
                Lacks(119, Step::Wait),
                end,
                Lacks(129, Step::Unavailable),
                Lacks(130, Step::Fetch),
                Lacks(131, Step::Wait),
            ]);
        }
    }

    #[test]
    fn a_document_with_the_part_is_used_during_an_attempt() {
        check(&[
            Lacks(100, Step::Fetch),
            Succeeded(100),
            Has(100, Step::Use),
            Lacks(110, Step::Fetch),
            Has(115, Step::Use),
            Failed(119),
            Has(119, Step::Use),
        ]);
    }

    #[test]
    fn an_old_document_is_used_while_it_is_fetched_again() {
        check(&[
            Lacks(100, Step::Fetch),
            Succeeded(105),
            Has(699, Step::Use),
            Has(700, Step::UseAndFetch),
            Has(700, Step::Use),
            Failed(701),
            Has(710, Step::Use),
            Has(711, Step::UseAndFetch),
            Succeeded(712),
            Has(1310, Step::Use),
            Has(1311, Step::UseAndFetch),
        ]);
    }

    #[test]
    fn a_document_lasts_a_day_without_its_issuer() {
        const DAY: u64 = 24 * 3600;
        check(&[
            Lacks(100, Step::Fetch),
            Succeeded(100),
            Has(99 + DAY, Step::UseAndFetch),
            Failed(99 + DAY),
            Has(100 + DAY, Step::Unavailable),
            Has(110 + DAY, Step::Fetch),
        ]);
    }

    #[test]
    fn only_a_newer_document_proves_that_a_part_does_not_exist() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let mut freshness = Freshness::default();
        let asked_at_100 = Wanted { since: at(100), age: None };
        assert_eq!(freshness.step(false, asked_at_100, at(100)), Step::Fetch);
        freshness.succeeded(at(103));
        assert_eq!(freshness.step(false, asked_at_100, at(103)), Step::Use, "the attempt began with the request");
        let asked = |age: Option<u64>| Wanted { since: at(105), age: age.map(Duration::from_secs) };
        for (age, expected) in [
            (None, Step::Unavailable),
            (Some(0), Step::Unavailable),
            // Issued when the attempt began, by a clock that is half a minute ahead.
            (Some(35), Step::Unavailable),
            (Some(36), Step::Use),
        ] {
            assert_eq!(freshness.step(false, asked(age), at(105)), expected, "{age:?}");
        }
    }
}
