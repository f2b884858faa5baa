//! One call in the live status: its begin, and its end with its outcome.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use protomcp_types::CallToolResult;
use serde::Deserialize;

use crate::catalog::faults::clipped;
use crate::status::{STATUS_TARGET, is_read};

/// The most characters of a reason.
const MAX_REASON: usize = 200;

/// A running call in the live status ([`STATUS_TARGET`]), also of a server that is not a bridge.
#[derive(Debug)]
pub struct CallStatus {
    call: u64,
    tool: String,
    bytes: usize,
    why: String,
}

impl CallStatus {
    /// Shows that a call of this tool begins; `None` if the events are not read.
    #[must_use]
    pub fn begin(tool: &str) -> Option<Self> {
        static CALLS: AtomicU64 = AtomicU64::new(1);
        is_read().then(|| {
            let (call, tool) = (CALLS.fetch_add(1, Ordering::Relaxed), clipped(tool).to_owned());
            tracing::trace!(target: STATUS_TARGET, tool, call, "{tool} begins");
            Self { call, tool, bytes: 0, why: String::new() }
        })
    }

    /// Takes note of the size of the result, and of the reason of an error.
    pub fn set_result(&mut self, result: &CallToolResult) {
        let structured = result.structured_content.as_ref().map_or(0, |content| content.as_str().len());
        self.bytes = result.content.as_str().len() + structured;
        self.why = if result.is_error { reason(result) } else { String::new() };
    }

    /// Takes note of the size of a result that is not read.
    pub fn set_bytes(&mut self, bytes: usize) {
        self.bytes = bytes;
    }

    /// Takes note of the reason why there is no result.
    pub fn set_failure(&mut self, why: &str) {
        self.why = first_line(why);
    }

    /// Shows that the call has ended after this time.
    pub fn end(&self, outcome: &str, time: Duration) {
        let Self { call, tool, bytes, why } = self;
        let outcome = outcome.replace('_', " ");
        let ms = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        let colon = if why.is_empty() { "" } else { ": " };
        tracing::debug!(
            target: STATUS_TARGET,
            tool, outcome, ms, call, bytes, why,
            "{tool}: {outcome}, {time:.1?}{colon}{why}"
        );
    }
}

/// The first line of the text of an error.
fn reason(result: &CallToolResult) -> String {
    #[derive(Deserialize)]
    struct Block {
        #[serde(default)]
        text: String,
    }
    let blocks: Vec<Block> = serde_json::from_str(result.content.as_str()).unwrap_or_default();
    blocks.into_iter().map(|block| first_line(&block.text)).find(|line| !line.is_empty()).unwrap_or_default()
}

/// The first line that is not empty, of a limited length.
fn first_line(text: &str) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    match line.char_indices().nth(MAX_REASON) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_one_line() {
        assert_eq!(reason(&CallToolResult::error("\nno such city: Ulm\n  at line 7")), "no such city: Ulm");
        assert_eq!(first_line(&"é".repeat(300)).chars().count(), MAX_REASON + 1);
        assert_eq!(reason(&CallToolResult::of([])), "");
    }
}
