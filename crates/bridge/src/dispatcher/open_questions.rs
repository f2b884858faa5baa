//! Calls that wait for an answer of their client while other callers wait for their places: a value.
//!
//! A handler that has asked its client something keeps its place in the process, since only the process knows what else it
//! can do meanwhile. A client that does not answer must not keep the places from others. So while calls of other owners
//! wait and no place is free, questions are taken back, one after the other, and their handlers end:
//!
//! * at once, as long as questions of one owner hold more than half of the places;
//! * otherwise after [`GRACE`], the oldest first;
//! * at once, what a call asks whose question was taken back before.
//!
//! An owner that is alone may leave its questions open for as long as one may be.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::{Duration, Instant};

use protomcp_link::CallId;
use protomcp_server::Owner;

use crate::generation::Generation;

/// The time that a question may be open while calls of other owners wait for a place.
pub(crate) const GRACE: Duration = Duration::from_secs(5);

/// After a question was taken back, its handler has this long to end before the next question is taken back.
const PACE: Duration = Duration::from_millis(250);

/// The open questions of calls.
#[derive(Debug, Default)]
pub(crate) struct OpenQuestions {
    open: BTreeMap<u64, Open>,
    last: u64,
    /// Calls that run and whose question was taken back.
    taken_back: HashSet<(Generation, CallId)>,
    /// No question is taken back before.
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
    /// A call asks something. Returns the number of the question.
    pub(crate) fn begin(&mut self, generation: Generation, owner: Owner, call: Option<CallId>, now: Instant) -> u64 {
        self.last += 1;
        self.open.insert(self.last, Open { generation, owner, call, since: now });
        self.last
    }

    /// The question is answered, or taken back.
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

    /// The question that is taken back next, and when, if nothing changes. `others_want` says how many places the process
    /// has, if calls of others than this owner wait for them.
    pub(crate) fn next(
        &self,
        generation: Generation,
        others_want: impl Fn(&Owner) -> Option<usize>,
    ) -> Option<(u64, Instant)> {
        let mut holders: HashMap<&Owner, usize> = HashMap::new();
        let mut counted = HashSet::new();
        for (_, open) in self.of(generation) {
            // Several questions of one call hold one place.
            if open.call.is_none_or(|call| counted.insert(call)) {
                *holders.entry(&open.owner).or_default() += 1;
            }
        }
        let due = |(number, open): (&u64, &Open)| {
            let places = others_want(&open.owner)?;
            let again = open.call.is_some_and(|call| self.taken_back.contains(&(generation, call)));
            let most = places > 1 && holders[&open.owner] > places / 2;
            Some((*number, if again || most { open.since } else { open.since + GRACE }))
        };
        let (number, due) = self.of(generation).filter_map(due).min_by_key(|(_, due)| *due)?;
        Some((number, self.next.map_or(due, |next| due.max(next))))
    }

    /// Takes a question back.
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

    /// A call of bob's waits for one of so many places.
    fn bob_waits(places: usize) -> impl Fn(&Owner) -> Option<usize> {
        move |holder| (*holder != owner("bob")).then_some(places)
    }

    #[test]
    fn a_question_has_its_grace_while_others_wait() {
        let (mut open_questions, now) = (OpenQuestions::default(), Instant::now());
        let call = CallIds::default().next();
        let question = open_questions.begin(FIRST, owner("ann"), Some(call), now);
        assert_eq!(open_questions.next(FIRST, |_| None), None, "alone it may stay");
        assert_eq!(open_questions.next(FIRST, bob_waits(1)), Some((question, now + GRACE)));
        assert_eq!(open_questions.next(FIRST.next(), bob_waits(1)), None, "another process");
        let of_bob = open_questions.begin(FIRST, owner("bob"), None, now);
        open_questions.end(question);
        assert_eq!(open_questions.next(FIRST, bob_waits(1)), None, "no other owner waits for bob's place");
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
