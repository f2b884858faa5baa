//! The server for clients of both protocols, proto-mcp and JSON-RPC.

use std::sync::Arc;
use std::time::Duration;

use protomcp_binary::{BinaryServer, ToolSchemas};
use protomcp_server::{Server, Service};

use crate::args::ToolFlags;
use crate::registries;

/// The terms on which clients of proto-mcp are served.
#[derive(Clone)]
pub(super) struct Terms {
    call_timeout: Duration,
    schemas: Arc<dyn ToolSchemas>,
}

impl Terms {
    pub(super) fn new(tool: &ToolFlags) -> Self {
        Self { call_timeout: tool.limits.call_timeout, schemas: Arc::new(registries::schemas(&tool.registry)) }
    }

    /// Serves clients of both protocols. A call in proto-mcp has the time of any other call.
    pub(super) fn both<S: Service>(&self, server: Server<S>) -> BinaryServer<S> {
        BinaryServer::new(server).schemas(Arc::clone(&self.schemas)).configure(|config| {
            config.limits.call_timeout = self.call_timeout;
            config.limits.max_call_timeout = self.call_timeout;
        })
    }
}
