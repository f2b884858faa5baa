//! The metrics of a running bridge, for a registry of Prometheus.

use std::fmt;
use std::sync::Arc;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use protomcp_link::ByteCounters;

use crate::dispatcher::Dispatcher;
use crate::metrics::Metrics;

/// The metrics of a bridge as a [`Collector`]: calls by tool and outcome, their durations and times in the queue,
/// waiting and running calls, reloads, crashes, restarts, and bytes of frames. The names begin with `pmcp_`. Cloning is
/// cheap.
///
/// ```
/// use prometheus_client::registry::Registry;
///
/// fn register(bridge: &protomcp_bridge::Bridge, registry: &mut Registry) {
///     registry.register_collector(Box::new(bridge.metrics()));
/// }
/// ```
#[derive(Debug, Clone)]
pub struct BridgeMetrics {
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) dispatchers: Arc<[Arc<Dispatcher>]>,
    pub(crate) traffic: Arc<ByteCounters>,
}

impl Collector for BridgeMetrics {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        self.metrics.encode(&mut encoder)?;
        let loads = self.dispatchers.iter().map(|dispatcher| dispatcher.load());
        let (waiting, running) = loads.fold((0, 0), |sum, load| (sum.0 + load.0, sum.1 + load.1));
        for (name, help, value) in [
            ("pmcp_calls_waiting", "Calls in the queue.", waiting),
            ("pmcp_calls_running", "Calls in the tool process.", running),
        ] {
            let gauge = ConstGauge::new(i64::try_from(value).unwrap_or(i64::MAX));
            gauge.encode(encoder.encode_descriptor(name, help, None, MetricType::Gauge)?)?;
        }
        let help = "Bytes of frames from and to tool processes.";
        let mut bytes = encoder.encode_descriptor("pmcp_link_bytes", help, None, MetricType::Counter)?;
        for (direction, count) in [("received", self.traffic.received()), ("sent", self.traffic.sent())] {
            ConstCounter::new(count).encode(bytes.encode_family(&[("direction", direction)])?)?;
        }
        Ok(())
    }
}
