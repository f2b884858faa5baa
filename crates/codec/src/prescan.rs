//! Counts the entries of an envelope before it is decoded.
//!
//! An entry of a list can be two bytes on the wire and hundreds in memory. So the entries of a large frame are counted
//! first, and so are its fields, whose number decides the time of decoding. A frame too small to exceed the bound is
//! not scanned.

use crate::shape::{ENVELOPE, Shape};

/// The result of counting a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Within the limits.
    Fits,
    /// Too many entries or fields.
    TooMany,
    /// A field is malformed, or does not end inside its message.
    Broken,
}

/// Counts the entries of all lists in an envelope.
pub(crate) fn scan(frame: &[u8], max_entries: usize) -> Verdict {
    if frame.len() / MIN_ENTRY <= max_entries {
        return Verdict::Fits;
    }
    let mut left = Left { entries: max_entries, fields: max_entries.saturating_mul(FIELDS_PER_ENTRY) };
    left.message(frame, &ENVELOPE).err().unwrap_or(Verdict::Fits)
}

/// The remaining allowance.
struct Left {
    entries: usize,
    fields: usize,
}

impl Left {
    fn message(&mut self, message: &[u8], shape: &Shape) -> Result<(), Verdict> {
        let mut fields = Fields(message);
        while !fields.0.is_empty() {
            let (number, value) = fields.next().ok_or(Verdict::Broken)?;
            self.fields = self.fields.checked_sub(1).ok_or(Verdict::TooMany)?;
            if shape.lists.contains(&number) {
                self.entries = self.entries.checked_sub(1).ok_or(Verdict::TooMany)?;
            }
            if let Some(value) = value
                && let Some(inner) = shape.inner(number)
            {
                self.message(value, inner)?;
            }
        }
        Ok(())
    }
}

/// The rest of a message.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    /// The number of the next field, and its value if it has a length.
    ///
    /// Both ends of a group count as fields, and so does its content: no message of the protocol has a group.
    fn next(&mut self) -> Option<(u32, Option<&'a [u8]>)> {
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

    fn varint(&mut self) -> Option<u64> {
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

/// The most bytes of a number.
const MAX_VARINT: usize = 10;

#[cfg(test)]
mod tests;
