//! Events of the link, and the facts that decide about them.

use std::time::Duration;

use protomcp_envelope::{
    DisableToolsRequest, ElicitationComplete, ListRootsRequest, LogMessage, Msg, PromptListChanged,
    ResourceChangedNotification, SdkInfo,
};
use protomcp_link::{Closed, Event, Handshake, Middleware, Notice, Phase, QuestionFields, ReloadError};

use super::*;
use crate::catalog::resources_and_prompts::Kind;

/// Configurable facts.
#[derive(Default)]
struct Observed {
    is_gone: bool,
    is_busy: bool,
    has_two_readers: bool,
    scope: Option<SessionId>,
    features: SdkFeatures,
}

impl Facts for Observed {
    fn features(&self, _: Generation) -> Option<SdkFeatures> {
        (!self.is_gone).then_some(self.features)
    }

    fn is_idle(&self, _: Generation) -> bool {
        !self.is_busy
    }

    fn is_busy(&self, _: Generation) -> bool {
        self.is_busy
    }

    fn has_two_readers(&self, _: Generation) -> bool {
        self.has_two_readers
    }

    fn list_scope(&self, _: Generation, _: &str) -> Option<SessionId> {
        self.scope
    }

    fn is_open(&self, _: SessionId) -> bool {
        true
    }
}

fn notification(message: impl Into<Msg>) -> Event {
    Event::Notification { message: message.into(), for_call: "7".into() }
}

fn request(message: impl Into<Msg>) -> Event {
    Event::Request {
        id: "9".into(),
        message: message.into(),
        for_call: String::new(),
        question: QuestionFields::default(),
    }
}

fn disable(name: &str) -> Event {
    request(DisableToolsRequest { tool_names: vec![name.into()] })
}

fn middleware(name: &str) -> Middleware {
    Middleware { name: name.into(), priority: 0 }
}

/// A process that has sent all its lists.
fn answered() -> Rig {
    let mut rig = Rig::new(ReloadMode::Graceful);
    for kind in Kind::ALL {
        rig.check(Input::Catalogued(generation(1), kind, None), "list a,b,c");
    }
    rig
}

#[test]
fn each_event_has_its_effects() {
    let log = LogMessage { level: "info".into(), ..Default::default() };
    for (event, expected) in [
        (notification(log), "log info of call 7"),
        (notification(SdkInfo::default()), "bridge info to 1"),
        (notification(ResourceChangedNotification { uri: "a:b".into() }), "resource updated a:b"),
        (notification(ElicitationComplete { elicitation_id: "e".into() }), "elicitation complete e"),
        (notification(PromptListChanged {}), "Prompts? 1"),
        (request(ListRootsRequest {}), "ask client for 1: 9"),
        (disable("b"), "list a,c; changed everyone; reply a,c"),
        (Event::LateMiddleware(middleware("m")), "add middleware m to 1"),
        (Event::Noticed(Notice::LateAnswer { id: "5".into(), kind: "call_result" }), "answered late 1 5"),
        (Event::Noticed(Notice::LateAnswer { id: "5".into(), kind: "progress" }), ""),
        (Event::Noticed(Notice::LateAnswer { id: "5".into(), kind: "create_task" }), ""),
        (Event::Closed(Closed::ByPeer), "stop 1"),
        (Event::Closed(Closed::Silent(Duration::from_secs(60))), "stop 1"),
    ] {
        let mut rig = answered();
        let effects = rig.core.handle(rig.now, Input::Link(generation(1), event), &Observed::default());
        assert_eq!(describe(&effects), expected);
    }
}

#[test]
fn a_process_that_is_gone_says_nothing() {
    let mut rig = Rig::new(ReloadMode::Graceful);
    let gone = Observed { is_gone: true, ..Observed::default() };
    assert!(rig.core.handle(rig.now, Input::Link(generation(1), disable("b")), &gone).is_empty());
}

#[test]
fn a_reload_sets_the_middleware_and_the_features() {
    let reloaded = || {
        let handshake = Handshake { tools: Some(definitions(&NAMES)), middleware: Vec::new(), phase: Phase::Reload };
        Input::Link(generation(1), Event::Ready(handshake))
    };
    let in_place = SdkFeatures { reloads_in_place: true, ..SdkFeatures::default() };
    let lists = "Resources? 1; Templates? 1; Prompts? 1";
    for (features, expected) in [
        (in_place, format!("list a,b,c; {lists}; release 1; changed everyone; report in place")),
        (SdkFeatures::default(), "start 2".to_owned()),
    ] {
        let mut rig = answered();
        rig.check(Input::Changed, "hold; await 1");
        rig.check(Input::Idle(generation(1)), "ask 1");
        let facts = Observed { features, ..Observed::default() };
        let effects = rig.core.handle(rig.now, reloaded(), &facts);
        assert_eq!(describe(&effects), format!("0 middleware of 1; {expected}"));
    }
}

#[test]
fn a_process_that_does_not_reload_in_place_is_not_asked() {
    for (reloads_in_place, expected) in [(true, "ask 1"), (false, "start 2")] {
        let mut rig = Rig::new(ReloadMode::Graceful);
        rig.check(Input::Changed, "hold; await 1");
        let features = SdkFeatures { announced: true, reloads_in_place, ..SdkFeatures::default() };
        let facts = Observed { features, ..Observed::default() };
        let effects = rig.core.handle(rig.now, Input::Idle(generation(1)), &facts);
        assert_eq!(describe(&effects), expected);
    }
}

#[test]
fn a_refused_reload_is_not_a_silent_one() {
    for (error, expected) in [
        (ReloadError::Refused("syntax".into()), "report failed: the tool process reported an error: syntax; release 1"),
        (ReloadError::Unanswered(Duration::from_secs(5)), "start 2"),
    ] {
        let mut rig = Rig::new(ReloadMode::Graceful);
        rig.check(Input::Changed, "hold; await 1");
        rig.check(Input::Idle(generation(1)), "ask 1");
        rig.check(Input::Link(generation(1), Event::ReloadFailed(error)), expected);
    }
}

#[test]
fn a_handler_with_two_readers_gets_empty_frames_and_one_warning() {
    let mut rig = Rig::new(ReloadMode::Graceful);
    let mut handle = |event, is_busy, has_two_readers| {
        let facts = Observed { is_busy, has_two_readers, ..Observed::default() };
        describe(&rig.core.handle(rig.now, Input::Link(generation(1), event), &facts))
    };
    let warned = "list b,c; changed everyone; reply to two readers 1; report list not received";
    assert_eq!(handle(disable("a"), true, true), warned);
    assert_eq!(handle(disable("b"), true, true), "list c; changed everyone; reply to two readers 1");
    assert_eq!(handle(disable("z"), true, false), "list c; reply c");
    assert_eq!(handle(disable("z"), false, true), "list c; reply c");
}

#[test]
fn a_process_that_is_busy_again_does_not_count_as_idle() {
    let mut rig = Rig::new(ReloadMode::Graceful);
    rig.check(Input::Changed, "hold; await 1");
    let busy = Observed { is_busy: true, ..Observed::default() };
    assert!(rig.core.handle(rig.now, Input::Idle(generation(1)), &busy).is_empty());
    rig.check(Input::Idle(generation(1)), "ask 1");
}

#[test]
fn a_first_start_that_fails_ends_the_bridge() {
    let (mut core, _) = Core::new(Instant::now(), ReloadMode::Graceful, no_tools(), LIMITS, FirstVersion::Required);
    let effects = core.handle(Instant::now(), Input::StartFailed(generation(1), "syntax".into()), &CALM);
    assert_eq!(describe(&effects), "first start failed");
}
