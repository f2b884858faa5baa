//! Halves of surrogate pairs.
//!
//! Strings of JavaScript and Python can hold one half, such as text that is cut inside an emoji. JSON has an escape for it
//! and no text does (RFC 8259, section 8.2), so that many programs refuse the message that it is in.

use bytes::Bytes;
use memchr::memmem;

/// JSON text with U+FFFD in place of each escape that is half of a surrogate pair. Text without one is returned as it is.
#[must_use]
pub fn replace_lone_surrogates(text: Bytes) -> Bytes {
    let may_have = |start: &str| memmem::find(&text, start.as_bytes()).is_some();
    if !may_have(r"\ud") && !may_have(r"\uD") {
        return text;
    }
    let halves = halves(&text);
    if halves.is_empty() {
        return text;
    }
    let mut text = Vec::from(text);
    for at in halves {
        text[at..at + ESCAPE].copy_from_slice(br"\ufffd");
    }
    text.into()
}

/// The positions of the escapes that are half of a pair.
fn halves(text: &[u8]) -> Vec<usize> {
    let mut halves = Vec::new();
    let mut at = 0;
    while let Some(next) = memchr::memchr(b'\\', &text[at..]) {
        at += next;
        let half = half(text, at);
        let is_pair = half == Some(Half::High) && self::half(text, at + ESCAPE) == Some(Half::Low);
        if half.is_some() && !is_pair {
            halves.push(at);
        }
        at += match half {
            Some(_) if is_pair => 2 * ESCAPE,
            Some(_) => ESCAPE,
            // The character behind a backslash may be one, too.
            None => 2,
        };
        if at >= text.len() {
            break;
        }
    }
    halves
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Half {
    High,
    Low,
}

/// The half that is escaped here.
fn half(text: &[u8], at: usize) -> Option<Half> {
    match text.get(at..at + ESCAPE)? {
        [b'\\', b'u', b'd' | b'D', third, fourth, fifth] if fourth.is_ascii_hexdigit() && fifth.is_ascii_hexdigit() => {
            match third {
                b'8' | b'9' | b'a' | b'b' | b'A' | b'B' => Some(Half::High),
                b'c'..=b'f' | b'C'..=b'F' => Some(Half::Low),
                _ => None,
            }
        }
        _ => None,
    }
}

/// The bytes of an escape with four digits.
const ESCAPE: usize = 6;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_are_replaced_and_all_else_stays() {
        for (text, expected) in [
            (r#""a\ud83d""#, r#""a\ufffd""#),
            (r#""\uDE00b""#, r#""\ufffdb""#),
            (r#""\ud83d\uD83D\ude00\udcff""#, r#""\ufffd\uD83D\ude00\ufffd""#),
            (r#"{"\udABc":["\ud800\n"]}"#, r#"{"\ufffd":["\ufffd\n"]}"#),
            (r#""\\ud83d""#, r#""\\ud83d""#),
            (r#""\\\ud83d""#, r#""\\\ufffd""#),
            (r#""\ud7ff\uE000 é \u0041""#, r#""\ud7ff\uE000 é \u0041""#),
            (r#""\ud83d\ude00""#, r#""\ud83d\ude00""#),
            (r#""\ud8"#, r#""\ud8"#),
            (r#""\ud83d\"#, r#""\ufffd\"#),
            ("", ""),
        ] {
            assert_eq!(replace_lone_surrogates(text.into()), expected, "{text}");
        }
    }

    #[test]
    fn text_without_halves_is_not_copied() {
        let text = Bytes::from(br#"{"a":"\ud83d\ude00"}"#.to_vec());
        assert_eq!(replace_lone_surrogates(text.clone()).as_ptr(), text.as_ptr());
    }

    #[test]
    fn replaced_text_is_read() {
        let units = [0x61, 0xd83d, 0xde00, 0x5c, 0xfffd];
        for number in 0..units.len().pow(4) {
            let chosen = (0..4).map(|place| units[number / units.len().pow(place) % units.len()]);
            let chosen: Vec<u16> = chosen.collect();
            let escaped: String = chosen.iter().map(|unit| format!("\\u{unit:04x}")).collect();
            let text = replace_lone_surrogates(format!("\"{escaped}\"").into());
            let read: String = serde_json::from_slice(&text).unwrap();
            assert_eq!(read, String::from_utf16_lossy(&chosen), "{escaped}");
        }
    }
}
