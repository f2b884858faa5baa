//! Serves any number of clients over HTTP.

use std::future::IntoFuture;
use std::io;
use std::net::TcpListener as StdListener;
use std::sync::Arc;
use std::time::Duration;

use protomcp_bridge::{Availability, Bridge, open_files};
use protomcp_http::{Listener, ListenerConfig, Readiness, Routes, StreamableHttp};
use protomcp_server::layer::tool_names::ToolNamesLayer;
use protomcp_server::{Limits, RequestStateKeys, Server, Service, Stores};
use tokio::net::TcpListener;
use tokio::sync::Notify;
use tokio::task::JoinSet;

use crate::args::http::HttpOptions;
use crate::args::options::Source;
use crate::args::store::Store;
use crate::args::tls::TlsFiles;
use crate::args::tool::ToolFlags;
use crate::exit::Failure;
use crate::log;
use crate::recorder::{Recorder, recorded};
#[cfg(feature = "proto-mcp")]
use crate::serve::carriers::{self, Carriers};
use crate::serve::console::Console;
#[cfg(feature = "upstream")]
use crate::serve::gateway;
use crate::serve::listeners::{self, Listeners};
use crate::serve::live;
use crate::serve::metrics;
use crate::serve::run::{Signals, failure, prepare};
use crate::serve::shared_sessions::SharedSessions;
use crate::serve::terms::Terms;

/// The time in which connections must close after the last call.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// Serves until a signal ends it.
pub(super) async fn serve(
    source: Source,
    tool: ToolFlags,
    mut http: HttpOptions,
    recorder: Option<Recorder>,
    inherited: Vec<StdListener>,
) -> Result<(), Failure> {
    let (drain_timeout, drain_delay) = (tool.limits.drain_timeout, http.observe.drain_delay);
    let state_keys = http.state_keys.take();
    let status = live::status(&source, &tool);
    log::start_with(tool.log_level, tool.log, status.clone());
    let mut signals = Signals::new()?;
    recorder.iter().for_each(Recorder::announce);
    let front = Front { recorder, ..Front::open(http, &tool, inherited).await? };
    let shared = SharedParts { state_keys, stores: front.sessions.stores() };
    let console = Console::open(&status, &mut signals);
    console.address(&front.url);
    match source {
        Source::File { path, watch } => {
            let builder = shared.with_bridge(tool.bridge(&path, watch));
            let (bridge, starting) = front.terms.launch(recorded(builder, front.recorder.as_ref()));
            console.serve(bridge.server());
            let Serving { service, readiness, listeners, sessions } = front.serve(&bridge.server(), Some(&bridge));
            let availability = bridge.availability();
            let [draining, drains] = leaving(&mut signals, drain_delay, readiness.clone());
            let on_ready = move || {
                readiness.set_ready();
                tokio::spawn(follow(availability, readiness, draining));
            };
            let run = prepare(bridge, starting, signals, format!("{} over HTTP", path.display()), on_ready)
                .on_drain(move || drains.notify_one())
                .on_ready(console.ready())
                .on_drain(console.draining());
            // After a second signal the calls have failed with their process, and their answers are sent.
            let run = run.on_stopped(move || service.shut_down());
            let outcome = run.serve(console.with_calls(all(listeners), drain_timeout)).await;
            sessions.leave().await;
            outcome.map_err(|error| failure(&error))
        }
        #[cfg(feature = "upstream")]
        Source::Servers(servers) => {
            gateway::note(&servers);
            gateway::check(&servers)?;
            let remote = front.terms.remote(servers.limits.timeout);
            let change = |builder| shared.with_gateway(builder);
            let gateway = gateway::open(&servers, &remote, change, &mut signals).await?;
            let server = gateway::server(&gateway, &servers);
            console.serve(server.clone());
            let Serving { readiness, listeners, sessions, .. } = front.serve(&server, None);
            tracing::info!("serving over HTTP, as a gateway to {}", servers.names());
            readiness.set_ready();
            console.ready()();
            let draining = console.draining();
            let leaving = readiness.clone();
            signals.delay_stop(drain_delay, move || leave(&leaving));
            let on_drain = move || {
                leave(&readiness);
                draining();
            };
            let serving = console.with_calls(all(listeners), drain_timeout);
            let outcome = gateway::serve(gateway, serving, signals, on_drain).await;
            sessions.leave().await;
            outcome.map_err(Failure::failed)
        }
    }
}

