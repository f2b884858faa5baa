//! JSON as a tree, whatever it holds.

use std::collections::BTreeMap;

use serde_json::{Map, Number, Value};

use crate::parse::MAX_DEPTH;
use crate::raw::{Kind, RawJson};
use crate::surrogates::replace_lone_surrogates;

impl RawJson {
    /// The value as a tree. In strings, U+FFFD stands for each half of a surrogate pair, and a number beyond a double is the
    /// text of the number: a value that one part cannot be read of is not lost. Other numbers have the precision of
    /// [`Number`]. Arrays and objects that are nested deeper than messages can be ([`MAX_DEPTH`]) are null.
    #[must_use]
    pub fn to_value(&self) -> Value {
        self.to().unwrap_or_else(|_| tree(&Self::trusted(replace_lone_surrogates(self.bytes().clone())), MAX_DEPTH))
    }
}

fn tree(raw: &RawJson, depth: usize) -> Value {
    match raw.kind() {
        Kind::Object | Kind::Array if depth == 0 => Value::Null,
        Kind::Object => {
            let members: BTreeMap<String, RawJson> = raw.to().unwrap_or_default();
            members.into_iter().map(|(name, value)| (name, tree(&value, depth - 1))).collect::<Map<_, _>>().into()
        }
        Kind::Array => {
            let elements: Vec<RawJson> = raw.to().unwrap_or_default();
            elements.iter().map(|element| tree(element, depth - 1)).collect()
        }
        Kind::Number => raw.to::<Number>().map_or_else(|_| raw.as_str().into(), Value::Number),
        Kind::String | Kind::Boolean | Kind::Null => raw.to().unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn all_that_can_be_read_is_read() {
        let value = |text: &str| RawJson::parse(text.to_owned()).unwrap().to_value();
        assert_eq!(value(r#"{"a":[1,"b",null,1.5]}"#), json!({"a": [1, "b", null, 1.5]}));
        assert_eq!(value(r#"{"isError":true,"text":"cut \ud83d"}"#), json!({"isError": true, "text": "cut \u{fffd}"}));
        assert_eq!(
            value(r#"{"\udc00":{"x":[-1e400,2,"\ud83d"]}}"#),
            json!({"\u{fffd}": {"x": ["-1e400", 2, "\u{fffd}"]}})
        );
        let deep = format!("{}1e400{}", "[".repeat(500), "]".repeat(500));
        assert!(value(&deep).is_array(), "and null inside");
    }
}
