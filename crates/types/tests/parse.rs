//! Text in, messages out: what is taken, what is refused and with which answer, and that nothing changes on the way.

use bytes::Bytes;
use proptest::prelude::*;
use protomcp_types::{Incoming, MAX_BATCH, MAX_MEMBERS, Malformed, Message, Params, RawJson, code};

fn parse(text: impl Into<Bytes>) -> Result<Incoming, Malformed> {
    Incoming::parse(&text.into())
}

fn message(text: &str) -> Message {
    match parse(text.to_owned()) {
        Ok(Incoming::One(message)) => message,
        other => panic!("{text} is not a message: {other:?}"),
    }
}

/// The code and the id of the answer to a bad text.
#[track_caller]
fn check_refused(text: impl Into<Bytes>, code: i64, id: &str) {
    let text = text.into();
    let shown = String::from_utf8_lossy(&text[..text.len().min(80)]).into_owned();
    let malformed = Incoming::parse(&text).expect_err(&shown);
    assert_eq!(malformed.error.code, code, "{shown}: {malformed}");
    let answer = Message::from(malformed).to_text();
    assert!(answer.starts_with(&format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"#)), "{shown}: {answer}");
}

#[test]
fn what_is_not_json_is_a_parse_error_without_id() {
    for text in [
        &b"garbage"[..],
        b"{",
        b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"",
        b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"} x",
        b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"pi\xff\"}",
        b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"x\":\"\xc3\x28\"}",
        b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"params\":{\"a\":{\"b\":\"\xed\xa0\x80\"}}}",
        b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"params\":[\"\xff\"]}",
        b"\x00\x01\x02\x03",
        b"\xef\xbb\xbf{}",
        b"{'jsonrpc':'2.0'}",
        b"{\"jsonrpc\":\"2.0\",}",
        b"[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"},",
        b"\"line\nbreak\"",
        b"",
    ] {
        check_refused(text, code::PARSE_ERROR, "null");
    }
}

#[test]
fn json_that_is_not_a_message_is_an_invalid_request() {
    for (text, id) in [
        ("{}", "null"),
        ("null", "null"),
        ("42", "null"),
        ("true", "null"),
        ("-1.5e3", "null"),
        (r#""x""#, "null"),
        ("[]", "null"),
        (r#"{"id":1,"method":"ping"}"#, "1"),
        (r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#, "1"),
        (r#"{"jsonrpc":2.0,"id":"a","method":"ping"}"#, r#""a""#),
        (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, "null"),
        (r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, "null"),
        (r#"{"jsonrpc":"2.0","id":true,"method":"ping"}"#, "null"),
        (r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#, "null"),
        (r#"{"jsonrpc":"2.0","id":123456789012345678901234567890,"method":"ping"}"#, "null"),
        (r#"{"jsonrpc":"2.0","id":7}"#, "7"),
        (r#"{"jsonrpc":"2.0","id":7,"method":5}"#, "7"),
        (r#"{"jsonrpc":"2.0","id":7,"method":null}"#, "7"),
        (r#"{"jsonrpc":"2.0","method":{}}"#, "null"),
        (r#"{"jsonrpc":"2.0","id":7,"method":"m","params":5}"#, "7"),
        (r#"{"jsonrpc":"2.0","id":7,"method":"m","params":"x"}"#, "7"),
        (r#"{"jsonrpc":"2.0","id":7,"method":"m","result":{}}"#, "7"),
        (r#"{"jsonrpc":"2.0","id":7,"method":"m","error":{"code":1,"message":""}}"#, "7"),
        (r#"{"jsonrpc":"2.0","id":7,"method":"notifications/initialized"}"#, "7"),
    ] {
        check_refused(text.to_owned(), code::INVALID_REQUEST, id);
    }
}

#[test]
fn a_bad_response_is_answered_without_the_id_of_our_own_request() {
    for text in [
        r#"{"jsonrpc":"2.0","id":7,"result":{},"error":{"code":1,"message":""}}"#,
        r#"{"jsonrpc":"2.0","result":{}}"#,
        r#"{"jsonrpc":"2.0","id":null,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":7,"error":"no"}"#,
        r#"{"jsonrpc":"2.0","id":7,"error":{"code":"x","message":""}}"#,
        r#"{"jsonrpc":"2.0","id":[],"error":{"code":1,"message":""}}"#,
    ] {
        check_refused(text.to_owned(), code::INVALID_REQUEST, "null");
    }
    for text in [
        r#"{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":""}}"#,
        r#"{"jsonrpc":"2.0","error":{"code":1,"message":""}}"#,
    ] {
        let Message::Response(response) = message(text) else { panic!("{text}") };
        assert_eq!(response.id, None);
    }
}

#[test]
fn members_that_are_null_count_as_absent() {
    for (with_nulls, without) in [
        (r#""id":7,"result":{},"error":null"#, r#""id":7,"result":{}"#),
        (r#""error":null,"id":7,"result":null,"method":null,"params":null"#, r#""id":7,"result":null"#),
        (r#""id":7,"error":{"code":1,"message":""},"result":null"#, r#""id":7,"error":{"code":1,"message":""}"#),
        (r#""id":7,"method":null,"result":{}"#, r#""id":7,"result":{}"#),
        (r#""method":null,"error":{"code":1,"message":""}"#, r#""error":{"code":1,"message":""}"#),
        (r#""id":7,"method":"ping","params":null,"result":null,"error":null"#, r#""id":7,"method":"ping""#),
        (r#""method":"notifications/initialized","error":null"#, r#""method":"notifications/initialized""#),
    ] {
        let read = |members: &str| message(&format!(r#"{{"jsonrpc":"2.0",{members}}}"#));
        assert_eq!(read(with_nulls), read(without), "{with_nulls}");
    }
    for text in [
        r#"{"jsonrpc":"2.0","id":7,"error":null}"#,
        r#"{"jsonrpc":"2.0","id":7,"method":null,"error":null}"#,
        r#"{"jsonrpc":"2.0","id":7,"method":"ping","result":{},"error":null}"#,
    ] {
        assert!(parse(text.to_owned()).is_err(), "{text}");
    }
}

#[test]
fn nesting_is_limited_and_costs_no_stack() {
    let nested = |depth: usize| {
        let (open, close) = ("[".repeat(depth), "]".repeat(depth));
        format!(r#"{{"jsonrpc":"2.0","id":7,"method":"m","params":{{"a":{open}{close}}}}}"#)
    };
    // The message and its params count as well.
    assert!(parse(nested(126)).is_ok());
    check_refused(nested(127), code::INVALID_REQUEST, "7");
    check_refused(nested(100_000), code::INVALID_REQUEST, "7");
    check_refused(format!("{}{}", "[".repeat(100_000), "]".repeat(100_000)), code::INVALID_REQUEST, "null");
    check_refused(format!("{}1{}", "{\"a\":".repeat(100_000), "}".repeat(100_000)), code::INVALID_REQUEST, "null");
    check_refused("[".repeat(100_000), code::PARSE_ERROR, "null");
    // Many brackets are fine as long as they are side by side, or inside strings.
    assert!(
        parse(format!(r#"{{"jsonrpc":"2.0","id":7,"method":"m","params":{{"a":[[]{}]}}}}"#, ",{}".repeat(1000)))
            .is_ok()
    );
    assert!(
        parse(format!(r#"{{"jsonrpc":"2.0","id":7,"method":"m","params":{{"a":"{}"}}}}"#, "[".repeat(1000))).is_ok()
    );
}

#[test]
fn params_are_limited_in_number() {
    let params = |count: usize| {
        let members: Vec<_> = (0..count).map(|index| format!("\"{index}\":0")).collect();
        format!(r#"{{"jsonrpc":"2.0","id":7,"method":"m","params":{{{}}}}}"#, members.join(","))
    };
    assert!(parse(params(MAX_MEMBERS)).is_ok());
    check_refused(params(MAX_MEMBERS + 1), code::INVALID_REQUEST, "7");
    let list = vec!["0"; MAX_MEMBERS + 1].join(",");
    check_refused(format!(r#"{{"jsonrpc":"2.0","params":[{list}],"id":7,"method":"m"}}"#), code::INVALID_REQUEST, "7");
}

#[test]
fn members_come_in_any_order_and_the_last_of_duplicates_counts() {
    for text in [
        r#"{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":2}}"#,
        r#" {"params" : {"a":2} , "method":"m","id":1,"x":[{}],"jsonrpc":"2.0"} "#,
        r#"{"jsonrpc":"2.0","id":0,"method":"n","id":1,"method":"m","params":{"a":1,"a":2}}"#,
        r#"{"json\u0072pc":"2.\u0030","id":1,"method":"\u006d","params":{"\u0061":2}}"#,
    ] {
        assert_eq!(message(text).to_text(), r#"{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":2}}"#, "{text}");
    }
}

#[test]
fn a_method_without_id_is_a_notification_whatever_it_says() {
    for text in [
        r#"{"jsonrpc":"2.0","method":"ping"}"#,
        r#"{"jsonrpc":"2.0","method":"initialize","params":{}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":5}"#,
        r#"{"jsonrpc":"2.0","method":"x","params":[1, 2]}"#,
    ] {
        assert!(matches!(message(text), Message::Notification(_)), "{text}");
    }
}

#[test]
fn absent_named_and_positional_params_are_told_apart() {
    let params = |text: &str| match message(&format!(r#"{{"jsonrpc":"2.0","id":1,"method":"m"{text}}}"#)) {
        Message::Request(request) => request.params,
        other => panic!("{other:?}"),
    };
    assert_eq!(params(""), Params::Absent);
    assert_eq!(params(r#","params":null"#), Params::Absent);
    assert!(matches!(params(r#","params":{}"#), Params::Named(members) if members.is_empty()));
    assert_eq!(
        params(r#","params":[1 , {"a": "\n"}]"#),
        Params::Positional(RawJson::parse(r#"[1,{"a": "\n"}]"#).unwrap())
    );
}

#[test]
fn arguments_share_the_line_they_came_in() {
    let line = Bytes::from_static(
        br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":{ "z":9007199254740993,"a":"\u00e9" }}}"#,
    );
    let Ok(Incoming::One(Message::Request(request))) = Incoming::parse(&line) else { panic!() };
    let arguments = request.params.member("arguments").unwrap();
    assert_eq!(arguments.as_str(), r#"{ "z":9007199254740993,"a":"\u00e9" }"#);
    assert!(line.as_ptr_range().contains(&arguments.as_bytes().as_ptr()));
}

#[test]
fn a_batch_holds_messages_and_what_is_wrong_with_others() {
    let text = r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}, 5, [], {"jsonrpc":"2.0","id":2}]"#;
    let Ok(Incoming::Batch(batch)) = parse(text) else { panic!() };
    let answers: Vec<_> = batch.into_iter().map(|message| message.map_err(|bad| bad.id)).collect();
    assert_eq!(answers.len(), 4);
    assert!(matches!(&answers[0], Ok(Message::Request(request)) if request.method == "ping"));
    assert_eq!(answers[1..], [Err(None), Err(None), Err(Some(2.into()))]);

    let long = |count: usize| format!("[{}]", vec!["{}"; count].join(","));
    assert!(matches!(parse(long(MAX_BATCH)), Ok(Incoming::Batch(batch)) if batch.len() == MAX_BATCH));
    check_refused(long(MAX_BATCH + 1), code::INVALID_REQUEST, "null");
}

fn json() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
        any::<i64>().prop_map(Into::into),
        any::<u64>().prop_map(Into::into),
        any::<f64>().prop_map(Into::into),
        any::<String>().prop_map(Into::into),
    ];
    leaf.prop_recursive(4, 32, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Into::into),
            prop::collection::hash_map(any::<String>(), inner, 0..6)
                .prop_map(|map| serde_json::Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn what_was_written_is_read_back(
        id in prop_oneof![any::<i64>().prop_map(protomcp_types::RequestId::from), any::<String>().prop_map(Into::into)],
        method in "[a-z]{1,8}(/[a-z\"\\\\]{0,8})?",
        params in prop::collection::hash_map(any::<String>(), json(), 0..6),
        kind in 0..4,
    ) {
        let params = Params::of(&params).unwrap();
        let sent = match kind {
            0 => Message::request(id, method, params),
            1 => Message::notification(method, params),
            2 => Message::result(id, match params { Params::Named(members) => members.to_body(), _ => unreachable!() }),
            _ => Message::error(Some(id), protomcp_types::ErrorObject::internal(method).with_data(RawJson::EMPTY_ARRAY)),
        };
        let text = sent.to_text();
        prop_assert!(!text.contains('\n'));
        prop_assert_eq!(message(&text), sent);
    }

    #[test]
    fn no_text_causes_a_panic(text in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = parse(text);
    }

    #[test]
    fn no_near_message_causes_a_panic(
        parts in prop::collection::vec(
            prop::sample::select(vec![
                "{", "}", "[", "]", ",", ":", "\"jsonrpc\"", "\"2.0\"", "\"id\"", "1", "null", "\"method\"", "\"ping\"",
                "\"params\"", "\"result\"", "\"error\"", "{\"jsonrpc\":\"2.0\",\"id\":1,", "\"method\":\"m\"}", " ",
            ]),
            0..12,
        )
    ) {
        let _ = parse(parts.concat());
    }

    #[test]
    fn depth_is_limited_exactly(value in json(), wraps in 110usize..130) {
        let text = format!("{}{value}{}", "[".repeat(wraps), "]".repeat(wraps));
        let line = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"m","params":{{"a":{text}}}}}"#);
        prop_assert_eq!(parse(line).is_ok(), 2 + wraps + depth(&value) <= protomcp_types::MAX_DEPTH);
    }
}

fn depth(value: &serde_json::Value) -> usize {
    match value {
        serde_json::Value::Array(list) => 1 + list.iter().map(depth).max().unwrap_or(0),
        serde_json::Value::Object(map) => 1 + map.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

#[test]
fn a_bad_response_names_the_request_that_it_answers() {
    for (text, answers) in [
        (r#"{"jsonrpc":"2.0","id":7,"result":{},"error":{"code":1,"message":""}}"#, Some(7)),
        (r#"{"jsonrpc":"2.0","id":7,"error":"no"}"#, Some(7)),
        (r#"{"jsonrpc":"1.0","id":7,"result":{}}"#, Some(7)),
        (r#"{"jsonrpc":"2.0","id":7}"#, Some(7)),
        (r#"{"jsonrpc":"2.0","id":7,"method":"m","result":{}}"#, Some(7)),
        (r#"{"jsonrpc":"2.0","id":7,"method":5}"#, None),
        (r#"{"jsonrpc":"2.0","id":7,"method":"m","params":5}"#, None),
        (r#"{"jsonrpc":"2.0","result":{}}"#, None),
        ("{", None),
    ] {
        assert_eq!(parse(text).unwrap_err().answers, answers.map(protomcp_types::RequestId::from), "{text}");
    }
}
