//! Numbers, lengths and times.

use std::time::Duration;

use crate::check::Unit;
use crate::definition::{ToolDefinition, ToolSet};
use crate::fault::Fault;

pub(super) fn count(max: usize, count: usize) -> Option<Fault> {
    let fix = "serve fewer, in groups for example, or use --lazy-tools";
    (count > max).then(|| Fault::new("tools", format!("{count} tools; {max} is the most"), fix))
}

pub(super) fn list(max: usize, set: &ToolSet) -> Option<Fault> {
    let size: usize = set.tools.iter().map(|tool| tool.size).sum();
    let fix = "shorten descriptions and schemas, serve fewer tools, or use --lazy-tools";
    (size > max).then(|| Fault::new("tools", format!("the definitions are {size} bytes; {max} is the most"), fix))
}

pub(super) fn instructions(max: usize, text: &str) -> Option<Fault> {
    let count = text.chars().count();
    let issue = || format!("{count} characters; {max} count");
    (count > max).then(|| Fault::new("instructions", issue(), "put the important part first"))
}

pub(super) fn startup(max: Duration, took: Duration) -> Option<Fault> {
    let issue = || format!("the list came after {took:.1?}; {max:?} is the most");
    (took > max).then(|| Fault::new("start", issue(), "import and connect later, in the first call for example"))
}

pub(super) fn description_required(tool: &ToolDefinition) -> Option<Fault> {
    tool.description.is_empty().then(|| Fault::new("description", "it is empty", "say what the tool does and when"))
}

pub(super) fn description(max: usize, unit: Unit, text: &str) -> Option<Fault> {
    let size = unit.measure(text);
    let issue = || format!("{size} {}; {max} count", unit.name());
    (size > max).then(|| Fault::new("description", issue(), "shorten it, and put the important part first"))
}

pub(super) fn hints(wanted: &[String], tool: &ToolDefinition) -> Option<Fault> {
    let hints = &tool.served["annotations"];
    let missing: Vec<&str> = wanted.iter().map(String::as_str).filter(|hint| !hints[hint].is_boolean()).collect();
    let issue = || format!("{} missing", missing.join(", "));
    (!missing.is_empty()).then(|| Fault::new("annotations", issue(), "state each of them, true or false"))
}
