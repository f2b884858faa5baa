//! Reading the results of a call needs the scopes of that call: an owner may have tokens that grant fewer.

use protomcp_auth::{ResourceServer, Scopes};
use protomcp_http::{Config, Listener, StreamableHttp};
use protomcp_server::{Context, Handler, Limits, Server, ServerHandle, ServerInfo, TaskOptions, Tasks};
use protomcp_types::{CallTool, CallToolResult, CreateTaskResult, ErrorObject, Progress, ServerCapabilities};
use serde_json::{Value, json};

use super::client::{Answer, Host, call, call_with_progress, initialize};
use super::oauth::{Plain, bearer};

/// Tools that are tasks, or report progress.
struct Slow(Tasks);

impl Handler for Slow {
    fn info(&self) -> ServerInfo {
        info()
    }

    async fn call_tool(&self, call: CallTool, context: Context) -> Result<CallToolResult, ErrorObject> {
        context.continue_as_task(TaskOptions::default());
        context.progress(&Progress::new(1));
        Ok(CallToolResult::text(format!("{} is done", call.name)))
    }

    async fn call_tool_as_task(&self, call: CallTool, context: Context) -> Result<CreateTaskResult, ErrorObject> {
        let text = format!("{} is done", call.name);
        let run = |_| async move { Ok(CallToolResult::text(text)) };
        self.0.begin(&context, None, TaskOptions::default(), run).await
    }

    fn tasks(&self) -> Option<&Tasks> {
        Some(&self.0)
    }
}

fn info() -> ServerInfo {
    let capabilities = ServerCapabilities::default().with_tools().with_tasks().with_task_extension();
    ServerInfo::new("slow", "1").with_capabilities(capabilities)
}

/// Calling `deploy` needs the scope `deploy`.
async fn serve() -> Host {
    let scopes = |text: &str| text.parse::<Scopes>().unwrap();
    let server = ResourceServer::new("https://tools.example.com/mcp", "https://login.example.com", Plain).unwrap();
    let server = server.require(&scopes("use")).scopes_for(move |operation| match operation.name {
        Some("deploy") if operation.method == "tools/call" => scopes("deploy"),
        _ => Scopes::default(),
    });
    let sessions = ServerHandle::new(info(), Limits::default());
    let handler = Slow(Tasks::new(sessions.clone()));
    let config = Config::default().protect(server).with_legacy_sse();
    let service = StreamableHttp::new(Server::with_sessions(sessions, handler), config);
    let listener = Listener::bind("127.0.0.1:0").await.unwrap();
    let host = Host::new(listener.local_addr().unwrap());
    tokio::spawn(protomcp_http::serve(listener, service).into_future());
    host
}

/// An answer that names the scopes it needs.
#[track_caller]
fn assert_refused(answer: &Answer, what: &str) {
    let challenge = answer.headers.get("www-authenticate").map_or("", String::as_str);
    assert_eq!(answer.status, 403, "{what}");
    assert!(challenge.contains("error=\"insufficient_scope\""), "{what}: {challenge}");
    assert!(challenge.contains("scope=\"deploy use\""), "{what}: {challenge}");
}

async fn json(answer: Answer) -> Value {
    let text = answer.text().await;
    serde_json::from_str(&text).unwrap_or_else(|_| panic!("no JSON: {text}"))
}

#[tokio::test]
async fn a_stream_is_read_again_with_the_scopes_of_the_session() {
    let host = serve().await;
    let ann = bearer(&host, "ann.use.deploy").hello("2025-11-25").await;
    let lesser = bearer(&ann, "ann.use");
    let events = ann.post(&call_with_progress(1, "plain")).await.events().await;
    let last = events[0].id.clone().unwrap();
    assert_eq!(lesser.with("last-event-id", &last).get().await.status, 200, "nothing has needed more yet");
    let events = ann.post(&call_with_progress(2, "deploy")).await.events().await;
    assert!(events.last().unwrap().data.contains("deploy is done"), "{events:?}");
    let last = events[0].id.clone().unwrap();
    assert_refused(&lesser.with("last-event-id", &last).get().await, "resume");
    assert_refused(&lesser.get().await, "listen");
    let again = ann.with("last-event-id", &last).get().await.events().await;
    assert!(again.last().unwrap().data.contains("deploy is done"), "{again:?}");
    // The lesser token gets the results of its requests.
    assert_eq!(lesser.post(&call(3, "plain")).await.status, 200);
}

