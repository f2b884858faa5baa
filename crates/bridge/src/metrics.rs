//! The counters of a bridge: calls, waiting, reloads, crashes.
//!
//! Counting a call takes a few atomic additions. The counters of a tool are found without a lock; only its first call
//! creates them. Tools beyond [`MAX_TOOLS`] share theirs, so that a process cannot grow the page without bound.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use arc_swap::ArcSwap;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::Counter;
use protomcp_types::CallToolResult;

use crate::call_status::CallStatus;
use crate::diagnostics::failure::Failure;
use crate::diagnostics::report::Report;

mod histogram;

pub(crate) use self::histogram::Histogram;

/// The most tools with their own counters.
const MAX_TOOLS: usize = 200;

/// The name under which all others are counted.
const OTHERS: &str = "(other)";

/// The outcome of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Ok,
    /// The tool reported an error.
    ToolError,
    /// The client has cancelled the call or disconnected.
    Cancelled,
    TimedOut,
    /// The process ended, or is not running.
    Crashed,
    /// A reload in immediate mode ended it.
    Interrupted,
    /// Too many calls were waiting, or it waited for too long.
    Overloaded,
    /// The arguments did not match, or middleware rejected the call.
    Rejected,
    /// Anything else.
    Failed,
}

const OUTCOMES: [(Outcome, &str); 9] = [
    (Outcome::Ok, "ok"),
    (Outcome::ToolError, "tool_error"),
    (Outcome::Cancelled, "cancelled"),
    (Outcome::TimedOut, "timed_out"),
    (Outcome::Crashed, "crashed"),
    (Outcome::Interrupted, "interrupted"),
    (Outcome::Overloaded, "overloaded"),
    (Outcome::Rejected, "rejected"),
    (Outcome::Failed, "failed"),
];

impl Outcome {
    fn of(result: &Result<CallToolResult, Failure>) -> Self {
        match result {
            Ok(result) if result.is_error => Self::ToolError,
            Ok(_) => Self::Ok,
            Err(failure) => match failure {
                Failure::TimedOut { .. } => Self::TimedOut,
                Failure::Crashed { .. } | Failure::Down { .. } => Self::Crashed,
                Failure::Interrupted { .. } => Self::Interrupted,
                Failure::Overloaded { .. } | Failure::Displaced { .. } | Failure::Waited { .. } => Self::Overloaded,
                Failure::ArgumentsTooLarge { .. } | Failure::InvalidArguments { .. } | Failure::Rejected { .. } => {
                    Self::Rejected
                }
                Failure::TaskFailed { .. } => Self::ToolError,
                Failure::TaskCancelled { .. }
                | Failure::TooLarge { .. }
                | Failure::Unusable { .. }
                | Failure::InvalidStructured { .. }
                | Failure::BrokenPromise { .. }
                | Failure::Middleware { .. }
                | Failure::UnknownTool { .. }
                | Failure::ShuttingDown => Self::Failed,
            },
        }
    }
}

/// The counters of one tool.
#[derive(Debug, Default)]
struct ToolMetrics {
    outcomes: [Counter; OUTCOMES.len()],
    times: Histogram,
}

/// All counters of a bridge.
#[derive(Default)]
pub(crate) struct Metrics {
    tools: ArcSwap<BTreeMap<Box<str>, Arc<ToolMetrics>>>,
    /// The times that calls have waited for their turn, without calls that did not wait.
    pub(crate) waits: Histogram,
    reloads: Counter,
    failed_reloads: Counter,
    crashes: Counter,
    restarts: Counter,
    failed_restarts: Counter,
    decoded: Counter,
}

/// A running call. Dropped without an outcome, it counts as cancelled.
#[derive(Debug)]
pub(crate) struct CallTimer {
    tool: Arc<ToolMetrics>,
    began: Instant,
    outcome: Outcome,
    status: Option<CallStatus>,
}

impl Metrics {
    /// Counts the begin of a call.
    pub(crate) fn call(&self, tool: &str) -> CallTimer {
        let status = CallStatus::begin(tool);
        let tools = self.tools.load();
        let others = || if tools.len() < MAX_TOOLS { None } else { tools.get(OTHERS) };
        let tool = tools.get(tool).or_else(others).cloned().unwrap_or_else(|| self.make(tool));
        CallTimer { tool, began: Instant::now(), outcome: Outcome::Cancelled, status }
    }

    #[cold]
    fn make(&self, tool: &str) -> Arc<ToolMetrics> {
        let name = if self.tools.load().len() < MAX_TOOLS { tool } else { OTHERS };
        // Two concurrent first calls both use the entry that one of them makes.
        self.tools.rcu(|tools| {
            let mut tools = BTreeMap::clone(tools);
            tools.entry(name.into()).or_default();
            tools
        });
        self.tools.load().get(name).cloned().unwrap_or_default()
    }

    /// Counts a call whose arguments arrived as the text of their JSON.
    pub(crate) fn decoded(&self) {
        self.decoded.inc();
    }

    /// Counts a report.
    pub(crate) fn report(&self, report: &Report) {
        let counter = match report {
            Report::Reloaded { .. } => &self.reloads,
            Report::ReloadFailed { .. } => &self.failed_reloads,
            Report::Crashed { .. } => &self.crashes,
            Report::Restarted { .. } => &self.restarts,
            Report::RestartFailed { .. } => &self.failed_restarts,
            Report::NotStarted { .. }
            | Report::ReloadWaits
            | Report::StartGivenUp { .. }
            | Report::NotDrained { .. }
            | Report::NotHandedOver { .. }
            | Report::WaitsForCalls { .. }
            | Report::TasksAborted { .. }
            | Report::RestartIn { .. }
            | Report::GaveUp { .. }
            | Report::ControlRejected { .. }
            | Report::ListNotReceived
            | Report::Definition(_)
            | Report::Stuck { .. }
            | Report::Catalog(_) => return,
        };
        counter.inc();
    }

