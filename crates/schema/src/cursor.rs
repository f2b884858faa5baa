//! Cursors of lists: opaque to clients, and verified when a client sends one.

/// The cursor of the page after the item with this key.
pub(crate) fn write(last: &str) -> String {
    use std::fmt::Write;
    let mut cursor = format!("{:08x}", checksum(last));
    for byte in last.bytes() {
        write!(cursor, "{byte:02x}").expect("a string takes everything");
    }
    cursor
}

/// The key in a cursor of [`write`]; `None` for any other text.
pub(crate) fn read(cursor: &str) -> Option<String> {
    let (check, hex) = cursor.split_at_checked(8)?;
    if hex.len() % 2 != 0 || !cursor.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')) {
        return None;
    }
    let bytes: Option<Vec<_>> =
        (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).ok()).collect();
    let last = String::from_utf8(bytes?).ok()?;
    (u32::from_str_radix(check, 16) == Ok(checksum(&last))).then_some(last)
}

/// FNV-1a. It distinguishes a cursor from a typing error or a cursor of another server; nothing secret depends on it.
fn checksum(text: &str) -> u32 {
    text.bytes().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_of_ours_is_recognised_and_no_other() {
        for name in ["a", "é/{+path}", "", &"x".repeat(300)] {
            assert_eq!(read(&write(name)).as_deref(), Some(name));
        }
        let good = write("abc");
        for bad in [
            "",
            "abc",
            "after-61",
            &good[1..],
            &good[..good.len() - 1],
            &good.to_uppercase(),
            &format!("{good}61"),
            "é",
        ] {
            assert_eq!(read(bad), None, "{bad}");
        }
    }
}
