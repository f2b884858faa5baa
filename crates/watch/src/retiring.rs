//! Earlier versions of a program, which finish their calls side by side.

use std::time::Instant;

/// A version that was replaced and has not ended.
#[derive(Debug)]
struct Retired<G> {
    generation: G,
    /// True once it is being stopped.
    is_stopping: bool,
    /// The time at which its calls no longer delay another reload; `None`: beyond the range of the clock.
    until: Option<Instant>,
}

/// The earlier versions of a program that finish their calls, up to a limit. `G` is the number of a version.
#[derive(Debug)]
pub struct Retiring<G> {
    max: usize,
    retired: Vec<Retired<G>>,
}

impl<G: Copy + Eq> Retiring<G> {
    /// None yet, and at most `max` (one at least) at the same time.
    #[must_use]
    pub fn new(max: usize) -> Self {
        Self { max: max.max(1), retired: Vec::new() }
    }

    /// True if one more version may retire. A stopping one keeps its slot until it has ended.
    #[must_use]
    pub fn has_slot(&self) -> bool {
        self.retired.len() < self.max
    }

    /// A version finishes its calls; `until` is the time at which they no longer delay another reload.
    pub fn add(&mut self, generation: G, until: Option<Instant>) {
        self.retired.push(Retired { generation, is_stopping: false, until });
    }

    /// Marks a version as stopping. Returns true if it is one of these and was not stopping before.
    pub fn stop(&mut self, generation: G) -> bool {
        let retired = self.retired.iter_mut().find(|retired| retired.generation == generation);
        retired.is_some_and(|retired| !std::mem::replace(&mut retired.is_stopping, true))
    }

    /// A version has ended. Returns true if it was one of these.
    pub fn remove(&mut self, generation: G) -> bool {
        let before = self.retired.len();
        self.retired.retain(|retired| retired.generation != generation);
        self.retired.len() < before
    }

    /// Those that have calls, oldest first.
    #[must_use]
    pub fn busy(&self) -> Vec<G> {
        self.retired.iter().filter(|retired| !retired.is_stopping).map(|retired| retired.generation).collect()
    }

    /// The time at which the first of them has had the time of a call; `None` while one is stopping, which frees a
    /// slot.
    #[must_use]
    pub fn next_end(&self) -> Option<Instant> {
        if self.retired.iter().any(|retired| retired.is_stopping) {
            return None;
        }
        self.retired.iter().filter_map(|retired| retired.until).min()
    }

    /// The version that has had all of its time, if its slot is needed.
    #[must_use]
    pub fn overdue(&self, now: Instant) -> Option<G> {
        let end = self.next_end().filter(|end| *end <= now)?;
        self.retired.iter().find(|retired| retired.until == Some(end)).map(|retired| retired.generation)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_slot_is_free_when_one_has_ended() {
        let (start, mut retiring) = (Instant::now(), Retiring::new(2));
        let after = |seconds| start + Duration::from_secs(seconds);
        retiring.add(1, Some(after(10)));
        assert!(retiring.has_slot());
        retiring.add(2, Some(after(20)));
        assert!(!retiring.has_slot());
        assert_eq!((retiring.busy(), retiring.next_end()), (vec![1, 2], Some(after(10))));
        assert_eq!((retiring.overdue(after(9)), retiring.overdue(after(10))), (None, Some(1)));
        assert!(retiring.stop(1) && !retiring.stop(1) && !retiring.stop(3));
        assert_eq!((retiring.busy(), retiring.next_end()), (vec![2], None), "a slot is about to be free");
        assert!(retiring.remove(1) && !retiring.remove(1) && retiring.has_slot());
        assert_eq!(retiring.overdue(after(20)), Some(2));
    }
}
