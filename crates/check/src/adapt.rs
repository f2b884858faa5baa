//! Definitions in a form that hosts take, and the way back.
//!
//! Only what a rule of the selected hosts refuses is changed, so that a tool which is fine stays as it is to the byte. A
//! model that follows the adapted schema sends arguments of the original one's shape; the server checks them by that.

mod schemas;

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use protomcp_types::{JsonObject, RawJson};
use serde_json::Value;

use crate::definition::ToolDefinition;
use crate::hosts::{HostRule, HostSelection};
use crate::rules::host_names::Names;
use schemas::Growth;

/// The most tools that are remembered as cut. Beyond them a tool may be named again.
const MAX_CUT: usize = 1_000;

/// Adapts definitions to hosts. It remembers the names that it has changed.
#[derive(Debug)]
pub struct Adaptation {
    rules: Vec<&'static HostRule>,
    server: String,
    names: Mutex<Names>,
    /// The tools whose schemas were cut, and that the log has named.
    cut: Mutex<HashSet<String>>,
}

impl Adaptation {
    /// An adaptation to these hosts, which know the server under this name.
    #[must_use]
    pub fn new(hosts: &HostSelection, server: impl Into<String>) -> Self {
        let rules = if hosts.is_empty() { Vec::new() } else { hosts.rules().collect() };
        Self { rules, server: server.into(), names: Mutex::default(), cut: Mutex::default() }
    }

    /// False if there are no hosts to adapt to.
    #[must_use]
    pub fn changes_anything(&self) -> bool {
        !self.rules.is_empty()
    }

    /// The definitions of a page, adapted. What cannot be read stays as it is.
    pub fn definitions(&self, page: &[RawJson]) -> Vec<RawJson> {
        let read: Vec<_> = page.iter().map(ToolDefinition::listed).collect();
        let own: Vec<&str> = read.iter().map(|tool| tool.name.as_str()).collect();
        let mut known = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        let names = known.of_tools(&own, &self.rules, &self.server);
        drop(known);
        let mut growth = Growth::of(page);
        let adapted = page.iter().zip(read.iter().zip(names)).map(|(raw, (tool, name))| {
            let adapted = self.definition(raw, tool, name, &mut growth);
            if growth.take_cut() {
                self.warn_of_cut(&tool.name);
            }
            adapted.unwrap_or_else(|| raw.clone())
        });
        adapted.collect()
    }

    /// The name of a tool from the name that a host uses.
    pub fn own_name(&self, name: &str) -> Option<String> {
        self.names.lock().unwrap_or_else(PoisonError::into_inner).own(name).map(ToOwned::to_owned)
    }

    /// Names a tool whose schema has references beyond a bound.
    fn warn_of_cut(&self, tool: &str) {
        let mut cut = self.cut.lock().unwrap_or_else(PoisonError::into_inner);
        if cut.len() >= MAX_CUT {
            cut.clear();
        }
        if cut.insert(tool.to_owned()) {
            tracing::warn!(
                tool,
                "references of its schemas allow any object for hosts, because the schemas would become too large (said \
                 once for this tool)"
            );
        }
    }

    /// The definition under another name and with other schemas; `None` if nothing changes.
    fn definition(
        &self,
        raw: &RawJson,
        tool: &ToolDefinition,
        name: Option<String>,
        growth: &mut Growth,
    ) -> Option<RawJson> {
        let checks = || self.rules.iter().map(|rule| &rule.check);
        let input = tool.input().and_then(|schema| changed(schema, |schema| schemas::input(&checks(), schema, growth)));
        let output = tool.output();
        let mut output = output.and_then(|schema| changed(schema, |schema| schemas::output(checks(), schema, growth)));
        let drops_output = tool.output().is_some_and(|schema| schemas::is_refused_output(checks(), schema));
        if name.is_none() && input.is_none() && output.is_none() && !drops_output {
            return None;
        }
        let mut members = JsonObject::from_raw(raw).ok()?;
        if let Some(name) = name {
            members.insert("name", RawJson::text(&name));
        }
        if let Some(input) = input {
            members.insert("inputSchema", RawJson::of(&input).ok()?);
        }
        if drops_output {
            members.take("outputSchema");
            output = None;
        }
        if let Some(output) = output {
            members.insert("outputSchema", RawJson::of(&output).ok()?);
        }
        Some(members.to_body().into_raw())
    }
}

/// The value after a change; `None` if it is the same.
fn changed(before: &Value, change: impl FnOnce(&mut Value)) -> Option<Value> {
    let mut after = before.clone();
    change(&mut after);
    (after != *before).then_some(after)
}

#[cfg(test)]
mod tests;
