//! The pauses between restarts as tables.

use std::time::{Duration, Instant};

use protomcp_supervisor::{Backoff, Next, Restart};

const fn after(millis: u64) -> Next {
    Next::After(Duration::from_millis(millis))
}

/// Fails with the given uptimes (seconds), and expects these answers.
fn check(backoff: Backoff, failures: &[(u64, Next)]) {
    let now = Instant::now();
    let mut restart = Restart::new(backoff);
    for (number, (uptime, expected)) in failures.iter().enumerate() {
        let next = restart.failed(now, Duration::from_secs(*uptime));
        assert_eq!(next, *expected, "failure {number}");
        assert_eq!(restart.has_given_up(), *expected == Next::GiveUp, "failure {number}");
        let due = match expected {
            Next::After(pause) => Some(now + *pause),
            Next::GiveUp => None,
        };
        assert_eq!(restart.deadline(), due, "failure {number}");
    }
}

#[test]
fn the_fifth_failure_in_a_row_is_the_last() {
    check(
        Backoff::default(),
        &[
            (0, after(250)),
            (1, after(500)),
            (59, after(1_000)),
            (0, after(2_000)),
            (0, Next::GiveUp),
            (0, Next::GiveUp),
        ],
    );
}

#[test]
fn pauses_double_up_to_the_cap() {
    let backoff = Backoff { give_up_after: 100, ..Backoff::default() };
    let pauses = [250, 500, 1_000, 2_000, 4_000, 8_000, 8_000, 8_000];
    check(backoff, &pauses.map(|millis| (0, after(millis))));
    assert_eq!(backoff.pause(0), backoff.first);
    assert_eq!(backoff.pause(u32::MAX), backoff.cap);
}

#[test]
fn a_minute_of_health_makes_the_next_failure_the_first() {
    check(
        Backoff::default(),
        &[(0, after(250)), (0, after(500)), (0, after(1_000)), (60, after(250)), (0, after(500)), (3600, after(250))],
    );
}

#[test]
fn health_ends_even_a_state_of_having_given_up() {
    check(Backoff { give_up_after: 1, ..Backoff::default() }, &[(0, Next::GiveUp)]);
    check(Backoff { give_up_after: 0, ..Backoff::default() }, &[(0, Next::GiveUp)]);
    check(
        Backoff { give_up_after: 2, ..Backoff::default() },
        &[(0, after(250)), (0, Next::GiveUp), (60, after(250)), (0, Next::GiveUp)],
    );
}

#[test]
fn a_health_report_forgets_earlier_failures() {
    let now = Instant::now();
    let mut restart = Restart::default();
    restart.failed(now, Duration::ZERO);
    restart.failed(now, Duration::ZERO);
    assert_eq!(restart.failures(), 2);
    restart.healthy();
    assert_eq!((restart.failures(), restart.deadline()), (0, None));
    assert_eq!(restart.failed(now, Duration::ZERO), after(250));
}

#[test]
fn a_retry_ends_the_degraded_state_and_begins_anew() {
    let now = Instant::now();
    let mut restart = Restart::default();
    while restart.failed(now, Duration::ZERO) != Next::GiveUp {}
    assert!(restart.has_given_up());
    restart.retry();
    assert!(!restart.has_given_up());
    assert_eq!((restart.failures(), restart.deadline()), (0, None));
    assert_eq!(restart.failed(now, Duration::ZERO), after(250));
}

#[test]
fn pauses_of_any_length_have_an_end() {
    let now = Instant::now();
    for (pause, give_up_after) in [(Duration::ZERO, 0), (Duration::ZERO, u32::MAX), (Duration::MAX, u32::MAX)] {
        let backoff = Backoff { first: pause, cap: pause, healthy_after: pause, give_up_after };
        let mut restart = Restart::new(backoff);
        for _ in 0..40 {
            let next = restart.failed(now, Duration::ZERO);
            assert_eq!(next == Next::GiveUp, give_up_after == 0);
            assert_eq!(restart.deadline().is_none(), give_up_after == 0);
        }
    }
}

#[test]
fn a_pause_is_over_once() {
    let now = Instant::now();
    let mut restart = Restart::default();
    assert!(!restart.poll(now));
    restart.failed(now, Duration::ZERO);
    assert!(!restart.poll(now + Duration::from_millis(249)));
    assert!(restart.poll(now + Duration::from_millis(250)));
    assert!(!restart.poll(now + Duration::from_millis(251)));
    assert_eq!(restart.deadline(), None);
    assert_eq!(restart.failures(), 1);
}
