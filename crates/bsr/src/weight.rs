//! Counts the values of a message before it is decoded.
//!
//! Two bytes can make a value of two hundred. The count follows the descriptor, because only it tells a nested message from
//! a text.

use prost_reflect::{Kind, MessageDescriptor};

use crate::message_error::{MessageError, check};
use crate::wire::{Fields, Payload};

/// The nesting at which the library refuses a message.
const MAX_DEPTH: usize = 100;

/// Fails if the bytes hold more values than `limit`. Malformed bytes are left to the decoder.
pub(crate) fn check_values(message: &MessageDescriptor, bytes: &[u8], limit: usize) -> Result<(), MessageError> {
    let mut count = 0;
    add_message(message, bytes, MAX_DEPTH, &mut |more| {
        count += more;
        check("values", count, limit)
    })
}

fn add_message(
    message: &MessageDescriptor,
    bytes: &[u8],
    depth: usize,
    add: &mut dyn FnMut(usize) -> Result<(), MessageError>,
) -> Result<(), MessageError> {
    if depth == 0 {
        return Ok(());
    }
    for field in Fields::new(bytes) {
        let Ok((number, payload)) = field else { return Ok(()) };
        add(1)?;
        let Payload::Bytes(inner) = payload else { continue };
        let Some(field) = message.get_field(number) else { continue };
        match field.kind() {
            Kind::Message(inner_type) => add_message(&inner_type, inner, depth - 1, add)?,
            Kind::String | Kind::Bytes => {}
            Kind::Double | Kind::Fixed64 | Kind::Sfixed64 => add(inner.len() / 8)?,
            Kind::Float | Kind::Fixed32 | Kind::Sfixed32 => add(inner.len() / 4)?,
            _ => add(inner.iter().filter(|byte| **byte < 0x80).count())?,
        }
    }
    Ok(())
}

/// Fails if a JSON text holds more values than `limit`. Every value but the first is behind a comma or a bracket.
pub(crate) fn check_json_values(json: &str, limit: usize) -> Result<(), MessageError> {
    let (mut count, mut in_string, mut is_escaped) = (1, false, false);
    for byte in json.bytes() {
        match (in_string, byte) {
            (true, _) if is_escaped => is_escaped = false,
            (true, b'\\') => is_escaped = true,
            (_, b'"') => in_string = !in_string,
            (false, b',' | b'[' | b'{') => count += 1,
            _ => {}
        }
    }
    check("values", count, limit)
}
