//! Connections are used again, but not after a pause in which a server may have closed them.

use std::time::Duration;

use protomcp_testing::StoppedClock;

use super::peer::{Peer, params};
use super::script::{Script, json, result};

#[tokio::test]
async fn a_connection_is_used_again_within_four_seconds() {
    for (pause, connections) in [(Duration::from_secs(3), 1), (Duration::from_secs(5), 2)] {
        let script = Script::new(|request| json(&result(request.id(), "{}"))).await;
        let clock = StoppedClock::new();
        let mut peer = Peer::new(&script.url());
        peer.request(1, "tools/list", params("{}")).await;
        assert_eq!(peer.result(1).await, "{}");
        clock.advance(pause).await;
        peer.request(2, "tools/list", params("{}")).await;
        assert_eq!(peer.result(2).await, "{}");
        assert_eq!(script.connections(), connections, "after {pause:?}");
    }
}
