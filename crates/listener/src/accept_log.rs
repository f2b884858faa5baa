//! Reports connections that were refused, closed or lost: one line a second at most, with counts.

use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

/// The shortest time between two lines.
const INTERVAL: Duration = Duration::from_secs(1);

/// Counts events until the next line is due.
#[derive(Debug, Default)]
pub(crate) struct AcceptLog {
    counts: Mutex<Counts>,
    changed: Notify,
}

#[derive(Debug, Default)]
pub(crate) struct Counts {
    /// Connections that were refused for want of a slot.
    pub(crate) refused: u64,
    /// Connections that were closed in favour of other addresses.
    pub(crate) closed: u64,
    /// TLS handshakes that were cancelled in favour of other addresses.
    pub(crate) handshakes: u64,
    /// Failed calls of `accept`, with the last error.
    failed: Option<(u64, String)>,
    next_line: Option<Instant>,
}

impl AcceptLog {
    pub(crate) fn count(&self, change: impl FnOnce(&mut Counts)) {
        change(&mut self.lock());
        self.changed.notify_one();
    }

    /// Writes the lines. Never ends.
    pub(crate) async fn write(&self) {
        loop {
            self.changed.notified().await;
            let next = self.lock().next_line;
            if let Some(next) = next {
                sleep_until(next).await;
            }
            self.write_now();
        }
    }

    /// Writes the counts since the last line.
    pub(crate) fn write_now(&self) {
        let mut counts = self.lock();
        if let Some(line) = counts.line() {
            *counts = Counts { next_line: Some(Instant::now() + INTERVAL), ..Counts::default() };
            drop(counts);
            tracing::warn!("{line}");
        }
    }

    fn lock(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Counts {
    pub(crate) fn fail(&mut self, error: &io::Error) {
        let count = self.failed.as_ref().map_or(0, |(count, _)| *count);
        self.failed = Some((count + 1, error.to_string()));
    }

    fn line(&self) -> Option<String> {
        let part = |count: u64, text: &str| (count > 0).then(|| format!("{count} {text}"));
        let parts = [
            part(
                self.refused,
                "connections refused, because all are in use; a higher limit of open files may allow more",
            ),
            part(self.closed, "connections closed to make room for other addresses"),
            part(self.handshakes, "TLS handshakes ended to make room for other addresses"),
            self.failed
                .as_ref()
                .map(|(count, error)| format!("{count} attempts to accept a connection failed: {error}")),
        ];
        let parts: Vec<_> = parts.into_iter().flatten().collect();
        (!parts.is_empty()).then(|| parts.join("; "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_all_counts() {
        let mut counts = Counts::default();
        assert_eq!(counts.line(), None);
        counts.closed = 2;
        counts.fail(&io::Error::other("first"));
        counts.fail(&io::Error::other("second"));
        let line = counts.line().unwrap();
        assert!(
            line.starts_with("2 connections closed")
                && line.ends_with("2 attempts to accept a connection failed: second"),
            "{line}"
        );
        assert!(!line.contains("refused") && !line.contains("TLS"), "{line}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_second_has_one_line() {
        let log = AcceptLog::default();
        let mut lines = 0;
        let mut writing = std::pin::pin!(log.write());
        for _ in 0..35 {
            log.count(|counts| counts.refused += 1);
            let passed = tokio::time::timeout(Duration::from_millis(100), writing.as_mut()).await;
            assert!(passed.is_err());
            lines += u64::from(log.lock().refused == 0);
        }
        // At 0, 1, 2 and 3 s.
        assert_eq!(lines, 4);
    }
}
