//! The checks that rows of the table name, as pure functions over definitions and results.

mod cycles;
pub(crate) mod host_names;
mod names;
mod references;
mod results;
mod schemas;
mod sizes;
pub(crate) mod walk;

use std::time::Duration;

use serde_json::Value;

use crate::check::Check;
use crate::definition::{ToolDefinition, ToolSet};
use crate::fault::Fault;
use crate::finding::Finding;
use crate::hosts::{HostRule, HostSelection};
use host_names::Names;

/// The findings about the tools of a server.
pub(crate) fn check_set(set: &ToolSet, hosts: &HostSelection) -> Vec<Finding> {
    let mut all = Vec::new();
    let rules: Vec<&'static HostRule> = hosts.rules().collect();
    let own: Vec<&str> = set.tools.iter().map(|tool| tool.name.as_str()).collect();
    let suggested = Names::default().of_tools(&own, &rules, &set.server);
    for rule in rules {
        all.extend(about_server(&rule.check, set).into_iter().map(|fault| Finding::of(fault, None, rule)));
        let named =
            names::collisions(&rule.check, set).into_iter().chain(names::patterns(&rule.check, set, &suggested));
        all.extend(named.map(|(tool, fault)| Finding::of(fault, Some(tool), rule)));
        for tool in set.tools.iter().filter(|tool| tool.served.is_object()) {
            all.extend(about_tool(&rule.check, set, tool).map(|fault| Finding::of(fault, Some(&tool.name), rule)));
        }
    }
    Finding::merged(all)
}

/// The findings about the result of a call that took this long.
#[must_use]
pub fn check_result(tool: &ToolDefinition, result: &Value, took: Duration, hosts: &HostSelection) -> Vec<Finding> {
    let found = |rule: &'static HostRule| {
        let fault = results::fault(&rule.check, tool, result).or_else(|| results::late(&rule.check, took))?;
        Some(Finding::of(fault, Some(&tool.name), rule))
    };
    Finding::merged(hosts.rules().filter_map(found).collect())
}

/// Without the findings of a milder rule about the same place of a tool as one above it, if it says no more: a name that a
/// host refuses need not be reported as one that another host changes.
pub(crate) fn without_repeats(findings: Vec<Finding>) -> Vec<Finding> {
    let mut kept: Vec<Finding> = Vec::new();
    for finding in findings {
        let repeats = kept.iter().any(|known| {
            known.tool == finding.tool && known.place == finding.place && known.fix == finding.fix && known.is_loss()
        });
        if !repeats || finding.is_loss() {
            kept.push(finding);
        }
    }
    kept
}

fn about_server(check: &Check, set: &ToolSet) -> Option<Fault> {
    match check {
        Check::ServerName { pattern } => names::server(pattern, &set.server),
        Check::InstructionsLength { max } => sizes::instructions(*max, set.instructions.as_deref()?),
        Check::ToolCount { max } => sizes::count(*max, set.tools.len()),
        Check::ListSize { max } => sizes::list(*max, set),
        Check::StartupTime { ms } => sizes::startup(Duration::from_millis(*ms), set.listed_after?),
        _ => None,
    }
}

fn about_tool(check: &Check, set: &ToolSet, tool: &ToolDefinition) -> Option<Fault> {
    match check {
        Check::NameLength { .. } => names::length(check, &set.server, &tool.name),
        Check::DescriptionRequired => sizes::description_required(tool),
        Check::DescriptionLength { max, unit } => sizes::description(*max, *unit, &tool.description),
        Check::Hints { wanted } => sizes::hints(wanted, tool),
        Check::OutputRootObject => schemas::output_root(tool.output()?),
        Check::OutputReferences => references::output(tool.output()?),
        Check::OutputMissing => schemas::output_missing(tool.output()),
        Check::RootObject => schemas::root(tool.input()),
        check => about_input(check, tool.input()?),
    }
}

fn about_input(check: &Check, input: &Value) -> Option<Fault> {
    match check {
        Check::ParameterDescription => schemas::parameter_description(input),
        Check::RootKeywords { keywords } => schemas::root_keywords(keywords, input),
        Check::ObjectProperties => schemas::object_properties(input),
        Check::ArrayItems => schemas::array_items(input),
        Check::PropertyKeys { pattern } => schemas::property_keys(pattern, input),
        Check::Dialect { draft } => schemas::dialect(*draft, input),
        Check::DeclaredDialect { refused } => schemas::declared_dialect(refused, input),
        Check::Keywords { keywords } => schemas::keywords(keywords, input),
        Check::References => references::any(input),
        Check::DanglingReference => references::dangling(input),
        Check::Recursion => references::recursion(input),
        Check::TypeArray { null_is_allowed } => schemas::type_array(input, |types| {
            *null_is_allowed && types.len() == 2 && types.contains(&Value::from("null"))
        }),
        Check::TypeMissing => schemas::type_missing(input),
        Check::TypeNextToAnyOf => schemas::type_next_to_any_of(input),
        Check::EnumStrings => schemas::enum_strings(input),
        Check::Formats { known } => schemas::formats(known, input),
        Check::OpenObject => schemas::open_object(input),
        Check::BooleanSchema => schemas::boolean_schema(input),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
