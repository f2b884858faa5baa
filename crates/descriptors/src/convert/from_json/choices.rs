//! Schemas that list values or alternatives: `enum`, `const`, `anyOf`, `oneOf`.

use serde_json::{Map, Value};

use super::types::types;
use super::{Mapped, Place, Reading};
use crate::convert::keywords::Kind;
use crate::convert::model::FieldType;
use crate::convert::rules::Rules;
use crate::convert::scalars::{bool_choice, integer_choice, string_choice};

/// Floating point has every integer up to this one.
const MAX_EXACT: f64 = (1_u64 << 53) as f64;

impl Reading<'_> {
    /// `enum` and `const`.
    pub(super) fn choice(&mut self, schema: &Map<String, Value>, place: &Place) -> Option<Mapped> {
        let (values, read): (Vec<&Value>, _) = match (schema.get("const"), schema.get("enum")) {
            (Some(only), _) => (vec![only], "const"),
            (None, Some(Value::Array(values))) => (values.iter().collect(), "enum"),
            (None, _) => return None,
        };
        let has_type = schema.contains_key("type");
        let (types, nullable) = types(schema);
        let is_of_type = |value: &&Value| !has_type || types.iter().any(|name| is_of(name, value));
        let some: Vec<&Value> = values.iter().copied().filter(|value| !value.is_null()).filter(is_of_type).collect();
        let has_null = values.iter().any(|value| value.is_null()) && (!has_type || nullable);
        if some.is_empty() && !has_null {
            self.lossy(place, read, "no value is allowed, which cannot be expressed");
        }
        let texts: Option<Vec<&str>> = some.iter().map(|value| value.as_str()).collect();
        let integers: Option<Vec<i64>> = some.iter().map(|value| integer(value)).collect();
        let booleans: Option<Vec<bool>> = some.iter().map(|value| value.as_bool()).collect();
        let (kind, mut mapped) = match (texts, integers, booleans) {
            _ if some.is_empty() => (Kind::Constant, Mapped::new(FieldType::Null, Rules::default())),
            (Some(texts), _, _) => (Kind::Text, Mapped::new(FieldType::Text, string_choice(&texts))),
            (_, Some(integers), _) => {
                let (element, rules) = integer_choice(&integers, self.style, &mut self.noted(place));
                (Kind::Number, Mapped::new(element, rules))
            }
            (_, _, Some(booleans)) => (Kind::Constant, Mapped::new(FieldType::Bool, bool_choice(&booleans))),
            _ => {
                self.fallback(place, read, "a choice of values of several kinds is any value");
                (Kind::Anything, Mapped::any("Value"))
            }
        };
        self.note(schema, kind, &[read], place);
        mapped.nullable = has_null && !some.is_empty();
        Some(mapped)
    }

    /// `anyOf` and `oneOf`: a type that may be null, a choice of texts, or any value. None if the schema has a type that
    /// says more.
    pub(super) fn alternatives(&mut self, schema: &Map<String, Value>, place: &Place) -> Option<Mapped> {
        let (keyword, alternatives) =
            ["anyOf", "oneOf"].iter().find_map(|keyword| Some((*keyword, schema.get(*keyword)?.as_array()?)))?;
        let (types, _) = types(schema);
        let is_null = |schema: &&Value| schema.get("type").is_some_and(|name| name == "null");
        let some: Vec<&Value> = alternatives.iter().filter(|schema| !is_null(schema)).collect();
        let may_be_null = some.len() < alternatives.len();
        let texts: Option<Vec<&str>> = some.iter().map(|schema| schema.get("const")?.as_str()).collect();
        if let Some(texts) = texts.filter(|texts| !texts.is_empty())
            && (types.is_empty() || types == ["string"])
        {
            self.note(schema, Kind::Text, &[keyword], place);
            let mut mapped = Mapped::new(FieldType::Text, string_choice(&texts));
            mapped.nullable = may_be_null && types.is_empty();
            return Some(mapped);
        }
        if !types.is_empty() {
            return None;
        }
        if let [only] = some.as_slice() {
            self.note(schema, Kind::Anything, &[keyword], place);
            let mut mapped = self.mapped(only, place);
            mapped.nullable |= may_be_null;
            return Some(mapped);
        }
        self.fallback(place, keyword, "a choice of schemas is any value");
        Some(Mapped::any("Value"))
    }
}

/// The integer that a number is, also one that is written like `1.0`.
fn integer(value: &Value) -> Option<i64> {
    let is_exact = |number: &f64| number.fract() == 0.0 && number.abs() <= MAX_EXACT;
    value.as_i64().or_else(|| value.as_f64().filter(is_exact).map(|number| number as i64))
}

fn is_of(name: &str, value: &Value) -> bool {
    match value {
        Value::Null => name == "null",
        Value::Bool(_) => name == "boolean",
        Value::Number(number) => {
            name == "number" || (name == "integer" && number.as_f64().is_some_and(|number| number.fract() == 0.0))
        }
        Value::String(_) => name == "string",
        Value::Array(_) => name == "array",
        Value::Object(_) => name == "object",
    }
}
