//! The files of `deploy/`, each with the program that reads it: systemd's checks, haproxy, nginx, and a linter of container
//! files. The ones for Kubernetes have no such program.

mod kubernetes;

use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead, BufReader};
use std::net::TcpStream;
use std::os::unix::net::UnixDatagram;
use std::process::{Child, Command, Output, Stdio};

use protomcp_conformance::{Launch, Sandbox, Web, certificates, eventually, patience, peers, pmcp, root};
use rustix::process::Signal;
use serde_json::{Value, json};

/// Listens on a port, and replaces itself by a program that inherits the socket, as systemd does.
const ACTIVATE: &str = r#"
import os, socket, sys
sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
for place, opened in enumerate(sockets, 3):
    os.dup2(opened.fileno(), place)
    os.set_inheritable(place, True)
os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS=str(len(sockets)))
os.execv(sys.argv[1], sys.argv[1:])
"#;

fn deploy(name: &str) -> String {
    fs::read_to_string(root().join("deploy").join(name)).expect("the file is in deploy/")
}

/// The command of the unit, without its program and the path of its tool file.
fn flags_of_the_unit() -> Vec<String> {
    let unit = deploy("systemd/pmcp.service").replace("\\\n", " ");
    let line = unit.lines().find_map(|line| line.strip_prefix("ExecStart=")).expect("the unit starts a command");
    let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    assert_eq!(&words[..3], ["/usr/bin/pmcp", "run", "/srv/mcp/tools.py"]);
    words[3..].to_vec()
}

fn run(command: &mut Command) -> Output {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{command:?}: {output:?}");
    output
}

#[test]
fn the_units_are_valid_and_hardened() {
    let sandbox = Sandbox::new();
    let program = pmcp().to_str().expect("the path is UTF-8");
    let unit = sandbox.write("pmcp.service", deploy("systemd/pmcp.service").replace("/usr/bin/pmcp", program));
    let socket = sandbox.write("pmcp.socket", deploy("systemd/pmcp.socket"));
    let verified = run(Command::new("systemd-analyze").arg("verify").args([&unit, &socket]));
    assert_eq!(String::from_utf8_lossy(&verified.stderr), "", "a remark of systemd");
    // The exposure is 15 of 100; a service without these lines has 96.
    run(Command::new("systemd-analyze").args(["security", "--offline=true", "--threshold=20"]).arg(&unit));
}

#[test]
fn the_command_of_the_unit_serves_sockets_of_systemd() {
    let sandbox = Sandbox::new();
    let file = sandbox.copy("py/basics.py");
    let manager = UnixDatagram::bind(sandbox.path("notify")).expect("a socket");
    manager.set_read_timeout(Some(patience())).expect("the timeout is positive");
    let state = || {
        let mut text = [0; 256];
        let length = manager.recv(&mut text).expect("the service says its state");
        String::from_utf8_lossy(&text[..length]).trim().to_owned()
    };

    let mut launch = sandbox.pmcp(&["-c", ACTIVATE]).program("python3").arg(pmcp()).arg("run").arg(&file);
    for flag in flags_of_the_unit() {
        launch = launch.arg(flag);
    }
    let mut server = Web::launch(sandbox.clone(), launch.env("NOTIFY_SOCKET", sandbox.path("notify")));
    assert_eq!(state(), "READY=1");
    assert_eq!(server.send("GET", "/readyz", &[], "").status, 200);
    let text = server.process().stderr();
    assert!(!text.contains("8080"), "it listens on the sockets that it was given: {text}");
    server.initialize();
    for variable in ["NOTIFY_SOCKET", "LISTEN_FDS", "LISTEN_PID"] {
        let seen = server.call("environment", &json!({"name": variable})).json();
        assert_eq!(seen["result"]["content"][0]["text"], "<unset>", "{variable}: {seen}");
    }

    server.process().signal(Signal::TERM);
    assert_eq!(state(), "STOPPING=1");
    assert!(server.process().exit().success());
}

