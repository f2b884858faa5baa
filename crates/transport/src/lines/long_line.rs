//! The request that a line is about which cannot be read, or is too long to be kept: read from its bytes as they pass.

use memchr::memchr2;
use protomcp_types::{MAX_TOKEN, RequestId};

/// The part that has been read of an object, of which little is kept.
#[derive(Debug, Default)]
pub(super) struct LongLine {
    /// The objects and lists around the next byte.
    depth: usize,
    text: Text,
    /// It is not an object, or its end is read.
    is_over: bool,
    /// The name or the value that is being read in the outer object.
    token: Vec<u8>,
    value: Value,
    id: Option<RequestId>,
    has_method: bool,
    has_outcome: bool,
}

/// The place of the next byte in a text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Text {
    #[default]
    Outside,
    Inside,
    /// Behind a backslash.
    Escaped,
}

/// The value behind the last name in the outer object.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Value {
    Id,
    #[default]
    Other,
}

impl LongLine {
    /// True if the rest tells nothing more.
    pub(super) fn is_known(&self) -> bool {
        self.is_over || (self.id.is_some() && (self.has_method || self.has_outcome))
    }

    /// The id for which the sender awaits a reply, and the id of the request which the line is to answer, as in
    /// [`Malformed`](protomcp_types::Malformed).
    pub(super) fn ids(&self) -> (Option<RequestId>, Option<RequestId>) {
        let is_request = self.has_method || !self.has_outcome;
        let is_answer = self.has_outcome || !self.has_method;
        (self.id.clone().filter(|_| is_request), self.id.clone().filter(|_| is_answer))
    }

    /// The id of the request which the line is to answer, if it has an outcome.
    pub(super) fn answers(&self) -> Option<RequestId> {
        self.id.clone().filter(|_| self.has_outcome && !self.has_method)
    }

    /// Reads on, until everything is known.
    pub(super) fn read(&mut self, mut bytes: &[u8]) {
        while !self.is_known() {
            if self.text == Text::Inside {
                // A long line is mostly text.
                let end = memchr2(b'"', b'\\', bytes).unwrap_or(bytes.len());
                self.keep(&bytes[..end]);
                bytes = &bytes[end..];
            }
            let Some((byte, rest)) = bytes.split_first() else { return };
            match self.text {
                Text::Outside => self.byte(*byte),
                Text::Inside | Text::Escaped => self.text_byte(*byte),
            }
            bytes = rest;
        }
    }

    fn text_byte(&mut self, byte: u8) {
        self.keep(&[byte]);
        self.text = match (self.text, byte) {
            (Text::Inside, b'\\') => Text::Escaped,
            (Text::Inside, b'"') => Text::Outside,
            _ => Text::Inside,
        };
    }

    /// Reads a byte that is not inside a text.
    fn byte(&mut self, byte: u8) {
        match byte {
            _ if byte.is_ascii_whitespace() => {}
            b'{' => self.depth += 1,
            // A batch, or no message.
            _ if self.depth == 0 => self.is_over = true,
            b'[' => self.depth += 1,
            b'}' | b']' => {
                if self.depth == 1 {
                    self.member_ends();
                    self.is_over = true;
                }
                self.depth -= 1;
            }
            b':' if self.depth == 1 => self.name_ends(),
            b',' if self.depth == 1 => self.member_ends(),
            _ => {
                if byte == b'"' {
                    self.text = Text::Inside;
                }
                self.keep(&[byte]);
            }
        }
    }

    fn name_ends(&mut self) {
        match self.token.as_slice() {
            br#""id""# => self.value = Value::Id,
            br#""method""# => self.has_method = true,
            br#""result""# | br#""error""# => self.has_outcome = true,
            _ => {}
        }
        self.token.clear();
    }

    fn member_ends(&mut self) {
        if std::mem::take(&mut self.value) == Value::Id {
            self.id = std::str::from_utf8(&self.token).ok().and_then(RequestId::parse);
        }
        self.token.clear();
    }

    /// Keeps the bytes of a name or a value, up to one more than an id may have.
    fn keep(&mut self, bytes: &[u8]) {
        if self.depth == 1 {
            let room = (MAX_TOKEN + 1).saturating_sub(self.token.len());
            self.token.extend_from_slice(&bytes[..bytes.len().min(room)]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_is_found_wherever_it_is() {
        let long = "x".repeat(5000);
        for (line, request, answer) in [
            (r#"{"jsonrpc":"2.0","id":5,"method":"a","params":{"id":6}}"#, Some("5"), None),
            (r#"{"jsonrpc":"2.0","result":{"id":6,"a":[{"id":7}]},"id":5}"#, None, Some("5")),
            (r#" { "error" : {"code":1} , "id" : "a\"b\\" } "#, None, Some(r#""a\"b\\""#)),
            (r#"{"result":"}\"],\\","id":5}"#, None, Some("5")),
            (r#"{"id":5,"result":"no end"#, None, Some("5")),
            (r#"{"id":5}"#, Some("5"), Some("5")),
            (r#"{"result":{},"id":null}"#, None, None),
            (r#"{"result":{},"id":{"id":5}}"#, None, None),
            (r#"{"result":{},"id":1.5}"#, None, None),
            (r#"{"result":{},"id":5"#, None, None),
            (r#"{"result":{"id":5}"#, None, None),
            (r#"{}{"id":5,"result":{}}"#, None, None),
            (r#"[{"id":5,"method":"a"}]"#, None, None),
            (r#""id":5,"method":"a""#, None, None),
            (r#"]}"id":5"#, None, None),
            (&format!(r#"{{"{long}":"{long}","id":5,"method":"a"}}"#), Some("5"), None),
            (&format!(r#"{{"method":"a","id":"{long}"}}"#), None, None),
        ] {
            for size in [1, 7, line.len()] {
                let mut read = LongLine::default();
                line.as_bytes().chunks(size).for_each(|part| read.read(part));
                assert!(read.token.capacity() <= 4 * MAX_TOKEN, "{} bytes", read.token.capacity());
                let id = |text: Option<&str>| text.and_then(RequestId::parse);
                assert_eq!(read.ids(), (id(request), id(answer)), "{line} in pieces of {size}");
            }
        }
    }
}
