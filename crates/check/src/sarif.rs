//! The report as SARIF 2.1.0, which code scanning services show next to the changed files.

use std::fmt::Write;

use serde_json::{Value, json};

use crate::finding::Finding;
use crate::hosts::{Effect, HostRule};
use crate::report::Report;
use crate::skills::SkillFault;
use crate::upstream::Issue;

const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";
const HOME: &str = "https://github.com/protomcp/protomcp";
/// The rule of faults that have no row in the table of hosts.
const DEFINITION: &str = "definition";
/// The rule of faults of skills.
const SKILL: &str = "skill";

/// The report as SARIF. `artifact` is the tool file, or the server as it was named. A definition has no line: every result
/// is at the first one, and names the tool as its logical location.
#[must_use]
pub fn to_sarif(report: &Report, artifact: &str) -> Value {
    let uri = if artifact.contains("://") { artifact.to_owned() } else { encoded(artifact) };
    let own = report.own_errors().iter().map(|issue| of_issue(issue, &uri));
    let found = report.findings.iter().filter_map(|finding| of_finding(finding, report.is_error(finding), &uri));
    let skills = report.skills.iter().map(|fault| of_skill(fault, &uri));
    let results: Vec<Value> = own.chain(found).chain(skills).collect();
    let mut rules = vec![json!({"id": DEFINITION, "shortDescription": {"text": "The definition of a tool is wrong"}})];
    for rule in report.findings.iter().filter_map(worst) {
        if !rules.iter().any(|known| known["id"] == rule.id.as_str()) {
            rules.push(of_rule(rule));
        }
    }
    if !report.skills.is_empty() {
        rules.push(
            json!({"id": SKILL, "shortDescription": {"text": "A skill is wrong, or something is left out of it"}}),
        );
    }
    let driver = json!({
        "name": "pmcp", "version": env!("CARGO_PKG_VERSION"), "informationUri": HOME, "rules": rules,
    });
    json!({"$schema": SCHEMA, "version": "2.1.0", "runs": [{"tool": {"driver": driver}, "results": results}]})
}

/// The row with the worst effect.
fn worst(finding: &Finding) -> Option<&'static HostRule> {
    finding.rules.iter().min_by_key(|rule| rule.effect).copied()
}

fn of_rule(rule: &HostRule) -> Value {
    let text = format!("{}: {}", rule.label(), rule.why);
    let help = format!("{text} ({}, {})", rule.source, rule.seen);
    json!({"id": rule.id, "shortDescription": {"text": text}, "help": {"text": help}})
}

fn of_issue(issue: &Issue, uri: &str) -> Value {
    result(DEFINITION, "error", &issue.issue, &location(uri, &issue.tool, ""))
}

fn of_skill(fault: &SkillFault, uri: &str) -> Value {
    result(SKILL, fault.severity(), &fault.text(), &location(uri, "", ""))
}

fn of_finding(finding: &Finding, is_error: bool, uri: &str) -> Option<Value> {
    let rule = worst(finding)?;
    let level = match rule.effect {
        _ if is_error => "error",
        Effect::Advice => "note",
        _ => "warning",
    };
    let (place, tool) = (&finding.place, finding.tool.as_deref().unwrap_or_default());
    let text = format!("{place}: {}. {}: {}. Fix: {}", finding.issue, rule.label(), rule.why, finding.fix);
    Some(result(&rule.id, level, &text, &location(uri, tool, place)))
}

fn result(rule: &str, level: &str, text: &str, location: &Value) -> Value {
    json!({"ruleId": rule, "level": level, "message": {"text": text}, "locations": [location]})
}

/// The first line of the file, and the place in the definition.
fn location(uri: &str, tool: &str, place: &str) -> Value {
    let separator = if place.is_empty() || place.starts_with('/') { "" } else { "/" };
    let logical = json!({"name": tool, "fullyQualifiedName": format!("{tool}{separator}{place}"), "kind": "function"});
    json!({
        "physicalLocation": {"artifactLocation": {"uri": uri}, "region": {"startLine": 1}},
        "logicalLocations": [logical],
    })
}

/// A path as a relative reference.
fn encoded(path: &str) -> String {
    path.bytes().fold(String::with_capacity(path.len()), |mut uri, byte| {
        if byte.is_ascii_alphanumeric() || b"/._-~".contains(&byte) {
            uri.push(char::from(byte));
        } else {
            let _always = write!(uri, "%{byte:02X}");
        }
        uri
    })
}

#[cfg(test)]
mod tests {
    use protomcp_types::RawJson;

    use crate::definition::{ToolDefinition, ToolSet};
    use crate::hosts::HostSelection;
    use crate::report::{Strictness, validate};

    use super::*;

    #[test]
    fn results_have_a_rule_a_level_and_a_place() {
        let definitions = [
            json!({"name": "group.get", "description": "Gets it from a group.", "inputSchema": {"type": "object"}}),
            json!({"name": "twice", "description": "", "inputSchema": {"type": "object"}}),
        ];
        let listed = |definition: &Value| ToolDefinition::listed(&RawJson::of(definition).unwrap());
        let tools = definitions.iter().map(listed).collect();
        let set = ToolSet { server: "tools".into(), tools, ..ToolSet::default() };
        let hosts = HostSelection::default().with("claude-desktop").unwrap();
        let sarif = to_sarif(&validate(&set, Strictness::Strict, &hosts), "my tools/a.py");
        let run = &sarif["runs"][0];
        let results = run["results"].as_array().unwrap();
        let of = |id: &str| results.iter().find(|result| result["ruleId"] == id).unwrap();
        let own = of("definition");
        assert_eq!((&own["level"], &own["message"]["text"]), (&json!("error"), &json!("no description")));
        let name = of("claude-desktop-name");
        assert_eq!(name["level"], "error", "a loss is an error with strict checks");
        let place = &name["locations"][0];
        assert_eq!(place["physicalLocation"]["artifactLocation"]["uri"], "my%20tools/a.py");
        assert_eq!(place["logicalLocations"][0]["fullyQualifiedName"], "group.get/name");
        let rules: Vec<_> = run["tool"]["driver"]["rules"].as_array().unwrap().iter().map(|rule| &rule["id"]).collect();
        assert!(results.iter().all(|result| rules.contains(&&result["ruleId"])), "{sarif}");
        // The finding that is an error is one result.
        assert_eq!(results.iter().filter(|result| **result == *name).count(), 1);
        let lax = to_sarif(&validate(&set, Strictness::Usual, &hosts), "https://example.com/mcp");
        let levels = lax["runs"][0]["results"].as_array().unwrap().iter().map(|result| result["level"].clone());
        assert!(levels.clone().any(|level| level == "warning") && levels.clone().any(|level| level == "error"));
    }
}