/// The parts that other servers have as well.
struct SharedParts {
    state_keys: Option<RequestStateKeys>,
    stores: Option<Stores>,
}

impl SharedParts {
    fn with_bridge(self, builder: protomcp_bridge::Builder) -> protomcp_bridge::Builder {
        let builder = self.state_keys.into_iter().fold(builder, protomcp_bridge::Builder::state_keys);
        self.stores.into_iter().fold(builder, protomcp_bridge::Builder::stores)
    }

    #[cfg(feature = "upstream")]
    fn with_gateway(self, builder: protomcp_gateway::Builder) -> protomcp_gateway::Builder {
        let builder = self.state_keys.into_iter().fold(builder, protomcp_gateway::Builder::state_keys);
        self.stores.into_iter().fold(builder, protomcp_gateway::Builder::stores)
    }
}

/// The sockets, before there is anything to serve.
struct Front {
    http: HttpOptions,
    sockets: Vec<TcpListener>,
    monitoring: Option<Listeners>,
    config: ListenerConfig,
    terms: Terms,
    /// Warns of tools in flags that the server does not have.
    tools: ToolNamesLayer,
    /// For the log.
    url: String,
    /// The trace, if one is written.
    recorder: Option<Recorder>,
    sessions: SharedSessions,
}

/// The listeners at work.
struct Serving {
    service: StreamableHttp,
    readiness: Readiness,
    listeners: JoinSet<io::Result<()>>,
    sessions: SharedSessions,
}

impl Front {
    async fn open(mut http: HttpOptions, tool: &ToolFlags, inherited: Vec<StdListener>) -> Result<Self, Failure> {
        let tls = http.tls.as_ref().map(TlsFiles::read).transpose()?;
        let scheme = if tls.is_some() { "https" } else { "http" };
        let opened = match listeners::inherited(inherited, |addresses| http.permit(addresses))? {
            Some(inherited) => inherited,
            None => listeners::open("--port", &http.host, http.port, |addresses| http.permit(addresses)).await?,
        };
        let (name, Listeners { sockets, address, .. }) = (opened.name(&http.host), opened);
        // Each request that a session takes may have its own response.
        http.config.limits.max_streams = tool.limits.max_pending().saturating_add(Limits::CONTROL_ROOM);
        let monitoring = metrics::open(&http).await?;
        let url = format!("{scheme}://{name}:{}/mcp", address.port());
        let (mut introspection, mut tools) = (None, ToolNamesLayer::default());
        if let Some(oauth) = http.oauth.take() {
            tracing::info!("asking clients for a token of {}", oauth.issuer());
            let protection = oauth.protection(http.public_url.as_deref().unwrap_or(&url))?;
            http.config = http.config.protect(protection.server);
            (introspection, tools) = (protection.introspection, protection.tools);
        }
        #[cfg(feature = "proto-mcp")]
        let url = carriers::url(http.protocols, url);
        let mut config = ListenerConfig::default().with_drain_timeout(tool.limits.drain_timeout + CLOSE_TIMEOUT);
        // Before the tool process starts, which gets the original limit.
        let of_store = http.store.as_ref().map_or(0, Store::open_files);
        if let Err(error) = open_files::raise(config.open_files().saturating_add(of_store)) {
            tracing::warn!("the limit of open files stays as it is: {error}");
        }
        // Clients of Streamable HTTP may be older than TLS 1.3; gRPC and WebSocket refuse TLS 1.2 themselves.
        let is_old = http.protocols.has_streamable_http();
        config.tls = tls.map(|tls| if is_old { tls } else { tls.without_tls12() });
        let (sessions, config_of_sessions) =
            SharedSessions::join(http.store.take(), http.config, address.port(), introspection).await?;
        http.config = config_of_sessions;
        Ok(Self { http, sockets, monitoring, config, terms: Terms::new(tool)?, tools, url, recorder: None, sessions })
    }

