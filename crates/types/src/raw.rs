//! JSON that is forwarded, not read.
//!
//! Arguments, results and schemas pass through this program as the text in which they arrived: big integers, key order
//! and escapes stay unchanged, and nothing is scanned twice. `RawJson` is the proof that such a text is one valid JSON
//! value in UTF-8.

use std::borrow::Cow;
use std::fmt;

use bytes::Bytes;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

use crate::surrogates::replace_lone_surrogates;

/// The text of exactly one JSON value, without white space around it. Cloning is cheap.
///
/// Two values are equal if their bytes are: `1.0` is not `1`, and `{"a":1}` is not `{ "a": 1 }`.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct RawJson(Bytes);

/// The kind of value in a [`RawJson`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// `{…}`
    Object,
    /// `[…]`
    Array,
    /// `"…"`
    String,
    /// A number of any size.
    Number,
    /// `true` or `false`
    Boolean,
    /// `null`
    Null,
}

impl RawJson {
    /// `{}`
    pub const EMPTY_OBJECT: Self = Self(Bytes::from_static(b"{}"));
    /// `[]`
    pub const EMPTY_ARRAY: Self = Self(Bytes::from_static(b"[]"));
    /// `null`
    pub const NULL: Self = Self(Bytes::from_static(b"null"));

    /// Checks that `text` is one JSON value (in one scan, without building anything) and keeps it without copying.
    ///
    /// # Errors
    /// If the text is empty, not JSON, not UTF-8, or continues after the value.
    pub fn parse(text: impl Into<Bytes>) -> Result<Self, serde_json::Error> {
        let text = text.into();
        let raw: &RawValue = serde_json::from_slice(&text)?;
        Ok(Self::slice(&text, raw))
    }

    /// Like [`parse`](Self::parse), with U+FFFD in place of each escape that is half of a surrogate pair (`\ud83d`), so that
    /// every JSON library can read the value.
    ///
    /// # Errors
    /// If the text is empty, not JSON, not UTF-8, or continues after the value.
    pub fn parse_lossy(text: impl Into<Bytes>) -> Result<Self, serde_json::Error> {
        Self::parse(replace_lone_surrogates(text.into()))
    }

    /// Checks that `text` is one JSON value and reads it as `T` in the same scan. `T` may borrow from `text`; the raw value
    /// shares it.
    ///
    /// # Errors
    /// If the text is not one JSON value in UTF-8, or does not have the shape of `T`.
    pub fn parse_as<'a, T: Deserialize<'a>>(text: &'a Bytes) -> Result<(Self, T), serde_json::Error> {
        // Strings that `T` skips are not checked by the JSON scan, so UTF-8 is checked first, which is an order of
        // magnitude faster.
        let text_str = std::str::from_utf8(text).map_err(serde::de::Error::custom)?;
        let value = serde_json::from_str(text_str)?;
        let trimmed = text_str.trim_matches([' ', '\t', '\n', '\r']);
        Ok((Self(text.slice_ref(trimmed.as_bytes())), value))
    }

    /// The JSON text of a Rust value.
    ///
    /// # Errors
    /// If the value cannot be serialized, or is a map whose keys are not strings.
    pub fn of<T: Serialize + ?Sized>(value: &T) -> Result<Self, serde_json::Error> {
        serde_json::to_vec(value).map(|text| Self(Bytes::from(text)))
    }

    /// `text` as a JSON string.
    #[must_use]
    pub fn text(text: &str) -> Self {
        Self(Bytes::from(serde_json::to_vec(text).expect("a string is always serializable")))
    }

    /// The part of `line` that `raw` was borrowed from, shared instead of copied.
    pub(crate) fn slice(line: &Bytes, raw: &RawValue) -> Self {
        Self(line.slice_ref(raw.get().as_bytes()))
    }

    /// For text that this crate has written itself.
    pub(crate) fn trusted(text: impl Into<Bytes>) -> Self {
        Self(text.into())
    }

    /// The text.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The text. Checks UTF-8 again, which is cheap but not free: prefer [`RawJson::as_bytes`] for large values.
    #[must_use]
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).expect("checked when it was made")
    }

    /// The text, shared.
    #[must_use]
    pub fn into_bytes(self) -> Bytes {
        self.0
    }

    /// The text, shared.
    #[must_use]
    pub fn bytes(&self) -> &Bytes {
        &self.0
    }

    /// A copy that shares no memory with the text around it.
    #[must_use]
    pub fn to_copy(&self) -> Self {
        Self(Bytes::copy_from_slice(&self.0))
    }

    /// Length of the text in bytes; never 0.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "a JSON value is never empty")]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// An upper bound of the number of values in the text, counted without parsing it: a tree of the values takes some
    /// 100 bytes for each. Commas, colons and brackets inside strings count as well.
    #[must_use]
    pub fn max_values(&self) -> usize {
        1 + self.as_str().bytes().filter(|byte| matches!(byte, b',' | b':' | b'[' | b'{')).count()
    }

    /// The kind of this value; reads the first byte only.
    #[must_use]
    pub fn kind(&self) -> Kind {
        match self.0.first() {
            Some(b'{') => Kind::Object,
            Some(b'[') => Kind::Array,
            Some(b'"') => Kind::String,
            Some(b't' | b'f') => Kind::Boolean,
            Some(b'n') => Kind::Null,
            _ => Kind::Number,
        }
    }

    /// The text of a string, without a copy unless it holds escapes. `None` for values of other kinds.
    #[must_use]
    pub fn to_text(&self) -> Option<Cow<'_, str>> {
        let quoted = self.0.strip_prefix(b"\"").and_then(|text| text.strip_suffix(b"\""))?;
        if !quoted.contains(&b'\\') {
            return std::str::from_utf8(quoted).ok().map(Cow::Borrowed);
        }
        self.to().ok().map(Cow::Owned)
    }

    /// Reads the value into a Rust type.
    ///
    /// # Errors
    /// If the value does not have the shape of `T`.
    pub fn to<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_slice(&self.0)
    }
}

