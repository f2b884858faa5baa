//! A hostile neighbour: what one user does never reaches or stops another.
//!
//! Each file is a topic: attacks, which are functions that `soak` runs again all at once, and tests that run one of them
//! beside a user who works.

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
#[path = "neighbours/sessions.rs"]
mod sessions;
#[path = "neighbours/soak.rs"]
mod soak;

use std::time::{Duration, Instant};

use protomcp_conformance::neighbours::{Client, Failure, Front, Heard, Pipe, User};
use protomcp_conformance::tier;
use serde_json::{Value, json};

const MIB: u64 = 1 << 20;
/// The budget of bytes that callers have sent and that wait for an answer (SECURITY.md).
const INBOUND: u64 = 512 * MIB;
/// The budget of bytes that wait to be sent to callers (SECURITY.md).
const OUTBOUND: u64 = 512 * MIB;
/// What the tool process has sent and is not handled yet: one envelope, and messages that wait (SECURITY.md).
const UNHANDLED: u64 = 128 * MIB;
/// What the process may take beside what a budget counts: buffers of sockets, and pages that the allocator keeps.
const SLACK: u64 = 64 * MIB;

/// Opens a client on any front; an attacker may be kept out.
async fn open(user: &User, front: Front) -> Result<Client, Failure> {
    Client::open(user, front, &Heard::default()).await
}

/// Sends bytes on a connection of their own, which is to be kept.
async fn pour(client: &Client, bytes: &[u8]) -> Option<Pipe> {
    let mut pipe = client.pipe().await.ok()?;
    // A server that has enough says so by closing the connection.
    let _ = pipe.write(bytes).await;
    Some(pipe)
}

/// The parameters of a call.
fn call(name: &str, arguments: &Value) -> Value {
    json!({"name": name, "arguments": arguments})
}

/// The same with a token for its progress.
fn call_with_progress(name: &str, arguments: &Value) -> Value {
    json!({"name": name, "arguments": arguments, "_meta": {"progressToken": "p"}})
}

/// Whether an attack that could go on for ever goes on.
fn goes_on(start: Instant) -> bool {
    start.elapsed() < tier(Duration::from_secs(1), Duration::from_secs(20))
}
