//! Middleware, which can tell a reload in place from a repeated registration.

use protomcp_link::Middleware;

use super::*;

fn named(names: &[&str]) -> Vec<Middleware> {
    names.iter().map(|name| Middleware { name: (*name).into(), priority: 1 }).collect()
}

#[test]
fn a_change_of_middleware_alone_is_a_reload_in_place() {
    let mut rig = Rig::new(ReloadMode::Graceful);
    rig.check(Input::Changed, "hold; await 1");
    rig.check(Input::Idle(generation(1)), "ask 1");
    let with = Registration { middleware: named(&["m"]), ..registered(&rig.tools.clone()) };
    rig.check(Input::Reloaded(generation(1), with), "list a,b,c; release 1; changed everyone; report in place");
}

#[test]
fn late_middleware_that_a_reload_repeats_is_not_a_change() {
    let mut rig = Rig::new(ReloadMode::Graceful);
    for middleware in named(&["m", "m"]) {
        rig.check(Input::Intercepts(generation(1), middleware), "");
    }
    rig.check(Input::Intercepts(generation(9), named(&["other"]).remove(0)), "");
    rig.check(Input::Changed, "hold; await 1");
    rig.check(Input::Idle(generation(1)), "ask 1");
    let same = Registration { middleware: named(&["m"]), ..registered(&rig.tools.clone()) };
    rig.check(Input::Reloaded(generation(1), same), "start 2");
}
