//! The server at the other end of the transcripts: it has what the tests ask for.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, UNIX_EPOCH};

use protomcp_server::{
    AskError, Audience, Context, Handler, InputRequests, InputRequired, Layer, ServerHandle, ServerInfo, ServerRequest,
    ServerResult, Service, SessionId, SessionView, TaskOptions,
};
use protomcp_types::{
    CallTool, CallToolResult, Complete, CompleteResult, Completion, ContentBlock, CreateMessage, CreateTaskResult,
    Elicit, ErrorObject, GetPrompt, GetPromptResult, Level, ListPrompts, ListPromptsResult, ListResourceTemplates,
    ListResourceTemplatesResult, ListResources, ListResourcesResult, ListRoots, ListTasksResult, ListTools,
    ListToolsResult, Ping, Progress, Prompt, PromptArgument, PromptMessage, RawJson, ReadResource, ReadResourceResult,
    Reference, Resource, ResourceContents, ResourceTemplate, Role, Subscribe, Task, TaskStatus, Tool, ToolName,
    Unsubscribe, meta,
};
use tokio::sync::watch;
use tokio::time::sleep;

/// The resource that there is.
const KNOWN: &str = "file:///known";

/// Tools that do what a test needs.
pub(crate) struct Tools {
    pub(crate) sessions: ServerHandle,
    pub(crate) called: AtomicUsize,
    pub(crate) opened: AtomicUsize,
    pub(crate) closed: AtomicUsize,
    /// Calls of `wait` that were dropped before their end.
    pub(crate) dropped: AtomicUsize,
    /// The outcomes of questions that were asked after the answer.
    pub(crate) late: Arc<watch::Sender<Option<AskError>>>,
    /// Subscriptions (`+`) and their ends (`-`), in order.
    pub(crate) watched: Mutex<Vec<String>>,
}

impl Handler for Tools {
    fn info(&self) -> ServerInfo {
        ServerInfo::clone(self.sessions.info())
    }

    async fn list_tools(&self, request: ListTools, _: Context) -> Result<ListToolsResult, ErrorObject> {
        match request.cursor.as_deref() {
            None => Ok(ListToolsResult::of(&[Tool::new(ToolName::new("echo").unwrap())]).with_next("")),
            Some("") => Ok(ListToolsResult::of(&[])),
            Some(other) => Err(ErrorObject::invalid_params(format!("invalid cursor {other:?}"))),
        }
    }

