//! Tools that send the host a request before they answer. Each request is a separate envelope; the published link has
//! requests for sampling and roots, and the extensions add elicitation.

use protomcp_envelope::{ElicitationRequest, ListRootsRequest, Msg, SamplingRequest};
use serde_json::{Value, json};

use crate::content::said;
use crate::link::{Link, Question};

/// Tools that need only the published link.
pub(crate) const PUBLISHED: [&str; 6] = [
    "test_input_required_result_capabilities",
    "test_input_required_result_list_roots",
    "test_input_required_result_sampling",
    "test_missing_capability",
    "test_sampling",
    "test_streaming_elicitation",
];

/// Tools that ask the user.
pub(crate) const EXTENDED: [&str; 8] = [
    "test_elicitation",
    "test_elicitation_sep1034_defaults",
    "test_elicitation_sep1330_enums",
    "test_input_required_result_elicitation",
    "test_input_required_result_multi_round",
    "test_input_required_result_multiple_inputs",
    "test_input_required_result_request_state",
    "test_input_required_result_tampered_state",
];

/// Calls a tool; the result is an array of content blocks.
pub(crate) fn call(link: &Link, call: &str, name: &str) -> Result<Value, String> {
    let roots = || ("client_roots", ListRootsRequest {}.into());
    let person = |key| (key, user(&field("name", "string")));
    if name == "test_input_required_result_multiple_inputs" {
        let answers = link.ask(call, vec![person("user_name"), model("greeting"), roots()])?;
        return Ok(said(&format!("{answers:?}")));
    }
    let rounds = match name {
        "test_streaming_elicitation" => vec![],
        "test_sampling"
        | "test_missing_capability"
        | "test_input_required_result_sampling"
        | "test_input_required_result_capabilities" => vec![model("capital_question")],
        "test_input_required_result_list_roots" => vec![roots()],
        "test_input_required_result_multi_round" => vec![person("step1"), person("step2")],
        "test_elicitation_sep1034_defaults" => vec![("defaults", user(&defaults()))],
        "test_elicitation_sep1330_enums" => vec![("choices", user(&choices()))],
        "test_elicitation" => vec![("account", user(&account_form()))],
        "test_input_required_result_elicitation" => vec![person("user_name")],
        _ => vec![person("confirm")],
    };
    let answers: Result<Vec<_>, _> = rounds.into_iter().map(|question| link.ask(call, vec![question])).collect();
    Ok(said(&format!("state-ok: {:?}", answers?)))
}

fn model(key: &'static str) -> Question {
    let messages = json!([{"role": "user", "content": {"type": "text", "text": "What is the capital of France?"}}]);
    let messages_json = messages.to_string().into_bytes().into();
    (key, SamplingRequest { messages_json, max_tokens: 100, ..SamplingRequest::default() }.into())
}

pub(crate) fn user(schema: &Value) -> Msg {
    let requested_schema_json = schema.to_string().into_bytes().into();
    let message = "Please answer".into();
    ElicitationRequest { message, requested_schema_json, ..ElicitationRequest::default() }.into()
}

/// A form with one field.
pub(crate) fn field(name: &str, kind: &str) -> Value {
    json!({"type": "object", "properties": {name: {"type": kind}}, "required": [name]})
}

fn account_form() -> Value {
    let text = json!({"type": "string", "description": "User's response"});
    json!({"type": "object", "properties": {"username": text, "email": text}, "required": ["username", "email"]})
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
