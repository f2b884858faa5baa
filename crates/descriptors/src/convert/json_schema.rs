//! Messages as JSON Schemas (draft 2020-12).
//!
//! The schema describes the JSON form that this crate writes and reads, with 64-bit integers as numbers. Each message
//! is a separate definition, so recursion ends, and so is each enum with long names. A rule without a counterpart
//! becomes a sentence of the description.

use std::collections::{BTreeMap, BTreeSet};

use prost_reflect::{EnumDescriptor, FieldDescriptor, Kind, MessageDescriptor};
use serde_json::{Map, Value, json};

use crate::convert::read_rules::RuleSet;
use crate::convert::size::text_size;
use crate::message_error::{MessageError, check};
use crate::message_type::MessageType;

mod comments;
mod sentences;
mod values;

use comments::Comments;

/// The most bytes of a schema, about. Names of types and of values occur once for each field, so that a small descriptor
/// set can have a schema out of proportion.
const MAX_BYTES: usize = 4 << 20;

/// The JSON Schema of a message.
///
/// # Errors
///
/// Fails if it has more than about 4 MiB.
pub fn to_json_schema(message: &MessageType) -> Result<Value, MessageError> {
    let descriptor = message.descriptor();
    let mut writer = Writer::default();
    let mut schema = match values::well_known(descriptor.full_name(), &RuleSet::default()) {
        Some(schema) => schema,
        None => {
            writer.names.insert(descriptor.full_name().to_owned());
            writer.message(descriptor)?
        }
    };
    // One after the other: a chain of messages may be longer than the stack is deep.
    let mut definitions = BTreeMap::new();
    while let Some(next) = writer.pending.pop() {
        let definition = writer.message(&next)?;
        definitions.insert(next.full_name().to_owned(), Value::Object(definition));
    }
    let root = format!("#/$defs/{}", descriptor.full_name());
    if mentions(&schema, &root) || definitions.values().any(|found| refers(found, &root)) {
        definitions.insert(descriptor.full_name().to_owned(), schema.clone().into());
    }
    definitions.append(&mut writer.enums);
    if !definitions.is_empty() {
        schema.insert("$defs".to_owned(), definitions.into_iter().collect::<Map<_, _>>().into());
    }
    schema.shift_insert(0, "$schema".to_owned(), "https://json-schema.org/draft/2020-12/schema".into());
    Ok(schema.into())
}

fn mentions(schema: &Map<String, Value>, reference: &str) -> bool {
    schema.values().any(|value| refers(value, reference))
}

fn refers(value: &Value, reference: &str) -> bool {
    match value {
        Value::Object(members) => {
            members.get("$ref").is_some_and(|found| found == reference) || mentions(members, reference)
        }
        Value::Array(items) => items.iter().any(|item| refers(item, reference)),
        _ => false,
    }
}

/// The messages that are definitions, and the ones among them that are not written yet.
#[derive(Default)]
struct Writer {
    names: BTreeSet<String>,
    pending: Vec<MessageDescriptor>,
    /// The definitions of enums.
    enums: BTreeMap<String, Value>,
    comments: Comments,
    bytes: usize,
}

impl Writer {
    fn spend(&mut self, bytes: usize) -> Result<(), MessageError> {
        self.bytes += bytes;
        check("bytes of JSON Schema", self.bytes, MAX_BYTES)
    }

    fn message(&mut self, message: &MessageDescriptor) -> Result<Map<String, Value>, MessageError> {
        let rules = RuleSet::of_message(message);
        let mut properties = Map::new();
        let mut required = Vec::new();
        for field in message.fields() {
            let field_rules = RuleSet::of_field(&field);
            let schema = Value::from(self.field(&field, &field_rules)?);
            self.spend(text_size(&schema) + 2 * field.json_name().len())?;
            if is_required(&field_rules) || needs_value(&field, &field_rules) {
                required.push(field.json_name().to_owned());
            }
            properties.insert(field.json_name().to_owned(), schema);
        }
        let mut schema = Map::new();
        schema.insert("type".to_owned(), "object".into());
        let description = described(self.comments.at(message.path(), &message.parent_file()), &rules, 3);
        self.spend(description.len())?;
        if !description.is_empty() {
            schema.insert("description".to_owned(), description.into());
        }
        schema.insert("properties".to_owned(), properties.into());
        if !required.is_empty() {
            schema.insert("required".to_owned(), required.into());
        }
        schema.insert("additionalProperties".to_owned(), false.into());
        let dependent = dependent_required(message, &rules);
        insert(&mut schema, "dependentRequired", (!dependent.is_empty()).then_some(dependent));
        let choices: Vec<Value> =
            message.oneofs().filter(|oneof| !oneof.is_synthetic()).map(|oneof| one_of(&oneof)).collect();
        match choices.as_slice() {
            [] => {}
            [choice] => {
                schema.insert("oneOf".to_owned(), choice["oneOf"].clone());
            }
            _ => {
                schema.insert("allOf".to_owned(), choices.into());
            }
        }
        Ok(schema)
    }

