//! Listing and reading resources, and hearing of their changes.

use protomcp_server::Limits;
use protomcp_session::Session;

use super::transcript::{call, check, full, play};

const UPDATED: &str = r#"← {"method":"notifications/resources/updated","params":{"uri":"file:///known"}}"#;

fn done(id: u32) -> String {
    format!(r#"← {{"id":{id},"result":{{"content":[{{"type":"text","text":"done"}}]}}}}"#)
}

fn subscribe(id: u64, uri: &str) -> String {
    full(&format!(r#"{{"id":{id},"method":"resources/subscribe","params":{{"uri":"{uri}"}}}}"#))
}

#[test]
fn resources_and_templates_are_listed_and_read() {
    check(&[
        "→ hello",
        r#"→ {"id":1,"method":"resources/list"}"#,
        r#"← {"id":1,"result":{"resources":[{"uri":"file:///known","name":"known"}],"nextCursor":"more"}}"#,
        r#"→ {"id":2,"method":"resources/templates/list"}"#,
        r#"← {"id":2,"result":{"resourceTemplates":[{"uriTemplate":"file:///{path}","name":"files"}]}}"#,
        r#"→ {"id":3,"method":"resources/read","params":{"uri":"file:///known"}}"#,
        r#"← {"id":3,"result":{"contents":[{"uri":"file:///known","mimeType":"text/plain","text":"a\nb"},{"uri":"file:///known","blob":"AA=="}]}}"#,
        r#"→ {"id":4,"method":"resources/read","params":{"uri":"x"}}"#,
        r#"← {"id":4,"error":{"code":-32002,"message":"Resource not found","data":{"uri":"x"}}}"#,
        r#"→ {"id":5,"method":"resources/read"}"#,
        r#"← {"id":5,"error":{"code":-32602,"message":"invalid params: uri is missing"}}"#,
        r#"→ {"id":6,"method":"resources/list","params":{"cursor":5}}"#,
        r#"← {"id":6,"error":{"code":-32602,"message":"invalid params: cursor: invalid type: integer `5`, expected a string at line 1 column 1"}}"#,
    ]);
}

#[test]
fn only_a_host_that_has_subscribed_hears_of_changes() {
    play(Limits::default(), async |stage| {
        let (mut wants, mut quiet) = (stage.connect(), stage.connect());
        quiet.steps(&["→ hello"]).await;
        wants
            .steps(&[
                "→ hello",
                r#"→ {"id":1,"method":"resources/subscribe","params":{"uri":"file:///known"}}"#,
                r#"← {"id":1,"result":{}}"#,
            ])
            .await;
        stage.server.handle().resource_updated("file:///other");
        stage.server.handle().resource_updated("file:///known");
        wants.steps(&[UPDATED, "· 100ms"]).await;
        wants
            .steps(&[
                r#"→ {"id":2,"method":"resources/unsubscribe","params":{"uri":"file:///known"}}"#,
                r#"← {"id":2,"result":{}}"#,
                r#"→ {"id":3,"method":"resources/unsubscribe","params":{"uri":"file:///known"}}"#,
                r#"← {"id":3,"result":{}}"#,
            ])
            .await;
        stage.server.handle().resource_updated("file:///known");
        wants.steps(&["· 100ms"]).await;
        quiet.steps(&["· 100ms"]).await;
    });
}

#[test]
fn refused_and_withdrawn_subscriptions_do_not_count() {
    play(Limits::default(), async |stage| {
        let mut host = stage.connect();
        host.steps(&[
            "→ hello",
            r#"→ {"id":1,"method":"resources/subscribe","params":{"uri":"x"}}"#,
            r#"← {"id":1,"error":{"code":-32002,"message":"Resource not found","data":{"uri":"x"}}}"#,
            r#"→ {"id":2,"method":"resources/subscribe"}"#,
            r#"← {"id":2,"error":{"code":-32602,"message":"invalid params: uri is missing"}}"#,
            r#"→ {"id":3,"method":"resources/subscribe","params":{"uri":"file:///slow"}}"#,
            "· 1ms",
            r#"→ {"method":"notifications/cancelled","params":{"requestId":3}}"#,
            "· 100ms",
        ])
        .await;
        stage.server.handle().resource_updated("x");
        stage.server.handle().resource_updated("file:///slow");
        host.steps(&["· 100ms"]).await;
    });
}

#[test]
fn subscriptions_are_bounded_in_number_and_in_length() {
    play(Limits::default(), async |stage| {
        let mut host = stage.connect();
        host.steps(&["→ hello"]).await;
        for id in 0..Session::MAX_SUBSCRIPTIONS as u64 {
            host.send(&subscribe(id, &format!("file:///{id}"))).await;
            assert_eq!(host.next().await.unwrap(), full(&format!(r#"{{"id":{id},"result":{{}}}}"#)));
        }
        host.steps(&[
            r#"→ {"id":1,"method":"resources/subscribe","params":{"uri":"file:///more"}}"#,
            r#"← {"id":1,"error":{"code":-32603,"message":"too many subscriptions: at most 1024, and fewer while others need the room; end some"}}"#,
            r#"→ {"id":2,"method":"resources/subscribe","params":{"uri":"file:///7"}}"#,
            r#"← {"id":2,"result":{}}"#,
            r#"→ {"id":3,"method":"resources/unsubscribe","params":{"uri":"file:///7"}}"#,
            r#"← {"id":3,"result":{}}"#,
            r#"→ {"id":4,"method":"resources/subscribe","params":{"uri":"file:///more"}}"#,
            r#"← {"id":4,"result":{}}"#,
        ])
        .await;
    });
}

#[test]
fn updates_are_merged_while_the_client_does_not_read() {
    play(Limits::default(), async |stage| {
        let mut host = stage.connect_with(300);
        host.steps(&["→ hello"]).await;
        host.send(&subscribe(1, "file:///known")).await;
        host.steps(&[r#"← {"id":1,"result":{}}"#]).await;
        host.send(&call(2, "touch 100")).await;
        host.steps(&[UPDATED, &done(2), "· 100ms"]).await;
        // Fill the pipe, so that what follows cannot be written.
        for id in 3..20 {
            host.send(&call(id, "echo")).await;
        }
        tokio::time::sleep(std::time::Duration::from_millis(1)).await;
        for _ in 0..1000 {
            stage.server.handle().resource_updated("file:///known");
            tokio::task::yield_now().await;
        }
        let mut told = 0;
        while let Ok(line) = tokio::time::timeout(std::time::Duration::from_secs(1), host.next()).await {
            told += usize::from(line.unwrap().contains("updated"));
        }
        assert_eq!(told, 2);
    });
}

#[test]
fn each_list_change_is_announced_once_after_the_answer() {
    check(&[
        "→ hello",
        r#"→ {"id":1,"method":"tools/call","params":{"name":"change-all"}}"#,
        &done(1),
        "· 9ms",
        r#"← {"method":"notifications/tools/list_changed"}"#,
        r#"← {"method":"notifications/resources/list_changed"}"#,
        r#"← {"method":"notifications/prompts/list_changed"}"#,
        "· 1000ms",
    ]);
}
