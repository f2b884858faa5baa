//! Resources, templates and prompts: notifications of their changes, and further requests for them.

use protomcp_envelope::{PromptDefinition, ResourceDefinition, ResourceTemplateDefinition};

use super::*;
use crate::catalog::resources_and_prompts::{Kind, Listed};

fn resources(uris: &[&str]) -> Listed {
    Listed::Resources(uris.iter().map(|uri| ResourceDefinition { uri: (*uri).into(), ..Default::default() }).collect())
}

fn templates(texts: &[&str]) -> Listed {
    let definition = |text: &&str| ResourceTemplateDefinition { uri_template: (*text).into(), ..Default::default() };
    Listed::Templates(texts.iter().map(definition).collect())
}

fn prompts(names: &[&str]) -> Listed {
    Listed::Prompts(names.iter().map(|name| PromptDefinition { name: (*name).into(), ..Default::default() }).collect())
}

/// A process with the usual tools that has sent these lists in addition to them.
fn with(catalog: Vec<Listed>) -> Registration {
    Registration { catalog, ..registered(&definitions(&NAMES)) }
}

fn answer(number: u32, listed: Listed) -> Input {
    Input::Catalogued(generation(number), listed.kind(), Some(listed))
}

fn silence(number: u32, kind: Kind) -> Input {
    Input::Catalogued(generation(number), kind, None)
}

/// Resources, templates and prompts, as clients see them.
fn shown(rig: &Rig) -> String {
    let catalog = Arc::clone(rig.core.list.snapshot().catalog());
    let list = |kind, key: &str| {
        let items: Vec<serde_json::Value> = catalog.page(kind, None).unwrap().items.to().unwrap();
        items.iter().map(|item| item[key].as_str().unwrap().to_owned()).collect::<Vec<_>>().join(",")
    };
    format!("{} {} {}", list(Kind::Resources, "uri"), list(Kind::Templates, "uriTemplate"), list(Kind::Prompts, "name"))
}

/// A rig whose first process has sent all lists.
fn rig(mode: ReloadMode) -> Rig {
    let mut rig = Rig::new(mode);
    rig.check(answer(1, resources(&["r"])), "list a,b,c; resources changed");
    rig.check(answer(1, templates(&["t"])), "list a,b,c; resources changed");
    rig.check(answer(1, prompts(&["p"])), "list a,b,c; prompts changed");
    rig
}

#[test]
fn lists_sent_during_the_start_are_published_with_the_tools() {
    let (mut core, _) = Core::new(Instant::now(), ReloadMode::Graceful, no_tools(), LIMITS, FirstVersion::Required);
    let listed = vec![resources(&["r"]), templates(&["t"]), prompts(&["p"])];
    let effects = core.handle(Instant::now(), Input::Started(generation(1), with(listed)), &CALM);
    assert_eq!(describe(&effects), "list a,b,c; release 1; first started");
    let now = Instant::now();
    assert_eq!(shown(&Rig { core, start: now, now, tools: Vec::new(), facts: CALM }), "r t p");
}

#[test]
fn a_late_answer_is_announced_once_if_it_makes_a_difference() {
    let mut rig = rig(ReloadMode::Graceful);
    assert_eq!(shown(&rig), "r t p");
    rig.check(answer(1, resources(&["r"])), "");
    rig.check(silence(1, Kind::Prompts), "");
    rig.check(answer(7, prompts(&[])), "");
    assert_eq!(shown(&rig), "r t p");
    rig.check(answer(1, Listed::none(Kind::Prompts)), "list a,b,c; prompts changed");
    assert_eq!(shown(&rig), "r t ");
}

#[test]
fn a_new_process_replaces_only_the_lists_that_it_has_sent() {
    for (mode, end) in [(ReloadMode::Swap, "await 1"), (ReloadMode::Immediate, "cut short 1")] {
        let mut rig = rig(mode);
        rig.core.handle(rig.now, Input::Changed, &CALM);
        let effects = "list a,b,c; release 2; changed everyone; resources changed; report reloaded";
        let started = Input::Started(generation(2), with(vec![resources(&["r", "s"]), templates(&["t"])]));
        rig.check(started, &format!("{effects}; {end}"));
        assert_eq!(shown(&rig), "r,s t p");
        rig.check(answer(1, prompts(&["the old process has no say"])), "");
        rig.check(answer(2, prompts(&["q"])), "list a,b,c; prompts changed");
        assert_eq!(shown(&rig), "r,s t q");
    }
}

#[test]
fn a_restarted_process_is_announced_only_where_it_differs() {
    let mut rig = rig(ReloadMode::Graceful);
    rig.exited(1, 1, "hold; report crash; report restart in 250ms");
    assert_eq!(shown(&rig), "r t p", "a crash takes nothing away");
    rig.elapse(250, "start 2");
    let listed = vec![resources(&["r"]), templates(&["t"]), prompts(&["q"])];
    rig.check(Input::Started(generation(2), with(listed)), "list a,b,c; release 2; prompts changed; report back");
}

