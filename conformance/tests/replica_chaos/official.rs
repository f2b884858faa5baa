//! The official clients, as programs with many sessions.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use protomcp_conformance::{Sandbox, peers};
use serde_json::Value;

use crate::replica_chaos::STEPS;
use crate::replica_chaos::ledger::Ledger;
use crate::visit::host;

/// A program whose calls are noted in the ledger.
pub(crate) struct Official {
    process: Child,
    reader: JoinHandle<()>,
}

impl Official {
    pub(crate) fn python(address: &str, clients: usize, ledger: &Arc<Ledger>) -> Self {
        let mut command = Command::new(peers().join("mcp/bin/python"));
        command.arg(host("replicas.py"));
        Self::start(command, address, clients, ledger)
    }

    pub(crate) fn typescript(sandbox: &Sandbox, address: &str, clients: usize, ledger: &Arc<Ledger>) -> Self {
        sandbox.with_node();
        let program = fs::read(host("replicas.mts")).expect("it is there");
        let mut command = Command::new(peers().join("node/node_modules/.bin/tsx"));
        command.arg(sandbox.write("replicas.mts", program));
        Self::start(command, address, clients, ledger)
    }

    fn start(mut command: Command, address: &str, clients: usize, ledger: &Arc<Ledger>) -> Self {
        command.arg(format!("http://{address}/mcp")).arg(clients.to_string()).arg(STEPS.to_string());
        let mut process =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("it starts");
        let (lines, ledger) = (process.stdout.take().expect("it is piped"), Arc::clone(ledger));
        Self { process, reader: thread::spawn(move || note(lines, &ledger)) }
    }

    /// Waits until it has made its last calls.
    pub(crate) fn end(mut self) {
        drop(self.process.stdin.take());
        assert!(self.process.wait().expect("it is a child").success());
        self.reader.join().expect("it does not panic");
    }
}

fn note(lines: ChildStdout, ledger: &Ledger) {
    for line in BufReader::new(lines).lines().map_while(Result::ok) {
        let line: Value = serde_json::from_str(&line).expect("a line is JSON");
        let text = |name: &str| line[name].as_str().unwrap_or_default();
        if let Some(what) = line["begins"].as_str() {
            ledger.got(text("client"), format!("begins {what}"));
            continue;
        }
        let steps: Vec<u64> = line["steps"].as_array().expect("a list").iter().filter_map(Value::as_u64).collect();
        match text("error") {
            "" => ledger.answered(text("client"), text("call"), &steps, STEPS),
            why if why.starts_with("another answer") => ledger.fault(format!("{}: {why}", text("call"))),
            why => ledger.failed(
                text("call"),
                &steps,
                &format!("{}: {why}", text("client").split('-').next().unwrap_or_default()),
            ),
        }
    }
}
