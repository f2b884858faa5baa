//! The type of one schema.

use serde_json::{Map, Value};

use super::{MAX_DEPTH, Mapped, Place, Reading};
use crate::convert::keywords::{Kind, unread};
use crate::convert::model::{FieldType, Shape};
use crate::convert::reference::local_pointer;
use crate::convert::rules::{RuleValue, Rules, Step};
use crate::convert::scalars::{integer_rules, key_rules, number_rules, string_rules};
use crate::convert::size::text_size;

/// The references that are followed one after the other.
const MAX_REFERENCES: usize = 16;

impl<'a> Reading<'a> {
    /// The type and the rules of a schema.
    pub(super) fn mapped(&mut self, schema: &Value, place: &Place) -> Mapped {
        self.is_too_large |= self.depth >= MAX_DEPTH;
        if self.is_too_large {
            return Mapped::any("Value");
        }
        self.depth += 1;
        let mapped = self.mapped_at(schema, place);
        self.depth -= 1;
        mapped
    }

    fn mapped_at(&mut self, schema: &Value, place: &Place) -> Mapped {
        let Some(schema) = schema.as_object() else {
            if *schema == Value::Bool(false) {
                self.lossy(place, "false", "no value is allowed, which cannot be expressed");
            }
            return Mapped::any("Value");
        };
        if schema.contains_key("$ref") {
            self.note(schema, Kind::Anything, &["$ref"], place);
            return self.referenced(schema, place);
        }
        let schema = &self.merged(schema, place);
        if let Some(mapped) = self.choice(schema, place) {
            return mapped;
        }
        if let Some(mapped) = self.alternatives(schema, place) {
            return mapped;
        }
        let (types, nullable) = types(schema);
        let mut mapped = self.typed(&types, schema, place, nullable);
        mapped.nullable |= nullable;
        mapped
    }

    /// The type for the names of types.
    fn typed(&mut self, types: &[&str], schema: &Map<String, Value>, place: &Place, nullable: bool) -> Mapped {
        if !schema.contains_key("type") && !types.is_empty() {
            self.lossy(place, "type", "values of other types are refused");
        }
        match types {
            ["string"] => {
                self.note(schema, Kind::Text, STRING_KEYWORDS, place);
                Mapped::new(FieldType::Text, string_rules(schema, &mut self.noted(place)))
            }
            ["integer"] => {
                self.note(schema, Kind::Number, NUMBER_KEYWORDS, place);
                let (element, rules) = integer_rules(schema, self.style, &mut self.noted(place));
                Mapped::new(element, rules)
            }
            ["number"] => {
                self.note(schema, Kind::Number, NUMBER_KEYWORDS, place);
                let (element, rules) = number_rules(schema, self.style, &mut self.noted(place));
                Mapped::new(element, rules)
            }
            ["boolean"] => {
                self.note(schema, Kind::Constant, &[], place);
                Mapped::new(FieldType::Bool, Rules::default())
            }
            ["array"] => self.array(schema, place),
            ["object"] => self.object_type(schema, place),
            [] if nullable => {
                self.note(schema, Kind::Constant, &[], place);
                Mapped::new(FieldType::Null, Rules::default())
            }
            [] => {
                if !unread(schema, Kind::Anything, &[]).is_empty() {
                    self.fallback(place, "type", "a schema without a type is any value");
                }
                Mapped::any("Value")
            }
            _ => {
                self.fallback(place, "type", "a value of several types is any value");
                Mapped::any("Value")
            }
        }
    }

    /// The schema behind references, and its pointer.
    pub(super) fn dereference(&self, schema: &'a Value, pointer: &str) -> Option<(&'a Value, String)> {
        let (mut schema, mut pointer) = (schema, pointer.to_owned());
        for _ in 0..MAX_REFERENCES {
            let Some(reference) = schema.get("$ref") else { return Some((schema, pointer)) };
            pointer = local_pointer(reference.as_str()?)?.into_owned();
            schema = self.root.pointer(&pointer)?;
        }
        None
    }

    /// A reference. Objects with properties become messages that are shared.
    fn referenced(&mut self, schema: &Map<String, Value>, place: &Place) -> Mapped {
        let target = schema.get("$ref").and_then(Value::as_str).and_then(local_pointer);
        let found = target.and_then(|pointer| Some((self.root.pointer(&pointer)?, pointer)));
        let Some((found, pointer)) = found.and_then(|(schema, pointer)| self.dereference(schema, &pointer)) else {
            self.fallback(place, "$ref", "the reference leads nowhere in this schema");
            return Mapped::any("Value");
        };
        if let Some(name) = self.by_pointer.get(&pointer).cloned() {
            let nullable = match self.nullable.get(&pointer) {
                Some(nullable) => *nullable,
                None => {
                    let nullable = self.may_be_null(found, &Place { pointer: pointer.clone(), name: name.clone() });
                    self.nullable.insert(pointer, nullable);
                    nullable
                }
            };
            return Mapped { nullable, ..Mapped::new(FieldType::Message(name), Rules::default()) };
        }
        if self.open.contains(&pointer) {
            self.fallback(place, "$ref", "a map or list inside itself is any value");
            return any_of(found);
        }
        let last = pointer.rsplit('/').next().unwrap_or_default();
        let root = self.messages.first().map(|message| message.name.clone()).unwrap_or_default();
        let name = format!("{root}{}", crate::convert::names::pascal_case(last));
        self.copy(text_size(found) + pointer.len() + name.len());
        self.open.push(pointer.clone());
        let mapped = self.mapped(found, &Place { pointer, name });
        self.open.pop();
        mapped
    }