    #[expect(clippy::too_many_lines, reason = "one table of tools")]
    async fn call_tool(&self, call: CallTool, context: Context) -> Result<CallToolResult, ErrorObject> {
        self.called.fetch_add(1, Ordering::SeqCst);
        let (tool, argument) = call.name.split_once(' ').unwrap_or((&call.name, ""));
        let number = || argument.parse().unwrap_or(1);
        match tool {
            "echo" => {
                return Ok(CallToolResult::text("echo").with_structured(call.arguments_or_empty()));
            }
            // A result of this many bytes.
            "big" => return Ok(CallToolResult::text("x".repeat(number() as usize))),
            "fail" => return Ok(CallToolResult::error("it did not work")),
            // Counts to this number, without a break.
            "count" => (1..=number()).for_each(|step| context.progress(&Progress::new(step))),
            // Reports everything that must not arrive.
            "stumble" => {
                for step in [0.5, 0.5, 0.25, f64::NAN, f64::INFINITY, 1.0] {
                    context.progress(&Progress::new(step).of(f64::NAN).with_message("m"));
                }
                let late = context.clone();
                tokio::spawn(async move {
                    sleep(Duration::from_millis(1)).await;
                    late.progress(&Progress::new(2));
                });
            }
            "sleep" => sleep(Duration::from_millis(number() as u64)).await,
            // Stays until it is dropped, however often it is told to stop.
            "wait" => {
                let _dropped = Count(self);
                std::future::pending::<()>().await;
            }
            // Stops when it is told to, after a moment.
            "listen" => {
                context.cancelled().await;
                assert!(context.is_cancelled());
                sleep(Duration::from_millis(1)).await;
                context.progress(&Progress::new(1));
                self.closed.fetch_add(100, Ordering::SeqCst);
            }
            // Says so when it is told to stop.
            "obey" => {
                context.cancelled().await;
                return Ok(CallToolResult::error("stopped"));
            }
            "panic" => panic!("no such luck"),
            // Changes the list, then answers after this many milliseconds.
            "change" => {
                self.sessions.tools_changed(Audience::Everyone);
                sleep(Duration::from_millis(argument.parse().unwrap_or(0))).await;
            }
            // Changes every list, then answers.
            "change-all" => {
                self.sessions.resources_changed(Audience::Everyone);
                self.sessions.prompts_changed(Audience::Everyone);
                self.sessions.tools_changed(Audience::Everyone);
            }
            // Changes a resource this many times.
            "touch" => (0..number()).for_each(|_| self.sessions.resource_updated("file:///known")),
            // Asks the host, and says what it has answered.
            "sample" => {
                let message = PromptMessage::new(Role::User, RawJson::text("hi"));
                return Ok(said(context.ask::<CreateMessage>(&CreateMessage::of([&message], 9)).await));
            }
            "roots" => return Ok(said(context.ask::<ListRoots>(&ListRoots::default()).await)),
            "form" => return Ok(said(context.ask::<Elicit>(&Elicit::form("?", RawJson::EMPTY_OBJECT)).await)),
            // Can do without an answer, and then fails for another reason.
            "cope" => {
                let message = PromptMessage::new(Role::User, RawJson::text("hi"));
                let _no_matter = context.ask::<CreateMessage>(&CreateMessage::of([&message], 9)).await;
                return Ok(CallToolResult::error("the disk is full"));
            }
            "page" => return Ok(said(context.ask::<Elicit>(&Elicit::url("?", "u", "7")).await)),
            "ping" => {
                let limit = Duration::from_millis(number() as u64);
                return Ok(said(context.ask::<Ping>(&Ping {}).timeout(limit).await));
            }
            // Asks under a key, this many times one after the other.
            "name" => {
                let mut names = Vec::new();
                for _ in 0..number() {
                    let form = Elicit::form("who?", RawJson::EMPTY_OBJECT);
                    context.progress(&Progress::new(names.len() as i64 + 1));
                    match context.ask::<Elicit>(&form).key("user_name").await {
                        Ok(answer) => names.push(answer.content.map(|content| content.to_string()).unwrap_or_default()),
                        error @ Err(_) => return Ok(said(error)),
                    }
                }
                return Ok(CallToolResult::text(names.join("+")));
            }
            // Asks everything together.
            "ask-all" => {
                let message = PromptMessage::new(Role::User, RawJson::text("hi"));
                let questions = InputRequests::new()
                    .with::<Elicit>("form", &Elicit::form("who?", RawJson::EMPTY_OBJECT))
                    .with::<CreateMessage>("model", &CreateMessage::of([&message], 9))
                    .with::<ListRoots>("roots", &ListRoots::default());
                let answers = match context.ask_all(questions).await {
                    Ok(answers) => answers,
                    error @ Err(_) => return Ok(said(error)),
                };
                let form = answers.to::<Elicit>("form").unwrap().action;
                let model = answers.to::<CreateMessage>("model").unwrap().model;
                let roots = answers.to::<ListRoots>("roots").unwrap().roots.len();
                return Ok(CallToolResult::text(format!("{form:?} {model} {roots}")));
            }
            // Reports progress this many times while it waits for an answer.
            "ask-and-report" => {
                let report = async { (1..=number()).for_each(|step| context.progress(&Progress::new(step))) };
                let asking = context.ask::<ListRoots>(&ListRoots::default()).into_future();
                let (answer, ()) = futures_util::future::join(asking, report).await;
                return Ok(CallToolResult::text(if answer.is_ok() { "answered" } else { "not answered" }));
            }
            // Waits for an answer no longer than a second.
            "impatient" => {
                let question = context.ask::<ListRoots>(&ListRoots::default());
                let answer = tokio::time::timeout(Duration::from_secs(1), question).await;
                return Ok(CallToolResult::text(if answer.is_ok() { "answered" } else { "not answered" }));
            }
            // Asks, then stays until it is told to stop.
            "ask-and-stay" => {
                if context.ask::<ListRoots>(&ListRoots::default()).await.is_err() {
                    self.closed.fetch_add(1, Ordering::SeqCst);
                }
                context.cancelled().await;
                self.closed.fetch_add(100, Ordering::SeqCst);
            }
            // Goes on as a task if it can: works for this many milliseconds, asks this many names, fails.
            "task" | "task-names" | "task-required" | "task-fails" | "task-error" => {
                let is_task = context.continue_as_task(TaskOptions::default());
                context.progress(&Progress::new(1));
                match tool {
                    "task-required" if !is_task => return Err(context.task_required_error("task-required")),
                    "task-names" => {
                        let ask = |key| {
                            context.ask::<Elicit>(&Elicit::form("who?", RawJson::EMPTY_OBJECT)).key(key).into_future()
                        };
                        let (one, two) = futures_util::future::join(ask("one"), ask("two")).await;
                        let again = ask("one").await;
                        let names = [one, two, again].map(|answer| answer.map(|answer| answer.action));
                        return Ok(CallToolResult::text(format!("{names:?}")));
                    }
                    "task-fails" => return Ok(CallToolResult::error("it did not work")),
                    "task-error" => return Err(ErrorObject::internal("broken")),
                    _ => sleep(Duration::from_millis(number() as u64)).await,
                }
            }
            // Asks, goes on as a task before the answer is there, and works after it.
            "ask-and-task" => {
                let question = Elicit::form("who?", RawJson::EMPTY_OBJECT);
                let asking = context.ask::<Elicit>(&question).key("name").into_future();
                let going_on = async {
                    sleep(Duration::from_millis(10)).await;
                    context.continue_as_task(TaskOptions::default())
                };
                let (answer, is_task) = futures_util::future::join(asking, going_on).await;
                sleep(Duration::from_millis(100)).await;
                return Ok(CallToolResult::text(format!("{is_task} {:?}", answer.map(|answer| answer.action))));
            }
            // Keeps its own state with the host: three rounds.
            "own" => {
                let round = context.state().map_or(0, |state| state.parse::<u32>().unwrap());
                let answer = context.answers().to::<Elicit>("user_name");
                if round < 2 || answer.is_err() {
                    let form = Elicit::form("who?", RawJson::EMPTY_OBJECT);
                    let questions = InputRequests::new().with::<Elicit>("user_name", &form);
                    let state = Some((round + 1).to_string());
                    return Err(context.input_required(InputRequired { questions, state }));
                }
                return Ok(CallToolResult::text(format!("state {round}")));
            }
            "own-for-ever" => {
                return Err(context.input_required(InputRequired { questions: InputRequests::new(), state: None }));
            }
            // Asks after a moment.
            "late-ping" => {
                sleep(Duration::from_millis(10)).await;
                return Ok(said(context.ask::<Ping>(&Ping {}).await));
            }
            "late-form" => {
                sleep(Duration::from_millis(10)).await;
                return Ok(said(context.ask::<Elicit>(&Elicit::form("?", RawJson::EMPTY_OBJECT)).await));
            }
            // Asks, and answers without waiting.
            "ask-and-go" => {
                let question = context.ask::<Ping>(&Ping {}).into_future();
                tokio::spawn(async move { assert_eq!(question.await, Err(AskError::Gone)) });
            }
            // Asks after it has answered.
            "go-and-ask" => {
                let late = Arc::clone(&self.late);
                tokio::spawn(async move {
                    sleep(Duration::from_millis(1)).await;
                    late.send_replace(context.ask::<Ping>(&Ping {}).await.err());
                });
            }
            // Asks this many times concurrently, and counts the questions that were too many.
            "ask-often" => {
                let ask = |_| context.ask::<Ping>(&Ping {}).timeout(Duration::from_millis(100)).into_future();
                let answers = futures_util::future::join_all((0..number()).map(ask)).await;
                let refused = answers.iter().filter(|answer| **answer == Err(AskError::TooMany)).count();
                return Ok(CallToolResult::text(format!("{refused} too many")));
            }
            // Changes the list of its session only.
            "change-mine" => self.sessions.tools_changed(Audience::Session(context.session())),
            "log" => {
                for level in Level::ALL {
                    context.log(level, Some("tool"), &RawJson::text(level.as_str()));
                }
            }
            "pause" => context.close_stream(),
            name => return Err(ErrorObject::unknown_tool(name)),
        }
        Ok(CallToolResult::text("done"))
    }

