//! Servers of proto-mcp behind `pmcp`, for hosts of JSON-RPC: at an address, as commands, and together with other
//! servers.

mod losses;
mod same;

use std::path::PathBuf;
use std::process::{Command, Stdio};

use protomcp_conformance::{Host, Sandbox, eventually, living, peers, pmcp};
use rustix::process::Signal;
use serde_json::{Value, json};

/// A tool file behind a port of proto-mcp.
struct Server {
    host: Host,
    /// Of its URL.
    scheme: &'static str,
    port: u16,
}

impl Server {
    fn start(flags: &[&str]) -> Self {
        Self::start_at(0, flags)
    }

    fn start_at(port: u16, flags: &[&str]) -> Self {
        let sandbox = Sandbox::new();
        sandbox.copy("py/basics.py");
        Self::start_over("proto", &sandbox, &[flags, &["basics.py"]].concat(), port)
    }

    /// Serves a file, or the command of another server, over the carrier with this scheme.
    fn start_over(scheme: &'static str, sandbox: &Sandbox, served: &[&str], port: u16) -> Self {
        Self::start_as("run", scheme, sandbox, served, port)
    }

    /// Serves by this command of `pmcp`, over the carrier with this scheme.
    fn start_as(command: &str, scheme: &'static str, sandbox: &Sandbox, served: &[&str], port: u16) -> Self {
        let port = port.to_string();
        let (transport, serving) = match scheme {
            "proto" => ("tcp", "over TCP"),
            carrier => (carrier, "serving"),
        };
        let args = [&[command, "--transport", transport, "--port", &port], served].concat();
        let host = sandbox.pmcp(&args).env("SECRET", "t0k").start();
        let listening = format!("listening on {scheme}://");
        host.stderr_with(&listening);
        let log = host.stderr_with(serving);
        let line = log.lines().find(|line| line.contains(&listening)).expect("it says where it listens");
        let digits = line.trim().rsplit(':').next().unwrap().split([' ', '/']).next().unwrap();
        Self { port: digits.parse().unwrap(), scheme, host }
    }

    fn url(&self) -> String {
        let path = if self.scheme == "ws" { "/mcp" } else { "" };
        format!("{}://localhost:{}{path}", self.scheme, self.port)
    }
}

/// A `pmcp` in front of servers.
fn front(sandbox: &Sandbox, args: &[&str]) -> Host {
    let host = sandbox.pmcp(&[&["run"], args].concat()).env("SECRET", "t0k").start();
    host.initialize();
    host
}

