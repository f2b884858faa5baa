//! Metrics for Prometheus, on their own port or on the server's.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use protomcp_bridge::Bridge;
use protomcp_http::{Listener, ListenerConfig, StreamableHttp};
use protomcp_server::layer::admission::{AdmissionLayer, AdmissionScope};
use tokio::net::TcpListener;

use crate::args::http::{HttpOptions, Place};
use crate::exit::Failure;
use crate::serve::listeners::{self, Listeners};
use crate::serve::shared_sessions::SharedSessions;

/// The most connections of scrapers at a time.
const MAX_CONNECTIONS: usize = 64;

/// The time in which a running scrape must finish at shutdown.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

/// The calls that were refused by the limits on concurrent calls.
#[derive(Debug)]
struct RefusedCalls(AdmissionLayer);

impl Collector for RefusedCalls {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let help = "Calls that were refused, by the limit that was reached.";
        let mut refused = encoder.encode_descriptor("pmcp_calls_refused", help, None, MetricType::Counter)?;
        for scope in AdmissionScope::ALL {
            let limit = match scope {
                AdmissionScope::Server => "server",
                AdmissionScope::Principal => "user",
                AdmissionScope::Tool => "tool",
            };
            ConstCounter::new(self.0.refused(scope)).encode(refused.encode_family(&[("limit", limit)])?)?;
        }
        Ok(())
    }
}

/// All metrics of the bridge, if there is one, of the HTTP server, of the limits on calls, of the store and of this process.
pub(super) fn registry(
    bridge: Option<&Bridge>,
    service: &StreamableHttp,
    admission: AdmissionLayer,
    sessions: &SharedSessions,
) -> Arc<Registry> {
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
    registry.register_collector(Box::new(RefusedCalls(admission)));
    sessions.register(&mut registry);
    Arc::new(registry)
}

/// Binds the address of the metrics, if they have their own.
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
