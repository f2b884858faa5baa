//! Ids of requests and progress tokens.
//!
//! Both are a string or an integer, chosen by the peer, and are echoed exactly: `1` never becomes `"1"`, and nothing
//! beyond 2^53 is rounded. JSON-RPC would allow `null` and fractions; MCP does not (MCP 2025-11-25, basic).

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::output::{Output, put_text};
use crate::raw::RawJson;

/// The longest JSON text, in bytes, that is accepted as an id or a progress token. Ids are kept while a call runs, so
/// their size is bounded.
pub const MAX_TOKEN: usize = 4 * 1024;

/// The `id` of a request: a string, or an integer that fits `i64` or `u64`. Cloning is cheap.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RequestId(Token);

/// The `progressToken` of a request, with the same shape as its id.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ProgressToken(Token);

#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Token {
    /// Below zero.
    Negative(i64),
    /// Zero and above.
    Positive(u64),
    Text(Arc<str>),
}

macro_rules! token {
    ($name:ident) => {
        impl $name {
            /// Reads JSON text; `None` unless it is a string or an integer in range.
            #[must_use]
            pub fn parse(text: &str) -> Option<Self> {
                Token::parse(text).map(Self)
            }

            /// Reads a JSON value; `None` unless it is a string or an integer in range.
            #[must_use]
            pub fn from_raw(raw: &RawJson) -> Option<Self> {
                if raw.len() > MAX_TOKEN {
                    return None;
                }
                Token::parse(raw.as_str()).map(Self)
            }

            /// The text of a string.
            #[must_use]
            pub fn as_str(&self) -> Option<&str> {
                match &self.0 {
                    Token::Text(text) => Some(text),
                    Token::Negative(_) | Token::Positive(_) => None,
                }
            }

            /// The value of an integer.
            #[must_use]
            pub fn as_integer(&self) -> Option<i128> {
                match self.0 {
                    Token::Negative(number) => Some(number.into()),
                    Token::Positive(number) => Some(number.into()),
                    Token::Text(_) => None,
                }
            }

            /// The JSON text.
            #[must_use]
            pub fn to_raw(&self) -> RawJson {
                let mut text = Vec::new();
                self.write_to(&mut text);
                RawJson::trusted(text)
            }

            /// Writes the JSON text.
            pub fn write_to(&self, out: &mut impl Output) {
                self.0.write_to(out);
            }
        }

        impl From<i64> for $name {
            fn from(number: i64) -> Self {
                Self(u64::try_from(number).map_or(Token::Negative(number), Token::Positive))
            }
        }

        impl From<i32> for $name {
            fn from(number: i32) -> Self {
                Self::from(i64::from(number))
            }
        }

        impl From<u64> for $name {
            fn from(number: u64) -> Self {
                Self(Token::Positive(number))
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(Token::Text(text.into()))
            }
        }

        impl From<String> for $name {
            fn from(text: String) -> Self {
                Self(Token::Text(text.into()))
            }
        }

        /// The JSON text, so that a log distinguishes `1` and `"1"`.
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match &self.0 {
                    Token::Negative(number) => write!(f, "{number}"),
                    Token::Positive(number) => write!(f, "{number}"),
                    Token::Text(text) => write!(f, "{text:?}"),
                }
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{self}")
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                match &self.0 {
                    Token::Negative(number) => serializer.serialize_i64(*number),
                    Token::Positive(number) => serializer.serialize_u64(*number),
                    Token::Text(text) => serializer.serialize_str(text),
                }
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let raw = RawJson::deserialize(deserializer)?;
                Self::from_raw(&raw).ok_or_else(|| serde::de::Error::custom("expected a string or an integer"))
            }
        }
    };
}

token!(RequestId);
token!(ProgressToken);

impl Token {
    fn parse(text: &str) -> Option<Self> {
        if text.len() > MAX_TOKEN {
            return None;
        }
        match text.as_bytes().first()? {
            b'"' => serde_json::from_str::<String>(text).ok().map(|text| Self::Text(text.into())),
            b'-' => match text.parse::<i64>().ok()? {
                0 => Some(Self::Positive(0)),
                number => Some(Self::Negative(number)),
            },
            b'0'..=b'9' => text.parse::<u64>().ok().map(Self::Positive),
            _ => None,
        }
    }

    fn write_to(&self, out: &mut impl Output) {
        match self {
            Self::Text(text) => put_text(out, text),
            Self::Positive(number) => put_digits(out, false, *number),
            Self::Negative(number) => put_digits(out, true, number.unsigned_abs()),
        }
    }
}

fn put_digits(out: &mut impl Output, negative: bool, mut number: u64) {
    let mut digits = [0; 21];
    let mut start = digits.len();
    loop {
        start -= 1;
        digits[start] = b'0' + u8::try_from(number % 10).expect("a digit is below ten");
        number /= 10;
        if number == 0 {
            break;
        }
    }
    if negative {
        start -= 1;
        digits[start] = b'-';
    }
    out.put(&digits[start..]);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn an_id_goes_back_as_it_came() {
        for text in
            ["0", "1", "-1", "9007199254740993", "18446744073709551615", "-9223372036854775808", r#""1""#, r#""""#]
        {
            let id = RequestId::parse(text).expect(text);
            assert_eq!(id.to_raw().as_str(), text);
            assert_eq!(serde_json::to_string(&id).unwrap(), text);
            assert_eq!(serde_json::from_str::<RequestId>(text).unwrap(), id);
        }
        assert_ne!(RequestId::parse("1"), RequestId::parse(r#""1""#));
    }

    #[test]
    fn null_fractions_and_large_numbers_are_not_ids() {
        for text in
            ["null", "true", "1.0", "1.5", "1e3", "-", "18446744073709551616", "-9223372036854775809", "[]", "{}", ""]
        {
            assert_eq!(RequestId::parse(text), None, "{text}");
        }
    }

    #[test]
    fn an_id_has_a_limited_length() {
        let text = |length: usize| format!("\"{}\"", "x".repeat(length - 2));
        assert!(RequestId::parse(&text(MAX_TOKEN)).is_some());
        assert_eq!(RequestId::parse(&text(MAX_TOKEN + 1)), None);
        assert_eq!(ProgressToken::from_raw(&RawJson::parse(text(MAX_TOKEN + 1)).unwrap()), None);
    }

    proptest! {
        #[test]
        fn integers_and_strings_survive(signed: i64, unsigned: u64, text: String) {
            for id in [RequestId::from(signed), RequestId::from(unsigned), RequestId::from(text)] {
                let raw = id.to_raw();
                prop_assert_eq!(RequestId::from_raw(&raw).unwrap(), id);
            }
        }
    }
}
