//! A tool process without an SDK that follows its callers' instructions, however harmful they are for other callers.
//!
//! `pmcp` starts it; it connects to the socket of the environment and serves until the bridge closes it. Each call runs
//! in its own thread, as many concurrently as `HOSTILE_CALLS` says (64 if it does not).

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{sleep, spawn};
use std::time::Duration;

use prost::Message as _;
use protomcp_conformance::{frame, tool};
use protomcp_envelope::{
    CallToolRequest, CallToolResponse, ElicitationRequest, EnableToolsRequest, Envelope, ListRootsRequest, LogMessage,
    Msg, ProgressNotification, PromptDefinition, PromptListResponse, ReadResourceResponse, ReloadResponse,
    ResourceContent, ResourceDefinition, ResourceListResponse, ResourceTemplateDefinition,
    ResourceTemplateListResponse, SdkInfo, ToolDefinition, ToolListResponse,
};
use serde_json::{Value, json};

const NAMES: [&str; 13] = [
    "echo",
    "sum",
    "sleep",
    "large",
    "progress",
    "change",
    "log",
    "print",
    "ask",
    "crash",
    "inflate",
    "resources_changed",
    "tree",
];

/// The input schema of `sum`.
const NUMBERS: &str = r#"{"type":"object","properties":{"text":{"type":"array","items":{"type":"integer"}}}}"#;

/// The input schema of `tree`: nodes with a tag, nodes that only their members tell apart, and lists.
fn nodes() -> String {
    let node = |tag: Value| {
        json!({
            "type": "object",
            "properties": {"op": tag, "kids": {"type": "array", "items": {"$ref": "#/$defs/node"}}},
            "required": ["op", "kids"],
        })
    };
    let tagged = ["and", "or", "not"].map(|op| node(json!({"const": op})));
    let alike = [(); 3].map(|()| node(json!({"type": "string"})));
    let tree = |keyword: &str| json!({keyword: [{"$ref": "#/$defs/node"}, {"$ref": "#/$defs/alike"}]});
    json!({
        "$defs": {"node": {"anyOf": tagged}, "alike": {"oneOf": alike}},
        "type": "object",
        "properties": {
            "one": tree("anyOf"),
            "other": tree("oneOf"),
            "lists": {"additionalProperties": {"type": "array", "items": {"type": "integer"}}},
            "areas": {"items": {"enum": (0..256).map(|index| format!("Area/City{index}")).collect::<Vec<_>>()}},
        },
    })
    .to_string()
}

#[derive(Clone)]
struct Link(Arc<Shared>);

struct Shared {
    writer: Mutex<UnixStream>,
    /// Answers that wait for the writer. Floods yield to them, which a mutex alone would not ensure.
    answers: AtomicU32,
    changes: AtomicU32,
    questions: AtomicU32,
}

impl Link {
    fn send(&self, id: &str, for_call: &str, msg: impl Into<Msg>) {
        let envelope = Envelope { for_call: for_call.to_owned(), ..Envelope::new(id, msg) };
        // A large envelope is encoded before floods have to yield to it.
        let bytes = frame(&envelope);
        self.0.answers.fetch_add(1, Ordering::Relaxed);
        self.bytes(&bytes);
        self.0.answers.fetch_sub(1, Ordering::Relaxed);
    }

    fn bytes(&self, bytes: &[u8]) {
        // A bridge that has closed the socket is seen by the reader.
        let _ = self.0.writer.lock().unwrap_or_else(PoisonError::into_inner).write_all(bytes);
    }

    /// Writes messages one after the other, with room for the messages of other calls between: 64 together, or each
    /// after a pause.
    fn flood(&self, pause: Duration, envelopes: impl Iterator<Item = Envelope>) {
        let mut frames = envelopes.map(|envelope| frame(&envelope)).peekable();
        while frames.peek().is_some() {
            let together = if pause.is_zero() { 64 } else { 1 };
            self.bytes(&frames.by_ref().take(together).collect::<Vec<_>>().concat());
            sleep(pause.max(Duration::from_micros(10)));
            while self.0.answers.load(Ordering::Relaxed) > 0 {
                sleep(Duration::from_micros(100));
            }
        }
    }

