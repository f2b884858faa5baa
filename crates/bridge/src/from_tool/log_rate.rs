//! Limits the rate of log messages of a tool process.
//!
//! Logging a message costs more than reading it, so a process that logs without a pause would delay all others. Two
//! buckets, one of messages and one of their bytes, fill with time; a message is accepted while both are not empty, and
//! may overdraw them. A rejected message is neither formatted nor sent, but counted, and the count is logged a second
//! later.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use protomcp_envelope::LogMessage;

/// Messages that are accepted in one burst.
const MESSAGES: f64 = 4096.0;
/// Messages that are accepted each second in the long run.
const MESSAGES_PER_SECOND: f64 = 1000.0;
/// Bytes that are accepted in one burst.
const BYTES: f64 = 16.0 * 1024.0 * 1024.0;
/// Bytes that are accepted each second in the long run.
const BYTES_PER_SECOND: f64 = 4.0 * 1024.0 * 1024.0;
/// The time for which rejected messages are counted before the count is logged.
const TELL_AFTER: Duration = Duration::from_secs(1);

/// The decision about a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Take,
    LeaveOut,
    /// Dropped; the count is to be logged after [`TELL_AFTER`].
    LeaveOutFirst,
}

/// The rate of one process after another.
#[derive(Debug)]
struct LogRate {
    messages: f64,
    bytes: f64,
    filled: Option<Instant>,
    left_out: u64,
}

impl LogRate {
    fn new() -> Self {
        Self { messages: MESSAGES, bytes: BYTES, filled: None, left_out: 0 }
    }

    fn take(&mut self, now: Instant, bytes: usize) -> Verdict {
        let passed = self.filled.map_or(Duration::ZERO, |filled| now.saturating_duration_since(filled)).as_secs_f64();
        self.filled = Some(now);
        self.messages = MESSAGES.min(self.messages + passed * MESSAGES_PER_SECOND);
        self.bytes = BYTES.min(self.bytes + passed * BYTES_PER_SECOND);
        if self.messages >= 1.0 && self.bytes > 0.0 {
            self.messages -= 1.0;
            self.bytes -= bytes as f64;
            return Verdict::Take;
        }
        self.left_out += 1;
        if self.left_out == 1 { Verdict::LeaveOutFirst } else { Verdict::LeaveOut }
    }

    /// The number of dropped messages since the last call.
    fn left_out(&mut self) -> u64 {
        std::mem::take(&mut self.left_out)
    }
}

/// Decides on the link's task, and logs the counts.
#[derive(Debug, Clone)]
pub(crate) struct LogLimit(Arc<Mutex<LogRate>>);

impl LogLimit {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Mutex::new(LogRate::new())))
    }

    /// Decides about a message: true if it is accepted.
    ///
    /// # Panics
    /// Outside a tokio runtime with time enabled.
    pub(crate) fn takes(&self, message: &LogMessage) -> bool {
        let LogMessage { level, logger, data_json } = message;
        let now = tokio::time::Instant::now().into_std();
        let verdict = self.rate().take(now, level.len() + logger.len() + data_json.len());
        if verdict == Verdict::LeaveOutFirst {
            let limit = self.clone();
            tokio::spawn(async move {
                tokio::time::sleep(TELL_AFTER).await;
                let count = limit.rate().left_out();
                tracing::warn!(
                    "{count} log messages of the tool process were left out; it logs more than is written down"
                );
            });
        }
        verdict == Verdict::Take
    }

    fn rate(&self) -> MutexGuard<'_, LogRate> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sends messages of `bytes` bytes, a number of them at each time in milliseconds; returns the accepted ones at
    /// each.
    fn taken(bytes: usize, messages: &[(u64, usize)]) -> Vec<usize> {
        let (mut rate, start) = (LogRate::new(), Instant::now());
        let at = |millis| start + Duration::from_millis(millis);
        messages
            .iter()
            .map(|(millis, count)| (0..*count).filter(|_| rate.take(at(*millis), bytes) == Verdict::Take).count())
            .collect()
    }

    #[test]
    fn messages_are_taken_up_to_the_rate() {
        for (bytes, messages, expected) in [
            (0, &[(0, 5000)][..], &[4096][..]),
            (0, &[(0, 5000), (1, 10), (2, 10), (1002, 5000)], &[4096, 1, 1, 1000]),
            (0, &[(0, 5000), (60_000, 5000)], &[4096, 4096]),
            // A rate below the limit.
            (1000, &[(0, 1000), (1000, 1000), (2000, 1000), (3000, 1000)], &[1000; 4]),
            // Sixteen of a mebibyte, and from then on four each second.
            (1 << 20, &[(0, 100), (1000, 100), (2000, 100)], &[16, 4, 4]),
            // One may be larger than the bucket; it is paid back before the next.
            (64 << 20, &[(0, 2), (11_000, 1), (13_000, 2)], &[1, 0, 1]),
        ] {
            assert_eq!(taken(bytes, messages), expected, "{bytes} bytes, {messages:?}");
        }
    }

    #[test]
    fn each_count_begins_with_its_first() {
        let (mut rate, now) = (LogRate::new(), Instant::now());
        for _ in 0..2 {
            while rate.take(now, 0) == Verdict::Take {}
            assert_eq!(rate.take(now, 0), Verdict::LeaveOut);
            assert_eq!(rate.left_out(), 2);
            assert_eq!(rate.left_out(), 0);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_count_is_due_a_second_after_its_first() {
        let limit = LogLimit::new();
        let taken = (0..10_000).filter(|_| limit.takes(&LogMessage::default())).count();
        assert_eq!(taken, 4096);
        tokio::time::sleep(TELL_AFTER - Duration::from_millis(1)).await;
        assert_eq!(limit.rate().left_out, 10_000 - 4096);
        tokio::time::sleep(Duration::from_millis(2)).await;
        assert_eq!(limit.rate().left_out, 0, "it has been told");
    }
}