#[test]
fn other_sockets_are_refused() {
    let made = r#"socket.create_server(("127.0.0.1", 0))"#;
    let count = "LISTEN_FDS=str(len(sockets))";
    let rows = [
        (made, "socket.socket(socket.AF_INET, socket.SOCK_DGRAM)", "cannot use socket 0 of LISTEN_FDS"),
        (made, "socket.socket(socket.AF_UNIX)", "ListenStream"),
        (made, "socket.socket()", "it does not listen"),
        (count, "LISTEN_FDS='three'", "LISTEN_FDS is not a number"),
        (count, "LISTEN_FDS='2147483647'", "LISTEN_FDS is not a number"),
        (count, "LISTEN_FDS='40'", "cannot use socket 2 of LISTEN_FDS"),
    ];
    let sandbox = Sandbox::new();
    let file = sandbox.copy("py/basics.py");
    for (written, other, expected) in rows {
        let script = ACTIVATE.replace(written, other);
        let launch = sandbox.pmcp(&["-c", &script]).program("python3").arg(pmcp()).arg("run").arg(&file);
        let host = launch.arg("--transport").arg("http").start();
        assert_eq!(host.exit().code(), Some(1), "{other}");
        assert!(host.stderr().contains(expected), "{other}: {}", host.stderr());
    }
}

/// A proxy with the configuration of `deploy/`, in front of servers.
struct Proxy {
    process: Child,
    /// Its address: 127.x.y.z for this process alone, with a fixed port.
    address: String,
    sandbox: Sandbox,
}

impl Drop for Proxy {
    fn drop(&mut self) {
        // It may have ended by itself.
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

/// An address of this machine that no other process listens on.
fn own_address() -> String {
    let [_, high, middle, low] = std::process::id().to_be_bytes();
    format!("127.{}.{middle}.{low}", 64 + high)
}

/// A server as it runs behind a proxy.
fn server(address: &str) -> Web {
    let url = format!("https://{address}:8443/mcp");
    let flags = ["--transport", "http", "--health", "--public-url", &url, "--trusted-proxy", "127.0.0.1"];
    Web::start("py/basics.py", &flags)
}

impl Proxy {
    /// Starts a proxy. `configure` writes its files, and returns its command.
    fn start(configure: impl FnOnce(&Sandbox, &str) -> Command) -> Self {
        let (sandbox, ip) = (Sandbox::new(), own_address());
        let issuer = certificates::authority(&sandbox, "authority");
        certificates::sign(&sandbox, &issuer, "", &[&ip]);
        let read = |name: &str| fs::read_to_string(sandbox.path(name)).expect("the certificate was written");
        sandbox.write("tools.pem", read("cert.pem") + &read("key.pem"));
        let mut command = configure(&sandbox, &ip);
        let process = command.stdin(Stdio::null()).spawn().expect("the proxy starts");
        let mut proxy = Self { process, address: format!("{ip}:8443"), sandbox };
        eventually("the proxy listens", || {
            let ended = proxy.process.try_wait().expect("it is a child");
            assert!(ended.is_none(), "the proxy has ended: {ended:?}");
            TcpStream::connect(&proxy.address).ok()
        });
        proxy
    }

    /// A request from an address of this machine. `data` is a message, or the path of one after `@`.
    fn curl(&self, from: &str, headers: &[&str], data: &str) -> Command {
        let mut curl = Command::new("curl");
        curl.args(["--silent", "--show-error", "--no-buffer", "--include", "--interface", from]);
        curl.arg("--max-time").arg(patience().as_secs().to_string());
        curl.arg("--cacert").arg(self.sandbox.path("authority.pem"));
        for header in ["Content-Type: application/json", "Accept: application/json, text/event-stream"] {
            curl.args(["--header", header]);
        }
        for header in headers {
            curl.args(["--header", header]);
        }
        curl.args(["--data", data]).arg(format!("https://{}/mcp", self.address));
        curl
    }

    /// Sends a message from an address of this machine, and returns the whole response.
    fn post(&self, from: &str, headers: &[&str], message: &Value) -> String {
        let response = run(&mut self.curl(from, headers, &message.to_string()));
        String::from_utf8(response.stdout).expect("the response is UTF-8")
    }

    /// Opens a session, and returns its header.
    fn session(&self, from: &str) -> String {
        let params = json!({
            "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "curl", "version": "8"},
        });
        let opened =
            self.post(from, &[], &json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}));
        let name = opened.lines().find_map(|line| line.strip_prefix("mcp-session-id: "));
        let header = format!("Mcp-Session-Id: {}", name.unwrap_or_else(|| panic!("no session in {opened}")).trim());
        let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        assert_eq!(status(&self.post(from, &[&header], &initialized)), "202");
        header
    }
}