    async fn list_resources(&self, _: ListResources, _: Context) -> Result<ListResourcesResult, ErrorObject> {
        Ok(ListResourcesResult::of(&[Resource::new(KNOWN, "known")]).with_next("more"))
    }

    async fn list_resource_templates(
        &self,
        _: ListResourceTemplates,
        _: Context,
    ) -> Result<ListResourceTemplatesResult, ErrorObject> {
        Ok(ListResourceTemplatesResult::of(&[ResourceTemplate::new("file:///{path}", "files")]))
    }

    async fn read_resource(&self, request: ReadResource, context: Context) -> Result<ReadResourceResult, ErrorObject> {
        match request.uri.as_str() {
            "file:///secret" => {
                let form = Elicit::form("password?", RawJson::EMPTY_OBJECT);
                let answer = context.ask::<Elicit>(&form).await?;
                Ok(ReadResourceResult::of([ResourceContents::text("file:///secret", format!("{:?}", answer.action))]))
            }
            KNOWN => Ok(ReadResourceResult::of([
                ResourceContents::text(KNOWN, "a\nb").with_mime_type("text/plain"),
                ResourceContents::blob(KNOWN, "AA=="),
            ])),
            uri => Err(ErrorObject::resource_not_found(uri)),
        }
    }

    async fn subscribe(&self, request: Subscribe, _: Context) -> Result<(), ErrorObject> {
        let told = format!("+{}", request.uri);
        let is_first = !self.watched.lock().unwrap().contains(&told);
        self.watched.lock().unwrap().push(told);
        if request.uri.ends_with("stuck") && is_first {
            std::future::pending::<()>().await;
        }
        if request.uri.ends_with("slow") {
            sleep(Duration::from_millis(10)).await;
        }
        // Changes before it is answered.
        if request.uri.ends_with("eager") {
            self.sessions.resource_updated(&request.uri);
        }
        if request.uri.starts_with("file:///") { Ok(()) } else { Err(ErrorObject::resource_not_found(&request.uri)) }
    }

