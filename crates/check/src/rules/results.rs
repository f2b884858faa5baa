//! Results of calls.

use std::time::Duration;

use protomcp_schema::{Quote, Validator};
use serde_json::Value;

use crate::check::Check;
use crate::definition::ToolDefinition;
use crate::fault::Fault;

/// The fault of a result by this check.
pub(super) fn fault(check: &Check, tool: &ToolDefinition, result: &Value) -> Option<Fault> {
    let blocks = result["content"].as_array().map(Vec::as_slice).unwrap_or_default();
    let texts: Vec<&str> = blocks.iter().filter_map(|block| block["text"].as_str()).collect();
    let (structured, is_error) = (result.get("structuredContent"), result["isError"] == true);
    let smaller = "return a page, or a link to the rest, and put the summary first";
    match check {
        Check::ResultSize { max, unit } => {
            let size = unit.measure(&result.to_string());
            let issue = || format!("{size} {}; {max} is the most", unit.name());
            (size > *max).then(|| Fault::new("result", issue(), smaller))
        }
        Check::ResultLines { max } => {
            let lines: usize = texts.iter().map(|text| text.lines().count()).sum();
            (lines > *max).then(|| Fault::new("result", format!("{lines} lines; {max} are shown"), smaller))
        }
        Check::ResultBlocks { shown } => {
            let kind = |block: &Value| block["type"].as_str().unwrap_or_default().to_owned();
            let other = blocks.iter().map(kind).find(|kind| !shown.contains(kind))?;
            Some(Fault::new("/content", format!("a block of type {other} is not shown"), "say the same in a text"))
        }
        Check::StructuredMissing => {
            let is_missing = tool.output().is_some() && structured.is_none() && !is_error;
            let fix = "return structured content, or leave the output schema out";
            is_missing
                .then(|| Fault::new("/structuredContent", "it is missing although the tool has an output schema", fix))
        }
        Check::TextMissing => {
            let fix = "return the JSON of the structured content as a text, too";
            let is_missing = structured.is_some() && texts.is_empty();
            is_missing.then(|| Fault::new("/content", "there is no text next to the structured content", fix))
        }
        Check::ContentHidden => {
            structured?;
            let other = blocks.iter().find(|block| block["type"] != "text")?;
            let issue = format!("a block of type {} is hidden by the structured content", other["type"]);
            Some(Fault::new("/content", issue, "link it in the structured content, or leave that out"))
        }
        Check::ErrorStructured => {
            let schema = tool.output().filter(|_| is_error)?;
            let mismatch = Validator::compile(schema.clone()).ok()?.check(structured?, Quote::Nothing).err()?;
            let issue = format!("an error whose structured content does not match the output schema: {mismatch}");
            Some(Fault::new("/structuredContent", issue, "leave structured content out of errors"))
        }
        _ => None,
    }
}

/// The fault of a call that took this long.
pub(super) fn late(check: &Check, took: Duration) -> Option<Fault> {
    let Check::CallTime { ms } = check else { return None };
    let max = Duration::from_millis(*ms);
    let issue = || format!("it took {took:.1?}; {max:?} is the most");
    (took > max).then(|| Fault::new("call", issue(), "return early with a handle, and let a second tool poll"))
}
