//! MCP Apps: the page of a tool process in a host that we did not write (the official client and `AppBridge` of ext-apps, in
//! Chromium), and clients of both eras that show apps.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use protomcp_conformance::{Host, Sandbox, Web, peers, sdk_example};
use serde_json::{Value, json};

/// A host page that waits for its server.
struct Visitor {
    process: Child,
    origin: String,
    output: BufReader<std::process::ChildStdout>,
}

impl Visitor {
    fn start() -> Self {
        let mut node = Command::new("node");
        node.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/hosts/apps/visit.mjs"));
        node.env("PACKAGES", peers().join("inspector/node_modules"))
            .env("BROWSER", peers().join("browser/node_modules"));
        let mut process = node.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("node is installed");
        let mut output = BufReader::new(process.stdout.take().expect("it is piped"));
        let mut origin = String::new();
        output.read_line(&mut origin).expect("it says where the page is");
        Self { process, origin: origin.trim().to_owned(), output }
    }

    /// Opens the app of a tool, presses its button, and returns what was seen.
    fn visit(mut self, web: &Web, tool: &str, arguments: &Value, screenshot: &Path) -> Value {
        let server = format!("http://localhost:{}/mcp", web.port());
        let options = json!({"server": server, "tool": tool, "arguments": arguments, "screenshot": screenshot});
        let mut input = self.process.stdin.take().expect("it is piped");
        writeln!(input, "{options}").expect("it reads");
        let mut outcome = String::new();
        self.output.read_line(&mut outcome).expect("an outcome");
        assert!(self.process.wait().expect("it ends").success(), "{outcome}{}", web.process().stderr());
        serde_json::from_str(&outcome).expect("one JSON object")
    }
}

#[test]
fn an_app_in_a_browser_calls_a_tool_and_shows_the_result() {
    let program = sdk_example("app");
    let visitor = Visitor::start();
    let web = Web::start_program(&program, &["--transport", "http", "--allow-origin", &visitor.origin], &[]);
    let screenshot = web.sandbox().path("app.png");
    let seen = visitor.visit(&web, "forecast", &json!({"city": "Ulm"}), &screenshot);
    assert_eq!(seen["shown"], json!(["Ulm, day 0: 21 °C", "Ulm, day 1: 20 °C"]), "{seen}");
    assert_eq!(seen["result"]["structuredContent"]["shown"], true, "the handler knows that its page is shown");
    assert_eq!(seen["page"]["mimeType"], "text/html;profile=mcp-app");
    assert_eq!(seen["page"]["_meta"]["ui"], json!({"prefersBorder": true}));
    assert_eq!(seen["app"]["name"], "forecast");
    let picture = std::fs::read(&screenshot).expect("there is a screenshot");
    assert!(picture.starts_with(b"\x89PNG"), "{} bytes", picture.len());
}

/// The result of the tool for a client with these capabilities; `era`: its revision.
fn forecast(host: &Host, era: &str, capabilities: &Value) -> Value {
    let mut params = json!({"name": "forecast", "arguments": {"city": "Ulm"}});
    if era == "2026-07-28" {
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": era,
            "io.modelcontextprotocol/clientCapabilities": capabilities,
            "io.modelcontextprotocol/clientInfo": {"name": "conformance", "version": "1"},
        });
    }
    host.ask("tools/call", &params)["structuredContent"].take()
}

#[test]
fn a_handler_knows_in_both_eras_if_apps_are_shown() {
    let program = sdk_example("app").to_string_lossy().into_owned();
    let shows = |mime_type: &str| json!({"extensions": {"io.modelcontextprotocol/ui": {"mimeTypes": [mime_type]}}});
    for era in ["2025-11-25", "2026-07-28"] {
        for (capabilities, shown) in
            [(json!({}), false), (shows("text/html;profile=mcp-app"), true), (shows("text/uri-list"), false)]
        {
            let sandbox = Sandbox::new();
            let host = sandbox.pmcp(&["run", &program]).start();
            if era != "2026-07-28" {
                let id = host.begin_with(era, &capabilities);
                host.answer(id);
            }
            assert_eq!(forecast(&host, era, &capabilities)["shown"], shown, "{era} {capabilities}");
        }
    }
    let sandbox = Sandbox::new();
    let host = sandbox.pmcp(&["run", &program]).start();
    host.initialize();
    // Hiding a tool from the model is the duty of the host, so it is in the list of every client.
    assert_eq!(
        host.tool("forecast_day")["_meta"]["ui"],
        json!({"resourceUri": "ui://weather/forecast", "visibility": ["app"]})
    );
    let page = &host.ask("resources/list", &json!({}))["resources"][0];
    assert_eq!(
        (&page["mimeType"], &page["_meta"]["ui"]),
        (&json!("text/html;profile=mcp-app"), &json!({"prefersBorder": true}))
    );
}
