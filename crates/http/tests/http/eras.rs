//! Both kinds of revision at one address.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use protomcp_server::Audience;
use protomcp_testing::{in_time, until};
use protomcp_types::RawJson;

use super::client::{Answer, Host, call, full, initialize};
use super::handler::Stage;

/// A client of the stateless revision that repeats the body in its headers.
fn modern(stage: &Stage, method: &str, name: Option<&str>) -> Host {
    let host = stage.host.with("mcp-protocol-version", "2026-07-28").with("mcp-method", method);
    name.map_or_else(|| host.clone(), |name| host.with("mcp-name", name))
}

/// The `_meta` of a request.
pub(crate) fn meta(version: &str, more: &str) -> String {
    format!(
        r#""_meta":{{"io.modelcontextprotocol/protocolVersion":"{version}","io.modelcontextprotocol/clientCapabilities":{{}}{more}}}"#
    )
}

fn request(method: &str, params: &str) -> String {
    let meta = meta("2026-07-28", "");
    let params = if params.is_empty() { meta } else { format!("{params},{meta}") };
    format!(r#"{{"id":1,"method":"{method}","params":{{{params}}}}}"#)
}

pub(crate) fn tool(name: &str, more: &str) -> String {
    let meta = meta("2026-07-28", more);
    format!(r#"{{"id":1,"method":"tools/call","params":{{"name":"{name}",{meta}}}}}"#)
}

/// Status and code of the error; 0 if there is none.
#[track_caller]
fn verdict((status, text): (u16, String)) -> (u16, i64) {
    let value: serde_json::Value = serde_json::from_str(&text).unwrap_or_else(|_| panic!("no JSON: {text}"));
    (status, value["error"]["code"].as_i64().unwrap_or_default())
}

#[tokio::test]
async fn a_request_of_the_stateless_revision_stands_for_itself() {
    let stage = Stage::local().await;
    let answer = modern(&stage, "server/discover", None).post(&request("server/discover", "")).await;
    assert_eq!((answer.status, answer.kind()), (200, "application/json"));
    assert!(!answer.headers.contains_key("mcp-session-id"));
    let text = answer.text().await;
    assert!(text.contains("2026-07-28") && text.contains("resultType"), "{text}");
    let (status, text) = modern(&stage, "tools/call", Some("echo hi")).say(&tool("echo hi", "")).await;
    assert_eq!(status, 200);
    assert!(text.contains("\"hi\"") && text.contains("\"resultType\":\"complete\""), "{text}");
    assert_eq!(stage.service.sessions(), 0);
    // A session id in the headers is ignored.
    let host = modern(&stage, "tools/list", None).with("mcp-session-id", "whatever");
    assert_eq!(host.say(&request("tools/list", "")).await.0, 200);
}

#[tokio::test]
#[expect(clippy::too_many_lines, reason = "one table")]
async fn each_row_of_the_table_of_eras() {
    let stage = Stage::local().await;
    let session = stage.host.hello("2025-11-25").await;
    let plain = |headers: &[(&str, &str)]| {
        headers.iter().fold(stage.host.clone(), |host, (name, value)| host.with(name, value))
    };
    let list = r#"{"id":1,"method":"tools/list"}"#;
    let stateful_in_meta = format!(r#"{{"id":1,"method":"tools/list","params":{{{}}}}}"#, meta("2025-11-25", ""));
    let modern_initialize =
        initialize("2026-07-28", "{}").replace("\"params\":{", &format!("\"params\":{{{},", meta("2026-07-28", "")));
    let now = [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/list")];
    for (host, body, expected) in [
        // An array belongs to the older revisions.
        (plain(&now), format!("[{}]", full(list)), (400, -32600)),
        // A header or a method makes a request modern, and then its members are missing.
        (plain(&now), list.to_owned(), (400, -32602)),
        (
            session.with("mcp-protocol-version", "v999.0.0").with("mcp-method", "tools/list"),
            list.to_owned(),
            (400, -32602),
        ),
        (plain(&[("mcp-protocol-version", "2026-07-28")]), list.to_owned(), (400, -32020)),
        (plain(&[]), r#"{"id":1,"method":"server/discover"}"#.to_owned(), (400, -32020)),
        (
            plain(&[("mcp-protocol-version", "2025-11-25"), ("mcp-method", "subscriptions/listen")]),
            r#"{"id":1,"method":"subscriptions/listen"}"#.to_owned(),
            (400, -32602),
        ),
        // `initialize` is a handshake even if the header names another revision.
        (plain(&[("mcp-protocol-version", "2026-07-28")]), initialize("2025-11-25", "{}"), (200, 0)),
        (
            plain(&[("mcp-protocol-version", "2025-11-25"), ("mcp-method", "initialize")]),
            initialize("2025-11-25", "{}"),
            (200, 0),
        ),
        (
            plain(&[("mcp-protocol-version", "2026-07-28"), ("mcp-method", "initialize")]),
            modern_initialize,
            (404, -32601),
        ),
        // Everything else belongs to a session.
        (session.clone(), list.to_owned(), (200, 0)),
        (plain(&[("mcp-session-id", "unknown")]), list.to_owned(), (404, -32001)),
        (plain(&[]), list.to_owned(), (400, -32600)),
        // A revision with sessions cannot be had without one.
        (
            plain(&[("mcp-protocol-version", "2025-11-25"), ("mcp-method", "tools/list")]),
            stateful_in_meta,
            (400, -32022),
        ),
    ] {
        let said = host.say(&body).await;
        let text = said.1.clone();
        assert_eq!(verdict(said), expected, "{body}: {text}");
    }
    let notice = r#"{"method":"notifications/cancelled","params":{"requestId":1}}"#;
    assert_eq!(session.post(notice).await.status, 202);
    assert_eq!(plain(&[]).post(notice).await.status, 400);
    assert_eq!(plain(&now).post(r#"{"id":1,"result":{}}"#).await.status, 400);
    for method in ["GET", "DELETE"] {
        let refused = plain(&now).send(method, "").await;
        assert_eq!((refused.status, refused.headers["allow"].as_str()), (405, "POST"));
        assert_eq!(plain(&[]).send(method, "").await.status, 400);
    }
    for (host, allowed) in [(plain(&now), "POST"), (plain(&[]), "GET, POST, DELETE"), (session, "GET, POST, DELETE")] {
        let refused = host.send("PUT", "").await;
        assert_eq!((refused.status, refused.headers["allow"].as_str()), (405, allowed));
    }
}

#[tokio::test]
async fn a_stateless_notification_repeats_its_body_in_headers() {
    let stage = Stage::local().await;
    let (version, method) = (("mcp-protocol-version", "2026-07-28"), ("mcp-method", "notifications/cancelled"));
    let of = |more: &str| format!(r#"{{"method":"notifications/cancelled","params":{{"requestId":1{more}}}}}"#);
    let with_meta = |version: &str| of(&format!(",{}", meta(version, "")));
    for (headers, body, expected) in [
        (&[version, method][..], of(""), (202, 0)),
        (&[version, ("MCP-METHOD", " notifications/cancelled ")], of(""), (202, 0)),
        (&[version, method], with_meta("2026-07-28"), (202, 0)),
        (&[version, method], with_meta("v999.0.0"), (400, -32020)),
        (&[version, ("mcp-method", "tools/list")], of(""), (400, -32020)),
        (&[version, ("mcp-method", "Notifications/cancelled")], of(""), (400, -32020)),
        (&[version], of(""), (400, -32020)),
    ] {
        let host = headers.iter().fold(stage.host.clone(), |host, (name, value)| host.with(name, value));
        let (status, text) = host.say(&body).await;
        let error: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
        let code = error["error"]["code"].as_i64().unwrap_or_default();
        assert_eq!((status, code), expected, "{headers:?} {body}: {text}");
    }
}

#[tokio::test]
async fn faults_are_reported_in_the_order_that_clients_expect() {
    let stage = Stage::local().await;
    let host = |headers: &[(&str, &str)]| {
        headers.iter().fold(stage.host.clone(), |host, (name, value)| host.with(name, value))
    };
    let (version, method) = (("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/call"));
    let name = ("mcp-name", "echo x");
    let echo = tool("echo x", "");
    let of = |version: &str| {
        format!(r#"{{"id":1,"method":"tools/call","params":{{"name":"echo x",{}}}}}"#, meta(version, ""))
    };
    let without = |member: &str| echo.replace(member, "x/y");
    for (headers, body, expected) in [
        (&[version, method, name][..], echo.clone(), (200, 0)),
        (&[version, method, ("mcp-name", "  echo x ")], echo.clone(), (200, 0)),
        (&[version, method, ("mcp-name", "=?base64?ZWNobyB4?=")], echo.clone(), (200, 0)),
        (&[version, method, ("mcp-name", "=?base64?ZWNobyB5?=")], echo.clone(), (400, -32020)),
        (&[version, method, ("mcp-name", "=?base64?ZWNob?=")], echo.clone(), (400, -32020)),
        (&[version, method, ("mcp-name", "echo y")], echo.clone(), (400, -32020)),
        (&[version, method], echo.clone(), (400, -32020)),
        (&[version, name], echo.clone(), (400, -32020)),
        (&[method, name], echo.clone(), (400, -32020)),
        (&[version, ("mcp-method", "TOOLS/CALL"), name], echo.clone(), (400, -32020)),
        (&[version, method, name], without("io.modelcontextprotocol/protocolVersion"), (400, -32602)),
        (&[version, method, name], without("io.modelcontextprotocol/clientCapabilities"), (400, -32602)),
        (&[version, method, name], of("v999.0.0"), (400, -32020)),
        (&[("mcp-protocol-version", "v999.0.0"), method, name], of("v999.0.0"), (400, -32022)),
        (&[version, ("mcp-method", "unknown/method")], request("unknown/method", ""), (404, -32601)),
        (&[version, ("mcp-method", "ping")], request("ping", ""), (404, -32601)),
        (
            &[version, ("mcp-method", "logging/setLevel")],
            request("logging/setLevel", "\"level\":\"info\""),
            (404, -32601),
        ),
        (&[version, method, ("mcp-name", "absent")], tool("absent", ""), (400, -32602)),
        (&[version, method, ("mcp-name", "x")], request("tools/call", "\"name\":7"), (400, -32602)),
    ] {
        let said = host(headers).say(&body).await;
        let text = said.1.clone();
        assert_eq!(verdict(said), expected, "{headers:?} {body}: {text}");
        assert!(text.contains("\"id\":1"), "{text}");
    }
}

#[tokio::test]
async fn an_error_after_a_report_comes_as_an_event() {
    let stage = Stage::local().await;
    let progress = r#","progressToken":"t""#;
    let answer = modern(&stage, "tools/call", Some("count 2")).post(&tool("count 2", progress)).await;
    assert_eq!((answer.status, answer.kind()), (200, "text/event-stream"));
    assert_eq!(answer.headers["x-accel-buffering"], "no");
    let events = answer.events().await;
    assert_eq!(events.len(), 3, "{events:?}");
    assert!(events.iter().all(|event| event.id.is_none() && event.retry.is_none()));
    assert!(events[2].data.contains("\"resultType\":\"complete\""));
}

#[tokio::test]
async fn a_connection_that_breaks_cancels_its_request() {
    let stage = Stage::local().await;
    for (name, more) in [("wait", ""), ("report", r#","progressToken":"t""#)] {
        let host = modern(&stage, "tools/call", Some(name));
        let body = tool(name, more);
        let gone = tokio::spawn(async move {
            let mut answer = host.post(&body).await;
            while answer.event().await.is_some() {}
        });
        stage.tools.begun().await;
        gone.abort();
        let dropped = stage.tools.has_dropped.notified();
        in_time(dropped).await.expect("the call goes on");
    }
    assert_eq!(stage.tools.dropped.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn ids_of_different_requests_have_nothing_to_do_with_each_other() {
    let stage = Arc::new(Stage::local().await);
    let host = modern(&stage, "tools/call", Some("wait"));
    let waiting = tokio::spawn(async move { host.say(&tool("wait", "")).await });
    stage.tools.begun().await;
    let (status, _) = modern(&stage, "tools/call", Some("echo x")).say(&tool("echo x", "")).await;
    assert_eq!(status, 200);
    stage.tools.go.notify_one();
    assert_eq!(waiting.await.unwrap().0, 200);
    let session = stage.host.hello("2025-11-25").await;
    assert_eq!(session.say(&call(1, "echo x")).await.0, 200);
}

const LISTEN: &str = r#""notifications":{"toolsListChanged":true}"#;

async fn listen(stage: &Stage, id: &str) -> Answer {
    listen_for(stage, id, LISTEN).await
}

async fn listen_for(stage: &Stage, id: &str, wanted: &str) -> Answer {
    let body = request("subscriptions/listen", wanted).replace("\"id\":1", &format!("\"id\":{id}"));
    let mut answer = modern(stage, "subscriptions/listen", None).post(&body).await;
    assert_eq!((answer.status, answer.kind()), (200, "text/event-stream"));
    let first = answer.event().await.unwrap().data;
    assert!(first.contains("notifications/subscriptions/acknowledged"), "{first}");
    assert!(first.contains(&format!("\"io.modelcontextprotocol/subscriptionId\":{id}")), "{first}");
    answer
}

#[tokio::test]
async fn a_listener_is_notified_of_changes_until_the_end() {
    let stage = Stage::local().await;
    let (mut one, mut other) = (listen(&stage, "7").await, listen(&stage, "\"x\"").await);
    stage.sessions.tools_changed(Audience::Everyone);
    for (answer, id) in [(&mut one, "7"), (&mut other, "\"x\"")] {
        let changed = answer.event().await.unwrap().data;
        assert!(changed.contains("notifications/tools/list_changed") && changed.contains(id), "{changed}");
    }
    // A client that no longer listens is removed.
    assert_eq!(stage.sessions.count(), 2);
    drop(one);
    until("the client is removed", || stage.sessions.count() <= 1).await;
    stage.sessions.shutdown();
    let rest = other.events().await;
    assert_eq!(rest.len(), 1, "{rest:?}");
    assert!(rest[0].data.contains("\"resultType\":\"complete\"") && rest[0].data.contains("\"id\":\"x\""));
}

#[tokio::test]
async fn each_listen_request_gets_the_changes_it_asked_for() {
    let stage = Stage::local().await;
    let both = r#""notifications":{"toolsListChanged":true,"promptsListChanged":true}"#;
    let mut streams = Vec::new();
    for (id, wanted, told) in [
        ("1", LISTEN, &["tools"][..]),
        ("\"1\"", r#""notifications":{"promptsListChanged":true}"#, &["prompts"]),
        ("2", both, &["tools", "prompts"]),
        ("3", r#""notifications":{}"#, &[]),
    ] {
        streams.push((id, told, listen_for(&stage, id, wanted).await));
    }
    stage.sessions.tools_changed(Audience::Everyone);
    // Changes at the same moment are sent in a fixed order.
    let (_, _, both) = &mut streams[2];
    let first = both.event().await.unwrap();
    stage.sessions.prompts_changed(Audience::Everyone);
    let mut read = vec![first, both.event().await.unwrap()];
    stage.sessions.shutdown();
    for (id, told, stream) in streams {
        let events = if told.len() == 2 { std::mem::take(&mut read) } else { Vec::new() };
        let events: Vec<_> = events.into_iter().chain(stream.events().await).map(|event| event.data).collect();
        assert_eq!(events.len(), told.len() + 1, "{id}: {events:?}");
        for (event, list) in events.iter().zip(told) {
            assert!(event.contains(&format!("\"notifications/{list}/list_changed\"")), "{id}: {event}");
        }
        assert!(events[told.len()].contains("\"resultType\":\"complete\""), "{id}: {events:?}");
        let own = format!("\"io.modelcontextprotocol/subscriptionId\":{id}}}");
        let own_and_more = format!("\"io.modelcontextprotocol/subscriptionId\":{id},");
        assert!(events.iter().all(|event| event.contains(&own) || event.contains(&own_and_more)), "{id}: {events:?}");
    }
}

const ANNOTATED: &str = r#"{"name":"echo hi","inputSchema":{"type":"object","properties":{
    "region":{"type":"string","x-mcp-header":"Region"},
    "deep":{"type":"object","properties":{"level":{"type":"integer","x-mcp-header":"Level"}}},
    "plain":{"type":"string"}}}}"#;

#[tokio::test]
async fn annotated_arguments_are_repeated_in_headers() {
    let define = |name: &str| (name == "echo hi").then(|| RawJson::parse(ANNOTATED).unwrap());
    let stage = Stage::with_tools(define).await;
    for (arguments, headers, expected) in [
        (r#"{"region":"eu"}"#, &[("mcp-param-region", "eu")][..], 200),
        (r#"{"region":"eu"}"#, &[("MCP-PARAM-REGION", " eu ")], 200),
        (r#"{"region":"Z\u00fcrich"}"#, &[("mcp-param-region", "=?base64?WsO8cmljaA==?=")], 200),
        (r#"{"region":"=?base64?x"}"#, &[("mcp-param-region", "=?base64?x")], 200),
        (r#"{"region":"SGVsbG8"}"#, &[("mcp-param-region", "=?base64?U0dWc2JHOA?=")], 400),
        (r#"{"region":"eu"}"#, &[("mcp-param-region", "=?base64?ZX!=?=")], 400),
        (r#"{"region":"eu"}"#, &[("mcp-param-region", "us")], 400),
        (r#"{"region":"eu"}"#, &[("mcp-param-region", "EU")], 400),
        (r#"{"region":"eu"}"#, &[], 400),
        (r#"{"region":""}"#, &[("mcp-param-region", " ")], 200),
        (r#"{"deep":{"level":7}}"#, &[("mcp-param-level", "7")], 200),
        (r#"{"deep":{"level":7}}"#, &[("mcp-param-level", "07")], 200),
        (r#"{"deep":{"level":7}}"#, &[("mcp-param-level", "7.0")], 200),
        (r#"{"deep":{"level":7.0}}"#, &[("mcp-param-level", "7")], 200),
        (r#"{"deep":{"level":-7}}"#, &[("mcp-param-level", "-7.00")], 200),
        (r#"{"deep":{"level":0}}"#, &[("mcp-param-level", "-0")], 200),
        (r#"{"deep":{"level":7}}"#, &[("mcp-param-level", "7.5")], 400),
        (r#"{"deep":{"level":7}}"#, &[("mcp-param-level", "7.")], 400),
        (r#"{"deep":{"level":7}}"#, &[("mcp-param-level", "+7")], 400),
        (r#"{"deep":{"level":7}}"#, &[("mcp-param-level", "seven")], 400),
        (r#"{"deep":{"level":9007199254740993}}"#, &[("mcp-param-level", "9007199254740993.0")], 200),
        (r#"{"deep":{"level":9007199254740993}}"#, &[("mcp-param-level", "9007199254740992.0")], 400),
        (r#"{"deep":{"level":1e2}}"#, &[("mcp-param-level", "1e2")], 200),
        (r#"{"deep":{"level":1e2}}"#, &[("mcp-param-level", "100")], 200),
        (
            r#"{"deep":{"level":123456789012345678901234567890}}"#,
            &[("mcp-param-level", "123456789012345678901234567890")],
            200,
        ),
        (r#"{"deep":{"level":7}}"#, &[("mcp-param-level", "8")], 400),
        (r#"{"deep":{"level":7}}"#, &[], 400),
        (r#"{"region":null,"plain":"x"}"#, &[], 200),
        (r#"{"plain":"x"}"#, &[("mcp-param-region", "eu")], 400),
        ("{}", &[], 200),
    ] {
        let host = modern(&stage, "tools/call", Some("echo hi"));
        let host = headers.iter().fold(host, |host, (name, value)| host.with(name, value));
        let body = tool("echo hi", "").replace("\"name\"", &format!("\"arguments\":{arguments},\"name\""));
        let said = host.say(&body).await;
        assert_eq!(said.0, expected, "{arguments} {headers:?}: {}", said.1);
        assert_eq!(verdict(said).1, if expected == 200 { 0 } else { -32020 });
    }
}
