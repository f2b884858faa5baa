//! The observations of handlers, for the test that runs them.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// The observations of handlers, in their order. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct Seen(Arc<Mutex<Vec<String>>>);

impl Seen {
    /// Adds an observation.
    pub fn push(&self, text: impl Into<String>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(text.into());
    }

    /// Returns the observations, and forgets them.
    pub fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Waits for an observation, and returns all of them. The clock has to run, in real or in made-up time.
    pub async fn wait(&self) -> Vec<String> {
        loop {
            let all = self.take();
            if !all.is_empty() {
                return all;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
}