    /// Encodes all metrics.
    pub(crate) fn encode(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let tools = self.tools.load();
        let help = "Calls of tools that have ended, by outcome.";
        let mut calls = encoder.encode_descriptor("pmcp_calls", help, None, MetricType::Counter)?;
        for (name, tool) in tools.iter() {
            for ((_, outcome), counter) in OUTCOMES.iter().zip(&tool.outcomes) {
                // Most outcomes never occur; `ok` is listed from the start.
                if counter.get() > 0 || *outcome == "ok" {
                    counter.encode(calls.encode_family(&[("tool", &**name), ("outcome", *outcome)])?)?;
                }
            }
        }
        let help = "Durations of calls, including the time in the queue.";
        let mut times = encoder.encode_descriptor("pmcp_call_duration_seconds", help, None, MetricType::Histogram)?;
        for (name, tool) in tools.iter() {
            tool.times.encode(times.encode_family(&[("tool", &**name)])?)?;
        }
        let help = "Times of calls in the queue.";
        self.waits.encode(encoder.encode_descriptor("pmcp_call_wait_seconds", help, None, MetricType::Histogram)?)?;
        let help = "Reloads, by outcome: ok when the new code is in service.";
        let mut reloads = encoder.encode_descriptor("pmcp_reloads", help, None, MetricType::Counter)?;
        self.reloads.encode(reloads.encode_family(&[("outcome", "ok")])?)?;
        self.failed_reloads.encode(reloads.encode_family(&[("outcome", "failed")])?)?;
        let help = "Unexpected ends of the tool process.";
        self.crashes.encode(encoder.encode_descriptor("pmcp_crashes", help, None, MetricType::Counter)?)?;
        let help = "Restarts after a crash, by outcome.";
        let mut restarts = encoder.encode_descriptor("pmcp_restarts", help, None, MetricType::Counter)?;
        self.restarts.encode(restarts.encode_family(&[("outcome", "ok")])?)?;
        self.failed_restarts.encode(restarts.encode_family(&[("outcome", "failed")])?)?;
        let help = "Calls whose arguments arrived as the text of their JSON.";
        self.decoded.encode(encoder.encode_descriptor("pmcp_decoded_arguments", help, None, MetricType::Counter)?)
    }
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metrics").field("tools", &self.tools.load().len()).finish_non_exhaustive()
    }
}

impl CallTimer {
    /// Counts the call with this outcome.
    pub(crate) fn end(mut self, result: &Result<CallToolResult, Failure>) {
        self.outcome = Outcome::of(result);
        if let Some(status) = &mut self.status {
            match result {
                Ok(result) => status.set_result(result),
                Err(failure) => status.set_failure(&failure.to_string()),
            }
        }
    }
}

impl Drop for CallTimer {
    fn drop(&mut self) {
        let time = self.began.elapsed();
        let mut outcomes = OUTCOMES.iter().zip(&self.tool.outcomes);
        if let Some(((_, name), counter)) = outcomes.find(|((outcome, _), _)| *outcome == self.outcome) {
            counter.inc();
            if let Some(status) = &self.status {
                status.end(name, time);
            }
        }
        self.tool.times.observe(time);
    }
}

#[cfg(test)]
mod tests {
    use prometheus_client::collector::Collector;
    use prometheus_client::registry::Registry;

    use super::*;

    fn text(metrics: Metrics) -> String {
        let mut registry = Registry::default();
        registry.register_collector(Box::new(Encoded(metrics)));
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, &registry).unwrap();
        text
    }

    #[derive(Debug)]
    struct Encoded(Metrics);

    impl Collector for Encoded {
        fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
            self.0.encode(&mut encoder)
        }
    }

    #[test]
    fn a_call_counts_once_under_how_it_ended() {
        let metrics = Metrics::default();
        metrics.call("echo").end(&Ok(CallToolResult::text("x")));
        metrics.call("echo").end(&Ok(CallToolResult::error("x")));
        metrics.call("echo").end(&Err(Failure::ShuttingDown));
        drop(metrics.call("echo"));
        let text = text(metrics);
        for outcome in ["ok", "tool_error", "failed", "cancelled"] {
            assert!(text.contains(&format!("{{tool=\"echo\",outcome=\"{outcome}\"}} 1\n")), "{text}");
        }
        assert!(text.contains("pmcp_call_duration_seconds_count{tool=\"echo\"} 4\n"), "{text}");
        assert!(!text.contains("crashed"), "{text}");
    }

    #[test]
    fn no_process_makes_the_page_endless() {
        let metrics = Metrics::default();
        for number in 0..2 * MAX_TOOLS {
            metrics.call(&format!("tool{number}")).end(&Ok(CallToolResult::text("x")));
        }
        let text = text(metrics);
        assert_eq!(
            text.matches("outcome=\"ok\"}").count(),
            MAX_TOOLS + 1 + 2,
            "tools, the others, reloads and restarts"
        );
        assert!(text.contains(&format!("{{tool=\"(other)\",outcome=\"ok\"}} {MAX_TOOLS}\n")));
    }
}
