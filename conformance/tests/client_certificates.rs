//! Item 66 of proto-mcp: certificates of clients, shown by the TLS of Python.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::process::{Command, Stdio};

use protomcp_conformance::{Host, Sandbox};
use serde_json::{Value, json};

#[path = "carriers/certificates.rs"]
mod certificates;
#[path = "carriers/visit.rs"]
mod visit;

use visit::{host, python, visit};

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
        let words = [&["run", "basics.py", "--port", "0", "--transport", transport], &server[..], &names[..]].concat();
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

    /// The answer to a request of this client over HTTP, in a session or for a new one.
    fn request(&self, client: &str, session: Option<&str>) -> Value {
        let mut request = Command::new(python());
        let own = [self.file(&format!("{client}-cert.pem")), self.file(&format!("{client}-key.pem"))];
        request.arg(host("session.py")).args([&self.number, &self.file("authority.pem")]).args(own).args(session);
        visit::printed(&mut request)
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
