//! YAML as JSON, by the core schema (YAML 1.2.2, section 10.3).
//!
//! The library takes texts for numbers that the schema does not, such as `0b11`, and integers for fractions, such as
//! `017` and those beyond 64 bits. Each number is therefore read again at the place where it is written.

use std::fmt;

use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Number, Value};
use serde_saphyr::{Error, Location, Options, Spanned};

/// The value of a document. An integer beyond 64 bits, which most readers of JSON would round, is text.
pub(crate) fn to_json(document: &str, options: Options) -> Result<Value, Error> {
    let node = serde_saphyr::from_str_with_options::<Node>(document, options)?;
    Ok(node.into_json(document))
}

/// A value, whose parts have the places where they are written.
enum Node {
    Scalar(Value),
    Sequence(Vec<Spanned<Self>>),
    Mapping(Vec<(String, Spanned<Self>)>),
}

impl Node {
    fn into_json(self, document: &str) -> Value {
        match self {
            Self::Scalar(value) => value,
            Self::Sequence(items) => items.into_iter().map(|item| part(item, document)).collect(),
            Self::Mapping(members) => members.into_iter().map(|(name, value)| (name, part(value, document))).collect(),
        }
    }
}

fn part(part: Spanned<Node>, document: &str) -> Value {
    match part.value {
        // An alias is defined at its anchor.
        Node::Scalar(Value::Number(number)) => resolved(number, written(part.defined, document)),
        value => value.into_json(document),
    }
}

/// The text of a plain number that begins here; an empty one if there is none.
fn written(place: Location, document: &str) -> &str {
    let start = place.span().byte_offset().and_then(|start| usize::try_from(start).ok());
    let rest = start.and_then(|start| document.get(start..)).unwrap_or_default();
    let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && !"+-.".contains(c)).unwrap_or(rest.len());
    &rest[..end]
}

/// The value of a scalar that the library has read as this number. Without a text it is a quoted one with the type of a
/// number.
fn resolved(number: Number, written: &str) -> Value {
    let has_digits = |text: &str, radix: u32| !text.is_empty() && text.chars().all(|c| c.is_digit(radix));
    let unsigned = written.strip_prefix(['+', '-']).unwrap_or(written);
    let prefixed = [("0o", 8), ("0x", 16)].into_iter().find_map(|(prefix, radix)| {
        let digits = written.strip_prefix(prefix)?;
        has_digits(digits, radix).then_some((digits, radix))
    });
    let integer = if has_digits(unsigned, 10) {
        written.parse::<i64>().map(Value::from).or_else(|_| written.parse::<u64>().map(Value::from)).ok()
    } else if let Some((digits, radix)) = prefixed {
        u64::from_str_radix(digits, radix).map(Value::from).ok()
    } else if written.is_empty() || written.parse::<f64>().is_ok() {
        return Value::Number(number);
    } else {
        None
    };
    integer.unwrap_or_else(|| Value::String(written.to_owned()))
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NodeVisitor)
    }
}

struct NodeVisitor;

impl<'de> Visitor<'de> for NodeVisitor {
    type Value = Node;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E: de::Error>(self) -> Result<Node, E> {
        Ok(Node::Scalar(Value::Null))
    }

    fn visit_bool<E: de::Error>(self, value: bool) -> Result<Node, E> {
        Ok(Node::Scalar(value.into()))
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Node, E> {
        Ok(Node::Scalar(value.into()))
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Node, E> {
        Ok(Node::Scalar(value.into()))
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Node, E> {
        // The library refuses infinities, which JSON does not have.
        Ok(Node::Scalar(value.into()))
    }

    fn visit_str<E: de::Error>(self, value: &str) -> Result<Node, E> {
        Ok(Node::Scalar(value.into()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Node, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = access.next_element()? {
            items.push(item);
        }
        Ok(Node::Sequence(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Node, A::Error> {
        let mut members = Vec::new();
        while let Some(member) = access.next_entry()? {
            members.push(member);
        }
        Ok(Node::Mapping(members))
    }
}
