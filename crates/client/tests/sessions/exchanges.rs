//! Sessions over a transport on which each request has its own exchange, as over HTTP.

use std::time::Duration;

use protomcp_client::{ClientSession, CloseReason, Mode, NoAnswer, RequestError};
use protomcp_testing::{Log, run_paused};
use protomcp_types::{CallToolResult, JsonObject, code};
use tokio::task::JoinHandle;

use super::script::Script;
use super::server::client;

const TOOLS: &str = r#"{"ttlMs":0,"tools":[{"name":"a","inputSchema":{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}}}},{"name":"bad","inputSchema":{"type":"object","properties":{"x":{"type":"number","x-mcp-header":"X"}}}},{"name":"plain","inputSchema":{"type":"object"}}]}"#;
const DONE: &str = r#"{"resultType":"complete","content":[]}"#;

fn call(session: &ClientSession) -> JoinHandle<Result<CallToolResult, RequestError>> {
    tokio::spawn(session.call_tool("a", &serde_json::json!({"region": "eu \u{fc}"})).into_future())
}

#[test]
fn annotated_arguments_travel_in_header_fields() {
    run_paused(async {
        let (session, mut script) = Script::open(Mode::Stateless, client()).await;
        let listing = tokio::spawn({
            let session = session.clone();
            async move { session.list_tools(None).await }
        });
        script.expect("tools/list").await;
        script.answer(2, TOOLS);
        let names: Vec<_> =
            listing.await.unwrap().unwrap().items.into_iter().map(|tool| tool.name.to_string()).collect();
        assert_eq!(names, ["a", "plain"], "a tool that cannot be called is not listed");
        let call = call(&session);
        script.expect(r#"3 [("Mcp-Param-Region", "=?base64?ZXUgw7w=?=")]"#).await;
        script.expect(r#""id":3,"method":"tools/call""#).await;
        script.answer(3, DONE);
        call.await.unwrap().unwrap();
    });
}

#[test]
fn a_tool_that_is_left_out_is_named_in_the_log() {
    let log = Log::capture();
    run_paused(async {
        let (session, mut script) = Script::open(Mode::Stateless, client()).await;
        let listing = tokio::spawn(async move { session.list_tools(None).await });
        script.expect("tools/list").await;
        script.answer(2, TOOLS);
        listing.await.unwrap().unwrap();
    });
    let text = log.text();
    let warnings: Vec<_> = text.lines().filter(|line| line.contains("WARN")).collect();
    assert!(matches!(&*warnings, [one] if one.contains("left a tool out of the list tool=bad")), "{text}");
}

#[test]
fn with_a_session_nothing_is_mirrored() {
    run_paused(async {
        let (session, mut script) = Script::open(Mode::Stateful, client()).await;
        let listing = tokio::spawn({
            let session = session.clone();
            async move { session.list_tools(None).await }
        });
        script.expect("tools/list").await;
        script.answer(2, TOOLS);
        assert_eq!(listing.await.unwrap().unwrap().items.len(), 3);
        drop(call(&session));
        script.expect("tools/call").await;
    });
}

#[test]
fn a_header_mismatch_is_repaired_once() {
    run_paused(async {
        let (session, mut script) = Script::open(Mode::Stateless, client()).await;
        let call = call(&session);
        script.expect(r#""id":2,"method":"tools/call""#).await;
        script.refuse(2, code::HEADER_MISMATCH);
        script.expect(r#""id":3,"method":"tools/list""#).await;
        script.answer(3, TOOLS);
        script.expect("4 [(\"Mcp-Param-Region\"").await;
        script.expect(r#""id":4,"method":"tools/call""#).await;
        script.refuse(4, code::HEADER_MISMATCH);
        assert_eq!(call.await.unwrap().unwrap_err().code(), Some(code::HEADER_MISMATCH));
        assert!(script.is_quiet().await);
    });
}

#[test]
fn a_repair_is_not_held_back_by_the_layers_of_its_call() {
    run_paused(async {
        let client = client().layer(tower::limit::ConcurrencyLimitLayer::new(1));
        let (session, mut script) = Script::open(Mode::Stateless, client).await;
        let call = call(&session);
        script.expect("tools/call").await;
        script.refuse(2, code::HEADER_MISMATCH);
        script.expect("tools/list").await;
        script.answer(3, TOOLS);
        script.expect("4 [(\"Mcp-Param-Region\"").await;
        script.expect("tools/call").await;
        script.answer(4, DONE);
        call.await.unwrap().unwrap();
    });
}

#[test]
fn a_dropped_call_closes_its_stream() {
    run_paused(async {
        let (session, mut script) = Script::open(Mode::Stateless, client()).await;
        let call = call(&session);
        script.expect("tools/call").await;
        call.abort();
        assert_eq!(script.next().await, "close 2");
        session.close(Duration::ZERO).await;
        assert_eq!(script.next().await, "end");
    });
}

#[test]
fn a_lost_session_is_opened_again_with_everything_in_it() {
    run_paused(async {
        let (session, mut script) = Script::open(Mode::Stateful, client()).await;
        let subscribing = tokio::spawn({
            let session = session.clone();
            async move { session.subscribe("test:a").await }
        });
        script.expect("resources/subscribe").await;
        script.answer(2, "{}");
        subscribing.await.unwrap().unwrap();
        let call = call(&session);
        script.expect(r#""id":3,"method":"tools/call""#).await;
        script.lose(3);
        script.shake_hands(4).await;
        script.expect(r#""id":5,"method":"tools/call""#).await;
        script.expect(r#""id":6,"method":"resources/subscribe","params":{"uri":"test:a"}"#).await;
        script.answer(5, DONE);
        call.await.unwrap().unwrap();
    });
}

#[test]
fn a_stateless_request_is_not_repeated() {
    run_paused(async {
        let (session, mut script) = Script::open(Mode::Stateless, client()).await;
        let call = call(&session);
        script.expect("tools/call").await;
        script.lose(2);
        let failed = call.await.unwrap().unwrap_err();
        assert!(matches!(failed, RequestError::Unanswered { why: NoAnswer::SessionLost, .. }));
    });
}

#[test]
fn the_end_of_the_transport_ends_every_call() {
    run_paused(async {
        let (session, script) = Script::open(Mode::Stateless, client()).await;
        let calls: Vec<_> = (0..10).map(|_| call(&session)).collect();
        tokio::task::yield_now().await;
        drop(script);
        for call in calls {
            assert!(matches!(call.await.unwrap(), Err(RequestError::Closed(_))));
        }
        assert!(matches!(session.closed().await, CloseReason::ByServer(None)));
        assert!(session.call_tool("a", &JsonObject::new()).await.is_err());
    });
}

#[test]
fn a_repair_has_the_time_of_its_call() {
    let page = |cursor: &str| format!(r#"{{"ttlMs":0,"tools":[],"nextCursor":"{cursor}"}}"#);
    run_paused(async {
        let (session, mut script) = Script::open(Mode::Stateless, client()).await;
        let begun = tokio::time::Instant::now();
        let request = session.call_tool("a", &JsonObject::new()).total_timeout(Duration::from_secs(100));
        let call = tokio::spawn(request.timeout(Duration::from_secs(55)).into_future());
        script.expect("tools/call").await;
        tokio::time::sleep(Duration::from_secs(50)).await;
        script.refuse(2, code::HEADER_MISMATCH);
        script.expect("tools/list").await;
        tokio::time::sleep(Duration::from_secs(40)).await;
        script.answer(3, &page("b"));
        script.expect("tools/list").await;
        assert_eq!(call.await.unwrap(), Err(RequestError::TimedOut(Duration::from_secs(100))));
        assert_eq!(begun.elapsed().as_secs(), 100);
        script.expect("close 4").await;

        let begun = tokio::time::Instant::now();
        let request = session.call_tool("a", &JsonObject::new()).total_timeout(Duration::from_secs(100));
        let call = tokio::spawn(request.timeout(Duration::from_secs(55)).into_future());
        script.expect("tools/call").await;
        tokio::time::sleep(Duration::from_secs(50)).await;
        script.refuse(5, code::HEADER_MISMATCH);
        script.expect("tools/list").await;
        tokio::time::sleep(Duration::from_secs(10)).await;
        script.answer(6, TOOLS);
        script.expect("tools/call").await;
        assert_eq!(call.await.unwrap(), Err(RequestError::TimedOut(Duration::from_secs(100))));
        assert_eq!(begun.elapsed().as_secs(), 100, "and not 55 s after the second attempt");
    });
}

#[test]
fn a_subscription_is_renewed_beyond_the_limit_of_calls() {
    run_paused(async {
        let limits = protomcp_client::ClientLimits { max_pending: 1, ..Default::default() };
        let (session, mut script) = Script::open(Mode::Stateful, client().limits(limits)).await;
        for (id, uri) in [(2, "test:a"), (3, "test:b")] {
            let subscribing = tokio::spawn({
                let session = session.clone();
                async move { session.subscribe(uri).await }
            });
            script.expect("resources/subscribe").await;
            script.answer(id, "{}");
            subscribing.await.unwrap().unwrap();
        }
        let call = call(&session);
        script.expect("tools/call").await;
        script.lose(4);
        script.shake_hands(5).await;
        script.expect(r#""id":6,"method":"tools/call""#).await;
        script.expect(r#""id":7,"method":"resources/subscribe","params":{"uri":"test:a"}"#).await;
        script.expect(r#""id":8,"method":"resources/subscribe","params":{"uri":"test:b"}"#).await;
        script.answer(7, "{}");
        // The first attempt has no answer in time, the second is refused.
        tokio::time::sleep(Duration::from_secs(59)).await;
        script.answer(6, DONE);
        call.await.unwrap().unwrap();
        script.expect(r#""method":"notifications/cancelled","params":{"requestId":8}"#).await;
        script.expect(r#""id":9,"method":"resources/subscribe","params":{"uri":"test:b"}"#).await;
        script.refuse(9, code::INVALID_PARAMS);
        let ping = tokio::spawn({
            let session = session.clone();
            async move { session.ping().await }
        });
        script.expect("ping").await;
        script.answer(10, "{}");
        ping.await.unwrap().unwrap();
        // The next session has the one that is left.
        let call = self::call(&session);
        script.expect("tools/call").await;
        script.lose(11);
        script.shake_hands(12).await;
        script.expect(r#""id":13,"method":"tools/call""#).await;
        script.expect(r#""id":14,"method":"resources/subscribe","params":{"uri":"test:a"}"#).await;
        assert!(script.is_quiet().await);
        drop(call);
    });
}
