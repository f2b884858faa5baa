//! Item 66 of proto-mcp: certificates of clients, shown by the TLS of Python and by `pmcp` itself.

use std::process::{Command, Stdio};

use protomcp_conformance::{Host, Sandbox, certificates};
use serde_json::{Value, json};

use crate::visit::{host, python, visit};

/// A port that asks clients for certificates of `authority.pem` with the name `agent.example` or `second.example`.
struct Port {
    _host: Host,
    sandbox: Sandbox,
    number: String,
}

impl Port {
    fn open(transport: &str) -> Self {
        let sandbox = Sandbox::new();
        sandbox.copy("py/basics.py");
        let issuer = certificates::write(&sandbox);
        let stranger = certificates::authority(&sandbox, "stranger");
        certificates::sign(&sandbox, &issuer, "agent", &["agent.example"]);
        certificates::sign(&sandbox, &issuer, "second", &["unknown.example", "second.example"]);
        certificates::sign(&sandbox, &issuer, "other", &["other.example"]);
        certificates::sign(&sandbox, &stranger, "foreign", &["agent.example"]);
        let server = ["--tls-cert", "cert.pem", "--tls-key", "key.pem", "--tls-client-ca", "authority.pem"];
        let names = ["--tls-client-name", "agent.example", "--tls-client-name", "second.example"];
        let words = [
            &["run", "basics.py", "--log-level", "debug", "--port", "0", "--transport", transport],
            &server[..],
            &names[..],
        ]
        .concat();
        let host = sandbox.pmcp(&words).start();
        let log = host.stderr_with("serving basics.py");
        let (_, url) = log.split_once("listening on ").expect("it says where it listens");
        let (_, port) = url.split_once("://").unwrap().1.split_once(':').unwrap();
        let number = port.chars().take_while(char::is_ascii_digit).collect();
        Self { _host: host, sandbox, number }
    }

    fn file(&self, name: &str) -> String {
        self.sandbox.path(name).to_string_lossy().into_owned()
    }

    /// A connection with this certificate.
    fn relay(&self, client: Option<&str>) -> Command {
        let mut relay = Command::new(python());
        relay.arg(host("relay.py")).args(["localhost", &self.number, &self.file("authority.pem"), "1.3"]);
        if let Some(client) = client {
            relay.args([self.file(&format!("{client}-cert.pem")), self.file(&format!("{client}-key.pem"))]);
        }
        relay
    }

    /// The output of `pmcp` for the server at a URL, with this certificate, or its error.
    fn command(&self, words: &[&str], client: Option<&str>) -> Result<String, String> {
        let own =
            client.map(|client| [self.file(&format!("{client}-cert.pem")), self.file(&format!("{client}-key.pem"))]);
        let flags = own.iter().flat_map(|[cert, key]| ["--client-cert", cert, "--client-key", key]);
        let words: Vec<&str> = words.iter().copied().chain(flags).collect();
        let output = self.sandbox.pmcp(&words).env("SSL_CERT_FILE", self.file("authority.pem")).command().output();
        let output = output.unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        if output.status.success() { Ok(text(output.stdout)) } else { Err(text(output.stderr)) }
    }

    /// The answer to a request of this client over HTTP, in a session or for a new one.
    fn request(&self, client: &str, session: Option<&str>) -> Value {
        let mut request = Command::new(python());
        let own = [self.file(&format!("{client}-cert.pem")), self.file(&format!("{client}-key.pem"))];
        request.arg(host("session.py")).args([&self.number, &self.file("authority.pem")]).args(own).args(session);
        crate::visit::printed(&mut request)
    }
}

#[test]
fn only_clients_with_a_good_certificate_get_through() {
    for transport in ["tcp", "http"] {
        let port = Port::open(transport);
        for client in [None, Some("other"), Some("foreign")] {
            // The handshake ends with an alert, which a client of TLS 1.3 reads after it.
            let refused = port.relay(client).stdin(Stdio::null()).output().unwrap();
            let log = String::from_utf8_lossy(&refused.stderr);
            assert!(!refused.status.success() && log.contains("alert"), "{transport} {client:?}: {log}");
        }
        if transport == "tcp" {
            for client in ["agent", "second"] {
                let seen = visit(&port.sandbox, &json!({"add": {"a": 2, "b": 40}}), &port.relay(Some(client)));
                assert_eq!(seen["answers"]["add"]["success"]["content"], json!([{"text": "42"}]));
            }
        }
    }
}

/// A session belongs to the client whose certificate has begun it.
#[test]
fn the_name_in_a_certificate_is_the_principal() {
    let port = Port::open("http");
    let opened = port.request("agent", None);
    assert_eq!(opened["status"], 200, "{opened}");
    let session = opened["session"].as_str().unwrap();
    assert_eq!(port.request("agent", Some(session))["status"], 200);
    assert_eq!(port.request("second", Some(session))["status"], 404);
}

#[test]
fn the_command_presents_a_certificate_over_every_carrier() {
    for (transport, schemes) in [("tcp", &["protos"][..]), ("http", &["https", "grpcs", "wss"])] {
        let port = Port::open(transport);
        for scheme in schemes {
            let path = if ["https", "wss"].contains(scheme) { "/mcp" } else { "" };
            let url = format!("{scheme}://localhost:{}{path}", port.number);
            for client in [None, Some("other"), Some("foreign")] {
                let refused = port.command(&["list", &url], client).unwrap_err();
                assert!(refused.contains("cannot connect to"), "{url} {client:?}: {refused}");
            }
            let listed = port.command(&["list", &url], Some("agent")).unwrap();
            assert!(listed.contains("Adds two integers."), "{url}: {listed}");
            assert_eq!(port.command(&["call", &url, "add", "a=2", "b=40"], Some("second")).unwrap(), "42\n", "{url}");
            // A host of JSON-RPC uses the same server.
            let own = [port.file("agent-cert.pem"), port.file("agent-key.pem")];
            let words = ["run", "--upstream", &url, "--client-cert", &own[0], "--client-key", &own[1]];
            let host = Sandbox::new().pmcp(&words).env("SSL_CERT_FILE", port.file("authority.pem")).start();
            host.initialize();
            assert_eq!(host.text("add", &json!({"a": 2, "b": 40})), "42", "{url}");
        }
    }
}

#[test]
fn a_certificate_without_a_use_is_refused() {
    let sandbox = Sandbox::new();
    sandbox.write("empty.pem", "");
    let own = ["--client-cert", "empty.pem", "--client-key", "empty.pem"];
    let no_use = "--client-cert is for a server at https, protos, grpcs or wss";
    for (words, why) in [
        (&["list", "http://localhost:1/mcp"][..], no_use),
        (&["list", "proto://localhost:1"], no_use),
        (&["run", "--upstream", "ws://localhost:1/mcp"], no_use),
        (&["list", "https://localhost:1/mcp"], "invalid --client-cert or --client-key: there is no certificate"),
        (&["run", "--upstream", "protos://localhost:1"], "invalid --client-cert or --client-key"),
    ] {
        let output = sandbox.pmcp(&[words, &own[..]].concat()).command().output().unwrap();
        let log = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && log.contains(why), "{words:?}: {log}");
    }
    let output = sandbox.pmcp(&["list", "https://localhost:1/mcp", "--client-cert", "empty.pem"]).command().output();
    let log = String::from_utf8(output.unwrap().stderr).unwrap();
    assert!(log.contains("--client-key"), "{log}");
}
