//! `pmcp` answers clients of proto-mcp: on standard input and output, and over TCP together with hosts of JSON-RPC.

mod flags;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use protomcp_bufmcp::{AnyClient, BinaryClient, BinaryClientConfig, CommandServer, DescriptorSchemas};
use protomcp_client::Client;
use protomcp_conformance::{Host, Sandbox, certificates, eventually, living, patience, peers, pmcp};
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::visit::{host, printed, python, visit};

/// A tool file behind a port.
struct Port {
    host: Host,
    sandbox: Sandbox,
    number: u16,
}

impl Port {
    fn open(flags: &[&str]) -> Self {
        Self::open_in(Sandbox::new(), flags)
    }

    fn open_in(sandbox: Sandbox, flags: &[&str]) -> Self {
        sandbox.copy("py/basics.py");
        Self::serve(sandbox, "basics.py", flags)
    }

    fn serve(sandbox: Sandbox, file: &str, flags: &[&str]) -> Self {
        let args = [&["run", file, "--transport", "tcp", "--port", "0"], flags].concat();
        let host = sandbox.pmcp(&args).env("SECRET", "t0k").start();
        let log = host.stderr_with("over TCP");
        let line = log.lines().find(|line| line.contains("listening on proto")).expect("it says where it listens");
        let digits = line.rsplit(':').next().unwrap().split(' ').next().unwrap();
        Self { host, sandbox, number: digits.parse().unwrap() }
    }

    /// A command whose standard input and output are a connection.
    fn relay(&self) -> Command {
        let mut relay = Command::new(python());
        relay.arg(host("relay.py")).args(["localhost", &self.number.to_string()]);
        relay
    }

    /// The output of `pmcp` with this URL as server, or its error.
    fn command(&self, verb: &str, words: &[&str]) -> Result<String, String> {
        let url = format!("proto://localhost:{}", self.number);
        let args = [&[verb, &url], words].concat();
        let output = self.sandbox.pmcp(&args).env("SECRET", "t0k").command().output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        if output.status.success() { Ok(text(output.stdout)) } else { Err(text(output.stderr)) }
    }

    /// All that the server answers to these bytes.
    fn send(&self, bytes: &[u8]) -> Vec<u8> {
        let mut stream = TcpStream::connect(("localhost", self.number)).unwrap();
        stream.write_all(bytes).unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        answer
    }
}

