//! The beginning of a line of the log about one of several workers.

use std::fmt;

/// `worker 2: `, and nothing for a process that is the only one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct WorkerLabel(pub(crate) Option<usize>);

impl fmt::Display for WorkerLabel {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(number) => write!(formatter, "worker {number}: "),
            None => Ok(()),
        }
    }
}
