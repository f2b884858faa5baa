//! A digest of a JSON text that does not depend on its spelling: equal for two texts with the same value, and for no
//! others.
//!
//! The order of an object's members, blanks and the escapes in a string do not matter. Everything else does: numbers
//! count as they are written, because no type here holds all of them; members of the same name stay, in their order; a
//! string that is not text (a lone surrogate) counts as it is written.
//!
//! A value becomes bytes that are the beginning of no other value's: `s` or `u`, the length and the bytes of a string; `w`,
//! the length and the bytes of a word; `[`, the elements and `]`; `{`, the number of members and for each of them, by
//! name, its name as a string and the digest of its value. Lengths and numbers have eight bytes. The elements of an array
//! take no memory, and the members of an object take a hundred bytes each.

use std::borrow::Cow;

use protomcp_types::RawJson;
use sha2::{Digest, Sha256};

/// The digest of a value.
pub(crate) fn digest(value: &RawJson) -> Hash {
    Walk { text: value.as_str(), at: 0 }.digest()
}

type Hash = [u8; 32];

/// Scans a text that is known to be JSON, no deeper than messages may be nested.
struct Walk<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Walk<'a> {
    fn digest(&mut self) -> Hash {
        let mut hasher = Sha256::new();
        self.value(&mut hasher);
        hasher.finalize().into()
    }

    fn value(&mut self, hasher: &mut Sha256) {
        match self.next() {
            Some(b'{') => self.object(hasher),
            Some(b'[') => self.array(hasher),
            Some(b'"') => {
                let (kind, text) = self.string();
                write(hasher, kind, &text);
            }
            Some(_) | None => write(hasher, b'w', self.word()),
        }
    }

    fn object(&mut self, hasher: &mut Sha256) {
        self.at += 1;
        let mut members = Vec::new();
        while self.next() == Some(b'"') {
            let name = self.string();
            self.step_over(b':');
            members.push((name, self.digest()));
            self.step_over(b',');
        }
        self.step_over(b'}');
        // Stable: members of the same name stay in their order.
        members.sort_by(|(one, _), (other, _)| one.cmp(other));
        hasher.update(b"{");
        hasher.update((members.len() as u64).to_be_bytes());
        for ((kind, name), value) in members {
            write(hasher, kind, &name);
            hasher.update(value);
        }
    }

    fn array(&mut self, hasher: &mut Sha256) {
        self.at += 1;
        hasher.update(b"[");
        while self.next().is_some_and(|byte| byte != b']') {
            self.value(hasher);
            self.step_over(b',');
        }
        self.step_over(b']');
        hasher.update(b"]");
    }

    /// A string: `s` with its text, or `u` as it is written if that cannot be decoded.
    fn string(&mut self) -> (u8, Cow<'a, str>) {
        let start = self.at;
        self.at += 1;
        let bytes = self.text.as_bytes();
        let mut is_plain = true;
        while let Some(byte) = bytes.get(self.at) {
            is_plain &= *byte != b'\\';
            self.at += if *byte == b'\\' { 2 } else { 1 };
            if *byte == b'"' {
                break;
            }
        }
        let written = self.text.get(start..self.at).unwrap_or_default();
        if is_plain {
            return (b's', written.trim_matches('"').into());
        }
        match serde_json::from_str::<String>(written) {
            Ok(text) => (b's', text.into()),
            Err(_) => (b'u', written.into()),
        }
    }

    /// A number, `true`, `false` or `null`.
    fn word(&mut self) -> &'a str {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let end = rest.find(|sign: char| ",]}".contains(sign) || is_blank(sign as u32)).unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    /// The next byte that is not blank; it is not passed.
    fn next(&mut self) -> Option<u8> {
        let bytes = self.text.as_bytes();
        while bytes.get(self.at).is_some_and(|byte| is_blank(u32::from(*byte))) {
            self.at += 1;
        }
        bytes.get(self.at).copied()
    }

    fn step_over(&mut self, byte: u8) {
        if self.next() == Some(byte) {
            self.at += 1;
        }
    }
}

fn is_blank(sign: u32) -> bool {
    matches!(char::from_u32(sign), Some(' ' | '\t' | '\n' | '\r'))
}

fn write(hasher: &mut Sha256, kind: u8, text: &str) {
    hasher.update([kind]);
    hasher.update((text.len() as u64).to_be_bytes());
    hasher.update(text);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Hash {
        digest(&RawJson::parse(text.to_owned()).unwrap())
    }

    #[test]
    fn texts_that_say_the_same_are_equal() {
        for (one, other) in [
            (r#"{"a":1,"b":[true,null]}"#, " { \"b\" : [ true ,\n null ] , \"a\":\t1 } "),
            (r#""é\/""#, r#""\u00e9/""#),
            (r#"{"\u0061":{"y":2,"x":1}}"#, r#"{"a":{"x":1,"y":2}}"#),
            (r#"["a\"]",{}]"#, r#"["\u0061\u0022]" , { }]"#),
            (r#"{"b":1,"a":2,"b":3}"#, r#"{"a":2,"b":1,"b":3}"#),
            (r#""\ud800""#, r#" "\ud800""#),
        ] {
            assert_eq!(of(one), of(other), "{one} {other}");
        }
    }

    #[test]
    fn no_two_of_these_are_equal() {
        let texts = [
            "null",
            "0",
            "1",
            "1.0",
            "-1",
            "1e400",
            "1e401",
            "-1e400",
            "true",
            "false",
            "{}",
            "[]",
            "[[]]",
            "[[],[]]",
            "18446744073709551616",
            "18446744073709551617",
            "9007199254740993",
            "9007199254740993.0",
            "0.1",
            "0.10000000000000000001",
            r#""null""#,
            r#""""#,
            r#""1""#,
            r#""\ud800""#,
            r#""\ud801""#,
            r#""\\ud800""#,
            r#"{"a":1}"#,
            r#"{"a":"1"}"#,
            r#"{"a":1,"a":2}"#,
            r#"{"a":2,"a":1}"#,
            r#"{"a":2}"#,
            r#"{"\ud800":1}"#,
            r#"{"\ud801":1}"#,
            r#"["a",1]"#,
            r#"[1,"a"]"#,
            "[1,[2,3]]",
            "[[1,2],3]",
            "[1,2,3]",
            r#"{"a":{"b":1}}"#,
            r#"{"a":{},"b":1}"#,
            "[null]",
            "[1e400]",
        ];
        for (index, one) in texts.iter().enumerate() {
            for other in &texts[..index] {
                assert_ne!(of(one), of(other), "{one} {other}");
            }
        }
    }
}
