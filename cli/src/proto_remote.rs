//! Servers of proto-mcp: the transports to them. A server that does not speak proto-mcp is used in JSON-RPC.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use protomcp_bufmcp::{
    BinaryClient, BinaryClientConfig, CommandServer, Connect, DescriptorSchemas, TcpServer, TlsServer,
};
use protomcp_descriptors::registry::Resolver;
use protomcp_gateway::ConnectError;
use protomcp_grpc::GrpcServer;
use protomcp_http_client::Tls;
use protomcp_transport::boxed::Boxed;
use protomcp_websocket::WebSocketServer;

use crate::args::address::{Address, Carrier, Encryption};
use crate::registries;

/// The time for a server to answer in proto-mcp, unless it may have less.
const OPEN: Duration = Duration::from_secs(10);

/// The time for a command to answer in proto-mcp: it may have to download something first.
const OPEN_COMMAND: Duration = Duration::from_secs(30);

/// The settings of conversations with a server of proto-mcp.
#[derive(Clone)]
pub(crate) struct ProtoRemote {
    config: BinaryClientConfig,
    /// The conversions of arguments and results.
    schemas: Arc<DescriptorSchemas>,
    tls: Tls,
}

impl ProtoRemote {
    /// Requests have this time unless they say otherwise. References are looked up with the resolver.
    pub(crate) fn new(timeout: Duration, resolver: Option<&Resolver>) -> Self {
        let mut config = BinaryClientConfig::new("pmcp", env!("CARGO_PKG_VERSION"));
        (config.open_timeout, config.timeout) = (OPEN, timeout);
        config.bsr_refs = resolver.is_some();
        // Only the validator brings the definitions of the rules.
        config.wkt_builtin = cfg!(feature = "validation");
        Self { config, schemas: Arc::new(registries::schemas(resolver)), tls: Tls::default() }
    }

    /// Sets the certificate of the client.
    pub(crate) fn tls(mut self, tls: Tls) -> Self {
        self.tls = tls;
        self
    }

    /// The same settings for one of several servers, whose schemas cannot hold up the schemas of others.
    pub(crate) fn for_server(&self) -> Self {
        Self { config: self.config.clone(), schemas: Arc::new(self.schemas.for_server()), tls: self.tls.clone() }
    }

    /// Sends this token.
    pub(crate) fn token(mut self, token: Option<String>, server: &Address) -> Self {
        if token.is_some() && server.encryption == Encryption::Plain {
            tracing::warn!("the token goes to {} without encryption", server.place);
        }
        self.config.token = token;
        self
    }

    /// Connects to a command within this time, which is shared with the attempt in JSON-RPC.
    pub(crate) fn command_within(mut self, limit: Duration) -> Self {
        self.config.open_timeout = OPEN_COMMAND.min(limit / 2);
        self
    }

    /// Opens a connection to an address.
    pub(crate) async fn connect(self, server: &Address) -> Result<Boxed, ConnectError> {
        match (server.carrier, server.encryption) {
            (Carrier::Tcp, Encryption::Plain) => self.any(&TcpServer::new(&server.place)).await,
            (Carrier::Tcp, Encryption::Tls) => self.clone().any(&self.within_tls(server).await?).await,
            (Carrier::Grpc, Encryption::Plain) => self.grpc(server, TcpServer::new(&server.place)).await,
            (Carrier::Grpc, Encryption::Tls) => self.clone().grpc(server, self.within_tls(server).await?).await,
            (Carrier::WebSocket, Encryption::Plain) => self.websocket(server, TcpServer::new(&server.place)).await,
            (Carrier::WebSocket, Encryption::Tls) => {
                self.clone().websocket(server, self.within_tls(server).await?).await
            }
        }
    }

    /// Starts a command.
    pub(crate) async fn start(self, server: &CommandServer) -> Result<Boxed, ConnectError> {
        self.any(server).await
    }

    async fn any(self, server: &impl Connect) -> Result<Boxed, ConnectError> {
        let connected = BinaryClient::connect_any(server, self.config).await?;
        Ok(connected.into_transport(self.schemas))
    }

    async fn websocket<C>(self, server: &Address, way: C) -> Result<Boxed, ConnectError>
    where
        C: Connect<Reader: Sync, Writer: Sync>,
    {
        let mut websocket = WebSocketServer::new(way, &server.url)?;
        if let Some(token) = &self.config.token {
            websocket = websocket.with_token(token)?;
        }
        self.only(websocket).await
    }

    async fn grpc<C>(mut self, server: &Address, way: C) -> Result<Boxed, ConnectError>
    where
        C: Connect<Reader: Sync, Writer: Sync> + 'static,
    {
        let mut grpc = GrpcServer::new(way, &server.url)?.with_timeout(self.config.timeout);
        if let Some(token) = &self.config.token {
            grpc = grpc.with_token(token)?;
        }
        self.config.cancels = true;
        self.only(grpc).await
    }

    /// Opens a conversation over a carrier that has no other protocol.
    async fn only(self, server: impl Connect) -> Result<Boxed, ConnectError> {
        let opened = tokio::time::timeout(OPEN, server.connect()).await;
        let (reader, writer) = opened.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))?;
        let client = BinaryClient::connect(reader, writer, self.config).await?;
        Ok(Boxed::new(client.into_transport(self.schemas)))
    }

    /// The certificate of a server is checked against those that the system trusts.
    async fn within_tls(&self, server: &Address) -> Result<TlsServer, ConnectError> {
        let config = self.tls.client_config().await?;
        Ok(TlsServer::new(&server.place, config)?)
    }
}