    /// True if a schema that has a message allows null, too.
    fn may_be_null(&mut self, schema: &Value, place: &Place) -> bool {
        let Some(mut schema) = schema.as_object() else { return false };
        let merged;
        if schema.contains_key("allOf") {
            merged = self.merged(schema, place);
            schema = &merged;
        }
        let (types, nullable) = types(schema);
        let alternatives = ["anyOf", "oneOf"].iter().find_map(|keyword| schema.get(*keyword)?.as_array());
        let has_null = |one: &Value| one.as_object().is_some_and(|one| self::types(one).1);
        nullable || types.is_empty() && alternatives.is_some_and(|alternatives| alternatives.iter().any(has_null))
    }

    /// `allOf` merged into the schema around it.
    pub(super) fn merged(&mut self, schema: &Map<String, Value>, place: &Place) -> Map<String, Value> {
        let mut merged = schema.clone();
        let Some(Value::Array(parts)) = merged.shift_remove("allOf") else { return merged };
        let root = self.root;
        for mut part in parts {
            let reference = part.as_object_mut().and_then(|part| part.shift_remove("$ref"));
            let target = reference.map(|reference| root.pointer(&local_pointer(reference.as_str()?)?));
            for schema in target.into_iter().chain([Some(&part)]) {
                self.copy(schema.map_or(0, text_size));
                if self.is_too_large {
                    return merged;
                }
                let Some(Value::Object(schema)) = schema else {
                    self.lossy(place, "allOf", "a part is not a schema of this document");
                    continue;
                };
                for (keyword, value) in schema {
                    self.merge(&mut merged, keyword, value, place);
                }
            }
        }
        merged
    }

    fn merge(&mut self, merged: &mut Map<String, Value>, keyword: &str, value: &Value, place: &Place) {
        match (merged.get_mut(keyword), value) {
            (Some(Value::Object(old)), Value::Object(new)) if keyword == "properties" => {
                for (key, schema) in new {
                    if old.get(key).is_some_and(|old| old != schema) {
                        self.lossy(place, "allOf", &format!("{key:?} has two schemas"));
                    } else {
                        old.insert(key.clone(), schema.clone());
                    }
                }
            }
            (Some(Value::Array(old)), Value::Array(new)) if keyword == "required" => old.extend(new.iter().cloned()),
            (Some(old), new) if *old != *new && keyword != "description" && keyword != "title" => {
                self.lossy(place, "allOf", &format!("{keyword:?} has two values"));
            }
            (Some(_), _) => {}
            (None, value) => {
                merged.insert(keyword.to_owned(), value.clone());
            }
        }
    }

    fn array(&mut self, schema: &Map<String, Value>, place: &Place) -> Mapped {
        if schema.contains_key("prefixItems")
            || schema.get("items").is_some_and(|items| !items.is_object() && *items != true)
        {
            self.fallback(place, "items", "a tuple is any list");
            return Mapped::any("ListValue");
        }
        self.note(schema, Kind::List, &["items", "minItems", "maxItems", "uniqueItems"], place);
        let anything = Value::Bool(true);
        let items = schema.get("items").unwrap_or(&anything);
        let inner = self.mapped(items, &place.inner("items"));
        let (element, mut rules) = match inner.shape {
            Shape::Plain(element) if !inner.nullable => (element, inner.rules.below(&[("repeated", 18), ("items", 4)])),
            Shape::Repeated(_) => {
                self.fallback(place, "items", "a list of lists is a list of any lists");
                (FieldType::Any("ListValue"), Rules::default())
            }
            Shape::Map(_) => {
                self.fallback(place, "items", "a list of maps is a list of any objects");
                (FieldType::Any("Struct"), Rules::default())
            }
            _ => {
                self.fallback(place, "items", "elements that may be null are any values");
                (FieldType::Any("Value"), Rules::default())
            }
        };
        self.counts(schema, &mut rules, LIST_COUNTS, place);
        if schema.get("uniqueItems") == Some(&Value::Bool(true)) {
            if element.is_message() {
                self.lossy(place, "uniqueItems", "it is checked for scalars only");
            } else {
                rules.add(&[("repeated", 18), ("unique", 3)], RuleValue::Bool(true));
            }
        }
        Mapped { shape: Shape::Repeated(element), rules, nullable: false }
    }

