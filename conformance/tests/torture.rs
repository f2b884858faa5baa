//! Lines that no client should write: each gets a proper error, or silence where the protocol requires it, and the
//! session continues (JSON-RPC 2.0; MCP 2025-11-25, basic).

use protomcp_conformance::{Host, Sandbox};
use serde_json::{Value, json};

/// The expected reaction to a line.
enum Outcome {
    /// An error with this code, for this id.
    Error(i64, Value),
    /// An error with one of these codes, for this id.
    OneOf(&'static [i64], Value),
    /// Nothing at all.
    Silence,
}

use Outcome::{Error, OneOf, Silence};

#[test]
fn malformed_lines_are_answered_and_the_session_goes_on() {
    let (host, _sandbox) = open();
    let deep =
        |n: usize| format!(r#"{{"jsonrpc":"2.0","id":9,"method":"ping","params":{}{}}}"#, "[".repeat(n), "]".repeat(n));
    let rows: Vec<(Vec<u8>, Outcome)> = vec![
        (b"this is not JSON".to_vec(), Error(-32700, Value::Null)),
        (b"\x00\x01\xff\xfe binary \x80".to_vec(), Error(-32700, Value::Null)),
        (br#"{"jsonrpc":"2.0","id":1,"method":"pi"#.to_vec(), Error(-32700, Value::Null)),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\xfe\"}".to_vec(), Error(-32700, Value::Null)),
        (b"{}".to_vec(), Error(-32600, Value::Null)),
        (b"null".to_vec(), Error(-32600, Value::Null)),
        (b"[]".to_vec(), Error(-32600, Value::Null)),
        (b"42".to_vec(), Error(-32600, Value::Null)),
        (br#""text""#.to_vec(), Error(-32600, Value::Null)),
        (br#"{"jsonrpc":"1.0","id":"wrong","method":"ping"}"#.to_vec(), Error(-32600, json!("wrong"))),
        (br#"{"id":"none","method":"ping"}"#.to_vec(), Error(-32600, json!("none"))),
        (br#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#.to_vec(), Error(-32600, Value::Null)),
        (br#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#.to_vec(), Error(-32600, Value::Null)),
        (br#"{"jsonrpc":"2.0","id":true,"method":"ping"}"#.to_vec(), Error(-32600, Value::Null)),
        (br#"{"jsonrpc":"2.0","id":"m","method":7}"#.to_vec(), Error(-32600, json!("m"))),
        (br#"{"jsonrpc":"2.0","id":"p","method":"ping","params":7}"#.to_vec(), OneOf(&[-32600, -32602], json!("p"))),
        (br#"{"jsonrpc":"2.0","id":"t","method":"tools/call"}"#.to_vec(), Error(-32602, json!("t"))),
        (
            br#"{"jsonrpc":"2.0","id":"n","method":"tools/call","params":{"name":7}}"#.to_vec(),
            Error(-32602, json!("n")),
        ),
        (br#"{"jsonrpc":"2.0","id":"u","method":"no/such"}"#.to_vec(), Error(-32601, json!("u"))),
        (
            br#"{"jsonrpc":"2.0","id":"again","method":"initialize","params":{}}"#.to_vec(),
            OneOf(&[-32600, -32602], json!("again")),
        ),
        (deep(1_000).into_bytes(), OneOf(&[-32600, -32700], json!(9))),
        (deep(100_000).into_bytes(), OneOf(&[-32600, -32700], json!(9))),
        (br#"{"jsonrpc":"2.0","method":"notifications/unknown","params":{"a":1}}"#.to_vec(), Silence),
        (br#"{"jsonrpc":"2.0","method":"notifications/cancelled"}"#.to_vec(), Silence),
        (br#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":{}}}"#.to_vec(), Silence),
        (br#"{"jsonrpc":"2.0","id":12345,"result":{}}"#.to_vec(), Silence),
        (br#"{"jsonrpc":"2.0","method":"ping"}"#.to_vec(), Silence),
        (b"".to_vec(), Silence),
        (b"   \t  ".to_vec(), Silence),
        (b"\r".to_vec(), Silence),
    ];
    for (line, outcome) in rows {
        check(&host, &line, &outcome);
    }
    assert_eq!(host.text("echo", &json!({"text": "after all that"})), "after all that");
}

/// Writes the line and a ping after it; the reaction comes before the ping's answer.
fn check(host: &Host, line: &[u8], outcome: &Outcome) {
    let place = host.now();
    let mut bytes = line.to_vec();
    bytes.push(b'\n');
    host.bytes(&bytes);
    let shown = String::from_utf8_lossy(&line[..line.len().min(80)]).into_owned();
    let error = match outcome {
        Silence => None,
        Error(..) | OneOf(..) => {
            Some(host.wait_for(&format!("an error for {shown}"), place, |m| m.value.get("error").is_some()))
        }
    };
    host.ask("ping", &json!({}));
    let seen: Vec<Value> = host.seen().into_iter().skip(place).map(|message| message.value).collect();
    match (outcome, error) {
        (Error(code, id), Some(error)) => {
            assert_eq!(error.value["error"]["code"], *code, "{shown}: {}", error.text);
            assert_eq!(error.value["id"], *id, "{shown}: {}", error.text);
            assert_eq!(seen.len(), 2, "{shown}: {seen:?}");
        }
        (OneOf(codes, id), Some(error)) => {
            let code = error.value["error"]["code"].as_i64().expect("a code is a number");
            assert!(codes.contains(&code), "{shown}: {}", error.text);
            assert!(error.value["id"] == *id || error.value["id"].is_null(), "{shown}: {}", error.text);
            assert_eq!(seen.len(), 2, "{shown}: {seen:?}");
        }
        _ => assert_eq!(seen.len(), 1, "{shown} should have led to nothing: {seen:?}"),
    }
}

#[test]
fn a_duplicate_id_is_rejected_and_the_first_call_is_answered() {
    let (host, _sandbox) = open();
    let call = |ms: u32| json!({"jsonrpc": "2.0", "id": "twice", "method": "tools/call", "params": {"name": "sleep_ms", "arguments": {"ms": ms}}});
    host.line(&call(500).to_string());
    host.line(&call(0).to_string());
    let refused = host.wait_for("a refusal", 0, |message| message.value.get("error").is_some());
    assert_eq!(refused.value["error"]["code"], -32600, "{}", refused.text);
    host.wait_for("the answer", refused.place + 1, |message| {
        message.value["id"] == "twice" && message.value.get("result").is_some()
    });
}

#[test]
fn a_line_above_the_limit_is_rejected_in_bounded_memory() {
    let (host, _sandbox) = open();
    let place = host.now();
    host.bytes(br#"{"jsonrpc":"2.0","id":"huge","method":"tools/call","params":{"name":"echo","arguments":{"text":""#);
    let piece = vec![b'x'; 1 << 20];
    for _ in 0..80 {
        host.bytes(&piece);
    }
    host.bytes(b"\"}}}\n");
    let refused = host.wait_for("a refusal", place, |message| message.value.get("error").is_some());
    assert_eq!(refused.value["error"]["code"], -32600, "{}", refused.text);
    assert_eq!(host.text("echo", &json!({"text": "still here"})), "still here");
}

#[test]
fn a_large_line_below_the_limit_passes() {
    let (host, _sandbox) = open();
    let text = "y".repeat(8 << 20);
    assert_eq!(host.text("echo", &json!({"text": text})), text);
}

#[test]
fn a_last_line_without_a_newline_still_counts() {
    let (host, _sandbox) = open();
    host.bytes(br#"{"jsonrpc":"2.0","id":"last","method":"ping"}"#);
    host.hang_up();
    assert_eq!(host.answer("last").value["result"], json!({}));
    assert_eq!(host.exit().code(), Some(0));
}

#[test]
fn requests_before_initialize_are_rejected() {
    let sandbox = Sandbox::new();
    sandbox.copy("third_party");
    let host = sandbox.pmcp(&["run", "tools.js"]).start();
    let error = host.refused("tools/list", &json!({}));
    assert_eq!(error["code"], -32600, "{error}");
    assert!(error["message"].as_str().is_some_and(|text| text.contains("initialization")), "{error}");
    host.initialize();
    assert!(!host.names().is_empty());
}

fn open() -> (Host, Sandbox) {
    let sandbox = Sandbox::new();
    sandbox.copy("third_party");
    let host = sandbox.pmcp(&["run", "tools.js"]).start();
    host.initialize();
    (host, sandbox)
}
