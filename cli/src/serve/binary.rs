//! The server for clients of both protocols, proto-mcp and JSON-RPC.

use std::sync::Arc;
use std::time::Duration;

use protomcp_bufmcp::{AnyServer, BinaryServer, ToolSchemas};
use protomcp_check::{ForHosts, HostLayer};
use protomcp_descriptors::registry::Resolver;
use protomcp_server::layer::admission::{AdmissionLayer, Admitting};
use protomcp_server::layer::lazy_tools::{LazyTools, WithLazyTools};
use protomcp_server::{Server, Service};

use crate::args::proto::ProtoTerms;
use crate::args::tool::ToolFlags;
use crate::proto_remote::ProtoRemote;
use crate::registries;

/// The terms on which clients are served.
#[derive(Clone)]
pub(super) struct Terms {
    call_timeout: Duration,
    drain_timeout: Duration,
    /// Unanswered requests of a session.
    max_pending: usize,
    /// Refuses calls beyond the limits on concurrent calls, of all protocols together.
    admission: AdmissionLayer,
    /// For clients of proto-mcp alone.
    proto: ProtoTerms,
    schemas: Arc<dyn ToolSchemas>,
    resolver: Option<Resolver>,
    /// Clients of JSON-RPC see three tools.
    lazy_tools: Option<LazyTools>,
    /// Definitions in the form of hosts.
    hosts: HostLayer,
    /// Each request is a line in the log.
    access_log: bool,
}

/// A service that refuses calls beyond the limits, and whose definitions are adapted to hosts.
type Adapted<S> = ForHosts<Arc<Admitting<Arc<S>>>>;

impl Terms {
    pub(super) fn new(tool: &ToolFlags) -> Self {
        let (limits, resolver) = (&tool.limits, registries::resolver(&tool.registry));
        Self {
            call_timeout: limits.call_timeout,
            drain_timeout: limits.drain_timeout,
            max_pending: limits.max_pending(),
            admission: limits.admission.layer(),
            proto: limits.proto.terms(),
            schemas: Arc::new(registries::schemas(resolver.as_ref())),
            resolver,
            lazy_tools: tool.lazy_tools(),
            hosts: tool.host_layer(),
            access_log: tool.access_log,
        }
    }

    /// The settings of conversations with servers behind the gateway, whose requests have this time.
    pub(super) fn remote(&self, timeout: Duration) -> ProtoRemote {
        ProtoRemote::new(timeout, self.resolver.as_ref())
    }

    /// Serves clients of both protocols.
    pub(super) fn both<S: Service>(&self, server: Server<S>) -> AnyServer<Adapted<S>, WithLazyTools<Arc<Adapted<S>>>> {
        self.binary(server.clone()).with_json(self.json(server))
    }

    /// The limits on concurrent calls.
    pub(super) fn admission(&self) -> &AdmissionLayer {
        &self.admission
    }

    /// Serves clients of JSON-RPC.
    pub(super) fn json<S: Service>(&self, server: Server<S>) -> Server<WithLazyTools<Arc<Adapted<S>>>> {
        self.adapted(server).lazy_tools(self.lazy_tools)
    }

    /// Serves clients of proto-mcp. A call has the time of any other call.
    pub(super) fn binary<S: Service>(&self, server: Server<S>) -> BinaryServer<Adapted<S>> {
        let server = BinaryServer::new(self.adapted(server)).schemas(Arc::clone(&self.schemas)).configure(|config| {
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

    fn adapted<S: Service>(&self, server: Server<S>) -> Server<Adapted<S>> {
        if self.access_log {
            server.handle().log_access();
        }
        self.hosts.around(server.layer(&self.admission))
    }

    /// The same over gRPC and WebSocket, whose messages keep to the limit of bodies.
    pub(super) fn over_http<S: Service>(&self, server: Server<S>, max_body: usize) -> BinaryServer<Adapted<S>> {
        self.binary(server).configure(|config| {
            if max_body < config.frames.max_frame {
                (config.frames.max_frame, config.frames.setting) = (max_body, Some("--max-body"));
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use protomcp_bufmcp::{Numbering, StructSchemas};
    use protomcp_check::HostSelection;
    use protomcp_server::layer::admission::AdmissionLimits;
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
        let hosts = HostLayer::new(&HostSelection::default(), "nothing");
        let (max_pending, admission) = (9, AdmissionLayer::new(AdmissionLimits::default()));
        let (resolver, lazy_tools, access_log) = (None, None, true);
        let proto = ProtoTerms { numbering: Numbering::Reference, ..ProtoTerms::default() };
        let terms = Terms {
            call_timeout,
            drain_timeout,
            max_pending,
            admission,
            proto,
            schemas,
            resolver,
            lazy_tools,
            hosts,
            access_log,
        };
        let server = terms.binary(Server::from_handler(Nothing));
        let (limits, usual) = (server.config().limits, server.config().frames.max_frame);
        assert_eq!((limits.call_timeout, limits.max_call_timeout), (call_timeout, call_timeout));
        assert_eq!((limits.drain_timeout, limits.max_in_flight), (drain_timeout, max_pending));
        assert_eq!(server.config().numbering, Numbering::Reference);
        for (max_body, max_frame) in [(1 << 10, 1 << 10), (usize::MAX, usual)] {
            let server = terms.over_http(Server::from_handler(Nothing), max_body);
            assert_eq!(server.config().frames.max_frame, max_frame);
        }
    }
}
