//! Waiting for what must happen, with one limit for all.

use std::panic::Location;
use std::thread;
use std::time::Duration;

use tokio::time::{Instant, Timeout, sleep, timeout};

/// The pause between two looks at a condition.
const PAUSE: Duration = Duration::from_millis(2);

/// The time limit of every wait for an event: 120 s, or `PMCP_PATIENCE` seconds. Only a test that fails takes this
/// long, so that a busy machine is not a failure.
pub fn patience() -> Duration {
    let seconds = std::env::var("PMCP_PATIENCE").ok().and_then(|text| text.parse().ok());
    Duration::from_secs(seconds.unwrap_or(120))
}

/// The output of the future, or an error after [`patience`].
pub fn in_time<F: IntoFuture>(future: F) -> Timeout<F::IntoFuture> {
    timeout(patience(), future)
}

/// Waits until the condition holds. The clock has to run, in real or in made-up time.
///
/// # Panics
///
/// After [`patience`], naming `what`.
#[track_caller]
pub fn until(what: &str, mut condition: impl FnMut() -> bool) -> impl Future<Output = ()> {
    let caller = Location::caller();
    async move {
        let deadline = Instant::now() + patience();
        while !condition() {
            assert!(Instant::now() < deadline, "{caller}: waited {:?} until {what}", patience());
            sleep(PAUSE).await;
        }
    }
}

/// Blocks the thread until the condition holds. Returns false after [`patience`].
pub fn holds_in_time(mut condition: impl FnMut() -> bool) -> bool {
    let deadline = std::time::Instant::now() + patience();
    while !condition() {
        if std::time::Instant::now() >= deadline {
            return false;
        }
        thread::sleep(PAUSE);
    }
    true
}

/// Blocks the thread until there is a value.
///
/// # Panics
///
/// After [`patience`], naming `what`.
#[track_caller]
pub fn eventually<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let mut found = None;
    let is_found = || {
        found = look();
        found.is_some()
    };
    assert!(holds_in_time(is_found), "waited {:?} for {what}", patience());
    found.expect("the condition holds")
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use super::*;
    use crate::clock::run_paused;

    #[test]
    fn a_wait_ends_with_its_event_or_with_patience() {
        run_paused(async {
            assert_eq!(in_time(async { 7 }).await, Ok(7));
            let began = Instant::now();
            assert!(in_time(pending::<()>()).await.is_err());
            assert!(began.elapsed() >= patience());
        });
    }

    #[test]
    fn a_condition_is_polled_until_it_holds() {
        let mut looks = 0;
        let mut third = || {
            looks += 1;
            looks == 3
        };
        run_paused(until("the third look", &mut third));
        eventually("the sixth look", || {
            (looks == 6 || {
                looks += 1;
                false
            })
            .then_some(())
        });
        assert_eq!(looks, 6);
    }

    #[test]
    #[should_panic(expected = "until pigs fly")]
    fn a_condition_that_never_holds_fails_the_test() {
        run_paused(until("pigs fly", || false));
    }
}
