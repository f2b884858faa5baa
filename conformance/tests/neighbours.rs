//! A hostile neighbour: no action of one user reaches or stops another.
//!
//! Each file covers a topic: attacks, which are functions that `soak` runs again all together, and tests that run one
//! attack against a user who works.

#[path = "neighbours/auth.rs"]
mod auth;
#[path = "neighbours/bodies.rs"]
mod bodies;
#[path = "neighbours/connections.rs"]
mod connections;
#[path = "neighbours/floods.rs"]
mod floods;
#[path = "neighbours/link.rs"]
mod link;
#[path = "neighbours/privacy.rs"]
mod privacy;
#[path = "neighbours/queue.rs"]
mod queue;
#[path = "neighbours/replicas.rs"]
mod replicas;
#[path = "neighbours/sessions.rs"]
mod sessions;
#[path = "neighbours/soak.rs"]
mod soak;

use std::time::{Duration, Instant};

use protomcp_conformance::neighbours::{Client, Failure, Front, Heard, Identity, Pipe, User};
use protomcp_conformance::tier;
use serde_json::{Value, json};

const MIB: u64 = 1 << 20;
/// The budget for bytes of unanswered requests of callers (SECURITY.md).
const INBOUND: u64 = 512 * MIB;
/// The budget of bytes that wait to be sent to callers (SECURITY.md).
const OUTBOUND: u64 = 512 * MIB;
/// Unhandled data of the tool process: one envelope, and waiting messages (SECURITY.md).
const UNHANDLED: u64 = 128 * MIB;
/// Memory of the process outside the budgets: socket buffers, and pages that the allocator keeps.
const SLACK: u64 = 64 * MIB;

/// Opens a client on any front; the server may reject an attacker.
async fn open(user: &User, front: Front) -> Result<Client, Failure> {
    Client::open(user, front, &Heard::default()).await
}

/// Sends bytes on a new connection, which the caller keeps.
async fn pour(client: &Client, bytes: &[u8]) -> Option<Pipe> {
    let mut pipe = client.pipe().await.ok()?;
    // A server may close the connection to reject them.
    let _ = pipe.write(bytes).await;
    Some(pipe)
}

/// The parameters of a call.
fn call(name: &str, arguments: &Value) -> Value {
    json!({"name": name, "arguments": arguments})
}

/// The same with a progress token.
fn call_with_progress(name: &str, arguments: &Value) -> Value {
    json!({"name": name, "arguments": arguments, "_meta": {"progressToken": "p"}})
}

/// The ways to tell users apart: in the short tier this one, because another attack on the same budget has the other.
fn identities(short: Identity) -> Vec<Identity> {
    tier(vec![short], vec![Identity::Tokens, Identity::Addresses])
}

/// True while an endless attack should continue.
fn goes_on(start: Instant) -> bool {
    start.elapsed() < tier(Duration::from_secs(1), Duration::from_secs(20))
}
