//! The elements of a certificate (X.690).

/// A sequence.
pub(super) const SEQUENCE: u8 = 0x30;

/// Splits off the first element: its tag, its content, and the rest.
pub(super) fn element(der: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (&[tag, first], rest) = der.split_first_chunk::<2>()?;
    let (length, rest) = if first < 0x80 {
        (usize::from(first), rest)
    } else {
        let (bytes, rest) = rest.split_at_checked(usize::from(first & 0x7f))?;
        if bytes.len() > 4 {
            return None;
        }
        (bytes.iter().fold(0, |length, byte| length << 8 | usize::from(*byte)), rest)
    };
    let (content, after) = rest.split_at_checked(length)?;
    Some((tag, content, after))
}
