//! A server on the official Rust SDK, and the servers of this project.

use std::ffi::OsString;

use protomcp_conformance::{Sandbox, everything_server, peers};
use protomcp_types::{ProtocolVersion, Reference};
use serde_json::json;

use crate::real_servers::facts::{Facts, Prompts, Questions, Resources, ask};
use crate::real_servers::hearing::{ANSWER, NAME, ROOT};
use crate::real_servers::place::{Program, Way};
use crate::real_servers::servers::{Server, Short};

const BOTH: &[Way] = &[Way::Stdio, Way::Http];

pub(crate) const RUST: &[Server] = &[Server {
    name: "A server on `rmcp`",
    pin: Some(("rmcp/Cargo.toml", "rmcp = { version = \"=")),
    ways: BOTH,
    program: |_, way| {
        let program = peers().join("rs-target/debug/server-rmcp").into_os_string();
        Program::new([program].into_iter().chain((way == Way::Http).then(|| "--http".into())))
    },
    facts: |_, _| rmcp_facts(),
    is_of_an_sdk: true,
    short: Short::Whole,
}];

/// The servers of this project.
pub(crate) const OWN: &[Server] = &[
    Server {
        name: "A server written with the library",
        pin: None,
        ways: BOTH,
        program: |_, way| {
            let port: &[&str] = if way == Way::Http { &["--port", "0"] } else { &[] };
            let words = [everything_server().into_os_string(), "--page".into(), "2".into()];
            Program::new(words.into_iter().chain(port.iter().map(OsString::from)))
        },
        facts: |_, _| library_facts(),
        is_of_an_sdk: false,
        short: Short::Whole,
    },
    Server {
        name: "A tool file behind `pmcp run`",
        pin: None,
        ways: BOTH,
        program: bridge,
        facts: |_, _| bridge_facts(),
        is_of_an_sdk: false,
        short: Short::Whole,
    },
];

const RMCP_TOOLS: &[&str] = &["add", "fail", "wait", "count", "note", "ask", "sample", "roots"];

fn rmcp_facts() -> Facts {
    let failure = ask("fail", json!({}), "it failed on purpose");
    Facts {
        calls: vec![ask("add", json!({"a": 2, "b": 40}), "42")],
        structured: Some(ask("add", json!({"a": 2, "b": 40}), "42")),
        progress: Some((ask("count", json!({"to": 3}), "counted to 3"), 3)),
        long: Some(ask("wait", json!({}), "")),
        logging: Some((ask("note", json!({"text": "a line of the log"}), "noted"), "a line of the log")),
        resources: Resources {
            uris: vec!["demo://greeting"],
            reading: Some(("demo://greeting", "Grüße")),
            ..Resources::default()
        },
        prompts: Prompts {
            names: vec!["weather"],
            reading: Some(ask("weather", json!({"city": "Paris"}), "the weather in Paris")),
            completion: None,
        },
        questions: Questions {
            sampling: Some(ask("sample", json!({}), ANSWER)),
            elicitation: Some(ask("ask", json!({}), NAME)),
            roots: Some(ask("roots", json!({}), ROOT)),
        },
        asks_in_sessions_only: true,
        ..Facts::new("server-rmcp", ProtocolVersion::V2026_07_28, RMCP_TOOLS, failure)
    }
}

fn bridge(sandbox: &Sandbox, way: Way) -> Program {
    sandbox.copy("py/clients.py");
    let port: &[&str] = if way == Way::Http { &["--transport", "http", "--port", "0"] } else { &[] };
    let prepared = sandbox.pmcp(&[&["run", "clients.py"], port].concat()).command();
    let mut program = Program::new([prepared.get_program()].into_iter().chain(prepared.get_args()));
    for (name, value) in prepared.get_envs() {
        program.env.extend(value.map(|value| (name.to_owned(), value.to_owned())));
    }
    program
}

