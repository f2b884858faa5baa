//! Clients with `protomcp-client`.

use std::sync::{Arc, Mutex};

use protomcp_client::{Client, ClientSession, Mode};
use protomcp_http_client::HttpTransport;
use protomcp_types::Amount;
use serde_json::json;
use tokio::time::sleep;

use crate::replica_chaos::ledger::Calls;
use crate::replica_chaos::{PAUSE, STEPS};

/// Calls in one session after the other, or without one.
pub(crate) async fn work(address: String, mut calls: Calls, is_stateful: bool) {
    let ledger = Arc::clone(&calls.ledger);
    while !ledger.is_over() {
        match connect(&address, is_stateful).await {
            Ok(session) => {
                while !ledger.is_over() && call(&session, &mut calls).await {
                    sleep(PAUSE).await;
                }
            }
            Err(why) => ledger.failed("a session", &[], &why),
        }
        sleep(PAUSE).await;
    }
}

async fn connect(address: &str, is_stateful: bool) -> Result<ClientSession, String> {
    let transport = HttpTransport::new(&format!("http://{address}/mcp")).map_err(|error| error.to_string())?;
    let mode = if is_stateful { Mode::Stateful } else { Mode::Stateless };
    let client = Client::new("library", "1").mode(mode);
    client.connect(transport).await.map_err(|error| error.to_string())
}

/// Makes one call. False if another session is needed.
async fn call(session: &ClientSession, calls: &mut Calls) -> bool {
    let (ledger, name) = (Arc::clone(&calls.ledger), calls.next());
    let steps = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&steps);
    let arguments = json!({"call": name, "steps": STEPS});
    let request = session.call_tool("work", &arguments).on_progress(move |progress| {
        seen.lock().expect("no panic").push(match progress.progress {
            Amount::Integer(step) => u64::try_from(step).unwrap_or_default(),
            _ => 0,
        });
    });
    let result = request.await;
    let steps = std::mem::take(&mut *steps.lock().expect("no panic"));
    match result {
        Ok(result) if result.content.as_str().contains(&format!("{name} ")) => {
            ledger.answered(&calls.client, &name, &steps, STEPS);
            true
        }
        Ok(result) => {
            ledger.fault(format!("{name} has another answer: {}", result.content));
            true
        }
        Err(error) if error.is_retryable() => {
            ledger.failed(&name, &steps, &format!("library: {error}"));
            !session.is_closed()
        }
        Err(error) => {
            ledger.fault(format!("{name}: not retryable: {error}"));
            !session.is_closed()
        }
    }
}
