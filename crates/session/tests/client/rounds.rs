//! Kinds of results, and rounds of questions.

use std::collections::BTreeMap;

use protomcp_types::{ErrorObject, RawJson};

use super::wire::Wire;

#[test]
fn the_type_of_a_stateless_result_counts() {
    for (result, outcome) in [
        ("{}", "call 1 after 0: {}"),
        (r#"{"resultType":"complete","a":1}"#, r#"call 1 after 0: {"resultType":"complete","a":1}"#),
        (
            r#"{"resultType":"later"}"#,
            "call 1 failed: the answer of the server is invalid: the result is of an unknown type",
        ),
        (r#"{"resultType":5}"#, "call 1 failed: the answer of the server is invalid: the result is of an unknown type"),
        ("[]", "call 1 failed: the answer of the server is invalid: the result is not an object"),
        (
            r#"{"resultType":"input_required"}"#,
            "call 1 failed: the answer of the server is invalid: an input request without questions and state",
        ),
        (
            r#"{"resultType":"input_required","requestState":5}"#,
            "call 1 failed: the answer of the server is invalid: requestState is not a string",
        ),
        (
            r#"{"resultType":"input_required","inputRequests":{"a":{}}}"#,
            "call 1 failed: the answer of the server is invalid: inputRequests cannot be read",
        ),
    ] {
        let mut wire = Wire::stateless(|_| {});
        wire.call("a");
        wire.server(&format!(r#""id":2,"result":{result}"#));
        assert_eq!(wire.events(), [outcome]);
    }
}

#[test]
fn a_round_brings_answers_and_the_exact_state() {
    let mut wire = Wire::stateless(|_| {});
    let call = wire.call_with("a", |call| call.fields = vec![("Mcp-Param-A".into(), "b".into())]);
    assert_eq!(wire.sent(), [r#"[("Mcp-Param-A", "b")] {"id":2,"method":"tools/call","params":{"name":"a",…}}"#]);
    wire.server(r#""id":2,"result":{"resultType":"input_required","requestState":"\u0041\/b","inputRequests":{"who":{"method":"elicitation/create","params":{"message":"?","requestedSchema":{}}},"where":{"method":"roots/list"}}}"#);
    assert_eq!(wire.events(), ["call 1 asks who,where"]);
    let answers = |text: &'static str| BTreeMap::from([("who".to_owned(), RawJson::parse(text).unwrap())]);
    wire.connection.answer_inputs(wire.now, call, Ok(answers(r#"{"action":"decline"}"#)));
    wire.connection.answer_inputs(wire.now, call, Ok(answers("{}")));
    assert_eq!(
        wire.sent(),
        [
            r#"[("Mcp-Param-A", "b")] {"id":3,"method":"tools/call","params":{"name":"a","inputResponses":{"who":{"action":"decline"}},"requestState":"\u0041\/b",…}}"#
        ]
    );
    // A server may ask for nothing but the same request again, and drop its state.
    wire.server(r#""id":3,"result":{"resultType":"input_required","requestState":"s"}"#);
    assert_eq!(wire.events(), ["call 1 asks "]);
    wire.connection.answer_inputs(wire.now, call, Ok(BTreeMap::new()));
    assert!(wire.sent()[0].contains(r#""params":{"name":"a","requestState":"s",…"#));
    wire.server(r#""id":4,"result":{"done":true}"#);
    assert_eq!(wire.events(), [r#"call 1 after 2: {"done":true}"#]);
}

#[test]
fn rounds_are_bounded_and_refusals_end_the_call() {
    let mut wire = Wire::stateless(|config| config.limits.max_rounds = 2);
    let call = wire.call("a");
    for id in 2..5 {
        wire.server(&format!(r#""id":{id},"result":{{"resultType":"input_required","requestState":"s"}}"#));
        wire.connection.answer_inputs(wire.now, call, Ok(BTreeMap::new()));
    }
    assert_eq!(wire.events().last().unwrap(), "call 1 failed: the server asked for input more than 2 times");

    let mut wire = Wire::stateless(|_| {});
    wire.call("a");
    wire.server(r#""id":2,"result":{"resultType":"input_required","inputRequests":{"m":{"method":"sampling/createMessage","params":{}}}}"#);
    assert!(wire.events()[0].starts_with("call 1 failed: the client gave no input: method not found"));
    let call = wire.call("a");
    wire.server(r#""id":3,"result":{"resultType":"input_required","inputRequests":{"r":{"method":"roots/list"}}}"#);
    wire.connection.answer_inputs(wire.now, call, Err(ErrorObject::internal("broken")));
    assert_eq!(wire.events(), ["call 2 asks r", "call 2 failed: the client gave no input: broken (-32603)"]);
}
