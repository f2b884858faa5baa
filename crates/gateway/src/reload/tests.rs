//! The machine as a table of inputs and effects.

use super::*;

/// Inputs by their milliseconds, each followed by its effects in a short form.
///
/// `save`, `ready 2`, `fail 2`, `down 2` (a failure without a version that serves), `end 1`, and `wait`, which lets the
/// deadline pass.
fn play(max_retiring: usize, script: &[(u64, &str, &str)]) {
    let start = Instant::now();
    let mut reloads = Reloads::new(max_retiring, Duration::from_secs(10));
    for (line, (at, input, expected)) in script.iter().enumerate() {
        let now = start + Duration::from_millis(*at);
        let (verb, number) = input.split_once(' ').unwrap_or((input, "0"));
        let generation = Generation(number.parse().unwrap());
        let failure = |has_fallback| Failure { why: "no".into(), has_fallback };
        let input = match verb {
            "save" => Input::Changed,
            "ready" => Input::Ready(generation),
            "fail" => Input::Failed(generation, failure(true)),
            "down" => Input::Failed(generation, failure(false)),
            "end" => Input::Ended(generation),
            "wait" => {
                assert_eq!(reloads.deadline(), Some(now), "line {line}");
                Input::Elapsed
            }
            other => panic!("{other}"),
        };
        let effects: Vec<_> = reloads.handle(now, input).iter().map(short).collect();
        assert_eq!(effects.join(", "), *expected, "line {line}: {:?}", script[line]);
    }
}

fn short(effect: &Effect) -> String {
    match effect {
        Effect::Start(Generation(n)) => format!("start {n}"),
        Effect::GiveUp(Generation(n)) => format!("give up {n}"),
        Effect::Switch { to: Generation(to), from: Generation(from) } => format!("switch {from} to {to}"),
        Effect::Abort(Generation(n)) => format!("abort {n}"),
        Effect::Report(report) => match report {
            Report::Reloaded(_) => "reloaded".into(),
            Report::Failed(failure) if failure.has_fallback => "failed".into(),
            Report::Failed(_) => "still down".into(),
            Report::Waits => "waits".into(),
            Report::WaitsForCalls => "waits for calls".into(),
            Report::StartGivenUp(_) => "given up".into(),
            Report::CallsAborted { .. } => "aborted".into(),
        },
    }
}

#[test]
fn a_save_starts_the_next_version_while_the_present_one_runs() {
    play(4, &[(0, "save", "start 2"), (900, "ready 2", "switch 1 to 2, reloaded"), (950, "end 1", "")]);
}

#[test]
fn a_version_that_does_not_start_changes_nothing() {
    play(
        4,
        &[
            (0, "save", "start 2"),
            (500, "fail 2", "failed"),
            (5000, "save", "start 3"),
            (5500, "ready 3", "switch 1 to 3, reloaded"),
            (6000, "ready 2", ""),
            (6000, "fail 3", ""),
        ],
    );
    play(4, &[(0, "save", "start 2"), (500, "down 2", "still down"), (5000, "save", "start 3")]);
}

#[test]
fn saves_during_a_reload_become_one_more() {
    play(
        4,
        &[
            (0, "save", "start 2"),
            (10, "save", "waits"),
            (20, "save", ""),
            (500, "ready 2", "switch 1 to 2, reloaded, start 3"),
            (900, "ready 3", "switch 2 to 3, reloaded"),
        ],
    );
    play(4, &[(0, "save", "start 2"), (10, "save", "waits"), (500, "fail 2", "failed, start 3")]);
}

#[test]
fn two_reloads_follow_each_other_and_a_third_waits() {
    play(
        4,
        &[
            (0, "save", "start 2"),
            (100, "ready 2", "switch 1 to 2, reloaded"),
            (200, "save", "start 3"),
            (300, "ready 3", "switch 2 to 3, reloaded"),
            (400, "save", ""),
            (500, "save", ""),
            (1000, "wait", "start 4"),
        ],
    );
}

#[test]
fn a_slow_start_gives_way_to_the_next_save() {
    play(
        4,
        &[
            (0, "save", "start 2"),
            (2000, "save", "given up, give up 2, start 3"),
            (2100, "ready 2", ""),
            (2200, "save", "waits"),
            (2300, "save", ""),
            (4000, "wait", "given up, give up 3, start 4"),
            (4100, "ready 4", "switch 1 to 4, reloaded"),
        ],
    );
    // Without a change it may take its time: a build, or a download.
    play(4, &[(0, "save", "start 2"), (300_000, "ready 2", "switch 1 to 2, reloaded")]);
}

#[test]
fn earlier_versions_finish_their_calls_up_to_the_limit() {
    play(
        2,
        &[
            (0, "save", "start 2"),
            (100, "ready 2", "switch 1 to 2, reloaded"),
            (1000, "save", "start 3"),
            (1100, "ready 3", "switch 2 to 3, reloaded"),
            (3000, "save", "waits for calls"),
            (3500, "save", ""),
            (4000, "end 2", "start 4"),
            (4100, "ready 4", "switch 3 to 4, reloaded"),
            (6000, "save", "waits for calls"),
            // The first one has had the time of a call.
            (10_100, "wait", "aborted, abort 1"),
            (10_200, "save", ""),
            (10_300, "end 1", "start 5"),
        ],
    );
}

#[test]
fn without_a_change_nothing_is_due() {
    let (now, mut reloads) = (Instant::now(), Reloads::new(1, Duration::from_secs(10)));
    assert_eq!(reloads.deadline(), None);
    assert_eq!(reloads.handle(now, Input::Elapsed), []);
    reloads.handle(now, Input::Changed);
    assert_eq!(reloads.deadline(), None, "a start alone has no deadline here");
}

#[test]
fn the_reason_of_a_failure_is_for_the_author() {
    let report = Report::Failed(Failure { why: "exit status 1: secret".into(), has_fallback: true });
    assert_eq!(report.to_string(), "reload failed, still serving the previous version: exit status 1: secret");
    assert_eq!(report.for_clients(), "reload failed, still serving the previous version");
    assert_eq!(Report::Reloaded(Generation(2)).for_clients(), "reloaded (generation 2)");
}
