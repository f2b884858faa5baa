//! A question to a client, withdrawn when calls of other owners wait for the slot of its call: a driver of
//! `open_questions`.

use std::sync::Arc;
use std::time::Instant;

use protomcp_link::CallId;
use protomcp_server::Owner;
use tokio::sync::Notify;

use crate::clock::now;
use crate::dispatcher::Dispatcher;
use crate::dispatcher::state::State;
use crate::generation::Generation;

/// A question of a call without an answer of its client.
pub(crate) struct OpenQuestion {
    dispatcher: Arc<Dispatcher>,
    generation: Generation,
    number: u64,
    /// Notified when this question is the next to be withdrawn.
    is_next: Arc<Notify>,
}

impl Dispatcher {
    /// Adds a question of a call of this process. `None` for the call: one of several of a session.
    pub(crate) fn open_question(
        self: &Arc<Self>,
        generation: Generation,
        owner: &Owner,
        call: Option<CallId>,
    ) -> OpenQuestion {
        let mut state = self.lock();
        state.stall(generation);
        let number = state.open_questions.begin(generation, owner.clone(), call, now());
        let is_next = Arc::new(Notify::new());
        state.next_signals.insert(number, Arc::clone(&is_next));
        state.notify_next_questions();
        OpenQuestion { dispatcher: Arc::clone(self), generation, number, is_next }
    }
}

impl<W> State<W> {
    /// Notifies the question of each process that is the next to be withdrawn. Called after every change that may
    /// select another one. The other questions sleep: a process may ask hundreds of questions concurrently, and every
    /// end of a question is a change.
    pub(super) fn notify_next_questions(&self) {
        if self.open_questions.is_empty() || (self.scheduler.owners() == 0 && !self.has_in_turn()) {
            return;
        }
        for generation in self.processes.keys() {
            if let Some((next, _)) = self.next_question(*generation) {
                self.next_signals[&next].notify_one();
            }
        }
    }

    fn next_question(&self, generation: Generation) -> Option<(u64, Instant)> {
        self.open_questions.next(generation, |owner| self.others_want(generation, owner))
    }
}

impl OpenQuestion {
    /// Waits until the question is withdrawn, because calls of other owners wait.
    pub(crate) async fn taken_back(&self) {
        loop {
            let at = {
                let mut state = self.dispatcher.lock();
                let next = state.next_question(self.generation).filter(|(next, _)| *next == self.number);
                if next.is_some_and(|(_, at)| at <= now()) {
                    state.open_questions.take_back(self.number, now());
                    state.notify_next_questions();
                    return;
                }
                next.map(|(_, at)| at)
            };
            match at {
                None => self.is_next.notified().await,
                Some(at) => drop(tokio::time::timeout_at(at.into(), self.is_next.notified()).await),
            }
        }
    }
}

impl Drop for OpenQuestion {
    fn drop(&mut self) {
        let mut state = self.dispatcher.lock();
        state.open_questions.end(self.number);
        state.next_signals.remove(&self.number);
        state.notify_next_questions();
    }
}
