//! Definitions in a form that hosts take, and the way back.
//!
//! Only what a rule of the selected hosts refuses is changed, so that a tool which is fine stays as it is to the byte. A
//! model that follows the adapted schema sends arguments of the original one's shape; the server checks them by that.

mod names;
mod schemas;

use std::sync::{Mutex, PoisonError};

use protomcp_types::{JsonObject, RawJson};
use serde_json::Value;

use crate::check::Check;
use crate::definition::{ToolDefinition, ToolSet};
use crate::hosts::{HostRule, HostSelection};
use crate::rules::about_tool;
use names::Names;

/// Adapts definitions to hosts. It remembers the names that it has changed.
#[derive(Debug)]
pub struct Adaptation {
    rules: Vec<&'static HostRule>,
    server: String,
    names: Mutex<Names>,
}

impl Adaptation {
    /// An adaptation to these hosts, which know the server under this name.
    #[must_use]
    pub fn new(hosts: &HostSelection, server: impl Into<String>) -> Self {
        let rules = if hosts.is_empty() { Vec::new() } else { hosts.rules().collect() };
        Self { rules, server: server.into(), names: Mutex::default() }
    }

    /// False if there are no hosts to adapt to.
    #[must_use]
    pub fn changes_anything(&self) -> bool {
        !self.rules.is_empty()
    }

    /// The definitions of a page, adapted. What cannot be read stays as it is.
    pub fn definitions(&self, page: &[RawJson]) -> Vec<RawJson> {
        let read: Vec<_> = page.iter().map(ToolDefinition::listed).collect();
        let mut names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        // A name that is fine belongs to the tool that has it.
        for tool in read.iter().filter(|tool| !tool.name.is_empty() && self.is_fine(tool)) {
            names.keep(&tool.name);
        }
        let mut growth = schemas::growth(page);
        let adapted = page.iter().zip(&read).map(|(raw, tool)| {
            let name = if tool.name.is_empty() { None } else { names.of(&tool.name, self.room()) };
            self.definition(raw, tool, name, &mut growth).unwrap_or_else(|| raw.clone())
        });
        adapted.collect()
    }

    /// The name of a tool from the name that a host uses.
    pub fn own_name(&self, name: &str) -> Option<String> {
        self.names.lock().unwrap_or_else(PoisonError::into_inner).own(name).map(ToOwned::to_owned)
    }

    /// True if no rule about names is violated.
    fn is_fine(&self, tool: &ToolDefinition) -> bool {
        let set = ToolSet { server: self.server.clone(), ..ToolSet::default() };
        let names =
            self.rules.iter().filter(|rule| matches!(rule.check, Check::NamePattern { .. } | Check::NameLength { .. }));
        names.into_iter().all(|rule| about_tool(&rule.check, &set, tool).is_none())
    }

    /// The characters that are left for a name.
    fn room(&self) -> usize {
        let room = |rule: &&HostRule| match &rule.check {
            Check::NameLength { template, server_max, max } => {
                let server = self.server.chars().count().min(server_max.unwrap_or(usize::MAX));
                let rest = template.replace("{server}", "").replace("{tool}", "").len();
                let server = if template.contains("{server}") { server } else { 0 };
                Some(max.saturating_sub(rest + server))
            }
            _ => None,
        };
        self.rules.iter().filter_map(room).min().unwrap_or(names::LONGEST).clamp(names::SHORTEST, names::LONGEST)
    }

    /// The definition under another name and with other schemas; `None` if nothing changes.
    fn definition(
        &self,
        raw: &RawJson,
        tool: &ToolDefinition,
        name: Option<String>,
        growth: &mut usize,
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
