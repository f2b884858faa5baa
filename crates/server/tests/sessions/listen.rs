//! `subscriptions/listen` of 2026-07-28.

use protomcp_server::{Audience, Limits};
use protomcp_session::Session;

use super::transcript::{check, play};

const ALL: &str = r#"→ {"id":"l","method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true,"resourceSubscriptions":["file:///known"]},"_meta":{«2026»}}}"#;
const ALL_ACKNOWLEDGED: &str = r#"← {"method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"l"},"notifications":{"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true,"resourceSubscriptions":["file:///known"]}}}"#;
const ENDED: &str = r#"← {"id":"l","result":{"resultType":"complete","_meta":{"io.modelcontextprotocol/subscriptionId":"l",«server»}}}"#;
const END_NOTICE: &str = r#"← {"method":"notifications/cancelled","params":{"requestId":"l"}}"#;

fn listen(id: &str, filter: &str) -> String {
    format!(
        r#"→ {{"id":{id},"method":"subscriptions/listen","params":{{"notifications":{{{filter}}},"_meta":{{«2026»}}}}}}"#
    )
}

fn acknowledged(id: &str, filter: &str) -> String {
    format!(
        r#"← {{"method":"notifications/subscriptions/acknowledged","params":{{"_meta":{{"io.modelcontextprotocol/subscriptionId":{id}}},"notifications":{{{filter}}}}}}}"#
    )
}

fn changed(id: &str, list: &str) -> String {
    format!(
        r#"← {{"method":"notifications/{list}/list_changed","params":{{"_meta":{{"io.modelcontextprotocol/subscriptionId":{id}}}}}}}"#
    )
}

fn updated(id: &str, uri: &str) -> String {
    format!(
        r#"← {{"method":"notifications/resources/updated","params":{{"_meta":{{"io.modelcontextprotocol/subscriptionId":{id}}},"uri":"{uri}"}}}}"#
    )
}

