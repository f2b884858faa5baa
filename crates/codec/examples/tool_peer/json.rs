//! The part of JSON that the tools need.
//!
//! Arguments come from a bridge that has parsed them, so they are valid JSON; this only finds its way through it.

/// The text of a member of an object, as it stands there. Names with escapes are not found.
pub(crate) fn member<'a>(object: &'a [u8], name: &str) -> Option<&'a [u8]> {
    let mut rest = object.trim_ascii().strip_prefix(b"{")?.trim_ascii();
    loop {
        let (key, after) = rest.split_at_checked(value_len(rest)?)?;
        let value = after.trim_ascii_start().strip_prefix(b":")?.trim_ascii_start();
        let (value, after) = value.split_at_checked(value_len(value)?)?;
        if key.strip_prefix(b"\"").and_then(|key| key.strip_suffix(b"\"")) == Some(name.as_bytes()) {
            return Some(value);
        }
        rest = after.trim_ascii_start().strip_prefix(b",")?.trim_ascii_start();
    }
}

/// A member of an object that is an integer.
pub(crate) fn integer(object: &[u8], name: &str) -> Option<i64> {
    std::str::from_utf8(member(object, name)?).ok()?.parse().ok()
}

/// A text as a JSON string.
pub(crate) fn string(text: &str) -> Vec<u8> {
    let mut json = Vec::with_capacity(text.len() + 2);
    json.push(b'"');
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' => json.extend([b'\\', byte]),
            0..0x20 => json.extend(format!("\\u{byte:04x}").bytes()),
            _ => json.push(byte),
        }
    }
    json.push(b'"');
    json
}

/// The length of the value at the head of the text: a string, a number or word, or something in brackets.
fn value_len(json: &[u8]) -> Option<usize> {
    let (mut depth, mut in_string, mut escaped) = (0_usize, false, false);
    for (at, byte) in json.iter().enumerate() {
        if in_string {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => in_string = false,
                _ => {}
            }
            if !in_string && depth == 0 {
                return Some(at + 1);
            }
            continue;
        }
        match byte {
            b'"' => in_string = true,
            b'{' | b'[' => depth += 1,
            b'}' | b']' if depth == 0 => return Some(at),
            b'}' | b']' => {
                depth -= 1;
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            b',' | b':' | b' ' | b'\t' | b'\n' | b'\r' if depth == 0 => return Some(at),
            _ => {}
        }
    }
    Some(json.len())
}
