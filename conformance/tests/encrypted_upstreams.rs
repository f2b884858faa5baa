//! `pmcp list`, `pmcp call` and `pmcp run --upstream` with servers behind TLS, over each carrier.

use protomcp_conformance::{Host, Sandbox, certificates};
use serde_json::json;

/// A tool file behind a port with TLS.
struct Port {
    _host: Host,
    sandbox: Sandbox,
    number: String,
}

impl Port {
    /// Its certificate is of `authority.pem`, for this name. `stranger.pem` is another authority.
    fn open(transport: &str, name: &str) -> Self {
        let sandbox = Sandbox::new();
        sandbox.copy("py/basics.py");
        let issuer = certificates::authority(&sandbox, "authority");
        certificates::authority(&sandbox, "stranger");
        certificates::sign(&sandbox, &issuer, "", &[name]);
        let tls = ["--tls-cert", "cert.pem", "--tls-key", "key.pem"];
        let words = [&["run", "basics.py", "--port", "0", "--transport", transport], &tls[..]].concat();
        let host = sandbox.pmcp(&words).start();
        let log = host.stderr_with("serving basics.py");
        let (_, url) = log.split_once("listening on ").expect("it says where it listens");
        let (_, port) = url.split_once("://localhost:").unwrap();
        let number = port.chars().take_while(char::is_ascii_digit).collect();
        Self { _host: host, sandbox, number }
    }

    fn urls(&self, transport: &str) -> Vec<String> {
        let url = |scheme: &str, path: &str| format!("{scheme}://localhost:{}{path}", self.number);
        match transport {
            "tcp" => vec![url("protos", "")],
            _ => vec![url("grpcs", ""), url("wss", "/mcp"), url("https", "/mcp")],
        }
    }

    /// The output of `pmcp` that trusts this authority, or its error.
    fn command(&self, words: &[&str], authority: &str) -> Result<String, String> {
        let trusted = self.sandbox.path(authority).to_string_lossy().into_owned();
        let output = self.sandbox.pmcp(words).env("SSL_CERT_FILE", &trusted).command().output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        if output.status.success() { Ok(text(output.stdout)) } else { Err(text(output.stderr)) }
    }
}

#[test]
fn a_trusted_server_is_used_over_every_carrier() {
    for transport in ["tcp", "http"] {
        let port = Port::open(transport, "localhost");
        for url in port.urls(transport) {
            let listed = port.command(&["list", &url], "authority.pem").unwrap();
            assert!(listed.contains("Adds two integers."), "{url}: {listed}");
            let called = port.command(&["call", &url, "add", "a=2", "b=40"], "authority.pem").unwrap();
            assert_eq!(called, "42\n", "{url}");
            let trusted = port.sandbox.path("authority.pem").to_string_lossy().into_owned();
            let host = Sandbox::new().pmcp(&["run", "--upstream", &url]).env("SSL_CERT_FILE", &trusted).start();
            host.initialize();
            assert_eq!(host.text("add", &json!({"a": 2, "b": 40})), "42", "{url}");
        }
    }
}

#[test]
fn other_servers_are_refused_with_a_way_out() {
    for transport in ["tcp", "http"] {
        let port = Port::open(transport, "localhost");
        let elsewhere = Port::open(transport, "other.example");
        let cases = [
            (&port, "stranger.pem", ["UnknownIssuer; ", "SSL_CERT_FILE"]),
            (&elsewhere, "authority.pem", ["not valid for name \"localhost\"", "use a host name"]),
        ];
        for (port, authority, parts) in cases {
            for url in port.urls(transport) {
                for words in [&["list", &url][..], &["call", &url, "add", "a=1", "b=1"], &["run", "--upstream", &url]] {
                    let refused = port.command(words, authority).unwrap_err();
                    assert!(parts.iter().all(|part| refused.contains(part)), "{words:?}: {refused}");
                }
            }
        }
    }
}
