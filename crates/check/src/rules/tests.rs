//! One good and one bad case for each row of the table, at the limits that the row names.

#![expect(clippy::needless_pass_by_value, reason = "rows of a table are short")]

use std::collections::{HashMap, HashSet};

use serde_json::{Value, json};

use super::*;
use crate::check::{Draft, Unit};
use crate::hosts::rules;
use protomcp_types::RawJson;

/// The thing that a row is about.
enum Case {
    Set(ToolSet),
    Result(Value, Duration),
}

fn tool(members: &Value) -> ToolDefinition {
    let mut all = json!({"name": "get_weather", "description": "The weather of a city.",
        "inputSchema": {"type": "object", "properties": {"city": {"type": "string", "description": "Its name"}}}});
    for (name, value) in members.as_object().unwrap() {
        all[name] = value.clone();
    }
    ToolDefinition::listed(&RawJson::of(&all).unwrap())
}

fn tools(all: &[Value]) -> Case {
    Case::Set(ToolSet { server: "weather".into(), tools: all.iter().map(tool).collect(), ..ToolSet::default() })
}

fn one(members: Value) -> Case {
    tools(&[members])
}

fn named(name: &str) -> Case {
    one(json!({"name": name}))
}

fn input(schema: Value) -> Case {
    one(json!({"inputSchema": schema}))
}

/// A schema with one parameter.
fn parameter(schema: Value) -> Case {
    input(json!({"type": "object", "properties": {"a": schema}}))
}

fn count(count: usize) -> Case {
    tools(&(0..count).map(|number| json!({"name": format!("tool_{number}")})).collect::<Vec<_>>())
}

fn server(change: impl Fn(&mut ToolSet)) -> Case {
    let Case::Set(mut set) = named("a") else { unreachable!() };
    change(&mut set);
    Case::Set(set)
}

fn result(value: Value) -> Case {
    Case::Result(value, Duration::ZERO)
}

fn text(text: &str) -> Value {
    json!({"content": [{"type": "text", "text": text}]})
}

/// A good and a bad value for each pattern of the table.
const PATTERNS: [(&str, &str, &str); 11] = [
    (r"^\S+$", "my-server", "my server"),
    ("^[A-Za-z0-9_.-]{1,128}$", "group.get-it", "get it"),
    ("^[a-zA-Z0-9_-]{1,128}$", "get-it_2", "group.get"),
    ("^[a-zA-Z0-9_-]{1,64}$", "get-it_2", "group.get"),
    ("^[a-zA-Z0-9_.-]{1,64}$", "a.b", "$schema"),
    ("^[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}$", "group.get:it", "2fast"),
    ("^[a-zA-Z0-9_-]+$", "get-it", "group/get"),
    ("^[A-Za-z0-9_]+$", "GetIt_2", "get-it"),
    ("^[a-zA-Z][a-zA-Z0-9_]*$", "GetIt_2", "_get"),
    ("^[a-z][a-z0-9_]{0,39}$", "get_it_2", "GetIt"),
    ("^[a-zA-Z_][a-zA-Z0-9_]{0,63}$", "_a", "a.b"),
];

fn matching(pattern: &str) -> (&'static str, &'static str) {
    let found = PATTERNS.iter().find(|(known, _, _)| *known == pattern);
    found.map(|(_, good, bad)| (*good, *bad)).unwrap_or_else(|| panic!("no values for {pattern}"))
}

/// The cases of checks of names, texts and numbers.
fn small(check: &Check) -> Option<(Case, Case)> {
    let parts = |template: &str| template.replace("{server}", "weather").replace("{tool}", "").len();
    Some(match check {
        Check::ServerName { pattern } => {
            let (good, bad) = matching(pattern.as_str());
            (server(|set| set.server = good.into()), server(|set| set.server = bad.into()))
        }
        Check::NamePattern { pattern } => {
            let (good, bad) = matching(pattern.as_str());
            (named(good), named(bad))
        }
        Check::NameLength { template, max, .. } => {
            let room = max - parts(template);
            (named(&"a".repeat(room)), named(&"a".repeat(room + 1)))
        }
        Check::NameCollision { cut: Some(_), .. } => {
            let long = "a".repeat(60);
            let (one, two) = (format!("{long}_x_{long}"), format!("{long}_y_{long}"));
            (
                tools(&[json!({"name": "a_x"}), json!({"name": "a_y"})]),
                tools(&[json!({"name": one}), json!({"name": two})]),
            )
        }
        Check::NameCollision { replacement, .. } => {
            let other = format!("get{replacement}it");
            (
                tools(&[json!({"name": "get.it"}), json!({"name": "get_them"})]),
                tools(&[json!({"name": "get.it"}), json!({"name": other})]),
            )
        }
        Check::DescriptionRequired => (named("a"), one(json!({"description": ""}))),
        Check::DescriptionLength { max, .. } => {
            (one(json!({"description": "x".repeat(*max)})), one(json!({"description": "x".repeat(max + 1)})))
        }
        Check::InstructionsLength { max } => (
            server(|set| set.instructions = Some("é".repeat(*max))),
            server(|set| set.instructions = Some("é".repeat(max + 1))),
        ),
        Check::ToolCount { max } => (count(*max), count(max + 1)),
        Check::ListSize { max } => (named("a"), one(json!({"description": "x".repeat(*max)}))),
        Check::Hints { wanted } => {
            let hints: serde_json::Map<String, Value> =
                wanted.iter().map(|hint| (hint.clone(), json!(false))).collect();
            (one(json!({"annotations": hints})), one(json!({"annotations": {"readOnlyHint": true}})))
        }
        Check::StartupTime { ms } => (
            server(|set| set.listed_after = Some(Duration::from_millis(*ms))),
            server(|set| set.listed_after = Some(Duration::from_millis(ms + 1))),
        ),
        _ => return None,
    })
}

