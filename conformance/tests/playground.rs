//! `pmcp playground`: the page in a browser, used as a user would, and its requests.

mod limits;

use std::process::Command;

use protomcp_conformance::{Launch, Sandbox, Web, peers, pmcp, root};

use crate::visit::host;

/// The playground of a tool file, and the URL of its page.
fn playground(fixture: &str, sdk: &str) -> (Web, String) {
    let sandbox = Sandbox::new();
    let file = sandbox.copy(fixture);
    let name = file.file_name().expect("a fixture is a file").to_string_lossy().into_owned();
    let launch = sandbox.pmcp(&["playground", &name, "--port", "0", "--sdk", sdk]);
    opened(sandbox, launch)
}

/// A playground, and the URL of its page.
pub(crate) fn opened(sandbox: Sandbox, launch: Launch) -> (Web, String) {
    let web = Web::launch_until(sandbox, launch, "in the playground");
    let log = web.process().stderr();
    let url = log.lines().find_map(|line| line.strip_prefix("pmcp: open ")).expect("it prints the URL").to_owned();
    (web, url)
}

/// A script that opens pages in a browser.
pub(crate) fn browser(script: &str) -> Command {
    let mut node = Command::new("node");
    node.arg(host("playground").join(script)).env("BROWSER", peers().join("browser/node_modules"));
    node
}

/// The output of a program that uses a playground.
#[track_caller]
pub(crate) fn seen_by(program: &mut Command, web: &Web) -> String {
    let output = program.output().expect("the program is installed by scripts/setup");
    let seen = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{seen}{}{}", String::from_utf8_lossy(&output.stderr), web.process().stderr());
    seen
}

/// Sends the token of the page with all requests.
fn carry_token(web: &mut Web, url: &str) {
    let (_, token) = url.split_once("#token=").expect("the token is in the fragment");
    web.carry("authorization", &format!("Bearer {token}"));
}

/// Item 98.
#[test]
fn every_part_of_the_page_works_in_a_browser() {
    let (web, url) = playground("sdk/playground.py", "bundled");
    let seen = seen_by(browser("visit.mjs").arg(&url).arg(web.sandbox().path("playground.py")), &web);
    assert_eq!(seen.lines().count(), 20, "{seen}");
}

#[test]
fn a_person_answers_all_that_is_asked_in_a_browser() {
    let (web, url) = playground("playground/more.py", "bundled");
    let sandbox = Sandbox::new();
    sandbox.copy("playground/pages.py");
    let launch = sandbox.pmcp(&["playground", "pages.py", "--port", "0"]);
    let launch = launch.env("PROTOMCP_PYTHON", peers().join("mcp/bin/python"));
    let (_pages, pages_url) = opened(sandbox, launch);
    let seen = seen_by(browser("more.mjs").args([url, pages_url]), &web);
    assert_eq!(seen.lines().count(), 15, "{seen}");
}

#[test]
fn the_page_is_compared_with_the_official_inspector() {
    let (web, url) = playground("sdk/playground.py", "bundled");
    let sandbox = Sandbox::new();
    let file = sandbox.copy("sdk/playground.py");
    let script = "inspector/node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js";
    let mut compare = browser("compare.mjs");
    compare.arg(&url).arg(pmcp()).arg("run").arg(file).args(["--sdk", "bundled"]);
    let seen = seen_by(compare.env("INSPECTOR", peers().join(script)).env("HOME", sandbox.path(".")), &web);
    assert_eq!(seen.lines().count(), 10, "{seen}");
    let page = std::fs::read_to_string(root().join("docs/how-to/playground.md")).expect("the page is in the book");
    for row in seen.lines() {
        assert!(page.contains(row), "docs/how-to/playground.md says otherwise than: {row}");
    }
}

