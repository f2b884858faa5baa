//! The official Rust SDK as a host in the matrix of clients.
//!
//! Usage: host-rmcp PLAN, where PLAN is a JSON object:
//!
//!   "stdio": [COMMAND...], "http": URL                 where the server is
//!   "server": its name, "pages": whether its lists have more than one page
//!   "without": [FEATURE or FEATURE@REVISION...]        what is not tried, because the server has no such thing
//!
//! For each place and each revision that the client can be told to speak, it prints one line of JSON for each feature:
//! {"transport", "revision", "feature", "ok", "detail"}. "ok" is null for what the client cannot do.

mod features;
mod host;
mod report;
mod tasks;

use std::collections::BTreeSet;
use std::process::ExitCode;

use rmcp::model::{ClientConfig, ProtocolVersion};
use rmcp::service::{ClientLifecycleMode, ClientServiceExt};
use rmcp::transport::{StreamableHttpClientTransport, TokioChildProcess};
use serde_json::{Value, json};

use crate::features::visit;
use crate::host::Host;
use crate::report::Place;

const REVISIONS: [ProtocolVersion; 5] = [
    ProtocolVersion::V_2024_11_05,
    ProtocolVersion::V_2025_03_26,
    ProtocolVersion::V_2025_06_18,
    ProtocolVersion::V_2025_11_25,
    ProtocolVersion::V_2026_07_28,
];

#[tokio::main]
async fn main() -> ExitCode {
    let plan: Value = std::env::args().nth(1).and_then(|plan| serde_json::from_str(&plan).ok()).unwrap_or_default();
    match run(&plan).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}

async fn run(plan: &Value) -> Result<(), Box<dyn std::error::Error>> {
    let texts = |value: &Value| -> Vec<String> { serde_json::from_value(value.clone()).unwrap_or_default() };
    let without: BTreeSet<String> = texts(&plan["without"]).into_iter().collect();
    for transport in ["stdio", "http"] {
        for revision in REVISIONS.into_iter().filter(|_| !plan[transport].is_null()) {
            let place = Place {
                transport,
                revision: revision.to_string(),
                server: plan["server"].as_str().unwrap_or_default().to_owned(),
                pages: plan["pages"] == true,
                without: without.clone(),
            };
            let mut info: ClientConfig = serde_json::from_value(json!({
                "protocolVersion": revision,
                "clientInfo": {"name": "matrix", "version": "1"},
                "capabilities": {
                    "sampling": {},
                    "roots": {"listChanged": true},
                    "elicitation": {"form": {}, "url": {}},
                    "extensions": {"io.modelcontextprotocol/tasks": {}},
                },
            }))?;
            info.protocol_version = revision.clone();
            let (host, told) = Host::new(info);
            let lifecycle = if revision.has_initialize() {
                ClientLifecycleMode::Initialize
            } else {
                ClientLifecycleMode::Discover { preferred_versions: vec![revision] }
            };
            let running = if transport == "stdio" {
                let words = texts(&plan["stdio"]);
                let mut command = tokio::process::Command::new(&words[0]);
                command.args(&words[1..]);
                host.serve_with_lifecycle(TokioChildProcess::new(command)?, lifecycle).await?
            } else {
                let url = plan["http"].as_str().unwrap_or_default();
                host.serve_with_lifecycle(StreamableHttpClientTransport::from_uri(url), lifecycle).await?
            };
            visit(&running, told, &place).await;
            running.cancel().await?;
        }
    }
    Ok(())
}