fn status(response: &str) -> &str {
    response.split_whitespace().nth(1).unwrap_or_default()
}

fn call(name: &str, arguments: &Value) -> Value {
    let params = json!({"name": name, "arguments": arguments, "_meta": {"progressToken": "p"}});
    json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
}

/// The first event of a call arrives, while the call goes on.
fn streams(proxy: &Proxy) {
    let session = proxy.session("127.0.0.1");
    let message = call("count", &json!({"to": 2, "pause_ms": 600_000})).to_string();
    let mut curl = proxy.curl("127.0.0.1", &[&session], &message);
    let mut running = curl.stdout(Stdio::piped()).spawn().expect("curl starts");
    let lines = BufReader::new(running.stdout.take().expect("it is piped")).lines();
    let mut events = lines.map_while(Result::ok).filter(|line| line.starts_with("data: "));
    let event = events.find(|line| line.contains("notifications/progress"));
    assert!(event.is_some_and(|line| line.contains("step 1")), "the call reports progress before it ends");
    running.kill().expect("curl is a child");
    running.wait().expect("curl is a child");
}

#[test]
fn haproxy_keeps_sessions_with_their_process() {
    let servers = [server(&own_address()), server(&own_address())];
    let proxy = Proxy::start(|sandbox, ip| {
        let mut config = deploy("haproxy.cfg")
            .replace("bind :443", &format!("bind {ip}:8443"))
            .replace("/etc/haproxy/tools.pem", &sandbox.path("tools.pem").to_string_lossy());
        for (written, server) in ["127.0.0.1:8081", "127.0.0.1:8082"].into_iter().zip(&servers) {
            assert!(config.contains(written), "{config}");
            config = config.replace(written, &format!("127.0.0.1:{}", server.port()));
        }
        let file = sandbox.write("haproxy.cfg", config);
        let mut command = Command::new("/usr/sbin/haproxy");
        command.arg("-db").arg("-f").arg(file);
        command
    });
    let clients: Vec<String> = (1..=12).map(|last| format!("127.0.0.{last}")).collect();
    let mut processes = Vec::new();
    for client in &clients {
        let session = proxy.session(client);
        let process = |from: &str| {
            let answer = proxy.post(from, &[&session], &call("whereabouts", &json!({})));
            assert_eq!(status(&answer), "200", "{answer}");
            let message = answer.lines().find_map(|line| line.find('{').map(|start| &line[start..]));
            let message: Value = serde_json::from_str(message.expect("it has a message")).expect("it is JSON");
            let text =
                message["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no text in {message}"));
            text.split(' ').next().expect("a process").to_owned()
        };
        let found: Vec<String> = clients.iter().map(|from| process(from)).collect();
        assert!(found.iter().all(|other| *other == found[0]), "{client}: {found:?}");
        processes.push(found[0].clone());
    }
    processes.sort();
    processes.dedup();
    assert_eq!(processes.len(), 2, "the clients are spread over both");
    streams(&proxy);
}

#[test]
fn nginx_passes_events_on_as_they_come() {
    let server = server(&own_address());
    let proxy = Proxy::start(|sandbox, ip| {
        let part = deploy("nginx.conf")
            .replace("listen 443 ssl", &format!("listen {ip}:8443 ssl"))
            .replace("server_name tools.example.com", &format!("server_name {ip}"))
            .replace("127.0.0.1:8080", &format!("127.0.0.1:{}", server.port()))
            .replace("/etc/nginx/tools.pem", &sandbox.path("cert.pem").to_string_lossy())
            .replace("/etc/nginx/tools.key", &sandbox.path("key.pem").to_string_lossy());
        sandbox.write("mcp.conf", part);
        let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .map(|kind| format!("{kind}_temp_path {kind};\n"))
            .concat();
        let whole = format!(
            "daemon off;\nmaster_process off;\npid nginx.pid;\nerror_log stderr;\nevents {{}}\n\
             http {{\naccess_log off;\n{temporary}include mcp.conf;\n}}\n"
        );
        let file = sandbox.write("nginx.conf", whole);
        let mut command = Command::new("/usr/sbin/nginx");
        command.arg("-p").arg(sandbox.path("")).arg("-e").arg("stderr").arg("-c").arg(file);
        command
    });
    let large = "a".repeat(2 << 20);
    let session = proxy.session("127.0.0.1");
    let file = proxy.sandbox.write("call.json", call("echo", &json!({"text": large})).to_string());
    let answer = run(&mut proxy.curl("127.0.0.1", &[&session], &format!("@{}", file.display())));
    assert!(answer.stdout.len() > large.len(), "{} bytes", answer.stdout.len());
    streams(&proxy);
}

