//! Time that a test makes up.

use std::sync::mpsc;
use std::time::Duration;

use tokio::runtime::Builder;

use crate::patience::patience;

/// Runs a test on made-up time, which passes only while every task waits.
///
/// # Panics
///
/// If the runtime cannot be built, or the test panics.
pub fn run_paused<F: Future>(test: F) -> F::Output {
    let runtime = Builder::new_current_thread().enable_all().start_paused(true).build().expect("a runtime");
    runtime.block_on(test)
}

/// A clock that stands still, so that no timer elapses because the machine is busy. Sockets still work.
#[derive(Debug)]
pub struct StoppedClock(#[expect(dead_code, reason = "its end is heard")] mpsc::Sender<()>);

impl StoppedClock {
    /// Stops the clock of this test until the value is dropped.
    ///
    /// # Panics
    ///
    /// Outside of a runtime with one thread, or if its clock stands still.
    #[expect(clippy::new_without_default, reason = "a default value does not stop the clock of its runtime")]
    pub fn new() -> Self {
        let (sender, receiver) = mpsc::channel();
        // A paused clock jumps to the next timer when every task waits, except while such a task runs. After this time the
        // limits of waits may elapse.
        tokio::task::spawn_blocking(move || {
            let _ = receiver.recv_timeout(patience());
        });
        tokio::time::pause();
        Self(sender)
    }

    /// Lets every task run until it waits, and then this time pass, and a little more, because timers round up.
    pub async fn advance(&self, time: Duration) {
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        tokio::time::advance(time + Duration::from_millis(10)).await;
    }
}

impl Drop for StoppedClock {
    fn drop(&mut self) {
        tokio::time::resume();
    }
}

#[cfg(test)]
mod tests {
    use tokio::task::spawn_blocking;
    use tokio::time::{Instant, sleep};

    use super::*;

    const HOUR: Duration = Duration::from_secs(3600);

    #[test]
    fn an_hour_of_made_up_time_takes_no_time() {
        let began = std::time::Instant::now();
        run_paused(async { sleep(HOUR).await });
        assert!(began.elapsed() < HOUR);
    }

    #[test]
    fn a_stopped_clock_stands_still_while_every_task_waits() {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let clock = StoppedClock::new();
            let began = Instant::now();
            let timer = tokio::spawn(sleep(HOUR));
            spawn_blocking(|| std::thread::sleep(Duration::from_millis(5))).await.unwrap();
            assert_eq!(began.elapsed(), Duration::ZERO);
            assert!(!timer.is_finished());
            clock.advance(HOUR).await;
            timer.await.unwrap();
            drop(clock);
            sleep(Duration::from_millis(1)).await;
        });
    }
}
