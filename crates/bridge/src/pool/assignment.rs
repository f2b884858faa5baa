//! Assigns sessions and calls to the workers of a pool: a value.
//!
//! A session gets the worker with the fewest sessions and keeps it until it ends. A call that may go anywhere gets the
//! worker with the fewest calls; among equals they take turns.

use std::collections::HashMap;

use protomcp_server::SessionId;

/// The sessions and the calls of each worker.
#[derive(Debug)]
pub(crate) struct Assignment {
    of_session: HashMap<SessionId, usize>,
    loads: Vec<Load>,
    /// The worker that is considered first for the next call.
    next: usize,
}

#[derive(Debug, Clone, Copy, Default)]
struct Load {
    sessions: usize,
    calls: usize,
}

impl Assignment {
    pub(crate) fn new(workers: usize) -> Self {
        Self { of_session: HashMap::new(), loads: vec![Load::default(); workers.max(1)], next: 0 }
    }

    /// The worker that a session has.
    pub(crate) fn known(&self, session: SessionId) -> Option<usize> {
        self.of_session.get(&session).copied()
    }

    /// Gives a new session its worker: none that is down while another one `serves`.
    pub(crate) fn begin(&mut self, session: SessionId, serves: impl Fn(usize) -> bool) -> usize {
        let sessions = |worker: &usize| self.loads[*worker].sessions;
        let all = 0..self.loads.len();
        let fewest = all.clone().filter(|worker| serves(*worker)).min_by_key(sessions);
        let worker = fewest.or_else(|| all.min_by_key(sessions)).unwrap_or_default();
        if self.of_session.insert(session, worker).is_none() {
            self.loads[worker].sessions += 1;
        }
        worker
    }

    /// A session has ended. Returns its worker, if it had one.
    pub(crate) fn forget(&mut self, session: SessionId) -> Option<usize> {
        let worker = self.of_session.remove(&session)?;
        let sessions = &mut self.loads[worker].sessions;
        *sessions = sessions.saturating_sub(1);
        Some(worker)
    }

    /// Begins a call on one of the workers that `may` take it; `None` if none may. [`end`](Self::end) follows.
    pub(crate) fn spread(&mut self, may: impl Fn(usize) -> bool) -> Option<usize> {
        let count = self.loads.len();
        let turns = (self.next..count).chain(0..self.next);
        let worker = turns.filter(|worker| may(*worker)).min_by_key(|worker| self.loads[*worker].calls)?;
        self.next = (worker + 1) % count;
        self.loads[worker].calls += 1;
        Some(worker)
    }

    /// A call of [`spread`](Self::spread) has ended.
    pub(crate) fn end(&mut self, worker: usize) {
        let calls = &mut self.loads[worker].calls;
        *calls = calls.saturating_sub(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANY: fn(usize) -> bool = |_| true;

    fn session(number: u64) -> SessionId {
        SessionId::new(number)
    }

    #[test]
    fn a_session_keeps_the_worker_with_the_fewest_sessions() {
        let mut assignment = Assignment::new(3);
        let workers: Vec<usize> = (1..=6).map(|number| assignment.begin(session(number), ANY)).collect();
        assert_eq!(workers, [0, 1, 2, 0, 1, 2]);
        assert_eq!(assignment.known(session(5)), Some(1));
        assert_eq!(assignment.forget(session(5)), Some(1));
        assert_eq!((assignment.forget(session(5)), assignment.known(session(5))), (None, None));
        assert_eq!(assignment.begin(session(7), ANY), 1);
    }

    #[test]
    fn a_new_session_avoids_workers_that_are_down() {
        let mut assignment = Assignment::new(2);
        for number in 1..=3 {
            assert_eq!(assignment.begin(session(number), |worker| worker == 1), 1);
        }
        // Without any that serves it waits with the others.
        assert_eq!(assignment.begin(session(4), |_| false), 0);
    }

    #[test]
    fn calls_go_to_idle_workers_in_turn() {
        let mut assignment = Assignment::new(3);
        let mut next = |may: fn(usize) -> bool| assignment.spread(may);
        assert_eq!([next(ANY), next(ANY), next(ANY), next(ANY)], [Some(0), Some(1), Some(2), Some(0)]);
        // The second and third have one call each, the first has two.
        assert_eq!([next(ANY), next(ANY)], [Some(1), Some(2)]);
        assert_eq!(next(|worker| worker == 2), Some(2));
        assert_eq!(next(|_| false), None);
        assignment.end(1);
        assert_eq!(assignment.spread(ANY), Some(1));
        // One call at a time takes turns as well.
        let mut alone = Assignment::new(2);
        let turns = std::array::from_fn(|_| {
            let worker = alone.spread(ANY).unwrap();
            alone.end(worker);
            worker
        });
        assert_eq!(turns, [0, 1, 0, 1]);
    }
}
