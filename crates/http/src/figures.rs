//! What the HTTP side counts, and who writes the page of all figures.

use std::fmt;
use std::sync::Arc;

use http::StatusCode;
use protomcp_metrics::{Counter, Gauge, Kind, Page};

/// Responses by the first digit of their status, and streams that are open.
#[derive(Debug, Default)]
pub(crate) struct Figures {
    responses: [Counter; 5],
    pub(crate) streams: Gauge,
}

impl Figures {
    pub(crate) fn answered(&self, status: StatusCode) {
        let class = usize::from(status.as_u16() / 100).clamp(1, 5);
        self.responses[class - 1].increment();
    }

    pub(crate) fn write(&self, sessions: usize, page: &mut Page) {
        let mut responses = page.family("pmcp_http_responses_total", Kind::Counter, "Responses by class of status.");
        for (class, counter) in ["1xx", "2xx", "3xx", "4xx", "5xx"].iter().zip(&self.responses) {
            responses.value(&[("status", class)], counter.count());
        }
        page.family("pmcp_http_sessions", Kind::Gauge, "Sessions that are open.").value(&[], sessions);
        page.family("pmcp_http_streams", Kind::Gauge, "Responses that are streams of events and open.")
            .value(&[], self.streams.count());
    }
}

/// Writes a page of figures each time somebody asks.
#[derive(Clone)]
pub struct MetricsPage(Arc<dyn Fn(&mut Page) + Send + Sync>);

impl MetricsPage {
    /// A page that this writes.
    pub fn new(write: impl Fn(&mut Page) + Send + Sync + 'static) -> Self {
        Self(Arc::new(write))
    }

    pub(crate) fn text(&self) -> String {
        let mut page = Page::default();
        (self.0)(&mut page);
        page.into_text()
    }
}

impl fmt::Debug for MetricsPage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MetricsPage(..)")
    }
}
