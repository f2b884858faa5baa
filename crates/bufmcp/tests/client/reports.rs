//! Progress, log messages and cancellation, from a tool to a client of proto-mcp, and to a host of JSON-RPC behind it.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use protomcp_bufmcp::message::{CallLog, CallProgress, CallToolRequest, LogLevel};
use protomcp_bufmcp::{BinaryBackend, BinaryClient, BinaryPeer, BinaryServer, CallReport, StructSchemas};
use protomcp_client::Client;
use protomcp_server::{Audience, Context, Handler, Limits, Server, ServerHandle, ServerInfo};
use protomcp_testing::in_time;
use protomcp_types::{
    CallTool, CallToolResult, ErrorObject, Level, ListTools, ListToolsResult, Progress, RawJson, ServerCapabilities,
    Tool, ToolName,
};
use serde_json::json;
use tokio::io::{duplex, split};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::config;

/// Tools that report what they do.
struct Tools {
    sessions: ServerHandle,
    /// Gets a word when a call begins to wait, and when it is dropped.
    told: UnboundedSender<&'static str>,
}

struct Waiting(UnboundedSender<&'static str>);

impl Drop for Waiting {
    fn drop(&mut self) {
        let _ = self.0.send("dropped");
    }
}

impl Handler for Tools {
    fn info(&self) -> ServerInfo {
        ServerInfo::clone(self.sessions.info())
    }

    async fn list_tools(&self, _: ListTools, _: Context) -> Result<ListToolsResult, ErrorObject> {
        let tools = ["report", "wait", "aside", "flood"].map(|name| Tool::new(ToolName::new(name).unwrap()));
        Ok(ListToolsResult::new(RawJson::of(&tools).unwrap()))
    }

    async fn call_tool(&self, call: CallTool, context: Context) -> Result<CallToolResult, ErrorObject> {
        match call.name.as_str() {
            "report" => {
                for step in 1..=3 {
                    context.progress(&Progress::new(step).of(3).with_message(format!("step {step}")));
                    context.log(Level::Info, Some("tools"), &RawJson::of(&step).unwrap());
                }
                context.log(Level::Debug, None, &RawJson::text("details"));
            }
            "aside" => self.sessions.log(Audience::Everyone, Level::Warning, None, &RawJson::text("aside")),
            "flood" => drop(tokio::spawn(log_without_end(self.sessions.clone()))),
            _ => {
                let _waiting = Waiting(self.told.clone());
                self.told.send("waits").unwrap();
                std::future::pending::<()>().await;
            }
        }
        Ok(CallToolResult::text("done"))
    }
}

/// Keeps the queue of each session full.
async fn log_without_end(sessions: ServerHandle) {
    loop {
        for _ in 0..2_000 {
            sessions.log(Audience::Everyone, Level::Warning, None, &RawJson::text("more"));
        }
        tokio::task::yield_now().await;
    }
}

/// A client of these tools, and what they tell.
async fn connect() -> (BinaryClient, UnboundedReceiver<&'static str>) {
    let capabilities = ServerCapabilities::default().with_tools().with_logging();
    let limits = Limits { cancel_grace: Duration::ZERO, ..Limits::default() };
    let sessions = ServerHandle::new(ServerInfo::new("tools", "3").with_capabilities(capabilities), limits);
    let (told, hears) = unbounded_channel();
    let server = BinaryServer::new(Server::with_sessions(sessions.clone(), Tools { sessions, told }));
    let (ours, theirs) = duplex(4096);
    let ((reader, writer), (server_reader, server_writer)) = (split(ours), split(theirs));
    tokio::spawn(async move { server.serve(server_reader, server_writer, BinaryPeer::default()).await });
    (BinaryClient::connect(reader, writer, config()).await.unwrap(), hears)
}

fn call(name: &str, wants_progress: bool, level: LogLevel) -> CallToolRequest {
    CallToolRequest { name: name.into(), wants_progress, log_level: level as i32, ..CallToolRequest::default() }
}

/// A report in words.
fn word(report: CallReport) -> String {
    match report {
        CallReport::Progress(CallProgress { progress, total, message }) => format!("{progress}/{total} {message}"),
        CallReport::Log(CallLog { level, logger, .. }) => format!("{level} {logger}"),
    }
}

#[tokio::test]
async fn a_client_gets_the_reports_that_it_asks_for() {
    let (client, _told) = connect().await;
    let capabilities = client.server().capabilities;
    assert!(capabilities.supports_streaming && capabilities.supports_logging);
    let steps = ["1/3 step 1", "2/3 step 2", "3/3 step 3"];
    let both = ["1/3 step 1", "2 tools", "2/3 step 2", "2 tools", "3/3 step 3", "2 tools"];
    let debug = [&both[..], &["1 "]].concat();
    for (wants_progress, level, expected) in [
        (true, LogLevel::Unspecified, &steps[..]),
        (false, LogLevel::Info, &["2 tools"; 3]),
        (true, LogLevel::Info, &both),
        (true, LogLevel::Debug, &debug[..]),
        (false, LogLevel::Warning, &[]),
        (false, LogLevel::Unspecified, &[]),
    ] {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&seen);
        let on_report = move |report| kept.lock().unwrap().push(word(report));
        client.call_tool_with_reports(call("report", wants_progress, level), None, on_report).await.unwrap();
        assert_eq!(*seen.lock().unwrap(), expected, "{wants_progress} {level:?}");
    }
}

