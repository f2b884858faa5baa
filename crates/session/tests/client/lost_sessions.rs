//! Sessions that the server has lost, and the calls in them.

use std::time::Duration;

use protomcp_session::{AnswerFacts, Channel, HttpStatus, NoAnswer, Pings, TaskWish};
use protomcp_types::JsonBuf;

use super::wire::{INITIALIZED, Wire};

/// The answer to the handshake with this id.
fn opened(id: u64) -> String {
    INITIALIZED.replace(r#""id":1"#, &format!(r#""id":{id}"#))
}

#[test]
fn a_late_loss_of_the_session_before_opens_no_other() {
    let mut wire = Wire::stateful(|config| config.channel = Channel::Exchanges);
    for name in ["a", "b", "c"] {
        wire.call(name);
    }
    wire.lost(2, NoAnswer::SessionLost);
    wire.server(&opened(5));
    wire.sent();
    wire.lost(3, NoAnswer::SessionLost);
    assert_eq!(wire.sent(), [r#"{"id":7,"method":"tools/call","params":{"name":"b"}}"#]);
    wire.lost(7, NoAnswer::SessionLost);
    assert!(wire.sent()[0].contains("initialize"), "the new session is lost as well");
    wire.lost(4, NoAnswer::SessionLost);
    wire.server(&opened(8));
    assert_eq!(wire.sent()[2..].len(), 2);
    assert_eq!(wire.events(), ["opened 2025-11-25", "opened 2025-11-25"]);
}

#[test]
fn a_guessed_loss_repeats_a_request_once() {
    let guess = AnswerFacts { no_answer: Some(NoAnswer::SessionLost), status: Some(HttpStatus(400)) };
    let bad = |id: u64| format!(r#""id":{id},"error":{{"code":-32603,"message":"bad"}}"#);
    let mut wire = Wire::stateful(|config| config.channel = Channel::Exchanges);
    wire.call("a");
    wire.sent();
    wire.server_with(&bad(2), guess);
    assert!(wire.sent()[0].contains("initialize"));
    wire.server(&opened(3));
    assert_eq!(wire.sent().last().unwrap(), r#"{"id":4,"method":"tools/call","params":{"name":"a"}}"#);
    assert_eq!(wire.events(), ["opened 2025-11-25"]);
    wire.server_with(&bad(4), guess);
    assert_eq!(wire.events(), ["call 1 failed: bad"]);
    assert!(wire.sent().is_empty(), "the new session stays");

    // The same for a request about a task.
    let mut wire = Wire::stateful(|config| config.channel = Channel::Exchanges);
    wire.call_with("a", |call| call.task = Some(TaskWish::default()));
    wire.server(r#""id":2,"result":{"task":{"taskId":"t","status":"working"}}"#);
    wire.wait(1);
    wire.server_with(&bad(3), guess);
    wire.server(&opened(4));
    wire.events();
    wire.wait(5);
    wire.server_with(&bad(5), guess);
    assert_eq!(wire.events(), ["call 1 failed: bad"]);
}

#[test]
fn questions_of_a_lost_session_are_withdrawn() {
    let mut wire = Wire::stateful(|config| config.channel = Channel::Exchanges);
    wire.call("a");
    wire.server(r#""id":1,"method":"roots/list""#);
    wire.lost(2, NoAnswer::SessionLost);
    assert_eq!(wire.events(), ["asked roots/list", "withdrawn 1"]);
    wire.server(&opened(3));
    wire.sent();
    wire.server(r#""id":1,"method":"roots/list""#);
    assert_eq!(wire.events(), ["opened 2025-11-25", "asked roots/list"], "the id is free");
    let (old, new) = (wire.asked[0].clone(), wire.asked[1].clone());
    wire.connection.reply(&old, Ok(JsonBuf::empty_object()));
    assert!(wire.sent().is_empty(), "the new session has asked nothing that this answers");
    wire.connection.reply(&new, Ok(JsonBuf::empty_object()));
    assert_eq!(wire.sent(), [r#"{"id":1,"result":{}}"#]);
}

#[test]
fn the_loss_of_an_idle_session_is_noticed() {
    let pings = Pings { every: Duration::from_secs(10), misses: 2 };
    let mut wire = Wire::stateful(|config| {
        config.channel = Channel::Exchanges;
        config.limits.keep_alive = Some(pings);
    });
    wire.wait(10);
    assert_eq!(wire.sent(), [r#"{"id":2,"method":"ping"}"#]);
    wire.lost(2, NoAnswer::SessionLost);
    assert!(wire.sent()[0].contains("initialize"));
    wire.server(&opened(3));
    assert_eq!(wire.events(), ["opened 2025-11-25"]);
    wire.sent();
    // The stream of the session is gone, as the transport has found out: a ping shows the reason.
    let lost = r#""error":{"code":-32603,"message":"gone"}"#;
    let facts = AnswerFacts { no_answer: Some(NoAnswer::SessionLost), status: None };
    wire.call("a");
    wire.sent();
    wire.server_with(lost, facts);
    assert_eq!(wire.sent(), [r#"{"id":5,"method":"ping"}"#]);
    wire.lost(5, NoAnswer::SessionLost);
    wire.server_with(lost, facts);
    assert_eq!(wire.sent().len(), 1, "one handshake");
    wire.server(&opened(6));
    assert_eq!(wire.events(), ["opened 2025-11-25"]);
    let mut wire = Wire::stateless(|_| {});
    wire.call("a");
    wire.sent();
    wire.server_with(lost, facts);
    assert_eq!((wire.sent().len(), wire.connection.pending()), (0, 1), "there is no session to lose");
}

#[test]
fn opening_a_lost_session_again_is_tried_until_its_time_is_over() {
    for why in [NoAnswer::NotSent, NoAnswer::Connection, NoAnswer::Incomplete, NoAnswer::Status(502)] {
        let mut wire = Wire::stateful(|config| config.channel = Channel::Exchanges);
        wire.call("a");
        wire.lost(2, NoAnswer::SessionLost);
        wire.sent();
        wire.lost(3, why);
        assert_eq!((wire.sent(), wire.events()), (vec![], vec![]), "{why:?}");
        wire.wait(1);
        assert!(wire.sent()[0].contains(r#"{"id":4,"method":"initialize""#));
        wire.lost(4, why);
        wire.wait(2);
        wire.server(&opened(5));
        assert!(wire.sent().last().unwrap().contains(r#"{"id":6,"method":"tools/call""#));
        assert_eq!(wire.events(), ["opened 2025-11-25"]);
        // A server that stays away.
        wire.lost(6, NoAnswer::SessionLost);
        let mut id = 7;
        let begin = wire.now;
        while wire.connection.closed().is_none() {
            wire.lost(id, why);
            id += 1;
            wire.wait(1);
        }
        assert!(wire.now - begin <= Duration::from_secs(31) && id > 9, "{id}");
    }
    let mut wire = Wire::stateful(|config| config.channel = Channel::Exchanges);
    wire.call("a");
    wire.lost(2, NoAnswer::SessionLost);
    wire.server(r#""id":3,"error":{"code":-32603,"message":"no"}"#);
    assert_eq!(wire.events()[1], "closed: the server refused the connection: no (-32603)");
}
