//! The terms for clients of proto-mcp.

use std::sync::Arc;
use std::time::Duration;

use protomcp_bufmcp::{BinaryServer, ToolSchemas};
#[cfg(feature = "upstream")]
use protomcp_descriptors::registry::Resolver;
use protomcp_server::{Server, Service};

use crate::args::proto::ProtoTerms;
use crate::args::tool::ToolFlags;
#[cfg(feature = "upstream")]
use crate::proto_remote::ProtoRemote;
use crate::registries;

/// The terms for clients of proto-mcp.
#[derive(Clone)]
pub(super) struct BinaryTerms {
    call_timeout: Duration,
    drain_timeout: Duration,
    /// Unanswered requests of a session.
    max_pending: usize,
    proto: ProtoTerms,
    schemas: Arc<dyn ToolSchemas>,
    /// For the servers behind the gateway.
    #[cfg(feature = "upstream")]
    resolver: Option<Resolver>,
}

impl BinaryTerms {
    pub(super) fn new(tool: &ToolFlags) -> Self {
        let (limits, resolver) = (&tool.limits, registries::resolver(&tool.registry));
        Self {
            call_timeout: limits.call_timeout,
            drain_timeout: limits.drain_timeout,
            max_pending: limits.max_pending(),
            proto: limits.proto.terms(),
            schemas: Arc::new(registries::schemas(resolver.as_ref())),
            #[cfg(feature = "upstream")]
            resolver,
        }
    }

    /// The settings of conversations with servers behind the gateway, whose requests have this time.
    #[cfg(feature = "upstream")]
    pub(super) fn remote(&self, timeout: Duration) -> ProtoRemote {
        ProtoRemote::new(timeout, self.resolver.as_ref())
    }

    /// Serves clients of proto-mcp. A call has the time of any other call.
    pub(super) fn server<S: Service>(&self, server: Server<S>) -> BinaryServer<S> {
        let server = BinaryServer::new(server).schemas(Arc::clone(&self.schemas)).configure(|config| {
            config.numbering = self.proto.numbering;
            config.initialization = self.proto.initialization;
            config.limits.max_in_flight = self.max_pending;
            config.limits.call_timeout = self.call_timeout;
            config.limits.max_call_timeout = self.call_timeout;
            config.limits.drain_timeout = self.drain_timeout;
        });
        match self.proto.rates {
            Some(limits) => server.rate_limits(limits),
            None => server,
        }
    }

    /// The same over gRPC and WebSocket, whose messages keep to the limit of bodies.
    pub(super) fn server_over_http<S: Service>(&self, server: Server<S>, max_body: usize) -> BinaryServer<S> {
        self.server(server).configure(|config| {
            if max_body < config.frames.max_frame {
                (config.frames.max_frame, config.frames.setting) = (max_body, Some("--max-body"));
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use protomcp_bufmcp::{Numbering, StructSchemas};
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
        let terms = BinaryTerms {
            call_timeout,
            drain_timeout,
            max_pending: 9,
            proto: ProtoTerms { numbering: Numbering::Reference, ..ProtoTerms::default() },
            schemas: Arc::new(StructSchemas),
            #[cfg(feature = "upstream")]
            resolver: None,
        };
        let server = terms.server(Server::from_handler(Nothing));
        let (limits, usual) = (server.config().limits, server.config().frames.max_frame);
        assert_eq!((limits.call_timeout, limits.max_call_timeout), (call_timeout, call_timeout));
        assert_eq!((limits.drain_timeout, limits.max_in_flight), (drain_timeout, 9));
        assert_eq!(server.config().numbering, Numbering::Reference);
        for (max_body, max_frame) in [(1 << 10, 1 << 10), (usize::MAX, usual)] {
            let server = terms.server_over_http(Server::from_handler(Nothing), max_body);
            assert_eq!(server.config().frames.max_frame, max_frame);
        }
    }
}
