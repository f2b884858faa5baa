//! Processes of earlier versions that finish their calls side by side.

use super::*;

/// Generations 1 to 4 have calls and are retired, generation 5 serves, and no reload has begun within the last seconds.
fn crowded() -> Rig {
    let mut rig = Rig::new(ReloadMode::Swap);
    for number in 2..=5 {
        rig.swap_to(number);
        rig.pass(2000);
    }
    rig
}

#[test]
fn earlier_versions_finish_their_calls_in_any_order() {
    let mut rig = crowded();
    assert_eq!(rig.core.deadline(), None, "no change waits, so they have all the time that their calls have");
    for number in [3, 1, 4, 2] {
        rig.check(Input::Idle(generation(number)), &format!("stop {number}"));
        rig.check(Input::Idle(generation(number)), "");
    }
    for number in [2, 4, 1, 3] {
        rig.exited(number, 9, "");
    }
    rig.swap_to(6);
}

#[test]
fn a_change_waits_for_a_slot_and_reports_the_calls_once() {
    let mut rig = crowded();
    rig.check(Input::Changed, "name calls of 1,2,3,4");
    rig.check(Input::Changed, "");
    rig.check(Input::Idle(generation(2)), "stop 2");
    rig.check(Input::Changed, "");
    // Its slot is free when it has ended, and the change is then handled, once.
    rig.exited(2, 9, "start 6");
    rig.swapped_to(6);
    assert_eq!(rig.core.deadline(), None);
    rig.pass(2000);
    rig.check(Input::Changed, "name calls of 1,3,4,5");
    rig.exited(5, 1, "start 7");
}

#[test]
fn a_process_that_leaves_names_no_calls() {
    let mut rig = crowded();
    rig.check(Input::Idle(generation(3)), "stop 3");
    rig.check(Input::Changed, "name calls of 1,2,4");
    rig.exited(3, 9, "start 6");
}

#[test]
fn a_change_during_the_reload_with_the_last_slot_waits() {
    let mut rig = Rig::new(ReloadMode::Swap);
    for number in 2..=4 {
        rig.swap_to(number);
        rig.pass(2000);
    }
    rig.check(Input::Changed, "start 5");
    rig.check(Input::Changed, "report waits");
    rig.started(5, "list a,b,c; release 5; changed everyone; report reloaded; await 4; name calls of 1,2,3,4");
    rig.check(Input::Idle(generation(1)), "stop 1");
    rig.exited(1, 9, "start 6");
}

#[test]
fn overdue_tasks_end_oldest_first_when_a_slot_is_needed() {
    let mut rig = crowded();
    // Generation 1 was replaced eight seconds ago.
    rig.pass(1000);
    rig.check(Input::Changed, "name calls of 1,2,3,4");
    rig.elapse(291_000, "report cut short after 300s; cut short 1");
    assert_eq!(rig.core.deadline(), None, "one place is enough");
    rig.exited(1, 9, "start 6");
    rig.swapped_to(6);
    rig.now += Duration::from_secs(600);
    assert_eq!(rig.core.deadline(), None, "no change waits");
    rig.check(Input::Elapsed, "");
    rig.check(Input::Changed, "name calls of 2,3,4,5; report cut short after 300s; cut short 2");
}

#[test]
fn a_slot_that_is_already_overdue_is_freed_immediately() {
    let mut rig = crowded();
    rig.now += Duration::from_secs(301);
    rig.check(Input::Changed, "name calls of 1,2,3,4; report cut short after 300s; cut short 1");
    rig.check(Input::Changed, "");
}

#[test]
fn a_crash_needs_no_place() {
    let mut rig = crowded();
    rig.exited(5, 1, "hold; report crash; report restart in 250ms");
    rig.check(Input::Changed, "start 6");
    rig.started(6, "list a,b,c; release 6; report back");
    rig.pass(2000);
    rig.check(Input::Changed, "name calls of 1,2,3,4");
    rig.exited(6, 1, "hold; report crash; report restart in 250ms; start 7");
}