    async fn unsubscribe(&self, request: Unsubscribe, _: Context) -> Result<(), ErrorObject> {
        self.watched.lock().unwrap().push(format!("-{}", request.uri));
        if request.uri.ends_with("slow") {
            sleep(Duration::from_millis(20)).await;
        }
        Ok(())
    }

    async fn list_prompts(&self, _: ListPrompts, _: Context) -> Result<ListPromptsResult, ErrorObject> {
        let mut prompt = Prompt::new("greet");
        prompt.arguments.push(PromptArgument::new("whom").required());
        Ok(ListPromptsResult::of(&[prompt]))
    }

    async fn get_prompt(&self, request: GetPrompt, context: Context) -> Result<GetPromptResult, ErrorObject> {
        if request.name == "ask" {
            let answer = context.ask::<Elicit>(&Elicit::form("?", RawJson::EMPTY_OBJECT)).key("user_context").await?;
            let content = ContentBlock::text(format!("{:?}", answer.action)).to_raw();
            return Ok(GetPromptResult::of(&[PromptMessage::new(Role::User, content)]));
        }
        if request.name != "greet" {
            return Err(ErrorObject::unknown_prompt(&request.name));
        }
        let arguments = request.members();
        let whom: String = arguments.member("whom").map_or(Ok("you".to_owned()), RawJson::to).unwrap();
        let content = ContentBlock::text(format!("Hello, {whom}!")).to_raw();
        Ok(GetPromptResult::of(&[PromptMessage::new(Role::User, content)]))
    }

