//! The opening of a connection.

use protomcp_session::{AnswerFacts, Channel, CloseReason, HttpStatus, Mode, NoAnswer};
use protomcp_types::ProtocolVersion;

use super::wire::{DISCOVER, DISCOVERED, INITIALIZE, INITIALIZED, Wire};

#[test]
fn a_stateless_server_is_discovered() {
    let mut wire = Wire::new(|_| {});
    assert_eq!(wire.sent(), [DISCOVER]);
    wire.server(DISCOVERED);
    assert_eq!(wire.events(), ["opened 2026-07-28"]);
    let server = wire.connection.server().unwrap();
    assert_eq!(server.implementation.as_ref().unwrap().name, "s");
    wire.call("a");
    assert_eq!(wire.sent(), [r#"{"id":2,"method":"tools/call","params":{"name":"a",…}}"#]);
}

#[test]
fn capabilities_that_are_null_are_none() {
    let mut wire = Wire::new(|_| {});
    wire.server(&DISCOVERED.replace(r#"{"tools":{}}"#, "null"));
    assert_eq!(wire.events(), ["opened 2026-07-28"]);
}

#[test]
fn the_era_follows_from_the_answer_to_discover() {
    let error = |code: i64, data: &str| format!(r#""id":1,"error":{{"code":{code},"message":"no"{data}}}"#);
    let supported = |list: &str| format!(r#","data":{{"supported":[{list}],"requested":"2026-07-28"}}"#);
    let http = |status| AnswerFacts { no_answer: None, status: Some(HttpStatus(status)) };
    let none = |why| AnswerFacts { no_answer: Some(why), status: None };
    let discover_again = r#"{"id":2,"method":"server/discover","params":{…}}"#;
    for (answer, facts, next) in [
        (error(-32601, ""), AnswerFacts::default(), INITIALIZE),
        (error(-32602, ""), http(400), INITIALIZE),
        (error(-32601, ""), http(200), INITIALIZE),
        (error(-32601, ""), http(404), "opened 2026-07-28"),
        (error(-32020, ""), http(400), "opened 2026-07-28"),
        (error(-32021, ""), http(400), "opened 2026-07-28"),
        (error(-32022, &supported(r#""2026-07-28""#)), http(400), discover_again),
        (error(-32022, &supported(r#""2025-11-25","1999-01-01""#)), http(400), INITIALIZE),
        (error(-32603, ""), none(NoAnswer::Status(400)), INITIALIZE),
        (error(-32603, ""), none(NoAnswer::Status(405)), INITIALIZE),
        (r#""id":1,"result":{"supportedVersions":["2025-11-25"],"capabilities":{}}"#.into(), http(200), INITIALIZE),
        (r#""id":1,"result":5"#.into(), http(200), INITIALIZE),
        (
            error(-32022, &supported(r#""1999-01-01""#)),
            http(400),
            "closed: the server speaks none of the allowed revisions, only 1999-01-01",
        ),
        (error(-32603, ""), none(NoAnswer::Status(503)), "closed: no"),
        (error(-32603, ""), none(NoAnswer::Unauthorized), "closed: the request is not authorized: no"),
    ] {
        let mut wire = Wire::new(|_| {});
        wire.sent();
        wire.server_with(&answer, facts);
        let done: Vec<_> = wire.sent().into_iter().chain(wire.events()).collect();
        assert_eq!(done, [next], "{answer} {facts:?}");
    }
}

#[test]
fn a_second_refusal_of_the_revision_is_final() {
    let mut wire = Wire::new(|config| config.mode = Mode::Stateless);
    for id in [1, 2] {
        wire.server(&format!(
            r#""id":{id},"error":{{"code":-32022,"message":"no","data":{{"supported":["2026-07-28"]}}}}"#
        ));
    }
    assert_eq!(wire.events(), ["closed: the server speaks none of the allowed revisions, only 2026-07-28"]);
    assert!(matches!(wire.connection.closed(), Some(CloseReason::NotOpened(_))));
}

#[test]
fn a_silent_server_gets_a_handshake_on_a_shared_stream_only() {
    let mut wire = Wire::new(|_| {});
    wire.sent();
    wire.wait(5);
    assert_eq!(wire.sent(), [INITIALIZE]);
    wire.server(DISCOVERED);
    assert_eq!(wire.events(), ["ignored: an answer to nothing that was asked"]);
    wire.wait(25);
    assert_eq!(wire.events(), ["closed: the server did not open the connection within 30s"]);

    let mut wire = Wire::new(|config| config.channel = Channel::Exchanges);
    wire.sent();
    wire.wait(5);
    assert_eq!((wire.sent(), wire.events()), (vec![], vec![]));
    wire.wait(25);
    assert_eq!(wire.sent(), ["end"]);
}

#[test]
fn a_slow_server_that_refuses_the_handshake_is_asked_again_once() {
    let refused =
        |id| format!(r#""id":{id},"error":{{"code":-32022,"message":"no","data":{{"supported":["2026-07-28"]}}}}"#);
    let asked_again = |answer: &str| {
        let mut wire = Wire::new(|_| {});
        wire.wait(5);
        wire.sent();
        wire.server(DISCOVERED);
        wire.events();
        wire.server(answer);
        wire
    };
    let mut wire = asked_again(&refused(2));
    assert_eq!(wire.sent(), [DISCOVER.replace(r#""id":1"#, r#""id":3"#)]);
    wire.server(&DISCOVERED.replace(r#""id":1"#, r#""id":3"#));
    assert_eq!(wire.events(), ["opened 2026-07-28"]);

    let mut wire = asked_again(&refused(2));
    wire.sent();
    wire.wait(5);
    assert_eq!((wire.sent(), wire.events()), (vec![], vec![]));
    wire.server(r#""id":3,"error":{"code":-32601,"message":"no"}"#);
    assert_eq!(wire.sent(), [INITIALIZE.replace(r#""id":2"#, r#""id":4"#)]);
    wire.server(&refused(4));
    assert_eq!(wire.events(), ["closed: the server refused the connection: no (-32022)"]);

    // Any other refusal is final.
    let mut wire = asked_again(r#""id":2,"error":{"code":-32603,"message":"no"}"#);
    assert_eq!(wire.events(), ["closed: the server refused the connection: no (-32603)"]);
}

#[test]
fn the_handshake_accepts_each_known_revision() {
    for version in ProtocolVersion::ALL {
        let mut wire = Wire::new(|config| config.mode = Mode::Stateful);
        assert_eq!(wire.sent(), [INITIALIZE.replace(r#""id":2"#, r#""id":1"#)]);
        wire.server(&INITIALIZED.replace("2025-11-25", version.as_str()));
        if version.is_stateful() {
            assert_eq!(wire.sent(), [format!("begin {version}"), r#"{"method":"notifications/initialized"}"#.into()]);
            assert_eq!(wire.events(), [format!("opened {version}")]);
        } else {
            let why = format!("closed: the server speaks none of the allowed revisions, only {version}");
            assert_eq!(wire.events(), [why]);
        }
    }
}

#[test]
fn a_refused_revision_is_replaced_by_an_offered_one_once() {
    let mut wire = Wire::new(|config| config.mode = Mode::Stateful);
    wire.sent();
    let refusal = |id| {
        format!(
            r#""id":{id},"error":{{"code":-32602,"message":"no","data":{{"supported":["2024-11-05","2025-03-26"]}}}}"#
        )
    };
    wire.server(&refusal(1));
    assert!(wire.sent()[0].contains(r#""protocolVersion":"2025-03-26""#));
    wire.server(&refusal(2));
    assert_eq!(wire.events(), ["closed: the server refused the connection: no (-32602)"]);
}

#[test]
fn a_refused_handshake_may_be_followed_by_discovery() {
    let refusal = |code: i64| format!(r#""id":1,"error":{{"code":{code},"message":"no"}}"#);
    let none = |why| AnswerFacts { no_answer: Some(why), status: None };
    let discover = DISCOVER.replace(r#""id":1"#, r#""id":2"#);
    for (answer, facts, next) in [
        (refusal(-32601), AnswerFacts::default(), discover.as_str()),
        (refusal(-32022), AnswerFacts::default(), &discover),
        (refusal(-32603), none(NoAnswer::Status(400)), &discover),
        (refusal(-32603), none(NoAnswer::Status(503)), "closed: no"),
        (refusal(-32603), none(NoAnswer::Unauthorized), "closed: the request is not authorized: no"),
    ] {
        let mut wire = Wire::new(|config| config.mode = Mode::StatefulFirst);
        assert_eq!(wire.sent(), [INITIALIZE.replace(r#""id":2"#, r#""id":1"#)]);
        wire.server_with(&answer, facts);
        let done: Vec<_> = wire.sent().into_iter().chain(wire.events()).collect();
        assert_eq!(done, [next], "{answer} {facts:?}");
    }

    let mut wire = Wire::new(|config| config.mode = Mode::StatefulFirst);
    wire.server(INITIALIZED);
    assert_eq!(wire.events(), ["opened 2025-11-25"]);

    // Some servers answer the handshake with the revision that has none.
    let mut wire = Wire::new(|config| config.mode = Mode::StatefulFirst);
    wire.server(&INITIALIZED.replace("2025-11-25", "2026-07-28"));
    wire.sent();
    wire.server(&DISCOVERED.replace(r#""id":1"#, r#""id":2"#));
    assert_eq!(wire.events(), ["opened 2026-07-28"]);

    // The refusal of both is final.
    for (answer, end) in [
        (DISCOVERED.replace(r#""id":1"#, r#""id":2"#), "opened 2026-07-28"),
        (refusal(-32601).replace(r#""id":1"#, r#""id":2"#), "closed: the server refused the connection: no (-32601)"),
    ] {
        let mut wire = Wire::new(|config| config.mode = Mode::StatefulFirst);
        wire.server(&refusal(-32601));
        wire.sent();
        wire.server(&answer);
        assert_eq!(wire.events(), [end]);
    }
}
