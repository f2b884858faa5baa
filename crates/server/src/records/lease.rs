//! The lease of one process, as a value: the times at which it is renewed, and at which it has run out.
//!
//! A process serves sessions that others can take over only while it holds its lease. Its time begins when a request
//! was *sent*, and is shorter than the store's, so that it stops before another process may begin. All times come from
//! one clock, which has to go on while the machine is suspended: `Instant::now` does not on Linux and macOS.
//!
//! ```text
//!            poll: Renew
//!      Idle ─────────────▶ Renewing
//!       ▲ ◀───────────────   │
//!       │  renewed, failed   │
//!       └──────────┬─────────┘
//!                  │ poll: Stop, when the time is up; end
//!                  ▼
//!                 Over
//! ```

use std::time::{Duration, Instant};

use crate::records::clock::LONGEST;

/// The times of a lease, as parts of the time for which the store grants it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeaseTerms {
    ttl: Duration,
}

impl LeaseTerms {
    /// A store counts the lease for `ttl` from each renewal, for a year at most. A session whose process has died is
    /// free after this time.
    #[must_use]
    pub fn new(ttl: Duration) -> Self {
        Self { ttl: ttl.min(LONGEST) }
    }

    /// The time for which the store grants the lease.
    #[must_use]
    pub fn ttl(self) -> Duration {
        self.ttl
    }

    /// The time for which its process uses the lease: a tenth less, so that clocks of the process and of the store may
    /// differ by a tenth.
    #[must_use]
    pub fn held_for(self) -> Duration {
        self.ttl - self.ttl / 10
    }

    /// The time after which a lease is renewed: two renewals may be lost.
    fn renew_after(self) -> Duration {
        self.ttl / 3
    }

    /// The time that a request to the store may take.
    pub(crate) fn request_limit(self) -> Duration {
        self.ttl / 20
    }
}

/// Ten seconds.
impl Default for LeaseTerms {
    fn default() -> Self {
        Self::new(Duration::from_secs(10))
    }
}

/// The lease of a process, seen by this process.
///
/// The caller [polls](Self::poll) it at its [deadline](Self::deadline), and reports the outcome of each renewal.
#[derive(Debug)]
pub struct Lease {
    terms: LeaseTerms,
    until: Instant,
    phase: Phase,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// The next renewal is due at this time.
    Idle(Instant),
    /// A renewal was sent at this time.
    Renewing(Instant),
    /// The process does not hold the lease, and never will again.
    Over,
}

/// The action that is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeaseAction {
    /// Renew the lease, and report the outcome with [`Lease::renewed`], [`Lease::failed`] or [`Lease::end`].
    Renew,
    /// The time is up: end all sessions that other processes can take over.
    Stop,
}

impl Lease {
    /// A lease that the store has granted. The request for it was sent at this time.
    #[must_use]
    pub fn granted(terms: LeaseTerms, sent: Instant) -> Self {
        Self { terms, until: sent + terms.held_for(), phase: Phase::Idle(sent + terms.renew_after()) }
    }

    /// True if the process may serve its sessions now. To be checked before each effect that two processes must not
    /// have.
    #[must_use]
    pub fn is_held(&self, now: Instant) -> bool {
        self.phase != Phase::Over && now < self.until
    }

    /// The time from which the process does not hold the lease, unless it is renewed.
    #[must_use]
    pub fn until(&self) -> Instant {
        self.until
    }

