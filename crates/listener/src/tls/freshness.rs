//! Delays the reload of changed files until they are completely written.

use std::time::{Duration, Instant};

/// The time without a change before a reload. Two files are rarely replaced in one instant.
const QUIET: Duration = Duration::from_secs(1);

/// The state of files at their last read, and a later one.
#[derive(Debug)]
pub(super) struct Freshness<S> {
    read: S,
    /// A different state, and the time of its first sight.
    changed: Option<(S, Instant)>,
}

impl<S: PartialEq> Freshness<S> {
    /// Files that were read in this state.
    pub(super) fn new(read: S) -> Self {
        Self { read, changed: None }
    }

    /// Notes the state at this time. `true`: read the files now; they count as read even if that fails.
    pub(super) fn check(&mut self, now: Instant, state: S) -> bool {
        if state == self.read {
            self.changed = None;
            return false;
        }
        match &self.changed {
            Some((changed, since)) if *changed == state => {
                if now.saturating_duration_since(*since) < QUIET {
                    return false;
                }
                *self = Self::new(state);
                true
            }
            Some(_) | None => {
                self.changed = Some((state, now));
                false
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks these states at these times, in tenths of a second.
    #[track_caller]
    fn check_reads(looks: &[(u64, char)], read_at: &[u64]) {
        let start = Instant::now();
        let mut freshness = Freshness::new('a');
        let mut reads = Vec::new();
        for (time, state) in looks {
            if freshness.check(start + Duration::from_millis(time * 100), *state) {
                reads.push(*time);
            }
        }
        assert_eq!(reads, read_at, "{looks:?}");
    }

    #[test]
    fn changed_files_are_read_once_after_a_second_without_change() {
        check_reads(&[(0, 'a'), (10, 'a'), (20, 'a')], &[]);
        check_reads(&[(10, 'b'), (20, 'b'), (30, 'b'), (40, 'b')], &[20]);
        check_reads(&[(10, 'b'), (15, 'b'), (19, 'b'), (20, 'b')], &[20]);
        check_reads(&[(10, 'b'), (19, 'c'), (20, 'c'), (29, 'c')], &[29]);
        check_reads(&[(10, 'b'), (20, 'a'), (30, 'b'), (40, 'b')], &[40]);
        check_reads(&[(10, 'b'), (20, 'b'), (30, 'a'), (40, 'a')], &[20, 40]);
    }
}
