//! The metrics of a running bridge, as a page.

use std::sync::Arc;

use protomcp_link::ByteCounters;
use protomcp_metrics::{Kind, Page};

use crate::dispatcher::Dispatcher;
use crate::metrics::Metrics;

/// Where a bridge counts. Cloning is cheap.
#[derive(Debug, Clone)]
pub(crate) struct MetricsSource {
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) dispatcher: Arc<Dispatcher>,
    pub(crate) traffic: Arc<ByteCounters>,
}

impl MetricsSource {
    pub(crate) fn write(&self, page: &mut Page) {
        self.metrics.write(page);
        let (waiting, running) = self.dispatcher.load();
        page.family("pmcp_calls_waiting", Kind::Gauge, "Calls that wait for their turn.").value(&[], waiting);
        page.family("pmcp_calls_running", Kind::Gauge, "Calls that the tool process is making.").value(&[], running);
        page.family("pmcp_link_bytes_total", Kind::Counter, "Bytes of frames from and to tool processes.")
            .value(&[("direction", "received")], self.traffic.received.count())
            .value(&[("direction", "sent")], self.traffic.sent.count());
    }
}
