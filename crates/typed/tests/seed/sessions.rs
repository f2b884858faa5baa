//! Sessions: several of one server, their end, and their messages besides calls.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use protomcp_server::{AskError, CloseReason, Context, Limits, SessionHandle};
use protomcp_testing::{JsonPeer, run_paused};
use protomcp_transport::lines::Lines;
use protomcp_transport::memory;
use protomcp_typed::{JsonSchema, Registry, Tool};
use protomcp_types::{Amount, CreateMessage, ListRoots, Progress, RawJson};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::host::Host;

const MINUTE: Duration = Duration::from_secs(60);

#[derive(Deserialize, JsonSchema)]
struct Sleep {
    seconds: u64,
}

fn registry() -> Registry {
    let limits = Limits { drain_timeout: Duration::from_secs(30), ..Limits::default() };
    Registry::builder("t", "1")
        .limits(limits)
        .tool(Tool::new("who", "d").handler(async |context: Context| context.session().to_string()))
        .tool(Tool::new("sleep", "d").handler(async |args: Sleep| sleep(Duration::from_secs(args.seconds)).await))
        .tool(Tool::new("count", "d").handler(async |context: Context| {
            (1..=3).for_each(|step| context.progress(&Progress::new(step).of(3)));
        }))
        .tool(Tool::new("until cancelled", "d").handler(async |context: Context| context.cancelled().await))
        .build()
        .unwrap()
}

/// A served session, and its client.
async fn pair(registry: &Registry, capabilities: Value) -> (SessionHandle, Host) {
    let (peer, reader, writer) = JsonPeer::connected(1 << 20);
    let session = registry.connect(Lines::new(reader, writer));
    (session, Host::over(peer, capabilities).await)
}

/// `Server.Connect` more than once: "multiple connections … to a server".
#[test]
fn one_server_has_many_sessions_and_they_are_told_apart() {
    run_paused(async {
        let registry = registry();
        let (one, mut first) = pair(&registry, json!({})).await;
        let (two, mut second) = pair(&registry, json!({"roots": {}})).await;
        assert_ne!(one.id(), two.id());
        assert_eq!(first.text("who", json!({})).await, one.id().to_string());
        assert_eq!(second.text("who", json!({})).await, two.id().to_string());
        assert_eq!(registry.sessions().count(), 2);
        assert!(!one.client().unwrap().capabilities.has_roots() && two.client().unwrap().capabilities.has_roots());
        first.peer.close().await;
        assert_eq!(one.closed().await, CloseReason::ClientLeft);
        assert_eq!((one.is_closed(), one.client(), two.is_closed()), (true, None, false));
        assert_eq!(second.text("who", json!({})).await, two.id().to_string());
    });
}

/// `ServerSession.Close`, `ServerSession.Wait`
#[test]
fn closing_waits_for_calls_as_long_as_it_may() {
    run_paused(async {
        for (call, deadline, reason, answered) in
            [(5, 20, CloseReason::Closed, true), (25, 10, CloseReason::Aborted, false)]
        {
            let (session, mut host) = pair(&registry(), json!({})).await;
            host.peer.request("tools/call", json!({"name": "sleep", "arguments": {"seconds": call}})).await;
            sleep(Duration::from_millis(1)).await;
            let start = Instant::now();
            let waiting = tokio::spawn({
                let session = session.clone();
                async move { session.closed().await }
            });
            assert_eq!(session.close(Duration::from_secs(deadline)).await, reason);
            assert_eq!(waiting.await.unwrap(), reason, "a waiting caller gets the same reason");
            assert_eq!((start.elapsed() + Duration::from_millis(10)).as_secs(), call.min(deadline));
            assert_eq!(host.peer.next_line().await.is_some(), answered);
            assert_eq!(session.close(MINUTE).await, reason, "closing twice is not an error");
        }
    });
}

#[test]
fn a_session_says_why_it_has_ended() {
    run_paused(async {
        let registry = registry();
        let (session, host) = pair(&registry, json!({})).await;
        drop(host);
        assert!(matches!(session.closed().await, CloseReason::ClientLeft | CloseReason::Broken(_)));
        let (session, _host) = pair(&registry, json!({})).await;
        registry.sessions().shutdown();
        assert_eq!(session.closed().await, CloseReason::Shutdown);
    });
}

/// `Server.Run`: "the common case of running a session until the client disconnects"
#[test]
fn running_a_server_ends_with_the_host() {
    run_paused(async {
        let (peer, reader, writer) = JsonPeer::connected(1 << 20);
        let running = tokio::spawn(async move { registry().serve(Lines::new(reader, writer)).await });
        let mut host = Host::over(peer, json!({})).await;
        host.text("who", json!({})).await;
        host.peer.close().await;
        running.await.unwrap().unwrap();
    });
}

/// "The server observes a client cancellation as cancelled context."
#[test]
fn cancelling_reaches_the_handler_and_nothing_is_answered() {
    run_paused(async {
        let (_session, mut host) = pair(&registry(), json!({})).await;
        let id = host.peer.request("tools/call", json!({"name": "until cancelled"})).await;
        host.peer.notify("notifications/cancelled", json!({"requestId": id})).await;
        assert!(host.peer.is_silent_for(MINUTE).await);
        assert_eq!(host.ask("ping", json!({})).await.unwrap(), json!({}));
    });
}

