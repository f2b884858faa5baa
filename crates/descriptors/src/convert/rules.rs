//! Rules of `buf.validate` as values, for the text and the descriptors alike.
//!
//! Numbers are from `buf/validate/validate.proto`. Each rule is encoded as a separate whole option: protobuf merges
//! them when they are read.

use crate::convert::literal::quoted;

/// The extension for rules, on fields, messages and oneofs.
pub(crate) const EXTENSION: u32 = 1159;

/// A step to a rule: name and field number.
pub(crate) type Step = (&'static str, u32);

/// The rules of one field or message.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Rules(pub(crate) Vec<Rule>);

/// One rule: the path to it, and its value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Rule {
    pub(crate) path: Vec<Step>,
    pub(crate) value: RuleValue,
}

/// A value, by the form in which protobuf writes it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum RuleValue {
    Bool(bool),
    /// `int32`, `int64`.
    Int(i64),
    /// `uint32`, `uint64`.
    Uint(u64),
    Double(f64),
    Text(String),
    /// A name and number of an enum.
    Enum(&'static str, u64),
    /// Id, message and expression.
    Cel(String, String, String),
}

impl Rules {
    pub(crate) fn add(&mut self, path: &[Step], value: RuleValue) {
        self.0.push(Rule { path: path.to_vec(), value });
    }

    /// The rules of the elements of a list or the values of a map, which are under another rule.
    pub(crate) fn below(self, outer: &[Step]) -> Self {
        let moved = self.0.into_iter().map(|rule| Rule { path: [outer, rule.path.as_slice()].concat(), ..rule });
        Self(moved.collect())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The bytes of the rules, about.
    pub(crate) fn size(&self) -> usize {
        let text = |value: &RuleValue| match value {
            RuleValue::Text(text) => text.len(),
            RuleValue::Cel(id, message, expression) => id.len() + message.len() + expression.len(),
            _ => 8,
        };
        self.0.iter().map(|rule| 16 + text(&rule.value)).sum()
    }

    /// The bytes of the options of the field or message.
    pub(crate) fn encode(&self) -> Vec<u8> {
        self.0.iter().flat_map(Rule::encode).collect()
    }
}

impl Rule {
    /// The option, such as `(buf.validate.field).string.min_len = 1`.
    pub(crate) fn text(&self, target: &str) -> String {
        let path: String = self.path.iter().map(|(name, _)| format!(".{name}")).collect();
        let value = match &self.value {
            RuleValue::Bool(value) => value.to_string(),
            RuleValue::Int(value) => value.to_string(),
            RuleValue::Uint(value) => value.to_string(),
            RuleValue::Double(value) => format!("{value:?}"),
            RuleValue::Text(value) => quoted(value),
            RuleValue::Enum(name, _) => (*name).to_owned(),
            RuleValue::Cel(id, message, expression) => {
                format!("{{ id: {}, message: {}, expression: {} }}", quoted(id), quoted(message), quoted(expression))
            }
        };
        format!("(buf.validate.{target}){path} = {value}")
    }

    fn encode(&self) -> Vec<u8> {
        let (&(_, number), outer) = match self.path.split_last() {
            Some(split) => split,
            None => return Vec::new(),
        };
        let mut bytes = Vec::new();
        match &self.value {
            RuleValue::Bool(value) => put_varint(number, u64::from(*value), &mut bytes),
            RuleValue::Int(value) => put_varint(number, value.cast_unsigned(), &mut bytes),
            RuleValue::Uint(value) | RuleValue::Enum(_, value) => put_varint(number, *value, &mut bytes),
            RuleValue::Double(value) => {
                put_key(number, 1, &mut bytes);
                bytes.extend(value.to_le_bytes());
            }
            RuleValue::Text(value) => put_bytes(number, value.as_bytes(), &mut bytes),
            RuleValue::Cel(id, message, expression) => {
                let mut rule = Vec::new();
                for (number, text) in [(1, id), (2, message), (3, expression)] {
                    put_bytes(number, text.as_bytes(), &mut rule);
                }
                put_bytes(number, &rule, &mut bytes);
            }
        }
        for (_, number) in outer.iter().rev() {
            bytes = within(*number, &bytes);
        }
        within(EXTENSION, &bytes)
    }
}

fn within(number: u32, inner: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    put_bytes(number, inner, &mut bytes);
    bytes
}

fn put_key(number: u32, wire_type: u64, bytes: &mut Vec<u8>) {
    prost::encoding::encode_varint(u64::from(number) << 3 | wire_type, bytes);
}

/// Appends a field with a number.
pub(crate) fn put_varint(number: u32, value: u64, bytes: &mut Vec<u8>) {
    put_key(number, 0, bytes);
    prost::encoding::encode_varint(value, bytes);
}

/// Appends a field with bytes, text or a message.
pub(crate) fn put_bytes(number: u32, value: &[u8], bytes: &mut Vec<u8>) {
    put_key(number, 2, bytes);
    prost::encoding::encode_varint(value.len() as u64, bytes);
    bytes.extend_from_slice(value);
}
