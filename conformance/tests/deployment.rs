//! The workflow of a deployment (review, then approve or reject) in the SDKs for Python, JavaScript and Rust, for
//! clients with a session and without one.

use protomcp_conformance::{Host, Sandbox, sdk_example};
use serde_json::{Value, json};

/// A program with the workflow.
#[derive(Debug, Clone, Copy)]
enum Program {
    Python,
    JavaScript,
    Rust,
}

/// The revision of the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Era {
    Stateful,
    Stateless,
}

/// A client of the workflow.
struct Client {
    program: Program,
    era: Era,
    host: Host,
    _sandbox: Sandbox,
}

impl Client {
    fn start(program: Program, era: Era) -> Self {
        let sandbox = Sandbox::new();
        let host = match program {
            Program::Python => {
                sandbox.copy("sdk/deploy.py");
                sandbox.pmcp(&["run", "deploy.py", "--sdk", "bundled"])
            }
            Program::JavaScript => {
                sandbox.copy("sdk/deploy.mjs");
                sandbox.pmcp(&["run", "deploy.mjs", "--sdk", "bundled"])
            }
            Program::Rust => sandbox.pmcp(&["run", &sdk_example("deploy").to_string_lossy()]),
        };
        let host = host.start();
        if era == Era::Stateful {
            host.initialize();
        }
        Self { program, era, host, _sandbox: sandbox }
    }

    fn send(&self, method: &str, mut params: Value) -> Value {
        if self.era == Era::Stateless {
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities": {},
                "io.modelcontextprotocol/clientInfo": {"name": "conformance", "version": "1"},
            });
        }
        self.host.answer(self.host.request(method, &params)).value
    }

    /// The names of the tools, with the separator of the language as `_`.
    fn names(&self) -> Vec<String> {
        let listed = self.send("tools/list", json!({}));
        let tools = listed["result"]["tools"].as_array().unwrap_or_else(|| panic!("{listed}"));
        tools.iter().map(|tool| tool["name"].as_str().unwrap().replace('.', "_")).collect()
    }

    fn call(&self, tool: &str, arguments: &Value) -> Value {
        self.send("tools/call", json!({"name": tool, "arguments": arguments}))
    }

    /// The result of a step; a step other than the first has a handle.
    fn step(&self, step: &str, handle: Option<&str>) -> Value {
        let (separator, name) = match self.program {
            Program::Python => ('.', "handle"),
            Program::JavaScript => ('_', "handle"),
            Program::Rust => ('_', "workflow"),
        };
        let arguments = handle.map_or_else(|| json!({"version": "1.2"}), |handle| json!({name: handle}));
        self.call(&format!("deploy{separator}{step}"), &arguments)["result"].take()
    }

    /// Begins a run, and returns its handle.
    fn review(&self) -> String {
        let result = self.step("review", None);
        let texts = result["content"].as_array().unwrap_or_else(|| panic!("{result}"));
        assert!(texts[0]["text"].as_str().unwrap().starts_with("reviewing 1.2"), "{result}");
        let known = [&result["structuredContent"]["handle"], &result["_meta"]["protomcp/workflow"]["handle"]];
        let handle = known.into_iter().find_map(Value::as_str).or_else(|| {
            let last = texts.last().and_then(|block| block["text"].as_str());
            last.and_then(|text| text.split('"').nth(1))
        });
        handle.unwrap_or_else(|| panic!("no handle in {result}")).to_owned()
    }
}

const ALL: [&str; 6] = ["deploy_approve", "deploy_cancel", "deploy_reject", "deploy_review", "status", "wipe"];

/// Without a session the list is the same for every request (MCP 2026-07-28, server/tools), so nothing is hidden.
#[test]
fn a_deployment_limits_other_tools_for_sessions_alone() {
    for program in [Program::Python, Program::JavaScript, Program::Rust] {
        for era in [Era::Stateful, Era::Stateless] {
            let client = Client::start(program, era);
            let about = format!("{program:?} {era:?}");
            let during = if era == Era::Stateful { &ALL[..5] } else { &ALL[..] };
            assert_eq!(client.names(), ALL, "{about}");
            for (end, word) in [("approve", "approved"), ("reject", "rejected"), ("cancel", "")] {
                let handle = client.review();
                assert_eq!(client.names(), during, "{about} {end}");
                let is_hidden = client.call("wipe", &json!({}))["error"]["code"] == -32602;
                assert_eq!(is_hidden, era == Era::Stateful, "{about}");
                assert_eq!(client.call("status", &json!({}))["result"]["content"][0]["text"], "green", "{about}");
                assert_eq!(client.step("approve", Some("guessed"))["isError"], true, "{about}");
                let ended = client.step(end, Some(&handle));
                assert!(
                    ended["isError"] != true && ended["content"][0]["text"].as_str().unwrap().contains(word),
                    "{ended}"
                );
                assert_eq!(client.names(), ALL, "{about} after {end}");
                assert_eq!(client.step("approve", Some(&handle))["isError"], true, "{about}: the run has ended");
            }
        }
    }
}
