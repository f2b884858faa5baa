//! Schemas without the parts that hosts refuse.

use protomcp_schema::References;
use protomcp_types::RawJson;
use serde_json::{Map, Value, json};

use crate::check::Check;
use crate::rules::walk::{DATA, NAMED, REFERENCES, reference, walk_mut};

/// The most values that the references of one schema may grow to.
const MAX_VALUES: usize = 10_000;
/// The deepest value in which references are written out.
const MAX_DEPTH: usize = 100;
/// The bytes that the references of a page may always grow to.
const MIN_BYTES: usize = 1024 * 1024;
/// The bytes that the references of a page may grow to in addition, for each byte of the page.
const GROWTH: usize = 4;

/// The root keywords whose branches are merged.
const UNIONS: [&str; 2] = ["oneOf", "anyOf"];

/// The growth of a page by the targets of references.
pub(super) struct Growth {
    /// The bytes that are left.
    bytes: usize,
    /// True if a reference was beyond a bound.
    is_cut: bool,
}

impl Growth {
    /// The growth that this page may have.
    pub(super) fn of(page: &[RawJson]) -> Self {
        let bytes = page.iter().map(RawJson::len).sum::<usize>();
        Self { bytes: bytes.saturating_mul(GROWTH).saturating_add(MIN_BYTES), is_cut: false }
    }

    /// True if a reference was beyond a bound since the last question.
    pub(super) fn take_cut(&mut self) -> bool {
        std::mem::take(&mut self.is_cut)
    }
}

/// Changes an input schema so that these checks pass, as far as that is possible.
pub(super) fn input<'a>(checks: &(impl Iterator<Item = &'a Check> + Clone), schema: &mut Value, growth: &mut Growth) {
    let has = |wanted: fn(&Check) -> bool| checks.clone().any(wanted);
    if has(|check| matches!(check, Check::References | Check::DanglingReference | Check::Recursion)) {
        inline(schema, growth);
    }
    let refused = checks.clone().find_map(|check| match check {
        Check::RootKeywords { keywords } => Some(keywords),
        _ => None,
    });
    if refused.is_some_and(|keywords| keywords.iter().any(|keyword| schema.get(keyword).is_some())) {
        flatten(schema);
    }
    if has(|check| matches!(check, Check::RootObject)) && schema["type"] != "object" && schema.is_object() {
        schema["type"] = json!("object");
    }
    if has(|check| matches!(check, Check::DeclaredDialect { .. }))
        && let Some(members) = schema.as_object_mut()
    {
        members.remove("$schema");
    }
    let properties = has(|check| matches!(check, Check::ObjectProperties));
    let items = has(|check| matches!(check, Check::ArrayItems));
    let one_type = has(|check| matches!(check, Check::TypeArray { .. }));
    walk_mut(schema, &mut |schema| {
        if properties && schema["type"] == "object" && schema.get("properties").is_none() {
            schema["properties"] = json!({});
        }
        if one_type {
            split_types(schema);
        }
        if items && schema["type"] == "array" && schema.get("items").is_none() {
            schema["items"] = json!({});
        }
    });
}

/// Changes an output schema so that these checks pass.
pub(super) fn output<'a>(mut checks: impl Iterator<Item = &'a Check>, schema: &mut Value, growth: &mut Growth) {
    if checks.any(|check| matches!(check, Check::OutputReferences)) {
        inline(schema, growth);
    }
}

/// True if hosts cannot take any form of this output schema.
pub(super) fn is_refused_output<'a>(mut checks: impl Iterator<Item = &'a Check>, schema: &Value) -> bool {
    schema["type"] != "object" && checks.any(|check| matches!(check, Check::OutputRootObject))
}

/// `["string", "null"]` becomes `"string"`; several others become branches.
fn split_types(schema: &mut Value) {
    let Some(types) = schema["type"].as_array() else { return };
    let others: Vec<Value> = types.iter().filter(|one| *one != "null").cloned().collect();
    match others.as_slice() {
        [one] => schema["type"] = one.clone(),
        _ if schema.get("anyOf").is_some() => {}
        _ => {
            schema["anyOf"] = others.into_iter().map(|one| json!({"type": one})).collect();
            schema.as_object_mut().map(|members| members.remove("type"));
        }
    }
}

/// Merges the branches of a root into one object with the properties of all. A property that every branch requires is
/// required, and a constant becomes an enum.
fn flatten(schema: &mut Value) {
    let Some(members) = schema.as_object_mut() else { return };
    let taken = |members: &mut Map<String, Value>, keyword: &str| match members.remove(keyword) {
        Some(Value::Array(branches)) => branches,
        _ => Vec::new(),
    };
    for mut all in taken(members, "allOf") {
        flatten(&mut all);
        merge(members, &all);
        require(members, &names(&all));
    }
    for keyword in UNIONS {
        let mut common: Option<Vec<String>> = None;
        for mut branch in taken(members, keyword) {
            flatten(&mut branch);
            merge(members, &branch);
            let names = names(&branch);
            common = Some(match common {
                None => names,
                Some(known) => known.into_iter().filter(|name| names.contains(name)).collect(),
            });
        }
        require(members, &common.unwrap_or_default());
    }
    members.remove("not");
    members.remove("enum");
    members.remove("discriminator");
    members.insert("type".into(), json!("object"));
}

fn names(schema: &Value) -> Vec<String> {
    let names = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
    names.map(ToOwned::to_owned).collect()
}

fn require(members: &mut Map<String, Value>, names: &[String]) {
    if names.is_empty() {
        return;
    }
    let required = members.entry("required").or_insert_with(|| json!([]));
    let Some(required) = required.as_array_mut() else { return };
    for name in names {
        if !required.iter().any(|known| known == name) {
            required.push(json!(name));
        }
    }
}