    fn tools(&self) -> ToolListResponse {
        let changes = self.0.changes.load(Ordering::Relaxed);
        let tools = NAMES.into_iter().map(tool).map(|tool| ToolDefinition {
            description: format!("{} Changed {changes} times.", tool.description),
            input_schema_json: match tool.name.as_str() {
                "sum" => NUMBERS.into(),
                "tree" => nodes().into(),
                _ => tool.input_schema_json,
            },
            ..tool
        });
        ToolListResponse { tools: tools.collect() }
    }
}

fn main() -> std::io::Result<()> {
    let socket = std::env::var_os("PROTOMCP_SOCKET").expect("pmcp says where to connect");
    let calls = std::env::var("HOSTILE_CALLS").ok().and_then(|text| text.parse().ok()).unwrap_or(64);
    let mut stream = UnixStream::connect(socket)?;
    let writer = Mutex::new(stream.try_clone()?);
    let (answers, changes, questions) = (AtomicU32::new(0), AtomicU32::new(0), AtomicU32::new(0));
    let link = Link(Arc::new(Shared { writer, answers, changes, questions }));
    let features = vec!["elicitation".to_owned()];
    link.send("", "", SdkInfo { name: "none".into(), max_concurrent_calls: calls, features, ..SdkInfo::default() });
    loop {
        let mut length = [0; 4];
        if stream.read_exact(&mut length).is_err() {
            return Ok(());
        }
        let mut bytes = vec![0; u32::from_be_bytes(length) as usize];
        stream.read_exact(&mut bytes)?;
        take(&link, Envelope::decode(bytes.as_slice()).expect("the bridge writes valid envelopes"));
    }
}

fn take(link: &Link, envelope: Envelope) {
    let id = envelope.request_id;
    match envelope.msg {
        Some(Msg::ListTools(_)) => {
            link.send(&id, "", link.tools());
            link.send("", "", ReloadResponse { success: true, ..ReloadResponse::default() });
        }
        Some(Msg::ListResourcesRequest(_)) => link.send(&id, "", resources()),
        Some(Msg::ListResourceTemplatesRequest(_)) => {
            link.send(&id, "", ResourceTemplateListResponse { templates: Vec::new() });
        }
        Some(Msg::ListPromptsRequest(_)) => link.send(&id, "", PromptListResponse { prompts: Vec::new() }),
        // The last part of the address gives the number of empty parts.
        Some(Msg::ReadResourceRequest(request)) => {
            let parts = request.uri.rsplit('/').next().and_then(|last| last.parse().ok()).unwrap_or(1);
            let link = link.clone();
            spawn(move || {
                let contents = vec![ResourceContent::default(); parts];
                link.send(&id, "", ReadResourceResponse { contents, ..Default::default() });
            });
        }
        Some(Msg::CallTool(call)) => {
            let link = link.clone();
            spawn(move || {
                if let Some(result) = run(&link, &id, &call) {
                    let result_json = result.to_string().into_bytes().into();
                    link.send(&id, "", CallToolResponse { result_json, ..CallToolResponse::default() });
                }
            });
        }
        // A call that asks ends with the first answer of any kind.
        Some(Msg::ElicitationResponse(_) | Msg::ListRootsResponse(_)) => {
            if let Some((call, _)) = id.split_once('/') {
                link.send(call, "", CallToolResponse { result_json: "\"asked\"".into(), ..Default::default() });
            }
        }
        _ => {}
    }
}

fn resources() -> ResourceListResponse {
    let part = |name: &str| ResourceDefinition {
        uri: format!("parts://{name}"),
        name: name.to_owned(),
        ..ResourceDefinition::default()
    };
    ResourceListResponse { resources: ["1", "1000000"].map(part).into() }
}

