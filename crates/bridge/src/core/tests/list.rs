//! Commands that change the tool list, and lists that a process sends unasked.

use super::*;

fn control(session: Option<SessionId>, command: Command<ToolName>) -> Input {
    Input::Control { generation: generation(1), session, command: Ok(command), reply: None }
}

#[test]
fn a_mutation_of_a_stateless_call_changes_nothing() {
    let mut rig = Rig::new(ReloadMode::Graceful);
    rig.check(control(Some(SessionId::STATELESS), Command::disable(names(&["a"]))), "");
    let ask = Input::Control {
        generation: generation(1),
        session: Some(SessionId::STATELESS),
        command: Ok(Command::disable(names(&["a"]))),
        reply: Some("7".into()),
    };
    rig.check(ask, "reply a,b,c");
}

#[test]
fn a_mutation_in_a_session_changes_only_its_view() {
    let mut rig = Rig::new(ReloadMode::Graceful);
    rig.check(control(Some(session(1)), Command::disable(names(&["a"]))), "list a,b,c; changed one");
    let view = |rig: &Rig, number| {
        rig.core
            .list
            .snapshot()
            .view(session(number))
            .active()
            .map(|(name, _)| name.to_string())
            .collect::<Vec<_>>()
            .join(",")
    };
    assert_eq!((view(&rig, 1), view(&rig, 2)), ("b,c".into(), "a,b,c".into()));
    rig.check(control(Some(session(1)), Command::disable(names(&["a"]))), "");
    rig.check(control(None, Command::disable(names(&["b"]))), "list a,c; changed everyone");
    assert_eq!((view(&rig, 1), view(&rig, 2)), ("c".into(), "a,c".into()));
    rig.check(Input::SessionClosed(session(1)), "list a,c");
    assert_eq!(view(&rig, 1), "a,c");
    rig.check(Input::SessionClosed(session(1)), "");
}

/// The result of its last call comes after its end.
#[test]
fn nothing_is_kept_for_a_session_that_has_ended() {
    let mut rig = Rig::new(ReloadMode::Graceful);
    rig.facts.ended = Some(session(1));
    rig.check(control(Some(session(1)), Command::disable(names(&["a"]))), "");
    rig.check(control(Some(session(2)), Command::disable(names(&["a"]))), "list a,b,c; changed one");
    rig.check(Input::SessionClosed(session(1)), "");
}

#[test]
fn control_is_answered_with_the_active_tools_of_its_target() {
    let mut rig = Rig::new(ReloadMode::Graceful);
    let ask =
        |session, command| Input::Control { generation: generation(1), session, command, reply: Some("7".into()) };
    rig.check(ask(Some(session(1)), Ok(Command::disable(names(&["b"])))), "list a,b,c; changed one; reply a,c");
    rig.check(ask(None, Ok(Command::enable(Vec::new()))), "list a,b,c; reply a,b,c");
    let batch = protomcp_toollist::Batch { allow: names(&["a"]), block: names(&["b"]), ..Default::default() };
    rig.check(ask(Some(session(1)), Command::batch(batch)), "report rejected; reply a,c");
}

#[test]
fn hidden_tools_never_appear_and_a_new_process_starts_open() {
    let hidden = Registration { early: vec![Command::disable(names(&["b"]))], ..registered(&definitions(&NAMES)) };
    let now = Instant::now();
    let (mut core, _) = Core::new(now, ReloadMode::Swap, no_tools(), LIMITS, FirstVersion::Required);
    let effects = core.handle(now, Input::Started(generation(1), hidden), &CALM);
    assert!(describe(&effects).starts_with("list a,c; release 1"), "{}", describe(&effects));
    core.handle(now, control(Some(session(1)), Command::disable(names(&["a", "c"]))), &CALM);
    core.handle(now, Input::Changed, &CALM);
    let effects = core.handle(now, Input::Started(generation(2), registered(&definitions(&NAMES))), &CALM);
    assert!(describe(&effects).starts_with("list a,b,c; release 2"), "{}", describe(&effects));
    assert_eq!(core.list.snapshot().view(session(1)).active().count(), 3, "what the old process hid is back");
}

#[test]
fn a_fixed_list_is_hidden_at_the_start_and_changed_by_no_call() {
    let hidden = Registration { early: vec![Command::disable(names(&["b"]))], ..registered(&definitions(&NAMES)) };
    let now = Instant::now();
    let (mut core, _) = Core::new(now, ReloadMode::Swap, no_tools().fixed(), LIMITS, FirstVersion::Required);
    core.handle(now, Input::Started(generation(1), hidden), &CALM);
    for session in [None, Some(session(1))] {
        let effects = core.handle(now, control(session, Command::disable(names(&["a"]))), &CALM);
        assert_eq!(describe(&effects), "");
    }
    let effects = core.handle(now, Input::Listed(generation(1), definitions(&["a", "b", "d"])), &CALM);
    assert_eq!(describe(&effects), "list a,d; changed everyone");
}

#[test]
fn a_reload_in_place_keeps_the_selection() {
    let mut rig = Rig::new(ReloadMode::Graceful);
    rig.check(control(None, Command::disable(names(&["b"]))), "list a,c; changed everyone");
    rig.check(Input::Changed, "hold; await 1");
    rig.check(Input::Idle(generation(1)), "ask 1");
    let new = registered(&definitions(&["a", "b", "d"]));
    rig.check(Input::Reloaded(generation(1), new), "list a,d; release 1; changed everyone; report in place");
}

#[test]
fn an_unasked_list_is_published_and_announced_if_it_differs() {
    let mut rig = Rig::new(ReloadMode::Graceful);
    rig.check(Input::Listed(generation(1), definitions(&NAMES)), "list a,b,c");
    rig.check(Input::Listed(generation(1), definitions(&["a"])), "list a; changed everyone");
}

#[test]
fn a_repeated_list_is_not_announced_to_any_session() {
    let mut rig = Rig::new(ReloadMode::Graceful);
    rig.check(control(Some(session(1)), Command::disable(names(&["a"]))), "list a,b,c; changed one");
    rig.check(Input::Listed(generation(1), definitions(&NAMES)), "list a,b,c");
    rig.check(control(Some(session(1)), Command::set_allowed(names(&["a", "b"]))), "list a,b,c; changed one");
    rig.check(Input::Listed(generation(1), definitions(&["a", "b"])), "list a,b; changed everyone");
}

#[test]
fn a_proven_output_schema_is_announced_once() {
    let mut rig = Rig::new(ReloadMode::Swap);
    rig.tools[0].output_schema_json = r#"{"type":"object"}"#.into();
    rig.check(Input::Listed(generation(1), rig.tools.clone()), "list a,b,c");
    let a = ToolName::new("a").unwrap();
    rig.check(Input::Proven(generation(1), a.clone()), "list a,b,c; changed everyone");
    rig.check(Input::Proven(generation(1), a), "");
    rig.check(Input::Changed, "start 2");
    rig.started(2, "list a,b,c; release 2; changed everyone; report reloaded; await 1");
    assert!(rig.core.list.snapshot().base().find("a").unwrap().promises(), "the same schema stays proven");
    assert!(rig.now == rig.start);
}
