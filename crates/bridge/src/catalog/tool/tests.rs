//! Registered definitions, as clients see them.

use super::*;

fn definition(name: &str) -> ToolDefinition {
    ToolDefinition { name: name.into(), description: "d".into(), ..Default::default() }
}

fn check(definition: &ToolDefinition, json: &str, faults: &[&str]) {
    let (tools, found) = Tool::all(std::slice::from_ref(definition), SchemaPolicy::Always, |_| None);
    assert_eq!(tools[0].1.json().as_str(), json);
    assert_eq!(found.len(), faults.len(), "{found:?}");
    for (found, expected) in found.iter().zip(faults) {
        assert!(found.contains(expected), "{found}");
    }
}

#[test]
fn an_input_schema_is_unchanged_and_a_missing_one_allows_all() {
    let schema = r#"{"type":"object", "properties":{"b":{},"a":{"maximum":9007199254740993}},"x-y":1.50}"#;
    let with = ToolDefinition { input_schema_json: schema.into(), ..definition("t") };
    let listed = format!(r#"{{"name":"t","description":"d","inputSchema":{schema}}}"#);
    check(&with, &listed, &[]);
    check(&ToolDefinition { checks_arguments: true, ..with }, &listed, &[]);
    check(&definition("t"), r#"{"name":"t","description":"d","inputSchema":{"type":"object"}}"#, &[]);
}

#[test]
fn half_of_a_surrogate_pair_is_replaced() {
    let object = Bytes::from(r#"{"type":"object","x":"\ud83d"}"#);
    let wire = ToolDefinition {
        input_schema_json: object.clone(),
        output_schema_json: object.clone(),
        metadata_json: object.clone(),
        annotations_json: object,
        icons_json: r#"[{"src":"\ud83d"}]"#.into(),
        ..definition("t")
    };
    let (tools, faults) = Tool::all(&[wire], SchemaPolicy::Always, |_| None);
    let json = tools[0].1.json().as_str();
    assert!(faults.is_empty() && !json.contains("ud83d") && json.matches(r"\ufffd").count() == 5, "{json}");
}

#[test]
fn a_broken_input_schema_is_replaced_with_a_warning() {
    for (broken, why) in [
        ("{", "not a JSON object"),
        ("[]", "not a JSON object"),
        ("3", "not a JSON object"),
        (r#"{"type":"string"}"#, "type"),
    ] {
        let wire = ToolDefinition { input_schema_json: broken.into(), ..definition("t") };
        check(&wire, r#"{"name":"t","description":"d","inputSchema":{"type":"object"}}"#, &[why]);
    }
}

#[test]
fn a_schema_without_a_type_gets_the_type_object() {
    for (schema, json) in [("{}", r#"{"type":"object"}"#), (r#"{ "oneOf":[] }"#, r#"{"type":"object","oneOf":[] }"#)] {
        let wire = ToolDefinition { input_schema_json: schema.into(), ..definition("t") };
        check(&wire, &format!(r#"{{"name":"t","description":"d","inputSchema":{json}}}"#), &[]);
    }
}

#[test]
fn only_true_hints_are_shown() {
    let wire = ToolDefinition { title: "T".into(), read_only_hint: true, open_world_hint: true, ..definition("t") };
    let json = r#"{"name":"t","title":"T","description":"d","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true,"openWorldHint":true}}"#;
    check(&wire, json, &[]);
    let full = ToolDefinition { annotations_json: r#"{"destructiveHint":false}"#.into(), ..wire };
    check(&full, &json.replace(r#"{"readOnlyHint":true,"openWorldHint":true}"#, r#"{"destructiveHint":false}"#), &[]);
}

#[test]
fn metadata_is_shown_if_it_is_an_object() {
    let shown = |text: &'static str, meta: &str| {
        let wire = ToolDefinition { metadata_json: text.into(), ..definition("t") };
        check(&wire, &format!(r#"{{"name":"t","description":"d","inputSchema":{{"type":"object"}}{meta}}}"#), &[]);
    };
    shown(r#"{"ui":{"resourceUri":"ui://a"}}"#, r#","_meta":{"ui":{"resourceUri":"ui://a"}}"#);
    shown("[]", "");
    shown("{", "");
}

#[test]
fn names_are_checked_and_the_last_duplicate_counts() {
    let second = ToolDefinition { description: "second".into(), ..definition("a") };
    let (tools, faults) =
        Tool::all(&[definition(""), definition("a"), definition("b c"), second], SchemaPolicy::Always, |_| None);
    let names: Vec<_> = tools.iter().map(|(name, _)| name.as_str().to_owned()).collect();
    assert_eq!(names, ["a", "b c", "a"], "the list keeps the last");
    let expected = [Fault::EmptyName.line(""), Fault::UnusualName.line("b c"), Fault::Duplicate.line("a")];
    assert_eq!(faults, expected);
}

#[test]
fn a_fault_of_many_tools_takes_a_few_lines() {
    let mut definitions = vec![definition(""); 10_000];
    definitions.extend((0..10_000).map(|_| definition(&"x y".repeat(1000))));
    definitions.extend((0..10_000).map(|number| ToolDefinition {
        input_schema_json: "[]".into(),
        output_schema_json: "[]".into(),
        ..definition(&format!("t{number}"))
    }));
    let (tools, faults) = Tool::all(&definitions, SchemaPolicy::Always, |_| None);
    assert_eq!(tools.len(), 20_000);
    assert!(faults.len() < 50 && faults.iter().all(|line| line.len() < 300), "{faults:?}");
    for others in [Fault::EmptyName.others(), Fault::InputSchema(String::new()).others()] {
        assert!(faults.contains(&format!("there are 9992 more {others}")), "{faults:?}");
    }
}

#[test]
fn an_output_schema_is_advertised_by_policy_and_proof() {
    let wire = ToolDefinition { output_schema_json: r#"{"type":"object"}"#.into(), ..definition("t") };
    let tool = |policy, before: Option<&Tool>| Tool::all(std::slice::from_ref(&wire), policy, |_| before).0.remove(0).1;
    assert!(tool(SchemaPolicy::Always, None).promises());
    assert!(tool(SchemaPolicy::Never, None).proven().is_none());
    let hidden = tool(SchemaPolicy::Proven, None);
    assert!(!hidden.promises() && !hidden.json().as_str().contains("outputSchema"));
    let proven = hidden.proven().expect("a structured result shows it");
    assert!(proven.promises() && proven.json().as_str().contains(r#""outputSchema":{"type":"object"}"#));
    assert!(proven.proven().is_none(), "once is enough");
    assert!(tool(SchemaPolicy::Proven, Some(&proven)).promises(), "a reload keeps what is proven");
    let other = ToolDefinition { output_schema_json: r#"{"type":"object","title":"new"}"#.into(), ..wire.clone() };
    let changed = Tool::all(std::slice::from_ref(&other), SchemaPolicy::Proven, |_| Some(&proven)).0.remove(0).1;
    assert!(!changed.promises(), "another schema has to prove itself again");
}