/// The cases of checks of schemas.
fn schema(check: &Check) -> Option<(Case, Case)> {
    let ok = || named("a");
    Some(match check {
        Check::ParameterDescription => (ok(), parameter(json!({"type": "string"}))),
        Check::RootObject => (ok(), input(json!({"properties": {}}))),
        Check::RootKeywords { keywords } => {
            let last = keywords.last().unwrap();
            (parameter(json!({last: [{"type": "string"}]})), input(json!({"type": "object", last: []})))
        }
        Check::ObjectProperties => {
            (input(json!({"type": "object", "properties": {}})), parameter(json!({"type": "object"})))
        }
        Check::ArrayItems => (
            parameter(json!({"type": "array", "items": {"type": "string"}})),
            parameter(json!({"type": ["array", "null"]})),
        ),
        Check::PropertyKeys { pattern } => {
            let (good, bad) = matching(pattern.as_str());
            (
                input(json!({"type": "object", "properties": {good: {}}})),
                input(json!({"type": "object", "properties": {bad: {}}})),
            )
        }
        Check::Dialect { draft: Draft::Draft202012 } => {
            (ok(), parameter(json!({"type": "array", "items": [{"type": "string"}]})))
        }
        Check::Dialect { draft: Draft::Draft7 } => {
            (parameter(json!({"type": "array", "items": [{"type": "string"}]})), parameter(json!({"type": "any"})))
        }
        Check::DeclaredDialect { .. } => {
            let declared = |draft: &str| input(json!({"type": "object", "$schema": draft}));
            (
                declared("http://json-schema.org/draft-07/schema#"),
                declared("https://json-schema.org/draft/2020-12/schema"),
            )
        }
        Check::Keywords { keywords } => {
            (parameter(json!({"$ref": "#"})), parameter(json!({keywords[0].clone(): "#a"})))
        }
        Check::References => {
            // A parameter may have this name.
            (
                input(json!({"type": "object", "properties": {"$ref": {"type": "string"}}})),
                parameter(json!({"$ref": "#/$defs/a"})),
            )
        }
        Check::DanglingReference => (
            input(json!({"properties": {"a": {"$ref": "#/$defs/a"}}, "$defs": {"a": {}}})),
            parameter(json!({"$ref": "#/$defs/a"})),
        ),
        Check::Recursion => (
            input(
                json!({"properties": {"a": {"$ref": "#/$defs/a"}}, "$defs": {"a": {"items": {"$ref": "#/$defs/b"}}, "b": {}}}),
            ),
            input(
                json!({"properties": {"a": {"$ref": "#/$defs/a"}}, "$defs": {"a": {"items": {"$ref": "#/$defs/a"}}}}),
            ),
        ),
        _ => return value(check),
    })
}

