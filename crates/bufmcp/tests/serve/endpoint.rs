//! Requests without a conversation: the reports of a call, and changes for a client that listens.

use futures_util::FutureExt;
use prost::Message as _;
use protomcp_bufmcp::message::{
    CallLog, CallProgress, CallToolRequest, CallToolResponse, ListenRequest, LogLevel, Notice, Payload,
    call_tool_response, notice,
};
use protomcp_bufmcp::{
    BinaryAnswer, BinaryCallEvent, BinaryCallEvents, BinaryCaller, BinaryEndpoint, BinaryListening, BinaryServer,
};
use protomcp_server::{Audience, Context, Handler, Limits, Server, ServerHandle, ServerInfo};
use protomcp_testing::{in_time, until};
use protomcp_types::{
    CallTool, CallToolResult, ErrorObject, Level, ListCapability, ListTools, ListToolsResult, Progress, RawJson,
    ServerCapabilities, Subscribe, Tool, ToolName,
};
use tokio::sync::Semaphore;

/// The tools `steps`, which reports three steps, `logs`, which logs more than waits, and `wait`, which does not end.
struct Tools(ServerHandle);

/// The calls of `logs` that have logged.
static LOGGED: Semaphore = Semaphore::const_new(0);

/// Has a permit when a client subscribes to `t:d`.
static TURN: Semaphore = Semaphore::const_new(0);

/// The calls of `wait` that run, and the ones that have ended.
static WAITING: Semaphore = Semaphore::const_new(0);
static ENDED: Semaphore = Semaphore::const_new(0);

struct Ended;

impl Drop for Ended {
    fn drop(&mut self) {
        ENDED.add_permits(1);
    }
}

impl Handler for Tools {
    fn info(&self) -> ServerInfo {
        ServerInfo::clone(self.0.info())
    }

    async fn list_tools(&self, _: ListTools, _: Context) -> Result<ListToolsResult, ErrorObject> {
        let tools = ["logs", "steps", "wait"].map(|name| Tool::new(ToolName::new(name).unwrap()).to_raw());
        Ok(ListToolsResult::new(RawJson::of(&tools).unwrap()))
    }

    async fn call_tool(&self, call: CallTool, context: Context) -> Result<CallToolResult, ErrorObject> {
        match call.name.as_str() {
            "steps" => {
                for step in 1..=3_i64 {
                    context.progress(&Progress::new(step).of(3));
                    context.log(Level::Info, Some("steps"), &RawJson::text("said"));
                }
            }
            "logs" => {
                for step in 1..=2_000_i64 {
                    context.log(Level::Info, None, &RawJson::text("said"));
                    context.progress(&Progress::new(step));
                    tokio::task::yield_now().await;
                }
                LOGGED.add_permits(1);
            }
            _ => {
                let _ended = Ended;
                WAITING.add_permits(1);
                std::future::pending::<()>().await;
            }
        }
        Ok(CallToolResult::text("done"))
    }

    async fn subscribe(&self, request: Subscribe, _: Context) -> Result<(), ErrorObject> {
        match request.uri.as_str() {
            "t:a" | "t:b" => Ok(()),
            // One waits for the other.
            "t:c" => {
                TURN.acquire().await.unwrap().forget();
                Ok(())
            }
            "t:d" => {
                TURN.add_permits(1);
                Ok(())
            }
            "t:full" => Err(ErrorObject::internal("full")),
            uri => Err(ErrorObject::resource_not_found(uri)),
        }
    }
}

fn serve() -> (BinaryEndpoint, ServerHandle) {
    let mut capabilities = ServerCapabilities::default().with_logging();
    capabilities.tools = Some(ListCapability { list_changed: true, subscribe: false });
    capabilities.resources = Some(ListCapability { list_changed: false, subscribe: true });
    let info = ServerInfo::new("tools", "1").with_capabilities(capabilities);
    let limits = Limits { cancel_grace: std::time::Duration::ZERO, ..Limits::default() };
    let sessions = ServerHandle::new(info, limits);
    let server = BinaryServer::new(Server::with_sessions(sessions.clone(), Tools(sessions.clone())));
    (server.endpoint(), sessions)
}

fn call(name: &str, wants_progress: bool, log_level: LogLevel) -> CallToolRequest {
    CallToolRequest { name: name.to_owned(), wants_progress, log_level: log_level as i32, ..CallToolRequest::default() }
}

/// The progress and the log messages of a call until its answer, and the answer.
async fn all(mut events: BinaryCallEvents) -> (Vec<f64>, Vec<CallLog>, CallToolResponse) {
    let (mut steps, mut logs) = (Vec::new(), Vec::new());
    loop {
        match in_time(events.next()).await.unwrap().expect("an event") {
            BinaryCallEvent::Report(report) if report.payload == 101 => {
                steps.push(CallProgress::decode(report.body).unwrap().progress);
            }
            BinaryCallEvent::Report(report) => {
                assert_eq!(report.payload, 103);
                logs.push(CallLog::decode(report.body).unwrap());
            }
            BinaryCallEvent::Answer(BinaryAnswer { outcome, .. }) => {
                assert!(events.next().await.is_none(), "nothing follows the answer");
                let Ok(Payload::CallToolResponse(response)) = outcome else { panic!("{outcome:?}") };
                return (steps, logs, response);
            }
        }
    }
}

