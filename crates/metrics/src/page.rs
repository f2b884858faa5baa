//! The text format of Prometheus, version 0.0.4.

use std::fmt::{Display, Write as _};

use crate::histogram::{BOUNDS, Histogram};

/// The type of a [`Page`].
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Figures as text.
#[derive(Debug, Default)]
pub struct Page(String);

/// What a family of figures is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// It only grows.
    Counter,
    /// It comes and goes.
    Gauge,
    /// Times, counted by how long they are.
    Histogram,
}

/// The figures of one name.
#[derive(Debug)]
pub struct Family<'a> {
    text: &'a mut String,
    name: &'a str,
}

impl Page {
    /// Begins a family. Names end in their unit, those of counters in `_total` (the naming practice of Prometheus).
    pub fn family<'a>(&'a mut self, name: &'a str, kind: Kind, help: &str) -> Family<'a> {
        let kind = match kind {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Histogram => "histogram",
        };
        write!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}\n").expect("a text can always grow");
        Family { text: &mut self.0, name }
    }

    /// All of it.
    #[must_use]
    pub fn into_text(self) -> String {
        self.0
    }
}

impl Family<'_> {
    /// One figure.
    pub fn value(&mut self, labels: &[(&str, &str)], value: impl Display) -> &mut Self {
        self.sample("", labels, None, value);
        self
    }

    /// The figures of a histogram.
    pub fn histogram(&mut self, labels: &[(&str, &str)], histogram: &Histogram) -> &mut Self {
        let counts = histogram.cumulated();
        for (bound, count) in BOUNDS.iter().zip(counts) {
            self.sample("_bucket", labels, Some(bound), count);
        }
        let all = counts[BOUNDS.len()];
        self.sample("_bucket", labels, Some(&"+Inf"), all);
        self.sample("_sum", labels, None, histogram.sum());
        self.sample("_count", labels, None, all);
        self
    }

    fn sample(&mut self, suffix: &str, labels: &[(&str, &str)], bound: Option<&dyn Display>, value: impl Display) {
        self.text.push_str(self.name);
        self.text.push_str(suffix);
        let mut sign = '{';
        for (name, value) in labels {
            self.text.push(sign);
            self.text.push_str(name);
            self.text.push_str("=\"");
            escape(self.text, value);
            self.text.push('"');
            sign = ',';
        }
        if let Some(bound) = bound {
            write!(self.text, "{sign}le=\"{bound}\"").expect("a text can always grow");
            sign = ',';
        }
        if sign == ',' {
            self.text.push('}');
        }
        writeln!(self.text, " {value}").expect("a text can always grow");
    }
}

/// Three characters would end a label early.
fn escape(text: &mut String, value: &str) {
    for c in value.chars() {
        match c {
            '\\' => text.push_str("\\\\"),
            '"' => text.push_str("\\\""),
            '\n' => text.push_str("\\n"),
            c => text.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_page_is_what_scrapers_read() {
        let mut page = Page::default();
        page.family("up", Kind::Gauge, "Whether it is up.").value(&[], 1);
        page.family("calls_total", Kind::Counter, "Calls.")
            .value(&[("tool", "a\"\\\nb"), ("outcome", "ok")], 7)
            .value(&[("tool", "é"), ("outcome", "ok")], 0);
        assert_eq!(
            page.into_text(),
            "# HELP up Whether it is up.\n# TYPE up gauge\nup 1\n# HELP calls_total Calls.\n# TYPE calls_total counter\n\
             calls_total{tool=\"a\\\"\\\\\\nb\",outcome=\"ok\"} 7\ncalls_total{tool=\"é\",outcome=\"ok\"} 0\n"
        );
    }

    #[test]
    fn a_histogram_has_its_buckets_its_sum_and_its_count() {
        let histogram = Histogram::default();
        histogram.observe(Duration::from_millis(3));
        let mut page = Page::default();
        page.family("t_seconds", Kind::Histogram, "Times.").histogram(&[("a", "b")], &histogram);
        let text = page.into_text();
        for line in [
            "t_seconds_bucket{a=\"b\",le=\"0.0025\"} 0",
            "t_seconds_bucket{a=\"b\",le=\"0.005\"} 1",
            "t_seconds_bucket{a=\"b\",le=\"300\"} 1",
            "t_seconds_bucket{a=\"b\",le=\"+Inf\"} 1",
            "t_seconds_sum{a=\"b\"} 0.003",
            "t_seconds_count{a=\"b\"} 1",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} is not in {text}");
        }
    }
}
