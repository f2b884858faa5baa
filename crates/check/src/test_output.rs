//! The output of `pmcp test list` and `pmcp test call`, in the shapes that version 0.3.1 has: scripts read it.

use std::borrow::Cow;
use std::time::Duration;

use protomcp_schema::GoDuration;
use protomcp_types::one_line;
use serde_json::{Map, Value, json};

use crate::finding::Finding;
use crate::trace::TraceEntry;

/// The lists of a server, as `pmcp test list` prints them.
#[derive(Debug, Clone, Default)]
pub struct Lists {
    /// The tools.
    pub tools: Vec<Value>,
    /// The resources. Templates are not among them.
    pub resources: Vec<Value>,
    /// The prompts.
    pub prompts: Vec<Value>,
}

/// A call, as `pmcp test call` prints it.
#[derive(Debug, Clone)]
pub struct CallReport {
    /// The name of the tool.
    pub tool: String,
    /// The time of the call.
    pub took: Duration,
    /// The result.
    pub result: Value,
    /// Tools that the call has enabled, by name.
    pub enabled: Vec<String>,
    /// Tools that the call has disabled, by name.
    pub disabled: Vec<String>,
    /// The messages of the conversation; `None`: they are not wanted.
    pub trace: Option<Vec<TraceEntry>>,
}

impl Lists {
    /// The lists for people.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut text = format!("Tools ({}):\n", self.tools.len());
        let tools: Vec<String> = self.tools.iter().map(tool).collect();
        text.push_str(&if tools.is_empty() { "  (no tools)\n".to_owned() } else { tools.join("\n") });
        text.push_str(&format!("\nResources ({}):\n", self.resources.len()));
        text.push_str(&or_none(&self.resources.iter().map(resource).collect::<Vec<_>>(), "resources"));
        text.push_str(&format!("\nPrompts ({}):\n", self.prompts.len()));
        text + &or_none(&self.prompts.iter().map(prompt).collect::<Vec<_>>(), "prompts")
    }

    /// The lists for programs.
    #[must_use]
    pub fn to_json(&self) -> String {
        indented(&json!({"tools": self.tools, "resources": self.resources, "prompts": self.prompts}))
    }
}

impl CallReport {
    /// True if the tool reports an error.
    #[must_use]
    pub fn is_error(&self) -> bool {
        self.result["isError"] == true
    }

    /// The call for people.
    #[must_use]
    pub fn to_text(&self) -> String {
        let status = if self.is_error() { "error" } else { "ok" };
        let (tool, took) = (one_line(&self.tool), GoDuration(self.took));
        let mut text = format!("Tool: {tool}\nDuration: {took}\nStatus: {status}\n\nResult:\n");
        for block in self.result["content"].as_array().into_iter().flatten() {
            let shown = block["text"].as_str().map_or_else(|| block.to_string(), ToOwned::to_owned);
            shown.lines().for_each(|line| text.push_str(&format!("  {line}\n")));
        }
        for (word, names) in [("enabled", &self.enabled), ("disabled", &self.disabled)] {
            if !names.is_empty() {
                text.push_str(&format!("\nTools {word}: [{}]\n", one_line(&names.join(", "))));
            }
        }
        if let Some(trace) = &self.trace {
            text.push_str(&format!("\nTrace ({} messages):\n", trace.len()));
            trace.iter().for_each(|entry| text.push_str(&format!("  {}\n", entry.line())));
        }
        text
    }

    /// The call for programs, with findings about its result.
    #[must_use]
    pub fn to_json(&self, findings: &[Finding]) -> String {
        let mut members = Map::new();
        members.insert("tool".into(), json!(self.tool));
        members.insert("duration".into(), json!(GoDuration(self.took).to_string()));
        members.insert("isError".into(), json!(self.is_error()));
        members.insert("content".into(), self.result.get("content").cloned().unwrap_or_else(|| json!([])));
        if let Some(structured) = self.result.get("structuredContent") {
            members.insert("structuredContent".into(), structured.clone());
        }
        for (word, names) in [("toolsEnabled", &self.enabled), ("toolsDisabled", &self.disabled)] {
            if !names.is_empty() {
                members.insert(word.into(), json!(names));
            }
        }
        if let Some(trace) = &self.trace {
            members.insert("trace".into(), trace.iter().map(TraceEntry::to_json).collect());
        }
        if !findings.is_empty() {
            members.insert("findings".into(), findings.iter().map(|finding| finding.to_json("warning")).collect());
        }
        indented(&Value::Object(members))
    }
}

