//! The state of the process in service goes to its successor when no call can change it.

use super::*;

/// A rig whose processes hand over their state.
fn rig(mode: ReloadMode) -> Rig {
    let mut rig = Rig::new(mode);
    rig.facts.hands_over = true;
    rig
}

/// A graceful reload until generation 2 has connected: the calls have ended before.
fn reloading() -> Rig {
    let mut rig = rig(ReloadMode::Graceful);
    rig.check(Input::Changed, "hold; await 1");
    rig.check(Input::Idle(generation(1)), "ask 1");
    rig.check(Input::NotReloaded(generation(1), None), "start 2");
    rig.check(Input::Prepared(generation(2)), "hold; await 1");
    rig
}

const SWAPPED: &str = "list a,b,c; release 2; changed everyone; report reloaded; await 1";

#[test]
fn the_state_follows_the_last_call() {
    let mut rig = reloading();
    rig.check(Input::Idle(generation(1)), "hand over from 1");
    assert_eq!(rig.core.deadline(), None, "calls wait for the end of the start");
    rig.started(2, SWAPPED);
}

#[test]
fn calls_of_every_mode_wait_for_the_state() {
    for (mode, begun, prepared, retired) in [
        (ReloadMode::Swap, "start 2", "hold; await 1", "await 1"),
        (ReloadMode::Immediate, "hold; interrupt 1; start 2", "hold; interrupt 1; await 1", "cut short 1"),
    ] {
        let mut rig = rig(mode);
        rig.check(Input::Changed, begun);
        rig.check(Input::Prepared(generation(2)), prepared);
        rig.check(Input::Idle(generation(1)), "hand over from 1");
        rig.check(Input::Idle(generation(1)), "");
        rig.started(2, &format!("list a,b,c; release 2; changed everyone; report reloaded; {retired}"));
    }
}

#[test]
fn a_call_that_lasts_for_long_costs_the_state() {
    let mut rig = reloading();
    rig.elapse(5000, "report not handed over in 5s; hand over nothing");
    rig.check(Input::Idle(generation(1)), "");
    rig.started(2, SWAPPED);
}

#[test]
fn a_process_that_ends_hands_over_nothing() {
    let mut rig = reloading();
    rig.exited(1, 1, "hold; report crash; hand over nothing");
    rig.started(2, "list a,b,c; release 2; report back");

    let mut rig = reloading();
    rig.check(Input::Idle(generation(1)), "hand over from 1");
    rig.exited(1, 1, "hold; report crash");
    rig.started(2, "list a,b,c; release 2; report back");
    // Nor does its successor after a crash.
    rig.exited(2, 1, "hold; report crash; report restart in 250ms");
    rig.elapse(250, "start 3");
    rig.check(Input::Prepared(generation(3)), "hand over nothing");
}

#[test]
fn the_old_process_serves_if_the_new_one_fails_to_take_over() {
    for handed_over in [false, true] {
        let mut rig = reloading();
        if handed_over {
            rig.check(Input::Idle(generation(1)), "hand over from 1");
        }
        rig.check(Input::StartFailed(generation(2), "it ended".into()), "report failed: it ended; release 1");
        rig.check(Input::Idle(generation(1)), "");
        assert_eq!(rig.core.deadline(), None);
    }
}

#[test]
fn a_save_during_the_handover_waits_for_its_end() {
    let mut rig = reloading();
    rig.check(Input::Changed, "report waits");
    rig.now += Duration::from_secs(3);
    rig.check(Input::Elapsed, "");
    rig.check(Input::Idle(generation(1)), "hand over from 1");
    rig.started(2, &format!("{SWAPPED}; hold; await 2"));
}

#[test]
fn a_process_without_a_state_is_replaced_immediately() {
    let mut rig = Rig::new(ReloadMode::Swap);
    rig.check(Input::Changed, "start 2");
    rig.check(Input::Prepared(generation(2)), "hand over nothing");
    rig.started(2, SWAPPED);
}

#[test]
fn a_start_that_is_given_up_takes_over_nothing() {
    let mut rig = rig(ReloadMode::Swap);
    rig.check(Input::Changed, "start 2");
    rig.now += Duration::from_secs(3);
    rig.check(Input::Changed, "report given up; give up 2");
    rig.check(Input::Prepared(generation(2)), "hand over nothing");
    rig.check(Input::StartFailed(generation(2), "given up".into()), "start 3");
    rig.check(Input::Prepared(generation(3)), "hold; await 1");
}
