//! Serves any number of clients over HTTP.

use std::future::IntoFuture;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use protomcp_bridge::open_files;
use protomcp_http::{Listener, ListenerConfig, Readiness, Routes, StreamableHttp};
use tokio::task::JoinSet;

use crate::args::{HttpOptions, TlsFiles, ToolFlags};
use crate::exit::Failure;
use crate::log;
use crate::serve::listeners::{self, Listeners};
use crate::serve::metrics;
use crate::serve::run::{Signals, failure, prepare};

/// The time in which connections must close after the last call.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// Serves until a signal ends it.
pub(super) async fn serve(tool: ToolFlags, watch: bool, mut http: HttpOptions) -> Result<(), Failure> {
    log::start(tool.log_level);
    let signals = Signals::new()?;
    let tls = http.tls.as_ref().map(TlsFiles::read).transpose()?;
    let scheme = if tls.is_some() { "https" } else { "http" };
    let Listeners { sockets, address } =
        listeners::open("--port", &http.host, http.port, |addresses| http.permit(addresses)).await?;
    let monitoring = metrics::open(&http).await?;
    let name = if http.host.contains(':') { format!("[{}]", http.host) } else { http.host.clone() };
    let url = format!("{scheme}://{name}:{}/mcp", address.port());
    if let Some(oauth) = http.oauth.take() {
        tracing::info!("asking clients for a token of {}", oauth.issuer());
        http.config = http.config.protect(oauth.server(http.public_url.as_deref().unwrap_or(&url))?);
    }
    let mut config = ListenerConfig::default();
    // Before the tool process starts, which gets the original limit.
    if let Err(error) = open_files::raise(config.open_files()) {
        tracing::warn!("the limit of open files stays as it is: {error}");
    }
    let (bridge, starting) = tool.bridge(watch).launch();
    let service = StreamableHttp::new(bridge.server(), http.config);
    config.tls = tls;
    config.drain_timeout = tool.limits.drain_timeout + CLOSE_TIMEOUT;
    let readiness = Readiness::default();
    let registry = metrics::registry(&bridge, &service);
    let mut routes = Routes::new(service.clone());
    if http.observe.health {
        routes = routes.with_health(readiness.clone());
    }
    if http.observe.metrics {
        routes = routes.with_metrics(Arc::clone(&registry));
    }
    let mut serving = JoinSet::new();
    serving.spawn(protomcp_http::serve(Listener::from_sockets(sockets).with_config(config), routes).into_future());
    if let Some(Listeners { sockets, .. }) = monitoring {
        let routes = Routes::monitoring().with_health(readiness.clone()).with_metrics(registry);
        let service = service.clone();
        let ended = async move { service.drained().await };
        let pages = protomcp_http::serve(metrics::listener(sockets), routes).with_graceful_shutdown(ended);
        serving.spawn(pages.into_future());
    }
    tracing::info!("listening on {url}");

    let (ready, unready) = (readiness.clone(), readiness);
    let served = format!("{} over HTTP", tool.file.display());
    let run = prepare((bridge, starting), signals, served)
        .on_ready(move || ready.set_ready())
        .on_drain(move || unready.set_unready());
    // After a second signal the calls have failed with their process, and their answers are sent.
    let run = run.on_stopped(move || service.shut_down());
    let outcome = run.serve(all(serving)).await;
    outcome.map_err(|error| failure(&error))
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
