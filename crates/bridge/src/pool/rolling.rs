//! The order in which the workers of a pool reload: a value.
//!
//! One reloads at a time, from the first on, and the others take calls. A version that does not start ends it: the rest
//! keep the version before, as the worker that has failed does. Files that change again begin it anew.

/// A reload that goes from worker to worker.
#[derive(Debug)]
pub(crate) struct Rolling {
    workers: usize,
    /// The worker that reloads now.
    at: Option<usize>,
}

impl Rolling {
    pub(crate) fn new(workers: usize) -> Self {
        Self { workers, at: None }
    }

    /// The files have changed. Returns the worker to reload.
    pub(crate) fn changed(&mut self) -> usize {
        self.at = Some(0);
        0
    }

    /// The worker that reloads now.
    #[cfg(test)]
    fn at(&self) -> Option<usize> {
        self.at
    }

    /// It has settled, with the new version or without. Returns the next worker to reload.
    pub(crate) fn settled(&mut self, reloaded: bool) -> Option<usize> {
        let next = self.at? + 1;
        self.at = (reloaded && next < self.workers).then_some(next);
        self.at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_reload_one_after_another() {
        let mut rolling = Rolling::new(3);
        assert_eq!((rolling.at(), rolling.settled(true)), (None, None));
        assert_eq!(rolling.changed(), 0);
        assert_eq!([rolling.settled(true), rolling.settled(true), rolling.settled(true)], [Some(1), Some(2), None]);
        assert_eq!(rolling.at(), None);
    }

    #[test]
    fn a_version_that_does_not_start_reaches_no_other_worker() {
        let mut rolling = Rolling::new(3);
        rolling.changed();
        assert_eq!(rolling.settled(true), Some(1));
        assert_eq!((rolling.settled(false), rolling.at()), (None, None));
    }

    #[test]
    fn another_change_begins_with_the_first_worker() {
        let mut rolling = Rolling::new(2);
        rolling.changed();
        assert_eq!(rolling.settled(true), Some(1));
        assert_eq!((rolling.changed(), rolling.at()), (0, Some(0)));
        assert_eq!([rolling.settled(true), rolling.settled(true)], [Some(1), None]);
    }
}