    fn serve<S: Service>(self, server: &Server<S>, bridge: Option<&Bridge>) -> Serving {
        let Self { http, sockets, monitoring, config, terms, tools, url, recorder, sessions } = self;
        let server = server.clone().layer(tools);
        #[cfg(feature = "proto-mcp")]
        let carriers = Carriers::new(terms.over_http(server.clone(), http.config.limits.max_body), &http);
        let service = StreamableHttp::new(terms.json(server), http.config);
        let readiness = Readiness::default();
        let registry = metrics::registry(bridge, &service, terms.admission().clone(), &sessions);
        let mut routes = Routes::new(service.clone());
        // A trace has messages of JSON-RPC.
        #[cfg(feature = "proto-mcp")]
        if recorder.is_none() {
            routes = carriers.added_to(routes, &readiness);
        }
        if let Some(recorder) = recorder {
            routes = routes.observed_by(recorder);
        }
        if !http.protocols.has_streamable_http() {
            routes = routes.without_mcp();
        }
        if http.observe.health {
            routes = routes.with_health(readiness.clone());
        }
        if http.observe.metrics {
            routes = routes.with_metrics(Arc::clone(&registry));
        }
        let mut listeners = JoinSet::new();
        listeners
            .spawn(protomcp_http::serve(Listener::from_sockets(sockets).with_config(config), routes).into_future());
        if let Some(Listeners { sockets, .. }) = monitoring {
            let routes = Routes::monitoring().with_health(readiness.clone()).with_metrics(registry);
            let service = service.clone();
            let ended = async move { service.drained().await };
            let pages = protomcp_http::serve(metrics::listener(sockets), routes).with_graceful_shutdown(ended);
            listeners.spawn(pages.into_future());
        }
        tracing::info!("listening on {url}");
        Serving { service, readiness, listeners, sessions }
    }
}

/// Says that the server is not ready from now on. Returns true if it was: only then a balancer has to notice.
fn leave(readiness: &Readiness) -> bool {
    let was_ready = readiness.is_ready();
    readiness.set_unready();
    was_ready
}

/// Told when the server is to stop: it leaves. The drain begins after this time, if the server was ready, and tells it as
/// well.
fn leaving(signals: &mut Signals, delay: Duration, readiness: Readiness) -> [Arc<Notify>; 2] {
    let leaving = Arc::new(Notify::new());
    let [is_told, tells] = [Arc::clone(&leaving), Arc::clone(&leaving)];
    signals.delay_stop(delay, move || {
        leaving.notify_one();
        leave(&readiness)
    });
    [is_told, tells]
}

/// Reports the readiness from the first start on: calls are made, and the server does not drain.
async fn follow(mut availability: Availability, readiness: Readiness, draining: Arc<Notify>) {
    loop {
        tokio::select! {
            biased;
            () = draining.notified() => break,
            goes_on = availability.changed() => if !goes_on {
                break;
            } else if availability.is_available() {
                readiness.set_ready();
            } else {
                readiness.set_unready();
            },
        }
    }
    readiness.set_unready();
}

/// Waits for all listeners, and returns the first error of one.
async fn all(mut serving: JoinSet<io::Result<()>>) -> Result<(), String> {
    let mut outcome = Ok(());
    while let Some(ended) = serving.join_next().await {
        let ended = match ended {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => Err(format!("cannot serve: {error}")),
            Err(error) => Err(format!("the server failed: {error}")),
        };
        outcome = outcome.and(ended);
    }
    outcome
}
