//! Serves any number of clients over TCP, each in the protocol of its first bytes.

use std::future::IntoFuture;
use std::io;
use std::net::TcpListener as StdListener;
use std::sync::Arc;
use std::time::Duration;

use protomcp_bridge::open_files;
use protomcp_bufmcp::{AnyServer, BinaryPeer, DetectOptions, JsonLines, TokenVerifier, Tokens};
use protomcp_listener::{ConnectionInfo, Listener, ListenerConfig, Stream, StreamService};
use protomcp_server::layer::tool_names::ToolNamesLayer;
use protomcp_server::{Server, Service};
use tokio::net::TcpListener;

use crate::args::options::Source;
use crate::args::tcp::TcpOptions;
use crate::args::tls::TlsFiles;
use crate::args::tool::ToolFlags;
use crate::exit::Failure;
use crate::log;
use crate::serve::console::Console;
#[cfg(feature = "upstream")]
use crate::serve::gateway;
use crate::serve::issued_tokens::IssuedTokens;
use crate::serve::listeners::{self, Listeners};
use crate::serve::live;
use crate::serve::run::{Signals, failure, prepare};
use crate::serve::terms::Terms;

/// The time in which connections must close after the last call.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// Serves until a signal ends it.
pub(super) async fn serve(
    source: Source,
    tool: ToolFlags,
    tcp: TcpOptions,
    inherited: Vec<StdListener>,
) -> Result<(), Failure> {
    let status = live::status(&source, &tool);
    log::start_with(tool.log_level, tool.log, status.clone());
    let mut signals = Signals::new()?;
    let front = Front::open(tcp, &tool, inherited).await?;
    let console = Console::open(&status, &mut signals);
    let drain_timeout = tool.limits.drain_timeout;
    console.address(&front.url);
    match source {
        Source::File { path, watch } => {
            let (bridge, starting) = front.terms.launch(tool.bridge(&path, watch));
            console.serve(bridge.server());
            let connections = front.serve(bridge.server());
            let run = prepare(bridge, starting, signals, format!("{} over TCP", path.display()), console.ready());
            let run = run.on_drain(console.draining());
            run.serve(console.with_calls(connections, drain_timeout)).await.map_err(|error| failure(&error))
        }
        #[cfg(feature = "upstream")]
        Source::Servers(servers) => {
            gateway::note(&servers);
            gateway::check(&servers)?;
            let remote = front.terms.remote(servers.limits.timeout);
            let gateway = gateway::open(&servers, &remote, |builder| builder, &mut signals).await?;
            let server = gateway::server(&gateway, &servers);
            console.serve(server.clone());
            let connections = front.serve(server);
            tracing::info!("serving over TCP, as a gateway to {}", servers.names());
            console.ready()();
            gateway::serve(gateway, console.with_calls(connections, drain_timeout), signals, console.draining())
                .await
                .map_err(|error| Failure::failed(error.to_string()))
        }
    }
}

/// The sockets, before there is anything to serve.
struct Front {
    sockets: Vec<TcpListener>,
    config: ListenerConfig,
    tokens: Option<Tokens>,
    verifier: Option<Arc<dyn TokenVerifier>>,
    max_line: usize,
    terms: Terms,
    /// Warns of tools in flags that the server does not have.
    tools: ToolNamesLayer,
    /// For the log.
    url: String,
}

impl Front {
    async fn open(tcp: TcpOptions, tool: &ToolFlags, inherited: Vec<StdListener>) -> Result<Self, Failure> {
        let tls = tcp.tls.as_ref().map(TlsFiles::read).transpose()?;
        let opened = match listeners::inherited(inherited, |addresses| tcp.permit(addresses))? {
            Some(inherited) => inherited,
            None => listeners::open("--port", &tcp.host, tcp.port, |addresses| tcp.permit(addresses)).await?,
        };
        let (name, Listeners { sockets, address, .. }) = (opened.name(&tcp.host), opened);
        let call_timeout = tool.limits.call_timeout;
        let mut config = ListenerConfig::default()
            .with_max_connections(tcp.max_connections)
            .with_drain_timeout(tool.limits.drain_timeout + CLOSE_TIMEOUT)
            // A call that is silent for all of its time is not idle.
            .with_stream_idle_timeout(tcp.idle.max(call_timeout.saturating_add(CLOSE_TIMEOUT)));
        // Before the tool process starts, which gets the original limit.
        if let Err(error) = open_files::raise(config.open_files()) {
            tracing::warn!("the limit of open files stays as it is: {error}");
        }
        config.tls = tls.map(protomcp_listener::Tls::for_streams);
        let scheme = if config.tls.is_some() { "protos" } else { "proto" };
        let url = format!("{scheme}://{name}:{}", address.port());
        let (mut verifier, mut tools) = (None, ToolNamesLayer::default());
        if let Some(oauth) = tcp.oauth {
            tracing::info!("asking clients for a token of {}", oauth.issuer());
            let protection = oauth.protection(tcp.public_url.as_deref().unwrap_or(&url))?;
            verifier = Some(Arc::new(IssuedTokens(protection.server)) as Arc<dyn TokenVerifier>);
            tools = protection.tools;
        }
        tracing::info!("listening on {url}");
        if tcp.tokens.is_some() || verifier.is_some() {
            tracing::info!("JSON-RPC in lines is refused: it has no place for the token that is required");
        }
        Ok(Self {
            sockets,
            config,
            tokens: tcp.tokens,
            verifier,
            max_line: tcp.max_line,
            terms: Terms::new(tool)?,
            tools,
            url,
        })
    }

    /// Serves connections until the server shuts down.
    fn serve<S: Service>(self, server: Server<S>) -> impl Future<Output = io::Result<()>> {
        let Self { sockets, config, tokens, verifier, max_line, terms, tools, url: _ } = self;
        let server = server.layer(tools);
        let is_open = tokens.is_none() && verifier.is_none();
        let json = if is_open { JsonLines::Served } else { JsonLines::Refused };
        let ended = server.handle().shutdown_token().cancelled_owned();
        let (json_server, tokens) = (terms.json(server.clone()), tokens.map(Arc::new));
        let binary = terms.binary(server).configure(|session| (session.tokens, session.verifier) = (tokens, verifier));
        let server = binary.with_json(json_server);
        let max_line_setting = Some("--max-line");
        let options = DetectOptions { json, max_line, max_line_setting, ..DetectOptions::NETWORK };
        let service = AnyProtocol { server, options };
        let listener = Listener::from_sockets(sockets).with_config(config);
        listener.serve_streams(service).with_graceful_shutdown(ended).into_future()
    }
}

/// Serves a connection in proto-mcp or in JSON-RPC.
struct AnyProtocol<S, J> {
    server: AnyServer<S, J>,
    options: DetectOptions,
}

impl<S: Service, J: Service> StreamService for AnyProtocol<S, J> {
    async fn serve(self, stream: Stream, info: ConnectionInfo) {
        let principal = stream.client_name().map(|name| name.as_str().into());
        let (reader, writer) = tokio::io::split(stream);
        let peer = BinaryPeer { principal, address: Some(info.peer.ip()), ..BinaryPeer::default() };
        if let Err(error) = self.server.serve_any(reader, writer, peer, self.options).await {
            tracing::debug!(peer = %info.peer, "connection ended: {error}");
        }
    }
}

impl<S, J> Clone for AnyProtocol<S, J> {
    fn clone(&self) -> Self {
        Self { server: self.server.clone(), options: self.options }
    }
}
