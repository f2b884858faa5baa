//! The live status of a bridge, for the author of its tools: the tools, the calls, and the state of the tool process.
//!
//! The facts are events of the log with their own target, which programs enable for terminals. While nothing reads them,
//! they are not made.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;

use protomcp_envelope::ToolDefinition;

use crate::catalog::faults::clipped;
use crate::catalog::snapshot::Snapshot;
use crate::diagnostics::report::Report;

/// The target of the live status in the log. A program that shows it enables this target. The message of each event is a line
/// for people; the fields are the facts:
///
/// | level | fact | fields |
/// |---|---|---|
/// | DEBUG | the tools, at first and after a change | `tools` (number), `names`; `change` after a change |
/// | DEBUG | a call has ended | `tool`, `outcome`, `ms`, `call` (number), `bytes` of the result, `why` of a failure |
/// | TRACE | a call has begun | `tool`, `call` |
/// | TRACE | the tool process has another state | `state`: `ready`, `not started`, `outdated`, `crashed` or `given up` |
pub const STATUS_TARGET: &str = "protomcp_bridge::status";
/// The most names in a list.
const MAX_NAMES: usize = 20;

/// True if the events are read.
pub(crate) fn is_read() -> bool {
    tracing::enabled!(target: STATUS_TARGET, tracing::Level::DEBUG)
}

/// Shows the state of the tool process that a report tells.
pub(crate) fn report(report: &Report) {
    let state = match report {
        Report::Reloaded { .. } | Report::Restarted { .. } => "ready",
        Report::NotStarted { .. } => "not started",
        Report::ReloadFailed { .. } => "outdated",
        Report::Crashed { .. } | Report::RestartFailed { .. } => "crashed",
        Report::GaveUp { .. } => "given up",
        _ => return,
    };
    tracing::trace!(target: STATUS_TARGET, state, "the tool process: {state}");
}

/// The tools as they were shown last.
#[derive(Debug)]
pub(crate) struct ShownTools {
    snapshot: Arc<Snapshot>,
    /// None were shown yet.
    is_first: bool,
}

impl ShownTools {
    /// The tools of the snapshot before the first start.
    pub(crate) fn new(snapshot: Arc<Snapshot>) -> Self {
        Self { snapshot, is_first: true }
    }

    /// Shows the tools if there is a new snapshot, and the changes since the last one.
    pub(crate) fn show(&mut self, snapshot: &Arc<Snapshot>) {
        if Arc::ptr_eq(&self.snapshot, snapshot) || !is_read() {
            return;
        }
        let before = (!self.is_first).then(|| definitions(&self.snapshot));
        let after = definitions(snapshot);
        let (tools, names, change) = (after.len(), names(after.keys()), changes(before.as_ref(), &after));
        let count = if tools == 1 { "1 tool".to_owned() } else { format!("{tools} tools") };
        match (&before, change) {
            (None, _) if names.is_empty() => tracing::debug!(target: STATUS_TARGET, tools, names, "{count}"),
            (None, _) => tracing::debug!(target: STATUS_TARGET, tools, names, "{count}: {names}"),
            (Some(_), Some(change)) => {
                tracing::debug!(target: STATUS_TARGET, tools, names, change, "{count}: {change}");
            }
            (Some(_), None) => {}
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

/// The differences to the tools before; `None` if there are none.
fn changes(before: Option<&Definitions<'_>>, after: &Definitions<'_>) -> Option<String> {
    let before = before?;
    let added = names(after.keys().filter(|name| !before.contains_key(*name)));
    let removed = names(before.keys().filter(|name| !after.contains_key(*name)));
    let is_changed = |(name, tool): &(&&str, &&ToolDefinition)| before.get(*name).is_some_and(|known| known != *tool);
    let changed = names(after.iter().filter(is_changed).map(|(name, _)| name));
    let parts = [("added", added), ("removed", removed), ("changed", changed)];
    let parts: Vec<_> = parts.iter().filter(|(_, names)| !names.is_empty()).collect();
    let texts: Vec<_> = parts.iter().map(|(what, names)| format!("{what} {names}")).collect();
    (!texts.is_empty()).then(|| texts.join("; "))
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
    fn the_changes_of_the_tools_are_named() {
        let table = [
            (None, vec![("a", "")], None),
            (Some(vec![("a", "")]), vec![("a", "")], None),
            (Some(vec![("a", "")]), vec![("a", "other")], Some("changed a")),
            (Some(vec![("a", "")]), vec![], Some("removed a")),
            (
                Some(vec![("a", ""), ("b", ""), ("c", "")]),
                vec![("b", "x"), ("c", ""), ("d", ""), ("e", "")],
                Some("added d, e; removed a; changed b"),
            ),
        ];
        for (before, after, expected) in table {
            let (old, new) = (before.map(|before| tools(&before)), tools(&after));
            let old = old.as_deref().map(by_name);
            assert_eq!(changes(old.as_ref(), &by_name(&new)).as_deref(), expected, "{after:?}");
        }
    }

    #[test]
    fn a_long_list_of_names_is_counted() {
        let many: Vec<_> = (0..MAX_NAMES + 3).map(|number| format!("t{number:02}")).collect();
        let many: Vec<_> = many.iter().map(String::as_str).collect();
        assert!(names(many.iter()).ends_with("t18, t19 and 3 more"));
    }
}
