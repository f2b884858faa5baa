//! The client of this project over this transport: discovery, fallback, and calls in every revision.

use std::sync::{Arc, Mutex};

use protomcp_client::{Client, CloseReason, Mode, RequestError};
use protomcp_http::{Config, Listener};
use protomcp_http_client::HttpTransport;
use protomcp_testing::{in_time, patience};
use protomcp_types::{JsonObject, ListTools, ProtocolVersion};

use super::own_server::OwnServer;
use super::peer::quick;
use super::script::{Part, Script, forwarding, in_session, json, response, result, stream, text};

fn transport(url: &str) -> HttpTransport {
    HttpTransport::new(url).unwrap()
}

fn client() -> Client {
    Client::new("host", "1").with_roots(["/a", "/b"])
}

#[tokio::test]
async fn calls_work_in_every_revision() {
    let server = OwnServer::new().await;
    let stateful = ProtocolVersion::ALL.into_iter().filter(|version| version.is_stateful());
    let clients = stateful.map(|version| (client().mode(Mode::Stateful).version(version), version));
    let clients = clients.chain([(client(), ProtocolVersion::V2026_07_28)]);
    for (client, version) in clients {
        let session = client.connect(transport(&server.url)).await.unwrap();
        assert_eq!(session.server().version, version);
        let tools = session.request::<ListTools>(&ListTools::default()).await.unwrap();
        assert!(format!("{tools:?}").contains("echo"));
        let seen = Arc::new(Mutex::new(0));
        let count = Arc::clone(&seen);
        let call = session.call_tool("count", &JsonObject::new()).on_progress(move |_| *count.lock().unwrap() += 1);
        call.await.unwrap();
        assert_eq!(*seen.lock().unwrap(), 3);
        let roots = session.call_tool("roots", &JsonObject::new()).await.unwrap();
        assert!(roots.content.to_string().contains("2 roots"), "{version}: {roots:?}");
        assert_eq!(session.close(patience()).await, CloseReason::Requested);
    }
}

#[tokio::test]
async fn many_concurrent_calls_get_their_answers() {
    let server = OwnServer::new().await;
    for mode in [Mode::Stateful, Mode::Stateless] {
        let session = client().mode(mode).connect(transport(&server.url)).await.unwrap();
        let calls = (0..200).map(|_| session.call_tool("echo", &JsonObject::new()));
        for outcome in futures_util::future::join_all(calls.map(IntoFuture::into_future)).await {
            outcome.unwrap();
        }
    }
}

#[tokio::test]
async fn the_client_falls_back_to_the_oldest_transport() {
    let config = Config::default().with_legacy_sse();
    let server = OwnServer::with(config, Listener::bind(("127.0.0.1", 0)).await.unwrap()).await;
    let target = server.url.replace("/mcp", "").replace("http://", "");
    let proxy = forwarding(&target).await;
    let session = client().connect(transport(&format!("http://{proxy}/sse"))).await.unwrap();
    assert!(session.server().version.is_stateful());
    let roots = session.call_tool("roots", &JsonObject::new()).await.unwrap();
    assert!(roots.content.to_string().contains("2 roots"));
    session.close(patience()).await;
}

#[tokio::test]
async fn a_dropped_call_is_cancelled_at_the_server() {
    let server = OwnServer::new().await;
    for mode in [Mode::Stateful, Mode::Stateless] {
        let session = client().mode(mode).connect(transport(&server.url)).await.unwrap();
        let call = session.call_tool("hang", &JsonObject::new());
        tokio::select! {
            outcome = call.into_future() => panic!("{outcome:?}"),
            begun = in_time(server.begun.notified()) => begun.expect("the call does not begin"),
        }
        in_time(server.dropped.notified()).await.expect("the call continues");
    }
}

