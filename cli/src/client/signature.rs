//! The arguments of a tool or a prompt on one line: `(path: string, depth?: integer)`.

use protomcp_types::{JsonObject, PromptArgument, RawJson};
use serde_json::Value;

/// The longest list of arguments, in characters.
const MAX: usize = 100;
/// The most alternatives of a type.
const MAX_CHOICES: usize = 4;
/// The deepest type. Those inside it have no name.
const MAX_DEPTH: usize = 3;

/// The arguments of a tool with this input schema. A schema without properties allows any argument.
pub(super) fn of_tool(schema: &RawJson) -> String {
    let schema = JsonObject::from_raw(schema).unwrap_or_default();
    let Some(properties) = schema.member("properties").and_then(|raw| JsonObject::from_raw(raw).ok()) else {
        return "(…)".to_owned();
    };
    let required: Vec<String> = schema.member("required").and_then(|raw| raw.to().ok()).unwrap_or_default();
    listed(properties.iter().map(|(name, schema)| {
        let mark = if required.iter().any(|known| known == name) { "" } else { "?" };
        format!("{name}{mark}: {}", kind(&schema.to().unwrap_or_default(), MAX_DEPTH))
    }))
}

/// The arguments of a prompt, which are texts.
pub(super) fn of_prompt(arguments: &[PromptArgument]) -> String {
    let argument = |argument: &PromptArgument| format!("{}{}", argument.name, if argument.required { "" } else { "?" });
    listed(arguments.iter().map(argument))
}

fn listed(arguments: impl Iterator<Item = String>) -> String {
    let (mut text, mut length) = ("(".to_owned(), 0);
    for argument in arguments {
        if length > 0 {
            text.push_str(", ");
        }
        length += argument.chars().count() + 2;
        if length > MAX {
            text.push('…');
            break;
        }
        text.push_str(&argument);
    }
    text + ")"
}

/// The name of the type that a schema allows.
fn kind(schema: &Value, depth: usize) -> String {
    let list = |name: &str| schema[name].as_array().filter(|list| !list.is_empty());
    if depth == 0 {
        return "any".to_owned();
    }
    if let Some(values) = list("enum") {
        return choice(values.iter().map(Value::to_string));
    }
    if let Some(value) = schema.get("const") {
        return value.to_string();
    }
    if let Some(reference) = schema["$ref"].as_str() {
        return reference.rsplit('/').next().unwrap_or(reference).to_owned();
    }
    if let Some(schemas) = list("anyOf").or_else(|| list("oneOf")) {
        return choice(schemas.iter().map(|schema| kind(schema, depth - 1)));
    }
    match &schema["type"] {
        Value::String(name) if name == "array" => match kind(&schema["items"], depth - 1) {
            element if element.contains(' ') => format!("({element})[]"),
            element => format!("{element}[]"),
        },
        Value::String(name) => name.clone(),
        Value::Array(names) => choice(names.iter().filter_map(Value::as_str).map(str::to_owned)),
        _ => "any".to_owned(),
    }
}

/// The alternatives, each once.
fn choice(kinds: impl Iterator<Item = String>) -> String {
    let mut all: Vec<String> = Vec::new();
    for kind in kinds {
        if all.contains(&kind) {
            continue;
        }
        if all.len() == MAX_CHOICES {
            all.push("…".to_owned());
            break;
        }
        all.push(kind);
    }
    all.join(" | ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_have_the_order_and_the_types_of_the_schema() {
        for (schema, arguments) in [
            (r#"{"type":"object"}"#, "(…)"),
            (r#"{"type":"object","properties":{}}"#, "()"),
            (
                r#"{"properties":{"b":{"type":"integer"},"a":{"type":"string"}},"required":["b"]}"#,
                "(b: integer, a?: string)",
            ),
            (r#"{"properties":{"x":{},"y":true,"z":{"type":7}}}"#, "(x?: any, y?: any, z?: any)"),
            (
                r##"{"properties":{"a":{"type":"array","items":{"$ref":"#/$defs/Node"}},"b":{"type":"array"}}}"##,
                "(a?: Node[], b?: any[])",
            ),
            (
                r#"{"properties":{"c":{"enum":["a","b",1]},"d":{"anyOf":[{"type":"string"},{"type":"null"}]}}}"#,
                r#"(c?: "a" | "b" | 1, d?: string | null)"#,
            ),
            (
                r#"{"properties":{"n":{"type":["integer","null"]},"l":{"type":"array","items":{"enum":[1,2,3,4,5,6]}}}}"#,
                "(n?: integer | null, l?: (1 | 2 | 3 | 4 | …)[])",
            ),
        ] {
            assert_eq!(of_tool(&RawJson::parse(schema.to_owned()).unwrap()), arguments, "{schema}");
        }
        let arguments = [PromptArgument::new("name").required(), PromptArgument::new("tone")];
        assert_eq!(of_prompt(&arguments), "(name, tone?)");
    }

    #[test]
    fn many_arguments_are_cut_between_two() {
        let members: Vec<_> = (0..50).map(|n| format!(r#""argument_{n}":{{"type":"string"}}"#)).collect();
        let schema = RawJson::parse(format!(r#"{{"properties":{{{}}}}}"#, members.join(","))).unwrap();
        let text = of_tool(&schema);
        assert!(text.chars().count() < 110 && text.ends_with(": string, …)"), "{text}");
    }
}