    fn object_type(&mut self, schema: &Map<String, Value>, place: &Place) -> Mapped {
        let is_there =
            |keyword: &str| schema.get(keyword).and_then(Value::as_object).is_some_and(|list| !list.is_empty());
        if is_there("patternProperties") {
            self.fallback(place, "patternProperties", "an object with keys of a pattern is any object");
            return Mapped::any("Struct");
        }
        match (is_there("properties"), schema.get("additionalProperties")) {
            (true, None | Some(Value::Bool(false))) | (false, Some(Value::Bool(false))) => {
                if let Some(name) = self.by_pointer.get(&place.pointer) {
                    return Mapped::new(FieldType::Message(name.clone()), Rules::default());
                }
                let root = self.messages.first().map_or("", |message| message.name.as_str());
                let name = self.lock.name(root, &place.pointer, &place.name, &self.taken);
                self.taken.insert(name.clone());
                let place = Place { pointer: place.pointer.clone(), name };
                self.by_pointer.insert(place.pointer.clone(), place.name.clone());
                self.object(schema, &place);
                Mapped::new(FieldType::Message(place.name), Rules::default())
            }
            (true, Some(_)) => {
                self.fallback(place, "additionalProperties", "an object with further keys is any object");
                Mapped::any("Struct")
            }
            (false, Some(Value::Object(values))) if !values.is_empty() => self.map(schema, values, place),
            (false, _) => {
                self.note(schema, Kind::Object, &[], place);
                Mapped::any("Struct")
            }
        }
    }

    fn map(&mut self, schema: &Map<String, Value>, values: &Map<String, Value>, place: &Place) -> Mapped {
        const MAP: Step = ("map", 19);
        let read = ["additionalProperties", "minProperties", "maxProperties", "propertyNames"];
        self.note(schema, Kind::Object, &read, place);
        let inner = self.mapped(&Value::Object(values.clone()), &place.inner("additionalProperties"));
        let (Shape::Plain(element), false) = (inner.shape, inner.nullable) else {
            self.fallback(place, "additionalProperties", "a map of lists, maps or nulls is any object");
            return Mapped::any("Struct");
        };
        let mut rules = inner.rules.below(&[MAP, ("values", 5)]);
        self.counts(schema, &mut rules, MAP_COUNTS, place);
        match schema.get("propertyNames") {
            Some(Value::Object(names)) => {
                let names_place = Place { pointer: format!("{}/propertyNames", place.pointer), ..place.clone() };
                self.note(names, Kind::Text, &[STRING_KEYWORDS, &["enum", "const"]].concat(), &names_place);
                let keys = key_rules(names, &mut self.noted(&names_place));
                rules.0.extend(keys.below(&[MAP, ("keys", 4)]).0);
            }
            Some(Value::Bool(false)) => self.lossy(place, "propertyNames", "only the empty map is allowed"),
            _ => {}
        }
        Mapped { shape: Shape::Map(element), rules, nullable: false }
    }

    /// The least and the highest number of elements.
    fn counts(&mut self, schema: &Map<String, Value>, rules: &mut Rules, counts: Counts, place: &Place) {
        let (outer, limits) = counts;
        for (keyword, step) in limits {
            match schema.get(keyword).map(Value::as_u64) {
                None => {}
                Some(Some(0)) if keyword.starts_with("min") => {}
                Some(Some(count)) => rules.add(&[outer, step], RuleValue::Uint(count)),
                Some(None) => self.lossy(place, keyword, "it is not a number of elements"),
            }
        }
    }
}

/// The rule for lists or maps, and the rules inside for the keywords.
type Counts = (Step, [(&'static str, Step); 2]);

const LIST_COUNTS: Counts = (("repeated", 18), [("minItems", ("min_items", 1)), ("maxItems", ("max_items", 2))]);
const MAP_COUNTS: Counts = (("map", 19), [("minProperties", ("min_pairs", 1)), ("maxProperties", ("max_pairs", 2))]);

/// The keywords that the rules of texts and numbers express, or report themselves.
const STRING_KEYWORDS: &[&str] =
    &["minLength", "maxLength", "pattern", "format", "contentEncoding", "contentMediaType", "contentSchema"];
const NUMBER_KEYWORDS: &[&str] = &["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"];

/// The message that holds whatever a schema allows.
fn any_of(schema: &Value) -> Mapped {
    let (types, nullable) = schema.as_object().map(types).unwrap_or_default();
    match types[..] {
        ["object"] if !nullable => Mapped::any("Struct"),
        ["array"] if !nullable => Mapped::any("ListValue"),
        _ => Mapped::any("Value"),
    }
}

/// The types of a schema without null, and if null is one of them. `properties` and `items` imply a type.
pub(super) fn types(schema: &Map<String, Value>) -> (Vec<&str>, bool) {
    let mut types: Vec<&str> = match schema.get("type") {
        Some(Value::String(name)) => vec![name],
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
        _ if schema.contains_key("properties") || schema.contains_key("additionalProperties") => vec!["object"],
        _ if schema.contains_key("items") || schema.contains_key("prefixItems") => vec!["array"],
        _ => Vec::new(),
    };
    let before = types.len();
    types.retain(|name| *name != "null");
    let nullable = types.len() < before || schema.get("nullable") == Some(&Value::Bool(true));
    (types, nullable)
}