#[tokio::test]
async fn a_dropped_future_cancels_the_call() {
    let (client, mut told) = connect().await;
    let waiting = tokio::spawn({
        let client = client.clone();
        async move { client.call_tool(call("wait", false, LogLevel::Unspecified), None).await }
    });
    assert_eq!(told.recv().await, Some("waits"));
    waiting.abort();
    assert_eq!(told.recv().await, Some("dropped"));
    // The conversation goes on.
    client.call_tool(call("report", false, LogLevel::Unspecified), None).await.unwrap();
}

#[tokio::test]
async fn log_messages_of_no_call_follow_a_call_that_wants_them() {
    let (client, _told) = connect().await;
    let (sent, mut seen) = unbounded_channel();
    client.on_log(move |log| sent.send(word(CallReport::Log(log))).unwrap());
    // None has been asked for yet.
    client.call_tool(call("aside", true, LogLevel::Unspecified), None).await.unwrap();
    client.call_tool(call("report", false, LogLevel::Warning), None).await.unwrap();
    client.call_tool(call("aside", false, LogLevel::Unspecified), None).await.unwrap();
    assert_eq!(seen.recv().await.as_deref(), Some("4 "));
    client.close();
    client.closed().await;
    assert_eq!(seen.recv().await, None, "only one");
}

#[tokio::test]
async fn a_function_that_panics_ends_no_conversation() {
    let (client, _told) = connect().await;
    let (sent, mut seen) = unbounded_channel();
    let panics = move |word: String| assert!(sent.send(word).is_err(), "on purpose");
    let (on_log, on_report) = (panics.clone(), panics);
    client.on_log(move |log| on_log(word(CallReport::Log(log))));
    let reporting = call("report", true, LogLevel::Warning);
    client.call_tool_with_reports(reporting, None, move |report| on_report(word(report))).await.unwrap();
    for step in ["1/3 step 1", "2/3 step 2", "3/3 step 3"] {
        assert_eq!(seen.recv().await.as_deref(), Some(step));
    }
    for _ in 0..2 {
        client.call_tool(call("aside", false, LogLevel::Unspecified), None).await.unwrap();
        assert_eq!(in_time(seen.recv()).await, Ok(Some("4 ".to_owned())));
    }
}

#[tokio::test]
async fn endless_log_messages_hold_up_no_request() {
    let (client, mut told) = connect().await;
    client.call_tool(call("report", false, LogLevel::Debug), None).await.unwrap();
    let call_tool = |name| client.call_tool(call(name, false, LogLevel::Unspecified), None);
    in_time(call_tool("flood")).await.expect("an answer").unwrap();
    in_time(call_tool("report")).await.expect("an answer").unwrap();
    let waiting = tokio::spawn({
        let client = client.clone();
        async move { client.call_tool(call("wait", false, LogLevel::Unspecified), None).await }
    });
    assert_eq!(in_time(told.recv()).await, Ok(Some("waits")));
    waiting.abort();
    assert_eq!(in_time(told.recv()).await, Ok(Some("dropped")));
}

#[tokio::test]
async fn a_host_of_json_sees_the_same() {
    let (client, mut told) = connect().await;
    let (logged, mut logs) = unbounded_channel();
    let host = Client::new("host", "1.0").log_level(Level::Info).on_log(move |log, _| {
        let sent = logged.send((log.level, log.logger, log.data.as_str().to_owned()));
        async move { sent.unwrap() }
    });
    let host = host.connect(client.into_transport(Arc::new(StructSchemas))).await.unwrap();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&seen);
    host.call_tool("report", &json!({})).on_progress(move |step| kept.lock().unwrap().push(step)).await.unwrap();
    let steps = [1, 2, 3].map(|step| Progress::new(step).of(3).with_message(format!("step {step}")));
    assert_eq!(*seen.lock().unwrap(), steps);
    for step in ["1", "2", "3"] {
        assert_eq!(logs.recv().await, Some((Level::Info, Some("tools".to_owned()), step.to_owned())));
    }
    let waiting = tokio::spawn({
        let host = host.clone();
        async move { host.call_tool("wait", &json!({})).await }
    });
    assert_eq!(told.recv().await, Some("waits"));
    waiting.abort();
    assert_eq!(told.recv().await, Some("dropped"));
}

#[tokio::test]
async fn a_server_without_logging_says_so() {
    struct Silent;
    impl Handler for Silent {
        fn info(&self) -> ServerInfo {
            ServerInfo::new("silent", "1").with_capabilities(ServerCapabilities::default().with_tools())
        }
    }
    let server = BinaryServer::new(Server::from_handler(Silent));
    let (ours, theirs) = duplex(4096);
    let ((reader, writer), (server_reader, server_writer)) = (split(ours), split(theirs));
    tokio::spawn(async move { server.serve(server_reader, server_writer, BinaryPeer::default()).await });
    let client = BinaryClient::connect(reader, writer, config()).await.unwrap();
    let capabilities = client.server().capabilities;
    assert!(capabilities.supports_streaming && !capabilities.supports_logging);
    let info = BinaryBackend::new(client, Arc::new(StructSchemas)).info();
    assert!(info.capabilities.logging.is_none() && info.capabilities.tools.is_some());
}