/// Adds the properties of a branch.
fn merge(members: &mut Map<String, Value>, branch: &Value) {
    let Some(more) = branch["properties"].as_object() else { return };
    let properties = members.entry("properties").or_insert_with(|| json!({}));
    let Some(properties) = properties.as_object_mut() else { return };
    for (name, schema) in more {
        match properties.get_mut(name) {
            None => _ = properties.insert(name.clone(), tag(schema)),
            Some(known) if *known == tag(schema) => {}
            Some(known) => *known = either(known.take(), tag(schema)),
        }
    }
}

/// A constant as a list of one value.
fn tag(schema: &Value) -> Value {
    match schema.get("const") {
        Some(value) if value.is_string() => {
            let mut members = schema.as_object().cloned().unwrap_or_default();
            let value = members.remove("const");
            members.insert("enum".into(), json!([value]));
            members.entry("type").or_insert_with(|| json!("string"));
            Value::Object(members)
        }
        _ => schema.clone(),
    }
}

/// A schema for values of either.
fn either(one: Value, other: Value) -> Value {
    if let (Some(values), Some(more)) = (one["enum"].as_array(), other["enum"].as_array()) {
        let mut all = values.clone();
        all.extend(more.iter().filter(|value| !values.contains(value)).cloned());
        let mut merged = one.clone();
        merged["enum"] = Value::Array(all);
        return merged;
    }
    match one {
        Value::Object(mut members) if members.len() == 1 && members.contains_key("anyOf") => {
            if let Some(branches) = members.get_mut("anyOf").and_then(Value::as_array_mut)
                && !branches.contains(&other)
            {
                branches.push(other);
            }
            Value::Object(members)
        }
        one => json!({"anyOf": [one, other]}),
    }
}

/// Writes schemas in place of local references. A reference inside itself, or beyond a bound, becomes a schema that allows
/// any object.
fn inline(schema: &mut Value, growth: &mut Growth) {
    let root = schema.clone();
    if let Some(members) = schema.as_object_mut() {
        members.remove("$defs");
        members.remove("definitions");
    }
    let references = References::of(&root);
    let mut inlining =
        Inlining { references, inside: Vec::new(), depth: 0, values: MAX_VALUES, growth, has_written: false };
    inlining.write(schema);
    if inlining.has_written {
        walk_mut(schema, &mut |schema| _ = schema.as_object_mut().map(remove_names));
    }
}

/// Removes the names of a schema to which references lead: there may be copies of it.
fn remove_names(members: &mut Map<String, Value>) {
    members.remove("$anchor");
    members.remove("$dynamicAnchor");
    // Until draft 7.
    if members.get("$id").and_then(Value::as_str).is_some_and(|id| id.starts_with('#')) {
        members.remove("$id");
    }
}

/// The references of one schema while they are written out.
struct Inlining<'a> {
    references: References<'a>,
    /// The references around the value, the outermost first.
    inside: Vec<String>,
    depth: usize,
    /// The values that are left for this schema.
    values: usize,
    growth: &'a mut Growth,
    /// True once it has met a reference.
    has_written: bool,
}

impl Inlining<'_> {
    fn write(&mut self, schema: &mut Value) {
        self.values = self.values.saturating_sub(1);
        self.depth += 1;
        match schema {
            Value::Array(all) => all.iter_mut().for_each(|inner| self.write(inner)),
            Value::Object(_) => match reference(schema).map(ToOwned::to_owned) {
                None => {
                    let members = schema.as_object_mut().into_iter().flatten();
                    members.for_each(|(keyword, value)| self.write_member(keyword, value));
                }
                Some(reference) => *schema = self.written(&reference, schema.take()),
            },
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
        self.depth -= 1;
    }

    /// Writes the schemas below a keyword.
    fn write_member(&mut self, keyword: &str, value: &mut Value) {
        match value {
            _ if DATA.contains(&keyword) => {}
            Value::Object(schemas) if NAMED.contains(&keyword) => {
                schemas.values_mut().for_each(|inner| self.write(inner));
            }
            value => self.write(value),
        }
    }

    /// The schema of a reference, with the other members of the schema that has it.
    fn written(&mut self, reference: &str, schema: Value) -> Value {
        self.has_written = true;
        let mut target = self.target(reference);
        if let Value::Object(members) = schema {
            target.extend(members.into_iter().filter(|(keyword, _)| !REFERENCES.contains(&keyword.as_str())));
        }
        let mut target = Value::Object(target);
        self.inside.push(reference.to_owned());
        self.write(&mut target);
        self.inside.pop();
        target
    }

    /// The members of the schema of a reference, which are none if it leads nowhere.
    fn target(&mut self, reference: &str) -> Map<String, Value> {
        let any_object = || Map::from_iter([("type".to_owned(), json!("object"))]);
        if self.inside.iter().any(|known| known == reference) {
            return any_object();
        }
        if self.depth > MAX_DEPTH || self.values == 0 || self.growth.bytes == 0 {
            self.growth.is_cut = true;
            return any_object();
        }
        let target = self.references.target(reference).filter(|target| target.is_object());
        let Some(target) = target else { return Map::new() };
        // One that is too long uses up the rest, so that it is not measured again for the next reference.
        let left = self.growth.bytes.checked_sub(target.to_string().len());
        self.growth.bytes = left.unwrap_or_default();
        self.growth.is_cut |= left.is_none();
        left.and_then(|_| target.as_object().cloned()).unwrap_or_else(any_object)
    }
}
