//! The owners of the calls that the server has answered, as a value: the time is an argument.

use std::time::Instant;

use protomcp_server::Owner;

/// The owner of the last call with an answer, and the last time at which any other one had an answer. That is enough to know
/// if a message may be for another owner.
#[derive(Debug, Default)]
pub(super) struct Answered {
    last: Option<(Owner, Instant)>,
    other: Option<Instant>,
}

impl Answered {
    /// A call of this owner has its answer. It is remembered until `until`, which is later than each one before.
    pub(super) fn add(&mut self, owner: Owner, until: Instant) {
        match self.last.take() {
            Some((last, before)) if last != owner => self.other = Some(before),
            _ => {}
        }
        self.last = Some((owner, until));
    }

    /// True if a call of another owner is remembered.
    pub(super) fn is_of_another(&self, owner: &Owner, now: Instant) -> bool {
        let until = match &self.last {
            Some((last, _)) if last == owner => self.other,
            last => last.as_ref().map(|(_, until)| *until),
        };
        until.is_some_and(|until| until > now)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn only_an_answer_of_another_owner_counts() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        for (answers, owner, until) in [
            (&[][..], "a", 0),
            (&[("a", 1)], "a", 0),
            (&[("a", 1)], "b", 1),
            (&[("a", 1), ("b", 2)], "a", 2),
            (&[("a", 1), ("b", 2)], "b", 1),
            (&[("a", 1), ("b", 2)], "c", 2),
            (&[("a", 1), ("b", 2), ("b", 3)], "b", 1),
            (&[("a", 1), ("b", 2), ("a", 3)], "a", 2),
            (&[("a", 1), ("b", 2), ("a", 3), ("c", 4)], "c", 3),
        ] {
            let mut answered = Answered::default();
            for (owner, until) in answers {
                answered.add(Owner::Principal((*owner).into()), at(*until));
            }
            let is_known = |now| answered.is_of_another(&Owner::Principal(owner.into()), at(now));
            assert!((0..5).all(|now| is_known(now) == (now < until)), "{answers:?} {owner}");
        }
    }
}
