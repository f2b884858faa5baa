//! The scenarios. Each begins with its own connection.

use std::fs;

use prost::Message;
use prost::bytes::Bytes;
use protomcp_bufmcp::Any;
use protomcp_bufmcp::message::{
    CallToolRequest, CallToolResponse, CancelCall, CompleteRequest, ErrorResponse, GetPromptRequest, GetPromptResponse,
    ListPromptsRequest, ListResourcesRequest, ListTemplatesRequest, ListToolsRequest, LogLevel, McpMessage, Payload,
    ReadResourceRequest, ServerCapabilities, Tool, ToolResult, call_tool_response, complete_request, resource_content,
    tool, tool_content,
};
use protomcp_conformance::eventually;

use crate::carriers::subscriptions::{subscribe, subscriptions};
use crate::carriers::wire::{Carrier, STREAMING, Scene, Wire, initialize, initialize_with};

type Scenario = (&'static str, fn(&Scene));

/// The scenarios of every carrier.
pub(crate) const EVERYWHERE: &[Scenario] = &[
    ("listing in order, in pages", pages),
    ("stale and forged cursors", cursors),
    ("search and filter", search),
    ("schemas", schemas),
    ("calls and their results", calls),
    ("failures of tools and of calls", failures),
    ("the time of a call", times),
    ("large messages both ways", large),
    ("messages above the limit", limits),
    ("many concurrent calls", concurrent_calls),
    ("resources", resources),
    ("prompts and their messages", prompts),
    ("completion of arguments", completions),
    ("templates of resources", templates),
    ("progress and log messages", reports),
    ("one call is cancelled", cancelled_call),
    ("subscriptions to resources", subscriptions),
    ("the end of a connection cancels its calls", cancellation),
];

/// The scenarios of carriers with a conversation and its envelopes.
pub(crate) const CONVERSATION: &[Scenario] =
    &[("the first message", opening), ("wrong envelopes", envelopes), ("extensions that are not declared", undeclared)];

const NAMES: [&str; 7] = ["add", "broken", "repeat", "sleep_ms", "steps", "touch", "until_cancelled"];

fn list(request: ListToolsRequest) -> Payload {
    Payload::ListToolsRequest(request)
}

#[track_caller]
fn tools(wire: &Wire, request: ListToolsRequest) -> (Vec<Tool>, String) {
    match wire.ask(list(request)) {
        Payload::ListToolsResponse(response) => (response.tools, response.next_cursor),
        other => panic!("{other:?}"),
    }
}

#[track_caller]
pub(super) fn error(payload: Payload) -> ErrorResponse {
    match payload {
        Payload::ErrorResponse(error) => error,
        other => panic!("{other:?}"),
    }
}

/// A call with numbers and texts in the message of its tool: the fields have the order of the parameters.
pub(crate) fn call(name: &str, json: &str) -> Payload {
    let members: serde_json::Map<String, serde_json::Value> = serde_json::from_str(json).unwrap();
    let mut value = Vec::new();
    for (number, member) in (1..).zip(members.values()) {
        match member {
            serde_json::Value::Number(whole) => {
                prost::encoding::int64::encode(number, &whole.as_i64().unwrap(), &mut value);
            }
            serde_json::Value::String(text) => prost::encoding::string::encode(number, text, &mut value),
            other => panic!("{other}"),
        }
    }
    let words = name.split('_').map(|word| word[..1].to_uppercase() + &word[1..]);
    let arguments = Some(Any::new(&format!("tools.v1.{}Request", words.collect::<String>()), value));
    Payload::CallToolRequest(CallToolRequest { name: name.to_owned(), arguments, ..CallToolRequest::default() })
}

#[track_caller]
fn response(payload: Payload) -> CallToolResponse {
    match payload {
        Payload::CallToolResponse(response) => response,
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn success(payload: Payload) -> ToolResult {
    match response(payload).result {
        Some(call_tool_response::Result::Success(result)) => result,
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn failure(payload: Payload) -> protomcp_bufmcp::message::Error {
    match response(payload).result {
        Some(call_tool_response::Result::Error(error)) => error,
        other => panic!("{other:?}"),
    }
}

fn text(result: &ToolResult) -> &str {
    match result.content.first().and_then(|content| content.content.as_ref()) {
        Some(tool_content::Content::Text(text)) => text,
        other => panic!("{other:?}"),
    }
}

fn names(tools: &[Tool]) -> Vec<&str> {
    tools.iter().map(|tool| tool.name.as_str()).collect()
}

fn pages(scene: &Scene) {
    let wire = scene.connect();
    let (all, cursor) = tools(&wire, ListToolsRequest::default());
    assert_eq!((names(&all), cursor.as_str()), (NAMES.to_vec(), ""));
    assert_eq!(all[0].description, "Adds two integers.");
    let (mut seen, mut request) = (Vec::new(), ListToolsRequest { page_size: 2, ..ListToolsRequest::default() });
    loop {
        let (page, cursor) = tools(&wire, request.clone());
        assert!(page.len() <= 2);
        seen.extend(page.into_iter().map(|tool| tool.name));
        if cursor.is_empty() {
            break;
        }
        request.cursor = cursor;
    }
    assert_eq!(seen, NAMES);
}

fn cursors(scene: &Scene) {
    let wire = scene.connect();
    let forged = ListToolsRequest { cursor: "made up".to_owned(), ..ListToolsRequest::default() };
    assert_eq!(error(wire.ask(list(forged))).code, -32602);
    let resources = Payload::ListResourcesRequest(ListResourcesRequest { cursor: "made up".to_owned() });
    assert_eq!(error(wire.ask(resources)).code, -32602);
}

fn search(scene: &Scene) {
    let wire = scene.connect();
    let (found, _) = tools(&wire, ListToolsRequest { query: "integers".to_owned(), ..ListToolsRequest::default() });
    assert_eq!(names(&found), ["add"]);
    let reference = "buf.build/acme/tools/acme.v1.Search:main".to_owned();
    let (found, _) = tools(&wire, ListToolsRequest { bsr_refs: vec![reference], ..ListToolsRequest::default() });
    assert!(found.is_empty());
    let wrong = ListToolsRequest { bsr_refs: vec!["nothing".to_owned()], ..ListToolsRequest::default() };
    assert_eq!(error(wire.ask(list(wrong))).code, -32602);
}

fn schemas(scene: &Scene) {
    let wire = scene.connect();
    let (all, _) = tools(&wire, ListToolsRequest { include_schemas: true, ..ListToolsRequest::default() });
    for tool in &all {
        let Some(tool::SchemaSource::InlineSchema(set)) = &tool.schema_source else { panic!("{tool:?}") };
        let set = prost_types::FileDescriptorSet::decode(&set[..]).unwrap();
        assert!(!set.file.is_empty() && tool.metadata.contains_key("input_type"), "{tool:?}");
    }
}

fn calls(scene: &Scene) {
    let wire = scene.connect();
    let answer = response(wire.ask(call("add", r#"{"a": 2, "b": 40}"#)));
    assert!(answer.metadata["execution_time_ms"].parse::<u64>().is_ok(), "{answer:?}");
    assert_eq!(text(&success(Payload::CallToolResponse(answer))), "42");
}

fn failures(scene: &Scene) {
    let wire = scene.connect();
    let broken = success(wire.ask(call("broken", "{}")));
    assert!(broken.is_error && text(&broken).contains("just broken"), "{broken:?}");
    let unknown = failure(wire.ask(call("nothing", "{}")));
    assert_eq!((unknown.code, unknown.data["reason"].as_str()), (-32602, "tool_not_found"));
    for arguments in [Any::new("acme.Other", Bytes::new()), Any::new("tools.v1.AddRequest", &b"\xff"[..])] {
        let arguments = Some(arguments);
        let request = CallToolRequest { name: "add".to_owned(), arguments, ..CallToolRequest::default() };
        assert_eq!(failure(wire.ask(Payload::CallToolRequest(request))).code, -32602);
    }
}

fn times(scene: &Scene) {
    let wire = scene.connect();
    let Payload::CallToolRequest(mut request) = call("sleep_ms", r#"{"ms": 600000}"#) else { unreachable!() };
    request.metadata.insert("timeout_ms".to_owned(), "200".to_owned());
    let late = failure(wire.ask(Payload::CallToolRequest(request)));
    assert_eq!((late.code, late.data["timeout_ms"].as_str()), (-33003, "200"));
    assert_eq!(text(&success(wire.ask(call("sleep_ms", r#"{"ms": 1}"#)))), "slept 1");
}

fn large(scene: &Scene) {
    let wire = scene.connect();
    let long = "0123456789".repeat(100_000);
    let result = success(wire.ask(call("repeat", &format!("{{\"text\": {long:?}, \"times\": 3}}"))));
    assert_eq!(text(&result).len(), 3 * long.len());
}

fn limits(scene: &Scene) {
    let wire = scene.connect();
    let Payload::CallToolRequest(mut request) = call("add", "{}") else { unreachable!() };
    request.metadata.insert("padding".to_owned(), "x".repeat(33 << 20));
    let id = wire.send(Payload::CallToolRequest(request));
    match scene.carrier {
        // 1009 has closed the connection.
        Carrier::WebSocket | Carrier::BareWebSocket => assert!(wire.next().is_none()),
        Carrier::Grpc => assert_eq!(error(wire.receive(id.unwrap()).unwrap()).code, -32013),
        Carrier::Stdio | Carrier::Tcp => {
            let told = wire.next().expect("an answer before the end");
            assert_eq!((told.id, error(told.payload.unwrap()).code), (0, -32013));
            assert!(wire.next().is_none());
        }
    }
}

fn concurrent_calls(scene: &Scene) {
    let wire = scene.connect();
    let sum = |n: u64| call("add", &format!("{{\"a\": {n}, \"b\": 1}}"));
    let ids: Vec<_> = (0..50).map(|n| (n, wire.send(sum(n)).unwrap())).collect();
    for (n, id) in ids.into_iter().rev() {
        assert_eq!(text(&success(wire.receive(id).unwrap())), (n + 1).to_string());
    }
}

fn resources(scene: &Scene) {
    let wire = scene.connect();
    let all = match wire.ask(Payload::ListResourcesRequest(ListResourcesRequest::default())) {
        Payload::ListResourcesResponse(response) => response.resources,
        other => panic!("{other:?}"),
    };
    let uris: Vec<_> = all.iter().map(|resource| resource.uri.as_str()).collect();
    assert_eq!(uris, ["test://other", "test://text"]);
    let read = |uri: &str| wire.ask(Payload::ReadResourceRequest(ReadResourceRequest { uri: uri.to_owned() }));
    let contents = match read("test://text") {
        Payload::ReadResourceResponse(response) => response.contents,
        other => panic!("{other:?}"),
    };
    assert_eq!(contents[0].content, Some(resource_content::Content::Text("the content".to_owned())));
    assert_eq!(error(read("test://nothing")).code, -32002);
}

/// A connection with a client that has declared the extension `prompts`, and what the server has said of itself.
fn with_prompts(scene: &Scene) -> (Wire, ServerCapabilities) {
    declaring(scene, "prompts")
}

pub(super) fn declaring(scene: &Scene, extension: &str) -> (Wire, ServerCapabilities) {
    let wire = scene.connect_as(None);
    match wire.ask(initialize_with(None, &[extension])) {
        Payload::InitializeResponse(response) => (wire, response.capabilities.unwrap_or_default()),
        other => panic!("{other:?}"),
    }
}

fn list_prompts() -> Payload {
    Payload::ListPromptsRequest(ListPromptsRequest::default())
}

fn prompts(scene: &Scene) {
    let (wire, capabilities) = with_prompts(scene);
    assert!(capabilities.prompts.is_some(), "{capabilities:?}");
    let all = match wire.ask(list_prompts()) {
        Payload::ListPromptsResponse(response) => response.prompts,
        other => panic!("{other:?}"),
    };
    assert_eq!((all.len(), &*all[0].name, &*all[0].description), (1, "greeting", "Greets."));
    let arguments: Vec<_> = all[0].arguments.iter().map(|one| (&*one.name, one.required)).collect();
    assert_eq!(arguments, [("name", true), ("tone", false)]);
    let get = |name: &str| {
        let arguments = [("name".to_owned(), "Ann".to_owned())].into();
        wire.ask(Payload::GetPromptRequest(GetPromptRequest {
            name: name.to_owned(),
            arguments,
            ..GetPromptRequest::default()
        }))
    };
    let Payload::GetPromptResponse(GetPromptResponse { messages, .. }) = get("greeting") else {
        panic!("another answer")
    };
    let content = messages[0].content.clone().unwrap().content;
    assert_eq!((messages.len(), &*messages[0].role), (1, "user"));
    assert_eq!(content, Some(tool_content::Content::Text("a kind greeting for Ann".to_owned())));
    assert_eq!(error(get("nothing")).code, -32602);
}

fn completions(scene: &Scene) {
    let (wire, capabilities) = with_prompts(scene);
    assert!(capabilities.supports_completion, "{capabilities:?}");
    let complete = |reference| {
        wire.ask(Payload::CompleteRequest(CompleteRequest {
            reference,
            argument: "tone".to_owned(),
            value: "k".to_owned(),
            ..CompleteRequest::default()
        }))
    };
    match complete(Some(complete_request::Reference::Prompt("greeting".to_owned()))) {
        Payload::CompleteResponse(response) => assert_eq!(response.values, ["kind", "kinder"]),
        other => panic!("{other:?}"),
    }
    assert_eq!(error(complete(None)).code, -32602);
}

fn templates(scene: &Scene) {
    let (wire, capabilities) = with_prompts(scene);
    assert!(capabilities.resources.unwrap().supports_templates, "{capabilities:?}");
    let all = match wire.ask(Payload::ListTemplatesRequest(ListTemplatesRequest::default())) {
        Payload::ListTemplatesResponse(response) => response.templates,
        other => panic!("{other:?}"),
    };
    assert_eq!((all.len(), &*all[0].uri_template), (1, "test://notes/{name}"));
    assert_eq!((&*all[0].description, &*all[0].mime_type), ("A note.", "text/plain"));
    let forged = ListTemplatesRequest { cursor: "made up".to_owned() };
    assert_eq!(error(wire.ask(Payload::ListTemplatesRequest(forged))).code, -32602);
}

/// For a client of version 1.0 the messages of extensions do not exist.
fn undeclared(scene: &Scene) {
    let wire = scene.connect();
    assert_eq!(error(wire.ask(list_prompts())).code, -32601);
    assert_eq!(error(wire.ask(Payload::CancelCall(CancelCall {}))).code, -32601);
    assert_eq!(error(wire.ask(subscribe("test://text"))).code, -32601);
    let id = wire.send(reporting(2)).unwrap();
    let only = wire.next().unwrap();
    assert_eq!((only.id, text(&success(only.payload.unwrap()))), (id, "took 2 steps"));
}

/// A call that wants progress and log messages.
fn reporting(count: u32) -> Payload {
    let Payload::CallToolRequest(mut request) = call("steps", &format!("{{\"count\": {count}}}")) else {
        unreachable!()
    };
    (request.wants_progress, request.log_level) = (true, LogLevel::Info as i32);
    Payload::CallToolRequest(request)
}

fn reports(scene: &Scene) {
    let (wire, capabilities) = declaring(scene, STREAMING);
    assert!(capabilities.supports_streaming && capabilities.supports_logging, "{capabilities:?}");
    let id = wire.send(reporting(3)).unwrap();
    let (mut steps, mut logs) = (Vec::new(), Vec::new());
    let answer = loop {
        let message = wire.next().expect("the connection is open");
        assert_eq!(message.id, id);
        match message.payload.unwrap() {
            Payload::CallProgress(report) => steps.push((report.progress, report.total, report.message)),
            Payload::CallLog(log) => logs.push((log.level(), log.data.and_then(|data| data.kind))),
            other => break other,
        }
    };
    assert_eq!(text(&success(answer)), "took 3 steps");
    assert_eq!(steps, [1, 2, 3].map(|step| (f64::from(step), 3.0, format!("step {step}"))));
    let said = |step| (LogLevel::Info, Some(prost_types::value::Kind::StringValue(format!("log {step}"))));
    assert_eq!(logs, [1, 2, 3].map(said));
    // A call that asks for none of it has only its answer.
    assert_eq!(text(&success(wire.ask(call("steps", r#"{"count": 2}"#)))), "took 2 steps");
}

fn cancelled_call(scene: &Scene) {
    let (wire, _) = declaring(scene, STREAMING);
    let note = scene.sandbox.path("cancelled");
    drop(fs::remove_file(&note));
    let id = wire.send(call("until_cancelled", &format!("{{\"note\": {:?}}}", note.to_str().unwrap()))).unwrap();
    let reads = |text: &str| fs::read_to_string(&note).is_ok_and(|found| found == text).then_some(());
    eventually("the call runs", || reads("running"));
    let cancel = |id| {
        let message = McpMessage { id, payload: Some(Payload::CancelCall(CancelCall {})) };
        wire.send_bytes(&message.encode_to_vec())
    };
    // Once more, and another id: these have no answer.
    assert!(cancel(id) && cancel(id) && cancel(id + 1_000));
    let answer = wire.receive(id).unwrap();
    // Over gRPC the call ends with its client, which has its own status.
    let is_grpc = scene.carrier == Carrier::Grpc;
    let (code, expected) = if is_grpc { (error(answer).code, 1001) } else { (failure(answer).code, -32800) };
    assert_eq!(code, expected);
    eventually("the call is cancelled", || reads("finally ran"));
    let sum = wire.send(call("add", r#"{"a": 1, "b": 1}"#)).unwrap();
    assert_eq!(wire.next().map(|message| message.id), Some(sum));
}

fn cancellation(scene: &Scene) {
    let wire = scene.connect();
    let note = scene.sandbox.path("note");
    drop(fs::remove_file(&note));
    wire.send(call("until_cancelled", &format!("{{\"note\": {:?}}}", note.to_str().unwrap()))).unwrap();
    let reads = |text: &str| fs::read_to_string(&note).is_ok_and(|found| found == text).then_some(());
    eventually("the call runs", || reads("running"));
    wire.cut();
    if scene.carrier != Carrier::Stdio {
        // The process on standard input and output was killed, and its tools with it.
        eventually("the call is cancelled", || reads("finally ran"));
    }
}

fn opening(scene: &Scene) {
    let wire = scene.connect_as(None);
    assert_eq!(error(wire.ask(list(ListToolsRequest::default()))).code, -32014);
    assert!(matches!(wire.ask(initialize(None)), Payload::InitializeResponse(_)));
    assert_eq!(error(wire.ask(initialize(None))).code, -32600);
}

fn envelopes(scene: &Scene) {
    let wire = scene.connect();
    let response = McpMessage { id: 7, payload: Some(Payload::ListToolsResponse(Default::default())) }.encode_to_vec();
    for (bytes, id, code) in [
        // Garbage behind a readable id, no payload, a payload of another version, and an answer.
        (&[0x08, 0x05, 0x32, 0x7f][..], 5, -32700),
        (&[0x08, 0x06], 6, -32600),
        (&[0x08, 0x08, 0x9a, 0x06, 0x00], 8, -32601),
        (&response, 7, -32600),
    ] {
        assert!(wire.send_bytes(bytes));
        let told = wire.next().expect("an answer");
        assert_eq!((told.id, error(told.payload.unwrap()).code), (id, code), "{bytes:?}");
    }
    assert_eq!(text(&success(wire.ask(call("add", r#"{"a": 1, "b": 1}"#)))), "2");
}