    /// The time of the next action; `None`: none will be due.
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        match self.phase {
            Phase::Idle(renew_at) => Some(self.until.min(renew_at)),
            Phase::Renewing(_) => Some(self.until),
            Phase::Over => None,
        }
    }

    /// The action that is due now. Each is returned once.
    pub fn poll(&mut self, now: Instant) -> Option<LeaseAction> {
        match self.phase {
            Phase::Over => None,
            _ if now >= self.until => {
                self.phase = Phase::Over;
                Some(LeaseAction::Stop)
            }
            Phase::Idle(renew_at) if now >= renew_at => {
                self.phase = Phase::Renewing(now);
                Some(LeaseAction::Renew)
            }
            Phase::Idle(_) | Phase::Renewing(_) => None,
        }
    }

    /// The store has renewed the lease. Without effect if it is over.
    pub fn renewed(&mut self) {
        if let Phase::Renewing(sent) = self.phase {
            self.until = sent + self.terms.held_for();
            self.phase = Phase::Idle(sent + self.terms.renew_after());
        }
    }

    /// The store has not answered. The renewal is repeated at this time.
    pub fn failed(&mut self, retry_at: Instant) {
        if let Phase::Renewing(_) = self.phase {
            self.phase = Phase::Idle(retry_at);
        }
    }

    /// The store has refused to renew the lease, or the process gives it back. No further action is due.
    pub fn end(&mut self) {
        self.phase = Phase::Over;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A lease of 60 seconds: held for 54, renewed after 20.
    fn lease() -> (Lease, impl Fn(u64) -> Instant) {
        let start = Instant::now();
        let terms = LeaseTerms::new(Duration::from_secs(60));
        (Lease::granted(terms, start), move |seconds| start + Duration::from_secs(seconds))
    }

    #[test]
    fn a_lease_is_renewed_from_the_time_at_which_it_was_sent() {
        let (mut lease, at) = lease();
        assert_eq!((lease.deadline(), lease.poll(at(19))), (Some(at(20)), None));
        assert_eq!(lease.poll(at(20)), Some(LeaseAction::Renew));
        assert_eq!((lease.deadline(), lease.poll(at(53))), (Some(at(54)), None), "one renewal is under way");
        lease.renewed();
        assert_eq!((lease.deadline(), lease.until()), (Some(at(40)), at(74)));
        assert!(lease.is_held(at(73)) && !lease.is_held(at(74)));
        lease.renewed();
        assert!(!lease.is_held(at(74)), "it was renewed once");
    }

    #[test]
    fn a_renewal_without_an_answer_is_repeated() {
        let (mut lease, at) = lease();
        for (due, retry) in [(20, 24), (24, 33), (33, 36)] {
            assert_eq!((lease.deadline(), lease.poll(at(due))), (Some(at(due)), Some(LeaseAction::Renew)));
            lease.failed(at(retry));
            assert!(lease.is_held(at(retry)));
        }
        lease.failed(at(40));
        assert_eq!(lease.deadline(), Some(at(36)), "nothing was under way");
    }

    #[test]
    fn a_lease_that_has_run_out_does_not_come_back() {
        for is_renewing in [true, false] {
            let (mut lease, at) = lease();
            if is_renewing {
                assert_eq!(lease.poll(at(50)), Some(LeaseAction::Renew));
            }
            assert!(lease.is_held(at(53)) && !lease.is_held(at(54)));
            assert_eq!((lease.poll(at(54)), lease.poll(at(54))), (Some(LeaseAction::Stop), None));
            lease.renewed();
            lease.failed(at(55));
            assert!(!lease.is_held(at(0)) && lease.deadline().is_none() && lease.poll(at(99)).is_none());
        }
    }

    #[test]
    fn an_answer_that_comes_before_the_poll_keeps_the_lease() {
        let (mut lease, at) = lease();
        assert_eq!(lease.poll(at(50)), Some(LeaseAction::Renew));
        assert!(!lease.is_held(at(60)));
        lease.renewed();
        assert_eq!((lease.is_held(at(103)), lease.poll(at(60))), (true, None));
    }

    #[test]
    fn a_lease_that_was_given_back_is_over() {
        let (mut lease, at) = lease();
        lease.end();
        assert!(!lease.is_held(at(0)));
        assert_eq!((lease.deadline(), lease.poll(at(99))), (None, None));
    }

    #[test]
    fn the_longest_lease_is_a_year() {
        let start = Instant::now();
        let terms = LeaseTerms::new(Duration::MAX);
        assert_eq!(terms.ttl(), LONGEST);
        assert!(Lease::granted(terms, start).is_held(start + LONGEST / 2));
    }

    #[test]
    fn a_grant_that_arrives_too_late_is_not_held() {
        let (mut lease, at) = lease();
        assert_eq!((lease.is_held(at(54)), lease.poll(at(54))), (false, Some(LeaseAction::Stop)));
    }
}
