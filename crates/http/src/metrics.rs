//! Counters of the HTTP server.

use http::StatusCode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;

/// Responses by the first digit of their status, open streams, and sessions that were taken over.
#[derive(Debug, Default)]
pub(crate) struct Metrics {
    pub(crate) taken_over: Counter,
    pub(crate) responses: [Counter; 5],
    pub(crate) streams: Gauge,
}

/// Increments a gauge until it is dropped.
#[derive(Debug)]
pub(crate) struct GaugeGuard(Gauge);

impl Metrics {
    pub(crate) fn count_response(&self, status: StatusCode) {
        let class = usize::from(status.as_u16() / 100).clamp(1, 5);
        self.responses[class - 1].inc();
    }

    /// Counts a stream as open.
    pub(crate) fn open_stream(&self) -> GaugeGuard {
        self.streams.inc();
        GaugeGuard(self.streams.clone())
    }
}

impl Drop for GaugeGuard {
    fn drop(&mut self) {
        self.0.dec();
    }
}
