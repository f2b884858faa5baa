//! When a batch is ready and what is in it, with made-up time.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use proptest::collection::vec;
use proptest::prelude::*;
use protomcp_watch::{Batch, Debounce, MAX_PATHS};

const QUIET: u64 = 30;
const AT_MOST: u64 = 300;

/// A path pushed at this many milliseconds.
type Push = (u64, &'static str);

#[test]
fn nothing_is_due_while_nothing_changes() {
    let (mut debounce, start) = fresh();
    assert_eq!(debounce.deadline(), None);
    assert_eq!(debounce.poll(start + ms(10_000)), None);
}

#[test]
fn a_save_is_reported_after_the_debounce_time() {
    check(&[(5, "a")], &[(35, "a")]);
    check(&[(0, "a"), (1, "b"), (2, "a")], &[(32, "a b")]);
}

#[test]
fn what_comes_in_the_quiet_time_prolongs_it() {
    check(&[(0, "a"), (29, "b"), (58, "c")], &[(88, "a b c")]);
}

#[test]
fn what_comes_when_it_is_over_is_another_batch() {
    check(&[(0, "a"), (30, "b")], &[(30, "a"), (60, "b")]);
    check(&[(0, "a"), (1_000, "a")], &[(30, "a"), (1_030, "a")]);
}

#[test]
fn a_change_does_not_wait_for_ever_while_others_come() {
    let pushes = (0..40).map(|n| (n * 20, "a")).collect::<Vec<_>>();
    check(&pushes, &[(300, "a"), (600, "a"), (810, "a")]);
}

#[test]
fn a_bound_shorter_than_the_quiet_time_wins() {
    let start = Instant::now();
    let mut debounce = Debounce::new(ms(30), ms(10));
    debounce.push(start, "a".into());
    assert_eq!(debounce.deadline(), Some(start + ms(10)));
    assert!(debounce.poll(start + ms(9)).is_none());
    assert!(debounce.poll(start + ms(10)).is_some());
}

#[test]
fn a_batch_names_a_bounded_number_of_paths_and_says_so() {
    let (mut debounce, start) = fresh();
    let name = |n: usize| PathBuf::from(n.to_string());
    (0..MAX_PATHS).chain(0..MAX_PATHS).for_each(|n| debounce.push(start, name(n)));
    let batch = debounce.poll(start + ms(QUIET)).unwrap();
    assert_eq!((batch.paths.len(), batch.overflow), (MAX_PATHS, false));
    (0..=MAX_PATHS).for_each(|n| debounce.push(start, name(n)));
    let batch = debounce.poll(start + ms(QUIET)).unwrap();
    assert_eq!((batch.paths.len(), batch.overflow), (MAX_PATHS, true));
    // The next batch starts clean.
    debounce.push(start, name(0));
    assert!(!debounce.poll(start + ms(QUIET)).unwrap().overflow);
}

#[test]
fn something_unknown_is_a_batch_too() {
    let (mut debounce, start) = fresh();
    debounce.push_unknown(start);
    let batch = debounce.poll(start + ms(QUIET)).unwrap();
    assert_eq!(batch, Batch { paths: [].into(), overflow: true });
}

#[test]
fn merged_batches_hold_what_both_held() {
    let batch = |names: &[&str], overflow| Batch { paths: names.iter().map(PathBuf::from).collect(), overflow };
    let cases = [
        (batch(&["a"], false), batch(&["b", "a"], false), batch(&["a", "b"], false)),
        (batch(&["a"], true), batch(&[], false), batch(&["a"], true)),
        (batch(&[], false), batch(&["a"], true), batch(&["a"], true)),
        (batch(&[], true), batch(&[], true), batch(&[], true)),
    ];
    for (mut first, later, expected) in cases {
        first.merge(later);
        assert_eq!(first, expected);
    }
    let mut full = Batch { paths: (0..MAX_PATHS).map(|n| PathBuf::from(n.to_string())).collect(), overflow: false };
    full.merge(batch(&["0"], false));
    assert!(!full.overflow);
    full.merge(batch(&["one more"], false));
    assert!(full.overflow && full.paths.len() == MAX_PATHS);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(512) })]

    #[test]
    fn every_change_is_reported_once_and_in_time(gaps in vec(0..80_u64, 1..60)) {
        let mut at = 0;
        let pushes = gaps.iter().enumerate().map(|(n, gap)| { at += gap; (at, n) }).collect::<Vec<_>>();
        let mut told = Vec::new();
        for (when, batch) in run(pushes.iter().map(|(at, n)| (*at, PathBuf::from(n.to_string())))) {
            prop_assert!(!batch.overflow);
            let mut members = batch.paths.iter().map(|path| path.to_str().unwrap().parse::<usize>().unwrap()).collect::<Vec<_>>();
            members.sort_unstable();
            let (first, last) = (pushes[members[0]].0, pushes[*members.last().unwrap()].0);
            prop_assert_eq!(when, (last + QUIET).min(first + AT_MOST));
            told.extend(members);
        }
        prop_assert_eq!(told, (0..pushes.len()).collect::<Vec<_>>());
    }
}

fn check(pushes: &[Push], expected: &[(u64, &str)]) {
    let told = run(pushes.iter().map(|(at, path)| (*at, PathBuf::from(path))));
    let written = told.iter().map(|(at, batch)| {
        let names = batch.paths.iter().map(|path| path.to_str().expect("text")).collect::<Vec<_>>();
        (*at, names.join(" "))
    });
    assert_eq!(
        written.collect::<Vec<_>>(),
        expected.iter().map(|(at, text)| (*at, (*text).to_owned())).collect::<Vec<_>>()
    );
}

/// Pushes each path at its time and polls at each deadline, as the driver does; says when each batch was ready. A batch
/// that is due at the very moment of a push is told first.
fn run(pushes: impl Iterator<Item = (u64, PathBuf)>) -> Vec<(u64, Batch)> {
    let (mut debounce, start) = fresh();
    let mut told = Vec::new();
    let mut tell = |debounce: &mut Debounce, until: Option<Instant>| {
        while let Some(due) = debounce.deadline().filter(|due| until.is_none_or(|until| *due <= until)) {
            assert_eq!(debounce.poll(due - ms(1)), None, "it is not due yet");
            let batch = debounce.poll(due).expect("it is due");
            told.push(((due - start).as_millis() as u64, batch));
        }
    };
    for (at, path) in pushes {
        let now = start + ms(at);
        tell(&mut debounce, Some(now));
        debounce.push(now, path);
    }
    tell(&mut debounce, None);
    told
}

fn fresh() -> (Debounce, Instant) {
    (Debounce::new(ms(QUIET), ms(AT_MOST)), Instant::now())
}

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}
