//! Processes of earlier versions, which finish their calls side by side.

use std::time::Instant;

use crate::generation::Generation;

/// A process that was replaced and has not ended.
#[derive(Debug)]
struct Retired {
    generation: Generation,
    /// True once it is being stopped.
    is_stopping: bool,
    /// The time at which its calls no longer delay another reload; `None`: beyond the range of the clock.
    until: Option<Instant>,
}

/// All of them, up to a limit.
#[derive(Debug)]
pub(super) struct Retiring {
    max: usize,
    retired: Vec<Retired>,
}

impl Retiring {
    pub(super) fn new(max: usize) -> Self {
        Self { max: max.max(1), retired: Vec::new() }
    }

    /// True if one more process may retire. A stopping one keeps its slot until it has ended.
    pub(super) fn has_slot(&self) -> bool {
        self.retired.len() < self.max
    }

    /// A process finishes its calls.
    pub(super) fn add(&mut self, generation: Generation, until: Option<Instant>) {
        self.retired.push(Retired { generation, is_stopping: false, until });
    }

    /// Marks a process as stopping. Returns true if it is one of these and was not stopping before.
    pub(super) fn stop(&mut self, generation: Generation) -> bool {
        let retired = self.retired.iter_mut().find(|retired| retired.generation == generation);
        retired.is_some_and(|retired| !std::mem::replace(&mut retired.is_stopping, true))
    }

    /// A process has ended. Returns true if it was one of these.
    pub(super) fn remove(&mut self, generation: Generation) -> bool {
        let before = self.retired.len();
        self.retired.retain(|retired| retired.generation != generation);
        self.retired.len() < before
    }

    /// Those that have calls, oldest first.
    pub(super) fn busy(&self) -> Vec<Generation> {
        self.retired.iter().filter(|retired| !retired.is_stopping).map(|retired| retired.generation).collect()
    }

    /// The time at which the first of them has had the time of a call; `None` while one is stopping, which frees a
    /// slot.
    pub(super) fn next_end(&self) -> Option<Instant> {
        if self.retired.iter().any(|retired| retired.is_stopping) {
            return None;
        }
        self.retired.iter().filter_map(|retired| retired.until).min()
    }

    /// The process that has had all of its time, if its slot is needed.
    pub(super) fn overdue(&self, now: Instant) -> Option<Generation> {
        let end = self.next_end().filter(|end| *end <= now)?;
        self.retired.iter().find(|retired| retired.until == Some(end)).map(|retired| retired.generation)
    }
}
