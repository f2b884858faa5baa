//! Definitions before and after.

use protomcp_testing::Log;
use serde_json::json;

use super::*;
use crate::definition::ToolSet;
use crate::rules::check_set;

#[track_caller]
fn adapted(hosts: &str, definition: &Value) -> Value {
    let hosts = HostSelection::default().with(hosts).unwrap();
    let raw = RawJson::of(definition).unwrap();
    Adaptation::new(&hosts, "tools").definitions(&[raw])[0].to().unwrap()
}

fn tool(schema: &Value) -> Value {
    json!({"name": "a", "description": "An a.", "inputSchema": schema})
}

#[track_caller]
fn check(hosts: &str, schema: &Value, expected: &Value) {
    let after = adapted(hosts, &tool(schema));
    assert_eq!(after["inputSchema"], *expected);
    // It says what it takes: the host has nothing to refuse.
    let set = ToolSet {
        server: "tools".into(),
        tools: vec![ToolDefinition::listed(&RawJson::of(&after).unwrap())],
        ..ToolSet::default()
    };
    let left = check_set(&set, &HostSelection::default().with(hosts).unwrap());
    assert!(!left.iter().any(crate::finding::Finding::is_loss), "{left:?}");
}

#[test]
fn a_definition_that_is_fine_stays_as_it_is() {
    let raw = RawJson::parse(
        r#"{ "name":"a", "inputSchema": {"type":"object","properties":{"x":{"maximum":9007199254740993}}} }"#,
    );
    let raw = raw.unwrap();
    let hosts = HostSelection::default().with("claude").unwrap();
    assert_eq!(Adaptation::new(&hosts, "tools").definitions(std::slice::from_ref(&raw)), [raw]);
}

#[test]
fn root_unions_become_one_object() {
    let union = json!({"oneOf": [
        {"type": "object", "properties": {"kind": {"const": "file"}, "path": {"type": "string"}}, "required": ["kind", "path"]},
        {"type": "object", "properties": {"kind": {"const": "url"}, "url": {"type": "string"}}, "required": ["kind", "url"]},
    ]});
    let expected = json!({
        "type": "object",
        "properties": {
            "kind": {"type": "string", "enum": ["file", "url"]}, "path": {"type": "string"}, "url": {"type": "string"},
        },
        "required": ["kind"],
    });
    check("openai", &union, &expected);
    let all = json!({"type": "object", "allOf": [
        {"properties": {"a": {"type": "string"}}, "required": ["a"]}, {"properties": {"a": {"type": "integer"}}},
    ]});
    let expected = json!({"type": "object", "required": ["a"],
        "properties": {"a": {"anyOf": [{"type": "string"}, {"type": "integer"}]}}});
    check("anthropic", &all, &expected);
}