/// The cases of checks of the schemas of values.
fn value(check: &Check) -> Option<(Case, Case)> {
    let ok = || named("a");
    Some(match check {
        Check::TypeArray { null_is_allowed: true } => {
            (parameter(json!({"type": ["string", "null"]})), parameter(json!({"type": ["string", "integer"]})))
        }
        Check::TypeArray { null_is_allowed: false } => (ok(), parameter(json!({"type": ["string", "null"]}))),
        Check::TypeMissing => (
            parameter(json!({"type": "string", "not": {"const": "a"}})),
            parameter(json!({"anyOf": [{"type": "string"}]})),
        ),
        Check::TypeNextToAnyOf => {
            (parameter(json!({"anyOf": [{"type": "string"}]})), parameter(json!({"type": "string", "anyOf": []})))
        }
        Check::EnumStrings => (parameter(json!({"enum": ["a"]})), parameter(json!({"enum": ["a", 1]}))),
        Check::Formats { known } => {
            (parameter(json!({"format": known[0].clone()})), parameter(json!({"format": "uri"})))
        }
        Check::OpenObject => (
            input(json!({"type": "object", "additionalProperties": false})),
            parameter(json!({"type": "object", "additionalProperties": {"type": "string"}})),
        ),
        Check::BooleanSchema => {
            (input(json!({"additionalProperties": false})), input(json!({"type": "object", "properties": {"a": true}})))
        }
        Check::OutputRootObject => {
            (one(json!({"outputSchema": {"type": "object"}})), one(json!({"outputSchema": {"type": "array"}})))
        }
        Check::OutputReferences => (
            one(json!({"outputSchema": {"type": "object"}})),
            one(json!({"outputSchema": {"type": "object", "$defs": {"a": {}}}})),
        ),
        Check::OutputMissing => (one(json!({"outputSchema": {"type": "object"}})), ok()),
        _ => return None,
    })
}

/// The cases of checks of results, of a tool with an output schema.
fn of_result(check: &Check) -> Option<(Case, Case)> {
    let both = |structured: Value| json!({"content": [{"type": "text", "text": "5"}], "structuredContent": structured});
    Some(match check {
        Check::CallTime { ms } => {
            (Case::Result(text(""), Duration::from_millis(*ms)), Case::Result(text(""), Duration::from_millis(ms + 1)))
        }
        Check::ResultSize { max, unit } => {
            let each = if *unit == Unit::Tokens { 4 } else { 1 };
            let room = max * each - text("").to_string().len();
            (result(text(&"x".repeat(room))), result(text(&"x".repeat(room + 1))))
        }
        Check::ResultLines { max } => (result(text(&"x\n".repeat(*max))), result(text(&"x\n".repeat(max + 1)))),
        Check::ResultBlocks { .. } => {
            (result(text("a")), result(json!({"content": [{"type": "image", "data": "", "mimeType": "image/png"}]})))
        }
        Check::StructuredMissing => (result(both(json!({"n": 5}))), result(text("5"))),
        Check::TextMissing => {
            (result(both(json!({"n": 5}))), result(json!({"content": [], "structuredContent": {"n": 5}})))
        }
        Check::ContentHidden => {
            let image = json!({"content": [{"type": "image"}], "structuredContent": {"n": 5}});
            (result(both(json!({"n": 5}))), result(image))
        }
        Check::ErrorStructured => {
            let error = |structured: Value| {
                let mut value = both(structured);
                value["isError"] = json!(true);
                result(value)
            };
            (error(json!({"n": 5})), error(json!({"why": "no"})))
        }
        _ => return None,
    })
}

/// The number of findings of this row alone.
fn found(rule: &'static HostRule, case: &Case) -> usize {
    let hosts = HostSelection::default().with(&rule.host).unwrap();
    let findings = match case {
        Case::Set(set) => check_set(set, &hosts),
        Case::Result(value, took) => {
            let schema = json!({"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}});
            check_result(&tool(&json!({"outputSchema": schema})), value, *took, &hosts)
        }
    };
    findings.iter().flat_map(|finding| &finding.rules).filter(|found| found.id == rule.id).count()
}

#[test]
fn suggested_names_are_distinct() {
    let long = "x".repeat(70);
    let names = [format!("{long}_one"), format!("{long}_two"), "a.b".into(), "a_b".into()];
    let Case::Set(set) = tools(&names.map(|name| json!({"name": name}))) else { unreachable!() };
    let findings = check_set(&set, &HostSelection::default().with("claude-desktop").unwrap());
    let renamed = findings.iter().filter(|finding| finding.fix.starts_with("rename it"));
    let fixes: HashMap<_, _> = renamed.map(|finding| (&finding.tool, &finding.fix)).collect();
    let distinct: HashSet<_> = fixes.values().collect();
    assert!(fixes.len() == 3 && distinct.len() == 3, "{fixes:?}");
    assert!(!fixes.values().any(|fix| fix.contains("\"a_b\"")), "a tool has this name: {fixes:?}");
}

#[test]
fn every_row_has_a_good_and_a_bad_case() {
    for rule in rules() {
        let cases = small(&rule.check).or_else(|| schema(&rule.check)).or_else(|| of_result(&rule.check));
        let (good, bad) = cases.unwrap_or_else(|| panic!("{} has no cases", rule.id));
        assert_eq!(found(rule, &good), 0, "{}: the good case", rule.id);
        assert_eq!(found(rule, &bad), 1, "{}: the bad case", rule.id);
    }
}
