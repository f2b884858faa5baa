//! Counters that cost one atomic addition, and a page of them in the text format of Prometheus.
//!
//! Whoever has something to count holds a [`Counter`], [`Gauge`] or [`Histogram`] and adds to it, without a lock and
//! without memory. Whoever is asked for the figures writes a [`Page`], family by family. There is no registry: what is
//! counted, and under which labels, stands where it is counted.
//!
//! ```
//! use protomcp_metrics::{Counter, Kind, Page};
//!
//! let calls = Counter::default();
//! calls.add(2);
//! let mut page = Page::default();
//! page.family("calls_total", Kind::Counter, "Calls so far.").value(&[("tool", "echo")], calls.count());
//! assert!(page.into_text().ends_with("calls_total{tool=\"echo\"} 2\n"));
//! ```

mod counter;
mod histogram;
mod page;

pub use counter::{Counter, Gauge, Held};
pub use histogram::Histogram;
pub use page::{CONTENT_TYPE, Family, Kind, Page};
