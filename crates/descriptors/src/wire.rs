//! Protobuf bytes as a list of fields, without copies and without a schema.
//!
//! Bytes of a peer are measured with it before anything is allocated for them.

/// The end of the bytes came in the middle of a field, or a tag is not one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Malformed;

/// The value of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Payload<'a> {
    Varint(u64),
    /// Four or eight bytes.
    Fixed(&'a [u8]),
    Bytes(&'a [u8]),
    /// The start of a group. Its fields follow one by one.
    GroupStart,
    GroupEnd,
}

/// The fields of a message, in their order. Ends after the first malformed one.
#[derive(Debug, Clone)]
pub(crate) struct Fields<'a> {
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    fn read(&mut self) -> Result<(u32, Payload<'a>), Malformed> {
        let tag = self.varint()?;
        let number = u32::try_from(tag >> 3).map_err(|_| Malformed)?;
        if number == 0 {
            return Err(Malformed);
        }
        let payload = match tag & 7 {
            0 => Payload::Varint(self.varint()?),
            1 => Payload::Fixed(self.take(8)?),
            2 => {
                let len = usize::try_from(self.varint()?).map_err(|_| Malformed)?;
                Payload::Bytes(self.take(len)?)
            }
            3 => Payload::GroupStart,
            4 => Payload::GroupEnd,
            5 => Payload::Fixed(self.take(4)?),
            _ => return Err(Malformed),
        };
        Ok((number, payload))
    }

    fn varint(&mut self) -> Result<u64, Malformed> {
        let mut value = 0;
        for index in 0..10 {
            let byte = *self.rest.get(index).ok_or(Malformed)?;
            value |= u64::from(byte & 0x7f) << (7 * index);
            if byte < 0x80 {
                self.rest = &self.rest[index + 1..];
                return Ok(value);
            }
        }
        Err(Malformed)
    }

    fn take(&mut self, len: usize) -> Result<&'a [u8], Malformed> {
        let (taken, rest) = self.rest.split_at_checked(len).ok_or(Malformed)?;
        self.rest = rest;
        Ok(taken)
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<(u32, Payload<'a>), Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let read = self.read();
        if read.is_err() {
            self.rest = &[];
        }
        Some(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_cut_without_a_schema() {
        let bytes = [0x08, 0x96, 0x01, 0x12, 0x01, b'x', 0x1d, 0, 0, 0, 0, 0x21, 0, 0, 0, 0, 0, 0, 0, 0, 0x2b, 0x2c];
        let fields: Result<Vec<_>, _> = Fields::new(&bytes).collect();
        let expected = vec![
            (1, Payload::Varint(150)),
            (2, Payload::Bytes(b"x")),
            (3, Payload::Fixed(&[0; 4])),
            (4, Payload::Fixed(&[0; 8])),
            (5, Payload::GroupStart),
            (5, Payload::GroupEnd),
        ];
        assert_eq!(fields, Ok(expected));
    }

    #[test]
    fn broken_bytes_end_the_list() {
        for bytes in [&[0x08][..], &[0x00, 0x00], &[0x12, 0x02, b'x'], &[0x0e], &[0x1d, 0], &[0xff; 11]] {
            let fields: Vec<_> = Fields::new(bytes).collect();
            assert_eq!(fields, [Err(Malformed)], "{bytes:?}");
        }
    }
}