#[test]
fn a_client_on_another_runtime_lists_and_calls() {
    let sandbox = Sandbox::new();
    sandbox.copy("py/basics.py");
    let server = sandbox.pmcp(&["run", "basics.py"]).command();
    let seen = visit(&sandbox, &json!({"add": {"a": 2, "b": 40}, "nothing": null}), &server);
    assert_eq!(seen["version"], "1.0.0");
    let tools: Vec<&str> = seen["tools"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert!(tools.contains(&"add") && tools.is_sorted(), "{tools:?}");
    let has = |list: &str, entry: &str| seen[list].as_array().unwrap().contains(&json!(entry));
    assert!(has("files", "tools/v1/add.proto") && has("types", "tools.v1.AddRequest"), "{seen}");
    assert_eq!(seen["answers"]["add"]["success"]["content"], json!([{"text": "42"}]));
    assert_eq!(seen["answers"]["nothing"]["error"]["code"], -32602);
    assert_eq!(seen["answers"]["nothing"]["error"]["data"]["reason"], "tool_not_found");
    // Only frames come out, and the end of input is the end.
    assert_eq!((&seen["rest"], &seen["exit"]), (&json!(""), &json!(0)));
}

#[test]
fn other_bytes_on_standard_input_end_with_a_reason() {
    for (bytes, reason) in [
        (&b"\x16\x03\x01\x02\x00\x01\x00"[..], "the client speaks TLS, which is not served here"),
        (b"\x0b\x00\x00\x00", "the first frame is too large"),
        (b"\x00\x00", "the client closed the connection inside a frame"),
        (b"\x02\x00\x00\x01", "larger than the limit"),
    ] {
        let sandbox = Sandbox::new();
        sandbox.copy("py/basics.py");
        let mut server = sandbox.pmcp(&["run", "basics.py"]).command();
        let mut server = server.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        server.stdin.take().unwrap().write_all(bytes).unwrap();
        let output = server.wait_with_output().unwrap();
        let log = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{log}");
        assert!(log.contains(reason), "{log}");
    }
}

/// Carriers of proto-mcp to a tool that leaves a trace when it runs: a new one is one more line.
#[test]
fn broken_rules_do_not_reach_the_tool_process() {
    let spy = "from protomcp import tool\n\n@tool(\"Leaves a trace\")\ndef mark(count: int) -> str:\n    \
               open(\"trace\", \"a\").write(\"x\")\n    return str(count)\n";
    let sandbox = || {
        let sandbox = Sandbox::new();
        sandbox.write("spy.py", spy);
        sandbox
    };
    let check = |carrier: &str, sandbox: &Sandbox, server: &Command| {
        for (arguments, code) in [(json!({}), json!(-33001)), (json!({"count": "5"}), json!(null))] {
            let answer = &visit(sandbox, &json!({"mark": arguments}), server)["answers"]["mark"];
            assert_eq!(answer["error"]["code"], code, "{carrier}: {answer}");
            let violations = answer["error"]["data"]["violations"].as_str().unwrap_or_default();
            assert!(code.is_null() || violations.contains("\"field\":\"count\""), "{carrier}: {answer}");
            assert_eq!(
                sandbox.path("trace").exists(),
                code.is_null(),
                "{carrier}: the tool runs only if nothing is broken"
            );
        }
    };
    let stdio = sandbox();
    check("stdio", &stdio, &stdio.pmcp(&["run", "spy.py"]).command());
    let tcp = Port::serve(sandbox(), "spy.py", &[]);
    check("TCP", &tcp.sandbox, &tcp.relay());
    for (carrier, interpreter, program) in [("WebSocket", "mcp", "ws_relay.py"), ("gRPC", "grpc", "grpc_relay.py")] {
        let http = sandbox();
        let served = http.pmcp(&["run", "spy.py", "--transport", "http", "--port", "0"]).start();
        let log = served.stderr_with("over HTTP");
        let (_, url) = log.split_once("listening on http://").expect("it says where it listens");
        let address = url.split('/').next().unwrap();
        let mut relay = Command::new(peers().join(interpreter).join("bin/python"));
        // A proxy of the environment is not for this machine.
        relay.arg(host(program)).env("no_proxy", "localhost");
        if carrier == "gRPC" {
            relay.arg(address);
        } else {
            relay.arg(format!("ws://{address}/mcp")).arg("prefixed");
        }
        check(carrier, &http, &relay);
    }
}

/// The official client of JSON-RPC and one of proto-mcp use the same port of the same process.
#[test]
fn both_protocols_have_the_same_results_on_one_port() {
    let port = Port::open(&[]);
    let mut official = Command::new(peers().join("mcp/bin/python"));
    let relay = port.relay();
    official.arg(host("client.py")).arg("legacy").arg(relay.get_program()).args(relay.get_args());
    let json = printed(&mut official);
    let calls = json!({"echo": {"text": "hello"}, "add": {"a": 1, "b": 2}, "greet": {"name": "Jürgen"}});
    let binary = visit(&port.sandbox, &calls, &port.relay());
    for name in ["echo", "add", "greet"] {
        let texts: Vec<_> = json["calls"][name]["text"].as_array().unwrap().iter().collect();
        let content = binary["answers"][name]["success"]["content"].as_array().unwrap();
        assert_eq!(content.iter().map(|block| &block["text"]).collect::<Vec<_>>(), texts, "{name}");
    }
    let mut names: Vec<_> = json["tools"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    names.sort_unstable();
    assert_eq!(binary["tools"], json!(names));
    // The client of this project shows the tools as the tools of the file.
    let listed = port.command("list", &[]).unwrap();
    assert!(listed.lines().any(|line| line.starts_with("add(") && line.ends_with("Adds two integers.")), "{listed}");
    assert_eq!(port.command("call", &["add", "a=2", "b=3"]).unwrap(), "5\n");
    port.host.signal(Signal::TERM);
    assert!(port.host.exit().success());
}

#[test]
fn a_token_is_required_and_leaves_no_other_protocol() {
    let port = Port::open(&["--auth", "token:SECRET"]);
    let refusal = port.send(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n");
    let refusal: Value = serde_json::from_slice(&refusal).unwrap();
    assert_eq!((&refusal["id"], &refusal["error"]["code"]), (&Value::Null, &json!(-32600)));
    let token = ["--header", "authorization: Bearer ${SECRET}"];
    assert_eq!(port.command("call", &[&["add", "a=2", "b=3"], &token[..]].concat()).unwrap(), "5\n");
    let none = port.command("list", &[]).unwrap_err();
    assert!(none.contains("a token is required") && none.contains("-32010"), "{none}");
    let wrong = port.command("list", &["--header", "authorization: Bearer t0"]).unwrap_err();
    assert!(wrong.contains("the token is not accepted"), "{wrong}");
    port.host.stderr_with("JSON-RPC in lines is refused");
    let log = port.host.stderr_with("a request of proto-mcp was refused: a token is required");
    assert!(!log.contains("t0k") && !log.contains("Bearer"), "{log}");
}

#[test]
fn other_protocols_on_the_port_are_closed() {
    let port = Port::open(&[]);
    for bytes in
        [&b"POST / HTTP/1.1\r\nhost: localhost\r\n\r\n"[..], b"PRI * HTTP/2.0\r\n\r\n", b"\x16\x03\x01", b"hi\n"]
    {
        assert_eq!(port.send(bytes), b"", "{bytes:?}");
    }
    assert_eq!(port.command("call", &["add", "a=2", "b=3"]).unwrap(), "5\n");
}

#[test]
fn connections_beyond_the_limit_are_closed() {
    let port = Port::open(&["--max-sessions", "1"]);
    let connect = || {
        let stream = TcpStream::connect(("localhost", port.number)).unwrap();
        let reader = BufReader::new(stream.try_clone().unwrap());
        (stream, reader)
    };
    // Its answer, or nothing if the connection is closed.
    let ping = |(stream, reader): &mut (TcpStream, BufReader<TcpStream>)| {
        let mut answer = String::new();
        let sent = stream.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n");
        let read = sent.and_then(|()| reader.read_line(&mut answer));
        read.map(|_| answer).unwrap_or_default()
    };
    let mut first = connect();
    assert!(ping(&mut first).contains("\"id\":1"));
    assert_eq!(ping(&mut connect()), "");
    assert!(ping(&mut first).contains("\"id\":1"));
    drop(first);
    eventually("the place to be free", || ping(&mut connect()).contains("\"id\":1").then_some(()));
}

#[test]
fn a_client_of_lines_has_a_session() {
    let port = Port::open(&[]);
    let mut stream = TcpStream::connect(("localhost", port.number)).unwrap();
    let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
    let mut ask = |message: Value| -> Value {
        stream.write_all(format!("{message}\n").as_bytes()).unwrap();
        serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap()
    };
    let client =
        json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}});
    let opened = ask(json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": client}));
    assert_eq!(opened["result"]["serverInfo"]["name"], "protomcp");
    let pong = ask(json!({"jsonrpc": "2.0", "id": 2, "method": "ping"}));
    assert_eq!((&pong["id"], &pong["result"]), (&json!(2), &json!({})));
    port.host.signal(Signal::TERM);
    assert!(port.host.exit().success());
}

#[test]
fn a_port_with_a_certificate_speaks_tls_1_3_alone() {
    let sandbox = Sandbox::new();
    certificates::write(&sandbox);
    let port = Port::open_in(sandbox, &["--tls-cert", "cert.pem", "--tls-key", "key.pem"]);
    let relay = |newest: &str| {
        let mut relay = port.relay();
        relay.arg(port.sandbox.path("authority.pem")).arg(newest);
        relay
    };
    let seen = visit(&port.sandbox, &json!({"add": {"a": 2, "b": 40}}), &relay("1.3"));
    assert_eq!(seen["answers"]["add"]["success"]["content"], json!([{"text": "42"}]));
    let older = relay("1.2").stdin(Stdio::null()).output().unwrap();
    let log = String::from_utf8_lossy(&older.stderr);
    assert!(!older.status.success() && log.contains("alert protocol version"), "{log}");
    // In plain text nothing is answered.
    let mut stream = TcpStream::connect(("localhost", port.number)).unwrap();
    stream.write_all(&[0, 0, 0, 11]).unwrap();
    assert!(!matches!(stream.read(&mut [0]), Ok(1..)));
}

/// A server of JSON-RPC from npm, behind `pmcp`, used by a client of proto-mcp.
#[test]
fn a_published_server_is_used_in_proto_mcp() {
    let sandbox = Sandbox::new();
    let everything = peers().join("servers/node_modules/.bin/mcp-server-everything");
    let server = sandbox.pmcp(&["run", "--", everything.to_str().unwrap()]).command();
    let calls = json!({
        "echo": {"message": "Grüße 🦀"},
        "get-structured-content": {"location": "New York"},
        "get-tiny-image": {},
        "get-sum": {"a": 1, "b": 2.5},
    });
    let seen = visit(&sandbox, &calls, &server);
    let content = |tool: &str| seen["answers"][tool]["success"]["content"].as_array().cloned().unwrap_or_default();
    assert_eq!(content("echo"), [json!({"text": "Echo: Grüße 🦀"})]);
    let structured = content("get-structured-content").into_iter().find_map(|block| block.get("data").cloned());
    let structured = structured.expect("structured content is data");
    assert_eq!(structured["@type"], "type.googleapis.com/tools.v1.GetStructuredContentResponse");
    assert!(structured["temperature"].is_number(), "{structured}");
    let image = content("get-tiny-image").into_iter().find(|block| block.get("image").is_some()).expect("an image");
    let bytes = STANDARD.decode(image["image"].as_str().unwrap()).unwrap();
    assert!(bytes.starts_with(b"\x89PNG") && image["mimeType"] == "image/png", "{image}");
    assert!(content("get-sum")[0]["text"].as_str().unwrap().contains("3.5"), "{}", seen["answers"]["get-sum"]);
}

/// A server of JSON-RPC from PyPI, behind `pmcp`, used by a client of proto-mcp.
#[test]
fn a_server_from_pypi_is_used_in_proto_mcp() {
    let sandbox = Sandbox::new();
    let time = peers().join("mcp/bin/mcp-server-time");
    let command = ["run", "--", time.to_str().unwrap(), "--local-timezone", "UTC"];
    let calls = json!({
        "convert_time": {"source_timezone": "UTC", "time": "12:30", "target_timezone": "Asia/Tokyo"},
        "get_current_time": {"timezone": "Atlantis/Poseidonis"},
    });
    let seen = visit(&sandbox, &calls, &sandbox.pmcp(&command).command());
    assert_eq!(seen["tools"], json!(["convert_time", "get_current_time"]));
    let content = &seen["answers"]["convert_time"]["success"]["content"];
    let converted = content.as_array().unwrap().iter().find_map(|block| block.get("data")).expect("it has data");
    assert_eq!(converted["@type"], "type.googleapis.com/tools.v1.ConvertTimeResponse");
    assert_eq!(
        (&converted["target"]["timezone"], &converted["time_difference"]),
        (&json!("Asia/Tokyo"), &json!("+9.0h"))
    );
    let failed = &seen["answers"]["get_current_time"]["success"];
    assert!(
        failed["isError"] == true && failed["content"][0]["text"].as_str().unwrap().contains("Atlantis"),
        "{failed}"
    );
}

/// The client of this project starts a server that speaks proto-mcp, and one that does not answer it.
#[tokio::test]
async fn the_client_starts_servers_of_either_protocol() {
    let sandbox = Sandbox::new();
    let file = sandbox.copy("py/basics.py");
    let own = protomcp_client::Command::new(pmcp()).arg("run").arg(file).env("PROTOMCP_PYTHON", python());
    let published = protomcp_client::Command::new(peers().join("servers/node_modules/.bin/mcp-server-everything"));
    for (command, is_binary, argument) in [(own, true, "text"), (published, false, "message")] {
        let server = CommandServer::new(command.env("PMCP_TEST_MARKER", sandbox.marker()));
        // Servers of JSON-RPC may wait for the rest of a line.
        let open_timeout = if is_binary { patience() } else { Duration::from_secs(3) };
        let config = BinaryClientConfig { open_timeout, ..BinaryClientConfig::new("tests", "1") };
        let connected = BinaryClient::connect_any(&server, config).await.unwrap();
        assert_eq!(matches!(connected, AnyClient::Binary(_)), is_binary);
        let client = Client::new("host", "1");
        let session = client.connect(connected.into_transport(Arc::new(DescriptorSchemas::new()))).await.unwrap();
        let result = session.call_tool("echo", &json!({argument: "hello"})).await.unwrap();
        assert!(result.content.as_str().contains("hello"), "{result:?}");
        session.close(patience()).await;
        eventually("the processes end", || living(sandbox.marker()).is_empty().then_some(()));
    }
}
