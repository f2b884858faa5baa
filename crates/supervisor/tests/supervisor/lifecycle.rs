//! One life on paper: what goes in at which moment, what comes out, and when the next deadline is.

use std::io;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use protomcp_supervisor::{Effect, Input, Lifecycle, Notice, Status, StopPolicy};

const POLICY: StopPolicy = StopPolicy {
    close: Duration::from_millis(100),
    terminate: Duration::from_millis(200),
    kill: Duration::from_millis(500),
};

const START: Input = Input::Start;
const SPAWNED: Input = Input::Spawned;
const STOP: Input = Input::Stop { now: false };
const STOP_NOW: Input = Input::Stop { now: true };
const ELAPSED: Input = Input::Elapsed;
const EXITED: Input = Input::Exited(Status::Code(0));

const STARTED: Effect = Effect::Announce(Notice::Started);
const ENDED: Effect = Effect::Announce(Notice::Exited(Status::Code(0)));
const LOST: Effect = Effect::Announce(Notice::Exited(Status::Unknown));

/// One line of a transcript: at this many milliseconds this goes in, this comes out, and the deadline is then there.
type Step = (u64, Input, &'static [Effect], Option<u64>);

fn check(steps: &[Step]) {
    let zero = Instant::now();
    let mut lifecycle = Lifecycle::new(POLICY);
    for (number, (at, input, effects, deadline)) in steps.iter().enumerate() {
        let now = zero + Duration::from_millis(*at);
        assert_eq!(lifecycle.handle(now, *input), *effects, "effects of step {number}: {input:?}");
        let expected = deadline.map(|at| zero + Duration::from_millis(at));
        assert_eq!(lifecycle.deadline(), expected, "deadline after step {number}: {input:?}");
    }
}

const RUNNING: [Step; 2] = [(0, START, &[Effect::Spawn], None), (1, SPAWNED, &[STARTED], None)];

fn check_running(steps: &[Step]) {
    check(&[&RUNNING, steps].concat());
}

#[test]
fn a_process_that_ends_by_itself_has_its_leftovers_killed() {
    check_running(&[(50, EXITED, &[Effect::Kill, ENDED], None)]);
}

#[test]
fn a_process_that_leaves_when_its_link_closes_is_not_signalled() {
    check_running(&[(50, STOP, &[Effect::CloseLink], Some(150)), (60, EXITED, &[Effect::Kill, ENDED], None)]);
}

#[test]
fn the_ladder_goes_from_close_to_terminate_to_kill() {
    check_running(&[
        (50, STOP, &[Effect::CloseLink], Some(150)),
        (150, ELAPSED, &[Effect::Terminate], Some(350)),
        (350, ELAPSED, &[Effect::Kill], Some(850)),
        (360, EXITED, &[ENDED], None),
    ]);
}

#[test]
fn a_process_that_obeys_sigterm_has_its_leftovers_killed() {
    check_running(&[
        (50, STOP, &[Effect::CloseLink], Some(150)),
        (150, ELAPSED, &[Effect::Terminate], Some(350)),
        (160, EXITED, &[Effect::Kill, ENDED], None),
    ]);
}

#[test]
fn a_stop_that_comes_late_waits_its_full_time_on_the_next_rung() {
    check_running(&[
        (50, STOP, &[Effect::CloseLink], Some(150)),
        (9_000, ELAPSED, &[Effect::Terminate], Some(9_200)),
        (20_000, ELAPSED, &[Effect::Kill], Some(20_500)),
    ]);
}

#[test]
fn a_process_that_survives_sigkill_ends_once() {
    check_running(&[
        (50, STOP_NOW, &[Effect::Kill], Some(550)),
        (550, ELAPSED, &[LOST], None),
        (700, EXITED, &[], None),
        (800, ELAPSED, &[], None),
    ]);
}

#[test]
fn an_early_timer_changes_nothing() {
    check_running(&[
        (50, ELAPSED, &[], None),
        (50, STOP, &[Effect::CloseLink], Some(150)),
        (149, ELAPSED, &[], Some(150)),
        (150, ELAPSED, &[Effect::Terminate], Some(350)),
        (349, ELAPSED, &[], Some(350)),
        (350, ELAPSED, &[Effect::Kill], Some(850)),
        (849, ELAPSED, &[], Some(850)),
    ]);
}

#[test]
fn asking_politely_again_changes_nothing() {
    check_running(&[
        (50, STOP, &[Effect::CloseLink], Some(150)),
        (60, STOP, &[], Some(150)),
        (150, ELAPSED, &[Effect::Terminate], Some(350)),
        (160, STOP, &[], Some(350)),
        (350, ELAPSED, &[Effect::Kill], Some(850)),
        (360, STOP, &[], Some(850)),
    ]);
}

#[test]
fn stopping_now_skips_the_rest_of_the_ladder_from_any_rung() {
    check_running(&[(50, STOP_NOW, &[Effect::Kill], Some(550)), (51, STOP_NOW, &[], Some(550))]);
    check_running(&[
        (50, STOP, &[Effect::CloseLink], Some(150)),
        (60, STOP_NOW, &[Effect::Kill], Some(560)),
        (70, EXITED, &[ENDED], None),
    ]);
    check_running(&[
        (50, STOP, &[Effect::CloseLink], Some(150)),
        (150, ELAPSED, &[Effect::Terminate], Some(350)),
        (160, STOP_NOW, &[Effect::Kill], Some(660)),
    ]);
}

#[test]
fn a_stop_during_the_start_takes_effect_once_the_process_runs() {
    check(&[
        (0, START, &[Effect::Spawn], None),
        (1, STOP, &[], None),
        (9, SPAWNED, &[STARTED, Effect::CloseLink], Some(109)),
    ]);
    check(&[
        (0, START, &[Effect::Spawn], None),
        (1, STOP_NOW, &[], None),
        (2, STOP, &[], None),
        (9, SPAWNED, &[STARTED, Effect::Kill], Some(509)),
    ]);
    check(&[
        (0, START, &[Effect::Spawn], None),
        (1, STOP, &[], None),
        (2, STOP_NOW, &[], None),
        (9, SPAWNED, &[STARTED, Effect::Kill], Some(509)),
    ]);
}

#[test]
fn a_failed_start_is_reported_and_is_the_end() {
    const KIND: io::ErrorKind = io::ErrorKind::NotFound;
    check(&[
        (0, START, &[Effect::Spawn], None),
        (1, Input::SpawnFailed(KIND), &[Effect::Announce(Notice::SpawnFailed(KIND))], None),
        (2, SPAWNED, &[], None),
        (3, STOP, &[], None),
        (4, START, &[], None),
    ]);
}

#[test]
fn a_life_that_was_stopped_before_it_began_never_begins() {
    check(&[(0, STOP, &[], None), (1, START, &[], None)]);
}

#[test]
fn nothing_starts_twice() {
    check(&[
        (0, START, &[Effect::Spawn], None),
        (1, START, &[], None),
        (2, SPAWNED, &[STARTED], None),
        (3, START, &[], None),
    ]);
}

#[test]
fn a_life_is_over_when_the_end_was_reported() {
    let now = Instant::now();
    let mut lifecycle = Lifecycle::new(POLICY);
    for input in [START, SPAWNED, STOP] {
        lifecycle.handle(now, input);
        assert!(!lifecycle.is_over(), "after {input:?}");
    }
    lifecycle.handle(now, EXITED);
    assert!(lifecycle.is_over());
}

#[test]
fn timeouts_of_any_length_have_a_deadline() {
    let now = Instant::now();
    for timeout in [Duration::ZERO, Duration::MAX] {
        let mut lifecycle = Lifecycle::new(StopPolicy { close: timeout, terminate: timeout, kill: timeout });
        for input in [START, SPAWNED, STOP, ELAPSED, STOP_NOW] {
            lifecycle.handle(now, input);
            assert!(lifecycle.deadline().is_none_or(|deadline| deadline >= now), "after {input:?}");
        }
        assert_eq!(lifecycle.handle(lifecycle.deadline().unwrap(), ELAPSED), [LOST]);
    }
}

fn any_input() -> impl Strategy<Value = Input> {
    prop_oneof![
        1 => Just(START),
        2 => Just(SPAWNED),
        1 => Just(Input::SpawnFailed(io::ErrorKind::Other)),
        2 => Just(STOP),
        1 => Just(STOP_NOW),
        1 => Just(EXITED),
        4 => Just(ELAPSED),
    ]
}

proptest! {
    #[test]
    fn any_inputs_keep_the_order_and_kill_descendants(
        inputs in proptest::collection::vec((0u64..300, any_input()), 0..40),
    ) {
        let mut now = Instant::now();
        let mut lifecycle = Lifecycle::new(POLICY);
        let mut all = Vec::new();
        for (pause, input) in inputs {
            now += Duration::from_millis(pause);
            let was_over = lifecycle.is_over();
            let effects = lifecycle.handle(now, input);
            prop_assert!(!was_over || effects.is_empty());
            if let Some(deadline) = lifecycle.deadline() {
                prop_assert!(deadline <= now + POLICY.kill.max(POLICY.terminate).max(POLICY.close));
            }
            all.extend(effects);
        }
        let place = |wanted: fn(&Effect) -> bool| all.iter().position(wanted);
        let count = |wanted: fn(&Effect) -> bool| all.iter().filter(|effect| wanted(effect)).count();
        for wanted in [
            |effect: &Effect| *effect == Effect::Spawn,
            |effect: &Effect| *effect == Effect::CloseLink,
            |effect: &Effect| *effect == Effect::Terminate,
            |effect: &Effect| *effect == Effect::Kill,
            |effect: &Effect| *effect == STARTED,
            |effect: &Effect| matches!(effect, Effect::Announce(Notice::Exited(_))),
        ] {
            prop_assert!(count(wanted) <= 1);
        }
        if let Some(terminate) = place(|effect| *effect == Effect::Terminate) {
            prop_assert!(place(|effect| *effect == Effect::CloseLink).is_some_and(|close| close < terminate));
        }
        if let Some(end) = place(|effect| matches!(effect, Effect::Announce(Notice::Exited(_)))) {
            prop_assert_eq!(end, all.len() - 1);
            prop_assert!(place(|effect| *effect == Effect::Kill).is_some());
            prop_assert!(lifecycle.is_over());
        }
    }

    #[test]
    fn a_stop_always_comes_to_an_end_by_time_alone(now in any::<bool>(), running in any::<bool>()) {
        let mut at = Instant::now();
        let mut lifecycle = Lifecycle::new(POLICY);
        let (first, second) = if running { (SPAWNED, Input::Stop { now }) } else { (Input::Stop { now }, SPAWNED) };
        for input in [START, first, second] {
            lifecycle.handle(at, input);
        }
        let mut rungs = 0;
        while let Some(deadline) = lifecycle.deadline() {
            at = deadline;
            lifecycle.handle(at, ELAPSED);
            rungs += 1;
        }
        prop_assert!(lifecycle.is_over());
        prop_assert_eq!(rungs, if now { 1 } else { 3 });
    }
}
