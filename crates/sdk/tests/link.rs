//! A server behind the other end of a link, which plays the bridge.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use protomcp_envelope::{
    ActiveToolsResponse, BridgeInfo, CallAnswer, CallToolRequest, CallToolResponse, CompletionRequest,
    ElicitationResponse, GetPromptRequest, ListPromptsRequest, ListResourcesRequest, MiddlewareInterceptRequest, Msg,
    NO_TOOL, ReadResourceRequest, TaskResultRequest, TaskStatusRequest, TaskStatusResponse, ToolDefinition,
};
use protomcp_link::{Config as LinkConfig, Event, HandshakeError, Link, Options};
use protomcp_sdk::{Config, Middleware, Verdict};
use protomcp_server::{
    AskError, Context, InputRequests, Limits, Server, ServerHandle, ServerInfo, ServerRequest, ServerResult, Service,
    TaskOptions,
};
use protomcp_testing::{in_time, patience};
use protomcp_typed::{Prompt, Registry, Resource, TaskError, Tool, ToolChange, ToolSelection};
use protomcp_types::{
    Elicit, ErrorObject, Level, ListRoots, ListToolsResult, Progress, RawJson, ServerCapabilities, TaskSupport,
};
use tokio::sync::{Semaphore, mpsc};

/// The bridge's end, after the handshake.
struct Bridge {
    link: Link,
    events: mpsc::Receiver<Event>,
    tools: Vec<ToolDefinition>,
}

impl Bridge {
    async fn open(registry: &Registry, features: &[&str]) -> Self {
        Self::over(registry.server(), features).await
    }

    async fn over(server: Server<impl Service>, features: &[&str]) -> Self {
        let (near, far) = tokio::io::duplex(64 * 1024);
        let skill_folders = vec!["skills".to_owned()];
        let config = Config { sideband_threshold: 1024, skill_folders, ..Config::default() };
        tokio::spawn(async move { protomcp_sdk::serve(server, far, config).await });
        let (link, events) = protomcp_link::drive(near, LinkConfig::default());
        let mut bridge = Self { link, events, tools: Vec::new() };
        // The announcement, then the end of the handshake.
        let info = bridge.event(|event| matches!(event, Event::Notification { message: Msg::SdkInfo(_), .. })).await;
        let Event::Notification { message: Msg::SdkInfo(info), .. } = info else { unreachable!() };
        assert_eq!((info.name.as_str(), info.language.as_str()), ("protomcp-sdk", "rust"));
        assert_eq!(info.skill_folders, ["skills"]);
        let features = features.iter().map(|&name| name.to_owned()).collect();
        bridge.link.reply("", BridgeInfo { name: "test".into(), version: String::new(), features });
        let ready = bridge.event(|event| matches!(event, Event::Ready(_))).await;
        let Event::Ready(handshake) = ready else { unreachable!() };
        bridge.tools = handshake.tools.expect("the first list");
        bridge
    }

    /// The next event of this kind; others are dropped.
    async fn event(&mut self, is_meant: impl Fn(&Event) -> bool) -> Event {
        let next = async {
            loop {
                let event = self.events.recv().await.expect("the link is open");
                if is_meant(&event) {
                    return event;
                }
            }
        };
        in_time(next).await.expect("the event comes")
    }

    /// The state of a task after its end.
    async fn ended(&self, task: &str) -> TaskStatusResponse {
        let ended = async {
            loop {
                let request = TaskStatusRequest { task_id: task.to_owned() };
                let status: TaskStatusResponse = self.link.call(request, patience()).await.expect("it is answered");
                if status.state != "running" {
                    return status;
                }
            }
        };
        in_time(ended).await.expect("it ends")
    }

    async fn call(&self, name: &str, arguments: &'static str) -> CallToolResponse {
        match call(self.link.clone(), name, arguments).await {
            CallAnswer::Result(response) => response,
            CallAnswer::Task(task) => panic!("{name} has become {task:?}"),
        }
    }
}

