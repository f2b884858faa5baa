//! Figures for Prometheus, on a listener of their own or beside the server.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use protomcp_bridge::Bridge;
use protomcp_http::{Listener, ListenerConfig, MetricsPage, StreamableHttp};
use protomcp_metrics::{Kind, Page};
use tokio::net::TcpListener;

use crate::exit::Failure;

/// How long a scrape that is under way at the end may take.
const LEAVE: Duration = Duration::from_secs(1);

/// Everything that is counted, and what this program is.
pub(super) fn page(bridge: &Bridge, service: &StreamableHttp) -> MetricsPage {
    let began = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64();
    let (tools, web) = (bridge.figures(), service.figures());
    MetricsPage::new(move |page: &mut Page| {
        page.family("pmcp_build_info", Kind::Gauge, "Which version this is.")
            .value(&[("version", env!("CARGO_PKG_VERSION"))], 1);
        page.family("process_start_time_seconds", Kind::Gauge, "When this program started, in seconds since 1970.")
            .value(&[], format_args!("{began:.3}"));
        tools(page);
        web(page);
    })
}

/// Listens where figures are to be shown.
pub(super) async fn open(place: &str, page: MetricsPage) -> Result<(Listener, TcpListener), Failure> {
    let mut config = ListenerConfig::default();
    config.health = true;
    config.metrics = Some(page);
    config.drain_timeout = LEAVE;
    let failed = |error| Failure::failed(format!("cannot listen on {place}: {error}"));
    let socket = TcpListener::bind(place).await.map_err(failed)?;
    tracing::info!("figures are on http://{}/metrics", socket.local_addr().map_err(failed)?);
    Ok((Listener::pages(config), socket))
}