#[test]
fn a_reload_in_place_requests_the_lists_before_calls() {
    let mut rig = rig(ReloadMode::Graceful);
    rig.check(Input::Changed, "hold; await 1");
    rig.check(Input::Idle(generation(1)), "ask 1");
    rig.check(
        Input::Reloaded(generation(1), registered(&definitions(&["d"]))),
        "list d; Resources? 1; Templates? 1; Prompts? 1; release 1; changed everyone; report in place",
    );
    rig.check(answer(1, resources(&["s"])), "list d; resources changed");
    rig.check(answer(1, templates(&["t"])), "");
    rig.check(silence(1, Kind::Prompts), "");
    assert_eq!(shown(&rig), "s t p");
}

#[test]
fn repeated_changes_of_a_list_are_one_open_request() {
    let mut rig = rig(ReloadMode::Graceful);
    let both: &[Kind] = &[Kind::Resources, Kind::Templates];
    rig.check(Input::Renewed(generation(1), both), "Resources? 1; Templates? 1");
    rig.check(Input::Renewed(generation(1), both), "");
    rig.check(Input::Renewed(generation(1), both), "");
    rig.check(Input::Renewed(generation(7), &[Kind::Prompts]), "");
    rig.check(answer(1, resources(&["r"])), "Resources? 1");
    rig.check(answer(1, resources(&["s"])), "list a,b,c; resources changed");
    rig.check(silence(1, Kind::Templates), "Templates? 1");
    rig.check(silence(1, Kind::Templates), "");
    rig.check(Input::Renewed(generation(1), both), "Resources? 1; Templates? 1");
}

#[test]
fn a_list_that_changed_during_the_start_is_requested_again() {
    let (mut core, _) = Core::new(Instant::now(), ReloadMode::Graceful, no_tools(), LIMITS, FirstVersion::Required);
    let renewed = vec![Kind::Resources, Kind::Prompts];
    let started = Registration { renewed, ..with(vec![resources(&["r"])]) };
    let effects = core.handle(Instant::now(), Input::Started(generation(1), started), &CALM);
    assert_eq!(describe(&effects), "Resources? 1; list a,b,c; release 1; first started");
    let effects = core.handle(Instant::now(), answer(1, prompts(&["p"])), &CALM);
    assert_eq!(describe(&effects), "Prompts? 1; list a,b,c; prompts changed");
}

#[test]
fn faults_of_definitions_are_reported() {
    let mut rig = Rig::new(ReloadMode::Graceful);
    rig.check(
        answer(1, templates(&["x://{"])),
        "report resource template \"x://{\": nothing can be read through it: unmatched brace at byte 4; \
         list a,b,c; resources changed",
    );
}

#[test]
fn the_first_lists_of_each_process_are_awaited() {
    let awaited = |rig: &Rig| Kind::ALL.map(|kind| rig.core.list.snapshot().catalog().awaits(&[kind]));
    let mut rig = Rig::new(ReloadMode::Swap);
    assert_eq!(awaited(&rig), [true; 3]);
    rig.check(answer(1, Listed::none(Kind::Resources)), "list a,b,c");
    assert_eq!(awaited(&rig), [false, true, true]);
    rig.check(answer(1, prompts(&["p"])), "list a,b,c; prompts changed");
    rig.check(answer(1, Listed::none(Kind::Templates)), "list a,b,c");
    assert_eq!(awaited(&rig), [false; 3]);
    rig.check(Input::Renewed(generation(1), &[Kind::Prompts]), "Prompts? 1");
    assert_eq!(awaited(&rig), [false; 3], "clients are told of changes");

    rig.core.handle(rig.now, Input::Changed, &CALM);
    rig.core.handle(rig.now, Input::Started(generation(2), with(vec![resources(&["r"])])), &CALM);
    assert_eq!(awaited(&rig), [false, true, true]);
    rig.core.handle(rig.now, answer(1, prompts(&["q"])), &CALM);
    assert_eq!(awaited(&rig), [false, true, true], "the old process says nothing about the lists of the new one");
}

#[test]
fn the_pages_of_apps_are_announced_after_a_save() {
    const UPDATED: &str = "resource updated ui://a; resource updated ui://b";
    let page = |uri: &str, mime_type: &str| ResourceDefinition {
        uri: uri.into(),
        mime_type: mime_type.into(),
        ..Default::default()
    };
    let pages = || {
        let app = "text/html;profile=mcp-app";
        Listed::Resources(vec![page("ui://a", app), page("ui://b", app), page("r", "text/html")])
    };
    let mut rig = Rig::new(ReloadMode::Swap);
    rig.check(Input::PagesChanged, "");
    rig.check(answer(1, pages()), "list a,b,c; resources changed");
    rig.check(Input::PagesChanged, UPDATED);
    rig.check(Input::Changed, "start 2");
    let effects = format!("list a,b,c; release 2; changed everyone; {UPDATED}; report reloaded; await 1");
    rig.check(Input::Started(generation(2), with(vec![pages()])), &effects);
}
