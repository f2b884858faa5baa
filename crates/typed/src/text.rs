//! Parses Rust values from named strings, for prompts and URI templates.
//!
//! A string is parsed as its type requires: a text, a number, `true` or `false`, the name of an enum's variant. A type
//! that a single string cannot express, such as a list, is parsed from JSON text.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::de::value::{MapDeserializer, StringDeserializer};
use serde::de::{DeserializeOwned, IntoDeserializer, Visitor};
use serde::{Deserializer, forward_to_deserialize_any};

/// Parses a struct (or a map) from strings.
///
/// # Errors
/// The mismatch, for people.
pub(crate) fn read<T: DeserializeOwned>(values: BTreeMap<String, String>) -> Result<T, String> {
    let values = values.into_iter().map(|(name, text)| (name.clone(), Text { name, text }));
    T::deserialize(MapDeserializer::new(values)).map_err(|error: Mismatch| error.0)
}

struct Text {
    name: String,
    text: String,
}

/// The reason for which a string does not match a type.
#[derive(Debug)]
struct Mismatch(String);

impl Text {
    fn parse<T: FromStr>(&self, what: &str) -> Result<T, Mismatch> {
        self.text.trim().parse().map_err(|_| Mismatch(format!("{:?} must be {what}, not {:?}", self.name, self.text)))
    }

    fn name_error(&self, error: impl fmt::Display) -> Mismatch {
        Mismatch(format!("{:?}: {error}", self.name))
    }
}

/// Numbers and the like.
macro_rules! parsed {
    ($($method:ident => $visit:ident $what:literal),* $(,)?) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mismatch> {
            visitor.$visit(self.parse($what)?)
        })*
    };
}

/// Types that only JSON can express.
macro_rules! json {
    ($($method:ident($($argument:ident: $kind:ty),*)),* $(,)?) => {
        $(fn $method<V: Visitor<'de>>(self, $($argument: $kind,)* visitor: V) -> Result<V::Value, Mismatch> {
            let json: serde_json::Value = serde_json::from_str(&self.text).map_err(|error| self.name_error(error))?;
            json.$method($($argument,)* visitor).map_err(|error| self.name_error(error))
        })*
    };
}

impl<'de> Deserializer<'de> for Text {
    type Error = Mismatch;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mismatch> {
        visitor.visit_string(self.text)
    }

    parsed!(
        deserialize_bool => visit_bool "true or false",
        deserialize_i8 => visit_i8 "a whole number from -128 to 127",
        deserialize_i16 => visit_i16 "a whole number from -32768 to 32767",
        deserialize_i32 => visit_i32 "a whole number",
        deserialize_i64 => visit_i64 "a whole number",
        deserialize_i128 => visit_i128 "a whole number",
        deserialize_u8 => visit_u8 "a whole number from 0 to 255",
        deserialize_u16 => visit_u16 "a whole number from 0 to 65535",
        deserialize_u32 => visit_u32 "a whole number, not negative",
        deserialize_u64 => visit_u64 "a whole number, not negative",
        deserialize_u128 => visit_u128 "a whole number, not negative",
        deserialize_f32 => visit_f32 "a number",
        deserialize_f64 => visit_f64 "a number",
    );

    json!(
        deserialize_seq(),
        deserialize_tuple(len: usize),
        deserialize_tuple_struct(name: &'static str, len: usize),
        deserialize_map(),
        deserialize_struct(name: &'static str, fields: &'static [&'static str]),
    );

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mismatch> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Mismatch> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Mismatch> {
        let text: StringDeserializer<Mismatch> = self.text.clone().into_deserializer();
        text.deserialize_enum(name, variants, visitor).map_err(|error| self.name_error(error))
    }

    forward_to_deserialize_any!(char str string bytes byte_buf unit unit_struct identifier ignored_any);
}

impl IntoDeserializer<'_, Mismatch> for Text {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl serde::de::Error for Mismatch {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self(message.to_string())
    }
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Mismatch {}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Deserialize, PartialEq)]
    struct Args {
        name: String,
        #[serde(default)]
        count: u8,
        ratio: Option<f64>,
        loud: Option<bool>,
        mode: Option<Mode>,
        tags: Option<Vec<String>>,
        wrapped: Option<Wrapped>,
    }

    #[derive(Debug, Deserialize, PartialEq)]
    #[serde(rename_all = "lowercase")]
    enum Mode {
        Fast,
    }

    #[derive(Debug, Deserialize, PartialEq)]
    struct Wrapped(i64);

    fn args(pairs: &[(&str, &str)]) -> Result<Args, String> {
        read(pairs.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect())
    }

    #[test]
    fn strings_are_parsed_as_their_types_require() {
        let all = args(&[
            ("name", "5"),
            ("count", " 7 "),
            ("ratio", "1.5"),
            ("loud", "true"),
            ("mode", "fast"),
            ("tags", r#"["a"]"#),
            ("wrapped", "-1"),
        ]);
        let expected = Args {
            name: "5".into(),
            count: 7,
            ratio: Some(1.5),
            loud: Some(true),
            mode: Some(Mode::Fast),
            tags: Some(vec!["a".into()]),
            wrapped: Some(Wrapped(-1)),
        };
        assert_eq!(all, Ok(expected));
        assert_eq!(args(&[("name", "")]).unwrap().count, 0);
        let map: BTreeMap<String, String> = read(BTreeMap::from([("a".to_owned(), "b".to_owned())])).unwrap();
        assert_eq!(map["a"], "b");
    }

    #[test]
    fn what_does_not_fit_is_named() {
        for (pairs, why) in [
            (&[][..], "missing field `name`"),
            (&[("name", "a"), ("count", "256")], "\"count\" must be a whole number from 0 to 255, not \"256\""),
            (&[("name", "a"), ("loud", "yes")], "\"loud\" must be true or false, not \"yes\""),
            (&[("name", "a"), ("mode", "slow")], "\"mode\": unknown variant `slow`, expected `fast`"),
            (&[("name", "a"), ("tags", "a,b")], "\"tags\": expected value at line 1 column 1"),
            (&[("name", "a"), ("tags", "[] []")], "\"tags\": trailing characters at line 1 column 4"),
        ] {
            assert_eq!(args(pairs).unwrap_err(), why);
        }
    }
}
