//! The server for clients of both protocols, proto-mcp and JSON-RPC.

use std::sync::Arc;
use std::time::Duration;

use protomcp_binary::{AnyServer, BinaryServer, ToolSchemas};
use protomcp_bsr::registry::Resolver;
use protomcp_server::layer::lazy_tools::{LazyTools, WithLazyTools};
use protomcp_server::{Server, Service};

use crate::args::ToolFlags;
use crate::proto_remote::ProtoRemote;
use crate::registries;

/// The terms on which clients are served.
#[derive(Clone)]
pub(super) struct Terms {
    call_timeout: Duration,
    drain_timeout: Duration,
    schemas: Arc<dyn ToolSchemas>,
    resolver: Option<Resolver>,
    /// Clients of JSON-RPC see three tools.
    lazy_tools: Option<LazyTools>,
}

impl Terms {
    pub(super) fn new(tool: &ToolFlags) -> Self {
        let (limits, resolver) = (&tool.limits, registries::resolver(&tool.registry));
        Self {
            call_timeout: limits.call_timeout,
            drain_timeout: limits.drain_timeout,
            schemas: Arc::new(registries::schemas(resolver.as_ref())),
            resolver,
            lazy_tools: tool.lazy_tools(),
        }
    }

    /// The settings of conversations with servers behind the gateway, whose requests have this time.
    pub(super) fn remote(&self, timeout: Duration) -> ProtoRemote {
        ProtoRemote::new(timeout, self.resolver.as_ref())
    }

    /// Serves clients of both protocols.
    pub(super) fn both<S: Service>(&self, server: Server<S>) -> AnyServer<S, WithLazyTools<Arc<S>>> {
        self.binary(server.clone()).with_json(self.json(server))
    }

    /// Serves clients of JSON-RPC.
    pub(super) fn json<S: Service>(&self, server: Server<S>) -> Server<WithLazyTools<Arc<S>>> {
        server.lazy_tools(self.lazy_tools)
    }

    /// Serves clients of proto-mcp. A call has the time of any other call.
    pub(super) fn binary<S: Service>(&self, server: Server<S>) -> BinaryServer<S> {
        BinaryServer::new(server).schemas(Arc::clone(&self.schemas)).configure(|config| {
            config.limits.call_timeout = self.call_timeout;
            config.limits.max_call_timeout = self.call_timeout;
            config.limits.drain_timeout = self.drain_timeout;
        })
    }

    /// The same over gRPC and WebSocket, whose messages keep to the limit of bodies.
    pub(super) fn over_http<S: Service>(&self, server: Server<S>, max_body: usize) -> BinaryServer<S> {
        self.binary(server).configure(|config| config.frames.max_frame = config.frames.max_frame.min(max_body))
    }
}

#[cfg(test)]
mod tests {
    use protomcp_binary::StructSchemas;
    use protomcp_server::{Handler, ServerInfo};

    use super::*;

    struct Nothing;

    impl Handler for Nothing {
        fn info(&self) -> ServerInfo {
            ServerInfo::new("nothing", "1")
        }
    }

    #[test]
    fn the_flags_hold_in_proto_mcp() {
        let (call_timeout, drain_timeout) = (Duration::from_secs(7), Duration::from_secs(3));
        let schemas = Arc::new(StructSchemas);
        let terms = Terms { call_timeout, drain_timeout, schemas, resolver: None, lazy_tools: None };
        let server = terms.binary(Server::from_handler(Nothing));
        let (limits, usual) = (server.config().limits, server.config().frames.max_frame);
        assert_eq!((limits.call_timeout, limits.max_call_timeout), (call_timeout, call_timeout));
        assert_eq!(limits.drain_timeout, drain_timeout);
        for (max_body, max_frame) in [(1 << 10, 1 << 10), (usize::MAX, usual)] {
            let server = terms.over_http(Server::from_handler(Nothing), max_body);
            assert_eq!(server.config().frames.max_frame, max_frame);
        }
    }
}
