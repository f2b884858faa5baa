//! Saves while a version is still starting: the time it has, and its successor.

use super::*;

/// A change of the files leads to the start of generation 2.
fn starting(mode: ReloadMode) -> Rig {
    let mut rig = Rig::new(mode);
    match mode {
        ReloadMode::Graceful => {
            rig.check(Input::Changed, "hold; await 1");
            rig.check(Input::Idle(generation(1)), "ask 1");
            rig.check(Input::NotReloaded(generation(1), None), "start 2");
        }
        ReloadMode::Swap => rig.check(Input::Changed, "start 2"),
        ReloadMode::Immediate => rig.check(Input::Changed, "hold; interrupt 1; start 2"),
    }
    rig
}

/// The start was given up: it ends.
#[track_caller]
fn gone(rig: &mut Rig, number: u32, expected: &str) {
    rig.check(Input::StartFailed(generation(number), "given up".into()), expected);
}

const MODES: [ReloadMode; 3] = [ReloadMode::Graceful, ReloadMode::Swap, ReloadMode::Immediate];

#[test]
fn a_save_replaces_a_version_that_hangs_while_starting() {
    for mode in MODES {
        let mut rig = starting(mode);
        rig.now += Duration::from_secs(3);
        rig.check(Input::Changed, "report given up; give up 2");
        rig.check(Input::Changed, "");
        gone(&mut rig, 2, "start 3");
        let leave = if mode == ReloadMode::Immediate { "cut short 1" } else { "await 1" };
        rig.started(3, &format!("list a,b,c; release 3; changed everyone; report reloaded; {leave}"));
        assert_eq!(rig.core.deadline(), None, "{mode:?}: no change is left to be taken up");
    }
}

#[test]
fn a_save_soon_after_the_start_lets_it_use_its_two_seconds() {
    let mut rig = starting(ReloadMode::Swap);
    assert_eq!(rig.core.deadline(), None, "no change waits for it");
    rig.now += Duration::from_millis(500);
    rig.check(Input::Changed, "report waits");
    rig.check(Input::Elapsed, "");
    rig.elapse(1500, "report given up; give up 2");
    assert_eq!(rig.core.deadline(), None);
    gone(&mut rig, 2, "start 3");
    // Each start has its own two seconds.
    rig.check(Input::Changed, "report waits");
    rig.elapse(2000, "report given up; give up 3");
}

#[test]
fn a_start_that_ends_within_its_two_seconds_is_not_given_up() {
    let mut rig = starting(ReloadMode::Swap);
    rig.check(Input::Changed, "report waits");
    rig.now += Duration::from_millis(1999);
    rig.started(2, "list a,b,c; release 2; changed everyone; report reloaded; await 1; start 3");
    rig.check(Input::Changed, "report waits");
    rig.check(Input::StartFailed(generation(3), "syntax".into()), "report failed: syntax; release 2; start 4");
}

#[test]
fn a_given_up_version_that_started_serves_until_the_newest() {
    let mut rig = starting(ReloadMode::Swap);
    rig.now += Duration::from_secs(2);
    rig.check(Input::Changed, "report given up; give up 2");
    rig.started(2, "list a,b,c; release 2; changed everyone; report reloaded; await 1; start 3");
}

#[test]
fn all_starts_of_one_reload_hold_calls_no_longer_than_one() {
    let mut rig = starting(ReloadMode::Graceful);
    rig.now += Duration::from_secs(3);
    rig.check(Input::Changed, "report given up; give up 2");
    gone(&mut rig, 2, "start 3");
    rig.elapse(2000, "release 1");
    gone(&mut rig, 3, "report failed: given up; release 1");
}

#[test]
fn a_restart_that_hangs_is_given_up_without_a_failure() {
    let mut rig = Rig::new(ReloadMode::Graceful);
    rig.exited(1, 1, "hold; report crash; report restart in 250ms");
    rig.elapse(250, "start 2");
    rig.now += Duration::from_secs(5);
    rig.check(Input::Changed, "report given up; give up 2");
    gone(&mut rig, 2, "start 3");
    rig.check(Input::StartFailed(generation(3), "broken".into()), "report restart failed; report restart in 500ms");
}

#[test]
fn a_crash_of_the_old_process_waits_for_the_newest() {
    let mut rig = starting(ReloadMode::Swap);
    rig.now += Duration::from_secs(2);
    rig.check(Input::Changed, "report given up; give up 2");
    rig.exited(1, 9, "hold; report crash");
    gone(&mut rig, 2, "start 3");
    rig.started(3, "list a,b,c; release 3; report back");
}

#[test]
fn a_given_up_first_start_is_neither_reported_nor_a_failure() {
    let start = Instant::now();
    let (mut core, _) = Core::new(start, ReloadMode::Graceful, no_tools(), LIMITS, FirstVersion::Required);
    assert!(core.handle(start, Input::Changed, &CALM).is_empty());
    let now = start + Duration::from_secs(2);
    assert_eq!(core.deadline(), Some(now));
    assert_eq!(describe(&core.handle(now, Input::Elapsed, &CALM)), "report given up; give up 1");
    assert!(core.has_given_up(generation(1)));
    let effects = core.handle(now, Input::StartFailed(generation(1), "given up".into()), &CALM);
    assert_eq!(describe(&effects), "start 2");
    assert!(!core.has_given_up(generation(1)));
    let effects = core.handle(now, Input::Started(generation(2), registered(&definitions(&NAMES))), &CALM);
    assert_eq!(describe(&effects), "list a,b,c; release 2; first started");
}