/// Runs one tool; `None` if it never answers.
fn run(link: &Link, id: &str, call: &CallToolRequest) -> Option<Value> {
    let arguments: Value = serde_json::from_slice(&call.arguments_json).unwrap_or_default();
    let number = |name: &str| number(&arguments, name);
    let text = |name: &str| text(&arguments, name);
    let pause = Duration::from_millis(arguments["ms"].as_u64().unwrap_or_default());
    match call.name.as_str() {
        "sleep" => sleep(pause),
        "sum" => return Some(json!("a number")),
        "large" => {
            // With progress the answer is an event.
            if !call.progress_token.is_empty() {
                let progress_token = call.progress_token.clone();
                link.send("", id, ProgressNotification { progress_token, progress: 1, ..Default::default() });
                sleep(Duration::from_millis(5));
            }
            let result_json = format!("\"{}\"", "x".repeat(number("bytes"))).into_bytes().into();
            link.send(id, "", CallToolResponse { result_json, ..CallToolResponse::default() });
            return None;
        }
        "progress" => {
            let report = |step| ProgressNotification {
                progress_token: call.progress_token.clone(),
                progress: step,
                message: text("text"),
                ..ProgressNotification::default()
            };
            let about = |step| Envelope { for_call: id.to_owned(), ..Envelope::new("", report(step)) };
            link.flood(pause, (1..).take(number("count")).map(about));
        }
        // An unsolicited list: the tools have changed.
        "change" => {
            link.0.changes.fetch_add(1, Ordering::Relaxed);
            link.send("", "", link.tools());
        }
        "log" => log(link, id, &arguments),
        "print" => {
            let line = text("text") + &"x".repeat(number("bytes")) + "\n";
            let mut stderr = std::io::stderr();
            (0..number("count").max(1)).for_each(|_| drop(stderr.write_all(line.as_bytes())));
        }
        "ask" => {
            ask(link, id, &arguments);
            // The answer comes with the question.
            return None;
        }
        "crash" => {
            eprint_line(&text("text"));
            std::process::exit(3);
        }
        "inflate" => inflate(link, &text("kind"), number("count")),
        "resources_changed" => link.send("", "", resources()),
        _ => {}
    }
    Some(arguments["text"].clone())
}

fn number(arguments: &Value, name: &str) -> usize {
    usize::try_from(arguments[name].as_u64().unwrap_or_default()).unwrap_or_default()
}

fn text(arguments: &Value, name: &str) -> String {
    arguments[name].as_str().unwrap_or_default().to_owned()
}

/// Sends log messages, for the call only if it is `named`.
fn log(link: &Link, id: &str, arguments: &Value) {
    let call = if arguments["named"] == json!(true) { id } else { "" };
    let line = text(arguments, "text") + &"x".repeat(number(arguments, "bytes"));
    let message = LogMessage {
        level: "error".into(),
        data_json: json!(line).to_string().into_bytes().into(),
        ..LogMessage::default()
    };
    let one = Envelope { for_call: call.to_owned(), ..Envelope::new("", message) };
    link.flood(Duration::ZERO, std::iter::repeat_n(one, number(arguments, "count").max(1)));
}

/// Asks for the roots, or asks the user.
fn ask(link: &Link, id: &str, arguments: &Value) {
    let call = if arguments["named"] == json!(false) { "" } else { id };
    let ask = |_| {
        let question = format!("{id}/{}", link.0.questions.fetch_add(1, Ordering::Relaxed));
        let msg: Msg = if arguments["roots"] == json!(true) {
            ListRootsRequest {}.into()
        } else {
            let requested_schema_json = r#"{"type":"object","properties":{"a":{"type":"string"}}}"#.into();
            let message = text(arguments, "text");
            ElicitationRequest { message, requested_schema_json, ..ElicitationRequest::default() }.into()
        };
        Envelope { for_call: call.to_owned(), ..Envelope::new(question, msg) }
    };
    link.flood(Duration::ZERO, (0..number(arguments, "count").max(1)).map(ask));
}

fn eprint_line(text: &str) {
    // Without a reader, the message is dropped.
    let _ = writeln!(std::io::stderr(), "Traceback: {text}");
}

/// Sends an unsolicited message of many empty entries, two bytes each.
fn inflate(link: &Link, kind: &str, count: usize) {
    match kind {
        "tools" => link.send("", "", ToolListResponse { tools: vec![ToolDefinition::default(); count] }),
        "resources" => {
            link.send("", "", ResourceListResponse { resources: vec![ResourceDefinition::default(); count] });
        }
        "templates" => {
            let templates = vec![ResourceTemplateDefinition::default(); count];
            link.send("", "", ResourceTemplateListResponse { templates });
        }
        "prompts" => link.send("", "", PromptListResponse { prompts: vec![PromptDefinition::default(); count] }),
        _ => link.send("", "", EnableToolsRequest { tool_names: vec![String::new(); count] }),
    }
}
