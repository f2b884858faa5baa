//! Programs that embed a bridge: the examples of `crates/bridge`, with a tool file on the published Python SDK and the
//! official Python client as their host.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use protomcp_conformance::{Sandbox, eventually, example, living, peers};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

const SCRIPT: &str = r#"[{"tools": true}, {"call": "echo", "with": {"text": "hi, é"}}, {"call": "reveal"},
    {"until": ["reveal", "secret"]}]"#;

const TOOLS: &str = "\
from protomcp import ToolResult, tool

@tool('Says the text again.')
def echo(text: str) -> str:
    return text

@tool('Is hidden at first.', hidden=True)
def secret() -> str:
    return 'found'

@tool('Shows the hidden tool in the place of another.')
def reveal() -> ToolResult:
    return ToolResult(result='revealed', enable_tools=['secret'], disable_tools=['echo'])
";

/// A host with the environment that tool files are run in.
fn host(sandbox: &Sandbox, words: &[&Path]) -> Command {
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).stdin(Stdio::null());
    command.envs(sandbox.pmcp(&[]).command().get_envs().filter_map(|(name, value)| Some((name, value?))));
    command
}

fn check(given: &[u8]) {
    let given: Vec<Value> = serde_json::from_slice(given).expect("a JSON array");
    assert_eq!(given[0], json!(["echo", "reveal"]));
    assert_eq!(given[1]["content"][0]["text"], "hi, é");
    assert_eq!(given[3], json!(["reveal", "secret"]), "the change is for this session");
}

#[test]
fn an_embedding_program_serves_stdio_with_a_layer() {
    let sandbox = Sandbox::new();
    let file = sandbox.write("tools.py", TOOLS);
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("hosts/script.py");
    let words = [&peers().join("mcp/bin/python"), &script, Path::new(SCRIPT), &example("embedded"), &file];
    let output = host(&sandbox, &words.map(AsRef::as_ref)).output().expect("the host starts");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stderr}");
    check(&output.stdout);
    assert!(stderr.contains("echo took ") && stderr.contains("reveal took "), "the layer saw the calls: {stderr}");
    eventually("everything to be gone", || living(sandbox.marker()).is_empty().then_some(()));
}

#[test]
fn an_axum_application_serves_a_tool_file_among_other_routes() {
    let sandbox = Sandbox::new();
    let file = sandbox.write("tools.py", TOOLS);
    let mut app =
        host(&sandbox, &[&example("embedded_in_axum"), &file]).stderr(Stdio::piped()).spawn().expect("it starts");
    let mut said = BufReader::new(app.stderr.take().expect("it was piped")).lines();
    let url = said.next().expect("it says where it listens").expect("UTF-8");
    // Further output must not fill the pipe.
    std::thread::spawn(move || said.for_each(drop));
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("hosts/script.py");
    let endpoint = format!("{url}/mcp");
    let words = [&peers().join("mcp/bin/python"), &script, Path::new(SCRIPT), Path::new(&endpoint)];
    let output = host(&sandbox, &words.map(AsRef::as_ref)).output().expect("the host starts");
    let page = fetch(&url);
    let pid = i32::try_from(app.id()).ok().and_then(Pid::from_raw).expect("a process id");
    kill_process(pid, Signal::INT).expect("it is running");
    let status = app.wait().expect("it ends");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    check(&output.stdout);
    assert!(page.ends_with("hello from the application"), "{page}");
    assert!(status.success(), "{status}");
    eventually("everything to be gone", || living(sandbox.marker()).is_empty().then_some(()));
}

fn fetch(url: &str) -> String {
    use std::io::{Read, Write};
    let address = url.strip_prefix("http://").expect("a URL");
    let mut stream = std::net::TcpStream::connect(address).expect("it listens");
    stream
        .write_all(format!("GET / HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n").as_bytes())
        .expect("it reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("it answers");
    answer
}
