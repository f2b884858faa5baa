//! The end of a session.

use std::sync::atomic::Ordering;
use std::sync::{Mutex, mpsc};
use std::time::Duration;

use protomcp_server::{Audience, Context, Handler, Limits, ServeError, Server, ServerHandle, ServerInfo};
use protomcp_testing::JsonPeer;
use protomcp_transport::TransportError;
use protomcp_transport::lines::Lines;
use protomcp_types::{CallTool, CallToolResult, ErrorObject};

use super::transcript::{call, check, expand, full, initialize, play};

#[test]
fn calls_finish_after_the_host_has_closed_its_end() {
    check(&[
        "→ hello",
        r#"→ {"id":1,"method":"tools/call","params":{"name":"sleep 4000"}}"#,
        r#"→ {"id":2,"method":"tools/call","params":{"name":"change"}}"#,
        "→ end",
        r#"← {"id":2,"result":{"content":[{"type":"text","text":"done"}]}}"#,
        r#"← {"method":"notifications/tools/list_changed"}"#,
        r#"← {"id":1,"result":{"content":[{"type":"text","text":"done"}]}}"#,
        "← end",
    ]);
}

#[test]
fn a_change_is_announced_even_at_the_end() {
    check(&[
        "→ hello",
        r#"→ {"id":2,"method":"tools/call","params":{"name":"change"}}"#,
        "→ end",
        r#"← {"id":2,"result":{"content":[{"type":"text","text":"done"}]}}"#,
        r#"← {"method":"notifications/tools/list_changed"}"#,
        "← end",
    ]);
}

