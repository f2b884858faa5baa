//! Several messages in one array, which only 2025-03-26 has.

use protomcp_server::Limits;

use super::transcript::{check, play};

#[test]
fn a_batch_is_answered_by_one_array_when_all_is_done() {
    check(&[
        "→ hello 2025-03-26",
        r#"→ [{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"sleep 20"}},{"jsonrpc":"2.0","id":2,"method":"ping"},{"jsonrpc":"2.0","method":"notifications/x"},5,{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"sleep 10"}}]"#,
        r#"→ {"id":4,"method":"ping"}"#,
        r#"← {"id":4,"result":{}}"#,
        "· 19ms",
        r#"← [{"id":1,"result":{"content":[{"type":"text","text":"done"}]}},{"id":2,"result":{}},{"id":3,"result":{"content":[{"type":"text","text":"done"}]}},{"id":null,"error":{"code":-32600,"message":"invalid request: a message is an object"}}]"#,
        "· 1000ms",
    ]);
}

#[test]
fn a_cancelled_member_is_left_out() {
    check(&[
        "→ hello 2025-03-26",
        r#"→ [{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"sleep 10"}},{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"wait"}}]"#,
        "· 100ms",
        r#"→ {"method":"notifications/cancelled","params":{"requestId":2}}"#,
        r#"← [{"id":1,"result":{"content":[{"type":"text","text":"done"}]}}]"#,
        // Nothing is left of this one.
        r#"→ [{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"wait"}},{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}]"#,
        r#"→ [{"jsonrpc":"2.0","method":"notifications/x"}]"#,
        "· 5000ms",
    ]);
}

#[test]
fn a_batch_is_finished_at_the_end() {
    check(&[
        "→ hello 2025-03-26",
        r#"→ [{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"sleep 10"}},{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"wait"}}]"#,
        "→ end",
        r#"← [{"id":1,"result":{"content":[{"type":"text","text":"done"}]}},{"id":2,"error":«shutdown»}]"#,
        "← end",
    ]);
}

#[test]
fn elsewhere_a_batch_is_refused_as_a_whole() {
    let refused =
        r#"← {"id":null,"error":{"code":-32600,"message":"invalid request: batches are for MCP 2025-03-26 only"}}"#;
    let batch = r#"→ [{"jsonrpc":"2.0","id":1,"method":"ping"}]"#;
    for version in ["2024-11-05", "2025-06-18", "2025-11-25"] {
        check(&[&format!("→ hello {version}"), batch, refused, "· 1000ms"]);
    }
    check(&[batch, refused]);
    let initialize = super::transcript::initialize("2025-03-26");
    check(&[&format!("→ [{initialize}]"), refused, "→ hello 2025-03-26", batch, r#"← [{"id":1,"result":{}}]"#]);
}

#[test]
fn a_cancel_does_not_hold_up_the_rest_of_the_batch() {
    play(Limits::default(), async |stage| {
        let mut host = stage.connect();
        let start = tokio::time::Instant::now();
        host.steps(&[
            "→ hello 2025-03-26",
            r#"→ [{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"wait"}}]"#,
            r#"→ {"method":"notifications/cancelled","params":{"requestId":2}}"#,
            r#"← [{"id":1,"result":{}}]"#,
        ])
        .await;
        assert!(start.elapsed().is_zero(), "the deaf call has its grace, the host does not wait for it");
    });
}
