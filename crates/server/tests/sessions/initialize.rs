//! The handshake.

use super::transcript::{check, initialize};

/// The server's description of itself in this revision.
fn answer(version: &str) -> String {
    let tasks = match version {
        "2025-11-25" => r#","tasks":{"list":{},"cancel":{},"requests":{"tools":{"call":{}}}}"#,
        _ => "",
    };
    format!(
        r#"← {{"id":"hello","result":{{"protocolVersion":"{version}","capabilities":{{"logging":{{}},"completions":{{}},"prompts":{{"listChanged":true}},"resources":{{"listChanged":true,"subscribe":true}},"tools":{{"listChanged":true}}{tasks}}},"serverInfo":{{"name":"stage","version":"1"}},"instructions":"Be brief."}}}}"#
    )
}

#[test]
fn stateful_versions_are_echoed_and_others_become_the_newest() {
    for (asked, answered) in [
        ("2024-11-05", "2024-11-05"),
        ("2025-03-26", "2025-03-26"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("2026-07-28", "2025-11-25"),
        ("1999-01-01", "2025-11-25"),
    ] {
        check(&[&format!("→ {}", initialize(asked)), &answer(answered)]);
    }
}

#[test]
fn only_ping_works_before_the_handshake() {
    check(&[
        r#"→ {"id":1,"method":"ping"}"#,
        r#"← {"id":1,"result":{}}"#,
        r#"→ {"id":2,"method":"tools/list"}"#,
        r#"← {"id":2,"error":{"code":-32600,"message":"method \"tools/list\" is invalid during session initialization"}}"#,
        r#"→ {"id":3,"method":"nonsense"}"#,
        r#"← {"id":3,"error":{"code":-32600,"message":"method \"nonsense\" is invalid during session initialization"}}"#,
        r#"→ {"method":"notifications/initialized"}"#,
        r#"→ {"id":4,"method":"tools/call","params":{"name":"echo"}}"#,
        r#"← {"id":4,"error":{"code":-32600,"message":"method \"tools/call\" is invalid during session initialization"}}"#,
    ]);
}

#[test]
fn initialize_succeeds_once_also_after_a_bad_one() {
    let good = format!("→ {}", initialize("2025-06-18"));
    let answer = answer("2025-06-18");
    check(&[
        r#"→ {"id":1,"method":"initialize"}"#,
        r#"← {"id":1,"error":{"code":-32602,"message":"invalid params: missing field `protocolVersion`"}}"#,
        r#"→ {"id":2,"method":"initialize","params":null}"#,
        r#"← {"id":2,"error":{"code":-32602,"message":"invalid params: missing field `protocolVersion`"}}"#,
        r#"→ {"id":3,"method":"initialize","params":[]}"#,
        r#"← {"id":3,"error":{"code":-32602,"message":"invalid params: expected an object"}}"#,
        &good,
        &answer,
        &good,
        r#"← {"id":"hello","error":{"code":-32600,"message":"the session is already initialized"}}"#,
        r#"→ {"id":4,"method":"tools/call","params":{"name":"fail"}}"#,
        r#"← {"id":4,"result":{"content":[{"type":"text","text":"it did not work"}],"isError":true}}"#,
    ]);
}

#[test]
fn requests_may_follow_in_the_same_breath() {
    let all = format!(
        "→ {}\n{{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}}\n{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}}",
        initialize("2025-11-25")
    );
    check(&[&all, &answer("2025-11-25"), r#"← {"id":1,"result":{}}"#]);
}

#[test]
fn an_initialize_without_id_is_a_notification() {
    check(&[
        &format!("→ {}", initialize("2025-11-25").replace(r#""id":"hello","#, "")),
        r#"→ {"id":1,"method":"tools/list"}"#,
        r#"← {"id":1,"error":{"code":-32600,"message":"method \"tools/list\" is invalid during session initialization"}}"#,
    ]);
}
