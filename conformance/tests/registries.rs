//! `--registry`: tools whose schemas are in a registry, between a server and a client of proto-mcp. The registry, the server
//! behind `pmcp` and their TLS are Python's.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use prost::Message;
use protomcp_conformance::{Host, Launch, Sandbox, certificates, peers};
use serde_json::{Value, json};

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

    /// The digest of its key, by another library.
    fn digest(&self) -> String {
        let mut python = Command::new(peers().join("mcp/bin/python"));
        let output = python.args(["-c", DIGEST]).arg(self.sandbox.path("cert.pem")).output().unwrap();
        let digest = String::from_utf8(output.stdout).unwrap().trim().to_owned();
        assert_eq!(digest.len(), 44, "{}", String::from_utf8_lossy(&output.stderr));
        digest
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

const REFERENCE: &str = "registry.test/acme/tools/acme.v1.FindRequest:main";

#[test]
fn a_reference_is_resolved_written_and_kept() {
    let registry = Registry::start();
    let schema = |words: &[&str]| {
        let words = [&["schema"], words].concat();
        registry.output(registry.pmcp(&words, "one", Some("s3cret@registry.test")))
    };
    let resolve = |more: &[&str]| schema(&[&["resolve", REFERENCE, "--registry", &registry.flag], more].concat());
    let printed = resolve(&[]).unwrap();
    let json: Value = serde_json::from_str(&printed).unwrap();
    assert_eq!(json["properties"]["query"], json!({"type": "string"}));
    assert_eq!(json["properties"]["page"]["type"], "integer");
    assert_eq!(registry.seen().len(), 1);
    // The second answer is from disk, and its descriptor set is written.
    assert_eq!(resolve(&["--out", "out.binpb"]).as_deref(), Ok(printed.as_str()));
    assert_eq!(registry.seen().len(), 1);
    assert_eq!(schema(&["to-json", "out.binpb"]).as_deref(), Ok(printed.as_str()));
    let usage = schema(&["cache"]).unwrap();
    let folder = registry.sandbox.path("one").join("protomcp/schemas");
    let bytes = usage.strip_prefix(&format!("{}\n1 schemas, ", folder.display())).unwrap_or_else(|| panic!("{usage}"));
    assert!(bytes.trim_end_matches(" bytes\n").parse::<u64>().is_ok_and(|bytes| bytes > 0), "{usage}");
    // Another time the registry is asked again, and what is there stays.
    assert_eq!(resolve(&["--no-cache"]).as_deref(), Ok(printed.as_str()));
    assert_eq!((registry.seen().len(), schema(&["cache"])), (2, Ok(usage)));
    assert_eq!(schema(&["cache", "--clear"]).as_deref(), Ok("1 schemas deleted\n"));
    assert_eq!(resolve(&["--no-cache"]).as_deref(), Ok(printed.as_str()));
    let empty = format!("{}\n0 schemas, 0 bytes\n", folder.display());
    assert_eq!((registry.seen().len(), schema(&["cache"])), (3, Ok(empty)), "nothing is kept");
    // A file that cannot be written is named.
    let error = resolve(&["--out", "none/out.binpb"]).unwrap_err();
    assert!(error.contains("none/out.binpb"), "{error}");
}

/// Prints the digest of the key in a certificate.
const DIGEST: &str = r"
import base64, hashlib, sys
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

key = x509.load_pem_x509_certificate(open(sys.argv[1], 'rb').read()).public_key()
info = key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
print(base64.b64encode(hashlib.sha256(info).digest()).decode())
";

#[test]
fn only_a_registry_with_a_pinned_key_is_asked() {
    let registry = Registry::start();
    let (own, other) = (registry.digest(), "A".repeat(43) + "=");
    let resolve = |pins: &[&str]| {
        let pins: Vec<_> = pins.iter().map(|pin| format!("--registry-pin=registry.test={pin}")).collect();
        let words = ["schema", "resolve", REFERENCE, "--no-cache", "--registry", &registry.flag];
        let words: Vec<_> = words.into_iter().chain(pins.iter().map(String::as_str)).collect();
        registry.output(registry.pmcp(&words, "one", Some("s3cret@registry.test")))
    };
    let refused = resolve(&[other.as_str()]).unwrap_err();
    assert!(refused.contains("is not a pinned one") && refused.contains(&own), "{refused}");
    assert!(registry.seen().is_empty(), "{:?}", registry.seen());
    let prefixed = format!("sha256/{own}");
    for pins in [&[own.as_str()][..], &[other.as_str(), prefixed.as_str()]] {
        assert!(resolve(pins).is_ok_and(|schema| schema.contains("query")), "{pins:?}");
    }
    let words = ["list", "proto://localhost:9", "--registry", &registry.flag, "--registry-pin"];
    let stray = format!("registri.test={own}");
    let stray = registry.pmcp(&[&words[..], &[stray.as_str()]].concat(), "one", None);
    let stray = registry.output(stray).unwrap_err();
    assert!(stray.contains("--registry-pin is for registri.test, which no --registry names"), "{stray}");
    // A client of proto-mcp, and the server behind it, likewise.
    let pinned = |pin: &str| format!("--registry-pin=registry.test={pin}");
    let (_host, url) = registry.serve(&["--registry", &registry.flag, &pinned(&own)]);
    let call = ["call", &url, "find", "query=x", "page=2", "--registry", &registry.flag, &pinned(&other)];
    let output = registry.pmcp(&call, "empty", Some("s3cret@registry.test")).command().stdin(Stdio::null()).output();
    let output = output.unwrap();
    let log = String::from_utf8(output.stderr).unwrap();
    assert_eq!(String::from_utf8(output.stdout).as_deref(), Ok("x on page 2\n"), "{log}");
    assert!(log.contains("the schema is the server's, and not the registry's"), "{log}");
}

#[test]
fn a_server_that_pins_another_key_asks_nothing() {
    let registry = Registry::start();
    let pin = format!("--registry-pin=registry.test={}=", "A".repeat(43));
    let (_host, url) = registry.serve(&["--registry", &registry.flag, &pin]);
    // Another schema could have other fields, so the server takes no call before it has this one.
    let call = ["call", &url, "find", "query=x", "--registry", &registry.flag];
    let call = registry.pmcp(&call, "empty", Some("s3cret@registry.test"));
    let refused = registry.output(call).unwrap_err();
    let own = registry.digest();
    assert!(refused.contains("is not a pinned one") && refused.contains(&own), "{refused}");
    // The client has asked, the server has not.
    assert_eq!(registry.seen().len(), 1, "{:?}", registry.seen());
}

#[test]
fn a_server_without_the_registry_has_its_own_schemas() {
    let registry = Registry::start();
    let (_host, url) = registry.serve(&[]);
    let call = ["call", &url, "find", "query=x", "--registry", &registry.flag];
    assert_eq!(registry.output(registry.pmcp(&call, "one", None)).as_deref(), Ok("x on page 0\n"));
    assert!(registry.seen().is_empty(), "{:?}", registry.seen());
}
