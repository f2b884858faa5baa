//! Calls that wait for an answer of their client while other callers wait for their slots: a value.
//!
//! A handler that has asked its client something keeps its slot in the process, since only the process knows how much
//! it can do concurrently. A client that does not answer must not keep slots from others. So while calls of other
//! owners wait and no slot is free, questions are withdrawn, one after the other, and their handlers end:
//!
//! * immediately, as long as questions of one owner hold more than half of the slots;
//! * otherwise after [`GRACE`], the oldest first;
//! * immediately, for a call of which a question was withdrawn before.
//!
//! An owner that is alone may leave its questions open until they time out.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::{Duration, Instant};

use protomcp_link::CallId;
use protomcp_server::Owner;

use crate::generation::Generation;

/// The time that a question may be open while calls of other owners wait for a slot.
pub(crate) const GRACE: Duration = Duration::from_secs(5);

/// The time for a handler to end after its question was withdrawn, before the next question is.
const PACE: Duration = Duration::from_millis(250);

/// The open questions of calls.
#[derive(Debug, Default)]
pub(crate) struct OpenQuestions {
    open: BTreeMap<u64, Open>,
    last: u64,
    /// Running calls of which a question was withdrawn.
    taken_back: HashSet<(Generation, CallId)>,
    /// The earliest time of the next withdrawal.
    next: Option<Instant>,
}

#[derive(Debug)]
struct Open {
    generation: Generation,
    owner: Owner,
    /// `None`: one of several calls of a session.
    call: Option<CallId>,
    since: Instant,
}

impl OpenQuestions {
    /// Adds a question of a call. Returns its number.
    pub(crate) fn begin(&mut self, generation: Generation, owner: Owner, call: Option<CallId>, now: Instant) -> u64 {
        self.last += 1;
        self.open.insert(self.last, Open { generation, owner, call, since: now });
        self.last
    }

    /// The question was answered or withdrawn.
    pub(crate) fn end(&mut self, question: u64) {
        self.open.remove(&question);
    }

    /// The call has ended.
    pub(crate) fn call_ended(&mut self, generation: Generation, call: CallId) {
        self.taken_back.remove(&(generation, call));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// The next question to be withdrawn, and its time, if nothing changes. `others_want` returns the number of slots
    /// of the process if calls of others than this owner wait for them.
    pub(crate) fn next(
        &self,
        generation: Generation,
        others_want: impl Fn(&Owner) -> Option<usize>,
    ) -> Option<(u64, Instant)> {
        let mut holders: HashMap<&Owner, usize> = HashMap::new();
        let mut counted = HashSet::new();
        for (_, open) in self.of(generation) {
            // Several questions of one call hold one slot.
            if open.call.is_none_or(|call| counted.insert(call)) {
                *holders.entry(&open.owner).or_default() += 1;
            }
        }
        let due = |(number, open): (&u64, &Open)| {
            let slots = others_want(&open.owner)?;
            let again = open.call.is_some_and(|call| self.taken_back.contains(&(generation, call)));
            let most = slots > 1 && holders[&open.owner] > slots / 2;
            Some((*number, if again || most { open.since } else { open.since + GRACE }))
        };
        let (number, due) = self.of(generation).filter_map(due).min_by_key(|(_, due)| *due)?;
        Some((number, self.next.map_or(due, |next| due.max(next))))
    }

    /// Withdraws a question.
    pub(crate) fn take_back(&mut self, question: u64, now: Instant) {
        if let Some(Open { generation, call: Some(call), .. }) = self.open.remove(&question) {
            self.taken_back.insert((generation, call));
        }
        self.next = Some(now + PACE);
    }

    fn of(&self, generation: Generation) -> impl Iterator<Item = (&u64, &Open)> {
        self.open.iter().filter(move |(_, open)| open.generation == generation)
    }
}

#[cfg(test)]
mod tests {
    use protomcp_link::CallIds;

    use super::*;

    const FIRST: Generation = Generation::FIRST;

    fn owner(name: &str) -> Owner {
        Owner::Principal(name.into())
    }

    /// A call of bob's waits for one of this many slots.
    fn bob_waits(slots: usize) -> impl Fn(&Owner) -> Option<usize> {
        move |holder| (*holder != owner("bob")).then_some(slots)
    }

    #[test]
    fn a_question_has_its_grace_while_others_wait() {
        let (mut open_questions, now) = (OpenQuestions::default(), Instant::now());
        let call = CallIds::default().next();
        let question = open_questions.begin(FIRST, owner("ann"), Some(call), now);
        assert_eq!(open_questions.next(FIRST, |_| None), None, "a lone owner may leave it open");
        assert_eq!(open_questions.next(FIRST, bob_waits(1)), Some((question, now + GRACE)));
        assert_eq!(open_questions.next(FIRST.next(), bob_waits(1)), None, "another process");
        let of_bob = open_questions.begin(FIRST, owner("bob"), None, now);
        open_questions.end(question);
        assert_eq!(open_questions.next(FIRST, bob_waits(1)), None, "no other owner waits for bob's slot");
        open_questions.end(of_bob);
        assert!(open_questions.is_empty());
    }

    #[test]
    fn an_owner_with_most_places_has_no_grace() {
        let (mut open_questions, now, ids) = (OpenQuestions::default(), Instant::now(), CallIds::default());
        let other = open_questions.begin(FIRST, owner("cid"), Some(ids.next()), now);
        let later = now + Duration::from_secs(1);
        let questions: Vec<_> =
            (0..3).map(|_| open_questions.begin(FIRST, owner("ann"), Some(ids.next()), later)).collect();
        assert_eq!(open_questions.next(FIRST, bob_waits(4)), Some((questions[0], later)), "three of four");
        assert_eq!(open_questions.next(FIRST, bob_waits(6)), Some((other, now + GRACE)), "three of six");
        open_questions.take_back(questions[0], later);
        assert_eq!(open_questions.next(FIRST, bob_waits(4)), Some((other, now + GRACE)), "two of four");
        assert_eq!(
            open_questions.next(FIRST, bob_waits(3)),
            Some((questions[1], later + PACE)),
            "a moment for the handler"
        );
    }

    #[test]
    fn questions_of_one_call_hold_one_place() {
        let (mut open_questions, now, call) = (OpenQuestions::default(), Instant::now(), CallIds::default().next());
        let first = open_questions.begin(FIRST, owner("ann"), Some(call), now);
        open_questions.begin(FIRST, owner("ann"), Some(call), now);
        assert_eq!(open_questions.next(FIRST, bob_waits(2)), Some((first, now + GRACE)));
    }

    #[test]
    fn a_call_that_asks_again_has_no_second_grace() {
        let (mut open_questions, now, call) = (OpenQuestions::default(), Instant::now(), CallIds::default().next());
        let first = open_questions.begin(FIRST, owner("ann"), Some(call), now);
        open_questions.take_back(first, now + GRACE);
        let again = now + GRACE + PACE;
        let second = open_questions.begin(FIRST, owner("ann"), Some(call), again);
        assert_eq!(open_questions.next(FIRST, bob_waits(1)), Some((second, again)));
        open_questions.end(second);
        open_questions.call_ended(FIRST, call);
        let third = open_questions.begin(FIRST, owner("ann"), Some(call), again);
        assert_eq!(open_questions.next(FIRST, bob_waits(1)), Some((third, again + GRACE)));
        assert!(open_questions.taken_back.is_empty());
    }
}
