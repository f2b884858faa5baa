//! The names in a JSON object, of which each should be there once.

use std::collections::HashSet;
use std::fmt;

use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};

/// A name that this object has twice, the first such.
///
/// # Errors
/// If the text does not begin with an object.
pub(crate) fn repeated(json: &str) -> Result<Option<String>, serde_json::Error> {
    serde_json::Deserializer::from_str(json).deserialize_map(Names)
}

struct Names;

impl<'de> Visitor<'de> for Names {
    type Value = Option<String>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let (mut names, mut found) = (HashSet::new(), None);
        while let Some((name, IgnoredAny)) = map.next_entry::<String, IgnoredAny>()? {
            if !names.insert(name.clone()) {
                found.get_or_insert(name);
            }
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_repeated_name_is_found() {
        for (json, expected) in [
            ("{}", None),
            (r#"{"a": 1, "b": {"a": 1}}"#, None),
            (r#"{"a": 1, "b": 2, "b": 3, "a": 4}"#, Some("b")),
            (r#"{"a": 1, "\u0061": 2}"#, Some("a")),
        ] {
            assert_eq!(repeated(json).unwrap().as_deref(), expected, "{json}");
        }
        assert!(repeated("[1]").is_err() && repeated("{").is_err());
    }
}
