//! When to fetch a document again. A value: time is an argument.

use std::time::Duration;

use tokio::time::Instant;

/// How old a document may be before it is fetched again.
const MAX_AGE: Duration = Duration::from_secs(600);

/// How old it may be when it cannot be fetched again. An issuer that is away for longer than this has no tokens either.
const MAX_STALE: Duration = Duration::from_secs(24 * 3600);

/// Between two tries. Otherwise whoever makes up names of keys could have us ask the issuer all day.
const PAUSE: Duration = Duration::from_secs(10);

/// What is known of a document's age.
#[derive(Debug, Default)]
pub(crate) struct Freshness {
    fetched: Option<Instant>,
    tried: Option<Instant>,
}

impl Freshness {
    /// Whether to fetch it; `lacks` when it does not hold what is looked for.
    pub(crate) fn wants(&self, lacks: bool, now: Instant) -> bool {
        let is_old = self.fetched.is_none_or(|fetched| now >= fetched + MAX_AGE);
        (is_old || lacks) && self.tried.is_none_or(|tried| now >= tried + PAUSE)
    }

    /// Whether it may still be used.
    pub(crate) fn is_usable(&self, now: Instant) -> bool {
        self.fetched.is_some_and(|fetched| now < fetched + MAX_STALE)
    }

    /// It is being fetched.
    pub(crate) fn try_now(&mut self, now: Instant) {
        self.tried = Some(now);
    }

    /// It is there.
    pub(crate) fn fetched(&mut self, now: Instant) {
        self.fetched = Some(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_is_fetched_when_it_is_old_or_lacks_something_but_not_all_the_time() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let mut freshness = Freshness::default();
        assert!(freshness.wants(false, at(0)) && !freshness.is_usable(at(0)));
        freshness.try_now(at(0));
        assert!(!freshness.wants(true, at(9)), "it was tried just now");
        assert!(freshness.wants(true, at(10)), "it is not there yet");
        freshness.try_now(at(10));
        freshness.fetched(at(11));
        assert!(!freshness.wants(false, at(610)) && freshness.wants(true, at(20)));
        assert!(!freshness.wants(true, at(19)), "a second unknown key waits");
        assert!(freshness.wants(false, at(611)));
        freshness.try_now(at(611));
        assert!(freshness.is_usable(at(11 + 24 * 3600 - 1)) && !freshness.is_usable(at(11 + 24 * 3600)));
    }
}