/// A visit of the official client for Python to a server that this command starts. `script` takes `word` first.
fn official(script: &str, word: &str, sandbox: &Sandbox, args: &[&str]) -> Value {
    let server = sandbox.pmcp(args).command();
    let mut client = Command::new(peers().join("mcp/bin/python"));
    client.arg(PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/hosts")).join(script)).arg(word);
    client.arg(server.get_program()).args(server.get_args()).current_dir(sandbox.path(""));
    client.envs(server.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let output = client.stdin(Stdio::null()).output().unwrap();
    let log = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{log}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// JSON-RPC in front, proto-mcp in the middle, and the official client sees no difference.
#[test]
fn an_official_client_sees_the_same_through_proto_mcp() {
    let server = Server::start(&[]);
    let sandbox = Sandbox::new();
    sandbox.copy("py/basics.py");
    for mode in ["legacy", "auto"] {
        let mut direct = official("client.py", mode, &sandbox, &["run", "basics.py"]);
        let mut through = official("client.py", mode, &sandbox, &["run", "--upstream", &server.url()]);
        for seen in [&mut direct, &mut through] {
            let seen = seen.as_object_mut().unwrap();
            // proto-mcp lists its tools by name, and writes structured content as text in its own way.
            // A changed list is announced, and the announcement may come after the answer of the call that changed it.
            seen.remove("tools_after");
            for call in seen.get_mut("calls").and_then(Value::as_object_mut).unwrap().values_mut() {
                for text in call["text"].as_array_mut().unwrap() {
                    if let Ok(object @ Value::Object(_)) = serde_json::from_str(text.as_str().unwrap()) {
                        *text = object;
                    }
                }
            }
            let names = seen.get_mut("tools").and_then(Value::as_array_mut).unwrap();
            names.sort_by(|one, other| one.as_str().cmp(&other.as_str()));
        }
        // A number in a `google.protobuf.Struct` is a double. The result says so in its `_meta`.
        for path in ["/calls/structured/structured", "/calls/structured/text/0"] {
            let [through, direct] = [&mut through, &mut direct].map(|seen| seen.pointer_mut(path).unwrap());
            for number in ["big", "a"] {
                let (through, direct) = (through[number].take(), direct[number].take());
                assert_eq!(as_double(&through), as_double(&direct), "{mode} {path}");
            }
        }
        assert_eq!(through, direct, "{mode}");
    }
}

/// A save at the server changes the tools of a host.
#[test]
fn a_host_hears_of_lists_through_grpc() {
    let [far, sandbox] = [Sandbox::new(), Sandbox::new()];
    let file = |name: &str| format!("{MANY_VALUES}\n").replace("def many()", &format!("def {name}()"));
    far.write("many.py", file("first"));
    let server = Server::start_as("dev", "grpc", &far, &["many.py"], 0);
    let host = front(&sandbox, &["--upstream", &server.url()]);
    assert_eq!(host.names(), ["first"]);
    let place = host.now();
    far.write("many.py", file("second"));
    host.list_changed(place);
    assert_eq!(host.names(), ["second"]);
}

/// A resource that its server has removed holds up no other subscription.
#[test]
fn a_removed_resource_ends_its_own_subscription_alone() {
    let [far, sandbox] = [Sandbox::new(), Sandbox::new()];
    let file = |names: &[&str]| {
        let one = |name: &&str| {
            format!(
                "@resource(uri=\"note://{name}\", description=\"A note.\")\ndef {name}(uri):\n    return \"text\"\n"
            )
        };
        let all: String = names.iter().map(one).collect();
        format!("from protomcp import resource\nfrom protomcp.runner import run\n{all}run()\n")
    };
    far.write("notes.py", file(&["a", "b", "c"]));
    let server = Server::start_as("dev", "grpc", &far, &["notes.py"], 0);
    let host = front(&sandbox, &["--upstream", &server.url()]);
    let change = |verb: &str, name: &str| {
        host.ask(&format!("resources/{verb}"), &json!({"uri": format!("note://{name}")}));
    };
    change("subscribe", "a");
    change("subscribe", "b");
    let place = host.now();
    far.write("notes.py", file(&["b", "c"]));
    host.notified("notifications/resources/list_changed", place);
    change("subscribe", "c");
    change("unsubscribe", "b");
    host.refused("resources/subscribe", &json!({"uri": "note://a2"}));
}

/// A message of proto-mcp may have 65,536 values, and JSON any number.
#[test]
fn a_log_with_many_values_passes_through_proto_mcp() {
    let [far, sandbox, of_direct] = [Sandbox::new(), Sandbox::new(), Sandbox::new()];
    for place in [&far, &of_direct] {
        place.write("many.py", MANY_VALUES);
    }
    let server = Server::start_over("proto", &far, &["many.py"], 0);
    let direct = front(&of_direct, &["many.py"]);
    let through = front(&sandbox, &["--upstream", &server.url()]);
    let values = |log: &Value| match &log["params"]["data"] {
        Value::String(text) => serde_json::from_str(text).unwrap_or_default(),
        data => data.clone(),
    };
    // A conversation ends after three messages in a row that cannot be read.
    for _ in 0..4 {
        let [seen, expected] = [&through, &direct].map(|host| {
            let place = host.now();
            assert_eq!(host.text("many", &json!({})), "logged");
            let is_list = |value: &Value| value.as_array().is_some_and(|list| list.len() > 1);
            values(&host.wait_for("the values", place, |log| is_list(&values(&log.value))).value)
        });
        assert!(expected.as_array().is_some_and(|list| list.len() == 65_537));
        assert_eq!(seen, expected);
    }
}

/// A tool that logs more values than one message of proto-mcp may have.
const MANY_VALUES: &str = r#"
from protomcp import runner, tool


@tool("Logs.")
def many() -> str:
    runner.log.info("many", data=[1] * 65537)
    return "logged"


if __name__ == "__main__":
    runner.run()
"#;

/// Numbers as doubles.
fn as_double(value: &Value) -> Vec<Option<f64>> {
    match value {
        Value::Array(items) => items.iter().map(Value::as_f64).collect(),
        number => vec![number.as_f64()],
    }
}

#[test]
fn errors_keep_their_codes_and_notifications_have_no_reply() {
    let server = Server::start(&[]);
    let sandbox = Sandbox::new();
    let host = front(&sandbox, &["--upstream", &server.url()]);
    let place = host.now();
    for notification in [
        json!({"jsonrpc": "2.0", "method": "tools/call", "params": {"name": "add", "arguments": {"a": 1, "b": 2}}}),
        json!({"jsonrpc": "2.0", "method": "tools/list"}),
        json!({"jsonrpc": "2.0", "method": "notifications/unknown"}),
    ] {
        host.line(&notification.to_string());
    }
    let unknown = host.refused("tools/call", &json!({"name": "nothing", "arguments": {}}));
    assert_eq!(unknown["code"], -32602, "{unknown}");
    let missing = host.refused("resources/read", &json!({"uri": "nowhere:/"}));
    assert_eq!(missing["code"], -32002, "{missing}");
    assert_eq!(host.refused("no/method", &json!({}))["code"], -32601);
    assert_eq!(host.text("add", &json!({"a": 2, "b": 3})), "5");
    let rest: Vec<_> = host.seen().into_iter().skip(place).filter(|message| !message.value["id"].is_u64()).collect();
    assert!(rest.is_empty(), "{rest:?}");
}

#[test]
fn a_token_goes_to_the_server() {
    let server = Server::start(&["--auth", "token:SECRET"]);
    let sandbox = Sandbox::new();
    let token = ["--upstream", &server.url(), "--header", "Authorization: Bearer ${SECRET}"];
    let host = front(&sandbox, &token);
    assert_eq!(host.text("add", &json!({"a": 2, "b": 3})), "5");
    assert!(!host.stderr().contains("t0k"));
    drop(host);
    let host = front(&sandbox, &["--upstream", &server.url()]);
    let error = host.refused("tools/call", &json!({"name": "add", "arguments": {}}));
    assert_eq!(error["code"], -32010, "{error}");
}

#[test]
fn servers_of_both_protocols_are_one() {
    let server = Server::start(&[]);
    let sandbox = Sandbox::new();
    sandbox.copy("py/basics.py");
    let run = json!(["run", "basics.py"]);
    let everything = peers().join("servers/node_modules/.bin/mcp-server-everything");
    let servers = json!({"mcpServers": {
        "far": {"url": server.url()},
        "near": {"type": "proto-mcp", "command": pmcp(), "args": run},
        "json": {"command": everything},
        "gone": {"url": "proto://127.0.0.1:9"},
    }});
    sandbox.write("servers.json", servers.to_string());
    let host = front(&sandbox, &["--config", "servers.json"]);
    eventually("all servers to be listed", || {
        let names = host.names();
        ["far_", "near_", "json_"].iter().all(|prefix| names.iter().any(|name| name.starts_with(prefix))).then_some(())
    });
    for name in ["far_add", "near_add"] {
        assert_eq!(host.text(name, &json!({"a": 2, "b": 3})), "5", "{name}");
    }
    assert_eq!(host.text("json_echo", &json!({"message": "hello"})), "Echo: hello");
    let image = host.call("json_get-tiny-image", &json!({}));
    assert!(image["content"].to_string().contains("image/png"), "{image}");
    let down = host.call("gone_any", &json!({}));
    assert_eq!(down["_meta"]["protomcp/error"]["retryable"], true, "{down}");
}

#[test]
fn a_lost_server_is_connected_again() {
    let server = Server::start(&[]);
    let port = server.port;
    let sandbox = Sandbox::new();
    let host = front(&sandbox, &["--upstream", &server.url()]);
    assert_eq!(host.text("add", &json!({"a": 2, "b": 3})), "5");
    let running = host.start_call("sleep_ms", &json!({"ms": 60_000}));
    // Requests of one conversation are answered in any order: after this answer the call is at the server.
    host.tools();
    let place = host.now();
    server.host.signal(Signal::KILL);
    let lost = host.answer(running);
    let result = &lost.value["result"];
    assert_eq!(result["_meta"]["protomcp/error"]["retryable"], true, "{result}");
    drop(server);
    let _again = Server::start_at(port, &[]);
    host.list_changed(place);
    assert_eq!(host.text("add", &json!({"a": 2, "b": 4})), "6");
}

#[test]
fn a_command_speaks_either_protocol() {
    let sandbox = Sandbox::new();
    sandbox.copy("py/basics.py");
    let own = [pmcp().to_str().unwrap(), "run", "basics.py"];
    let everything = peers().join("servers/node_modules/.bin/mcp-server-everything");
    let published = [everything.to_str().unwrap()];
    let flags = ["--upstream-protocol", "proto", "--connect-timeout", "20s", "--log-level", "info", "--"];
    for (command, call, argument, said) in
        [(&own[..], "echo", "text", "hello"), (&published[..], "echo", "message", "Echo: hello")]
    {
        let host = front(&sandbox, &[&flags, command].concat());
        assert_eq!(host.text(call, &json!({argument: "hello"})), said);
        host.hang_up();
        assert!(host.exit().success());
        assert_eq!(host.stderr().contains("does not speak proto-mcp"), command == published);
        eventually("the processes end", || living(sandbox.marker()).is_empty().then_some(()));
    }
    let flags = ["run", "--upstream-protocol", "proto", "--", "sh", "-c", "echo broken >&2; exit 3"];
    let failed = sandbox.pmcp(&flags).command().output().unwrap();
    let log = String::from_utf8_lossy(&failed.stderr);
    assert!(failed.status.code() == Some(1) && log.contains("broken"), "{log}");
    assert!(log.rsplit_once("\nerror: ").is_some_and(|(_, error)| error.contains("sh exited with status 3")), "{log}");
}