async fn call(link: Link, name: &str, arguments: &'static str) -> CallAnswer {
    let request = CallToolRequest { name: name.into(), arguments_json: arguments.into(), ..Default::default() };
    link.call_tool(request, patience(), Options::default()).await.expect("the call is answered")
}

fn text(response: &CallToolResponse) -> &str {
    std::str::from_utf8(&response.result_json).expect("content is text")
}

fn registry(tools: impl IntoIterator<Item = Tool>) -> Registry {
    let builder = Registry::builder("test", "1.0");
    tools.into_iter().fold(builder, protomcp_typed::Builder::tool).build().expect("the definitions are valid")
}

#[tokio::test]
async fn a_tool_is_listed_and_called() {
    let registry = registry([Tool::new("greet", "Says hi").handler(async || "Hello!").read_only()]);
    let bridge = Bridge::open(&registry, &[]).await;
    assert_eq!(bridge.tools[0].name, "greet");
    assert!(bridge.tools[0].read_only_hint);
    assert_eq!(text(&bridge.call("greet", "{}").await), r#"[{"type":"text","text":"Hello!"}]"#);
    let unknown = bridge.call("gree", "{}").await;
    assert!(unknown.is_error && text(&unknown).contains("greet"), "{unknown:?}");
    assert_eq!(unknown.error.expect("an error").error_code, "INVALID_PARAMS");
}

#[tokio::test]
async fn a_panic_stays_in_its_call() {
    let registry = registry([
        Tool::new("fall", "Panics").handler(async || -> &'static str { panic!("on purpose") }),
        Tool::new("stand", "Does not").handler(async || "here"),
    ]);
    let bridge = Bridge::open(&registry, &[]).await;
    assert!(bridge.call("fall", "{}").await.is_error);
    assert!(!bridge.call("stand", "{}").await.is_error);
}

#[tokio::test]
async fn sixty_four_calls_run_concurrently() {
    let (running, all) = (Arc::new(AtomicUsize::new(0)), Arc::new(Semaphore::new(0)));
    let gate = Arc::clone(&all);
    let registry = registry([Tool::new("meet", "Waits for 63 others").handler(move || {
        let (running, gate) = (Arc::clone(&running), Arc::clone(&gate));
        async move {
            if running.fetch_add(1, Ordering::SeqCst) == 63 {
                gate.add_permits(64);
            }
            gate.acquire().await.expect("it is open").forget();
            "met"
        }
    })]);
    let bridge = Bridge::open(&registry, &[]).await;
    let calls: Vec<_> = (0..64).map(|_| tokio::spawn(call(bridge.link.clone(), "meet", "{}"))).collect();
    for call in calls {
        let CallAnswer::Result(response) = call.await.expect("it runs") else { panic!("a task") };
        assert!(!response.is_error);
    }
}

#[tokio::test]
async fn cancellation_reaches_the_future() {
    let (began, mut begun) = mpsc::unbounded_channel();
    let (ended, mut end) = mpsc::unbounded_channel();
    let registry = registry([Tool::new("wait", "Waits").handler(move |context: Context| {
        let (began, ended) = (began.clone(), ended.clone());
        async move {
            began.send(()).expect("the test waits");
            context.cancelled().await;
            ended.send(()).expect("the test waits");
            "cancelled"
        }
    })]);
    let bridge = Bridge::open(&registry, &[]).await;
    let running = tokio::spawn(call(bridge.link.clone(), "wait", "{}"));
    in_time(begun.recv()).await.expect("it begins");
    running.abort();
    in_time(end.recv()).await.expect("the future is told");
}

#[tokio::test]
async fn large_results_arrive_whole() {
    let registry = registry([
        Tool::new("large", "Is large").handler(async || "x".repeat(3 << 20)),
        Tool::new("failed", "Is large and fails").handler(async || Err::<(), _>("y".repeat(1 << 20))),
    ]);
    for features in [&[][..], &["raw-with-result", "metadata"]] {
        let bridge = Bridge::open(&registry, features).await;
        let response = bridge.call("large", "{}").await;
        assert_eq!(response.result_json.len(), (3 << 20) + r#"[{"type":"text","text":""}]"#.len());
        let failed = bridge.call("failed", "{}").await;
        assert!(failed.is_error && failed.result_json.len() > 1 << 20);
    }
}

#[tokio::test]
async fn questions_are_asked_together() {
    let registry = registry([Tool::new("ask", "Asks").handler(async |context: Context| {
        let questions = InputRequests::new()
            .with::<Elicit>("who", &Elicit::form("Who?", RawJson::EMPTY_OBJECT))
            .with::<ListRoots>("where", &ListRoots::default());
        let answers = context.ask_all(questions).await.map_err(|error| error.to_string())?;
        let who = answers.to::<Elicit>("who").map_err(|error| error.to_string())?;
        Ok::<_, String>(format!("{:?}", who.action))
    })]);
    let mut bridge = Bridge::open(&registry, &["elicitation", "for-call", "question-key", "question-group"]).await;
    let asking = tokio::spawn(call(bridge.link.clone(), "ask", "{}"));
    let mut ids = Vec::new();
    for expected in ["elicitation_request", "list_roots_request"] {
        let event = bridge.event(|event| matches!(event, Event::Request { .. })).await;
        let Event::Request { id, message, for_call, .. } = event else { unreachable!() };
        assert_eq!(protomcp_envelope::message_name(&message), expected);
        assert!(!for_call.is_empty());
        ids.push(id);
    }
    bridge.link.reply(&*ids[1], protomcp_envelope::ListRootsResponse::default());
    bridge.link.reply(&*ids[0], ElicitationResponse { action: "decline".into(), ..Default::default() });
    let CallAnswer::Result(response) = asking.await.expect("it runs") else { panic!("a task") };
    assert_eq!(text(&response), r#"[{"type":"text","text":"Decline"}]"#);
}

#[tokio::test]
async fn progress_and_log_messages_belong_to_their_call() {
    let registry = registry([Tool::new("work", "Reports").handler(async |context: Context| {
        context.progress(&Progress::new(0.25).of(1.0).with_message("a quarter"));
        context.log(Level::Warning, Some("worker"), &RawJson::text("slow"));
        "done"
    })]);
    let mut bridge = Bridge::open(&registry, &["for-call"]).await;
    let (reports, mut reported) = mpsc::unbounded_channel();
    let options = Options::default().on_progress(move |progress| drop(reports.send(progress)));
    let request = CallToolRequest { name: "work".into(), arguments_json: "{}".into(), ..Default::default() };
    bridge.link.call_tool(request, patience(), options).await.expect("it is answered");
    let progress = reported.recv().await.expect("it was reported");
    assert_eq!((progress.progress, progress.total, progress.message.as_str()), (250, 1000, "a quarter"));
    let log = bridge.event(|event| matches!(event, Event::Notification { message: Msg::Log(_), .. })).await;
    let Event::Notification { message: Msg::Log(log), for_call } = log else { unreachable!() };
    assert_eq!((log.level.as_str(), log.logger.as_str()), ("warning", "worker"));
    assert!(!for_call.is_empty());
}

#[tokio::test]
async fn a_call_can_continue_as_a_task() {
    let registry = registry([Tool::new("long", "Takes long")
        .handler(async |context: Context| {
            context.continue_as_task(TaskOptions::default());
            context.set_task_message("thinking");
            "result"
        })
        .task(TaskSupport::Required)]);
    let bridge = Bridge::open(&registry, &[]).await;
    assert!(bridge.tools[0].task_required);
    let CallAnswer::Task(task) = call(bridge.link.clone(), "long", "{}").await else { panic!("no task") };
    assert_eq!(bridge.ended(&task.task_id).await.state, "completed");
    let request = TaskResultRequest { task_id: task.task_id };
    let response: CallToolResponse = bridge.link.call(request, patience()).await.expect("it has a result");
    assert_eq!(text(&response), r#"[{"type":"text","text":"result"}]"#);
}

/// In the text of the failure, and in its code for programs.
#[tokio::test]
async fn a_failure_keeps_its_kind() {
    let lost = async || Err::<(), _>(TaskError::new("the machine has gone"));
    let registry = registry([
        Tool::new("ask", "Asks").handler(async || Err::<(), _>(AskError::NoSession)),
        Tool::new("call", "Fails as a call").handler(lost),
        Tool::new("task", "Fails as a task").handler(lost).task(TaskSupport::Optional),
    ]);
    let bridge = Bridge::open(&registry, &[]).await;
    let asked = bridge.call("ask", "{}").await;
    assert_eq!((asked.is_error, asked.error.expect("details").error_code.as_str()), (true, "QUESTION_FAILED"));
    let called = bridge.call("call", "{}").await;
    assert!(called.is_error && text(&called).contains("the machine has gone"), "{called:?}");
    assert_eq!(called.error.map(|error| error.error_code).unwrap_or_default(), "", "it is the failure of a tool");
    let CallAnswer::Task(task) = call(bridge.link.clone(), "task", "{}").await else { panic!("no task") };
    let ended = bridge.ended(&task.task_id).await;
    assert_eq!((ended.state.as_str(), ended.message.as_str()), ("failed", "the machine has gone"));
}

#[tokio::test]
async fn resources_prompts_and_completions_are_served() {
    let registry = Registry::builder("test", "1.0")
        .resource(Resource::new("a:b", "b").text("content"))
        .prompt(Prompt::new("greet", "Greets").handler(async || "Hello"))
        .build()
        .expect("the definitions are valid");
    let mut bridge = Bridge::open(&registry, &["reply-errors", "list-changed"]).await;
    let link = bridge.link.clone();
    let resources = link.call(ListResourcesRequest {}, patience()).await.expect("a list").resources;
    assert_eq!(resources[0].uri, "a:b");
    let read = |uri: &str| link.call(ReadResourceRequest { uri: uri.into(), ..Default::default() }, patience());
    assert_eq!(read("a:b").await.expect("an answer").contents[0].text, "content");
    let unknown = read("a:c").await.expect("an answer").error.expect("an error");
    assert_eq!(unknown.error_code, "NOT_FOUND");
    let prompts = link.call(ListPromptsRequest {}, patience()).await.expect("a list").prompts;
    assert_eq!(prompts[0].name, "greet");
    let get = GetPromptRequest { name: "greet".into(), arguments_json: "{}".into(), ..Default::default() };
    assert_eq!(link.call(get, patience()).await.expect("a prompt").messages.len(), 1);
    let complete = CompletionRequest { ref_type: "ref/prompt".into(), ref_name: "other".into(), ..Default::default() };
    assert!(link.call(complete, patience()).await.expect("an answer").error.is_some());
    // The registry has told its session, and the session the bridge.
    registry.resource_updated("a:b");
    bridge.event(|event| matches!(event, Event::Notification { message: Msg::ResourceChanged(_), .. })).await;
    registry.prompts().remove("greet");
    bridge.event(|event| matches!(event, Event::Notification { message: Msg::PromptListChanged(_), .. })).await;
}

#[tokio::test]
async fn a_changed_list_of_tools_is_sent_anew() {
    let registry = registry([Tool::new("a", "Is there from the beginning").handler(async || "a")]);
    let mut bridge = Bridge::open(&registry, &[]).await;
    registry.tools().insert(Tool::new("b", "Comes later").handler(async || "b")).expect("it is valid");
    let Event::Listed(tools) = bridge.event(|event| matches!(event, Event::Listed(_))).await else { unreachable!() };
    assert_eq!(tools.iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>(), ["a", "b"]);
}

/// Answers each request for tools with the same page.
struct Endless;

impl Service for Endless {
    async fn call(&self, _: ServerRequest, _: Context) -> Result<ServerResult, ErrorObject> {
        let tools = RawJson::parse(r#"[{"name":"a","inputSchema":{"type":"object"}}]"#).expect("it is JSON");
        Ok(ListToolsResult::new(tools).with_next("again").into())
    }
}

#[tokio::test]
async fn a_list_that_does_not_end_fails_the_start() {
    let mut info = ServerInfo::new("test", "1.0");
    info.capabilities = ServerCapabilities::default().with_tools();
    let server = Server::new(ServerHandle::new(info, Limits::default()), Endless);
    let (near, far) = tokio::io::duplex(4096);
    tokio::spawn(protomcp_sdk::serve(server, far, Config::default()));
    let (link, events) = protomcp_link::drive(near, LinkConfig::default());
    let mut bridge = Bridge { link, events, tools: Vec::new() };
    let failed = bridge.event(|event| matches!(event, Event::HandshakeFailed(_))).await;
    let Event::HandshakeFailed(HandshakeError::Refused(reason)) = failed else { panic!("{failed:?}") };
    assert_eq!(reason, "tools/list: the list does not end: a cursor has come twice");
}

/// Has no tools, and answers no call.
struct Stuck;

impl Service for Stuck {
    async fn call(&self, request: ServerRequest, _: Context) -> Result<ServerResult, ErrorObject> {
        if let ServerRequest::CallTool(_) = request {
            std::future::pending::<()>().await;
        }
        Ok(ListToolsResult::new(RawJson::EMPTY_ARRAY).into())
    }
}

#[tokio::test]
async fn a_probe_of_the_bridge_reaches_no_handler() {
    let mut info = ServerInfo::new("test", "1.0");
    info.capabilities = ServerCapabilities::default().with_tools();
    let bridge = Bridge::over(Server::new(ServerHandle::new(info, Limits::default()), Stuck), &[]).await;
    let answer = bridge.call(NO_TOOL, "{}").await;
    assert!(answer.is_error && text(&answer).contains(NO_TOOL), "{answer:?}");
}

#[tokio::test]
async fn the_end_of_the_link_ends_the_server() {
    let registry = registry([Tool::new("wait", "Waits").handler(async |context: Context| {
        context.cancelled().await;
        "cancelled"
    })]);
    let (near, far) = tokio::io::duplex(4096);
    let serving = tokio::spawn(protomcp_sdk::serve(registry.server(), far, Config::default()));
    let (link, _events) = protomcp_link::drive(near, LinkConfig::default());
    link.close();
    let served = in_time(serving).await.expect("it ends");
    served.expect("it does not panic").expect("a closed link ends it without an error");
}

#[tokio::test]
async fn hidden_tools_are_shown_to_the_client_of_a_call() {
    let selection = ToolSelection::default();
    let enabling = selection.clone();
    let open = move |context: Context| {
        let selection = enabling.clone();
        async move { selection.enable(&context, ["look"]).await.map(|tools| tools.join(" ")) }
    };
    let registry = Registry::builder("vault", "1.0")
        .tool(Tool::new("open", "Opens").handler(open))
        .tool(Tool::new("look", "Looks").handler(async || "coins").hidden())
        .selection(&selection)
        .build()
        .expect("the definitions are valid");
    let mut bridge = Bridge::open(&registry, &["for-call"]).await;
    assert_eq!(bridge.tools.iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>(), ["look", "open"]);
    assert!(bridge.tools[0].metadata_json.is_empty(), "the mark is not for clients");
    let hidden = bridge.event(|event| matches!(event, Event::Request { message: Msg::DisableTools(_), .. })).await;
    let Event::Request { message: Msg::DisableTools(hidden), .. } = hidden else { unreachable!() };
    assert_eq!(hidden.tool_names, ["look"]);
    let opening = tokio::spawn(call(bridge.link.clone(), "open", "{}"));
    let asked = bridge.event(|event| matches!(event, Event::Request { message: Msg::Batch(_), .. })).await;
    let Event::Request { id, message: Msg::Batch(batch), for_call, .. } = asked else { unreachable!() };
    assert_eq!(batch.enable, ["look"]);
    assert!(!for_call.is_empty() && !id.is_empty());
    bridge.link.reply(id, ActiveToolsResponse { tool_names: vec!["look".into(), "open".into()] });
    let CallAnswer::Result(response) = opening.await.expect("it runs") else { panic!("a task") };
    assert_eq!(text(&response), r#"[{"type":"text","text":"look open"}]"#);
    // A call of a tool that the bridge shows is not refused here.
    assert_eq!(text(&bridge.call("look", "{}").await), r#"[{"type":"text","text":"coins"}]"#);
    // For all: the bridge gets the list anew, and the change of what is hidden.
    let change = ToolChange::enable_then_disable(vec!["look".into()], vec!["open".into()]);
    assert_eq!(selection.change_for_all(&change).expect("it is served"), ["look"]);
    let batch = bridge.event(|event| matches!(event, Event::Request { message: Msg::Batch(_), .. })).await;
    let Event::Request { message: Msg::Batch(batch), for_call, .. } = batch else { unreachable!() };
    assert_eq!((batch.enable.as_slice(), batch.disable.as_slice()), (&["look".into()][..], &["open".into()][..]));
    assert!(for_call.is_empty());
}

#[tokio::test]
async fn middleware_is_registered_and_runs() {
    let registry = registry([Tool::new("echo", "Echoes").handler(async || "said")]);
    let first = Middleware::new("first", -1).before(async |call| match call.tool.as_str() {
        "panic" => panic!("on purpose"),
        _ => Verdict::Replace(RawJson::EMPTY_OBJECT),
    });
    let last = Middleware::new("last", 7)
        .before(async |call| Verdict::Reject(format!("not {}", call.tool)))
        .after(async |_, result| (!result.is_error).then(|| RawJson::text("louder")));
    let config = Config { middleware: vec![first, last], ..Config::default() };
    let (near, far) = tokio::io::duplex(64 * 1024);
    let server = registry.server();
    tokio::spawn(async move { protomcp_sdk::serve(server, far, config).await });
    let (link, events) = protomcp_link::drive(near, LinkConfig::default());
    let mut bridge = Bridge { link, events, tools: Vec::new() };
    let ready = bridge.event(|event| matches!(event, Event::Ready(_))).await;
    let Event::Ready(handshake) = ready else { unreachable!() };
    let registered: Vec<_> = handshake.middleware.iter().map(|known| (known.name.as_str(), known.priority)).collect();
    assert_eq!(registered, [("first", -1), ("last", 7)]);
    let run = async |name: &str, phase: &str, tool: &str| {
        let request = MiddlewareInterceptRequest {
            middleware_name: name.into(),
            phase: phase.into(),
            tool_name: tool.into(),
            arguments_json: r#"{"a":1}"#.into(),
            result_json: r#""said""#.into(),
            is_error: false,
        };
        bridge.link.call(request, patience()).await.expect("it answers")
    };
    assert_eq!(run("first", "before", "echo").await.arguments_json, "{}");
    assert_eq!(run("last", "before", "echo").await.reject_reason, "not echo");
    assert_eq!(run("last", "after", "echo").await.result_json, r#""louder""#);
    assert!(run("first", "after", "echo").await.result_json.is_empty(), "it has no such function");
    assert_eq!(run("first", "before", "panic").await.reject_reason, "it panicked");
    // A reload registers it again: otherwise the bridge would see another registration, and start no new process.
    bridge.link.reload();
    let ready = bridge.event(|event| matches!(event, Event::Ready(_))).await;
    let Event::Ready(handshake) = ready else { unreachable!() };
    assert_eq!(handshake.middleware.len(), 2);
}