/// `ServerSession.NotifyProgress`: "only sent if the peer requested it"
#[test]
fn progress_goes_to_the_request_that_asked_for_it() {
    run_paused(async {
        let (_session, mut host) = pair(&registry(), json!({})).await;
        host.call("count", json!({})).await;
        assert_eq!(host.told, Vec::<Value>::new());
        host.ask("tools/call", json!({"name": "count", "_meta": {"progressToken": "p"}})).await.unwrap();
        let steps: Vec<_> = host.told.iter().map(|told| told["params"]["progress"].clone()).collect();
        assert_eq!(steps, [1, 2, 3], "in order and before the answer");
    });
}

/// `ClientSession.NotifyProgress`, as a server receives it, and `Server.CreateMessage` outside of a handler.
#[test]
fn a_host_reports_its_progress_on_a_question() {
    run_paused(async {
        let (session, mut host) = pair(&registry(), json!({"sampling": {}})).await;
        let seen = Arc::new(Mutex::new(Vec::new()));
        let report = {
            let seen = Arc::clone(&seen);
            move |progress: Progress| seen.lock().unwrap().push((progress.progress, progress.message))
        };
        let question = CreateMessage::new(RawJson::EMPTY_ARRAY, 9);
        let answer =
            tokio::spawn(session.ask::<CreateMessage>(&question).timeout(MINUTE).on_progress(report).into_future());
        let asked = host.peer.next().await;
        assert_eq!(asked["method"], "sampling/createMessage");
        let token = asked["params"]["_meta"]["progressToken"].clone();
        for (token, progress) in [(token.clone(), json!(1)), (json!("other"), json!(7)), (token.clone(), json!(2.5))] {
            host.peer
                .notify("notifications/progress", json!({"progressToken": token, "progress": progress, "message": "m"}))
                .await;
        }
        let result = json!({"role": "assistant", "content": {"type": "text", "text": "4"}, "model": "m"});
        host.peer.reply(&asked, result).await;
        assert_eq!(answer.await.unwrap().unwrap().model, "m");
        host.peer.notify("notifications/progress", json!({"progressToken": token, "progress": 9})).await;
        host.ask("ping", json!({})).await.unwrap();
        let steps = [(Amount::from(1), Some("m".to_owned())), (Amount::from(2.5), Some("m".to_owned()))];
        assert_eq!(*seen.lock().unwrap(), steps);
        // There is no listener: no token is sent.
        let quiet = tokio::spawn(session.ask::<CreateMessage>(&question).timeout(MINUTE).into_future());
        assert_eq!(host.peer.next().await["params"].get("_meta"), None);
        quiet.abort();
    });
}

/// `Server.ListRoots`, `RootsChangedHandler`
#[test]
fn a_server_hears_of_changed_roots_and_asks_for_them() {
    run_paused(async {
        let changed = Arc::new(Mutex::new(Vec::new()));
        let note = Arc::clone(&changed);
        let registry = Registry::builder("t", "1")
            .on_roots_changed(move |session| note.lock().unwrap().push(session))
            .build()
            .unwrap();
        let (session, mut host) = pair(&registry, json!({"roots": {"listChanged": true}})).await;
        host.peer.notify("notifications/roots/list_changed", json!({})).await;
        host.peer.notify("notifications/something/else", json!({})).await;
        host.ask("ping", json!({})).await.unwrap();
        assert_eq!(*changed.lock().unwrap(), [session.id()]);
        let roots = tokio::spawn(session.ask::<ListRoots>(&ListRoots::default()).timeout(MINUTE).into_future());
        let asked = host.peer.next().await;
        assert_eq!(asked["method"], "roots/list");
        host.peer.reply(&asked, json!({"roots": [{"uri": "file:///a"}]})).await;
        assert_eq!(roots.await.unwrap().unwrap().roots[0].uri, "file:///a");
    });
}

#[test]
fn a_session_that_cannot_be_asked_says_why() {
    run_paused(async {
        let registry = registry();
        let (session, _host) = pair(&registry, json!({})).await;
        let refused = session.ask::<ListRoots>(&ListRoots::default()).timeout(MINUTE).await.unwrap_err();
        assert_eq!(refused, AskError::NotSupported("roots/list"));
        // A client of the stateless revision opens no session.
        let (ours, theirs) = memory::pair();
        let session = registry.connect(theirs);
        let refused = session.ask::<ListRoots>(&ListRoots::default()).timeout(MINUTE).await.unwrap_err();
        assert_eq!(refused, AskError::NoSession);
        assert!(refused.to_string().contains("no session"), "{refused}");
        drop(ours);
        session.close(MINUTE).await;
        let refused = session.ask::<ListRoots>(&ListRoots::default()).timeout(MINUTE).await.unwrap_err();
        assert_eq!(refused, AskError::Gone);
    });
}
