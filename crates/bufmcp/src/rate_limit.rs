//! Limits on how often a principal calls a tool, as a value: the generic cell rate algorithm.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A number of calls in a period, spread evenly or all together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateLimit {
    /// The calls; at least 1.
    pub calls: u32,
    /// The time.
    pub per: Duration,
}

/// The limits of each principal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RateLimits {
    /// For each tool.
    pub per_tool: Option<RateLimit>,
    /// For all tools together.
    pub per_principal: Option<RateLimit>,
}

/// Counts the calls of all principals.
#[derive(Debug)]
pub struct RateLimiter {
    limits: RateLimits,
    /// For each principal, and for each of its tools: the time at which it would have used up nothing.
    cells: HashMap<(Arc<str>, Option<Arc<str>>), Instant>,
    prune_at: usize,
}

impl RateLimiter {
    /// Nothing was called yet.
    #[must_use]
    pub fn new(limits: RateLimits) -> Self {
        Self { limits, cells: HashMap::new(), prune_at: PRUNED_FROM }
    }

    /// Counts a call.
    ///
    /// # Errors
    /// If it is one too many: the time until the next one is allowed. It is then not counted.
    pub fn check(&mut self, now: Instant, principal: &str, tool: &str) -> Result<(), Duration> {
        let principal: Arc<str> = principal.into();
        let RateLimits { per_tool, per_principal } = self.limits;
        let of_tool = per_tool.map(|limit| ((Arc::clone(&principal), Some(Arc::from(tool))), limit));
        let of_principal = per_principal.map(|limit| ((principal, None), limit));
        let mut after = Vec::new();
        for (key, limit) in of_tool.into_iter().chain(of_principal) {
            let next = limit.next(now, self.cells.get(&key).copied())?;
            after.push((key, next));
        }
        self.cells.extend(after);
        if self.cells.len() >= self.prune_at {
            self.cells.retain(|_, until| *until > now);
            self.prune_at = PRUNED_FROM.max(2 * self.cells.len());
        }
        Ok(())
    }

    /// The number of principals and tools that are remembered. Those that have used up nothing are forgotten from time to
    /// time.
    #[must_use]
    pub fn remembered(&self) -> usize {
        self.cells.len()
    }
}

impl RateLimit {
    /// The new time of a cell after one more call.
    fn next(self, now: Instant, cell: Option<Instant>) -> Result<Instant, Duration> {
        let each = self.per / self.calls.max(1);
        let until = cell.unwrap_or(now).max(now) + each;
        match until.saturating_duration_since(now + self.per) {
            Duration::ZERO => Ok(until),
            wait => Err(wait),
        }
    }
}

/// Below this number of entries none is forgotten.
const PRUNED_FROM: usize = 1024;

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn calls_come_back_one_by_one() {
        let start = Instant::now();
        let limits = RateLimits { per_tool: Some(RateLimit { calls: 4, per: 4 * SECOND }), per_principal: None };
        let mut limiter = RateLimiter::new(limits);
        let mut check = |seconds: u32, who: &str, tool: &str| limiter.check(start + seconds * SECOND, who, tool);
        for _ in 0..4 {
            assert_eq!(check(0, "ann", "a"), Ok(()));
        }
        assert_eq!(check(0, "ann", "a"), Err(SECOND));
        assert_eq!(check(0, "ann", "b"), Ok(()), "another tool");
        assert_eq!(check(0, "bob", "a"), Ok(()), "another principal");
        assert_eq!(check(1, "ann", "a"), Ok(()));
        assert_eq!(check(1, "ann", "a"), Err(SECOND));
        assert_eq!(check(10, "ann", "a"), Ok(()));
    }

    #[test]
    fn all_tools_together_have_their_own_limit() {
        let now = Instant::now();
        let limit = |calls| Some(RateLimit { calls, per: SECOND });
        let mut limiter = RateLimiter::new(RateLimits { per_tool: limit(2), per_principal: limit(3) });
        assert!(limiter.check(now, "ann", "a").is_ok() && limiter.check(now, "ann", "a").is_ok());
        assert!(limiter.check(now, "ann", "a").is_err());
        assert!(limiter.check(now, "ann", "b").is_ok(), "the refused call was not counted");
        assert!(limiter.check(now, "ann", "c").is_err());
    }

    #[test]
    fn what_is_over_is_forgotten() {
        let start = Instant::now();
        let limits = RateLimits { per_tool: Some(RateLimit { calls: 1, per: SECOND }), per_principal: None };
        let mut limiter = RateLimiter::new(limits);
        for number in 0..100_000_u32 {
            limiter.check(start + number * SECOND / 100, &number.to_string(), "a").unwrap();
            assert!(limiter.remembered() <= 2048);
        }
    }
}
