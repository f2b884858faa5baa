//! Keywords of schemas.

use serde_json::Value;

use super::walk::{first, is_of_type};
use crate::check::Draft;
use crate::fault::Fault;
use crate::pattern::Pattern;

const INPUT: &str = "/inputSchema";

pub(super) fn root(input: Option<&Value>) -> Option<Fault> {
    let fix = "begin with {\"type\": \"object\", \"properties\": {}}";
    match input {
        None | Some(Value::Null) => Some(Fault::new(INPUT, "there is no input schema", fix)),
        Some(schema) if schema["type"] == "object" => None,
        Some(_) => Some(Fault::new(INPUT, "its type is not \"object\"", fix)),
    }
}

pub(super) fn output_root(output: &Value) -> Option<Fault> {
    let fix = "put the value into a member of an object, or leave the output schema out";
    (output["type"] != "object").then(|| Fault::new("/outputSchema", "its type is not \"object\"", fix))
}

pub(super) fn output_missing(output: Option<&Value>) -> Option<Fault> {
    let fix = "declare the type of the result";
    output.is_none().then(|| Fault::new("/outputSchema", "there is no output schema", fix))
}

pub(super) fn root_keywords(keywords: &[String], input: &Value) -> Option<Fault> {
    let found: Vec<&str> = keywords.iter().map(String::as_str).filter(|word| input.get(*word).is_some()).collect();
    let fix = "use one object with the properties of all branches, the tag as an enum, and check the rest in the tool; or \
               serve with --for";
    (!found.is_empty()).then(|| Fault::new(INPUT, format!("its root has {}", found.join(", ")), fix))
}

pub(super) fn object_properties(input: &Value) -> Option<Fault> {
    first(input, "add \"properties\", {} if there are none", |_, schema| {
        let is_missing = schema["type"] == "object" && schema.get("properties").is_none();
        is_missing.then(|| "an object without \"properties\"".to_owned())
    })
}

pub(super) fn array_items(input: &Value) -> Option<Fault> {
    first(input, "add \"items\", {\"type\": \"string\"} for example", |_, schema| {
        let is_missing = is_of_type(schema, "array") && schema.get("items").is_none();
        is_missing.then(|| "an array without \"items\"".to_owned())
    })
}

pub(super) fn property_keys(pattern: &Pattern, input: &Value) -> Option<Fault> {
    first(input, "rename the parameter", |_, schema| {
        let names = schema.get("properties")?.as_object()?.keys();
        let bad: Vec<_> = names.filter(|name| !pattern.is_match(name)).collect();
        (!bad.is_empty()).then(|| format!("the property {:?} does not match {pattern}", bad[0]))
    })
}

pub(super) fn parameter_description(input: &Value) -> Option<Fault> {
    let properties = input.get("properties")?.as_object()?;
    let lacking = |schema: &Value| schema.get("description").is_none_or(|text| text == "");
    let bare: Vec<_> = properties.iter().filter(|(_, schema)| lacking(schema)).map(|(name, _)| name.as_str()).collect();
    let fault = |name: &str| {
        let issue = "a parameter without a description";
        Fault { more: bare.len() - 1, ..Fault::new(format!("{INPUT}/properties/{name}"), issue, "describe it") }
    };
    bare.first().map(|name| fault(name))
}

pub(super) fn dialect(draft: Draft, input: &Value) -> Option<Fault> {
    let (name, checked) = match draft {
        Draft::Draft202012 => ("2020-12", jsonschema::draft202012::meta::validate(input)),
        Draft::Draft7 => ("draft-07", jsonschema::draft7::meta::validate(input)),
    };
    let error = checked.err()?;
    let place = format!("{INPUT}{}", error.instance_path().as_str());
    Some(Fault::new(place, format!("not a schema of {name}: {error}"), "correct the schema"))
}

pub(super) fn declared_dialect(refused: &str, input: &Value) -> Option<Fault> {
    let declared = input["$schema"].as_str().filter(|declared| declared.contains(refused))?;
    Some(Fault::new(format!("{INPUT}/$schema"), format!("it declares {declared}"), "leave $schema out"))
}

pub(super) fn keywords(keywords: &[String], input: &Value) -> Option<Fault> {
    first(input, "do without the keyword", |_, schema| {
        let found = keywords.iter().find(|keyword| schema.get(keyword.as_str()).is_some())?;
        Some(format!("it has {found}"))
    })
}

/// `is_allowed`: of a list of types.
pub(super) fn type_array(input: &Value, is_allowed: impl Fn(&[Value]) -> bool) -> Option<Fault> {
    first(input, "give it one type; an optional parameter is one that is not required", |_, schema| {
        let types = schema["type"].as_array()?;
        (!is_allowed(types)).then(|| format!("its type is a list: {}", schema["type"]))
    })
}

pub(super) fn type_missing(input: &Value) -> Option<Fault> {
    first(input, "give it one type", |pointer, schema| {
        let is_bare = schema.is_object() && schema.get("type").is_none() && !is_condition(pointer);
        is_bare.then(|| "it has no type".to_owned())
    })
}

/// True for schemas that say something about a value in addition to its own schema.
fn is_condition(pointer: &str) -> bool {
    let is_index = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let mut parts = pointer.rsplit('/').filter(|part| !is_index(part));
    parts.next().is_some_and(|part| ["allOf", "not", "if", "then", "else", "propertyNames"].contains(&part))
}

pub(super) fn type_next_to_any_of(input: &Value) -> Option<Fault> {
    first(input, "move the type into the branches", |_, schema| {
        let has_both = schema.get("type").is_some() && schema.get("anyOf").is_some();
        has_both.then(|| "it has both type and anyOf".to_owned())
    })
}

pub(super) fn enum_strings(input: &Value) -> Option<Fault> {
    first(input, "list texts, and read them as numbers in the tool", |_, schema| {
        let other = schema["enum"].as_array()?.iter().find(|value| !value.is_string())?;
        Some(format!("its enum has {other}, which is not text"))
    })
}

pub(super) fn formats(known: &[String], input: &Value) -> Option<Fault> {
    first(input, "describe the format in words, too", |_, schema| {
        let format = schema["format"].as_str().filter(|format| !known.iter().any(|known| known == format))?;
        Some(format!("the format {format:?} is lost"))
    })
}

pub(super) fn open_object(input: &Value) -> Option<Fault> {
    first(input, "name the members as properties, or take them as a list of pairs", |_, schema| {
        let open = schema.get("additionalProperties").filter(|open| *open != &Value::Bool(false))?;
        Some(match open {
            Value::Bool(_) => "it takes members with any names".to_owned(),
            _ => "it takes members with any names, by a schema".to_owned(),
        })
    })
}

pub(super) fn boolean_schema(input: &Value) -> Option<Fault> {
    first(input, "write {\"type\": …} in its place", |pointer, schema| {
        let is_flag = ["additionalProperties", "unevaluatedProperties", "unevaluatedItems"]
            .iter()
            .any(|word| pointer.ends_with(&format!("/{word}")));
        (schema.is_boolean() && !is_flag).then(|| format!("the schema {schema}"))
    })
}