    async fn complete(&self, request: Complete, context: Context) -> Result<CompleteResult, ErrorObject> {
        if request.argument.value == "ask" {
            context.ask::<ListRoots>(&ListRoots::default()).await?;
        }
        let count = match request.reference {
            Reference::Prompt { name } => name.len(),
            Reference::Resource { uri } => uri.len(),
        };
        let value = request.argument.value;
        Ok(Completion::new((0..count).map(|number| format!("{value}{number}"))).into())
    }

    async fn call_tool_as_task(&self, call: CallTool, _: Context) -> Result<CreateTaskResult, ErrorObject> {
        match call.name.as_str() {
            "sleep" => Ok(task(TaskStatus::Working, call.task_ttl()).into()),
            "wait" => std::future::pending().await,
            name => Err(ErrorObject::method_not_found(name)),
        }
    }

    fn session_opened(&self, session: &SessionView) {
        assert!(["host", "x"].iter().any(|name| session.client.implementation.name.starts_with(name)));
        self.opened.fetch_add(1, Ordering::SeqCst);
    }

    fn session_closed(&self, _: SessionId) {
        self.closed.fetch_add(1, Ordering::SeqCst);
    }
}

/// Answers what is asked about tasks, without any: around the handler.
pub(crate) struct FixedTasks;

pub(crate) struct WithFixedTasks<S>(S);

impl<S: Service> Layer<S> for FixedTasks {
    type Service = WithFixedTasks<S>;

    fn layer(&self, inner: S) -> WithFixedTasks<S> {
        WithFixedTasks(inner)
    }
}

impl<S: Service> Service for WithFixedTasks<S> {
    async fn call(&self, request: ServerRequest, context: Context) -> Result<ServerResult, ErrorObject> {
        match request {
            ServerRequest::GetTask(request) if request.task_id == "t" => Ok(task(TaskStatus::Completed, None).into()),
            ServerRequest::GetTask(request) => Err(unknown_task(&request.task_id)),
            ServerRequest::GetTaskPayload(request) => {
                sleep(Duration::from_millis(10)).await;
                if request.task_id != "t" {
                    return Err(unknown_task(&request.task_id));
                }
                let own = RawJson::parse(r#"{"a":1}"#).unwrap();
                let meta = meta::with_related_task(Some(&own), &request.task_id);
                Ok(CallToolResult::error("overslept").with_meta(meta).into())
            }
            ServerRequest::ListTasks(request) => Ok(match request.cursor {
                None => ListTasksResult::of(&[task(TaskStatus::Working, Some(7))]).with_next("x").into(),
                Some(_) => ListTasksResult::of(&[]).into(),
            }),
            ServerRequest::CancelTask(request) if request.task_id == "t" => {
                Ok(task(TaskStatus::Cancelled, None).into())
            }
            ServerRequest::CancelTask(request) => Err(unknown_task(&request.task_id)),
            other => self.0.call(other, context).await,
        }
    }
}

/// A task that began with the epoch.
pub(crate) fn task(status: TaskStatus, ttl: Option<u64>) -> Task {
    let mut task = Task::begin("t", ttl, UNIX_EPOCH);
    task.status = status;
    task
}

fn unknown_task(id: &str) -> ErrorObject {
    ErrorObject::invalid_params(format!("unknown task {id:?}"))
}

/// A result that says how a question was answered.
fn said<T: std::fmt::Debug>(answer: Result<T, AskError>) -> CallToolResult {
    match answer {
        Ok(answer) => CallToolResult::text(format!("{answer:?}")),
        Err(error) => CallToolResult::error(error.to_string()),
    }
}

struct Count<'a>(&'a Tools);

impl Drop for Count<'_> {
    fn drop(&mut self) {
        self.0.dropped.fetch_add(1, Ordering::SeqCst);
    }
}