    fn field(&mut self, field: &FieldDescriptor, rules: &RuleSet) -> Result<Map<String, Value>, MessageError> {
        // `IGNORE_ALWAYS`
        let ignored = RuleSet::default();
        let rules = if rules.unsigned(27) == Some(3) { &ignored } else { rules };
        let mut schema = if field.is_map() {
            self.map(field, &rules.inner(19))?
        } else if field.is_list() {
            let list = rules.inner(18);
            let mut schema = Map::new();
            schema.insert("type".to_owned(), "array".into());
            let rules_of_items = list.inner(4);
            let mut items = self.value(field, &rules_of_items)?;
            describe_cel(&mut items, &rules_of_items);
            schema.insert("items".to_owned(), items.into());
            let is_lenient = rules.unsigned(27) == Some(1) && !is_required(rules);
            insert(&mut schema, "minItems", list.unsigned(1).filter(|_| !is_lenient));
            insert(&mut schema, "maxItems", list.unsigned(2));
            insert(&mut schema, "uniqueItems", list.is_true(3).then_some(true));
            schema
        } else {
            self.value(field, rules)?
        };
        if is_required(rules) && !field.supports_presence() {
            exclude_zero(&mut schema, field);
        }
        // A text, number or list that may be empty although its rules exclude that.
        if rules.unsigned(27) == Some(1) && !is_required(rules) && !field.is_list() && !field.is_map() {
            schema = values::or_zero(schema, &field.kind());
        }
        let text = described(self.comments.at(field.path(), &field.parent_message().parent_file()), rules, 23);
        let own = schema.get("description").and_then(Value::as_str).unwrap_or_default();
        let lines: Vec<&str> = [text.as_str(), own].into_iter().filter(|part| !part.is_empty()).collect();
        if !lines.is_empty() {
            let text = lines.join("\n");
            schema.insert("description".to_owned(), text.into());
        }
        Ok(schema)
    }

    fn map(&mut self, field: &FieldDescriptor, rules: &RuleSet) -> Result<Map<String, Value>, MessageError> {
        let mut schema = Map::new();
        schema.insert("type".to_owned(), "object".into());
        let Kind::Message(entry) = field.kind() else { return Ok(schema) };
        let mut keys = values::key(&entry.map_entry_key_field().kind(), &rules.inner(4)).unwrap_or_default();
        describe_cel(&mut keys, &rules.inner(4));
        if !keys.is_empty() {
            schema.insert("propertyNames".to_owned(), keys.into());
        }
        let mut value = self.value(&entry.map_entry_value_field(), &rules.inner(5))?;
        describe_cel(&mut value, &rules.inner(5));
        schema.insert("additionalProperties".to_owned(), value.into());
        insert(&mut schema, "minProperties", rules.unsigned(1));
        insert(&mut schema, "maxProperties", rules.unsigned(2));
        Ok(schema)
    }

    /// One value of a field.
    fn value(&mut self, field: &FieldDescriptor, rules: &RuleSet) -> Result<Map<String, Value>, MessageError> {
        let message = match field.kind() {
            Kind::Message(message) => message,
            Kind::Enum(of) if of.full_name() != values::NULL => return self.choice(&of, rules),
            kind => return Ok(values::scalar(&kind, rules)),
        };
        let name = message.full_name();
        if let Some(mut schema) = values::well_known(name, rules) {
            sentences::add_unread(&mut schema, &Kind::Message(message), rules);
            return Ok(schema);
        }
        if self.names.insert(name.to_owned()) {
            self.pending.push(message.clone());
        }
        Ok(reference(name))
    }

