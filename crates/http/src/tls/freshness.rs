//! When files that have changed are read again: not while they are still being written.

use std::time::{Duration, Instant};

/// How long files must stay as they are. Two of them are hardly ever replaced in one instant.
const QUIET: Duration = Duration::from_secs(1);

/// What is known of files whose state is an `S`.
#[derive(Debug)]
pub(super) struct Freshness<S> {
    read: S,
    /// Another state, and since when.
    changed: Option<(S, Instant)>,
}

impl<S: PartialEq> Freshness<S> {
    /// The files were read in this state.
    pub(super) fn new(read: S) -> Self {
        Self { read, changed: None }
    }

    /// The files are in this state. `true`: they are to be read, and taken as read whatever comes of it.
    pub(super) fn look(&mut self, now: Instant, state: S) -> bool {
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

    /// Looks at these times, in tenths of a second, at these states.
    #[track_caller]
    fn check(looks: &[(u64, char)], read_at: &[u64]) {
        let start = Instant::now();
        let mut freshness = Freshness::new('a');
        let mut reads = Vec::new();
        for (time, state) in looks {
            if freshness.look(start + Duration::from_millis(time * 100), *state) {
                reads.push(*time);
            }
        }
        assert_eq!(reads, read_at, "{looks:?}");
    }

    #[test]
    fn what_has_changed_is_read_once_when_it_stays_so() {
        check(&[(0, 'a'), (10, 'a'), (20, 'a')], &[]);
        check(&[(10, 'b'), (20, 'b'), (30, 'b'), (40, 'b')], &[20]);
        check(&[(10, 'b'), (15, 'b'), (19, 'b'), (20, 'b')], &[20]);
        check(&[(10, 'b'), (19, 'c'), (20, 'c'), (29, 'c')], &[29]);
        check(&[(10, 'b'), (20, 'a'), (30, 'b'), (40, 'b')], &[40]);
        check(&[(10, 'b'), (20, 'b'), (30, 'a'), (40, 'a')], &[20, 40]);
    }
}
