//! The metrics of the HTTP server, for a registry of Prometheus.

use std::fmt;
use std::sync::Arc;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::gauge::ConstGauge;

use crate::endpoint::Endpoint;

/// The metrics of a [`StreamableHttp`](crate::StreamableHttp) as a [`Collector`]: responses by status, open sessions
/// and streams; with sessions that processes share also its lease, the sessions that it has taken over, and the requests
/// that it has handed on. The names begin with `pmcp_http_`. Cloning is cheap.
///
/// ```
/// use prometheus_client::registry::Registry;
///
/// fn register(service: &protomcp_http::StreamableHttp, registry: &mut Registry) {
///     registry.register_collector(Box::new(service.metrics()));
/// }
/// ```
#[derive(Clone)]
pub struct HttpMetrics(pub(crate) Arc<Endpoint>);

impl Collector for HttpMetrics {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let Endpoint { metrics, table, .. } = &*self.0;
        let help = "Responses, by class of status.";
        let mut responses = encoder.encode_descriptor("pmcp_http_responses", help, None, MetricType::Counter)?;
        for (class, counter) in ["1xx", "2xx", "3xx", "4xx", "5xx"].iter().zip(&metrics.responses) {
            counter.encode(responses.encode_family(&[("status", *class)])?)?;
        }
        let sessions = ConstGauge::new(i64::try_from(table.len()).unwrap_or(i64::MAX));
        let help = "Open sessions.";
        sessions.encode(encoder.encode_descriptor("pmcp_http_sessions", help, None, MetricType::Gauge)?)?;
        let help = "Open responses that are streams of events.";
        metrics.streams.encode(encoder.encode_descriptor("pmcp_http_streams", help, None, MetricType::Gauge)?)?;
        self.encode_shared(encoder)
    }
}

impl HttpMetrics {
    /// The metrics of a server whose sessions other processes share.
    fn encode_shared(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let Endpoint { metrics, config, .. } = &*self.0;
        let Some(keeper) = &config.leases else { return Ok(()) };
        let help = "1 while the server has a lease on its sessions.";
        let lease = ConstGauge::new(i64::from(keeper.holder().is_some()));
        lease.encode(encoder.encode_descriptor("pmcp_http_lease", help, None, MetricType::Gauge)?)?;
        let help = "Sessions that were taken over from other servers.";
        let taken_over = encoder.encode_descriptor("pmcp_http_sessions_taken_over", help, None, MetricType::Counter)?;
        metrics.taken_over.encode(taken_over)?;
        let Some(replicas) = &config.replicas else { return Ok(()) };
        let help = "Requests that were handed on to other servers, by their outcome.";
        let mut handed_on = encoder.encode_descriptor("pmcp_http_handed_on", help, None, MetricType::Counter)?;
        for (outcome, counter) in replicas.outcomes() {
            counter.encode(handed_on.encode_family(&[("outcome", outcome)])?)?;
        }
        Ok(())
    }
}

impl fmt::Debug for HttpMetrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HttpMetrics(..)")
    }
}
