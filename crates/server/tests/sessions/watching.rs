//! `subscriptions/listen` for the handler: it is told of the first request that listens to a resource, and of the last.

use std::time::Duration;

use protomcp_server::Limits;

use super::transcript::{Stage, play};

pub(crate) fn listen(id: u32, uris: &str) -> String {
    format!(
        r#"→ {{"id":{id},"method":"subscriptions/listen","params":{{"notifications":{{"resourceSubscriptions":[{uris}]}},"_meta":{{«2026»}}}}}}"#
    )
}

pub(crate) fn acknowledged(id: u32, uris: &str) -> String {
    let filter = if uris.is_empty() { String::new() } else { format!(r#""resourceSubscriptions":[{uris}]"#) };
    format!(
        r#"← {{"method":"notifications/subscriptions/acknowledged","params":{{"_meta":{{"io.modelcontextprotocol/subscriptionId":{id}}},"notifications":{{{filter}}}}}}}"#
    )
}

pub(crate) fn cancel(id: u32) -> String {
    format!(r#"→ {{"method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#)
}

pub(crate) const A: &str = r#""file:///a""#;

/// The messages of the handler since the last call.
pub(crate) async fn heard(stage: &Stage) -> Vec<String> {
    tokio::time::sleep(Duration::from_millis(1)).await;
    let mut heard = std::mem::take(&mut *stage.tools.watched.lock().unwrap());
    heard.sort();
    heard
}

#[test]
fn the_first_that_listens_and_the_last_that_leaves_count() {
    play(Limits::default(), async |stage| {
        let (mut one, mut two) = (stage.connect(), stage.connect());
        one.steps(&[&listen(1, A), &acknowledged(1, A)]).await;
        assert_eq!(heard(&stage).await, ["+file:///a"]);
        two.steps(&[&listen(1, A), &acknowledged(1, A), &listen(2, A), &acknowledged(2, A), &cancel(1)]).await;
        one.steps(&[&cancel(1)]).await;
        assert!(heard(&stage).await.is_empty());
        two.steps(&["→ end"]).await;
        assert_eq!(heard(&stage).await, ["-file:///a"]);
        one.steps(&[&listen(2, A), &acknowledged(2, A)]).await;
        drop(one);
        assert_eq!(heard(&stage).await, ["+file:///a", "-file:///a"]);
    });
}

#[test]
fn what_the_handler_does_not_know_cannot_be_listened_to() {
    play(Limits::default(), async |stage| {
        let mut host = stage.connect();
        host.steps(&[&listen(1, r#""file:///a","x:y""#), &acknowledged(1, A), &cancel(1)]).await;
        assert_eq!(heard(&stage).await, ["+file:///a", "+x:y", "-file:///a"]);
        host.steps(&[&listen(2, r#""x:y""#), &acknowledged(2, "")]).await;
        assert_eq!(heard(&stage).await, ["+x:y"]);
    });
}

#[test]
fn a_request_that_leaves_early_leaves_no_subscription() {
    play(Limits::default(), async |stage| {
        let mut host = stage.connect();
        let slow = r#""file:///slow""#;
        host.steps(&[&listen(1, slow), &cancel(1), "· 100ms"]).await;
        assert_eq!(heard(&stage).await, ["+file:///slow", "-file:///slow"]);
        let mut other = stage.connect();
        host.send(&super::transcript::full(&super::transcript::expand(&listen(2, slow)[4..]))).await;
        other.steps(&[&listen(2, slow), &acknowledged(2, slow)]).await;
        host.steps(&[&acknowledged(2, slow)]).await;
        assert_eq!(heard(&stage).await, ["+file:///slow", "+file:///slow"], "both begin at the same time");
        // A server that stops answers those that wait, too.
        host.steps(&[&listen(3, r#""file:///more/slow""#), "shut down", &acknowledged(3, r#""file:///more/slow""#)])
            .await;
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(heard(&stage).await, ["+file:///more/slow", "-file:///more/slow", "-file:///slow"]);
    });
}

#[test]
fn a_request_whose_answer_takes_long_holds_up_no_other() {
    play(Limits::default(), async |stage| {
        let (mut one, mut two) = (stage.connect(), stage.connect());
        let stuck = r#""file:///stuck""#;
        one.steps(&[&listen(1, stuck), "· 1ms"]).await;
        let began = tokio::time::Instant::now();
        two.steps(&[&listen(1, stuck), &acknowledged(1, stuck)]).await;
        assert!(began.elapsed() < Duration::from_secs(1));
        // The other gives up, and the one that listens still does.
        one.steps(&[&acknowledged(1, "")]).await;
        assert_eq!(began.elapsed().as_secs(), 29, "30 s after it began");
        assert_eq!(heard(&stage).await, ["+file:///stuck", "+file:///stuck"]);
        two.steps(&["→ end"]).await;
        assert_eq!(heard(&stage).await, ["-file:///stuck"]);
    });
}

#[test]
fn the_last_that_the_handler_hears_is_true() {
    play(Limits::default(), async |stage| {
        let mut host = stage.connect();
        let slow = r#""file:///slow""#;
        host.steps(&[&listen(1, slow), &acknowledged(1, slow), &cancel(1), "· 1ms"]).await;
        // The handler is still busy with the end of the first.
        host.steps(&[&listen(2, slow), &acknowledged(2, slow), "· 100ms"]).await;
        let told = std::mem::take(&mut *stage.tools.watched.lock().unwrap());
        assert_eq!(told, ["+file:///slow", "-file:///slow", "+file:///slow", "+file:///slow"]);
        host.steps(&[&cancel(2), "· 100ms"]).await;
        assert_eq!(heard(&stage).await, ["-file:///slow"]);
    });
}

#[test]
fn a_session_subscribes_by_itself() {
    play(Limits::default(), async |stage| {
        let mut host = stage.connect();
        host.steps(&[
            "→ hello",
            r#"→ {"id":1,"method":"resources/subscribe","params":{"uri":"file:///a"}}"#,
            r#"← {"id":1,"result":{}}"#,
            &listen(2, A),
            &acknowledged(2, A),
            &cancel(2),
        ])
        .await;
        assert_eq!(heard(&stage).await, ["+file:///a", "+file:///a", "-file:///a"]);
    });
}

#[test]
fn a_change_before_the_answer_is_reported_after_it() {
    play(Limits::default(), async |stage| {
        let mut host = stage.connect();
        let eager = r#""file:///eager""#;
        host.steps(&[
            "→ hello",
            r#"→ {"id":1,"method":"resources/subscribe","params":{"uri":"x:eager"}}"#,
            r#"← {"id":1,"error":{"code":-32002,"message":"Resource not found","data":{"uri":"x:eager"}}}"#,
            r#"→ {"id":2,"method":"resources/subscribe","params":{"uri":"file:///eager"}}"#,
            r#"← {"id":2,"result":{}}"#,
            r#"← {"method":"notifications/resources/updated","params":{"uri":"file:///eager"}}"#,
            "· 100ms",
        ])
        .await;
        let mut other = stage.connect();
        let updated = r#"← {"method":"notifications/resources/updated","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":1},"uri":"file:///eager"}}"#;
        other.steps(&[&listen(1, r#""file:///eager","x:eager""#), &acknowledged(1, eager), updated, "· 100ms"]).await;
    });
}
