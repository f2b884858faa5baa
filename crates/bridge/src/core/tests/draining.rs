//! The time that a reload waits for the calls in flight.

use super::*;

#[test]
fn a_reload_waits_for_calls_for_the_time_of_a_call() {
    let mut rig = Rig::new(ReloadMode::Graceful);
    rig.check(Input::Changed, "hold; await 1");
    rig.elapse(1000, "name calls of 1");
    // They are named once.
    rig.check(Input::Changed, "");
    rig.elapse(299_000, "report not drained in 300s; release 1; start 2");
    assert_eq!(rig.core.deadline(), None);
    // The calls end while the next process starts, and another one has begun.
    rig.check(Input::Idle(generation(1)), "");
    rig.started(2, "list a,b,c; release 2; changed everyone; report reloaded; await 1");
    rig.check(Input::Idle(generation(1)), "stop 1");
    rig.exited(1, 9, "");
}

#[test]
fn a_failed_reload_during_calls_keeps_the_old_process() {
    let mut rig = Rig::new(ReloadMode::Graceful);
    rig.check(Input::Changed, "hold; await 1");
    rig.elapse(1000, "name calls of 1");
    rig.elapse(299_000, "report not drained in 300s; release 1; start 2");
    rig.check(Input::StartFailed(generation(2), "syntax".into()), "report failed: syntax; release 1");
}

#[test]
fn nothing_is_due_after_the_calls_or_the_process_ended() {
    let mut rig = Rig::new(ReloadMode::Graceful);
    rig.check(Input::Changed, "hold; await 1");
    rig.check(Input::Idle(generation(1)), "ask 1");
    assert_eq!(rig.core.deadline(), None);
    let mut rig = Rig::new(ReloadMode::Graceful);
    rig.check(Input::Changed, "hold; await 1");
    rig.exited(1, 1, "hold; report crash; start 2");
    assert_eq!(rig.core.deadline(), None);
}
