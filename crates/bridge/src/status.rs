//! The live status of a bridge, for the author of its tools: the tools, and each call that has ended.
//!
//! The lines are events of the log with a target of their own, which programs enable for terminals. While nothing reads
//! them, they are not made.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;

use protomcp_envelope::ToolDefinition;
use protomcp_types::CallToolResult;
use serde::Deserialize;

use crate::catalog::faults::clipped;
use crate::catalog::snapshot::Snapshot;

/// The target of the live status in the log: the tools of a bridge, and each call that has ended, at the level DEBUG. A program
/// that shows it enables this target.
pub const STATUS_TARGET: &str = "protomcp_bridge::status";
/// The most names in a list.
const MAX_NAMES: usize = 20;
/// The most characters of a reason.
const MAX_REASON: usize = 200;

/// True if the events are read.
pub(crate) fn is_read() -> bool {
    tracing::enabled!(target: STATUS_TARGET, tracing::Level::DEBUG)
}

/// A call has ended. `why` is the reason of an error.
pub(crate) fn call(tool: &str, outcome: &str, time: Duration, why: &str) {
    let outcome = outcome.replace('_', " ");
    let ms = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    let colon = if why.is_empty() { "" } else { ": " };
    tracing::debug!(target: STATUS_TARGET, tool, outcome, ms, "{}: {outcome}, {time:.1?}{colon}{why}", clipped(tool));
}

/// The first line of the text of an error.
pub(crate) fn reason(result: &CallToolResult) -> String {
    #[derive(Deserialize)]
    struct Block {
        #[serde(default)]
        text: String,
    }
    let blocks: Vec<Block> = serde_json::from_str(result.content.as_str()).unwrap_or_default();
    blocks.into_iter().map(|block| first_line(&block.text)).find(|line| !line.is_empty()).unwrap_or_default()
}

/// The first line that is not empty, of a limited length.
pub(crate) fn first_line(text: &str) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    match line.char_indices().nth(MAX_REASON) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}

/// The tools as they were shown last.
#[derive(Debug)]
pub(crate) struct ShownTools {
    snapshot: Arc<Snapshot>,
    /// None were shown yet.
    is_first: bool,
}

impl ShownTools {
    /// Those of the snapshot before the first start.
    pub(crate) fn new(snapshot: Arc<Snapshot>) -> Self {
        Self { snapshot, is_first: true }
    }

    /// Shows the tools if there is a new snapshot, and the changes since the last one.
    pub(crate) fn show(&mut self, snapshot: &Arc<Snapshot>) {
        if Arc::ptr_eq(&self.snapshot, snapshot) || !is_read() {
            return;
        }
        let before = (!self.is_first).then(|| definitions(&self.snapshot));
        if let Some(text) = text(before.as_ref(), &definitions(snapshot)) {
            tracing::debug!(target: STATUS_TARGET, "{text}");
        }
        self.is_first = false;
        self.snapshot = Arc::clone(snapshot);
    }
}

type Definitions<'a> = BTreeMap<&'a str, &'a ToolDefinition>;

/// The definitions of the tools that a new session sees.
fn definitions(snapshot: &Snapshot) -> Definitions<'_> {
    let all = snapshot.registered().iter().map(|tool| (tool.name.as_str(), tool));
    all.filter(|(name, _)| snapshot.base().find(name).is_some()).collect()
}

/// The tools, or the differences to those before. `None` without a difference.
fn text(before: Option<&Definitions<'_>>, after: &Definitions<'_>) -> Option<String> {
    let count = match after.len() {
        1 => "1 tool".to_owned(),
        count => format!("{count} tools"),
    };
    let Some(before) = before else {
        let names = names(after.keys());
        return Some(if names.is_empty() { count } else { format!("{count}: {names}") });
    };
    let added = names(after.keys().filter(|name| !before.contains_key(*name)));
    let removed = names(before.keys().filter(|name| !after.contains_key(*name)));
    let is_changed = |(name, tool): &(&&str, &&ToolDefinition)| before.get(*name).is_some_and(|known| known != *tool);
    let changed = names(after.iter().filter(is_changed).map(|(name, _)| name));
    let parts = [("added", added), ("removed", removed), ("changed", changed)];
    let parts: Vec<_> = parts.iter().filter(|(_, names)| !names.is_empty()).collect();
    let texts: Vec<_> = parts.iter().map(|(what, names)| format!("{what} {names}")).collect();
    (!texts.is_empty()).then(|| format!("{count}: {}", texts.join("; ")))
}

fn names<'a>(all: impl Iterator<Item = &'a &'a str>) -> String {
    let (mut text, mut left) = (String::new(), 0);
    for (number, name) in all.enumerate() {
        if number >= MAX_NAMES {
            left += 1;
            continue;
        }
        text.push_str(if number == 0 { "" } else { ", " });
        text.push_str(clipped(name));
    }
    if left > 0 {
        write!(text, " and {left} more").expect("a string takes everything");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tools(names: &[(&str, &str)]) -> Vec<ToolDefinition> {
        let tool = |(name, description): &(&str, &str)| ToolDefinition {
            name: (*name).into(),
            description: (*description).into(),
            ..Default::default()
        };
        names.iter().map(tool).collect()
    }

    fn by_name(tools: &[ToolDefinition]) -> Definitions<'_> {
        tools.iter().map(|tool| (tool.name.as_str(), tool)).collect()
    }

    #[test]
    fn the_tools_are_listed_once_and_then_their_changes() {
        let table = [
            (None, vec![], Some("0 tools")),
            (None, vec![("b", ""), ("a", "")], Some("2 tools: a, b")),
            (Some(vec![("a", "")]), vec![("a", "")], None),
            (Some(vec![("a", "")]), vec![("a", "other")], Some("1 tool: changed a")),
            (Some(vec![("a", "")]), vec![], Some("0 tools: removed a")),
            (
                Some(vec![("a", ""), ("b", ""), ("c", "")]),
                vec![("b", "x"), ("c", ""), ("d", ""), ("e", "")],
                Some("4 tools: added d, e; removed a; changed b"),
            ),
        ];
        for (before, after, expected) in table {
            let (old, new) = (before.map(|before| tools(&before)), tools(&after));
            let old = old.as_deref().map(by_name);
            assert_eq!(text(old.as_ref(), &by_name(&new)).as_deref(), expected, "{after:?}");
        }
    }

    #[test]
    fn a_long_list_of_names_is_counted() {
        let many: Vec<_> = (0..MAX_NAMES + 3).map(|number| format!("t{number:02}")).collect();
        let many: Vec<_> = many.iter().map(String::as_str).collect();
        assert!(names(many.iter()).ends_with("t18, t19 and 3 more"));
    }

    #[test]
    fn a_reason_is_one_line() {
        assert_eq!(reason(&CallToolResult::error("\nno such city: Ulm\n  at line 7")), "no such city: Ulm");
        assert_eq!(first_line(&"é".repeat(300)).chars().count(), MAX_REASON + 1);
        assert_eq!(reason(&CallToolResult::of([])), "");
    }
}
