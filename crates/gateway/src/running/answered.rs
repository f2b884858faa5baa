//! The callers that the server has answered, as a value: the time is an argument.

use std::time::Instant;

use crate::running::origin::Origin;

/// The last caller with an answer, and the last time at which any other one had an answer. That is enough to know if a
/// message may be for another one.
#[derive(Debug, Default)]
pub(super) struct Answered {
    last: Option<(Origin, Instant)>,
    other: Option<Instant>,
}

impl Answered {
    /// A call of this caller has its answer. It is remembered until `until`, which is later than each one before.
    pub(super) fn add(&mut self, origin: Origin, until: Instant) {
        match self.last.take() {
            Some((last, before)) if !last.is_one_with(&origin) => self.other = Some(before),
            _ => {}
        }
        self.last = Some((origin, until));
    }

    /// True if a caller is remembered for which `is_own` is false.
    pub(super) fn are_others(&self, is_own: impl Fn(&Origin) -> bool, now: Instant) -> bool {
        let until = match &self.last {
            Some((last, _)) if is_own(last) => self.other,
            last => last.as_ref().map(|(_, until)| *until),
        };
        until.is_some_and(|until| until > now)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use protomcp_server::{Owner, SessionId};

    use super::*;

    #[test]
    fn only_an_answer_for_another_caller_counts() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let user = |name: &str| (1, Owner::Principal(name.into()));
        let (a, b, c) = (user("a"), user("b"), user("c"));
        let from = |session| (session, Owner::of_address([10, 0, 0, 1].into()));
        let origin =
            |(session, owner): &(u64, Owner)| Origin { session: SessionId::new(*session), owner: owner.clone() };
        for (answers, caller, until) in [
            (vec![], &a, 0),
            (vec![(&a, 1)], &a, 0),
            (vec![(&a, 1)], &b, 1),
            (vec![(&a, 1), (&b, 2)], &a, 2),
            (vec![(&a, 1), (&b, 2)], &b, 1),
            (vec![(&a, 1), (&b, 2)], &c, 2),
            (vec![(&a, 1), (&b, 2), (&b, 3)], &b, 1),
            (vec![(&a, 1), (&b, 2), (&a, 3)], &a, 2),
            (vec![(&a, 1), (&b, 2), (&a, 3), (&c, 4)], &c, 3),
            // A user has several sessions, and an address several users.
            (vec![(&(2, a.1.clone()), 1)], &a, 0),
            (vec![(&from(1), 1)], &from(1), 0),
            (vec![(&from(1), 1)], &from(2), 1),
        ] {
            let mut answered = Answered::default();
            for (caller, until) in &answers {
                answered.add(origin(caller), at(*until));
            }
            let caller = origin(caller);
            let are_others = |now| answered.are_others(|other| other.is_one_with(&caller), at(now));
            assert!((0..5).all(|now| are_others(now) == (now < until)), "{answers:?} {caller:?}");
        }
    }
}