#[tokio::test]
async fn a_task_of_a_session_is_read_with_the_scopes_of_the_session() {
    let host = serve().await;
    let ann = bearer(&host, "ann.use.deploy").hello("2025-11-25").await;
    let lesser = bearer(&ann, "ann.use");
    let begin = |id: u64, name: &str| {
        json!({"id": id, "method": "tools/call", "params": {"name": name, "task": {}}}).to_string()
    };
    let ask = |id: u64, method: &str, task: &Value| {
        json!({"id": id, "method": method, "params": {"taskId": task}}).to_string()
    };
    let plain = json(lesser.post(&begin(1, "plain")).await).await["result"]["task"]["taskId"].take();
    assert_eq!(lesser.post(&ask(2, "tasks/result", &plain)).await.status, 200);
    let task = json(ann.post(&begin(3, "deploy")).await).await["result"]["task"]["taskId"].take();
    for (id, method) in (4..).zip(["tasks/get", "tasks/result", "tasks/list", "tasks/cancel"]) {
        assert_refused(&lesser.post(&ask(id, method, &task)).await, method);
    }
    let result = json(ann.post(&ask(9, "tasks/result", &task)).await).await;
    assert_eq!(result["result"]["content"][0]["text"], "deploy is done", "{result}");
}

#[tokio::test]
async fn a_task_over_http_sse_needs_the_scopes_of_the_session() {
    let host = serve().await;
    let mut stream = bearer(&host.at("/sse"), "ann.use").get().await;
    let address = stream.event().await.unwrap().data;
    let [ann, lesser] = ["ann.use.deploy", "ann.use"].map(|token| bearer(&host.at(&format!("/sse{address}")), token));
    assert_eq!(ann.post(&initialize("2024-11-05", "{}")).await.status, 202);
    let ask = |id: u64, method: &str| json!({"id": id, "method": method, "params": {"taskId": "t"}}).to_string();
    assert_eq!(lesser.post(&ask(1, "tasks/get")).await.status, 202, "nothing has needed more yet");
    assert_eq!(ann.post(&call(2, "deploy")).await.status, 202);
    for (id, method) in (3..).zip(["tasks/get", "tasks/result", "tasks/list", "tasks/cancel"]) {
        assert_refused(&lesser.post(&ask(id, method)).await, method);
    }
    assert_eq!(ann.post(&ask(7, "tasks/result")).await.status, 202);
    assert_eq!(lesser.post(&call(8, "plain")).await.status, 202);
}

#[tokio::test]
async fn a_stateless_task_is_read_with_the_scopes_of_its_call() {
    let host = serve().await;
    let request = |token: &str, method: &str, name: Option<&str>, params: Value| {
        let host = bearer(&host, token).with("mcp-protocol-version", "2026-07-28").with("mcp-method", method);
        let host = name.map_or_else(|| host.clone(), |name| host.with("mcp-name", name));
        let mut params = params;
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {"extensions": {"io.modelcontextprotocol/tasks": {}}},
        });
        let body = json!({"id": 1, "method": method, "params": params}).to_string();
        async move { host.post(&body).await }
    };
    for (tool, needs_more) in [("plain", false), ("deploy", true)] {
        let begun = request("ann.use.deploy", "tools/call", Some(tool), json!({"name": tool})).await;
        let task = json(begun).await["result"]["taskId"].take();
        let id = task.as_str().unwrap().to_owned();
        let listen = json!({"notifications": {"taskIds": [id]}});
        for (method, name, params) in [
            ("tasks/get", Some(id.as_str()), json!({"taskId": id})),
            ("tasks/update", Some(id.as_str()), json!({"taskId": id, "inputResponses": {}})),
            ("tasks/cancel", Some(id.as_str()), json!({"taskId": id})),
            ("subscriptions/listen", None, listen),
        ] {
            let answer = request("ann.use", method, name, params).await;
            if needs_more {
                assert_refused(&answer, method);
            } else {
                assert_eq!(answer.status, 200, "{method}");
            }
        }
        let read = json(request("ann.use.deploy", "tasks/get", Some(&id), json!({"taskId": id})).await).await;
        assert_eq!(read["result"]["taskId"], task, "{read}");
        let other = request("eve.use.deploy", "tasks/get", Some(&id), json!({"taskId": id})).await;
        assert!(json(other).await["error"]["message"].as_str().unwrap().contains("unknown task"));
    }
}
