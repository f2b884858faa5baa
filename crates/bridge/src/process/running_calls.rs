//! The running calls of a process, by name, for the report of a reload that waits for them.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use protomcp_link::CallId;
use protomcp_types::ToolName;

/// Calls that are named in one message; the others are counted.
const NAMED: usize = 8;

/// The calls of one process. The mutex is held for a few instructions, never across an await.
#[derive(Debug, Default)]
pub(crate) struct RunningCalls(Mutex<HashMap<CallId, (ToolName, Instant)>>);

impl RunningCalls {
    pub(crate) fn begin(&self, call: CallId, tool: ToolName, now: Instant) {
        self.lock().insert(call, (tool, now));
    }

    pub(crate) fn end(&self, call: CallId) {
        self.lock().remove(&call);
    }

    /// Each call's tool, and the time for which it has been running.
    pub(crate) fn list(&self, now: Instant) -> Vec<(ToolName, Duration)> {
        self.lock().values().map(|(tool, since)| (tool.clone(), now.saturating_duration_since(*since))).collect()
    }

    /// The tool of the call that has been running for the longest time.
    pub(crate) fn longest(&self) -> Option<ToolName> {
        self.lock().values().min_by_key(|(_, since)| *since).map(|(tool, _)| tool.clone())
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<CallId, (ToolName, Instant)>> {
        // No panic can happen half-way through a change.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Calls in words, the longest first: `slow (12.3s), fetch (0.4s) and 3 more`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Calls(Vec<(ToolName, Duration)>);

impl Calls {
    pub(crate) fn new(mut calls: Vec<(ToolName, Duration)>) -> Self {
        calls.sort_by(|(one, longer), (other, shorter)| shorter.cmp(longer).then_with(|| one.cmp(other)));
        Self(calls)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Display for Calls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (tool, time)) in self.0.iter().take(NAMED).enumerate() {
            let comma = if index == 0 { "" } else { ", " };
            write!(f, "{comma}{tool} ({:.1}s)", time.as_secs_f64())?;
        }
        match self.0.len().saturating_sub(NAMED) {
            0 => Ok(()),
            more => write!(f, " and {more} more"),
        }
    }
}

#[cfg(test)]
mod tests {
    use protomcp_link::CallIds;

    use super::*;

    fn calls(calls: &[(&str, u64)]) -> String {
        let name = |name: &str| ToolName::new(name).unwrap();
        Calls::new(calls.iter().map(|(tool, ms)| (name(tool), Duration::from_millis(*ms))).collect()).to_string()
    }

    #[test]
    fn the_longest_calls_are_named_and_the_others_counted() {
        assert_eq!(calls(&[("fetch", 400), ("slow", 12_340)]), "slow (12.3s), fetch (0.4s)");
        assert_eq!(calls(&[("b", 1_000), ("a", 1_000)]), "a (1.0s), b (1.0s)");
        let many: Vec<_> = (1..=10).map(|n| ("t", n * 1_000)).collect();
        let text = calls(&many);
        assert!(text.starts_with("t (10.0s), t (9.0s), ") && text.ends_with(", t (3.0s) and 2 more"), "{text}");
        assert!(!calls(&many[..8]).contains("more"));
    }

    #[test]
    fn a_call_is_listed_while_it_runs() {
        let (ids, running, now) = (CallIds::default(), RunningCalls::default(), Instant::now());
        let (one, other) = (ids.next(), ids.next());
        running.begin(one, ToolName::new("a").unwrap(), now);
        running.begin(other, ToolName::new("b").unwrap(), now + Duration::from_secs(1));
        assert_eq!(running.longest(), Some(ToolName::new("a").unwrap()));
        running.end(one);
        let listed = running.list(now + Duration::from_secs(3));
        assert_eq!(listed, [(ToolName::new("b").unwrap(), Duration::from_secs(2))]);
        running.end(other);
        assert!(running.list(now).is_empty() && running.longest().is_none());
    }
}
