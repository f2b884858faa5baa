//! Lines that are not messages: each is answered, and the session continues.

use super::transcript::{check, play};
use protomcp_server::Limits;

#[test]
fn bad_lines_are_answered_and_the_session_goes_on() {
    let deep = format!("→ {}{}", "[".repeat(300), "]".repeat(300));
    let bad: &[(&str, &str)] = &[
        (
            "→ garbage",
            r#"← {"id":null,"error":{"code":-32700,"message":"parse error: expected value at line 1 column 1"}}"#,
        ),
        ("→ {}", r#"← {"id":null,"error":{"code":-32600,"message":"invalid request: jsonrpc must be \"2.0\""}}"#),
        ("→ null", r#"← {"id":null,"error":{"code":-32600,"message":"invalid request: a message is an object"}}"#),
        ("→ 42", r#"← {"id":null,"error":{"code":-32600,"message":"invalid request: a message is an object"}}"#),
        ("→ []", r#"← {"id":null,"error":{"code":-32600,"message":"invalid request: a batch is never empty"}}"#),
        (r#"→ {"id":1}"#, r#"← {"id":1,"error":{"code":-32600,"message":"invalid request: no method"}}"#),
        (
            r#"→ {"id":1.5,"method":"ping"}"#,
            r#"← {"id":null,"error":{"code":-32600,"message":"invalid request: id must be a string or an integer"}}"#,
        ),
        (&deep, r#"← {"id":null,"error":{"code":-32600,"message":"invalid request: nested deeper than 128"}}"#),
        (
            r#"→ {"id":9,"method":"notifications/cancelled","params":{"requestId":1}}"#,
            r#"← {"id":9,"error":{"code":-32600,"message":"invalid request: a notification has no id"}}"#,
        ),
    ];
    for hello in [&[][..], &["→ hello"][..]] {
        let mut transcript = hello.to_vec();
        for (line, answer) in bad {
            transcript.extend([line, answer, &r#"→ {"id":"p","method":"ping"}"#, &r#"← {"id":"p","result":{}}"#]);
        }
        check(&transcript);
    }
}

#[test]
fn blank_lines_and_carriage_returns_are_nothing() {
    check(&["→ hello", "→ ", "→ \t \r\n\r\n", "→ {\"id\":1,\"method\":\"ping\"}\r", r#"← {"id":1,"result":{}}"#]);
}

#[test]
fn a_line_that_is_too_long_is_skipped_however_it_arrives() {
    // The stage reads lines of up to 1,000 bytes.
    let refusal = |id: &str| {
        let why = "invalid request: a line is longer than 1000 bytes";
        format!(r#"← {{"id":{id},"error":{{"code":-32600,"message":"{why}"}}}}"#)
    };
    let (refused, unknown) = (refusal("1"), refusal("null"));
    let padded = |length: usize| {
        let text = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
        format!("→ {text}{}", " ".repeat(length - text.len()))
    };
    for length in [1001, 1002, 20_000, 1_000_000] {
        check(&[
            "→ hello",
            &padded(length),
            &refused,
            r#"→ {"id":2,"method":"ping"}"#,
            r#"← {"id":2,"result":{}}"#,
            &padded(1000),
            r#"← {"id":1,"result":{}}"#,
        ]);
    }
    check(&["→ hello", &padded(5000), &refused, "→ end", "← end"]);
    let long = "x".repeat(5000);
    let last = format!(r#"→ {{"jsonrpc":"2.0","params":{{"id":7,"a":"{long}"}},"method":"ping","id":1}}"#);
    // The refusal of an answer, or of a text that is not a message, has no id.
    let answer = format!(r#"→ {{"jsonrpc":"2.0","id":1,"result":{{"a":"{long}"}}}}"#);
    check(&["→ hello", &last, &refused, &answer, &unknown, &format!("→ {long}"), &unknown]);
}

#[test]
fn the_last_line_needs_no_line_feed() {
    play(Limits::default(), async |stage| {
        let mut host = stage.connect();
        host.send_raw(br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#).await;
        host.steps(&["· 10ms", "→ end", r#"← {"id":1,"result":{}}"#, "← end"]).await;
        let mut host = stage.connect();
        host.send_raw(br#"{"jsonrpc":"2.0","id":1,"#).await;
        host.end().await;
        assert!(host.next().await.unwrap().contains("-32700"));
    });
}

#[test]
fn lines_may_come_in_any_pieces() {
    play(Limits::default(), async |stage| {
        let mut host = stage.connect();
        let text =
            format!("{}\n{}\n\n", super::transcript::initialize("2025-11-25"), super::transcript::call(1, "echo"));
        for byte in text.bytes() {
            host.send_raw(&[byte]).await;
            tokio::task::yield_now().await;
        }
        assert!(host.next().await.unwrap().contains("protocolVersion"));
        host.steps(&[r#"← {"id":1,"result":{"content":[{"type":"text","text":"echo"}],"structuredContent":{}}}"#])
            .await;
        // Invalid UTF-8 is not text.
        host.send_raw(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}\n").await;
        assert!(host.next().await.unwrap().contains("-32700"));
        host.steps(&[r#"→ {"id":1,"method":"ping"}"#, r#"← {"id":1,"result":{}}"#]).await;
    });
}