/// The words of an instruction of the container file, which are written as JSON.
fn instruction(name: &str) -> Vec<String> {
    let file = deploy("Containerfile");
    let line = file.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    serde_json::from_str(line.unwrap_or_else(|| panic!("there is no {name}"))).expect("it is a list of words")
}

#[test]
fn the_command_of_the_container_needs_its_token() {
    const TOOLS: &str = "/srv/mcp/tools.py";
    assert_eq!(instruction("ENTRYPOINT"), ["/usr/bin/pmcp"]);
    let command = instruction("CMD");
    assert!(command.iter().any(|word| word == TOOLS), "{command:?}");
    let sandbox = Sandbox::new();
    let file = sandbox.copy("py/basics.py");
    let launch = || {
        let words = command.iter().map(|word| if word == TOOLS { file.as_os_str() } else { OsStr::new(word) });
        // A container has the port for itself.
        words.fold(sandbox.pmcp(&[]), Launch::arg).arg("--port").arg("0")
    };
    let without = launch().without("MCP_TOKEN").start();
    assert_eq!(without.exit().code(), Some(2));
    assert!(without.stderr().contains("--auth"), "{}", without.stderr());

    let mut server = Web::launch(sandbox.clone(), launch().env("MCP_TOKEN", "token-of-the-container"));
    assert_eq!(server.send("GET", "/readyz", &[], "").status, 200);
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}});
    let refused: [&[(&str, &str)]; 2] = [&[], &[("authorization", "Bearer another-token")]];
    for headers in refused {
        assert_eq!(server.send("POST", "/mcp", headers, &list.to_string()).status, 401, "{headers:?}");
    }
    server.carry("authorization", "Bearer token-of-the-container");
    server.initialize();
    let answer = server.post(&list);
    assert_eq!(answer.status, 200, "{answer:?}");
    assert!(answer.json()["result"]["tools"].is_array(), "{answer:?}");
}

#[test]
fn the_container_is_built_with_features_that_exist() {
    let file = deploy("Containerfile");
    let (_, build) = file.split_once("cargo build ").expect("it builds the program");
    let build: Vec<_> = build.lines().next().unwrap_or_default().split(' ').collect();
    let value = |flag: &str| build.windows(2).find(|pair| pair[0] == flag).map(|pair| pair[1]).expect(flag);
    let manifest = include_str!("../../cli/Cargo.toml");
    assert!(manifest.contains(&format!("[package]\nname = \"{}\"\n", value("--package"))), "{build:?}");
    assert!(manifest.contains(&format!("[[bin]]\nname = \"{}\"\n", value("--bin"))), "{build:?}");
    let (_, features) = manifest.split_once("\n[features]\n").expect("it has features");
    let features: Vec<_> = features.lines().take_while(|line| !line.starts_with('[')).collect();
    for feature in value("--features").split(',') {
        let start = format!("{feature} = ");
        assert!(features.iter().any(|line| line.starts_with(&start)), "{feature}: {features:?}");
    }
}

#[test]
fn the_container_file_has_no_findings() {
    let linter = peers().join("dockerfile/node_modules/.bin/dockerfile-utils");
    assert!(linter.exists(), "please run scripts/setup dockerfile first");
    let found = run(Command::new(linter).arg("lint").arg(root().join("deploy/Containerfile")));
    let text = String::from_utf8_lossy(&found.stdout).into_owned();
    assert!(!text.contains("Warning") && !text.contains("Error") && !text.contains("Line:"), "{text}");
    // The image gets the program that the first stage builds.
    let file = deploy("Containerfile");
    assert!(file.contains("target/release/pmcp") && file.contains("--bin pmcp"), "{file}");
}
