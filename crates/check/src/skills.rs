//! Faults of the skills of a server, in the report next to the ones of its tools.

use protomcp_types::one_line;
use serde_json::{Value, json};

/// A fault of skills.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillFault {
    /// The file, the folder or the URI; empty if the fault names it.
    pub place: String,
    /// The fault, in words.
    pub issue: String,
    /// The skills are not served, or hosts refuse one. Otherwise something is left out.
    pub is_error: bool,
}

impl SkillFault {
    pub(crate) fn to_json(&self) -> Value {
        json!({"severity": self.severity(), "place": self.place, "issue": self.issue})
    }

    pub(crate) fn severity(&self) -> &'static str {
        if self.is_error { "error" } else { "warning" }
    }

    /// The fault with its place.
    pub(crate) fn text(&self) -> String {
        match self.place.as_str() {
            "" => self.issue.clone(),
            place => format!("{place}: {}", self.issue),
        }
    }
}

/// Warnings for people; nothing without any. Errors are among the errors of the report.
pub(crate) fn warning_lines(faults: &[SkillFault]) -> String {
    let warnings: Vec<_> = faults.iter().filter(|fault| !fault.is_error).collect();
    if warnings.is_empty() {
        return String::new();
    }
    let word = if warnings.len() == 1 { "finding" } else { "findings" };
    let head = format!("! — {} {word} about skills:\n", warnings.len());
    warnings.iter().fold(head, |text, fault| text + &format!("  · {}\n", one_line(&fault.text())))
}

#[cfg(test)]
mod tests {
    use crate::definition::ToolSet;
    use crate::hosts::HostSelection;
    use crate::report::{Strictness, validate};
    use crate::sarif::to_sarif;

    use super::*;

    fn fault(place: &str, issue: &str, is_error: bool) -> SkillFault {
        SkillFault { place: place.into(), issue: issue.into(), is_error }
    }

    #[test]
    fn errors_of_skills_fail_a_report_and_warnings_do_not() {
        let tools = ToolSet { server: "a".to_owned(), ..ToolSet::default() };
        let report = || validate(&tools, Strictness::Usual, &HostSelection::default());
        let warned = report().with_skills(vec![fault("skills", "no skill", false)]);
        assert!(warned.passes());
        assert_eq!(warned.to_text(), "! — 1 finding about skills:\n  · skills: no skill\n");
        let failed = report().with_skills(vec![fault("", "a link", false), fault("skill://a", "no description", true)]);
        assert!(!failed.passes());
        let text = "✗ — 1 error(s):\n  · skill://a: no description\n! — 1 finding about skills:\n  · a link\n";
        assert_eq!(failed.to_text(), text);
        let skills = json!([
            {"severity": "warning", "place": "", "issue": "a link"},
            {"severity": "error", "place": "skill://a", "issue": "no description"},
        ]);
        assert_eq!(failed.to_json()["skills"], skills);
        let sarif = to_sarif(&failed, "a.py");
        let levels: Vec<_> =
            sarif["runs"][0]["results"].as_array().into_iter().flatten().map(|one| &one["level"]).collect();
        assert_eq!(levels, ["warning", "error"]);
    }
}
