//! Groups many notifications into one batch.
//!
//! An editor's save is a handful of operations within a millisecond or two, a formatter or a branch switch is hundreds
//! within a second. A batch is ready after a quiet moment. Constant writes would postpone that for ever, so it is also
//! ready when its first change has waited long enough.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// The most paths in one [`Batch`]. A branch switch can change any number of files, and a reader only needs to know
/// that there were many.
pub const MAX_PATHS: usize = 1_024;

/// A group of changes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Batch {
    /// The files written, created, removed or renamed (both names), at most [`MAX_PATHS`]. They need not exist.
    pub paths: BTreeSet<PathBuf>,
    /// True if more files changed than `paths` names: there were too many, or the system lost notifications.
    pub overflow: bool,
}

impl Batch {
    /// Adds a path, or sets `more`.
    pub fn add(&mut self, path: PathBuf) {
        if self.paths.len() < MAX_PATHS {
            self.paths.insert(path);
        } else if !self.paths.contains(&path) {
            self.overflow = true;
        }
    }

    /// True if nothing changed.
    pub fn is_empty(&self) -> bool {
        self.paths.is_empty() && !self.overflow
    }

    /// Adds a later batch.
    pub fn merge(&mut self, later: Self) {
        self.overflow |= later.overflow;
        for path in later.paths {
            self.add(path);
        }
    }
}

/// Collects changes until a batch is ready. Time is an argument; the caller waits until [`Debounce::deadline`].
#[derive(Debug)]
pub struct Debounce {
    silence: Duration,
    max_delay: Duration,
    open: Option<Open>,
}

/// A growing batch.
#[derive(Debug)]
struct Open {
    batch: Batch,
    first: Instant,
    last: Instant,
}

impl Debounce {
    /// A batch is ready after `silence` without a change, or `max_delay` after its first change, whichever is earlier.
    pub fn new(silence: Duration, max_delay: Duration) -> Self {
        Self { silence, max_delay, open: None }
    }

    /// Adds a change of `path`.
    pub fn push(&mut self, now: Instant, path: PathBuf) {
        self.touch(now).add(path);
    }

    /// Adds a change of unknown files.
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

    /// The time for the next [`poll`](Self::poll); `None` while there is no change.
    pub fn deadline(&self) -> Option<Instant> {
        let open = self.open.as_ref()?;
        Some((open.last + self.silence).min(open.first + self.max_delay))
    }

    fn touch(&mut self, now: Instant) -> &mut Batch {
        let open = self.open.get_or_insert_with(|| Open { batch: Batch::default(), first: now, last: now });
        open.last = now;
        &mut open.batch
    }
}
