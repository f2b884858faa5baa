//! A violated rule of hosts: the place, the reason and the fix.

use protomcp_types::one_line;
use serde_json::{Value, json};

use crate::fault::Fault;
use crate::hosts::{Certainty, Effect, HostRule};

/// A violated rule. Hosts with the same rule share one finding.
#[derive(Debug)]
pub struct Finding {
    /// The tool; `None` if it is about the whole server.
    pub tool: Option<String>,
    /// The part of the definition: `name`, `description`, or a pointer into it such as `/inputSchema/properties/a`.
    pub place: String,
    /// The fault, in words.
    pub issue: String,
    /// The next step, in words.
    pub fix: String,
    /// Further places in the same tool with the same fault.
    pub more: usize,
    /// The rows that are violated; at least one.
    pub rules: Vec<&'static HostRule>,
}

/// Findings for people; nothing without any.
#[must_use]
pub fn finding_lines(findings: &[Finding]) -> String {
    if findings.is_empty() {
        return String::new();
    }
    let word = if findings.len() == 1 { "finding" } else { "findings" };
    let head = format!("! — {} {word} about hosts:\n", findings.len());
    findings.iter().fold(head, |text, finding| text + &finding.lines())
}

impl Finding {
    pub(crate) fn of(fault: Fault, tool: Option<&str>, rule: &'static HostRule) -> Self {
        let Fault { place, issue, fix, more } = fault;
        Self { tool: tool.map(ToOwned::to_owned), place, issue, fix, more, rules: vec![rule] }
    }

    /// The worst effect on any of the hosts.
    #[must_use]
    pub fn effect(&self) -> Effect {
        self.rules.iter().map(|rule| rule.effect).min().unwrap_or(Effect::Advice)
    }

    /// True if some host loses a tool or a call by it.
    #[must_use]
    pub fn is_loss(&self) -> bool {
        self.effect() <= Effect::Error
    }

    /// True if the loss was recorded with a host.
    #[must_use]
    pub fn is_recorded(&self) -> bool {
        self.rules.iter().any(|rule| rule.certainty == Certainty::Recorded && rule.effect <= Effect::Error)
    }

    /// Puts findings with the same fault together, the worst first.
    pub(crate) fn merged(all: Vec<Self>) -> Vec<Self> {
        let mut merged: Vec<Self> = Vec::new();
        for finding in all {
            let same = |known: &&mut Self| {
                (&known.tool, &known.place, &known.issue) == (&finding.tool, &finding.place, &finding.issue)
            };
            match merged.iter_mut().find(same) {
                Some(known) => known.rules.extend(finding.rules),
                None => merged.push(finding),
            }
        }
        merged.sort_by_key(Self::effect);
        merged
    }

    /// The lines for people, indented.
    pub(crate) fn lines(&self) -> String {
        let tool = self.tool.as_ref().map(|tool| format!("\"{}\" ", one_line(tool))).unwrap_or_default();
        let more = match self.more {
            0 => String::new(),
            more => format!(" (and {more} more like it)"),
        };
        let mut text = format!("  · {tool}{}: {}{more}\n", one_line(&self.place), one_line(&self.issue));
        for rule in &self.rules {
            let seen = &rule.seen;
            text.push_str(&format!("      {}: {} ({}, {seen})\n", rule.label(), rule.why, rule.source));
        }
        text.push_str(&format!("      fix: {}\n", self.fix));
        text
    }

    pub(crate) fn to_json(&self, severity: &str) -> Value {
        let word = |value: &dyn std::fmt::Debug| format!("{value:?}").to_lowercase();
        let rules: Vec<_> = self
            .rules
            .iter()
            .map(|rule| {
                json!({
                    "rule": rule.id, "host": rule.host, "effect": word(&rule.effect), "why": rule.why,
                    "certainty": word(&rule.certainty), "seen": rule.seen, "source": rule.source,
                })
            })
            .collect();
        json!({
            "severity": severity, "tool": self.tool, "where": self.place, "issue": self.issue, "more": self.more,
            "fix": self.fix, "rules": rules,
        })
    }
}
