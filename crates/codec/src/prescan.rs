//! Counts the entries of a protobuf message before it is decoded.
//!
//! An entry of a list can be two bytes on the wire and hundreds in memory. So the entries of a large frame are counted
//! first, and so are its fields, whose number decides the time of decoding. A frame too small to exceed the bound is
//! not scanned.
//!
//! The decoder of envelopes does this by itself. Decoders of other protocols call [`scan`] with the [`Shape`] of their
//! outermost message.

use crate::shape::Shape;

/// The result of counting a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Within the limits.
    Fits,
    /// Too many entries or fields.
    TooMany,
    /// A field is malformed, does not end inside its message, or lies deeper than a decoder goes (100 messages).
    Broken,
}

/// Counts the entries of all lists in a message of this shape.
///
/// A message of at most two bytes for each allowed entry is not looked at: it fits, even if it is broken.
pub fn scan(message: &[u8], shape: &Shape, max_entries: usize) -> Verdict {
    if message.len() / MIN_ENTRY <= max_entries {
        return Verdict::Fits;
    }
    let mut left = Left { entries: max_entries, fields: max_entries.saturating_mul(FIELDS_PER_ENTRY) };
    left.message(message, shape, MAX_DEPTH).err().unwrap_or(Verdict::Fits)
}

/// The remaining allowance.
struct Left {
    entries: usize,
    fields: usize,
}

impl Left {
    fn message(&mut self, message: &[u8], shape: &Shape, depth: usize) -> Result<(), Verdict> {
        let mut fields = Fields::of(message);
        while !fields.rest().is_empty() {
            let (number, value) = fields.next_field().ok_or(Verdict::Broken)?;
            self.fields = self.fields.checked_sub(1).ok_or(Verdict::TooMany)?;
            if shape.lists.contains(&number) {
                self.entries = self.entries.checked_sub(1).ok_or(Verdict::TooMany)?;
            }
            if let Some(value) = value
                && let Some(inner) = shape.inner(number)
            {
                self.message(value, inner, depth.checked_sub(1).ok_or(Verdict::Broken)?)?;
            }
        }
        Ok(())
    }
}

/// The fields of an encoded message, one after the other, without decoding it.
#[derive(Debug, Clone)]
pub struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    /// All fields of a message.
    pub fn of(message: &'a [u8]) -> Self {
        Self(message)
    }

    /// The bytes behind the fields that were read.
    pub fn rest(&self) -> &'a [u8] {
        self.0
    }

    /// The number of the next field, and its value if it has a length; `None` if the message ends, or is broken there.
    ///
    /// Both ends of a group count as fields, and so does its content: no message of the protocols has a group.
    pub fn next_field(&mut self) -> Option<(u32, Option<&'a [u8]>)> {
        let key = u32::try_from(self.varint()?).ok()?;
        let number = key >> 3;
        let value = match key & 7 {
            0 => {
                self.varint()?;
                None
            }
            1 => {
                self.take(8)?;
                None
            }
            2 => {
                let length = usize::try_from(self.varint()?).ok()?;
                Some(self.take(length)?)
            }
            3 | 4 => None,
            5 => {
                self.take(4)?;
                None
            }
            _ => return None,
        };
        (number > 0).then_some((number, value))
    }

    /// Reads a number.
    pub fn varint(&mut self) -> Option<u64> {
        let mut value = 0;
        for (place, byte) in self.0.iter().take(MAX_VARINT).enumerate() {
            value |= u64::from(byte & 0x7f) << (7 * place);
            if *byte < 0x80 {
                self.0 = &self.0[place + 1..];
                return Some(value);
            }
        }
        None
    }

    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }
}

/// The fewest bytes of an entry: its key, and a length of zero.
const MIN_ENTRY: usize = 2;

/// The fields allowed for each allowed entry: definitions have a dozen.
const FIELDS_PER_ENTRY: usize = 16;

/// The messages inside each other that a decoder reads, as `prost` limits them.
const MAX_DEPTH: usize = 100;

/// The most bytes of a number.
const MAX_VARINT: usize = 10;

#[cfg(test)]
mod tests;