#[test]
fn a_form_takes_any_reference() {
    let sandbox = Sandbox::new();
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../crates/playground/page/schema.js");
    let script = "
import { resolve } from './schema.mjs';
const root = { $defs: { 'a b': { type: 'string' }, 'c/d': { type: 'null', $anchor: 'one' } } };
for (const $ref of ['#/$defs/a%20b', '#/$defs/c~1d', '#one', '#/%zz', '#/$defs/%', '#/none', 'https://a.example/b']) {
  console.log(JSON.stringify(resolve({ $ref }, root)));
}";
    sandbox.write("schema.mjs", std::fs::read_to_string(page).expect("the page is part of the repository"));
    let output = Command::new("node").arg(sandbox.write("references.mjs", script)).output();
    let output = output.expect("node is installed by scripts/setup");
    let seen = String::from_utf8_lossy(&output.stdout);
    let anchored = r#"{"type":"null","$anchor":"one"}"#;
    let expected = [r#"{"type":"string"}"#, anchored, anchored, "{}", "{}", "{}", "{}"];
    assert_eq!(seen.lines().collect::<Vec<_>>(), expected, "{}", String::from_utf8_lossy(&output.stderr));
}

/// Runs a script next to these modules of the page. Returns its lines.
fn lines_of(modules: &[&str], script: &str) -> Vec<String> {
    let sandbox = Sandbox::new();
    for file in modules {
        let page = root().join("crates/playground/page").join(file);
        sandbox.write(file, std::fs::read(page).expect("the page is part of the repository"));
    }
    sandbox.write("package.json", r#"{"type": "module"}"#);
    let output = Command::new("node").arg(sandbox.write("script.js", script)).output();
    let output = output.expect("node is installed by scripts/setup");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect()
}

#[test]
fn a_broken_stream_goes_on_after_the_last_event() {
    let script = r#"
import { followEvents } from "./events.js";
globalThis.setTimeout = (resume) => queueMicrotask(resume);
const pieces = ['data: {"seq":0}\n\ndata: {"seq":1}\n\n'];
const broken = (controller) => {
  const piece = pieces.shift();
  if (piece === undefined) controller.error(new Error("broken"));
  else controller.enqueue(new TextEncoder().encode(piece));
};
const answers = [
  () => new Response(new ReadableStream({ pull: broken })),
  () => { throw new TypeError("fetch failed"); },
  () => new Response("", { status: 401 }),
];
globalThis.fetch = async (url) => {
  console.log(url);
  return answers.shift()();
};
await followEvents("token", ({ seq }) => console.log(seq));
"#;
    let expected = ["/api/events?from=0", "0", "1", "/api/events?from=2", "/api/events?from=2"];
    assert_eq!(lines_of(&["events.js", "sse.js"], script), expected);
}

#[test]
fn the_page_reads_each_list_once() {
    let script = r#"
import { McpClient } from "./mcp.js";
for (const cursors of [[undefined], [null], ["", null], ["", ""], ["b", "", "b"], ["b", "b"]]) {
  const client = new McpClient("", "", "2025-11-25", {});
  let page = 0;
  client.request = async () => ({ tools: [page], nextCursor: cursors[page++] });
  console.log((await client.list("tools/list", "tools")).join(" "));
}
"#;
    let expected = ["0", "0", "0 1", "0", "0 1", "0 1"];
    assert_eq!(lines_of(&["mcp.js", "dom.js", "eras.js", "json.js", "sse.js"], script), expected);
}

#[test]
fn a_server_with_another_sdk_has_a_page() {
    let sandbox = Sandbox::new();
    sandbox.copy("dev/server.py");
    let launch = sandbox.pmcp(&["playground", "server.py", "--port", "0"]);
    let launch = launch.env("PROTOMCP_PYTHON", peers().join("mcp/bin/python"));
    let (mut web, url) = opened(sandbox, launch);
    let log = web.process().stderr();
    assert!(log.contains("server.py is an MCP server with another SDK"), "{log}");
    carry_token(&mut web, &url);
    let called = web.send("POST", "/api/call", &[], r#"{"name": "work", "args": {"id": 7, "ms": 0}}"#);
    assert!(called.status == 200 && called.body.contains("7 v0"), "{}", called.body);
    assert_eq!(web.send("POST", "/api/reload", &[], "").status, 200);
}

/// Item 98.
#[test]
fn a_request_without_the_token_gets_nothing() {
    let (mut web, url) = playground("py/basics.py", "installed");
    let page = web.send("GET", "/", &[], "");
    assert_eq!((page.status, page.header("content-type")), (200, Some("text/html; charset=utf-8")));
    let policy = page.header("content-security-policy").expect("the page has a policy");
    assert!(policy.contains("script-src 'self'") && policy.contains("frame-ancestors 'none'"), "{policy}");
    let token = url.split_once("#token=").expect("the token is in the fragment").1;
    assert!(!page.body.contains(token), "the page is the same for everyone");
    let paths = [
        ("GET", "/api/trace"),
        ("GET", "/api/events"),
        ("POST", "/api/reload"),
        ("POST", "/mcp"),
        ("GET", "/mcp"),
        ("GET", "/api/tools"),
        ("GET", "/api/resources"),
        ("GET", "/api/prompts"),
        ("POST", "/api/call"),
        ("POST", "/api/resource/read"),
        ("POST", "/api/prompt/get"),
        ("POST", "/api/export"),
        ("GET", "/api/hosts"),
        ("POST", "/api/host-view"),
        ("GET", "/ws"),
    ];
    for (method, path) in paths {
        assert_eq!(web.send(method, path, &[], "{}").status, 401, "{method} {path}");
        let foreign = [("origin", "https://evil.example.com"), ("authorization", &*format!("Bearer {token}"))];
        assert_eq!(web.send(method, path, &foreign, "{}").status, 403, "{method} {path}");
        let rebound = [("host", "evil.example.com"), ("authorization", &*format!("Bearer {token}"))];
        assert_eq!(web.send(method, path, &rebound, "{}").status, 403, "{method} {path}");
    }
    web.carry("authorization", &format!("Bearer {token}"));
    web.initialize();
    let trace = web.send("GET", "/api/trace", &[], "").body;
    assert!(trace.contains(r#""kind":"tool_list""#) && !trace.contains(token), "{trace}");
    let reload = web.send("POST", "/api/reload", &[], "");
    assert_eq!((reload.status, &*reload.body), (200, r#"{"status":"ok"}"#));
    assert_eq!(web.send("GET", "/api/reload", &[], "").status, 405);
    assert_eq!(web.send("GET", "/api/nothing", &[], "").status, 404);
}

/// Item 98.
#[test]
fn a_program_uses_the_requests_and_follows_the_events() {
    let (web, url) = playground("sdk/playground.py", "bundled");
    let (origin, token) = url.split_once("/#token=").expect("the token is in the fragment");
    let mut routes = Command::new(peers().join("mcp/bin/python"));
    routes.arg(host("playground/routes.py")).args([origin, token, &web.process().pid().to_string()]);
    let seen = seen_by(&mut routes, &web);
    assert_eq!(seen.lines().count(), 10, "{seen}");
    assert!(web.process().exit().success(), "{}", web.process().stderr());
}

#[test]
fn the_scripts_of_the_page_have_no_errors_of_types() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../crates/playground/jsconfig.json");
    let compiler = peers().join("sdk-typescript/node_modules/typescript/bin/tsc");
    let output = Command::new("node").arg(compiler).args(["-p", page]).output().expect("node is installed");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

#[test]
fn the_page_is_not_served_to_other_machines_in_plaintext() {
    let sandbox = Sandbox::new();
    sandbox.copy("py/basics.py");
    let host = sandbox.pmcp(&["playground", "basics.py", "--port", "0", "--host", "0.0.0.0"]).start();
    assert_eq!(host.exit().code(), Some(2));
    host.stderr_with("0.0.0.0 can be reached from other machines");
}

#[test]
fn another_name_of_the_page_needs_its_flag() {
    let sandbox = Sandbox::new();
    sandbox.copy("py/basics.py");
    let flags = ["--port", "0", "--sdk", "installed", "--allow-host", "tools.example.com"];
    let launch = sandbox.pmcp(&[&["playground", "basics.py"], &flags[..]].concat());
    let (mut web, url) = opened(sandbox, launch);
    carry_token(&mut web, &url);
    let allowed = [("host", "tools.example.com"), ("origin", "http://tools.example.com")];
    assert_eq!(web.send("GET", "/api/tools", &allowed, "").status, 200);
    let refused = web.send("GET", "/api/tools", &[("host", "evil.example.com")], "");
    assert_eq!(refused.status, 403, "{}", refused.body);
    assert!(refused.body.contains("--allow-host evil.example.com allows it"), "{}", refused.body);
}

#[test]
fn a_command_and_a_url_have_a_page() {
    let behind = Web::start("py/basics.py", &["--transport", "http"]);
    let url = format!("http://localhost:{}/mcp", behind.port());
    let python = peers().join("mcp/bin/python").to_string_lossy().into_owned();
    let command = ["--", python.as_str(), "server.py"];
    for target in [command, [url.as_str(), "--header", "x-trace: 1"]] {
        let sandbox = Sandbox::new();
        sandbox.copy("dev/server.py");
        let launch = sandbox.pmcp(&[["playground", "--port", "0"], target].concat());
        let (mut web, url) = opened(sandbox, launch);
        carry_token(&mut web, &url);
        let tools = web.send("GET", "/api/tools", &[], "");
        assert!(tools.status == 200 && tools.body.contains("\"name\""), "{target:?}: {}", tools.body);
        let trace = web.send("GET", "/api/trace", &[], "").body;
        assert!(trace.contains(r#""kind":"tools/list""#) && trace.contains(r#""from":"bridge""#), "{trace}");
        assert!(trace.contains(r#""kind":"result""#), "{trace}");
    }
}

#[test]
fn messages_are_exported_without_their_secrets() {
    let (mut web, url) = playground("py/basics.py", "installed");
    carry_token(&mut web, &url);
    let call =
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":{"password":"sesame!!"}}}"#;
    let entries = format!(r#"[{{"at":5,"from":"client","message":{call}}}]"#);
    let export = |web: &Web, form: &str| {
        let body = format!(r#"{{"form":"{form}","entries":{entries}}}"#);
        let reply = web.send("POST", "/api/export", &[], &body);
        assert_eq!(reply.status, 200, "{}", reply.body);
        reply.json()["text"].as_str().expect("a text").to_owned()
    };
    let trace = export(&web, "trace");
    assert!(trace.starts_with(r#"{"trace":"mcp","version":2"#) && !trace.contains("sesame"), "{trace}");
    assert!(export(&web, "scenario").contains("steps:"));
    let broken = web.send("POST", "/api/export", &[], r#"{"form":"picture","entries":[]}"#);
    assert_eq!(broken.status, 400, "{}", broken.body);
}

#[test]
fn tools_are_shown_as_a_host_sees_them() {
    let (mut web, url) = playground("py/basics.py", "installed");
    carry_token(&mut web, &url);
    let hosts = web.send("GET", "/api/hosts", &[], "").json();
    let hosts = hosts.as_array().expect("a list");
    assert!(hosts.iter().any(|host| host["id"] == "cursor" && host["label"] == "Cursor"), "{hosts:?}");
    let body = r#"{"host":"anthropic","tools":[{"name":"group.get","inputSchema":{"type":"object"}}]}"#;
    let view = web.send("POST", "/api/host-view", &[], body).json();
    assert_eq!(view["tools"][0]["name"], "group_get", "{view}");
    assert_eq!(view["report"]["findings"][0]["tool"], "group.get", "{view}");
}
