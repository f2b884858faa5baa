//! The log of a test.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tracing::Level;
use tracing::subscriber::DefaultGuard;

/// The log of the thread that made it, from the level `debug` on. Another log replaces it until that one is dropped.
#[derive(Debug)]
pub struct Log {
    lines: Lines,
    _guard: DefaultGuard,
}

#[derive(Debug, Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl Log {
    /// Begins a log, which ends with the value.
    #[must_use]
    pub fn capture() -> Self {
        let lines = Lines::default();
        let writer = lines.clone();
        let log = tracing_subscriber::fmt().with_max_level(Level::DEBUG).with_ansi(false);
        let log = log.with_writer(move || writer.clone()).finish();
        Self { lines, _guard: tracing::subscriber::set_default(log) }
    }

    /// The lines so far.
    #[must_use]
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.lines.lock()).into_owned()
    }

    /// True if a line has this text.
    #[must_use]
    pub fn has(&self, text: &str) -> bool {
        self.text().contains(text)
    }
}

impl Lines {
    fn lock(&self) -> MutexGuard<'_, Vec<u8>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.lock().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_kept_until_the_log_ends() {
        let log = Log::capture();
        tracing::debug!(number = 7, "quiet");
        assert!(log.has("quiet number=7") && !log.has("loud"), "{}", log.text());
        let inner = Log::capture();
        tracing::warn!("loud");
        assert!(inner.text().contains("WARN") && !log.has("loud"));
        drop(inner);
        tracing::warn!("after");
        assert!(log.has("after"));
    }
}
