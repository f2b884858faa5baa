//! This thread, and the processes that it starts, on one processor.

use std::io;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Keeps this thread on one processor until it is dropped.
#[derive(Debug)]
pub struct Pinned {
    all: CpuSet,
}

impl Pinned {
    /// Chooses the first processor that this thread may use.
    ///
    /// # Errors
    ///
    /// If the system refuses.
    pub fn new() -> io::Result<Self> {
        let all = sched_getaffinity(None)?;
        let first = (0..CpuSet::MAX_CPU).find(|cpu| all.is_set(*cpu));
        let mut one = CpuSet::new();
        one.set(first.ok_or_else(|| io::Error::other("this thread may use no processor"))?);
        sched_setaffinity(None, &one)?;
        Ok(Self { all })
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        // It was allowed before.
        let _ = sched_setaffinity(None, &self.all);
    }
}
