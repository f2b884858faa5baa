//! A tool process without an SDK: it says in envelopes what the official suite asks for and the published SDKs cannot say.
//!
//! `pmcp` starts it; it connects to the socket of the environment and serves until the bridge hangs up. Each call runs in
//! a thread of its own, because it may have to wait for an answer of the user.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};

use prost::Message as _;
use protomcp_conformance::{frame, tool};
use protomcp_proto::{
    CallToolResponse, ElicitationRequest, Envelope, GetPromptResponse, ListRootsRequest, Msg, PromptArgument,
    PromptDefinition, PromptListResponse, PromptMessage, ReloadResponse, ResourceListResponse,
    ResourceTemplateListResponse, SdkInfo, ToolListResponse,
};
use serde_json::{Value, json};

const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const WAV: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEARKwAAIhYAQACABAAZGF0YQAAAAA=";

const TOOLS: [&str; 12] = [
    "test_audio_content",
    "test_elicitation",
    "test_elicitation_sep1034_defaults",
    "test_elicitation_sep1330_enums",
    "test_embedded_resource",
    "test_image_content",
    "test_input_required_result_elicitation",
    "test_input_required_result_list_roots",
    "test_input_required_result_multi_round",
    "test_input_required_result_request_state",
    "test_input_required_result_tampered_state",
    "test_multiple_content_types",
];

fn main() -> std::io::Result<()> {
    let socket = std::env::var_os("PROTOMCP_SOCKET").expect("pmcp says where to connect");
    let mut stream = UnixStream::connect(socket)?;
    let process = Process { writer: Arc::new(Mutex::new(stream.try_clone()?)), waiting: Arc::default() };
    let features = vec!["elicitation".to_owned()];
    process.send("", "", SdkInfo { name: "none".into(), max_concurrent_calls: 64, features, ..SdkInfo::default() });
    loop {
        let mut length = [0; 4];
        if stream.read_exact(&mut length).is_err() {
            // The bridge has hung up.
            return Ok(());
        }
        let mut bytes = vec![0; u32::from_be_bytes(length) as usize];
        stream.read_exact(&mut bytes)?;
        process.take(Envelope::decode(bytes.as_slice()).expect("the bridge writes valid envelopes"));
    }
}

/// The writing end of the socket, and the questions that wait for answers.
#[derive(Clone)]
struct Process {
    writer: Arc<Mutex<UnixStream>>,
    waiting: Arc<Mutex<HashMap<String, Sender<Msg>>>>,
}