    /// A value of an enum. The names are a definition if they are long and no rule excludes any.
    fn choice(&mut self, of: &EnumDescriptor, rules: &RuleSet) -> Result<Map<String, Value>, MessageError> {
        let rules = rules.inner(16);
        let name = of.full_name();
        if self.enums.contains_key(name) && values::allows_all_names(&rules) {
            return Ok(reference(name));
        }
        // Each value takes time, also one that is excluded.
        self.spend(of.values().len())?;
        let schema = values::choice(of, &rules);
        let bytes = schema.get("enum").map_or(0, text_size);
        if bytes <= INLINE_NAMES || !values::allows_all_names(&rules) {
            return Ok(schema);
        }
        self.spend(bytes)?;
        self.enums.insert(name.to_owned(), schema.into());
        Ok(reference(name))
    }
}

/// The most bytes of the names of an enum that are written into each of its fields.
const INLINE_NAMES: usize = 512;

fn reference(name: &str) -> Map<String, Value> {
    let mut schema = Map::new();
    schema.insert("$ref".to_owned(), format!("#/$defs/{name}").into());
    schema
}

fn insert(schema: &mut Map<String, Value>, keyword: &str, value: Option<impl Into<Value>>) {
    if let Some(value) = value {
        schema.insert(keyword.to_owned(), value.into());
    }
}

/// True for a field that has to be there, and is not the zero value without presence.
fn is_required(rules: &RuleSet) -> bool {
    rules.is_true(25) && rules.unsigned(27) != Some(3)
}

fn exclude_zero(schema: &mut Map<String, Value>, field: &FieldDescriptor) {
    let keyword = if field.is_map() {
        "minProperties"
    } else if field.is_list() {
        "minItems"
    } else {
        return values::exclude_zero(schema, &field.kind());
    };
    let least = schema.get(keyword).and_then(Value::as_u64).unwrap_or(0).max(1);
    schema.insert(keyword.to_owned(), least.into());
}

/// Adds the rules of elements in CEL to their description.
fn describe_cel(schema: &mut Map<String, Value>, rules: &RuleSet) {
    let text = described(String::new(), rules, 23);
    if !text.is_empty() {
        sentences::describe(schema, &text);
    }
}

/// True for a field without presence whose rules refuse the value that it has when it is missing.
fn needs_value(field: &FieldDescriptor, rules: &RuleSet) -> bool {
    if field.supports_presence() || rules.unsigned(27).is_some() {
        return false;
    }
    if field.is_map() {
        return rules.inner(19).unsigned(1).is_some_and(|least| least > 0);
    }
    if field.is_list() {
        return rules.inner(18).unsigned(1).is_some_and(|least| least > 0);
    }
    values::refuses_zero(&field.kind(), rules)
}

/// The alternatives of a oneof: one of its fields, or none unless it is required.
fn one_of(oneof: &prost_reflect::OneofDescriptor) -> Value {
    let names: Vec<String> = oneof.fields().map(|field| field.json_name().to_owned()).collect();
    let mut alternatives: Vec<Value> = names.iter().map(|name| json!({"required": [name]})).collect();
    if !RuleSet::of_oneof(oneof).is_true(1) {
        let any: Vec<Value> = names.iter().map(|name| json!({"required": [name]})).collect();
        alternatives.push(json!({"not": {"anyOf": any}}));
    }
    json!({"oneOf": alternatives})
}

/// The fields that others need, by the expressions that a converter writes.
fn dependent_required(message: &MessageDescriptor, rules: &RuleSet) -> Map<String, Value> {
    let mut dependent: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for rule in rules.list(3) {
        let Some(expression) = rule.text(3) else { continue };
        let names = expression.strip_prefix("!has(this.").and_then(|rest| rest.strip_suffix(')'));
        let Some((has, needs)) = names.and_then(|names| names.split_once(") || has(this.")) else { continue };
        let field = |name: &str| message.get_field_by_name(name).map(|field| field.json_name().to_owned());
        if let (Some(has), Some(needs)) = (field(has), field(needs)) {
            dependent.entry(has).or_default().push(needs.into());
        }
    }
    dependent.into_iter().map(|(has, needs)| (has, needs.into())).collect()
}

/// A comment, and the rules in CEL. They are messages, or expressions alone under another number.
fn described(comment: String, rules: &RuleSet, cel: u32) -> String {
    let mut text = comment;
    let words = |rule: RuleSet| rule.text(2).filter(|message| !message.is_empty()).or_else(|| rule.text(3));
    let expressions = rules.all_texts(if cel == 3 { 5 } else { 29 });
    for words in rules.list(cel).into_iter().map(|rule| words(rule).unwrap_or_default()).chain(expressions) {
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(&format!("Rule: {words}"));
    }
    text
}
