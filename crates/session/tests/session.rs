//! The session by itself, without server, time or connection.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use proptest::prelude::*;
use protomcp_session::{CallId, Inbound, RequestKey, RestoredSession, ServerInfo, ServerResult, Session};
use protomcp_types::{
    CallToolResult, ErrorObject, Incoming, JsonBuf, JsonObject, Level, ListCapability, Message, Params,
    ProtocolVersion, RawJson, RequestId, ServerCapabilities, TasksCapability, code,
};

fn message(text: &str) -> Message {
    match Incoming::parse(&text.to_owned().into()) {
        Ok(Incoming::One(message)) => message,
        other => panic!("{text}: {other:?}"),
    }
}

fn ready(max_pending: usize) -> Session {
    session(ServerCapabilities::default().with_tools().with_resources(), max_pending)
}

fn session(capabilities: ServerCapabilities, max_pending: usize) -> Session {
    let info = ServerInfo::new("test", "1").with_capabilities(capabilities);
    let mut session = Session::server(Arc::new(info), max_pending);
    let hello = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"roots":{}},"clientInfo":{"name":"host"}}}"#;
    assert!(matches!(session.receive(message(hello)), Inbound::Opened(..)));
    assert!(!session.is_ready());
    let initialized = Message::notification("notifications/initialized", Params::Absent);
    assert_eq!(session.receive(initialized), Inbound::Ready);
    assert!(session.is_ready());
    session
}

fn call(id: impl Into<RequestId>) -> Message {
    Message::request(id, "tools/call", JsonObject::new().with("name", RawJson::text("t")).into())
}

fn subscribe(id: RequestId, uri: &str, on: bool) -> Message {
    let method = if on { "resources/subscribe" } else { "resources/unsubscribe" };
    Message::request(id, method, JsonObject::new().with("uri", RawJson::text(uri)).into())
}

fn cancel(id: &RequestId) -> Message {
    Message::notification("notifications/cancelled", JsonObject::new().with("requestId", id.to_raw()).into())
}

#[test]
fn the_client_is_known_after_the_handshake() {
    let session = ready(1);
    let client = session.client().unwrap();
    assert_eq!(client.version, ProtocolVersion::V2025_11_25);
    assert_eq!(client.implementation.name, "host");
    assert!(client.capabilities.has_roots());
}

#[test]
fn notifications_before_the_handshake_are_ignored() {
    let mut session = Session::server(Arc::new(ServerInfo::new("test", "1")), 1);
    let early = || Message::notification("notifications/roots/list_changed", Params::Absent);
    assert!(matches!(session.receive(early()), Inbound::Ignored(_)));
    assert!(matches!(ready(1).receive(early()), Inbound::Notification(_)));
}

#[test]
fn without_the_capability_there_is_no_set_level() {
    let mut info = ServerInfo::new("test", "1");
    info.capabilities.logging = None;
    let mut session = Session::server(Arc::new(info), 1);
    session.receive(message(
        r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"","capabilities":{},"clientInfo":{"name":""}}}"#,
    ));
    let set = r#"{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"debug"}}"#;
    let Inbound::Reply(Message::Response(response)) = session.receive(message(set)) else { panic!() };
    assert_eq!(response.outcome.unwrap_err().code, code::METHOD_NOT_FOUND);
    assert_eq!(session.level(), Session::INITIAL_LEVEL);
}

#[test]
fn what_the_server_does_not_offer_is_not_there() {
    for (method, capability) in [
        ("tools/list", "tools"),
        ("tools/call", "tools"),
        ("resources/read", "resources"),
        ("resources/subscribe", "resources.subscribe"),
        ("resources/unsubscribe", "resources.subscribe"),
        ("prompts/get", "prompts"),
        ("completion/complete", "completions"),
        ("tasks/get", "tasks"),
        ("tasks/result", "tasks"),
        ("tasks/list", "tasks.list"),
        ("tasks/cancel", "tasks.cancel"),
    ] {
        let all = || ServerCapabilities::default().with_tools().with_prompts().with_completions().with_tasks();
        let params = r#"{"name":"a","uri":"a","taskId":"a","ref":{"type":"ref/prompt","name":"a"},"argument":{"name":"a","value":""}}"#;
        let params = || Params::of(&RawJson::parse(params).unwrap()).unwrap();
        let mut with = all().with_resources();
        let mut session = session(with.clone(), 1);
        let inbound = session.receive(Message::request(1, method, params()));
        assert!(matches!(inbound, Inbound::Call(_)), "{method}: {inbound:?}");
        match capability {
            "tools" => with.tools = None,
            "resources" => with.resources = None,
            "resources.subscribe" => with.resources = Some(ListCapability { list_changed: true, subscribe: false }),
            "prompts" => with.prompts = None,
            "tasks" => with.tasks = None,
            "tasks.list" => with.tasks = Some(TasksCapability { list: None, ..TasksCapability::ALL }),
            "tasks.cancel" => with.tasks = Some(TasksCapability { cancel: None, ..TasksCapability::ALL }),
            _ => with.completions = None,
        }
        let mut session = self::session(with, 1);
        let Inbound::Reply(Message::Response(response)) = session.receive(Message::request(1, method, params())) else {
            panic!("{method}")
        };
        assert_eq!(response.outcome.unwrap_err().code, code::METHOD_NOT_FOUND, "{method}");
    }
}

