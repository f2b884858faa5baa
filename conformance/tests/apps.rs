//! MCP Apps: the page of a tool process in a host that we did not write (the official client and `AppBridge` of ext-apps, in
//! Chromium), behind `pmcp` and from the library alone, and clients of both eras that show apps.

#[expect(dead_code, reason = "the program has its own entry")]
#[path = "../../crates/sdk/examples/app.rs"]
mod app;

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use protomcp_conformance::{Host, Sandbox, Web, peers, sdk_example};
use protomcp_http::{Config, Listener, Routes, StreamableHttp};
use serde_json::{Value, json};

use crate::playground::{browser, opened, seen_by};

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

    /// Opens the app of the tool `forecast`, uses its controls, and returns what was seen.
    fn visit(mut self, server: &str, screenshot: &Path) -> Value {
        let arguments = json!({"city": "Ulm"});
        let options = json!({"server": server, "tool": "forecast", "arguments": arguments, "screenshot": screenshot});
        let mut input = self.process.stdin.take().expect("it is piped");
        writeln!(input, "{options}").expect("it reads");
        let mut outcome = String::new();
        self.output.read_line(&mut outcome).expect("an outcome");
        assert!(self.process.wait().expect("it ends").success(), "{outcome}");
        let picture = std::fs::read(screenshot).expect("there is a screenshot");
        assert!(picture.starts_with(b"\x89PNG"), "{} bytes", picture.len());
        serde_json::from_str(&outcome).expect("one JSON object")
    }
}

fn assert_is_the_app(seen: &Value) {
    assert_eq!(seen["shown"], json!(["Ulm, day 0: 21 °C", "Ulm, day 1: 20 °C", "Ulm, day 4: 17 °C"]), "{seen}");
    assert_eq!(seen["bars"], json!([63, 60, 51]), "three pixels for each degree");
    assert_eq!(seen["result"]["structuredContent"]["shown"], true, "the handler knows that its page is shown");
    assert_eq!(seen["page"]["mimeType"], "text/html;profile=mcp-app");
    assert_eq!(seen["page"]["_meta"]["ui"], json!({"prefersBorder": true}));
    assert_eq!(seen["app"]["name"], "forecast");
}

#[test]
fn an_app_in_a_browser_calls_tools_and_draws_a_chart() {
    let program = sdk_example("app");
    let visitor = Visitor::start();
    let web = Web::start_program(&program, &["--transport", "http", "--allow-origin", &visitor.origin], &[]);
    let screenshot = web.sandbox().path("app.png");
    let server = format!("http://localhost:{}/mcp", web.port());
    assert_is_the_app(&visitor.visit(&server, &screenshot));
}

/// Serves the app with the library, without `pmcp`. Returns its URL.
async fn serve(config: Config) -> String {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../crates/sdk/examples/app.html");
    let registry = app::weather(page.into()).expect("its definitions are valid");
    let service = StreamableHttp::new(registry.server(), config);
    let listener = Listener::bind("127.0.0.1:0").await.expect("a port is free");
    let server = format!("http://localhost:{}/mcp", listener.local_addr().expect("it is bound").port());
    tokio::spawn(async move { protomcp_http::serve(listener, Routes::new(service)).await });
    server
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_app_is_served_by_the_library_alone() {
    let (visitor, sandbox) = (Visitor::start(), Sandbox::new());
    let server = serve(Config::default().allow_origin(&visitor.origin)).await;
    let screenshot = sandbox.path("app.png");
    let seen = tokio::task::spawn_blocking(move || visitor.visit(&server, &screenshot)).await.expect("it ends");
    assert_is_the_app(&seen);
}

/// The page of `pmcp` for a server that `pmcp` does not run: the app has a frame without an origin, and calls a tool.
#[tokio::test(flavor = "multi_thread")]
async fn an_app_of_the_library_is_used_in_the_playground() {
    let server = serve(Config::default()).await;
    let seen = tokio::task::spawn_blocking(move || {
        let sandbox = Sandbox::new();
        let launch = sandbox.pmcp(&["playground", &server, "--port", "0"]);
        let (web, url) = opened(sandbox, launch);
        seen_by(browser("app.mjs").arg(url), &web)
    });
    let seen: Value = serde_json::from_str(&seen.await.expect("it ends")).expect("one JSON object");
    assert_eq!(seen["shown"], json!(["Ulm, day 0: 21 °C", "Ulm, day 1: 20 °C"]), "{seen}");
    assert_eq!(seen["bars"], json!([63, 60]), "three pixels for each degree");
}

const PYTHON: &str = "
from protomcp import App, tool
page = App('board', 'app.html')

@tool('Shows the board.', app=page)
def show() -> str:
    return 'shown'
";

const JAVASCRIPT: &str = r#"
import { app, tool } from "protomcp";
const page = app({ name: "board", file: "app.html" });
tool({ name: "show", app: page, handler: () => "shown" });
"#;

/// The page has a file. A host that has subscribed to it is told of a save and reads it again, in the same session and
/// process.
#[test]
fn a_saved_page_is_announced_and_read_again() {
    for (file, text, uri) in [
        ("app.py", Some(PYTHON), "ui://board"),
        ("app.mjs", Some(JAVASCRIPT), "ui://board"),
        ("./app", None, "ui://weather/forecast"),
    ] {
        let sandbox = Sandbox::new();
        let page = |title: &str| format!("<!doctype html><title>{title}</title>");
        sandbox.write("app.html", page("First"));
        if let Some(text) = text {
            sandbox.write(file, text);
        } else {
            std::fs::copy(sdk_example("app"), sandbox.path("app")).expect("the sandbox can be written");
        }
        let host = sandbox.pmcp(&["dev", file, "--sdk", "bundled"]).start();
        host.initialize();
        let read = || host.ask("resources/read", &json!({"uri": uri}))["contents"][0]["text"].take();
        assert_eq!(read(), page("First"), "{file}");
        assert_eq!(host.ask("resources/subscribe", &json!({"uri": uri})), json!({}), "{file}");
        for title in ["Second", "Third"] {
            let place = host.now();
            sandbox.write("app.html", page(title));
            let told = host.notified("notifications/resources/updated", place);
            assert_eq!(told.value["params"]["uri"], uri, "{file}");
            assert_eq!(read(), page(title), "{file}");
        }
        assert!(!host.stderr().contains("reloaded"), "{file}: {}", host.stderr());
    }
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
