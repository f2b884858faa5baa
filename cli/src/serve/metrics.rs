//! Figures for Prometheus, on a listener of their own or beside the server.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use protomcp_bridge::Bridge;
use protomcp_http::{Listener, ListenerConfig, MetricsPage, StreamableHttp};
use protomcp_metrics::{Kind, Page};
use tokio::net::TcpListener;

use crate::args::{HttpOptions, Place};
use crate::exit::Failure;
use crate::serve::doors::{self, Doors};

/// Connections of scrapers at a time.
const MAX_CONNECTIONS: usize = 64;

/// How long a scrape that is under way at the end may take.
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
pub(super) async fn open(options: &HttpOptions) -> Result<Option<Doors>, Failure> {
    let Some(Place { host, port }) = &options.metrics_addr else { return Ok(None) };
    let doors = doors::open("--metrics-addr", host, *port, |addresses| options.permit_figures(addresses)).await?;
    tracing::info!("figures are on http://{}/metrics", doors.address);
    Ok(Some(doors))
}

/// A listener for metrics and nothing else.
pub(super) fn listener(sockets: Vec<TcpListener>) -> Listener {
    let config = ListenerConfig::default().with_max_connections(MAX_CONNECTIONS).with_drain_timeout(LEAVE);
    Listener::from_sockets(sockets).with_config(config)
}
