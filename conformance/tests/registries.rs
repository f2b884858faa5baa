//! `--registry`: tools whose schemas are in a registry, between a server and a client of proto-mcp. The registry, the server
//! behind `pmcp` and their TLS are Python's.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use prost::Message;
use protomcp_conformance::{Host, Launch, Sandbox, certificates, peers};

const SCHEMA: &str = "syntax = \"proto3\"; package acme.v1; message FindRequest { string query = 1; int32 page = 2; }";

const SERVER: &str = r#"
from mcp.server import MCPServer

server = MCPServer("acme")

@server.tool(structured_output=False, meta={"bsr_ref": "registry.test/acme/tools/acme.v1.FindRequest:main"})
def find(query: str, page: int = 0) -> str:
    return f"{query} on page {page}"

server.run()
"#;

#[test]
fn a_netrc_file_is_regular_or_not_used() {
    let sandbox = Sandbox::new();
    sandbox.copy("py/basics.py");
    let pipe = Command::new("mkfifo").arg(sandbox.path("netrc")).status().expect("mkfifo starts");
    assert!(pipe.success());
    let host = sandbox.pmcp(&["run", "basics.py", "--registry", "registry.test=127.0.0.1:1"]);
    let host = host.env("NETRC", sandbox.path("netrc")).start();
    host.initialize();
    host.stderr_with("netrc is not used: not a regular file");
}

/// A registry, and the files of those who use it.
struct Registry {
    process: Child,
    sandbox: Sandbox,
    flag: String,
}

impl Registry {
    fn start() -> Self {
        let sandbox = Sandbox::new();
        let issuer = certificates::authority(&sandbox, "authority");
        certificates::sign(&sandbox, &issuer, "", &["registry.test"]);
        sandbox.write("acme.proto", SCHEMA);
        let set = protox::compile(["acme.proto"], [sandbox.path("")]).unwrap();
        sandbox.write("set.binpb", set.encode_to_vec());
        sandbox.write("mode", "token:s3cret");
        sandbox.write("seen", "");
        sandbox.write("server.py", SERVER);
        let script = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/hosts/registry.py"));
        let mut command = Command::new(peers().join("py/bin/python"));
        command.arg(script).arg(sandbox.path("")).stdin(Stdio::null()).stdout(Stdio::piped());
        let mut process = command.spawn().unwrap();
        let mut port = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut port).unwrap();
        let flag = format!("registry.test=127.0.0.1:{}", port.trim());
        Self { process, sandbox, flag }
    }

    fn seen(&self) -> Vec<String> {
        let text = std::fs::read_to_string(self.sandbox.path("seen")).unwrap();
        text.lines().map(str::to_owned).collect()
    }

    /// `pmcp` with a cache of this name, and with a token.
    fn pmcp(&self, words: &[&str], cache: &str, token: Option<&str>) -> Launch {
        let launch = self.sandbox.pmcp(words).env("SSL_CERT_FILE", self.sandbox.path("authority.pem"));
        let launch = launch.env("XDG_CACHE_HOME", self.sandbox.path(cache)).env("HOME", self.sandbox.path("home"));
        match token {
            Some(token) => launch.env("BUF_TOKEN", token),
            None => launch.without("BUF_TOKEN"),
        }
    }

    /// A server of the tool, and its URL.
    fn serve(&self, flags: &[&str]) -> (Host, String) {
        let python = peers().join("mcp/bin/python");
        let run = ["run", "--transport", "tcp", "--port", "0"];
        let command = ["--", python.to_str().unwrap(), "server.py"];
        let host = self.pmcp(&[&run, flags, &command[..]].concat(), "server", Some("s3cret@registry.test")).start();
        let log = host.stderr_with("over TCP");
        let (_, rest) = log.split_once("listening on ").unwrap();
        (host, rest.split_whitespace().next().unwrap().to_owned())
    }

    /// The output of `pmcp`, or its error.
    fn output(&self, launch: Launch) -> Result<String, String> {
        let output = launch.command().stdin(Stdio::null()).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        if output.status.success() { Ok(text(output.stdout)) } else { Err(text(output.stderr)) }
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        let _gone = self.process.kill();
        let _reaped = self.process.wait();
    }
}

#[test]
fn a_client_resolves_the_references_of_a_server() {
    let registry = Registry::start();
    let (_host, url) = registry.serve(&["--registry", &registry.flag]);
    let call = ["call", &url, "find", "query=x", "page=2"];
    let asking = |host: &str, cache: &str, token: Option<&str>| {
        let words = [&call[..], &["--registry", host]].concat();
        let output = registry.pmcp(&words, cache, token).command().stdin(Stdio::null()).output().unwrap();
        let log = String::from_utf8(output.stderr).unwrap();
        assert_eq!(String::from_utf8(output.stdout).as_deref(), Ok("x on page 2\n"), "{log}");
        log
    };
    let token = Some("s3cret@registry.test");
    // A client with the token, which resolves the reference itself; so does the server.
    assert!(!asking(&registry.flag, "one", token).contains("warn"));
    let seen = registry.seen();
    assert_eq!(seen.len(), 2, "{seen:?}");
    assert!(seen.iter().all(|line| line.ends_with(" Bearer s3cret")), "{seen:?}");
    // Both have kept the schema, so that a registry that fails does no harm.
    registry.sandbox.write("mode", "down");
    assert!(!asking(&registry.flag, "one", token).contains("warn"));
    assert_eq!(registry.seen().len(), 2, "the schema was on disk");
    // Without the registry the schema is the server's.
    let fallback = "the schema is the server's, and not the registry's";
    assert!(asking(&registry.flag, "empty", token).contains(fallback));
    registry.sandbox.write("mode", "token:s3cret");
    // The same without a token, and with the token of another registry.
    for token in [None, Some("s3cret@other.test")] {
        let log = asking(&registry.flag, "empty", token);
        assert!(log.contains(fallback) && !log.contains("s3cret"), "{token:?}: {log}");
    }
    // A client that knows other registries alone does not ask this one, nor does one that knows none.
    let known = registry.seen().len();
    assert!(asking("other.test=127.0.0.1:9", "empty", token).contains("registry.test"));
    assert_eq!(registry.output(registry.pmcp(&call, "empty", None)).as_deref(), Ok("x on page 2\n"));
    assert_eq!(registry.seen().len(), known);
}

#[test]
fn a_server_without_the_registry_has_its_own_schemas() {
    let registry = Registry::start();
    let (_host, url) = registry.serve(&[]);
    let call = ["call", &url, "find", "query=x", "--registry", &registry.flag];
    assert_eq!(registry.output(registry.pmcp(&call, "one", None)).as_deref(), Ok("x on page 0\n"));
    assert!(registry.seen().is_empty(), "{:?}", registry.seen());
}
