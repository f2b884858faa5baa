//! Metrics for Prometheus, on a port of their own or beside the server.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use protomcp_bridge::Bridge;
use protomcp_http::{Listener, ListenerConfig, StreamableHttp};
use tokio::net::TcpListener;

use crate::args::{HttpOptions, Place};
use crate::exit::Failure;
use crate::serve::listeners::{self, Listeners};

/// The most connections of scrapers at a time.
const MAX_CONNECTIONS: usize = 64;

/// The time in which a running scrape must finish at shutdown.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

/// All metrics of the bridge, if there is one, of the HTTP server and of this process.
pub(super) fn registry(bridge: Option<&Bridge>, service: &StreamableHttp) -> Arc<Registry> {
    let mut registry = Registry::default();
    let build = Family::<[(&str, &str); 1], Gauge>::default();
    build.get_or_create(&[("version", env!("CARGO_PKG_VERSION"))]).set(1);
    registry.register("pmcp_build_info", "The version of pmcp", build);
    let started = Gauge::<f64, AtomicU64>::default();
    started.set(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64());
    registry.register("process_start_time_seconds", "The start of this process, in seconds since 1970", started);
    if let Some(bridge) = bridge {
        registry.register_collector(Box::new(bridge.metrics()));
    }
    registry.register_collector(Box::new(service.metrics()));
    Arc::new(registry)
}

/// Binds the address of the metrics, if they have one of their own.
pub(super) async fn open(options: &HttpOptions) -> Result<Option<Listeners>, Failure> {
    let Some(Place { host, port }) = &options.observe.metrics_addr else { return Ok(None) };
    let listeners =
        listeners::open("--metrics-addr", host, *port, |addresses| options.permit_metrics(addresses)).await?;
    tracing::info!("metrics on http://{}/metrics", listeners.address);
    Ok(Some(listeners))
}

/// A listener for metrics and nothing else.
pub(super) fn listener(sockets: Vec<TcpListener>) -> Listener {
    let config = ListenerConfig::default().with_max_connections(MAX_CONNECTIONS).with_drain_timeout(CLOSE_TIMEOUT);
    Listener::from_sockets(sockets).with_config(config)
}