fn indented(value: &Value) -> String {
    format!("{value:#}\n")
}

fn or_none(lines: &[String], what: &str) -> String {
    if lines.is_empty() { format!("  (no {what})\n") } else { lines.concat() }
}

fn tool(tool: &Value) -> String {
    let schema = &tool["inputSchema"];
    let required = |name: &str| schema["required"].as_array().is_some_and(|all| all.iter().any(|one| one == name));
    let properties = schema["properties"].as_object().into_iter().flatten();
    let mut parameters: Vec<_> =
        properties.map(|(name, schema)| (!required(name), name, schema["type"].as_str().unwrap_or("any"))).collect();
    parameters.sort();
    let mut text = format!("  {}{}\n", text(tool, "name"), dash(tool));
    for (is_optional, name, kind) in parameters {
        let word = if is_optional { "optional" } else { "required" };
        text.push_str(&format!("    {} ({}, {word})\n", one_line(name), one_line(kind)));
    }
    text
}

fn resource(resource: &Value) -> String {
    let kind = resource["mimeType"].as_str().map(|kind| format!("  [{kind}]")).unwrap_or_default();
    format!("  {} ({}){}{kind}\n", text(resource, "uri"), text(resource, "name"), dash(resource))
}

fn prompt(prompt: &Value) -> String {
    let head = format!("  {}{}\n", text(prompt, "name"), dash(prompt));
    prompt["arguments"].as_array().into_iter().flatten().fold(head, |lines, argument| {
        let word = if argument["required"] == true { "required" } else { "optional" };
        lines + &format!("    {} ({word}){}\n", text(argument, "name"), dash(argument))
    })
}

fn text<'a>(item: &'a Value, member: &str) -> Cow<'a, str> {
    one_line(item[member].as_str().unwrap_or_default())
}

/// ` — description`, if there is one.
fn dash(item: &Value) -> String {
    match item["description"].as_str().unwrap_or_default() {
        "" => String::new(),
        description => format!(" — {description}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_printed_with_their_parameters() {
        let schema = json!({"type": "object", "required": ["b"], "properties": {
            "c": {"type": "string"}, "a": {"anyOf": []}, "b": {"type": "integer"}}});
        let lists = Lists {
            tools: vec![
                json!({"name": "one", "description": "First", "inputSchema": schema}),
                json!({"name": "two", "inputSchema": {"type": "object"}}),
            ],
            resources: vec![json!({"uri": "r:1", "name": "R", "description": "A file", "mimeType": "text/plain"})],
            prompts: vec![
                json!({"name": "p", "arguments": [{"name": "x", "required": true, "description": "An x"}, {"name": "y"}]}),
            ],
        };
        let expected = "Tools (2):\n  one — First\n    b (integer, required)\n    a (any, optional)\n    c (string, optional)\n\n  two\n\n\
                        Resources (1):\n  r:1 (R) — A file  [text/plain]\n\nPrompts (1):\n  p\n    x (required) — An x\n    y (optional)\n";
        assert_eq!(lists.to_text(), expected);
        let empty = "Tools (0):\n  (no tools)\n\nResources (0):\n  (no resources)\n\nPrompts (0):\n  (no prompts)\n";
        assert_eq!(Lists::default().to_text(), empty);
        assert!(Lists::default().to_json().contains("\n  \"tools\": []"));
    }

    #[test]
    fn calls_are_printed_with_their_result() {
        let blocks = json!([{"type": "text", "text": "a\nb"}, {"type": "image", "data": ""}]);
        let report = CallReport {
            tool: "add".into(),
            took: Duration::from_micros(1500),
            result: json!({"content": blocks}),
            enabled: vec!["x".into(), "y".into()],
            disabled: Vec::new(),
            trace: Some(Vec::new()),
        };
        let expected = "Tool: add\nDuration: 1.5ms\nStatus: ok\n\nResult:\n  a\n  b\n  {\"data\":\"\",\"type\":\"image\"}\n\n\
                        Tools enabled: [x, y]\n\nTrace (0 messages):\n";
        let text = report.to_text().replace("{\"type\":\"image\",\"data\":\"\"}", "{\"data\":\"\",\"type\":\"image\"}");
        assert_eq!(text, expected);
        let json: Value = serde_json::from_str(&report.to_json(&[])).unwrap();
        assert_eq!((&json["duration"], &json["isError"]), (&json!("1.5ms"), &json!(false)));
        assert_eq!((&json["toolsEnabled"], json.get("toolsDisabled")), (&json!(["x", "y"]), None));
    }
}
