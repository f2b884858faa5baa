//! The server for clients of both protocols, proto-mcp and JSON-RPC.

use std::time::Duration;

use protomcp_binary::BinaryServer;
use protomcp_server::{Server, Service};

/// A call in proto-mcp has the time of any other call.
pub(super) fn both<S: Service>(server: Server<S>, timeout: Duration) -> BinaryServer<S> {
    BinaryServer::new(server).configure(|config| {
        config.limits.call_timeout = timeout;
        config.limits.max_call_timeout = timeout;
    })
}
