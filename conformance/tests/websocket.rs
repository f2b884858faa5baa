//! proto-mcp over WebSocket, with clients of the library `websockets`, together with Streamable HTTP on one port.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use protomcp_conformance::neighbours::peak;
use protomcp_conformance::{Host, Sandbox, certificates, eventually, peers};
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::tls::assert_tls_1_3_alone;
use crate::visit::{host, printed, visit};

/// A tool file behind the port of HTTP.
struct Port {
    host: Host,
    sandbox: Sandbox,
    /// With `http` in place of `ws`.
    url: String,
}

impl Port {
    fn open(flags: &[&str]) -> Self {
        Self::open_in(Sandbox::new(), flags)
    }

    fn open_in(sandbox: Sandbox, flags: &[&str]) -> Self {
        sandbox.copy("py/basics.py");
        let args = [&["run", "basics.py", "--port", "0"], flags].concat();
        let host = sandbox.pmcp(&args).env("SECRET", "t0k").start();
        let log = host.stderr_with("over HTTP");
        let (_, url) = log.split_once("listening on ").expect("it says where it listens");
        let url = url.split_whitespace().next().unwrap().replacen("ws", "http", 1);
        Self { host, sandbox, url }
    }

    fn ws(&self) -> String {
        self.url.replacen("http", "ws", 1)
    }

    fn relay(&self, form: &str) -> Command {
        relay(&[&self.ws(), form])
    }

    /// The status of HTTP in answer to a handshake with these variables; 101 if it succeeds.
    fn handshake(&self, variables: &[(&str, &str)]) -> u16 {
        let mut relay = self.relay("prefixed");
        let output = relay.envs(variables.iter().copied()).stdin(Stdio::null()).output().unwrap();
        let log = String::from_utf8(output.stderr).unwrap();
        match output.status.code() {
            Some(0) => 101,
            Some(2) => log.trim().parse().unwrap(),
            other => panic!("{other:?}: {log}"),
        }
    }

    /// The output of `pmcp` with this URL as server, or its error.
    fn command(&self, words: &[&str], variables: &[(&str, &str)]) -> Result<String, String> {
        let launch = variables.iter().fold(self.sandbox.pmcp(words), |launch, (name, value)| launch.env(*name, *value));
        let output = launch.command().output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        if output.status.success() { Ok(text(output.stdout)) } else { Err(text(output.stderr)) }
    }
}