fn call(id: u32, tool: &str) -> [String; 2] {
    [
        format!(r#"→ {{"id":{id},"method":"tools/call","params":{{"name":"{tool}","_meta":{{«2026»}}}}}}"#),
        format!(
            r#"← {{"id":{id},"result":{{"resultType":"complete","content":[{{"type":"text","text":"done"}}],"_meta":{{«server»}}}}}}"#
        ),
    ]
}

#[test]
fn listeners_are_notified_after_the_acknowledgement() {
    let [change, changed_all] = call(1, "change-all");
    let [touch, touched] = call(2, "touch");
    check(&[
        ALL,
        ALL_ACKNOWLEDGED,
        &change,
        &changed_all,
        "· 9ms",
        &changed("\"l\"", "tools"),
        &changed("\"l\"", "resources"),
        &changed("\"l\"", "prompts"),
        &touch,
        &updated("\"l\"", "file:///known"),
        &touched,
        "· 1000ms",
        "→ end",
        END_NOTICE,
        ENDED,
        "← end",
    ]);
}

#[test]
fn only_requested_changes_are_sent_and_the_id_keeps_its_type() {
    let [change, done] = call(9, "change-all");
    check(&[
        &listen("1", r#""toolsListChanged":true"#),
        &acknowledged("1", r#""toolsListChanged":true"#),
        &listen("\"1\"", r#""promptsListChanged":true,"toolsListChanged":false"#),
        &acknowledged("\"1\"", r#""promptsListChanged":true"#),
        &listen("-7", r#""toolsListChanged":null,"resourceSubscriptions":null"#),
        &acknowledged("-7", ""),
        &change,
        &done,
        &changed("1", "tools"),
        &changed("\"1\"", "prompts"),
        "· 1000ms",
    ]);
}

#[test]
fn sessions_and_listeners_do_not_hear_each_others_changes() {
    play(Limits::default(), async |stage| {
        let (mut session, mut listener) = (stage.connect(), stage.connect());
        session.steps(&["→ hello"]).await;
        listener.steps(&[ALL, ALL_ACKNOWLEDGED]).await;
        // A change for one session is not sent to requests without one, not even on its own connection.
        session
            .steps(&[&listen("1", r#""toolsListChanged":true"#), &acknowledged("1", r#""toolsListChanged":true"#)])
            .await;
        session
            .steps(&[
                r#"→ {"id":2,"method":"tools/call","params":{"name":"change-mine"}}"#,
                r#"← {"id":2,"result":{"content":[{"type":"text","text":"done"}]}}"#,
                r#"← {"method":"notifications/tools/list_changed"}"#,
                "· 1000ms",
            ])
            .await;
        listener.steps(&["· 1000ms"]).await;
        stage.server.handle().tools_changed(Audience::Everyone);
        session.steps(&[r#"← {"method":"notifications/tools/list_changed"}"#, &changed("1", "tools")]).await;
        listener.steps(&[&changed("\"l\"", "tools"), "· 1000ms"]).await;
        // The session has not subscribed to the resource.
        stage.server.handle().resource_updated("file:///known");
        listener.steps(&[&updated("\"l\"", "file:///known")]).await;
        session.steps(&["· 1000ms"]).await;
    });
}

#[test]
fn who_cancels_hears_nothing_more_and_gets_no_answer() {
    let [change, done] = call(9, "change-all");
    let [again, touched] = call(10, "touch");
    check(&[
        ALL,
        ALL_ACKNOWLEDGED,
        r#"→ {"method":"notifications/cancelled","params":{"requestId":"l"}}"#,
        &change,
        &done,
        &again,
        &touched,
        "· 1000ms",
        // Its id is free again.
        ALL,
        ALL_ACKNOWLEDGED,
        "→ end",
        END_NOTICE,
        ENDED,
        "← end",
    ]);
}

#[test]
fn a_server_that_stops_says_so_to_who_listens() {
    let [slow, done] = call(1, "sleep 100");
    check(&[ALL, ALL_ACKNOWLEDGED, &slow, "shut down", &done, END_NOTICE, ENDED, "← end"]);
    let wait = r#"→ {"id":1,"method":"tools/call","params":{"name":"wait","_meta":{«2026»}}}"#;
    check(&[
        ALL,
        ALL_ACKNOWLEDGED,
        wait,
        "shut down",
        "· 5000ms",
        &listen("5", ""),
        r#"← {"id":5,"error":«shutdown»}"#,
        r#"← {"id":1,"error":«shutdown»}"#,
        END_NOTICE,
        ENDED,
        "← end",
    ]);
}

#[test]
fn a_malformed_wish_is_refused() {
    for (params, message) in [
        (r#""a":1"#, "invalid params: missing field `notifications`"),
        (r#""notifications":{"toolsListChanged":"yes"}"#, "invalid params: "),
        (r#""notifications":{"resourceSubscriptions":"a"}"#, "invalid params: "),
    ] {
        play(Limits::default(), async |stage| {
            let mut host = stage.connect();
            let request =
                format!(r#"{{"id":1,"method":"subscriptions/listen","params":{{{params},"_meta":{{«2026»}}}}}}"#);
            host.send(&super::transcript::full(&super::transcript::expand(&request))).await;
            let answer = host.next().await.unwrap();
            let start = format!(r#"{{"jsonrpc":"2.0","id":1,"error":{{"code":-32602,"message":"{message}"#);
            assert!(answer.starts_with(&start), "{answer}");
        });
    }
    check(&[
        r#"→ {"id":1,"method":"subscriptions/listen","params":{"notifications":{}}}"#,
        r#"← {"id":1,"error":{"code":-32602,"message":"invalid params: _meta[\"io.modelcontextprotocol/protocolVersion\"] is missing"}}"#,
    ]);
}

#[test]
fn listeners_and_what_they_listen_for_are_bounded() {
    play(Limits::default(), async |stage| {
        let mut host = stage.connect();
        for id in 0..Session::MAX_LISTENERS {
            host.steps(&[&listen(&id.to_string(), ""), &acknowledged(&id.to_string(), "")]).await;
        }
        host.steps(&[
            &listen("\"more\"", ""),
            r#"← {"id":"more","error":{"code":-32603,"message":"too many subscriptions: at most 64 requests may listen"}}"#,
            r#"→ {"method":"notifications/cancelled","params":{"requestId":0}}"#,
            &listen("\"more\"", ""),
            &acknowledged("\"more\"", ""),
        ])
        .await;
    });
}