#[tokio::test]
async fn a_lost_session_is_begun_again_for_a_call() {
    let script = Script::new(in_session(|request| match request.method.as_str() {
        "POST" if request.index < 5 => response(404, "", ""),
        "POST" => json(&result(request.id(), r#"{"content":[]}"#)),
        _ => response(405, "", ""),
    }))
    .await;
    let client = client().mode(Mode::Stateful);
    let session = client.connect(transport(&script.url()).limits(quick())).await;
    let session = match session {
        Ok(session) => session,
        Err(reason) => panic!("{reason:?}: {:?}", script.requests()),
    };
    session.call_tool("echo", &JsonObject::new()).await.unwrap();
    let handshakes = script.requests().iter().filter(|request| request.body.contains("\"initialize\"")).count();
    assert_eq!(handshakes, 2);
}

/// A server that has forgotten the first session when the call comes.
#[tokio::test]
async fn a_session_that_is_forgotten_with_400_is_begun_again() {
    for status in [400, 410] {
        let script = Script::new(in_session(move |request| match request.method.as_str() {
            "POST" if request.index < 5 => response(status, "", "unknown session"),
            "POST" => json(&result(request.id(), r#"{"content":[]}"#)),
            _ => response(405, "", ""),
        }))
        .await;
        let client = client().mode(Mode::Stateful);
        let session = client.connect(transport(&script.url()).limits(quick())).await.unwrap();
        session.call_tool("echo", &JsonObject::new()).await.unwrap();
        assert_eq!(handshakes(&script), 2, "{status}");
    }
    // In the new session the reply is that to the request.
    let script = Script::new(in_session(|_| response(400, "", "no such thing"))).await;
    let client = client().mode(Mode::Stateful);
    let session = client.connect(transport(&script.url()).limits(quick())).await.unwrap();
    let error = session.call_tool("echo", &JsonObject::new()).await.unwrap_err();
    assert!(error.to_string().contains("no such thing") && !error.is_retryable(), "{error}");
    assert_eq!(handshakes(&script), 2);
    let calls = script.requests().iter().filter(|request| request.body.contains("tools/call")).count();
    assert_eq!(calls, 2);
}

fn handshakes(script: &Script) -> usize {
    script.requests().iter().filter(|request| request.body.contains("\"initialize\"")).count()
}

#[tokio::test]
async fn a_failure_says_if_it_may_succeed_later() {
    for (parts, is_retryable) in [
        (response(503, "", ""), true),
        (response(401, "", ""), false),
        (vec![Part::Close], true),
        (response(400, "", ""), false),
    ] {
        let script = Script::new(in_session(move |_| parts.clone())).await;
        let session = client().mode(Mode::Stateful).connect(transport(&script.url()).limits(quick())).await.unwrap();
        let error = session.call_tool("echo", &JsonObject::new()).await.unwrap_err();
        assert!(matches!(error, RequestError::Unanswered { .. }), "{error:?}");
        assert_eq!(error.is_retryable(), is_retryable, "{error:?}");
    }
}

#[tokio::test]
async fn the_loss_of_an_idle_session_is_noticed_by_its_stream() {
    let streams = Arc::new(Mutex::new(0));
    let script = Script::new(move |request| {
        let session = request.headers.get("mcp-session-id").map(String::as_str);
        match (request.method.as_str(), session) {
            ("GET", Some("s1")) => {
                let mut streams = streams.lock().unwrap();
                *streams += 1;
                match *streams {
                    1 => vec![stream(), text(": hello\n\n"), Part::Close],
                    _ => response(404, "", ""),
                }
            }
            ("POST", _) if request.body.contains("\"initialize\"") => {
                let id = if request.index == 0 { "s1" } else { "s2" };
                let info =
                    r#"{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}"#;
                let fields = format!("content-type: application/json\r\nmcp-session-id: {id}\r\n");
                response(200, &fields, &result(request.id(), info))
            }
            ("POST", Some("s1")) if request.body.contains("\"ping\"") => response(404, "", ""),
            ("POST", _) if request.body.contains("notifications/") => response(202, "", ""),
            _ => response(405, "", ""),
        }
    })
    .await;
    let client = client().mode(Mode::Stateful);
    let session = client.connect(transport(&script.url()).limits(quick())).await.unwrap();
    // Handshake, its end, two streams, a ping, the next handshake and its end.
    let requests = script.seen(7).await;
    assert!(requests[5].body.contains("\"initialize\""), "{requests:?}");
    assert_eq!(requests[6].headers["mcp-session-id"], "s2");
    drop(session);
}
