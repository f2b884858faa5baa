//! `Server::answer`: one request of 2026-07-28 without a session, and the messages that answer it.

use std::future::poll_fn;

use protomcp_server::{Audience, Extensions, Limits, Peer, Replies};
use protomcp_types::{Incoming, Message};

use super::transcript::{Stage, expand, full, play};

/// Sends a request with these parameters, and without a session.
pub(crate) fn send(stage: &Stage, method: &str, params: &str) -> Replies {
    let text = full(&expand(&format!(r#"{{"id":1,"method":"{method}","params":{{{params}}}}}"#)));
    let Ok(Incoming::One(Message::Request(request))) = Incoming::parse(&text.into()) else { panic!("not a request") };
    let meta = stage.server.handle().meta_of(&request.params);
    stage.server.answer(request, &meta, Peer::new(None, None, None), Extensions::default())
}

/// The next message, without its version.
pub(crate) async fn next(replies: &mut Replies) -> Option<String> {
    let reply = poll_fn(|cx| replies.poll_next(cx)).await?;
    Some(reply.message.to_text().replacen(r#""jsonrpc":"2.0","#, "", 1))
}

/// Checks all messages that answer a request.
fn check<const N: usize>(method: &str, params: &str, expected: [&str; N]) {
    play(Limits::default(), async |stage| {
        let mut replies = send(&stage, method, params);
        for expected in &expected {
            assert_eq!(next(&mut replies).await.as_deref(), Some(&*expand(expected)), "{method} {params}");
        }
        assert_eq!(next(&mut replies).await, None, "{method} {params}");
    });
}

const META: &str = r#""_meta":{«2026»}"#;

#[test]
fn a_call_is_answered_after_its_notifications() {
    let done =
        r#"{"id":1,"result":{"resultType":"complete","content":[{"type":"text","text":"done"}],"_meta":{«server»}}}"#;
    check("tools/call", &format!(r#""name":"sleep 5",{META}"#), [done]);
    let progress = r#""name":"count 1","_meta":{«2026»,"progressToken":"t"}"#;
    let report = r#"{"method":"notifications/progress","params":{"progressToken":"t","progress":1}}"#;
    check("tools/call", progress, [report, done]);
    let failed = r#"{"id":1,"result":{"resultType":"complete","content":[{"type":"text","text":"it did not work"}],"_meta":{«server»},"isError":true}}"#;
    check("tools/call", &format!(r#""name":"fail",{META}"#), [failed]);
}

#[test]
fn a_request_that_cannot_be_served_is_answered_with_an_error() {
    for (method, params, error) in [
        (
            "tools/call",
            &*format!(r#""name":"nothing",{META}"#),
            r#"{"code":-32602,"message":"unknown tool \"nothing\""}"#,
        ),
        ("nothing", META, r#"{"code":-32601,"message":"method not found: \"nothing\""}"#),
        ("tasks/list", META, r#"{"code":-32601,"message":"method not found: \"tasks/list\""}"#),
    ] {
        check(method, params, [&format!(r#"{{"id":1,"error":{error}}}"#)]);
    }
}

#[test]
fn a_request_listens_until_the_server_stops() {
    play(Limits::default(), async |stage| {
        let mut replies =
            send(&stage, "subscriptions/listen", &format!(r#""notifications":{{"toolsListChanged":true}},{META}"#));
        let id = r#""_meta":{"io.modelcontextprotocol/subscriptionId":1"#;
        let acknowledged = format!(
            r#"{{"method":"notifications/subscriptions/acknowledged","params":{{{id}}},"notifications":{{"toolsListChanged":true}}}}}}"#
        );
        assert_eq!(next(&mut replies).await, Some(acknowledged));
        stage.server.handle().tools_changed(Audience::Everyone);
        let changed = format!(r#"{{"method":"notifications/tools/list_changed","params":{{{id}}}}}}}"#);
        assert_eq!(next(&mut replies).await, Some(changed));
        assert!(stage.server.handle().sole_owner().is_some(), "it is open");
        stage.server.handle().shutdown();
        let ended = format!(r#"{{"id":1,"result":{{"resultType":"complete",{id},«server»}}}}}}"#);
        assert_eq!((next(&mut replies).await, next(&mut replies).await), (Some(expand(&ended)), None));
        drop(replies);
        assert_eq!(stage.server.handle().sole_owner(), None);
    });
}

#[test]
fn the_requests_of_all_clients_that_listen_are_bounded() {
    // One client may have four fifths of 10,000.
    const MOST: usize = 8000;
    play(Limits::default(), async |stage| {
        let listen = || send(&stage, "subscriptions/listen", &format!(r#""notifications":{{}},{META}"#));
        let is_acknowledged = |reply: Option<String>| reply.is_some_and(|reply| reply.contains("acknowledged"));
        let mut all = Vec::new();
        for number in 0..MOST {
            let mut replies = listen();
            assert!(is_acknowledged(next(&mut replies).await), "{number}");
            all.push(replies);
        }
        let mut second = listen();
        let refused = r#"{"id":1,"error":{"code":-32603,"message":"too many requests listen for changes; send it again in a moment","data":{"protomcp/error":{"error_code":"OVERLOADED","message":"too many requests listen for changes","suggestion":"send it again in a moment","retryable":true,"retry_after_ms":1000}}}}"#;
        assert_eq!((next(&mut second).await.as_deref(), next(&mut second).await), (Some(refused), None));
        drop(all.pop());
        assert!(is_acknowledged(next(&mut listen()).await));
    });
}

#[test]
fn a_change_before_the_acknowledgement_is_reported_after_it() {
    play(Limits::default(), async |stage| {
        let filter = r#""notifications":{"resourceSubscriptions":["file:///eager"]}"#;
        let mut replies = send(&stage, "subscriptions/listen", &format!("{filter},{META}"));
        let id = r#""_meta":{"io.modelcontextprotocol/subscriptionId":1}"#;
        let acknowledged =
            format!(r#"{{"method":"notifications/subscriptions/acknowledged","params":{{{id},{filter}}}}}"#);
        assert_eq!(next(&mut replies).await, Some(acknowledged));
        let updated =
            format!(r#"{{"method":"notifications/resources/updated","params":{{{id},"uri":"file:///eager"}}}}"#);
        assert_eq!(next(&mut replies).await, Some(updated));
    });
}

#[test]
fn a_request_that_is_dropped_is_cancelled() {
    play(Limits::default(), async |stage| {
        let mut replies = send(&stage, "tools/call", &format!(r#""name":"listen",{META}"#));
        let first = tokio::time::timeout(std::time::Duration::from_millis(1), next(&mut replies)).await;
        assert!(first.is_err(), "the call runs");
        drop(replies);
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        assert_eq!(stage.tools.closed.load(std::sync::atomic::Ordering::SeqCst), 100);
    });
}
