//! The calls that a process gets whose handlers run one at a time: a value, driven by `dispatcher`.
//!
//! A call behind another one waits in the process, where users take no turns and the wait counts as time of the call. But
//! a process that gets a call only after its last answer stands still in between, and then answers a third of the calls. So
//! it gets several while its answers follow one another closely, and one at a time otherwise:
//!
//! ```text
//! an answer within 2 ms ─▶ twice as many, up to its number      2 ms without an answer ─▶ one
//! ```

use std::time::{Duration, Instant};

/// The longest time between two answers of a process that gets several calls.
const QUICK: Duration = Duration::from_millis(2);
/// The least time of a handler that the calls behind it are said to wait for.
const SLOW: Duration = Duration::from_millis(100);
/// The least number of calls behind it.
const MANY: usize = 8;

/// The number of calls that such a process gets now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Window {
    size: usize,
    limit: usize,
    /// The time of the last answer, or of the first call after none was in flight.
    progress: Instant,
    /// It has been said that many calls wait.
    is_noted: bool,
}

impl Window {
    /// For a process that announces this number of calls.
    pub(super) fn new(limit: usize, now: Instant) -> Self {
        Self { size: 1, limit: limit.max(1), progress: now, is_noted: false }
    }

    /// A call has begun while no other one was in flight.
    pub(super) fn begin(&mut self, now: Instant) {
        self.progress = now;
    }

    /// A call has ended.
    pub(super) fn end(&mut self, now: Instant) {
        let is_quick = now.saturating_duration_since(self.progress) <= QUICK;
        self.size = if is_quick { self.size.saturating_mul(2).min(self.limit) } else { 1 };
        self.progress = now;
    }

    /// A handler waits for a user, or was given up.
    pub(super) fn stall(&mut self) {
        self.size = 1;
    }

    /// The calls that may be in flight now.
    pub(super) fn size(&mut self, now: Instant) -> usize {
        if now.saturating_duration_since(self.progress) > QUICK {
            self.size = 1;
        }
        self.size
    }

    /// True if this many calls wait for a slow handler, and it has not been said before.
    pub(super) fn has_long_queue(&self, waiting: usize, now: Instant) -> bool {
        !self.is_noted && waiting >= MANY && now.saturating_duration_since(self.progress) >= SLOW
    }

    /// True if it has been said.
    pub(super) fn is_noted(&self) -> bool {
        self.is_noted
    }

    /// It has been said.
    pub(super) fn mark_noted(&mut self) {
        self.is_noted = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sizes after answers with these times between them, in microseconds.
    fn sizes(limit: usize, gaps: &[u64]) -> Vec<usize> {
        let mut now = Instant::now();
        let mut window = Window::new(limit, now);
        window.begin(now);
        let after = |gap: &u64| {
            now += Duration::from_micros(*gap);
            window.end(now);
            window.size(now)
        };
        gaps.iter().map(after).collect()
    }

    #[test]
    fn quick_answers_open_it_and_a_slow_one_closes_it() {
        assert_eq!(sizes(64, &[100; 8]), [2, 4, 8, 16, 32, 64, 64, 64]);
        assert_eq!(sizes(3, &[100; 3]), [2, 3, 3]);
        assert_eq!(sizes(64, &[100, 100, 2_001, 100, 2_000]), [2, 4, 1, 2, 4]);
        assert_eq!(sizes(0, &[100; 2]), [1, 1]);
    }

    #[test]
    fn silence_and_a_stall_close_it() {
        let start = Instant::now();
        let at = |micros| start + Duration::from_micros(micros);
        let mut window = Window::new(64, start);
        window.end(at(1_000));
        assert_eq!(window.size(at(3_000)), 2);
        assert_eq!(window.size(at(3_001)), 1, "no answer for more than 2 ms");
        window.begin(at(10_000));
        window.end(at(11_000));
        assert_eq!(window.size(at(11_000)), 2, "the time without calls does not count");
        window.stall();
        assert_eq!(window.size(at(11_000)), 1);
    }

    #[test]
    fn many_calls_behind_a_slow_handler_are_noted_once() {
        let start = Instant::now();
        let at = |millis| start + Duration::from_millis(millis);
        let mut window = Window::new(64, start);
        assert!(!window.has_long_queue(8, at(99)) && !window.has_long_queue(7, at(100)));
        assert!(window.has_long_queue(8, at(100)) && !window.is_noted());
        window.mark_noted();
        assert!(!window.has_long_queue(100, at(60_000)));
    }
}
