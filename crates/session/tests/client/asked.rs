//! Requests and notifications between the two sides.

use protomcp_session::Channel;
use protomcp_types::{ClientCapabilities, JsonBuf, Params};

use super::wire::Wire;

#[test]
fn the_server_asks_only_for_declared_capabilities() {
    let mut wire = Wire::stateful(|config| config.limits.max_incoming = 2);
    for (method, params, outcome) in [
        ("ping", "{}", &[r#"{"id":7,"result":{}}"#][..]),
        ("roots/list", "{}", &["asked roots/list"]),
        ("elicitation/create", r#"{"message":"m","requestedSchema":{}}"#, &["asked elicitation/create"]),
        (
            "elicitation/create",
            r#"{"mode":"url","message":"m"}"#,
            &[
                r#"{"id":7,"error":{"code":-32602,"message":"invalid params: the client does not support this kind of elicitation"}}"#,
                "refused elicitation/create",
            ],
        ),
        (
            "sampling/createMessage",
            "{}",
            &[
                r#"{"id":7,"error":{"code":-32601,"message":"method not found: \"sampling/createMessage\""}}"#,
                "refused sampling/createMessage",
            ],
        ),
        ("x/y", "{}", &[r#"{"id":7,"error":{"code":-32601,"message":"method not found: \"x/y\""}}"#, "refused x/y"]),
    ] {
        wire.server(&format!(r#""id":7,"method":"{method}","params":{params}"#));
        let done: Vec<_> = wire.sent().into_iter().chain(wire.events()).collect();
        assert_eq!(done, outcome);
        for key in wire.asked.drain(..) {
            wire.connection.reply(&key, Ok(JsonBuf::empty_object()));
            wire.connection.reply(&key, Ok(JsonBuf::empty_object()));
        }
        if outcome[0].starts_with("asked") {
            assert_eq!(wire.sent(), [r#"{"id":7,"result":{}}"#], "answered once");
        }
    }
    for id in [1, 2, 2, 3] {
        wire.server(&format!(r#""id":{id},"method":"roots/list""#));
    }
    let refused = wire.sent();
    assert!(refused[0].contains(r#""id":2,"error":{"code":-32600"#), "{refused:?}");
    assert!(refused[1].contains(r#""id":3,"error":{"code":-32603"#), "{refused:?}");
    wire.server(r#""method":"notifications/cancelled","params":{"requestId":1}"#);
    assert_eq!(wire.events(), ["asked roots/list", "asked roots/list", "withdrawn 1"]);
    let withdrawn = wire.asked[0].clone();
    wire.connection.reply(&withdrawn, Ok(JsonBuf::empty_object()));
    assert!(wire.sent().is_empty(), "a cancelled request is not answered");
}

#[test]
fn the_bytes_of_requests_are_bounded() {
    let mut wire = Wire::stateful(|config| config.limits.max_incoming_bytes = 50);
    let ask = |wire: &mut Wire, id: u64| {
        let form = format!(r#"{{"message":"{}"}}"#, "x".repeat(20));
        wire.server(&format!(r#""id":{id},"method":"elicitation/create","params":{form}"#));
        wire.events().len()
    };
    assert_eq!((ask(&mut wire, 1), ask(&mut wire, 2)), (1, 0));
    assert!(wire.sent()[0].contains(r#""id":2,"error":{"code":-32603"#));
    let key = wire.asked.remove(0);
    wire.connection.reply(&key, Ok(JsonBuf::empty_object()));
    assert_eq!(ask(&mut wire, 3), 1, "the room is free again");
}

#[test]
fn a_stateless_server_never_asks_by_request() {
    let mut wire = Wire::stateless(|_| {});
    wire.server(r#""id":7,"method":"roots/list""#);
    assert!(wire.sent()[0].contains("-32601"));
    let mut wire = Wire::stateless(|config| config.channel = Channel::Exchanges);
    wire.server(r#""id":7,"method":"roots/list""#);
    assert_eq!((wire.sent(), wire.events()), (vec![], vec!["ignored: a request of a stateless server".to_owned()]));
}

#[test]
fn notifications_of_the_client_need_a_session() {
    let mut wire = Wire::stateful(|_| {});
    wire.connection.notify("notifications/roots/list_changed", Params::Absent);
    assert_eq!(wire.sent(), [r#"{"method":"notifications/roots/list_changed"}"#]);
    let mut wire = Wire::stateless(|_| {});
    wire.connection.notify("notifications/roots/list_changed", Params::Absent);
    assert!(wire.sent().is_empty());
}

#[test]
fn a_change_of_roots_is_announced_only_where_roots_are_declared() {
    let mut wire = Wire::stateful(|config| config.capabilities = ClientCapabilities::new());
    wire.connection.notify("notifications/roots/list_changed", Params::Absent);
    assert!(wire.sent().is_empty());
    wire.connection.notify("notifications/x", Params::Absent);
    assert_eq!(wire.sent(), [r#"{"method":"notifications/x"}"#]);
}