/// Some hosts ask for all lists, whatever the server declares.
#[test]
fn lists_that_the_server_does_not_offer_go_to_the_service() {
    for method in ["resources/list", "resources/templates/list", "prompts/list"] {
        let mut session = session(ServerCapabilities::default().with_tools(), 1);
        let inbound = session.receive(Message::request(1, method, Params::default()));
        assert!(matches!(inbound, Inbound::Call(_)), "{method}: {inbound:?}");
    }
}

#[test]
fn our_requests_are_answered_once_and_only_by_their_id() {
    let mut session = ready(1);
    let (first, asked) = session.call("roots/list", Params::Absent);
    let (second, _) = session.call("roots/list", Params::Absent);
    assert_ne!(first, second);
    let Message::Request(asked) = asked else { panic!() };
    let answer = || Message::result(asked.id.clone(), JsonBuf::empty_object());
    for unknown in [RequestId::from(99), RequestId::from(-1), RequestId::from("1"), RequestId::from(u64::MAX)] {
        let inbound = session.receive(Message::result(unknown, JsonBuf::empty_object()));
        assert!(matches!(inbound, Inbound::Ignored(_)), "{inbound:?}");
    }
    let outcome = Ok(JsonBuf::empty_object());
    assert_eq!(session.receive(answer()), Inbound::Answer { call: first, outcome });
    assert!(matches!(session.receive(answer()), Inbound::Ignored(_)));

    let told = session.abandon(second).unwrap().to_text();
    assert_eq!(told, r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}"#);
    assert_eq!(session.abandon(second), None);
    let late = Message::error(Some(2.into()), ErrorObject::internal("late"));
    assert!(matches!(session.receive(late), Inbound::Ignored(_)));
}

#[test]
fn an_error_without_an_id_belongs_to_nothing() {
    let mut session = ready(1);
    session.call("roots/list", Params::Absent);
    let inbound = session.receive(Message::error(None, ErrorObject::parse_error("?")));
    assert!(matches!(inbound, Inbound::Ignored(_)));
}

#[derive(Debug, Clone)]
enum Step {
    Call(u8),
    Subscribe(u8, bool),
    Cancel(u8),
    Reply(usize, bool),
    Ask,
    Answered(u8),
    Abandon(u8),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        3 => (0..6u8).prop_map(Step::Call),
        2 => (0..6u8, any::<bool>()).prop_map(|(id, on)| Step::Subscribe(id, on)),
        1 => (0..6u8).prop_map(Step::Cancel),
        1 => Just(Step::Ask),
        1 => (0..8u8).prop_map(Step::Answered),
        1 => (0..8u8).prop_map(Step::Abandon),
        2 => any::<(usize, bool)>().prop_map(|(index, good)| Step::Reply(index, good)),
    ];
    prop::collection::vec(step, 0..60)
}

