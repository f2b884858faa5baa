//! A relay of messages between two ends in memory, which drops both of them after a number of messages.

use protomcp_transport::memory::{self, Memory, MemorySink, MemorySource};
use protomcp_transport::{Sink, Source, Transport};

use crate::cuts::sweep::Direction;

/// The client's end and the server's; both are dropped after this many messages in this direction. The task returns the
/// number of messages in both directions.
pub(crate) fn relay(
    cut: Option<(Direction, usize)>,
    mut gone: tokio::sync::watch::Receiver<bool>,
) -> (Memory, Memory, impl Future<Output = [usize; 2]> + Send) {
    let (client, near) = memory::pair();
    let (far, server) = memory::pair();
    let relaying = async move {
        let ((mut from_client, mut to_client), (mut from_server, mut to_server)) = (near.split(), far.split());
        let mut counts = [0, 0];
        loop {
            let is_cut = cut.is_some_and(|(direction, after)| counts[direction as usize] >= after);
            if is_cut {
                return counts;
            }
            tokio::select! {
                is_passed = pass(&mut from_client, &mut to_server) => {
                    if !is_passed {
                        return counts;
                    }
                    counts[0] += 1;
                }
                is_passed = pass(&mut from_server, &mut to_client) => {
                    if !is_passed {
                        return counts;
                    }
                    counts[1] += 1;
                }
                _ = gone.wait_for(|gone| *gone) => return counts,
            }
        }
    };
    (client, server, relaying)
}

/// Passes one message on. False at the end.
async fn pass(from: &mut MemorySource, to: &mut MemorySink) -> bool {
    let Ok(Some(received)) = from.next().await else { return false };
    to.forward(received);
    // There is always room for the few messages of a call.
    to.flush().await.is_ok()
}