/// The facts about both servers of this project, whose features have the same names.
fn common_facts(name: &'static str, tools: &[&'static str]) -> Facts {
    let failure = ask("test_error_handling", json!({}), "intentionally returns an error");
    Facts {
        calls: vec![ask("test_simple_text", json!({}), "This is a simple text response for testing.")],
        structured: Some(ask("test_structured", json!({"a": 2, "b": 40}), "42")),
        progress: Some((ask("test_tool_with_progress", json!({}), "executed successfully"), 3)),
        long: Some(ask("test_wait", json!({}), "")),
        logging: Some((ask("test_tool_with_logging", json!({}), "executed successfully"), "Tool processing data")),
        resources: Resources {
            uris: vec!["test://static-binary", "test://static-text", WATCHED],
            reading: Some(("test://static-text", "content of the static text resource")),
            templates: vec!["test://template/{id}/data"],
            subscription: None,
        },
        prompts: Prompts {
            names: vec!["test_prompt_with_arguments"],
            reading: Some(ask("test_prompt_with_arguments", json!({"arg1": "one", "arg2": "two"}), "arg1='one'")),
            completion: Some((
                Reference::Prompt { name: "test_prompt_with_arguments".into() },
                ["arg1", "par"],
                vec!["paris", "park", "party"],
            )),
        },
        questions: Questions {
            sampling: Some(ask("test_sampling", json!({"prompt": "hello"}), ANSWER)),
            ..Questions::default()
        },
        ..Facts::new(name, ProtocolVersion::V2026_07_28, tools, failure)
    }
}

const WATCHED: &str = "test://watched-resource";

fn library_facts() -> Facts {
    let mut facts = common_facts("everything", LIBRARY_TOOLS);
    facts.task = Some(ask("slow_compute", json!({"seconds": 0.1, "label": "a task"}), "Computed"));
    facts.resources.subscription = Some((WATCHED, ask("test_touch_resource", json!({}), "told")));
    facts.prompts.names = vec![
        "test_changed_prompt",
        "test_input_required_result_prompt",
        "test_prompt_with_arguments",
        "test_prompt_with_embedded_resource",
        "test_prompt_with_image",
        "test_simple_prompt",
    ];
    facts.questions.elicitation = Some(ask("test_input_required_result_elicitation", json!({}), NAME));
    facts.questions.roots = Some(ask("test_input_required_result_list_roots", json!({}), ROOT));
    facts
}

fn bridge_facts() -> Facts {
    common_facts("protomcp", BRIDGE_TOOLS)
}

const BRIDGE_TOOLS: &[&str] = &[
    "test_simple_text",
    "test_structured",
    "test_error_handling",
    "test_tool_with_progress",
    "test_wait",
    "test_given_up",
    "test_tool_with_logging",
    "test_sampling",
    "test_trigger_tool_change",
];

const LIBRARY_TOOLS: &[&str] = &[
    "confirm_delete",
    "failing_job",
    "greet",
    "json_schema_2020_12_tool",
    "multi_input",
    "protocol_error_job",
    "slow_compute",
    "test_audio_content",
    "test_changed_tool",
    "test_custom_header",
    "test_elicitation",
    "test_elicitation_sep1034_defaults",
    "test_elicitation_sep1330_enums",
    "test_elicitation_url",
    "test_embedded_resource",
    "test_error_handling",
    "test_given_up",
    "test_image_content",
    "test_input_required_result_capabilities",
    "test_input_required_result_elicitation",
    "test_input_required_result_list_roots",
    "test_input_required_result_multi_round",
    "test_input_required_result_multiple_inputs",
    "test_input_required_result_request_state",
    "test_input_required_result_sampling",
    "test_input_required_result_tampered_state",
    "test_logging_tool",
    "test_missing_capability",
    "test_multiple_content_types",
    "test_reconnection",
    "test_resource_link",
    "test_roots_changed",
    "test_sampling",
    "test_simple_text",
    "test_streaming_elicitation",
    "test_structured",
    "test_tool_with_logging",
    "test_tool_with_progress",
    "test_tool_with_task",
    "test_touch_resource",
    "test_trigger_prompt_change",
    "test_trigger_resource_change",
    "test_trigger_tool_change",
    "test_wait",
];
