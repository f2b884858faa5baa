//! The pauses between reloads.

use super::*;

/// Saves at these milliseconds; each reload takes `reload` of them. Returns the starts of processes.
fn starts(saves: &[u64], reload: u64) -> Vec<u64> {
    let mut rig = Rig::new(ReloadMode::Swap);
    let (start, mut started, mut ready) = (rig.now, Vec::new(), None);
    let saves_made = saves.len();
    let mut saves = saves.iter().map(|at| start + Duration::from_millis(*at)).peekable();
    loop {
        let next = [saves.peek().copied(), rig.core.deadline(), ready.map(|(at, _)| at)];
        let Some(now) = next.into_iter().flatten().min() else { return started };
        rig.now = now;
        let mut effects = Vec::new();
        if saves.next_if(|at| *at <= now).is_some() {
            effects.extend(rig.core.handle(now, Input::Changed, &CALM));
        }
        if let Some((_, number)) = ready.take_if(|(at, _)| *at <= now) {
            let registered = registered(&rig.tools);
            effects.extend(rig.core.handle(now, Input::Started(generation(number), registered), &CALM));
            // The previous process has no calls.
            effects.extend(rig.core.handle(now, Input::Idle(generation(number - 1)), &CALM));
            let exit = Exit { status: Status::Signal(9), stderr_tail: Vec::new(), uptime: Duration::ZERO };
            effects.extend(rig.core.handle(now, Input::Exited(generation(number - 1), exit), &CALM));
        }
        effects.extend(rig.core.handle(now, Input::Elapsed, &CALM));
        for effect in &effects {
            if let Effect::Start(_) = effect {
                assert!(started.len() < saves_made, "more reloads than saves: {started:?}");
                started.push(u64::try_from((now - start).as_millis()).unwrap());
                let number = u32::try_from(started.len()).unwrap() + 1;
                ready = Some((now + Duration::from_millis(reload), number));
            }
        }
    }
}

#[test]
fn two_quick_saves_are_served_immediately_and_the_last_always() {
    let every = |gap: u64, count: u64| (1..=count).map(|n| n * gap).collect::<Vec<_>>();
    for (saves, reload, expected) in [
        (vec![0], 10, vec![0]),
        // The list follows this fast.
        (vec![0, 10], 10, vec![0, 10]),
        (vec![0, 500], 10, vec![0, 500]),
        // The second comes while the first is under way, and the third waits.
        (vec![0, 5], 10, vec![0, 10]),
        (vec![0, 20, 40], 10, vec![0, 20, 1000]),
        (vec![0, 20, 40, 1500], 10, vec![0, 20, 1000, 2000]),
        (vec![0, 20, 2000, 2020], 10, vec![0, 20, 2000, 2020]),
        // Ten saves within a second are at most three reloads, independent of the length of a start.
        (every(90, 10), 10, vec![90, 180, 1090]),
        (every(90, 10), 300, vec![90, 390, 1090]),
        (every(90, 10), 800, vec![90, 890, 1690]),
        (every(1, 10), 200, vec![1, 201]),
        // A file that is written all the time causes one reload a second.
        (every(50, 80), 10, vec![50, 100, 1050, 2050, 3050, 4050]),
    ] {
        assert_eq!(starts(&saves, reload), expected, "{saves:?}, each {reload}");
    }
}

#[test]
fn a_third_save_within_a_second_waits_and_absorbs_later_ones() {
    let mut rig = Rig::new(ReloadMode::Swap);
    rig.swap_to(2);
    rig.pass(100);
    rig.swap_to(3);
    rig.pass(100);
    rig.check(Input::Changed, "");
    rig.pass(100);
    rig.check(Input::Changed, "");
    rig.elapse(700, "start 4");
    rig.swapped_to(4);
    assert_eq!(rig.core.deadline(), None);
}

#[test]
fn saves_after_a_crash_keep_the_pace_too() {
    let mut rig = Rig::new(ReloadMode::Graceful);
    rig.exited(1, 1, "hold; report crash; report restart in 250ms");
    for number in [2, 3] {
        rig.check(Input::Changed, &format!("start {number}"));
        rig.check(
            Input::StartFailed(generation(number), "broken".into()),
            "report restart failed; report restart in 250ms",
        );
    }
    rig.check(Input::Changed, "");
    // The restart comes first, and reads the saved files.
    rig.elapse(250, "start 4");
    rig.started(4, "list a,b,c; release 4; report back");
    assert_eq!(rig.core.deadline(), None);
}

#[test]
fn a_restart_counts_as_no_reload() {
    let mut rig = Rig::new(ReloadMode::Swap);
    rig.exited(1, 1, "hold; report crash; report restart in 250ms");
    rig.elapse(250, "start 2");
    rig.started(2, "list a,b,c; release 2; report back");
    rig.swap_to(3);
    rig.swap_to(4);
    rig.check(Input::Changed, "");
}

#[test]
fn the_start_after_a_given_up_one_is_immediate_and_counts() {
    let mut rig = Rig::new(ReloadMode::Swap);
    rig.check(Input::Changed, "start 2");
    rig.now += Duration::from_secs(3);
    rig.check(Input::Changed, "report given up; give up 2");
    rig.check(Input::StartFailed(generation(2), "given up".into()), "start 3");
    rig.started(3, "list a,b,c; release 3; changed everyone; report reloaded; await 1");
    rig.swap_to(4);
    rig.check(Input::Changed, "");
    rig.elapse(1000, "start 5");
}
