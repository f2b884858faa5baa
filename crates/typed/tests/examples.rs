//! The examples produce the documented output.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

const HELLO: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"h","version":"1"}}}"#;
const READY: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
const ROOTS_CHANGED: &str = r#"{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}"#;

fn start(example: &str) -> Child {
    let test = std::env::current_exe().unwrap();
    let built: PathBuf = test.parent().unwrap().parent().unwrap().join("examples").join(example);
    let pipe = Stdio::piped;
    Command::new(built).stdin(pipe()).stdout(pipe()).stderr(pipe()).spawn().unwrap()
}

/// Sends requests after the handshake, one after the other, and returns the answers and the standard error.
fn converse(example: &str, requests: &[&str]) -> (Vec<String>, String) {
    let mut child = start(example);
    let (mut input, mut output) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
    let mut said = Vec::new();
    let mut send = |line: &str, id: Option<usize>| {
        writeln!(input, "{line}").unwrap();
        let Some(id) = id else { return };
        loop {
            let mut line = String::new();
            assert!(output.read_line(&mut line).unwrap() > 0, "{example} has ended: {said:?}");
            let answers = line.contains(&format!("\"id\":{id},"));
            said.push(line);
            if answers {
                return;
            }
        }
    };
    send(HELLO, Some(0));
    send(READY, None);
    send(ROOTS_CHANGED, None);
    for (index, request) in requests.iter().enumerate() {
        let id = index + 1;
        send(&format!(r#"{{"jsonrpc":"2.0","id":{id},{request}}}"#), Some(id));
    }
    drop(input);
    let mut log = String::new();
    child.stderr.take().unwrap().read_to_string(&mut log).unwrap();
    assert!(child.wait().unwrap().success(), "{example}: {log}");
    (said, log)
}

fn call(tool: &str, arguments: &str) -> String {
    format!(
        r#""method":"tools/call","params":{{"name":"{tool}","arguments":{arguments},"_meta":{{"progressToken":7}}}}"#
    )
}

#[track_caller]
fn check(example: &str, requests: &[String], expected: &[&str]) -> String {
    let requests: Vec<&str> = requests.iter().map(String::as_str).collect();
    let (said, log) = converse(example, &requests);
    let said = said.concat();
    for text in expected {
        assert!(said.contains(text), "{example} does not say {text}: {said}");
    }
    log
}

#[test]
fn tool() {
    let requests = [
        call("greet", r#"{"name":"you","times":2}"#),
        call("greet", r#"{"nam":"you"}"#),
        call("divide", r#"{"dividend":1,"divisor":4}"#),
        call("divide", r#"{"dividend":1,"divisor":0}"#),
        call("count", "{}"),
    ];
    let expected = [
        "Hello, you! Hello, you!",
        r#"did you mean \"name\"?"#,
        r#""structuredContent":{"quotient":0.25}"#,
        r"division by zero\nSuggestion: choose another divisor",
        r#""progressToken":7,"progress":3,"total":3,"message":"step 3""#,
        "counted to three",
    ];
    check("tool", &requests, &expected);
}

#[test]
fn prompt() {
    let complete = |argument: &str, value: &str| {
        format!(
            r#""method":"completion/complete","params":{{"ref":{{"type":"ref/prompt","name":"code_review"}},"argument":{{"name":"{argument}","value":"{value}"}}}}"#
        )
    };
    let get = r#""method":"prompts/get","params":{"name":"code_review","arguments":{"code":"x","language":"rust","reader":"ann"}}"#;
    let requests = [get.to_owned(), complete("language", "p"), complete("reader", "an")];
    check("prompt", &requests, &[r"Please review this Rust code for ann:\nx", r#"["python"]"#, r#"["ann","anton"]"#]);
}

#[test]
fn resources() {
    let read = |uri: &str| format!(r#""method":"resources/read","params":{{"uri":"{uri}"}}"#);
    let subscribe = r#""method":"resources/subscribe","params":{"uri":"visits://all"}"#.to_owned();
    let requests = [
        read("motto://today"),
        read("square://12"),
        subscribe,
        call("visit", "{}"),
        read("visits://all"),
        read("square://x"),
    ];
    let expected = [
        "Simplicity is a prerequisite",
        r#"{\"number\":12,\"square\":144}"#,
        r#""method":"notifications/resources/updated","params":{"uri":"visits://all"}"#,
        "1 visits",
        r#""data":{"uri":"square://x"}"#,
    ];
    check("resources", &requests, &expected);
}

#[test]
fn middleware() {
    let requests =
        [call("greet", "{}"), call("never", "{}"), r#""method":"prompts/get","params":{"name":"a"}"#.to_owned()];
    let log = check("middleware", &requests, &["\"hi\"", "timed out after 100ms", "-32601"]);
    assert!(log.contains("tools/call: ok after") && log.contains("sent notifications/message"), "{log}");
    assert!(log.contains("the roots of session 1 have changed"), "the layer swallows notifications: {log}");
}

#[test]
fn custom_transport() {
    let output = start("custom_transport").wait_with_output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("\"greeter\"") && text.contains("\"hi\""), "{text}");
    assert!(text.ends_with("the session has ended: ClientLeft\n"), "{text}");
}

#[test]
fn axum_app() {
    let mut child = start("axum_app");
    let mut url = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut url).unwrap();
    let address = url.trim().strip_prefix("http://").unwrap();
    let ask = |head: &str, body: &str| {
        let mut stream = TcpStream::connect(address).unwrap();
        let length = body.len();
        let head = format!(
            "{head} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nContent-Length: {length}\r\n\r\n"
        );
        stream.write_all(format!("{head}{body}").as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    };
    assert!(ask("GET /", "").ends_with("hello from the application"));
    let answer = ask("POST /mcp", HELLO);
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("\"greeter\""), "{answer}");
}
