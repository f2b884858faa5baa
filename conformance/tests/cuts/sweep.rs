//! Many runs side by side, most of whose time is waiting.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use protomcp_conformance::tier;

use crate::cuts::call::Outcome;

/// Runs at a time.
const CONCURRENT: usize = 16;

/// The direction of bytes and messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Direction {
    /// From the client to the server.
    Up,
    /// From the server to the client.
    Down,
}

/// Runs each point, and returns the number of each kind of outcome.
///
/// # Panics
///
/// If a run does, with its point.
pub(crate) fn sweep<P: Debug + Sync>(points: &[P], run: impl Fn(&P) -> Outcome + Sync) -> BTreeMap<String, usize> {
    let (next, counts) = (AtomicUsize::new(0), Mutex::new(BTreeMap::new()));
    thread::scope(|scope| {
        for _ in 0..CONCURRENT {
            scope.spawn(|| {
                while let Some(point) = points.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let outcome = catch_unwind(AssertUnwindSafe(|| run(point)))
                        .unwrap_or_else(|_| panic!("the run that was cut at {point:?} has failed"));
                    let kind = match outcome {
                        Outcome::Answered => "answered",
                        Outcome::NotOpened(_) => "not opened",
                        Outcome::Failed(_) => "failed",
                        Outcome::TimedOut => "timed out",
                    };
                    *counts.lock().expect("no run panics with it").entry(kind.to_owned()).or_default() += 1;
                }
            });
        }
    });
    counts.into_inner().expect("no run has panicked")
}

/// The numbers of bytes after which a conversation of this many is cut: around the ends of what was sent in one piece,
/// and each `stride`th one. The long tier has all of them.
pub(crate) fn offsets(total: usize, ends: &[usize], stride: usize) -> Vec<usize> {
    let near = |at: &usize| at.saturating_sub(1)..=at + 1;
    let is_chosen = |at: &usize| {
        let is_near = ends.iter().chain(&[0, total]).any(|end| near(end).contains(at));
        tier(is_near || at.is_multiple_of(stride), true)
    };
    (0..=total).filter(is_chosen).collect()
}