#[test]
fn changes_without_end_do_not_put_off_the_end() {
    play(Limits::default(), async |stage| {
        let mut host = stage.connect();
        host.steps(&["→ hello", "· 1ms"]).await;
        let sessions = stage.server.handle().clone();
        let busy = tokio::spawn(async move {
            loop {
                sessions.tools_changed(Audience::Everyone);
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        });
        host.steps(&[r#"← {"method":"notifications/tools/list_changed"}"#, "→ end"]).await;
        let start = tokio::time::Instant::now();
        while host.next().await.is_some() {}
        assert!(start.elapsed() < Duration::from_secs(1), "{:?}", start.elapsed());
        busy.abort();
    });
}

#[test]
fn a_resource_that_changes_for_ever_does_not_put_off_the_end() {
    play(Limits::default(), async |stage| {
        let mut host = stage.connect_with(64);
        host.steps(&[
            "→ hello",
            r#"→ {"id":1,"method":"resources/subscribe","params":{"uri":"file:///known"}}"#,
            r#"← {"id":1,"result":{}}"#,
        ])
        .await;
        let sessions = stage.server.handle().clone();
        let busy = tokio::spawn(async move {
            loop {
                sessions.resource_updated("file:///known");
                tokio::task::yield_now().await;
            }
        });
        host.end().await;
        for _ in 0..1000 {
            if host.next().await.is_none() {
                busy.abort();
                return;
            }
        }
        panic!("there is no end to it");
    });
}

#[test]
fn a_conversation_that_is_piped_in_is_answered_to_its_end() {
    let piped = [
        initialize("2025-11-25"),
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#.to_owned(),
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":""}}"#.to_owned(),
        r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo"}}"#.to_owned(),
    ];
    play(Limits::default(), async |stage| {
        let mut host = stage.connect();
        host.send(&piped.join("\n")).await;
        host.end().await;
        assert!(host.next().await.unwrap().contains("protocolVersion"));
        host.steps(&[
            r#"← {"id":1,"result":{"tools":[]}}"#,
            r#"← {"id":2,"result":{"content":[{"type":"text","text":"echo"}],"structuredContent":{}}}"#,
            "← end",
        ])
        .await;
        assert_eq!(stage.tools.opened.load(Ordering::SeqCst), 1);
        assert_eq!(stage.tools.closed.load(Ordering::SeqCst), 1);
        assert_eq!(stage.server.handle().count(), 0);
    });
}

#[test]
fn calls_that_do_not_stop_in_time_are_answered_for_and_dropped() {
    play(Limits::default(), async |stage| {
        let mut host = stage.connect();
        host.steps(&["→ hello"]).await;
        host.send(&call(1, "wait")).await;
        host.end().await;
        host.steps(&["· 5999ms", r#"← {"id":1,"error":«shutdown»}"#, "← end"]).await;
        assert_eq!(stage.tools.dropped.load(Ordering::SeqCst), 1);
    });
}

#[test]
fn what_a_call_answers_when_its_time_is_up_is_written() {
    check(&[
        "→ hello",
        r#"→ {"id":1,"method":"tools/call","params":{"name":"wait"}}"#,
        r#"→ {"id":2,"method":"tools/call","params":{"name":"obey"}}"#,
        r#"→ {"id":3,"method":"tools/call","params":{"name":"listen","_meta":{"progressToken":1}}}"#,
        "→ end",
        "· 4999ms",
        r#"← {"id":2,"result":{"content":[{"type":"text","text":"stopped"}],"isError":true}}"#,
        r#"← {"id":3,"result":{"content":[{"type":"text","text":"done"}]}}"#,
        "· 997ms",
        r#"← {"id":1,"error":«shutdown»}"#,
        "← end",
    ]);
}

#[test]
fn a_cancelled_call_is_not_answered_at_the_end() {
    check(&[
        "→ hello",
        r#"→ {"id":1,"method":"tools/call","params":{"name":"wait"}}"#,
        r#"→ {"id":2,"method":"tools/call","params":{"name":"obey"}}"#,
        "· 1ms",
        "shut down",
        "· 4999ms",
        r#"→ {"method":"notifications/cancelled","params":{"requestId":1}}"#,
        r#"← {"id":2,"result":{"content":[{"type":"text","text":"stopped"}],"isError":true}}"#,
        "← end",
    ]);
}

#[test]
fn the_end_is_early_when_all_calls_stop_or_the_client_is_gone() {
    for dies in [false, true] {
        play(Limits::default(), async |stage| {
            let mut host = stage.connect();
            host.steps(&["→ hello"]).await;
            host.send(&call(1, if dies { "wait" } else { "obey" })).await;
            host.send(&call(2, "sleep 5500")).await;
            host.steps(&["· 1ms", "shut down", "· 1ms", "shut down", "· 4999ms"]).await;
            let start = tokio::time::Instant::now();
            if dies {
                let outcome = host.die().await;
                assert!(matches!(outcome, Err(ServeError::Transport(TransportError::Closed))), "{outcome:?}");
            } else {
                while host.next().await.is_some() {}
                assert!(host.outcome().await.is_ok());
            }
            assert!(start.elapsed() <= Duration::from_millis(502), "{:?}", start.elapsed());
        });
    }
}

#[test]
fn shutting_down_takes_no_new_work_and_finishes_the_old() {
    check(&[
        "→ hello",
        r#"→ {"id":1,"method":"tools/call","params":{"name":"sleep 100"}}"#,
        r#"→ {"id":2,"method":"tools/call","params":{"name":"sleep 200"}}"#,
        "· 1ms",
        "shut down",
        "· 1ms",
        r#"→ {"id":3,"method":"tools/call","params":{"name":"echo"}}"#,
        r#"← {"id":3,"error":«shutdown»}"#,
        r#"→ {"id":4,"method":"ping"}"#,
        r#"← {"id":4,"result":{}}"#,
        r#"→ {"method":"notifications/cancelled","params":{"requestId":2}}"#,
        r#"← {"id":1,"result":{"content":[{"type":"text","text":"done"}]}}"#,
        "← end",
    ]);
}

#[test]
fn an_idle_session_ends_immediately() {
    check(&["→ hello", "· 1ms", "shut down", "← end"]);
    check(&["→ end", "← end"]);
    check(&["shut down", "← end"]);
}

#[test]
fn a_host_that_is_gone_ends_everything_immediately() {
    play(Limits::default(), async |stage| {
        let mut host = stage.connect();
        host.steps(&["→ hello"]).await;
        host.send(&call(1, "wait")).await;
        host.send(&call(2, "sleep 10")).await;
        host.steps(&["· 1ms"]).await;
        let outcome = host.die().await;
        assert!(matches!(outcome, Err(ServeError::Transport(TransportError::Closed))), "{outcome:?}");
        tokio::time::sleep(Duration::from_secs(2)).await;
        assert_eq!(stage.tools.dropped.load(Ordering::SeqCst), 1);
    });
}

#[test]
fn a_host_that_stops_reading_is_given_up_after_a_while() {
    play(Limits::default(), async |stage| {
        let mut host = stage.connect_with(512);
        host.steps(&["→ hello"]).await;
        for id in 0..20 {
            host.send(&call(id, "echo")).await;
        }
        host.end().await;
        let outcome = host.outcome().await;
        assert!(matches!(outcome, Err(ServeError::Stalled)), "{outcome:?}");
    });
}

#[test]
fn a_host_that_reads_slowly_gets_everything() {
    play(Limits::default(), async |stage| {
        let mut host = stage.connect_with(512);
        host.steps(&["→ hello"]).await;
        for id in 0..100 {
            host.send(&call(id, "echo")).await;
        }
        host.end().await;
        let mut answers = 0;
        while host.next().await.is_some() {
            answers += 1;
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        assert_eq!(answers, 100);
        assert!(host.outcome().await.is_ok());
    });
}

#[test]
fn dropping_the_future_cancels_everything() {
    play(Limits::default(), async |stage| {
        let mut host = stage.connect();
        host.steps(&["→ hello"]).await;
        host.send(&call(1, "wait")).await;
        host.steps(&["· 1ms"]).await;
        host.abort();
        assert_eq!(host.next().await, None);
        tokio::time::sleep(Duration::from_secs(2)).await;
        assert_eq!(stage.tools.dropped.load(Ordering::SeqCst), 1);
        assert_eq!(stage.tools.closed.load(Ordering::SeqCst), 1);
        assert_eq!(stage.server.handle().count(), 0);
    });
}

/// Its only tool blocks its thread until it is released, and does not notice its cancellation before.
struct Stubborn(Mutex<mpsc::Receiver<()>>);

impl Handler for Stubborn {
    fn info(&self) -> ServerInfo {
        ServerInfo::new("stubborn", "1")
    }

    async fn call_tool(&self, _: CallTool, _: Context) -> Result<CallToolResult, ErrorObject> {
        let _let_go = self.0.lock().unwrap().recv();
        Ok(CallToolResult::text("too late"))
    }
}

/// In real time, but however slow the machine is, the outcome is the same.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_holds_its_thread_is_answered_for_and_left_behind() {
    let (let_go, held) = mpsc::channel();
    let short = Duration::from_millis(10);
    let limits = Limits { drain_timeout: short, cancel_grace: short, ..Limits::default() };
    let handler = Stubborn(Mutex::new(held));
    let server = Server::with_sessions(ServerHandle::new(handler.info(), limits), handler);
    let (mut client, reader, writer) = JsonPeer::connected(1 << 16);
    let serving = tokio::spawn(async move { server.serve(Lines::new(reader, writer)).await });
    client.send_bytes(format!("{}\n{}\n", initialize("2025-11-25"), call(1, "hold")).as_bytes()).await;
    assert!(client.next_line().await.unwrap().contains("protocolVersion"));
    client.close().await;
    let answer = client.next_line().await.unwrap();
    assert_eq!(answer, full(&expand(r#"{"id":1,"error":«shutdown»}"#)));
    assert_eq!(client.next_line().await, None);
    assert!(serving.await.unwrap().is_ok());
    let_go.send(()).unwrap();
}
