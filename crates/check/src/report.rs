//! The report of `pmcp validate`: its own rules, the rules of hosts, and the tokens of each tool.
//!
//! The lines and members of the rules of version 0.3.1 stay as they were, because scripts read them; findings of hosts
//! and tokens follow them.

use std::collections::HashSet;

use protomcp_types::one_line;
use serde_json::{Value, json};

use crate::definition::ToolSet;
use crate::finding::{Finding, finding_lines};
use crate::hosts::HostSelection;
use crate::rules::{check_set, without_repeats};
use crate::skills::{SkillFault, warning_lines};
use crate::tokens::{TOKEN_METHOD, tokens};
use crate::upstream::{Issue, issues};

/// The strictness of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Strictness {
    /// Definitions must be right; findings about hosts are warnings, unless they were recorded with the host.
    #[default]
    Usual,
    /// Descriptions and names must also say something, and a loss on a selected host is an error.
    Strict,
}

/// One tool in the report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolStatus {
    /// Its name.
    pub name: String,
    /// It has no error.
    pub is_ok: bool,
    /// The estimated tokens of its definition.
    pub tokens: usize,
}

/// The outcome of a check.
#[derive(Debug)]
pub struct Report {
    /// The tools in their order.
    pub tools: Vec<ToolStatus>,
    /// The errors, the errors of the definitions themselves first. Without any, the tools pass.
    pub errors: Vec<Issue>,
    /// The findings about hosts, the worst first. Those that are errors are among the errors, too.
    pub findings: Vec<Finding>,
    /// The faults of skills. Those that are errors are among the errors, too.
    pub skills: Vec<SkillFault>,
    /// The number of errors of the definitions themselves.
    own: usize,
    strictness: Strictness,
    is_for_hosts: bool,
}

/// Checks the tools of a server. Without hosts, strict checks apply the rules of all hosts together, and others those that
/// cost more than one tool.
#[must_use]
pub fn validate(set: &ToolSet, strictness: Strictness, hosts: &HostSelection) -> Report {
    let strict = HostSelection::common();
    let selected = if hosts.is_empty() && strictness == Strictness::Strict { &strict } else { hosts };
    let findings = without_repeats(check_set(set, selected));
    let mut errors = issues(&set.tools, strictness);
    let (own, is_for_hosts) = (errors.len(), !hosts.is_empty());
    for finding in &findings {
        if is_error(finding, strictness, is_for_hosts) {
            let tool = finding.tool.clone().unwrap_or_default();
            errors.push(Issue { tool, issue: format!("{}: {}", finding.place, finding.issue) });
        }
    }
    let faulty: HashSet<&str> = errors.iter().map(|error| error.tool.as_str()).collect();
    let status = set.tools.iter().map(|tool| ToolStatus {
        name: tool.name.clone(),
        is_ok: !faulty.contains(tool.name.as_str()),
        tokens: tokens(tool.size),
    });
    Report { tools: status.collect(), errors, findings, skills: Vec::new(), own, strictness, is_for_hosts }
}

fn is_error(finding: &Finding, strictness: Strictness, is_for_hosts: bool) -> bool {
    is_for_hosts && (finding.is_recorded() || strictness == Strictness::Strict && finding.is_loss())
}

impl Report {
    /// With these faults of the skills of the server.
    #[must_use]
    pub fn with_skills(mut self, faults: Vec<SkillFault>) -> Self {
        let errors = faults.iter().filter(|fault| fault.is_error);
        self.errors.extend(errors.map(|fault| Issue { tool: String::new(), issue: fault.text() }));
        self.skills.extend(faults);
        self
    }

    /// True without errors.
    #[must_use]
    pub fn passes(&self) -> bool {
        self.errors.is_empty()
    }

    /// The errors of the definitions themselves.
    pub(crate) fn own_errors(&self) -> &[Issue] {
        self.errors.get(..self.own).unwrap_or_default()
    }

    /// True if a finding is an error.
    pub(crate) fn is_error(&self, finding: &Finding) -> bool {
        is_error(finding, self.strictness, self.is_for_hosts)
    }

    /// The report for people; nothing for an empty list without faults.
    #[must_use]
    pub fn to_text(&self) -> String {
        let good = self.tools.iter().filter(|tool| tool.is_ok);
        let mut text: String = good.map(|tool| format!("✓ {} — OK\n", one_line(&tool.name))).collect();
        if !self.errors.is_empty() {
            text.push_str(&format!("✗ — {} error(s):\n", self.errors.len()));
            for Issue { tool, issue } in &self.errors {
                let issue = one_line(issue);
                match &*one_line(tool) {
                    "" => text.push_str(&format!("  · {issue}\n")),
                    tool => text.push_str(&format!("  · \"{tool}\": {issue}\n")),
                }
            }
        }
        text + &finding_lines(&self.findings) + &warning_lines(&self.skills) + &self.token_lines()
    }

    fn token_lines(&self) -> String {
        if self.tools.is_empty() {
            return String::new();
        }
        let mut tools: Vec<_> = self.tools.iter().collect();
        tools.sort_by_key(|tool| std::cmp::Reverse(tool.tokens));
        let head = format!("≈ {} tokens in each conversation ({TOKEN_METHOD}):\n", self.tokens());
        tools.iter().fold(head, |text, tool| text + &format!("  {:>6}  {}\n", tool.tokens, one_line(&tool.name)))
    }

    /// The estimated tokens of all definitions.
    #[must_use]
    pub fn tokens(&self) -> usize {
        self.tools.iter().map(|tool| tool.tokens).sum()
    }

    /// The report for programs: `{"tools", "errors", "pass"}` as it has always been, and `findings` and `tokens`.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let status = |tool: &ToolStatus| {
            let status = if tool.is_ok { "ok" } else { "error" };
            json!({"name": tool.name, "status": status, "tokens": tool.tokens})
        };
        let severity = |finding: &Finding| finding.to_json(if self.is_error(finding) { "error" } else { "warning" });
        json!({
            "tools": self.tools.iter().map(status).collect::<Vec<_>>(),
            "errors": self.errors.iter().map(|Issue { tool, issue }| json!({"tool": tool, "issue": issue})).collect::<Vec<_>>(),
            "pass": self.passes(),
            "findings": self.findings.iter().map(severity).collect::<Vec<_>>(),
            "skills": self.skills.iter().map(SkillFault::to_json).collect::<Vec<_>>(),
            "tokens": {"total": self.tokens(), "method": TOKEN_METHOD},
        })
    }
}
