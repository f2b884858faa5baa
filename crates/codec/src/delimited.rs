//! The length prefix of a frame: four bytes, big-endian, in front of the bytes of one message.

use bytes::{Buf, Bytes, BytesMut};

/// The frame at the head of a buffer, as far as its prefix says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delimited {
    /// The buffer needs at least this many more bytes.
    Partial(usize),
    /// The buffer holds a prefix and this many bytes behind it.
    Whole(usize),
    /// The prefix announces more than the limit. Nothing is known about the bytes behind it.
    TooLarge(u32),
}

impl Delimited {
    /// Size of the length prefix, in bytes.
    pub const PREFIX: usize = 4;

    /// The frame at the head of `src`, of at most `max` bytes without its prefix.
    #[inline]
    pub fn head(src: &[u8], max: usize) -> Self {
        let Some(prefix) = src.first_chunk::<{ Self::PREFIX }>() else {
            return Self::Partial(Self::PREFIX - src.len());
        };
        let announced = u32::from_be_bytes(*prefix);
        match usize::try_from(announced) {
            Ok(size) if size <= max => {
                let present = src.len() - Self::PREFIX;
                if present < size { Self::Partial(size - present) } else { Self::Whole(size) }
            }
            _ => Self::TooLarge(announced),
        }
    }

    /// Removes `size` bytes from the buffer. A slice costs nothing, but keeps the whole buffer alive and makes the next
    /// read allocate a new one; that is too much for a few bytes, which are copied.
    pub fn take(src: &mut BytesMut, size: usize) -> Bytes {
        if size >= Self::COPIED_BELOW {
            return src.split_to(size).freeze();
        }
        let copy = Bytes::copy_from_slice(&src[..size]);
        src.advance(size);
        copy
    }

    /// Frames below this size are copied out of the read buffer.
    pub(crate) const COPIED_BELOW: usize = 1024;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_prefix_says_what_is_missing() {
        for (bytes, head) in [
            (&[][..], Delimited::Partial(4)),
            (&[0, 0, 0], Delimited::Partial(1)),
            (&[0, 0, 0, 0], Delimited::Whole(0)),
            (&[0, 0, 0, 2], Delimited::Partial(2)),
            (&[0, 0, 0, 2, 8], Delimited::Partial(1)),
            (&[0, 0, 0, 2, 8, 1], Delimited::Whole(2)),
            (&[0, 0, 0, 2, 8, 1, 0], Delimited::Whole(2)),
            (&[0, 0, 1, 0], Delimited::Partial(256)),
            (&[0, 0, 1, 1], Delimited::TooLarge(257)),
            (&[255; 4], Delimited::TooLarge(u32::MAX)),
        ] {
            assert_eq!(Delimited::head(bytes, 256), head, "{bytes:?}");
        }
    }
}