#[test]
fn references_are_written_out_and_recursion_ends() {
    let schema = json!({"type": "object", "properties": {"definitions": {"type": "string"}, "node": {"$ref": "#/$defs/node"}},
        "$defs": {"node": {"type": "object", "properties": {"name": {"type": "string"}, "next": {"$ref": "#/$defs/node"}}}}});
    let expected = json!({"type": "object", "properties": {"definitions": {"type": "string"}, "node": {
        "type": "object", "properties": {"name": {"type": "string"}, "next": {"type": "object"}}}}});
    check("gemini-api", &schema, &expected);
    let schema = json!({"type": "object", "properties": {"a": {"$ref": "#word"}, "b": {"$ref": "#word"}},
        "$defs": {"w": {"$anchor": "word", "type": "string"}}});
    let expected = json!({"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}});
    check("gemini-api", &schema, &expected);
    // A name inside a target is not written twice, and a dynamic reference is one.
    let schema = json!({"type": "object", "properties": {"a": {"$dynamicRef": "#n"}, "b": {"$ref": "#n"}},
        "$defs": {"n": {"$dynamicAnchor": "n", "type": "array", "items": {"$anchor": "i", "type": "string"}}}});
    let list = json!({"type": "array", "items": {"type": "string"}});
    check("gemini-api", &schema, &json!({"type": "object", "properties": {"a": list, "b": list}}));
    // Names stay where there are no references.
    let schema = json!({"type": "object", "properties": {"a": {"$anchor": "a", "type": "string"}}});
    check("gemini-api", &schema, &schema);
}

#[test]
fn values_that_look_like_references_stay() {
    let value = json!({"$ref": "#/$defs/w", "$anchor": "w"});
    let of = |keyword: &str, value: Value| json!({"type": "object", "properties": {"a": {keyword: value}}});
    for schema in [
        of("const", value.clone()),
        of("enum", json!([value])),
        of("default", value.clone()),
        of("examples", json!([value])),
    ] {
        let mut given = schema.clone();
        given["$defs"] = json!({"w": {"type": "string"}});
        assert_eq!(adapted("gemini-api", &tool(&given))["inputSchema"], schema);
    }
}

#[test]
fn references_grow_to_a_bound() {
    let long = json!({"type": "string", "description": "x".repeat(100 * 1024)});
    let many: serde_json::Map<String, Value> =
        (0..2_000).map(|n| (format!("p{n}"), json!({"$ref": "#/$defs/long"}))).collect();
    let after = adapted("gemini-api", &tool(&json!({"type": "object", "properties": many, "$defs": {"long": long}})));
    let properties = &after["inputSchema"]["properties"];
    assert!(after.to_string().len() < 8 * 1024 * 1024);
    assert!(properties["p0"] == long && properties.as_object().unwrap().len() == 2_000);
    // A chain is as deep as a schema may be.
    let link = |n: usize| (format!("d{n}"), json!({"type": "array", "items": {"$ref": format!("#/$defs/d{}", n + 1)}}));
    let chain: serde_json::Map<String, Value> = (0..5_000).map(link).collect();
    let after = adapted(
        "gemini-api",
        &tool(&json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/d0"}}, "$defs": chain})),
    );
    assert!(after["inputSchema"].to_string().matches("items").count() <= 100);
}

#[test]
fn a_tool_whose_schema_is_cut_is_named_once() {
    let object = |properties: &Value| json!({"type": "object", "properties": properties});
    let of = |count: usize, schema: &Value| -> Value {
        (0..count).map(|n| (format!("p{n}"), schema.clone())).collect::<serde_json::Map<_, _>>().into()
    };
    // Ten values a reference are too many values, and few bytes.
    let long = |name: &str, references: usize| {
        let mut schema = object(&of(references, &json!({"$ref": "#/$defs/ten"})));
        schema["$defs"] = json!({"ten": object(&of(10, &json!({})))});
        RawJson::of(&json!({"name": name, "inputSchema": schema})).unwrap()
    };
    let page = [long("long", 2_000), long("short", 10), long("longer", 3_000)];
    let adaptation = Adaptation::new(&HostSelection::default().with("gemini-api").unwrap(), "tools");
    let log = Log::capture();
    assert_eq!(adaptation.definitions(&page), adaptation.definitions(&page));
    let text = log.text();
    assert_eq!(text.lines().count(), 2, "{text}");
    assert!(text.contains("tool=\"long\"") && text.contains("tool=\"longer\""), "{text}");
}

#[test]
fn missing_parts_are_filled_in() {
    let schema = json!({"type": "object", "properties": {"list": {"type": "array"}, "any": {"type": "object"}}});
    let expected = json!({"type": "object", "properties": {
        "list": {"type": "array", "items": {}}, "any": {"type": "object", "properties": {}}}});
    check("openai", &schema, &expected);
    check("openai", &json!({"type": "object"}), &json!({"type": "object", "properties": {}}));
    let types = json!({"type": "object", "properties": {"a": {"type": ["string", "null"]}, "b": {"type": ["string", "integer"]}}});
    let expected = json!({"type": "object", "properties": {
        "a": {"type": "string"}, "b": {"anyOf": [{"type": "string"}, {"type": "integer"}]}}});
    check("gemini-api", &types, &expected);
}

#[test]
fn output_schemas_are_inlined_or_left_out() {
    let definition = |schema: &Value| json!({"name": "a", "inputSchema": {"type": "object"}, "outputSchema": schema});
    let schema =
        json!({"type": "object", "properties": {"x": {"$ref": "#/$defs/x"}}, "$defs": {"x": {"type": "string"}}});
    let after = adapted("claude-code", &definition(&schema));
    assert_eq!(after["outputSchema"], json!({"type": "object", "properties": {"x": {"type": "string"}}}));
    assert!(adapted("claude-code", &definition(&json!({"type": "array"}))).get("outputSchema").is_none());
}

#[test]
fn names_are_distinct_short_and_reversible() {
    let hosts = HostSelection::default().with("claude-desktop").unwrap().with("cursor").unwrap();
    let adaptation = Adaptation::new(&hosts, "tools");
    // The digits of the last two are the same.
    let list = "github_repositories_list_pull_requests_for_the_organisation";
    let (one, other) = (format!("{list}_ezcqwf"), format!("{list}_myhnhv"));
    let long = "long.".repeat(20);
    let names = ["a.b", "a_b", "a/b", &long, &format!("{long}x"), "fine", &one, &other];
    let page: Vec<_> = names.iter().map(|name| RawJson::of(&json!({"name": name})).unwrap()).collect();
    let shown = |page: &[RawJson]| -> Vec<String> {
        let shown = adaptation.definitions(page);
        shown.iter().map(|tool| tool.to::<Value>().unwrap()["name"].as_str().unwrap().to_owned()).collect()
    };
    let first = shown(&page);
    assert_eq!((first[1].as_str(), first[5].as_str()), ("a_b", "fine"), "fine names stay");
    let distinct: HashSet<_> = first.iter().collect();
    assert!(distinct.len() == names.len() && first.iter().all(|name| name.len() <= 40), "{first:?}");
    for (name, own) in first.iter().zip(names) {
        assert_eq!(adaptation.own_name(name).as_deref(), Some(own));
    }
    assert_eq!(shown(&page), first, "a name stays the same");
    assert_eq!(adaptation.own_name("other"), None);
}