#[test]
fn graceful_waits_for_a_slot_before_it_holds_calls() {
    let now = Instant::now();
    let limits = Limits { max_retiring: 1, ..LIMITS };
    let (mut core, _) = Core::new(now, ReloadMode::Graceful, no_tools(), limits, FirstVersion::Required);
    let mut handle = |input| describe(&core.handle(now, input, &CALM));
    let started = |number| Input::Started(generation(number), registered(&definitions(&NAMES)));
    handle(started(1));
    assert_eq!(handle(Input::Changed), "hold; await 1");
    handle(Input::Idle(generation(1)));
    assert_eq!(handle(Input::NotReloaded(generation(1), None)), "start 2");
    handle(started(2));
    assert_eq!(handle(Input::Changed), "name calls of 1");
    assert_eq!(handle(Input::Idle(generation(1))), "stop 1");
    let exit = Exit { status: Status::Signal(9), stderr_tail: Vec::new(), uptime: Duration::ZERO };
    assert_eq!(handle(Input::Exited(generation(1), exit)), "hold; await 2; remove 1");
}

#[test]
fn immediate_also_bounds_the_retiring_processes() {
    let mut rig = Rig::new(ReloadMode::Immediate);
    for number in 2..=5 {
        let old = number - 1;
        rig.check(Input::Changed, &format!("hold; interrupt {old}; start {number}"));
        rig.started(
            number,
            &format!("list a,b,c; release {number}; changed everyone; report reloaded; cut short {old}"),
        );
        rig.pass(2000);
    }
    rig.check(Input::Changed, "name calls of ");
    assert_eq!(rig.core.deadline(), None);
    rig.exited(3, 9, "hold; interrupt 5; start 6");
}

#[test]
fn calls_behind_a_handler_that_does_not_end_go_to_a_new_process() {
    let mut rig = Rig::new(ReloadMode::Graceful);
    let stuck = |number| Input::Stuck(generation(number), Some(ToolName::new("spin").unwrap()));
    rig.check(stuck(1), "report stuck; start 2");
    rig.check(stuck(1), "");
    rig.swapped_to(2);
    rig.check(stuck(1), "");
    rig.check(Input::Idle(generation(1)), "stop 1");
    rig.exited(1, 1, "");
    // The files may be broken by now: the process in service stays, and the next event tries again.
    rig.check(stuck(2), "report stuck; start 3");
    rig.check(Input::StartFailed(generation(3), "broken".into()), "report failed: broken; release 2");
    rig.check(stuck(2), "report stuck; start 4");
}

#[test]
fn other_calls_of_a_stuck_process_have_their_time_in_each_mode() {
    let mut rig = Rig::new(ReloadMode::Immediate);
    rig.check(Input::Stuck(generation(1), None), "report stuck; start 2");
    rig.started(2, "list a,b,c; release 2; changed everyone; report reloaded; await 1");
    rig.check(Input::Idle(generation(1)), "stop 1");
    rig.check(Input::Changed, "hold; interrupt 2; start 3");
    rig.started(3, "list a,b,c; release 3; changed everyone; report reloaded; cut short 2");
}

#[test]
fn overdue_tasks_end_when_a_stuck_process_needs_the_slot() {
    let mut rig = crowded();
    rig.check(Input::Stuck(generation(5), None), "");
    rig.now += Duration::from_secs(301);
    rig.check(Input::Stuck(generation(5), None), "report cut short after 300s; cut short 1");
    rig.check(Input::Stuck(generation(5), None), "");
    rig.exited(1, 9, "");
    rig.check(Input::Stuck(generation(5), None), "report stuck; start 6");
}

#[test]
fn a_reload_under_way_replaces_the_stuck_process_itself() {
    let mut rig = Rig::new(ReloadMode::Graceful);
    rig.check(Input::Changed, "hold; await 1");
    rig.check(Input::Stuck(generation(1), Some(ToolName::new("spin").unwrap())), "");
}