/// The official client of MCP and one of proto-mcp use the same tools on one port.
#[test]
fn both_protocols_have_the_same_results_over_http() {
    let port = Port::open(&["--transport", "http"]);
    let mut official = Command::new(peers().join("mcp/bin/python"));
    let json = printed(official.arg(host("client.py")).arg("legacy").arg(&port.url));
    let calls = json!({
        "echo": {"text": "hello"},
        "add": {"a": 1, "b": 2},
        "greet": {"name": "Jürgen"},
        "large": {"size": 70_000},
    });
    for form in ["prefixed", "bare"] {
        let binary = visit(&port.sandbox, &calls, &port.relay(form));
        for name in ["echo", "add", "greet", "large"] {
            let texts: Vec<_> = json["calls"][name]["text"].as_array().unwrap().iter().collect();
            let content = binary["answers"][name]["success"]["content"].as_array().unwrap();
            assert_eq!(content.iter().map(|block| &block["text"]).collect::<Vec<_>>(), texts, "{form}: {name}");
        }
        let mut names: Vec<_> = json["tools"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
        names.sort_unstable();
        assert_eq!(binary["tools"], json!(names), "{form}");
        assert_eq!((&binary["rest"], &binary["exit"]), (&json!(""), &json!(0)), "{form}");
    }
    assert_eq!(port.command(&["call", &port.ws(), "add", "a=2", "b=3"], &[]).unwrap(), "5\n");
    let listed = port.command(&["list", &port.ws()], &[]).unwrap();
    assert!(listed.lines().any(|line| line.starts_with("add(") && line.ends_with("Adds two integers.")), "{listed}");
    port.host.signal(Signal::TERM);
    assert!(port.host.exit().success());
}

#[test]
fn a_message_beyond_the_limit_names_the_flag_that_raises_it() {
    let port = Port::open(&["--transport", "http", "--max-body", "2K"]);
    let text = format!("text={}", "x".repeat(3000));
    let grpc = port.ws().replace("ws://", "grpc://").replace("/mcp", "");
    for url in [&*port.url, &*port.ws(), &*grpc] {
        let error = port.command(&["call", url, "echo", &text], &[]).unwrap_err();
        assert!(error.contains("raise --max-body"), "{url}: {error}");
    }
}

#[test]
fn wrong_messages_close_the_connection_with_their_code() {
    let port = Port::open(&["--transport", "ws"]);
    let mut ends = Command::new(peers().join("mcp/bin/python"));
    let codes = printed(ends.arg(host("ws_ends.py")).arg(port.ws()));
    let expected =
        json!({"text": 1003, "too large": 1009, "fragments too large": 1009, "garbage": 1002, "fragments": true});
    assert_eq!(codes, expected);
    // Streamable HTTP is not served.
    let official = Command::new(peers().join("mcp/bin/python"))
        .arg(host("client.py"))
        .args(["legacy", &port.url])
        .output()
        .unwrap();
    assert!(!official.status.success());
}

#[test]
fn handshakes_pass_the_checks_of_the_port() {
    let port = Port::open(&["--transport", "http", "--auth", "token:SECRET", "--allow-origin", "https://app.example"]);
    let token = ("RELAY_AUTHORIZATION", "Bearer t0k");
    let own = port.url.trim_end_matches("/mcp");
    for (variables, status) in [
        (&[][..], 401),
        (&[("RELAY_AUTHORIZATION", "Bearer other")], 401),
        (&[token], 101),
        (&[token, ("RELAY_ORIGIN", "https://app.example")], 101),
        (&[token, ("RELAY_ORIGIN", own)], 101),
        (&[token, ("RELAY_ORIGIN", "https://evil.example")], 403),
        // A page of another server on this machine.
        (&[token, ("RELAY_ORIGIN", "http://localhost:1")], 403),
    ] {
        assert_eq!(port.handshake(variables), status, "{variables:?}");
    }
    let words = ["call", &port.ws(), "add", "a=2", "b=3", "--header", "authorization: Bearer ${SECRET}"];
    assert_eq!(port.command(&words, &[("SECRET", "t0k")]).unwrap(), "5\n");
    let refused = port.command(&["list", &port.ws()], &[]).unwrap_err();
    assert!(refused.contains("401 Unauthorized"), "{refused}");
}

#[test]
fn a_connection_within_tls_is_the_same() {
    let sandbox = Sandbox::new();
    certificates::write(&sandbox);
    let port = Port::open_in(sandbox, &["--transport", "http", "--tls-cert", "cert.pem", "--tls-key", "key.pem"]);
    let mut relay = port.relay("prefixed");
    relay.arg(port.sandbox.path("authority.pem"));
    let seen = visit(&port.sandbox, &json!({"add": {"a": 2, "b": 40}}), &relay);
    assert_eq!(seen["answers"]["add"]["success"]["content"], json!([{"text": "42"}]));
    let authority = port.sandbox.path("authority.pem").to_string_lossy().into_owned();
    let words = ["call", &port.ws(), "add", "a=2", "b=3"];
    assert_eq!(port.command(&words, &[("SSL_CERT_FILE", &authority)]).unwrap(), "5\n");
    let unknown = port.command(&words, &[]).unwrap_err();
    assert!(unknown.contains("certificate"), "{unknown}");
}

#[test]
fn websocket_alone_is_encrypted_with_tls_1_3() {
    let sandbox = Sandbox::new();
    certificates::write(&sandbox);
    let port = Port::open_in(sandbox, &["--transport", "ws", "--tls-cert", "cert.pem", "--tls-key", "key.pem"]);
    let authority = port.sandbox.path("authority.pem");
    let seen = visit(&port.sandbox, &json!({"add": {"a": 2, "b": 40}}), port.relay("prefixed").arg(&authority));
    assert_eq!(seen["answers"]["add"]["success"]["content"], json!([{"text": "42"}]));
    let (_, number) = port.url.trim_end_matches("/mcp").rsplit_once(':').unwrap();
    assert_tls_1_3_alone(number.parse().unwrap(), &authority);
}

/// A conversation has its place as long as its connection.
#[test]
fn conversations_are_bounded() {
    let port = Port::open(&["--transport", "ws", "--max-sessions", "1"]);
    let mut first = port.relay("prefixed").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    first.stdin.as_mut().unwrap().write_all(b"\0\0\0\x02\x22\x00").unwrap();
    // An answer shows that it is connected.
    first.stdout.as_mut().unwrap().read_exact(&mut [0; 4]).unwrap();
    assert_eq!(port.handshake(&[]), 503);
    drop(first.stdin.take());
    assert!(first.wait().unwrap().success());
    eventually("the place is free again", || (port.handshake(&[]) == 101).then_some(()));
}

/// The server says goodbye (1001) when its last call is answered.
#[test]
fn a_connection_ends_with_the_server() {
    let port = Port::open(&["--transport", "ws"]);
    let mut relay = port.relay("prefixed").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    relay.stdin.as_mut().unwrap().write_all(b"\0\0\0\x02\x22\x00").unwrap();
    // An answer shows that it is connected.
    relay.stdout.as_mut().unwrap().read_exact(&mut [0; 4]).unwrap();
    port.host.signal(Signal::TERM);
    assert!(port.host.exit().success());
    // Its input stays open: the server has ended the connection.
    assert_eq!(relay.wait().unwrap().code(), Some(0));
}

/// A client answers the pings of a server, and keeps few of the pongs while the server reads none.
#[test]
fn a_server_that_reads_no_pongs_costs_little_memory() {
    let mut server = Command::new(peers().join("mcp/bin/python"));
    server.arg(host("ws_pings.py")).arg((128 << 20).to_string());
    let mut server = server.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(server.stdout.take().unwrap()).lines();
    let mut line = move || lines.next().expect("a line").unwrap();
    let url = format!("ws://127.0.0.1:{}/mcp", line());
    let sandbox = Sandbox::new();
    let mut client = sandbox.pmcp(&["call", &url, "echo"]).command().spawn().unwrap();
    assert_eq!(line(), "connected");
    let before = peak(client.id());
    let sent = thread::spawn(line);
    let mut grown = 0;
    while !sent.is_finished() {
        grown = grown.max(peak(client.id()).saturating_sub(before));
        thread::sleep(Duration::from_millis(10));
    }
    client.kill().unwrap();
    client.wait().unwrap();
    drop(server.stdin.take());
    server.wait().unwrap();
    // The client reads slowly once pongs have no room, and gives up when the session has not begun in time.
    let sent: u64 = sent.join().unwrap().parse().unwrap();
    assert!(sent >= 1 << 20, "{sent} bytes sent");
    assert!(grown < 64 << 20, "{sent} bytes sent, {} MiB more", grown >> 20);
}

/// A command whose standard input and output are a connection over WebSocket.
fn relay(arguments: &[&str]) -> Command {
    let mut relay = Command::new(peers().join("mcp/bin/python"));
    relay.arg(host("ws_relay.py")).args(arguments);
    relay
}
