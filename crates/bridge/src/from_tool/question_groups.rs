//! Questions that are asked together: the questions of one request, held until the last of them has arrived.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use protomcp_server::Reservation;
use tokio::sync::oneshot;

use crate::from_tool::questions::Question;
use crate::generation::Generation;

/// A question that has a slot among the open ones.
#[derive(Debug)]
pub(crate) struct Admitted {
    pub(crate) question: Question,
    pub(crate) slot: Reservation,
}

/// The groups of all processes that wait for their last question. Their sizes are bounded by the slots of open
/// questions.
#[derive(Debug, Clone, Default)]
pub(crate) struct QuestionGroups(Arc<Mutex<HashMap<(Generation, String), Group>>>);

#[derive(Debug)]
struct Group {
    questions: Vec<Admitted>,
    /// Dropped with the group.
    _complete: oneshot::Sender<()>,
}

/// The effect of one more question.
#[derive(Debug)]
pub(crate) enum Gathered {
    /// These questions can be asked, in this order.
    Complete(Vec<Admitted>),
    /// It is the first of its group. The receiver ends with the group.
    First(oneshot::Receiver<()>),
    /// It waits for the last of its group.
    Waiting,
}

impl QuestionGroups {
    /// Adds a question to the group of its request.
    pub(crate) fn add(&self, generation: Generation, admitted: Admitted) -> Gathered {
        let Question { for_call, fields, .. } = &admitted.question;
        if for_call.is_empty() {
            return Gathered::Complete(vec![admitted]);
        }
        let (key, more) = ((generation, for_call.clone()), fields.more);
        let mut groups = self.lock();
        if !more {
            let mut questions = groups.remove(&key).map(|group| group.questions).unwrap_or_default();
            questions.push(admitted);
            return Gathered::Complete(questions);
        }
        if let Some(group) = groups.get_mut(&key) {
            group.questions.push(admitted);
            return Gathered::Waiting;
        }
        let (complete, ended) = oneshot::channel();
        groups.insert(key, Group { questions: vec![admitted], _complete: complete });
        Gathered::First(ended)
    }

    /// Removes the group of a request that has ended, or whose last question was refused. Returns its questions.
    pub(crate) fn remove(&self, generation: Generation, for_call: &str) -> Vec<Admitted> {
        let group = self.lock().remove(&(generation, for_call.to_owned()));
        group.map(|group| group.questions).unwrap_or_default()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<(Generation, String), Group>> {
        // No panic can happen half-way through a change.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use protomcp_envelope::ListRootsRequest;
    use protomcp_link::QuestionFields;
    use protomcp_server::{Budget, Owner};

    use super::*;
    use crate::from_tool::questions::Asked;

    fn question(budget: &Budget, id: &str, for_call: &str, more: bool) -> Admitted {
        let fields = QuestionFields { key: String::new(), more };
        let asked = Asked::Roots(ListRootsRequest {});
        let question = Question { id: id.into(), for_call: for_call.into(), fields, asked };
        Admitted { question, slot: budget.reserve(&Owner::Local, 1).unwrap() }
    }

    fn ids(gathered: Gathered) -> String {
        match gathered {
            Gathered::Complete(all) => all.into_iter().map(|admitted| admitted.question.id).collect(),
            Gathered::First(_) => "first".into(),
            Gathered::Waiting => "held".into(),
        }
    }

    #[test]
    fn questions_of_a_request_wait_for_the_last_one() {
        let (groups, budget, first) = (QuestionGroups::default(), Budget::new(64), Generation::FIRST);
        let add = |id, for_call, more| ids(groups.add(first, question(&budget, id, for_call, more)));
        assert_eq!(add("a", "req-1", true), "first");
        assert_eq!(add("b", "req-2", true), "first", "another request");
        assert_eq!(add("c", "", true), "c", "without a request there is no group");
        assert_eq!(add("d", "req-1", true), "held");
        assert_eq!(add("e", "req-1", false), "ade");
        assert_eq!(add("f", "req-1", false), "f", "a question alone");
        assert_eq!(groups.remove(first.next(), "req-2").len(), 0, "another process");
        assert_eq!(groups.remove(first, "req-2").len(), 1);
        assert_eq!(add("g", "req-2", false), "g");
    }

    #[test]
    fn the_end_of_a_group_ends_its_receiver() {
        let (groups, budget, first) = (QuestionGroups::default(), Budget::new(64), Generation::FIRST);
        let Gathered::First(mut ended) = groups.add(first, question(&budget, "a", "req-1", true)) else {
            panic!("it is the first")
        };
        assert_eq!(ended.try_recv(), Err(oneshot::error::TryRecvError::Empty));
        groups.add(first, question(&budget, "b", "req-1", false));
        assert_eq!(ended.try_recv(), Err(oneshot::error::TryRecvError::Closed));
    }
}
