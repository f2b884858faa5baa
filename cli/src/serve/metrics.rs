//! Figures for Prometheus, on a listener of their own or beside the server.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use protomcp_bridge::Bridge;
use protomcp_http::{Listener, ListenerConfig, MetricsPage, StreamableHttp};
use protomcp_metrics::{Kind, Page};
use tokio::net::TcpListener;

use crate::args::{HttpOptions, Place};
use crate::exit::Failure;
use crate::serve::listeners::{self, Listeners};

/// Connections of scrapers at a time.
const MAX_CONNECTIONS: usize = 64;

/// The time in which a running scrape must finish at shutdown.
const LEAVE: Duration = Duration::from_secs(1);

/// Everything that is counted, and what this program is.
pub(super) fn page(bridge: &Bridge, service: &StreamableHttp) -> MetricsPage {
    let began = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64();
    let (tools, web) = (bridge.metrics(), service.figures());
    MetricsPage::new(move |page: &mut Page| {
        page.family("pmcp_build_info", Kind::Gauge, "Which version this is.")
            .value(&[("version", env!("CARGO_PKG_VERSION"))], 1);
        page.family("process_start_time_seconds", Kind::Gauge, "When this program started, in seconds since 1970.")
            .value(&[], format_args!("{began:.3}"));
        tools(page);
        web(page);
    })
}

/// Listens where figures are to be shown, if that is somewhere else.
pub(super) async fn open(options: &HttpOptions) -> Result<Option<Listeners>, Failure> {
    let Some(Place { host, port }) = &options.metrics_addr else { return Ok(None) };
    let listeners =
        listeners::open("--metrics-addr", host, *port, |addresses| options.permit_metrics(addresses)).await?;
    tracing::info!("metrics on http://{}/metrics", listeners.address);
    Ok(Some(listeners))
}

/// A listener for metrics and nothing else.
pub(super) fn listener(sockets: Vec<TcpListener>) -> Listener {
    let config = ListenerConfig::default().with_max_connections(MAX_CONNECTIONS).with_drain_timeout(LEAVE);
    Listener::from_sockets(sockets).with_config(config)
}
