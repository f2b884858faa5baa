//! Everything that a peer can make grow is bounded, and nothing is dropped in silence.

use protomcp_server::{Audience, Limits};
use protomcp_types::{Level, RawJson};

use super::transcript::{call, check_with, full, play};

#[test]
fn requests_beyond_the_limit_are_refused_immediately() {
    check_with(
        Limits { max_pending: 2, ..Limits::default() },
        &[
            "→ hello",
            r#"→ {"id":1,"method":"tools/call","params":{"name":"sleep 10"}}"#,
            r#"→ {"id":2,"method":"tools/call","params":{"name":"sleep 20"}}"#,
            "· 1ms",
            r#"→ {"id":3,"method":"tools/call","params":{"name":"echo"}}"#,
            r#"← {"id":3,"error":{"code":-32603,"message":"too many requests in flight; send it again in a moment","data":{"protomcp/error":{"error_code":"OVERLOADED","message":"too many requests in flight","suggestion":"send it again in a moment","retryable":true,"retry_after_ms":1000}}}}"#,
            r#"→ {"id":4,"method":"ping"}"#,
            r#"← {"id":4,"result":{}}"#,
            r#"← {"id":1,"result":{"content":[{"type":"text","text":"done"}]}}"#,
            r#"→ {"id":3,"method":"tools/call","params":{"name":"echo"}}"#,
            r#"← {"id":3,"result":{"content":[{"type":"text","text":"echo"}],"structuredContent":{}}}"#,
        ],
    );
}

