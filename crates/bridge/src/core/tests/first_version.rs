//! The first version does not start.

use super::*;
use crate::diagnostics::cause::Cause;

/// A bridge whose first version starts, with the time.
fn starting(first: FirstVersion) -> (Core, Instant) {
    let now = Instant::now();
    (Core::new(now, ReloadMode::Graceful, no_tools(), LIMITS, first).0, now)
}

fn failed(number: u32) -> Input {
    Input::StartFailed(generation(number), Cause::from("typo".to_owned()))
}

#[test]
fn the_next_change_starts_it_anew_if_it_may_be_missing() {
    let (mut core, now) = starting(FirstVersion::Awaited);
    let mut check = |input, expected: &str| assert_eq!(describe(&core.handle(now, input, &CALM)), expected);
    check(failed(1), "report not started: typo; first missing");
    check(Input::Elapsed, "");
    check(Input::Changed, "start 2");
    check(failed(2), "report not started: typo");
    check(Input::Changed, "start 3");
    let fixed = Input::Started(generation(3), registered(&definitions(&NAMES)));
    check(fixed, "list a,b,c; release 3; changed everyone; report reloaded; first started");
}

#[test]
fn it_ends_the_bridge_if_it_is_required_or_cannot_start() {
    let missing = || Input::CannotStart(generation(1), Cause::from("no python3".to_owned()));
    for (first, input) in
        [(FirstVersion::Required, failed(1)), (FirstVersion::Required, missing()), (FirstVersion::Awaited, missing())]
    {
        let (mut core, now) = starting(first);
        assert_eq!(describe(&core.handle(now, input, &CALM)), "first start failed");
    }
}
