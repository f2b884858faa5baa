//! A line on the terminal while something takes more than a second.

use std::io::{self, IsTerminal, Write};
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use protomcp_types::one_line;
use tokio::time::{Instant, interval_at};

/// The time after which the line appears, and its pace.
const SECOND: Duration = Duration::from_secs(1);

/// Something else is on the terminal: a question, progress, or nothing because the user wants that.
static HAS_GIVEN_WAY: AtomicBool = AtomicBool::new(false);

/// Shows no line from now on.
pub(crate) fn give_way() {
    HAS_GIVEN_WAY.store(true, Ordering::Relaxed);
}

/// Waits for the work, which `what` names.
pub(crate) async fn shown<T>(what: &str, work: impl Future<Output = T>) -> T {
    if !io::stderr().is_terminal() {
        return work.await;
    }
    let mut work = pin!(work);
    let begun = Instant::now();
    let mut seconds = interval_at(begun + SECOND, SECOND);
    let mut shown = Shown(false);
    loop {
        tokio::select! {
            biased;
            outcome = &mut work => return outcome,
            _ = seconds.tick() => {
                if !HAS_GIVEN_WAY.load(Ordering::Relaxed) {
                    shown.0 = true;
                    put(&line(what, begun.elapsed()));
                }
            }
        }
    }
}

/// Like [`shown`], for work that blocks this thread.
pub(crate) fn shown_blocking<T>(what: &str, work: impl FnOnce() -> T) -> T {
    if !io::stderr().is_terminal() {
        return work();
    }
    let (working, ended) = mpsc::channel::<()>();
    thread::scope(|scope| {
        scope.spawn(move || {
            let (begun, mut shown) = (Instant::now(), Shown(false));
            while ended.recv_timeout(SECOND) == Err(RecvTimeoutError::Timeout) {
                if !HAS_GIVEN_WAY.load(Ordering::Relaxed) {
                    shown.0 = true;
                    put(&line(what, begun.elapsed()));
                }
            }
        });
        let outcome = work();
        drop(working);
        outcome
    })
}

/// True if the line is on the terminal. It goes with the work, also where that is interrupted.
struct Shown(bool);

impl Drop for Shown {
    fn drop(&mut self) {
        if self.0 && !HAS_GIVEN_WAY.load(Ordering::Relaxed) {
            put("");
        }
    }
}

fn line(what: &str, took: Duration) -> String {
    let what: String = one_line(what).chars().take(60).collect();
    format!("{what}: {} s", took.as_secs())
}

/// Replaces the line of the terminal.
fn put(line: &str) {
    // A terminal that is gone shows nothing.
    let _closed = io::stderr().write_all(format!("\r\x1b[K{line}").as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_the_seconds_and_no_other_line() {
        assert_eq!(line("starting a\x1b[2J\nb.py", Duration::from_millis(2900)), "starting a\\u{1b}[2J\\nb.py: 2 s");
        assert_eq!(line(&"x".repeat(100), SECOND).len(), 65);
    }
}