proptest! {
    /// Against a model: the host's ids that are in use, what it has subscribed to, and what it was asked. A
    /// subscription of request `id` is for the resource `id % 3`.
    #[test]
    fn each_request_is_answered_once_unless_it_was_cancelled(steps in steps()) {
        const MAX: usize = 4;
        let mut session = ready(MAX);
        let mut in_use = HashMap::<RequestId, RequestKey>::new();
        let mut open_requests = Vec::<RequestKey>::new();
        let mut wishes = HashMap::<u64, (String, bool)>::new();
        let mut subscribed = HashSet::<String>::new();
        let (mut asked, mut unanswered) = (Vec::<(CallId, RequestId)>::new(), Vec::<CallId>::new());
        for step in steps {
            match step {
                Step::Call(_) | Step::Subscribe(..) => {
                    let (id, wish) = match step {
                        Step::Subscribe(id, on) => (id, Some(((id % 3).to_string(), on))),
                        Step::Call(id) => (id, None),
                        _ => unreachable!(),
                    };
                    let id = RequestId::from(i64::from(id));
                    let request = match &wish {
                        Some((uri, on)) => subscribe(id.clone(), uri, *on),
                        None => call(id.clone()),
                    };
                    match session.receive(request) {
                        Inbound::Call(incoming) => {
                            if let Some(wish) = wish {
                                wishes.insert(incoming.key.number, wish);
                            }
                            prop_assert_eq!(&incoming.key.id, &id);
                            prop_assert!(in_use.len() < MAX);
                            prop_assert!(in_use.insert(id, incoming.key.clone()).is_none());
                            open_requests.push(incoming.key);
                        }
                        Inbound::Reply(Message::Response(response)) => {
                            let expected =
                                if in_use.contains_key(&id) { code::INVALID_REQUEST } else { code::INTERNAL_ERROR };
                            prop_assert!(in_use.contains_key(&id) || in_use.len() == MAX);
                            prop_assert_eq!(response.outcome.unwrap_err().code, expected);
                        }
                        other => prop_assert!(false, "{:?}", other),
                    }
                }
                Step::Cancel(id) => {
                    let id = RequestId::from(i64::from(id));
                    match (session.receive(cancel(&id)), in_use.remove(&id)) {
                        (Inbound::Cancel(told), Some(known)) => prop_assert_eq!(told, known),
                        (Inbound::Ignored(_), None) => {}
                        other => prop_assert!(false, "{:?}", other),
                    }
                }
                Step::Reply(index, good) if !open_requests.is_empty() => {
                    let key = open_requests[index % open_requests.len()].clone();
                    let open = in_use.get(&key.id) == Some(&key);
                    prop_assert_eq!(session.is_pending(&key), open);
                    let result = ServerResult::from(CallToolResult::text("x"));
                    let outcome = if good { Ok(result) } else { Err(ErrorObject::internal("no")) };
                    prop_assert_eq!(session.reply(&key, outcome).is_some(), open);
                    if open {
                        in_use.remove(&key.id);
                        match wishes.get(&key.number) {
                            Some((uri, true)) if good => drop(subscribed.insert(uri.clone())),
                            Some((uri, false)) if good => drop(subscribed.remove(uri)),
                            _ => {}
                        }
                    }
                }
                Step::Reply(..) => {}
                // Our own ids are another space: what happens there touches nothing of the host's.
                Step::Ask => {
                    let (call, message) = session.call("ping", Params::Absent);
                    let Message::Request(request) = message else { panic!() };
                    asked.push((call, request.id));
                    unanswered.push(call);
                }
                Step::Answered(index) => {
                    let (call, id) = match asked.get(usize::from(index)) {
                        Some((call, id)) => (Some(*call), id.clone()),
                        None => (None, RequestId::from(1000)),
                    };
                    let open = call.filter(|call| unanswered.contains(call));
                    match session.receive(Message::result(id, JsonBuf::empty_object())) {
                        Inbound::Answer { call, .. } => prop_assert_eq!(Some(call), open),
                        Inbound::Ignored(_) => prop_assert_eq!(None, open),
                        other => prop_assert!(false, "{:?}", other),
                    }
                    unanswered.retain(|other| Some(*other) != open);
                }
                Step::Abandon(index) => {
                    if let Some((call, _)) = asked.get(usize::from(index)) {
                        prop_assert_eq!(session.abandon(*call).is_some(), unanswered.contains(call));
                        unanswered.retain(|other| other != call);
                    }
                }
            }
            prop_assert_eq!(session.pending(), in_use.len());
            prop_assert_eq!(session.open_requests().count(), in_use.len());
            for uri in ["0", "1", "2"] {
                prop_assert_eq!(session.subscriptions().contains(uri), subscribed.contains(uri), "{}", uri);
            }
        }
    }
}

#[test]
fn another_process_continues_a_session() {
    let capabilities = || ServerCapabilities::default().with_tools().with_resources().with_logging();
    let mut first = session(capabilities(), 4);
    assert!(first.take_changed() && !first.take_changed(), "the handshake");
    first.receive(call(1));
    assert!(!first.take_changed());
    let set = JsonObject::new().with("level", RawJson::text("error"));
    first.receive(Message::request(2, "logging/setLevel", set.into()));
    assert!(first.take_changed());
    let Inbound::Call(begun) = first.receive(subscribe(RequestId::from(3_u64), "file:///a", true)) else { panic!() };
    assert!(first.state(None).unwrap().subscriptions.is_empty(), "the service has not answered");
    first.reply(&begun.key, Ok(ServerResult::Empty)).unwrap();
    assert!(first.take_changed());
    let state = first.state(Some(RawJson::text("s"))).unwrap();
    assert_eq!((state.level, state.selection.as_ref()), (Level::Error, Some(&RawJson::text("s"))));
    assert_eq!(state.subscriptions, ["file:///a"]);

    let info = || Arc::new(ServerInfo::new("test", "1").with_capabilities(capabilities()));
    let next = |holder| Session::server(info(), 4).restored(&RestoredSession { state: state.clone(), holder });
    let mut second = next(2);
    assert!(second.is_ready() && second.level() == Level::Error && second.client() == first.client());
    assert!(matches!(second.receive(call(1)), Inbound::Call(_)), "requests of the first holder are not open");
    let mut ids = HashSet::new();
    for mut session in [first, second, next(3)] {
        for _ in 0..2 {
            let (_, Message::Request(request)) = session.call("ping", Params::Absent) else { panic!() };
            assert!(ids.insert(request.id), "an earlier holder has used the id");
        }
    }
}
