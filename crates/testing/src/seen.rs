//! The observations of handlers, for the test that runs them.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::patience::until;

/// The observations of handlers, in their order. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct Seen(Arc<Mutex<Vec<String>>>);

impl Seen {
    /// Adds an observation.
    pub fn push(&self, text: impl Into<String>) {
        self.lock().push(text.into());
    }

    /// Returns the observations, and forgets them.
    pub fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.lock())
    }

    /// Waits for an observation, and returns all of them. The clock has to run, in real or in made-up time.
    ///
    /// # Panics
    ///
    /// After [`patience`](crate::patience).
    #[track_caller]
    pub fn wait(&self) -> impl Future<Output = Vec<String>> {
        let some = until("something is seen", || !self.lock().is_empty());
        async move {
            some.await;
            self.take()
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