fn has_succeeded(response: &CallToolResponse) -> bool {
    matches!(response.result, Some(call_tool_response::Result::Success(_)))
}

#[tokio::test]
async fn a_call_has_the_reports_that_it_wants_before_its_answer() {
    let (endpoint, _) = serve();
    for (wants_progress, level, steps, logs) in [
        (true, LogLevel::Info, 3, 3),
        (true, LogLevel::Unspecified, 3, 0),
        (false, LogLevel::Debug, 0, 3),
        (false, LogLevel::Error, 0, 0),
        (false, LogLevel::Unspecified, 0, 0),
    ] {
        let request = call("steps", wants_progress, level);
        let (made, said, response) = all(endpoint.call_tool(request, BinaryCaller::default())).await;
        assert!(has_succeeded(&response), "{response:?}");
        assert_eq!((made.len(), said.len()), (steps, logs), "{wants_progress} {level:?}");
        assert!(made.is_sorted() && said.iter().all(|log| log.logger == "steps"));
    }
    let unknown = call("nothing", true, LogLevel::Info);
    let (.., response) = all(endpoint.call_tool(unknown, BinaryCaller::default())).await;
    assert!(!has_succeeded(&response));
}

#[tokio::test]
async fn a_client_that_does_not_read_loses_reports_and_no_answer() {
    let (endpoint, sessions) = serve();
    let events = endpoint.call_tool(call("logs", true, LogLevel::Debug), BinaryCaller::default());
    // The call runs while its events wait.
    in_time(LOGGED.acquire()).await.unwrap().unwrap().forget();
    until("the call is over", || sessions.sole_owner().is_none()).await;
    let (steps, logs, response) = all(events).await;
    assert!(has_succeeded(&response));
    assert_eq!((logs.len(), steps.last()), (1_024, Some(&2_000.0)));
    assert!(steps.len() < 2_000 && steps.is_sorted());
}

#[tokio::test]
async fn dropping_the_events_cancels_the_call() {
    let (endpoint, _) = serve();
    let mut events = endpoint.call_tool(call("wait", true, LogLevel::Debug), BinaryCaller::default());
    assert!(events.next().now_or_never().is_none());
    in_time(WAITING.acquire()).await.unwrap().unwrap().forget();
    drop(events);
    in_time(ENDED.acquire()).await.unwrap().unwrap().forget();
}

async fn listen(endpoint: &BinaryEndpoint, uris: &[&str]) -> Result<BinaryListening, i32> {
    let uris = uris.iter().map(|uri| (*uri).to_owned()).collect();
    let request = ListenRequest { uris, log_level: LogLevel::Warning as i32 };
    endpoint.listen(request, BinaryCaller::default()).await.map_err(|fault| fault.code)
}

#[tokio::test]
async fn a_client_that_listens_hears_of_its_resources_and_of_lists() {
    let (endpoint, sessions) = serve();
    assert_eq!(listen(&endpoint, &["t:a", "t:full"]).await.unwrap_err(), -32603);
    assert_eq!(sessions.count(), 0, "one that is refused does not listen");
    let mut listening = listen(&endpoint, &["t:y", "t:a", "t:x"]).await.unwrap();
    assert_eq!(listening.missing(), ["t:x", "t:y"]);
    assert_eq!(sessions.count(), 1);
    sessions.resource_updated("t:b");
    sessions.resource_updated("t:a");
    let Some(Notice { notice: Some(notice::Notice::ResourceUpdated(updated)) }) =
        in_time(listening.next()).await.unwrap()
    else {
        panic!("another notice")
    };
    assert_eq!(updated.uri, "t:a");
    sessions.tools_changed(Audience::Everyone);
    let Some(Notice { notice: Some(notice::Notice::ListChanged(changed)) }) = in_time(listening.next()).await.unwrap()
    else {
        panic!("another notice")
    };
    assert!(changed.tools && !changed.resources && !changed.prompts);
    for level in [Level::Info, Level::Error] {
        sessions.log(Audience::Everyone, level, None, &RawJson::text("said"));
    }
    let Some(Notice { notice: Some(notice::Notice::Log(log)) }) = in_time(listening.next()).await.unwrap() else {
        panic!("another notice")
    };
    assert_eq!(log.level(), LogLevel::Error);
    sessions.shutdown();
    assert!(in_time(listening.next()).await.unwrap().is_none());
    drop(listening);
    assert_eq!(sessions.count(), 0);
}

#[tokio::test]
async fn subscriptions_of_one_client_begin_together() {
    let (endpoint, _) = serve();
    let listening = in_time(listen(&endpoint, &["t:c", "t:d"])).await.unwrap().unwrap();
    assert!(listening.missing().is_empty());
}

#[tokio::test]
async fn a_client_listens_to_1024_resources() {
    let (endpoint, sessions) = serve();
    let uris: Vec<_> = (0..=1_024).map(|number| format!("t:{number}")).collect();
    let uris: Vec<_> = uris.iter().map(String::as_str).collect();
    assert_eq!(listen(&endpoint, &uris).await.unwrap_err(), -32602);
    assert_eq!(listen(&endpoint, &uris[1..]).await.unwrap().missing().len(), 1_024);
    assert_eq!(sessions.count(), 0);
    assert!(listen(&endpoint, &["t:a"; 1_025]).await.unwrap().missing().is_empty());
}
