//! The client of proto-mcp that shares no code with this project, and its way to a server.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use prost::Message;
use protomcp_conformance::{Sandbox, peers};
use serde_json::Value;

pub(crate) fn host(name: &str) -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/hosts")).join(name)
}

pub(crate) fn python() -> PathBuf {
    peers().join("py/bin/python")
}

/// A visit of the client to the server that a command starts.
#[track_caller]
pub(crate) fn visit(sandbox: &Sandbox, calls: &Value, server: &Command) -> Value {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../proto");
    let set = protox::compile(["buf/mcp/v1/mcp.proto"], [folder]).unwrap();
    let descriptors = sandbox.write("mcp.binpb", set.encode_to_vec());
    let mut client = Command::new(python());
    client.arg(host("proto_client.py")).arg(descriptors).arg(calls.to_string());
    client.arg(server.get_program()).args(server.get_args()).current_dir(sandbox.path(""));
    client.envs(server.get_envs().filter_map(|(name, value)| Some((name, value?))));
    printed(client.stdin(Stdio::null()))
}

/// The JSON that a command prints.
#[track_caller]
pub(crate) fn printed(command: &mut Command) -> Value {
    let output = command.stdout(Stdio::piped()).stderr(Stdio::piped()).output().unwrap();
    let log = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{log}");
    serde_json::from_slice(&output.stdout).unwrap()
}