#[test]
fn calls_keep_no_room_from_lists_and_tasks() {
    play(Limits { max_pending: 1, ..Limits::default() }, async |stage| {
        let mut host = stage.connect();
        host.steps(&["→ hello"]).await;
        host.send(&call(1, "sleep 10")).await;
        for method in ["tools/list", "prompts/list", "resources/list", "resources/templates/list", "tasks/list"] {
            host.send(&full(&format!(r#"{{"id":2,"method":"{method}"}}"#))).await;
            let answer = host.next().await.unwrap();
            assert!(answer.starts_with(&full(r#"{"id":2,"result""#)), "{method}: {answer}");
        }
        host.send(&call(2, "echo")).await;
        assert!(host.next().await.unwrap().contains("too many requests in flight"));
        assert!(host.next().await.unwrap().starts_with(&full(r#"{"id":1,"result""#)));
    });
}

#[test]
fn calls_that_were_cancelled_count_until_they_are_gone() {
    check_with(
        Limits { max_pending: 1, ..Limits::default() },
        &[
            "→ hello",
            r#"→ {"id":1,"method":"tools/call","params":{"name":"wait"}}"#,
            r#"→ {"method":"notifications/cancelled","params":{"requestId":1}}"#,
            r#"→ {"id":2,"method":"tools/call","params":{"name":"echo"}}"#,
            r#"← {"id":2,"error":{"code":-32603,"message":"too many requests in flight; send it again in a moment","data":{"protomcp/error":{"error_code":"OVERLOADED","message":"too many requests in flight","suggestion":"send it again in a moment","retryable":true,"retry_after_ms":1000}}}}"#,
            "· 1100ms",
            r#"→ {"id":2,"method":"tools/call","params":{"name":"echo"}}"#,
            r#"← {"id":2,"result":{"content":[{"type":"text","text":"echo"}],"structuredContent":{}}}"#,
        ],
    );
}

#[test]
fn notices_beyond_the_limit_are_dropped_and_reported() {
    check_with(
        Limits { max_notices: 3, ..Limits::default() },
        &[
            "→ hello",
            r#"→ {"id":1,"method":"tools/call","params":{"name":"count 10","_meta":{"progressToken":1}}}"#,
            r#"← {"method":"notifications/progress","params":{"progressToken":1,"progress":1}}"#,
            r#"← {"method":"notifications/progress","params":{"progressToken":1,"progress":2}}"#,
            r#"← {"method":"notifications/progress","params":{"progressToken":1,"progress":3}}"#,
            r#"← {"id":1,"result":{"content":[{"type":"text","text":"done"}]}}"#,
            r#"← {"method":"notifications/message","params":{"level":"warning","logger":"protomcp","data":"7 notifications were dropped: they came faster than they were read"}}"#,
            r#"→ {"id":2,"method":"tools/call","params":{"name":"count 1","_meta":{"progressToken":1}}}"#,
            r#"← {"method":"notifications/progress","params":{"progressToken":1,"progress":1}}"#,
            r#"← {"id":2,"result":{"content":[{"type":"text","text":"done"}]}}"#,
        ],
    );
}

#[test]
fn notices_beyond_their_bytes_are_dropped_and_reported() {
    let count = [
        r#"→ {"id":1,"method":"tools/call","params":{"name":"count 10","_meta":{"progressToken":1}}}"#,
        r#"← {"method":"notifications/progress","params":{"progressToken":1,"progress":1}}"#,
        r#"← {"method":"notifications/progress","params":{"progressToken":1,"progress":2}}"#,
        r#"← {"id":1,"result":{"content":[{"type":"text","text":"done"}]}}"#,
        r#"← {"method":"notifications/message","params":{"level":"warning","logger":"protomcp","data":"8 notifications were dropped: they came faster than they were read"}}"#,
    ];
    let transcript = [&["→ hello"], &count[..], &count[..]].concat();
    // The parameters of each are 23 bytes.
    check_with(Limits { max_notice_bytes: 24, ..Limits::default() }, &transcript);
}

#[test]
fn notices_that_are_not_sent_give_their_room_back() {
    let late = |id: u32| {
        format!(r#"→ {{"id":{id},"method":"tools/call","params":{{"name":"stumble","_meta":{{"progressToken":7}}}}}}"#)
    };
    let mut transcript = vec!["→ hello".to_owned()];
    for id in 0..10 {
        transcript.push(late(id));
        for progress in ["0.5", "1.0"] {
            transcript.push(format!(r#"← {{"method":"notifications/progress","params":{{"progressToken":7,"progress":{progress},"message":"m"}}}}"#));
        }
        transcript.push(format!(r#"← {{"id":{id},"result":{{"content":[{{"type":"text","text":"done"}}]}}}}"#));
        transcript.push("· 5ms".to_owned());
    }
    let steps: Vec<_> = transcript.iter().map(String::as_str).collect();
    check_with(Limits { max_notices: 3, ..Limits::default() }, &steps);
}

#[test]
fn a_client_that_only_writes_is_held_back_without_loss() {
    play(Limits { max_unsent: 50, ..Limits::default() }, async |stage| {
        let mut host = stage.connect_with(2048);
        host.steps(&["→ hello"]).await;
        // The pipe and the session fill up, then the session stops reading.
        let mut sent = 0;
        let ping = |id: usize| full(&format!(r#"{{"id":{id},"method":"ping"}}"#));
        while tokio::time::timeout(std::time::Duration::from_secs(1), host.send(&ping(sent))).await.is_ok() {
            sent += 1;
            assert!(sent < 1000, "there is no end to it");
        }
        assert!(sent >= 50);
        for id in 0..sent {
            assert_eq!(host.next().await.unwrap(), full(&format!(r#"{{"id":{id},"result":{{}}}}"#)));
        }
    });
}

#[test]
fn a_host_that_does_not_read_can_still_cancel() {
    play(Limits::default(), async |stage| {
        let mut host = stage.connect_with(2048);
        host.steps(&["→ hello"]).await;
        host.send(&call(1, "wait")).await;
        for id in 2..40 {
            host.send(&call(id, "echo")).await;
        }
        host.send(&full(r#"{"method":"notifications/cancelled","params":{"requestId":1}}"#)).await;
        tokio::time::sleep(std::time::Duration::from_secs(2)).await;
        assert_eq!(stage.tools.dropped.load(std::sync::atomic::Ordering::SeqCst), 1);
    });
}

#[test]
fn answers_that_are_not_read_count_as_requests_in_flight() {
    play(Limits { max_pending: 20, ..Limits::default() }, async |stage| {
        let mut host = stage.connect_with(256);
        host.steps(&["→ hello"]).await;
        for id in 0..30 {
            host.send(&call(id, "echo")).await;
            tokio::time::sleep(std::time::Duration::from_millis(1)).await;
        }
        let mut refused = 0;
        for _ in 0..30 {
            refused += usize::from(host.next().await.unwrap().contains("too many requests in flight"));
        }
        assert!((5..15).contains(&refused), "{refused}");
        host.send(&call(30, "echo")).await;
        assert!(host.next().await.unwrap().contains("result"));
    });
}

#[test]
fn unread_progress_is_not_a_request_in_flight() {
    play(Limits { max_pending: 2, ..Limits::default() }, async |stage| {
        let mut host = stage.connect_with(256);
        host.steps(&["→ hello"]).await;
        let params = r#"{"name":"count 50","_meta":{"progressToken":1}}"#;
        host.send(&full(&format!(r#"{{"id":1,"method":"tools/call","params":{params}}}"#))).await;
        tokio::time::sleep(std::time::Duration::from_millis(1)).await;
        host.send(&call(2, "echo")).await;
        for step in 1..=50 {
            assert!(host.next().await.unwrap().contains(&format!(r#""progress":{step}}}"#)));
        }
        for id in [1, 2] {
            let answer = host.next().await.unwrap();
            assert!(answer.starts_with(&full(&format!(r#"{{"id":{id},"result":"#))), "{answer}");
        }
    });
}

#[test]
fn unwanted_log_messages_take_no_room() {
    let alert = |id: u32| {
        [
            format!(r#"→ {{"id":{id},"method":"tools/call","params":{{"name":"log"}}}}"#),
            r#"← {"method":"notifications/message","params":{"level":"emergency","logger":"tool","data":"emergency"}}"#
                .to_owned(),
            format!(r#"← {{"id":{id},"result":{{"content":[{{"type":"text","text":"done"}}]}}}}"#),
        ]
    };
    let mut transcript = vec![
        "→ hello".to_owned(),
        r#"→ {"id":0,"method":"logging/setLevel","params":{"level":"emergency"}}"#.to_owned(),
        r#"← {"id":0,"result":{}}"#.to_owned(),
    ];
    transcript.extend((1..5).flat_map(alert));
    let steps: Vec<_> = transcript.iter().map(String::as_str).collect();
    check_with(Limits { max_notices: 2, ..Limits::default() }, &steps);
}

#[test]
fn log_messages_before_the_handshake_give_their_room_back() {
    play(Limits { max_notices: 2, ..Limits::default() }, async |stage| {
        let mut host = stage.connect();
        for _ in 0..5 {
            stage.server.handle().log(Audience::Everyone, Level::Error, None, &RawJson::NULL);
            host.steps(&["· 1ms"]).await;
        }
        host.steps(&["→ hello", "· 1ms"]).await;
        stage.server.handle().log(Audience::Everyone, Level::Error, None, &RawJson::NULL);
        host.steps(&[r#"← {"method":"notifications/message","params":{"level":"error","data":null}}"#]).await;
    });
}
