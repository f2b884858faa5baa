//! `ping`, and methods that are not there.

use std::time::Duration;

use protomcp_server::{Limits, ServeError};

use super::transcript::{check, check_with, initialize, play};

fn asking() -> Limits {
    Limits { ping_interval: Some(Duration::from_secs(60)), ping_timeout: Duration::from_secs(10), ..Limits::default() }
}

#[test]
fn a_silent_host_is_asked_whether_it_is_there() {
    check_with(
        asking(),
        &[
            "→ hello",
            "· 59999ms",
            r#"← {"id":1,"method":"ping"}"#,
            r#"→ {"id":1,"result":{}}"#,
            "· 30000ms",
            // Each message of the client delays the next ping, and counts as an answer to the last.
            r#"→ {"method":"notifications/unheard-of"}"#,
            "· 59999ms",
            r#"← {"id":2,"method":"ping"}"#,
            "· 9000ms",
            r#"→ {"id":7,"method":"ping"}"#,
            r#"← {"id":7,"result":{}}"#,
            r#"→ {"id":2,"result":{}}"#,
            "· 59999ms",
            r#"← {"id":3,"method":"ping"}"#,
            r#"→ {"id":3,"error":{"code":-32601,"message":"no"}}"#,
            "→ end",
            "← end",
        ],
    );
}

#[test]
fn a_host_that_does_not_answer_loses_its_session() {
    play(asking(), async |stage| {
        let mut host = stage.connect();
        let call = r#"→ {"id":9,"method":"tools/call","params":{"name":"wait"}}"#;
        host.steps(&["→ hello", call, r#"← {"id":1,"method":"ping"}"#, "· 9999ms"]).await;
        assert!(matches!(host.outcome().await, Err(ServeError::Silent)));
        assert_eq!(stage.server.handle().count(), 0);
    });
}

#[test]
fn no_request_is_sent_before_the_handshake_is_complete() {
    play(asking(), async |stage| {
        let mut host = stage.connect();
        host.send(&initialize("2025-11-25")).await;
        host.next().await.expect("an answer");
        host.steps(&["· 600000ms", r#"→ {"method":"notifications/initialized"}"#, r#"← {"id":1,"method":"ping"}"#])
            .await;
    });
}

#[test]
fn ping_is_answered_while_a_tool_runs() {
    check(&[
        "→ hello",
        r#"→ {"id":1,"method":"tools/call","params":{"name":"sleep 100"}}"#,
        r#"→ {"id":"p","method":"ping","params":{}}"#,
        r#"← {"id":"p","result":{}}"#,
        "· 99ms",
        r#"← {"id":1,"result":{"content":[{"type":"text","text":"done"}]}}"#,
    ]);
}

#[test]
fn a_request_without_id_and_an_answer_to_nothing_are_ignored() {
    check(&[
        "→ hello",
        r#"→ {"method":"ping"}"#,
        r#"→ {"method":"tools/call","params":{"name":"echo"}}"#,
        r#"→ {"id":1,"result":{}}"#,
        r#"→ {"id":"1","error":{"code":1,"message":"x"}}"#,
        r#"→ {"method":"notifications/unheard-of","params":{"a":1}}"#,
        "· 1000ms",
        r#"→ {"id":-1,"method":"ping"}"#,
        r#"← {"id":-1,"result":{}}"#,
    ]);
}

#[test]
fn an_unknown_method_is_not_found() {
    check(&[
        "→ hello",
        r#"→ {"id":18446744073709551615,"method":"resources/write"}"#,
        r#"← {"id":18446744073709551615,"error":{"code":-32601,"message":"method not found: \"resources/write\""}}"#,
        r#"→ {"id":2,"method":"a\"b"}"#,
        r#"← {"id":2,"error":{"code":-32601,"message":"method not found: \"a\\\"b\""}}"#,
    ]);
}
