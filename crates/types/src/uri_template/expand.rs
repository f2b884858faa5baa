//! Expands values to a URI, and decodes a part of a URI (RFC 6570, 3.2; RFC 3986, 2).

use std::borrow::Cow;

use crate::uri_template::parse::{Modifier, Operator, Part, Variable};

/// The URI for these values.
pub(super) fn expand<'v>(parts: &[Part], value: impl Fn(&str) -> Option<&'v str>) -> String {
    let mut uri = String::new();
    for part in parts {
        match part {
            Part::Literal(text) => encode(text, true, &mut uri),
            Part::Expression { operator, variables } => {
                let mut before = operator.first();
                for variable in variables {
                    if let Some(value) = value(&variable.name) {
                        uri.push_str(before);
                        one(*operator, variable, value, &mut uri);
                        before = operator.between();
                    }
                }
            }
        }
    }
    uri
}

fn one(operator: Operator, variable: &Variable, value: &str, uri: &mut String) {
    if operator.is_named() {
        encode(&variable.name, true, uri);
        if value.is_empty() && operator == Operator::Parameter {
            return;
        }
        uri.push('=');
    }
    let value = match variable.modifier {
        Modifier::Prefix(length) => value.char_indices().nth(length).map_or(value, |(end, _)| &value[..end]),
        Modifier::None | Modifier::Explode => value,
    };
    encode(value, operator.keeps_reserved(), uri);
}

/// Literal text in its encoded form.
pub(super) fn literal(text: &str) -> String {
    let mut uri = String::new();
    encode(text, true, &mut uri);
    uri
}

/// Appends text, percent-encoding all characters that are not allowed.
fn encode(text: &str, keep_reserved: bool, uri: &mut String) {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    for (at, byte) in text.bytes().enumerate() {
        let unreserved = byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
        let reserved = b":/?#[]@!$&'()*+,;=".contains(&byte) || encoded_byte(&text.as_bytes()[at..]).is_some();
        if unreserved || keep_reserved && reserved {
            uri.push(char::from(byte));
        } else {
            uri.push('%');
            uri.push(char::from(HEX[usize::from(byte >> 4)]));
            uri.push(char::from(HEX[usize::from(byte & 15)]));
        }
    }
}

/// The byte that `%XX` at the start of `text` encodes.
pub(super) fn encoded_byte(text: &[u8]) -> Option<u8> {
    let [b'%', high, low, ..] = *text else { return None };
    let digit = |byte: u8| char::from(byte).to_digit(16);
    u8::try_from(digit(high)? << 4 | digit(low)?).ok()
}

/// Decoded text, or the text itself if it does not decode to UTF-8.
pub(super) fn decode(text: &str) -> Cow<'_, str> {
    if !text.contains('%') {
        return Cow::Borrowed(text);
    }
    let (mut bytes, mut at) = (Vec::with_capacity(text.len()), 0);
    while at < text.len() {
        let rest = &text.as_bytes()[at..];
        let encoded = encoded_byte(rest);
        bytes.push(encoded.unwrap_or(rest[0]));
        at += if encoded.is_some() { 3 } else { 1 };
    }
    String::from_utf8(bytes).map_or(Cow::Borrowed(text), Cow::Owned)
}
