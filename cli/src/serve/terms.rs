//! The terms on which clients are served, in every protocol.

use std::sync::Arc;
#[cfg(feature = "upstream")]
use std::time::Duration;

use protomcp_bridge::{Bridge, Builder, Starting};
#[cfg(feature = "proto-mcp")]
use protomcp_bufmcp::{AnyServer, BinaryServer};
use protomcp_check::{ForHosts, HostLayer};
use protomcp_server::layer::admission::{AdmissionLayer, Admitting};
use protomcp_server::layer::lazy_tools::{LazyTools, WithLazyTools};
use protomcp_server::{Server, Service};
use protomcp_skills::{SkillsLayer, WithSkills};

use crate::args::tool::ToolFlags;
use crate::exit::Failure;
#[cfg(feature = "upstream")]
use crate::proto_remote::ProtoRemote;
#[cfg(feature = "proto-mcp")]
use crate::serve::binary::BinaryTerms;
use crate::serve::skills::FileSkills;

/// The terms on which clients are served.
#[derive(Clone)]
pub(super) struct Terms {
    /// Refuses calls beyond the limits on concurrent calls, of all protocols together.
    admission: AdmissionLayer,
    /// Clients of JSON-RPC see three tools.
    lazy_tools: Option<LazyTools>,
    /// Definitions in the form of hosts.
    hosts: HostLayer,
    /// Served in addition to the tools.
    skills: Option<FileSkills>,
    /// Each request is a line in the log.
    access_log: bool,
    /// For clients of proto-mcp alone.
    #[cfg(feature = "proto-mcp")]
    binary: BinaryTerms,
}

/// A service with skills that refuses calls beyond the limits, and whose definitions are adapted to hosts.
type Adapted<S> = ForHosts<Arc<Admitting<Arc<WithSkills<Arc<S>>>>>>;

impl Terms {
    /// Must be called inside of a runtime. Fails if there are skills that cannot be loaded.
    pub(super) fn new(tool: &ToolFlags) -> Result<Self, Failure> {
        Ok(Self {
            admission: tool.limits.admission.layer(),
            lazy_tools: tool.lazy_tools(),
            hosts: tool.host_layer(),
            skills: FileSkills::open(tool)?,
            access_log: tool.access_log,
            #[cfg(feature = "proto-mcp")]
            binary: BinaryTerms::new(tool),
        })
    }

    /// Launches the bridge to a tool file, which may name folders of skills.
    pub(super) fn launch(&self, builder: Builder) -> (Bridge, Starting) {
        match &self.skills {
            Some(skills) => skills.launch(builder),
            None => builder.launch(),
        }
    }

    /// The limits on concurrent calls.
    #[cfg(feature = "http")]
    pub(super) fn admission(&self) -> &AdmissionLayer {
        &self.admission
    }

    /// Serves clients of JSON-RPC.
    pub(super) fn json<S: Service>(&self, server: Server<S>) -> Server<WithLazyTools<Arc<Adapted<S>>>> {
        self.adapted(server).lazy_tools(self.lazy_tools)
    }

    fn adapted<S: Service>(&self, server: Server<S>) -> Server<Adapted<S>> {
        if self.access_log {
            server.handle().log_access();
        }
        let server = match &self.skills {
            Some(skills) => skills.skills().serve(server),
            None => server.layer(SkillsLayer::default()),
        };
        self.hosts.around(server.layer(&self.admission))
    }
}

#[cfg(feature = "proto-mcp")]
impl Terms {
    /// Serves clients of both protocols.
    pub(super) fn both<S: Service>(&self, server: Server<S>) -> AnyServer<Adapted<S>, WithLazyTools<Arc<Adapted<S>>>> {
        self.binary(server.clone()).with_json(self.json(server))
    }

    /// Serves clients of proto-mcp. A call has the time of any other call.
    pub(super) fn binary<S: Service>(&self, server: Server<S>) -> BinaryServer<Adapted<S>> {
        self.binary.server(self.adapted(server))
    }

    /// The same over gRPC and WebSocket, whose messages keep to the limit of bodies.
    pub(super) fn over_http<S: Service>(&self, server: Server<S>, max_body: usize) -> BinaryServer<Adapted<S>> {
        self.binary.server_over_http(self.adapted(server), max_body)
    }

    /// The settings of conversations with servers behind the gateway, whose requests have this time.
    #[cfg(feature = "upstream")]
    pub(super) fn remote(&self, timeout: Duration) -> ProtoRemote {
        self.binary.remote(timeout)
    }
}
