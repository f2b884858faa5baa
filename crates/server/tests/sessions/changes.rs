//! Telling hosts that the tool list has changed.

use std::sync::Arc;

use protomcp_server::{Audience, Limits, Server, ServerHandle, ServerInfo};
use protomcp_types::{ListCapability, ServerCapabilities};

use super::handler::FixedTasks;
use super::transcript::{Stage, check, play};

const CHANGED: &str = r#"← {"method":"notifications/tools/list_changed"}"#;

fn done(id: u32) -> String {
    format!(r#"← {{"id":{id},"result":{{"content":[{{"type":"text","text":"done"}}]}}}}"#)
}

#[test]
fn the_answer_comes_first_and_the_notice_trails_it() {
    check(&[
        "→ hello",
        r#"→ {"id":1,"method":"tools/call","params":{"name":"change"}}"#,
        &done(1),
        "· 9ms",
        CHANGED,
        "· 1000ms",
    ]);
}

#[test]
fn an_answer_that_takes_a_moment_still_comes_first() {
    check(&[
        "→ hello",
        r#"→ {"id":1,"method":"tools/call","params":{"name":"change 8"}}"#,
        &done(1),
        "· 9ms",
        CHANGED,
        "· 1000ms",
    ]);
}

#[test]
fn a_call_that_works_on_for_longer_is_answered_after_the_notice() {
    check(&[
        "→ hello",
        r#"→ {"id":1,"method":"tools/call","params":{"name":"change 12"}}"#,
        "· 9ms",
        CHANGED,
        &done(1),
        "· 1000ms",
    ]);
}

#[test]
fn later_calls_do_not_put_the_notice_off() {
    play(Limits::default(), async |stage| {
        let mut host = stage.connect();
        host.steps(&["→ hello", "· 1ms"]).await;
        stage.server.handle().tools_changed(Audience::Everyone);
        host.steps(&[
            "· 1ms",
            r#"→ {"id":1,"method":"tools/call","params":{"name":"sleep 5"}}"#,
            &done(1),
            "· 3ms",
            CHANGED,
        ])
        .await;
    });
}

#[test]
fn many_changes_are_announced_once_and_in_time() {
    play(Limits::default(), async |stage| {
        let mut host = stage.connect();
        host.steps(&["→ hello", "· 1ms"]).await;
        for _ in 0..100 {
            stage.server.handle().tools_changed(Audience::Everyone);
            host.steps(&["· 2ms"]).await;
        }
        // 200 ms of changes with less than the delay between them: not told yet, but told at 250 ms in any case.
        for _ in 0..20 {
            stage.server.handle().tools_changed(Audience::Everyone);
            host.steps(&["· 2ms"]).await;
        }
        stage.server.handle().tools_changed(Audience::Everyone);
        let start = tokio::time::Instant::now();
        host.steps(&[CHANGED]).await;
        assert_eq!(start.elapsed().as_millis(), 10);
        host.steps(&["· 1000ms"]).await;

        let start = tokio::time::Instant::now();
        let sessions = stage.server.handle().clone();
        let busy = tokio::spawn(async move {
            loop {
                sessions.tools_changed(Audience::Everyone);
                tokio::time::sleep(std::time::Duration::from_millis(2)).await;
            }
        });
        host.steps(&[CHANGED]).await;
        assert_eq!(start.elapsed().as_millis(), 250);
        host.steps(&["· 5ms"]).await;
        busy.abort();
        host.steps(&[CHANGED, "· 1000ms"]).await;
    });
}

#[test]
fn only_ready_sessions_of_the_audience_are_notified() {
    play(Limits::default(), async |stage| {
        let (mut one, mut two, mut fresh) = (stage.connect(), stage.connect(), stage.connect());
        one.steps(&["→ hello"]).await;
        two.steps(&["→ hello"]).await;
        fresh.send(&super::transcript::initialize("2025-11-25")).await;
        fresh.next().await;
        one.steps(&[r#"→ {"id":1,"method":"tools/call","params":{"name":"change-mine"}}"#, &done(1), CHANGED]).await;
        two.steps(&["· 1000ms"]).await;
        two.steps(&[r#"→ {"id":1,"method":"tools/call","params":{"name":"change"}}"#, &done(1), CHANGED]).await;
        one.steps(&[CHANGED]).await;
        fresh.steps(&["· 1000ms", r#"→ {"method":"notifications/initialized"}"#, "· 1000ms"]).await;
        stage.server.handle().tools_changed(Audience::Everyone);
        fresh.steps(&[CHANGED]).await;
    });
}

#[test]
fn without_the_capability_no_change_is_announced() {
    play(Limits::default(), async |stage| {
        let mut capabilities = ServerCapabilities::default().with_tools();
        capabilities.resources = Some(ListCapability { subscribe: true, list_changed: false });
        capabilities.tools = Some(ListCapability::default());
        let info = ServerInfo::new("fixed", "1").with_capabilities(capabilities);
        let server = Server::with_sessions(ServerHandle::new(info, Limits::default()), Arc::clone(&stage.tools))
            .layer(FixedTasks);
        let sessions = server.handle().clone();
        let mut host = Stage { server, tools: stage.tools }.connect();
        host.steps(&[
            "→ hello",
            r#"→ {"id":1,"method":"resources/subscribe","params":{"uri":"file:///known"}}"#,
            r#"← {"id":1,"result":{}}"#,
        ])
        .await;
        sessions.tools_changed(Audience::Everyone);
        sessions.resources_changed(Audience::Everyone);
        sessions.prompts_changed(Audience::Everyone);
        sessions.resource_updated("file:///known");
        host.steps(&[r#"← {"method":"notifications/resources/updated","params":{"uri":"file:///known"}}"#, "· 1000ms"])
            .await;
    });
}
