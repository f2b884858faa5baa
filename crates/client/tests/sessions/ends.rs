//! The opening and the end of a session.

use std::time::Duration;

use protomcp_client::{CloseReason, Mode, OpenError, RequestError};
use protomcp_testing::{Seen, run_paused, until};
use protomcp_transport::memory;
use protomcp_types::{JsonObject, ProtocolVersion};

use super::script::Script;
use super::server::{Stage, client, connect, in_both_eras, registry};

#[test]
fn each_revision_is_negotiated() {
    run_paused(async {
        let registry = registry(&Seen::default());
        for version in ProtocolVersion::ALL {
            let mode = if version.is_stateful() { Mode::Stateful } else { Mode::Stateless };
            let session = connect(&registry, &client().mode(mode).version(version)).await;
            assert_eq!(session.server().version, version);
            session.call_tool("count", &JsonObject::new()).await.unwrap();
        }
        let session = connect(&registry, &client()).await;
        assert_eq!(session.server().version, ProtocolVersion::V2026_07_28, "the newest one by itself");
    });
}

#[test]
fn closing_fails_what_is_open_and_ends_both_sides() {
    in_both_eras(client, async |stage| {
        let call = tokio::spawn(stage.session.call_tool("hang", &JsonObject::new()).into_future());
        assert_eq!(stage.seen.wait().await, ["started"]);
        assert!(!stage.session.is_closed());
        assert_eq!(stage.session.close(Duration::from_secs(20)).await, CloseReason::Requested);
        assert!(stage.session.is_closed());
        assert_eq!(call.await.unwrap(), Err(RequestError::Closed(CloseReason::Requested)));
        assert_eq!(stage.session.closed().await, CloseReason::Requested);
        assert_eq!(stage.session.ping().await, Err(RequestError::Closed(CloseReason::Requested)));
        assert_eq!(stage.registry.sessions().count(), 0, "the server has seen the end");
    });
}

#[test]
fn the_last_handle_closes_the_connection() {
    in_both_eras(client, async |stage| {
        let clone = stage.session.clone();
        drop(stage.session);
        clone.ping().await.unwrap();
        // A request keeps the connection as well.
        let call = clone.call_tool("count", &JsonObject::new()).into_future();
        drop(clone);
        call.await.unwrap();
        until("the session is closed", || stage.registry.sessions().count() == 0).await;
    });
}

#[test]
fn the_end_of_the_server_ends_every_call() {
    for mode in [Mode::Stateful, Mode::Stateless] {
        run_paused(async {
            let seen = Seen::default();
            let registry = registry(&seen);
            let (ours, theirs) = memory::pair();
            let serving = tokio::spawn(async move { registry.serve(theirs).await });
            let session = client().mode(mode).connect(ours).await.unwrap();
            let call = tokio::spawn(session.call_tool("hang", &JsonObject::new()).into_future());
            assert_eq!(seen.wait().await, ["started"]);
            serving.abort();
            let ended = Err(RequestError::Closed(CloseReason::ByServer(None)));
            assert_eq!(call.await.unwrap(), ended);
            assert_eq!(session.closed().await, CloseReason::ByServer(None));
            let late = session.ping().await.unwrap_err();
            assert!(late.is_retryable(), "{late}");
        });
    }
}

#[test]
fn a_silent_server_does_not_hold_up_connect() {
    run_paused(async {
        let (ours, _theirs) = memory::pair();
        let failed = client().connect(ours).await.unwrap_err();
        assert_eq!(failed, CloseReason::NotOpened(OpenError::TimedOut(Duration::from_secs(30))));
        let (ours, theirs) = memory::pair();
        drop(theirs);
        assert_eq!(client().connect(ours).await.unwrap_err(), CloseReason::ByServer(None));
    });
}

#[test]
fn a_server_that_answers_pings_is_kept() {
    run_paused(async {
        let stage = Stage::open(Mode::Stateful, client().keep_alive(Duration::from_secs(10), 2)).await;
        // The server answers pings.
        tokio::time::sleep(Duration::from_secs(100)).await;
        assert!(!stage.session.is_closed());
    });
}

#[test]
fn a_silent_server_is_given_up() {
    run_paused(async {
        let client = client().keep_alive(Duration::from_secs(10), 2);
        let (session, mut script) = Script::open(Mode::Stateful, client).await;
        let call = tokio::spawn(session.call_tool("hang", &JsonObject::new()).into_future());
        script.expect("tools/call").await;
        script.expect("ping").await;
        script.expect("ping").await;
        assert_eq!(call.await.unwrap(), Err(RequestError::Closed(CloseReason::Unresponsive)));
        assert_eq!(session.closed().await, CloseReason::Unresponsive);
    });
}

#[test]
fn an_unreadable_answer_fails_its_call_immediately() {
    run_paused(async {
        let (session, mut script) = Script::open(Mode::Stateless, client()).await;
        let call = tokio::spawn(session.call_tool("a", &JsonObject::new()).into_future());
        script.expect("tools/call").await;
        script.answer(2, r#"{"resultType":"complete","content":5,"isError":"maybe"}"#);
        assert!(matches!(call.await.unwrap(), Err(RequestError::InvalidAnswer(_))));
        let call = tokio::spawn(session.call_tool("a", &JsonObject::new()).into_future());
        script.expect("tools/call").await;
        script.say_malformed(3);
        assert!(matches!(call.await.unwrap(), Err(RequestError::InvalidAnswer(_))));
        // The same in a batch, together with a good answer.
        let calls = [(); 2].map(|()| tokio::spawn(session.call_tool("a", &JsonObject::new()).into_future()));
        script.expect("tools/call").await;
        script.expect("tools/call").await;
        script.say_text(
            r#"[{"jsonrpc":"2.0","id":4,"result":{},"error":{}},{"jsonrpc":"2.0","id":5,"result":{"resultType":"complete","content":[]}}]"#,
        );
        let [bad, good] = calls;
        assert!(matches!(bad.await.unwrap(), Err(RequestError::InvalidAnswer(_))));
        good.await.unwrap().unwrap();
        assert!(!session.is_closed());
    });
}
