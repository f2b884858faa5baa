//! Requests that the client has cancelled.

use std::sync::atomic::Ordering;

use protomcp_server::Limits;

use super::transcript::{call, check, full, play};

#[test]
fn a_cancelled_call_is_never_answered() {
    check(&[
        "→ hello",
        r#"→ {"id":1,"method":"tools/call","params":{"name":"sleep 10"}}"#,
        r#"→ {"id":2,"method":"tools/call","params":{"name":"sleep 20"}}"#,
        r#"→ {"method":"notifications/cancelled","params":{"requestId":1,"reason":"changed my mind"}}"#,
        r#"← {"id":2,"result":{"content":[{"type":"text","text":"done"}]}}"#,
        "· 5000ms",
    ]);
}

#[test]
fn its_id_is_free_immediately_and_not_confused_with_the_old_one() {
    check(&[
        "→ hello",
        r#"→ {"id":1,"method":"tools/call","params":{"name":"sleep 10"}}"#,
        r#"→ {"method":"notifications/cancelled","params":{"requestId":1}}"#,
        r#"→ {"id":1,"method":"tools/call","params":{"name":"sleep 50"}}"#,
        "· 49ms",
        r#"← {"id":1,"result":{"content":[{"type":"text","text":"done"}]}}"#,
        "· 5000ms",
    ]);
}

#[test]
fn what_cancels_nothing_is_ignored() {
    check(&[
        "→ hello",
        r#"→ {"id":1,"method":"tools/call","params":{"name":"sleep 10"}}"#,
        r#"→ {"method":"notifications/cancelled"}"#,
        r#"→ {"method":"notifications/cancelled","params":{}}"#,
        r#"→ {"method":"notifications/cancelled","params":{"requestId":null}}"#,
        r#"→ {"method":"notifications/cancelled","params":{"requestId":"1"}}"#,
        r#"→ {"method":"notifications/cancelled","params":{"requestId":"hello"}}"#,
        r#"→ {"method":"notifications/cancelled","params":{"requestId":[1]}}"#,
        r#"→ {"method":"notifications/cancelled","params":[1]}"#,
        r#"← {"id":1,"result":{"content":[{"type":"text","text":"done"}]}}"#,
        r#"→ {"method":"notifications/cancelled","params":{"requestId":1}}"#,
        r#"→ {"id":2,"method":"ping"}"#,
        r#"← {"id":2,"result":{}}"#,
    ]);
}

#[test]
fn a_cancelled_call_may_clean_up_and_is_dropped_after_a_grace() {
    play(Limits::default(), async |stage| {
        let mut host = stage.connect();
        host.steps(&["→ hello"]).await;
        host.send(&call(1, "wait")).await;
        host.send(&full(r#"{"id":2,"method":"tools/call","params":{"name":"listen","_meta":{"progressToken":1}}}"#))
            .await;
        host.steps(&[
            "· 10ms",
            r#"→ {"method":"notifications/cancelled","params":{"requestId":1}}"#,
            r#"→ {"method":"notifications/cancelled","params":{"requestId":2}}"#,
            "· 500ms",
        ])
        .await;
        assert_eq!(stage.tools.closed.load(Ordering::SeqCst), 100, "the listening call went on after its cancel");
        assert_eq!(stage.tools.dropped.load(Ordering::SeqCst), 0, "the deaf call still has its grace");
        host.steps(&["· 600ms"]).await;
        assert_eq!(stage.tools.dropped.load(Ordering::SeqCst), 1, "the deaf call is gone");
    });
}
