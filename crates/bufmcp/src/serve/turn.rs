//! The work of one connection before others on the same thread have their turn.

use tokio::task::coop::consume_budget;

/// The bytes that one connection reads and converts before others have their turn.
pub(super) const TURN: usize = 32 << 10;

/// Lets other tasks run when this one has worked for long, by the bytes that it has worked on.
pub(super) async fn spend(bytes: usize) {
    // The runtime counts 128 steps before it looks at other tasks.
    for _ in 0..bytes.min(TURN).div_ceil(TURN / 128) {
        consume_budget().await;
    }
}
