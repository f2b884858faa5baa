//! The keywords of a schema, by what they look at.

use std::collections::HashMap;
use std::ptr;
use std::rc::Rc;

use jsonschema::{Draft, Validator};
use serde_json::{Map, Value, json};

/// Keywords that look at the value itself. `additionalProperties` is one of them if it is `false`, `dependencies` if it lists
/// names.
const ASSERTIONS: [&str; 22] = [
    "type",
    "const",
    "enum",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "minProperties",
    "maxProperties",
    "required",
    "dependentRequired",
    "pattern",
    "format",
    "contentEncoding",
    "contentMediaType",
    "uniqueItems",
    "$comment",
];

/// Keywords that apply a schema to parts that the walk does not compare. It claims nothing about them, unless that schema
/// looks at the value itself.
const UNKNOWN: [&str; 4] = ["contains", "propertyNames", "unevaluatedItems", "unevaluatedProperties"];

/// Keywords that evaluate members in addition to `properties` and `patternProperties`.
const EVALUATING: [&str; 9] = [
    "$ref",
    "$dynamicRef",
    "$recursiveRef",
    "allOf",
    "anyOf",
    "oneOf",
    "if",
    "dependentSchemas",
    "additionalProperties",
];

/// The schema has keywords that the walk does not know.
pub(super) fn is_unknown(schema: &Map<String, Value>) -> bool {
    UNKNOWN.iter().any(|keyword| schema.contains_key(*keyword) && !is_assertion(schema, keyword))
}

/// The keyword looks at the value itself.
fn is_assertion(schema: &Map<String, Value>, keyword: &str) -> bool {
    match (keyword, &schema[keyword]) {
        ("contains" | "propertyNames", Value::Bool(_)) => true,
        ("contains" | "propertyNames", Value::Object(inner)) => {
            inner.keys().all(|keyword| ASSERTIONS.contains(&keyword.as_str()))
        }
        ("minContains" | "maxContains", _) => schema.contains_key("contains") && is_assertion(schema, "contains"),
        // The names that a part of the schema evaluates are not known.
        ("unevaluatedProperties", Value::Bool(false)) => {
            !EVALUATING.iter().any(|keyword| schema.contains_key(*keyword))
        }
        ("additionalProperties", Value::Bool(false)) => true,
        ("dependencies", Value::Object(names)) => names.values().any(Value::is_array),
        _ => ASSERTIONS.contains(&keyword),
    }
}

/// The schema of an element of an array.
pub(super) fn of_element(schema: &Map<String, Value>, index: usize) -> Option<&Value> {
    let (first, rest) = match (schema.get("prefixItems"), schema.get("items")) {
        (Some(first), rest) => (first.as_array(), rest),
        // Until 2019-09.
        (None, Some(Value::Array(first))) => (Some(first), schema.get("additionalItems")),
        (None, rest) => (None, rest),
    };
    first.and_then(|first| first.get(index)).or(rest)
}

/// The keywords of a schema that look at the value itself.
#[derive(Clone)]
pub(super) struct Asserting {
    pub(super) validator: Rc<Validator>,
    /// The values in these keywords, such as the options of an `enum`: each costs a little.
    pub(super) weight: usize,
}

/// The validators of the keywords that look at the value itself.
pub(super) struct Assertions {
    draft: Draft,
    validators: HashMap<*const Value, Option<Asserting>>,
}

impl Assertions {
    pub(super) fn new(draft: Draft) -> Self {
        Self { draft, validators: HashMap::new() }
    }

    /// The assertions of a schema, without the assertions of the schemas that it applies. `None` if it has none.
    pub(super) fn of(&mut self, schema: &Value) -> Option<Asserting> {
        let key = ptr::from_ref(schema);
        if !self.validators.contains_key(&key) {
            let compiled = alone(schema).and_then(|alone| {
                let validator = Rc::new(compile(self.draft, &alone)?);
                Some(Asserting { validator, weight: weight(&alone) })
            });
            self.validators.insert(key, compiled);
        }
        self.validators.get(&key).cloned().flatten()
    }
}

fn weight(schema: &Value) -> usize {
    let keywords = schema.as_object().into_iter().flatten();
    keywords.map(|(_, value)| value.as_array().map_or(1, Vec::len)).sum()
}

/// A schema without those that it applies. `None` if nothing is left.
fn alone(schema: &Value) -> Option<Value> {
    let Value::Object(schema) = schema else { return (*schema == Value::Bool(false)).then(|| schema.clone()) };
    let kept = schema.iter().filter(|(keyword, _)| is_assertion(schema, keyword));
    let mut kept: Map<String, Value> = kept.map(|(keyword, value)| (keyword.clone(), value.clone())).collect();
    if kept.keys().any(|keyword| keyword == "additionalProperties" || keyword == "unevaluatedProperties") {
        for keyword in ["properties", "patternProperties"] {
            if let Some(names) = schema.get(keyword).and_then(Value::as_object) {
                let names = names.keys().map(|name| (name.clone(), Value::Bool(true)));
                kept.insert(keyword.to_owned(), names.collect::<Map<_, _>>().into());
            }
        }
    }
    if let Some(Value::Object(dependencies)) = kept.get_mut("dependencies") {
        dependencies.retain(|_, names| names.is_array());
    }
    (!kept.is_empty()).then(|| kept.into())
}

fn compile(draft: Draft, schema: &Value) -> Option<Validator> {
    jsonschema::options().with_draft(draft).build(schema).ok()
}

/// The patterns of names.
pub(super) struct Patterns {
    draft: Draft,
    validators: HashMap<String, Option<Validator>>,
}

impl Patterns {
    pub(super) fn new(draft: Draft) -> Self {
        Self { draft, validators: HashMap::new() }
    }

    /// True if a name matches a pattern. `None` if the pattern is none.
    pub(super) fn matches(&mut self, pattern: &str, name: &str) -> Option<bool> {
        if !self.validators.contains_key(pattern) {
            self.validators.insert(pattern.to_owned(), compile(self.draft, &json!({"pattern": pattern})));
        }
        let validator = self.validators.get(pattern)?.as_ref()?;
        Some(validator.is_valid(&Value::from(name)))
    }
}