impl fmt::Debug for RawJson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for RawJson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl From<Box<RawValue>> for RawJson {
    fn from(raw: Box<RawValue>) -> Self {
        Self(Bytes::from(String::from(Box::<str>::from(raw))))
    }
}

/// For cold paths: the text is scanned once more. Works with serde_json only.
impl Serialize for RawJson {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let raw: &RawValue = serde_json::from_slice(&self.0).map_err(serde::ser::Error::custom)?;
        raw.serialize(serializer)
    }
}

/// For cold paths: the text is copied. Works with serde_json only.
impl<'de> Deserialize<'de> for RawJson {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Box::<RawValue>::deserialize(deserializer).map(Self::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_never_undercounted() {
        for (text, values) in [("1", 1), ("[]", 2), ("[1,2]", 3), (r#"{"a":[1,{"b":2}]}"#, 7), (r#"",:[{""#, 5)] {
            assert_eq!(RawJson::parse(text.to_owned()).unwrap().max_values(), values, "{text}");
        }
    }

    #[test]
    fn text_is_kept_as_it_was_and_trimmed() {
        for (text, kept, kind) in [
            (" {\"b\" : 1, \"a\":9007199254740993}\n", "{\"b\" : 1, \"a\":9007199254740993}", Kind::Object),
            ("[1,\n2]", "[1,\n2]", Kind::Array),
            ("\"\\u00e9\\ud800\"", "\"\\u00e9\\ud800\"", Kind::String),
            ("-123456789012345678901234567890", "-123456789012345678901234567890", Kind::Number),
            ("\ttrue ", "true", Kind::Boolean),
            ("null", "null", Kind::Null),
        ] {
            let raw = RawJson::parse(text).expect(text);
            assert_eq!((raw.as_str(), raw.kind()), (kept, kind));
        }
    }

    #[test]
    fn halves_of_pairs_are_replaced_and_text_is_still_checked() {
        let raw = RawJson::parse_lossy(" \"a\\ud83d\" ").unwrap();
        assert_eq!((raw.as_str(), raw.to::<String>().unwrap()), ("\"a\\ufffd\"", "a\u{fffd}".to_owned()));
        assert!(RawJson::parse_lossy(r#""\ud83d" 1"#).is_err());
    }

    #[test]
    fn what_is_not_one_json_value_is_refused() {
        for text in [&b""[..], b" ", b"{", b"1 2", b"nul", b"'a'", b"\"\xff\"", b"{\"a\":\"\xc3\"}", b"\"a\nb\""] {
            assert!(RawJson::parse(Bytes::from_static(text)).is_err(), "{text:?}");
        }
    }

    #[test]
    fn one_scan_checks_and_reads() {
        let text = Bytes::from_static(b" [1, 2]\n");
        let (raw, numbers): (RawJson, Vec<u8>) = RawJson::parse_as(&text).unwrap();
        assert_eq!((raw.as_str(), numbers), ("[1, 2]", vec![1, 2]));
        for broken in [&b"[1, 2"[..], b"[1] 2", b"[\"\xff\"]", b"{}"] {
            let broken = Bytes::from_static(broken);
            assert!(RawJson::parse_as::<Vec<serde::de::IgnoredAny>>(&broken).is_err());
        }
    }

    #[test]
    fn serde_keeps_the_text() {
        let text = r#"{"schema":{"z":1,"a":1.50}}"#;
        let map: std::collections::BTreeMap<String, RawJson> = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_string(&map).unwrap(), text);
        assert_eq!(RawJson::of(&vec![1, 2]).unwrap().as_str(), "[1,2]");
        assert_eq!(RawJson::text("a\"b").as_str(), r#""a\"b""#);
    }

    #[test]
    fn only_strings_have_text() {
        for (json, text) in [(r#""a b""#, "a b"), (r#""\u00e9\n""#, "é\n"), (r#""""#, "")] {
            assert_eq!(RawJson::parse(json).unwrap().to_text().as_deref(), Some(text));
        }
        for other in ["1", "null", "true", "[]", "{}", r#""\ud800""#] {
            assert_eq!(RawJson::parse(other).unwrap().to_text(), None, "{other}");
        }
        let plain = RawJson::text("a");
        assert!(matches!(plain.to_text(), Some(Cow::Borrowed("a"))));
    }
}
