//! Sessions and stateless requests side by side on one connection.

use super::transcript::{check, play};
use protomcp_server::Limits;
use std::sync::atomic::Ordering;

const DONE: &str = r#""resultType":"complete","content":[{"type":"text","text":"done"}],"_meta":{«server»}"#;

#[test]
fn stateless_requests_need_no_handshake_and_make_none() {
    check(&[
        r#"→ {"id":1,"method":"tools/call","params":{"name":"sleep 1","_meta":{«2026»}}}"#,
        &format!(r#"← {{"id":1,"result":{{{DONE}}}}}"#),
        r#"→ {"id":2,"method":"tools/list"}"#,
        r#"← {"id":2,"error":{"code":-32600,"message":"method \"tools/list\" is invalid during session initialization"}}"#,
        "→ hello",
        r#"→ {"id":3,"method":"tools/call","params":{"name":"sleep 1"}}"#,
        r#"← {"id":3,"result":{"content":[{"type":"text","text":"done"}]}}"#,
    ]);
}

#[test]
fn both_eras_interleave() {
    check(&[
        "→ hello",
        r#"→ {"id":1,"method":"tools/call","params":{"name":"sleep 20"}}"#,
        r#"→ {"id":2,"method":"tools/call","params":{"name":"sleep 10","_meta":{«2026»}}}"#,
        r#"→ {"id":2,"method":"ping"}"#,
        r#"← {"id":2,"error":{"code":-32600,"message":"invalid request: id 2 is already in use"}}"#,
        r#"→ {"id":3,"method":"ping"}"#,
        r#"← {"id":3,"result":{}}"#,
        &format!(r#"← {{"id":2,"result":{{{DONE}}}}}"#),
        r#"← {"id":1,"result":{"content":[{"type":"text","text":"done"}]}}"#,
        r#"→ {"id":4,"method":"initialize","params":{"_meta":{«2026»}}}"#,
        r#"← {"id":4,"error":{"code":-32601,"message":"method not found: \"initialize\""}}"#,
        r#"→ {"id":5,"method":"logging/setLevel","params":{"level":"debug"}}"#,
        r#"← {"id":5,"result":{}}"#,
    ]);
}

#[test]
fn the_stateless_revision_is_not_reached_by_a_handshake() {
    check(&[
        r#"→ {"id":1,"method":"initialize","params":{"protocolVersion":"2026-07-28","capabilities":{},"clientInfo":{"name":"host","version":"1"}}}"#,
        r#"← {"id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"logging":{},"completions":{},"prompts":{"listChanged":true},"resources":{"listChanged":true,"subscribe":true},"tools":{"listChanged":true},"tasks":{"list":{},"cancel":{},"requests":{"tools":{"call":{}}}}},"serverInfo":{"name":"stage","version":"1"},"instructions":"Be brief."}}"#,
    ]);
}

#[test]
fn a_connection_without_a_handshake_opens_no_session() {
    play(Limits::default(), async |stage| {
        let mut host = stage.connect();
        host.steps(&[
            r#"→ {"id":1,"method":"tools/call","params":{"name":"change","_meta":{«2026»}}}"#,
            &format!(r#"← {{"id":1,"result":{{{DONE}}}}}"#),
            // No request listens for changes.
            "· 1000ms",
        ])
        .await;
        assert!(stage.server.handle().views().is_empty());
        host.steps(&["→ end", "← end"]).await;
        assert_eq!(stage.tools.opened.load(Ordering::SeqCst), 0);
        assert_eq!(stage.tools.closed.load(Ordering::SeqCst), 0);
    });
}

#[test]
fn stateless_calls_may_end_after_the_client_has_stopped() {
    check(&[
        r#"→ {"id":1,"method":"tools/call","params":{"name":"sleep 100","_meta":{«2026»}}}"#,
        "→ end",
        "· 90ms",
        &format!(r#"← {{"id":1,"result":{{{DONE}}}}}"#),
        "← end",
    ]);
}

#[test]
fn a_cancelled_stateless_call_has_no_answer_and_its_id_is_free() {
    check(&[
        r#"→ {"id":1,"method":"tools/call","params":{"name":"sleep 100","_meta":{«2026»}}}"#,
        r#"→ {"method":"notifications/cancelled","params":{"requestId":1}}"#,
        r#"→ {"id":1,"method":"tools/call","params":{"name":"sleep 200","_meta":{«2026»}}}"#,
        "· 190ms",
        &format!(r#"← {{"id":1,"result":{{{DONE}}}}}"#),
        "· 1000ms",
    ]);
}

#[test]
fn a_batch_holds_no_stateless_requests() {
    check(&[
        "→ hello 2025-03-26",
        r#"→ [{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{"_meta":{«2026»}}}]"#,
        r#"← [{"id":1,"result":{}},{"id":2,"error":{"code":-32600,"message":"invalid request: a batch holds no requests of 2026-07-28"}}]"#,
    ]);
}
