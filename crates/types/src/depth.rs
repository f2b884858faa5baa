//! Measures the nesting of a JSON text.
//!
//! Our own scan does not recurse, but the JSON readers of tool processes do, and some of them crash. Few messages hold
//! more brackets than the limit, so counting them is enough for most.

/// True if arrays and objects are nested deeper than `limit` in `text`, which is valid JSON.
pub(crate) fn deeper_than(text: &[u8], limit: usize) -> bool {
    // Each opening bracket needs a closing one.
    text.len() > 2 * limit && opening(text) > limit && walk(text, limit)
}

/// The number of opening brackets, strings included. Counted in bytes first, so that many fit one instruction.
fn opening(text: &[u8]) -> usize {
    let count = |bytes: &[u8]| {
        // `[` and `{` differ in one bit only, so this is one comparison per byte.
        bytes.iter().map(|byte| u8::from(byte | 0x20 == b'{')).sum::<u8>()
    };
    text.chunks(usize::from(u8::MAX)).map(|bytes| usize::from(count(bytes))).sum()
}

fn walk(text: &[u8], limit: usize) -> bool {
    let mut depth = 0usize;
    let mut bytes = text.iter();
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => {
                while let Some(byte) = bytes.next() {
                    match byte {
                        b'"' => break,
                        b'\\' => drop(bytes.next()),
                        _ => {}
                    }
                }
            }
            b'[' | b'{' => {
                depth += 1;
                if depth > limit {
                    return true;
                }
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_nesting_counts() {
        for (text, limit, deep) in [
            ("[[[]]]", 3, false),
            ("[[[]]]", 2, true),
            (r#"{"a":[{}]}"#, 2, true),
            ("[[],[],[],[],{}]", 2, false),
            (r#"["[[[[\"[[[","\\",[]]"#, 2, false),
            (r#"["]]]]",[[[]]]]"#, 3, true),
        ] {
            assert_eq!(deeper_than(text.as_bytes(), limit), deep, "{text} {limit}");
        }
    }
}
