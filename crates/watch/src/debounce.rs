//! Many notifications, one batch.
//!
//! An editor's save is a handful of operations within a millisecond or two, a formatter or a branch switch is hundreds
//! within a second. A batch is ready once it has been quiet for a moment; and because something that writes all the time
//! would then never be reported, also once the first change has waited long enough.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// The most paths one [`Batch`] names. A branch switch can touch any number of files, and a reader only needs to know
/// that it was many.
pub const MAX_PATHS: usize = 1_024;

/// Changes that belong together.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Batch {
    /// What was written, created, removed or renamed (both names), at most [`MAX_PATHS`]. The files need not exist.
    pub paths: BTreeSet<PathBuf>,
    /// More changed than `paths` names: there were too many, or the system lost some notifications.
    pub overflow: bool,
}

impl Batch {
    /// Adds a path, or the mark that one is missing.
    pub fn add(&mut self, path: PathBuf) {
        if self.paths.len() < MAX_PATHS {
            self.paths.insert(path);
        } else if !self.paths.contains(&path) {
            self.overflow = true;
        }
    }

    /// Adds all of a later batch.
    pub fn merge(&mut self, later: Self) {
        self.overflow |= later.overflow;
        for path in later.paths {
            self.add(path);
        }
    }
}

/// Collects changes until it is time to tell. Time is an argument; somebody else waits until [`Debounce::deadline`].
#[derive(Debug)]
pub struct Debounce {
    quiet: Duration,
    at_most: Duration,
    open: Option<Open>,
}

/// A batch that still grows.
#[derive(Debug)]
struct Open {
    batch: Batch,
    first: Instant,
    last: Instant,
}

impl Debounce {
    /// A batch is ready after `quiet` without a change, or `at_most` after its first change, whichever comes first.
    pub fn new(quiet: Duration, at_most: Duration) -> Self {
        Self { quiet, at_most, open: None }
    }

    /// Something happened to `path`.
    pub fn push(&mut self, now: Instant, path: PathBuf) {
        self.touch(now).add(path);
    }

    /// Something happened, and it is not known to what.
    pub fn push_unknown(&mut self, now: Instant) {
        self.touch(now).overflow = true;
    }

    /// The batch, if it is ready at `now`.
    pub fn poll(&mut self, now: Instant) -> Option<Batch> {
        if self.deadline()? > now {
            return None;
        }
        self.open.take().map(|open| open.batch)
    }

    /// When to [`poll`](Self::poll) next; `None` while nothing has changed.
    pub fn deadline(&self) -> Option<Instant> {
        let open = self.open.as_ref()?;
        Some((open.last + self.quiet).min(open.first + self.at_most))
    }

    fn touch(&mut self, now: Instant) -> &mut Batch {
        let open = self.open.get_or_insert_with(|| Open { batch: Batch::default(), first: now, last: now });
        open.last = now;
        &mut open.batch
    }
}