impl Process {
    fn take(&self, envelope: Envelope) {
        let id = envelope.request_id;
        match envelope.msg {
            Some(Msg::ListTools(_)) => {
                self.send(&id, "", ToolListResponse { tools: TOOLS.iter().map(|name| tool(name)).collect() });
                self.send("", "", ReloadResponse { success: true, ..ReloadResponse::default() });
            }
            Some(Msg::ListResourcesRequest(_)) => self.send(&id, "", ResourceListResponse::default()),
            Some(Msg::ListResourceTemplatesRequest(_)) => self.send(&id, "", ResourceTemplateListResponse::default()),
            Some(Msg::ListPromptsRequest(_)) => self.send(&id, "", PromptListResponse { prompts: prompts() }),
            Some(Msg::GetPromptRequest(request)) => {
                let arguments = serde_json::from_slice(&request.arguments_json).unwrap_or_default();
                self.send(&id, "", prompt(&request.name, &arguments));
            }
            Some(Msg::CallTool(call)) => {
                let process = self.clone();
                std::thread::spawn(move || {
                    let content = process.call(&id, &call.name);
                    let result_json = content.to_string().into_bytes().into();
                    process.send(&id, "", CallToolResponse { result_json, ..CallToolResponse::default() });
                });
            }
            Some(answer @ (Msg::ElicitationResponse(_) | Msg::ListRootsResponse(_))) => {
                let waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner).remove(&id);
                // Who has asked may have been cancelled.
                if let Some(waiting) = waiting {
                    drop(waiting.send(answer));
                }
            }
            _ => {}
        }
    }

    /// Runs one tool; what it returns is an array of content blocks.
    fn call(&self, call: &str, name: &str) -> Value {
        match name {
            "test_audio_content" => json!([{"type": "audio", "data": WAV, "mimeType": "audio/wav"}]),
            "test_image_content" => json!([image()]),
            "test_embedded_resource" => json!([resource("test://embedded-resource", "text/plain", "embedded")]),
            "test_multiple_content_types" => json!([
                {"type": "text", "text": "Multiple content types test:"},
                image(),
                resource("test://mixed-content-resource", "application/json", r#"{"test":"data"}"#),
            ]),
            "test_input_required_result_list_roots" => said(&self.ask(call, 1, ListRootsRequest {})),
            "test_input_required_result_multi_round" => {
                let first = self.elicit(call, 1, &name_form());
                let second = self.elicit(call, 2, &name_form());
                json!([{"type": "text", "text": format!("{first}, then {second}")}])
            }
            "test_elicitation_sep1034_defaults" => self.elicit(call, 1, &defaults()),
            "test_elicitation_sep1330_enums" => self.elicit(call, 1, &choices()),
            "test_elicitation" => {
                let text = json!({"type": "string", "description": "User's response"});
                let schema = json!({"type": "object", "properties": {"username": text, "email": text}, "required": ["username", "email"]});
                self.elicit(call, 1, &schema)
            }
            _ => self.elicit(call, 1, &name_form()),
        }
    }

    fn elicit(&self, call: &str, number: u32, schema: &Value) -> Value {
        let requested_schema_json = schema.to_string().into_bytes().into();
        let question = ElicitationRequest {
            message: "Please answer".into(),
            requested_schema_json,
            ..ElicitationRequest::default()
        };
        said(&self.ask(call, number, question))
    }

    /// Asks the host of a call, and waits for what it says.
    fn ask(&self, call: &str, number: u32, question: impl Into<Msg>) -> String {
        let (sender, answer) = channel();
        let id = format!("{call}-{number}");
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).insert(id.clone(), sender);
        self.send(&id, call, question);
        answer.recv().map_or_else(|error| error.to_string(), |answer| format!("state-ok: {answer:?}"))
    }

    fn send(&self, id: &str, for_call: &str, msg: impl Into<Msg>) {
        let envelope = Envelope { for_call: for_call.to_owned(), ..Envelope::new(id, msg) };
        // A bridge that has hung up is seen by who reads.
        let _ = self.writer.lock().unwrap_or_else(PoisonError::into_inner).write_all(&frame(&envelope));
    }
}

fn said(text: &str) -> Value {
    json!([{"type": "text", "text": text}])
}

fn image() -> Value {
    json!({"type": "image", "data": PNG, "mimeType": "image/png"})
}

fn resource(uri: &str, mime_type: &str, text: &str) -> Value {
    json!({"type": "resource", "resource": {"uri": uri, "mimeType": mime_type, "text": text}})
}

fn prompts() -> Vec<PromptDefinition> {
    let uri = PromptArgument { name: "resourceUri".into(), required: true, ..PromptArgument::default() };
    [("test_prompt_with_embedded_resource", vec![uri]), ("test_prompt_with_image", vec![])]
        .map(|(name, arguments)| PromptDefinition {
            name: name.into(),
            description: "Has more than text".into(),
            arguments,
            ..PromptDefinition::default()
        })
        .into()
}

fn prompt(name: &str, arguments: &Value) -> GetPromptResponse {
    let content = match name {
        "test_prompt_with_image" => image(),
        _ => resource(arguments["resourceUri"].as_str().unwrap_or_default(), "text/plain", "embedded"),
    };
    let message =
        |content: Value| PromptMessage { role: "user".into(), content_json: content.to_string().into_bytes().into() };
    let messages = vec![message(content), message(json!({"type": "text", "text": "Please look at it."}))];
    GetPromptResponse { messages, ..GetPromptResponse::default() }
}

fn name_form() -> Value {
    json!({"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]})
}

fn defaults() -> Value {
    json!({"type": "object", "required": [], "properties": {
        "name": {"type": "string", "description": "User name", "default": "John Doe"},
        "age": {"type": "integer", "description": "User age", "default": 30},
        "score": {"type": "number", "description": "User score", "default": 95.5},
        "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
        "verified": {"type": "boolean", "description": "Verification status", "default": true},
    }})
}

fn choices() -> Value {
    let titled = json!([{"const": "value1", "title": "First"}, {"const": "value2", "title": "Second"}]);
    let options = json!(["option1", "option2"]);
    json!({"type": "object", "required": [], "properties": {
        "untitledSingle": {"type": "string", "enum": options},
        "titledSingle": {"type": "string", "oneOf": titled},
        "legacyEnum": {"type": "string", "enum": ["opt1", "opt2"], "enumNames": ["Option One", "Option Two"]},
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": options}},
        "titledMulti": {"type": "array", "items": {"anyOf": titled}},
    }})
}
