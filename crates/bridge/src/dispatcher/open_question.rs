//! A question to a client, taken back when calls of other owners wait for the place of its call: a driver of `open_questions`.

use std::sync::{Arc, MutexGuard};

use protomcp_link::CallId;
use protomcp_server::Owner;

use crate::clock::now;
use crate::dispatcher::{Dispatcher, State};
use crate::generation::Generation;

/// A question of a call that its client has not answered.
pub(crate) struct OpenQuestion {
    dispatcher: Arc<Dispatcher>,
    generation: Generation,
    number: u64,
}

impl Dispatcher {
    /// A call of this process asks its client something. `None` for the call: one of several of a session.
    pub(crate) fn asks(self: &Arc<Self>, generation: Generation, owner: &Owner, call: Option<CallId>) -> OpenQuestion {
        let mut state = self.lock();
        let number = state.open_questions.begin(generation, owner.clone(), call, now());
        self.wake(state);
        OpenQuestion { dispatcher: Arc::clone(self), generation, number }
    }

    /// Wakes the open questions if one of them may have to be taken back. Without waiting calls none is, and a process that
    /// asks hundreds of times at once must not wake each question for each other one.
    fn wake(&self, state: MutexGuard<'_, State>) {
        let is_contended = state.lane.owners() > 0;
        drop(state);
        if is_contended {
            self.wanted.notify_waiters();
        }
    }
}

impl OpenQuestion {
    /// Waits until the question is taken back, because calls of other owners wait.
    pub(crate) async fn taken_back(&self) {
        let Self { dispatcher, generation, number } = self;
        loop {
            let mut changed = std::pin::pin!(dispatcher.wanted.notified());
            changed.as_mut().enable();
            let at = {
                let mut state = dispatcher.lock();
                let State { open_questions, lane, .. } = &mut *state;
                match open_questions.next(*generation, |owner| lane.others_want(*generation, owner)) {
                    Some((next, at)) if next == *number && at <= now() => {
                        open_questions.take_back(next, now());
                        dispatcher.wanted.notify_waiters();
                        return;
                    }
                    Some((next, at)) if next == *number => Some(at),
                    Some(_) | None => None,
                }
            };
            match at {
                None => changed.await,
                Some(at) => drop(tokio::time::timeout_at(at.into(), changed).await),
            }
        }
    }
}

impl Drop for OpenQuestion {
    fn drop(&mut self) {
        let mut state = self.dispatcher.lock();
        state.open_questions.end(self.number);
        self.dispatcher.wake(state);
    }
}
