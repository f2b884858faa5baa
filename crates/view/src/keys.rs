//! The keys behind the bytes of a terminal's keyboard.

/// A key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Key {
    /// A character.
    Char(char),
    /// A letter with the control key, in lower case.
    Control(char),
    /// Enter.
    Enter,
    /// Tab.
    Tab,
    /// Backspace.
    Backspace,
    /// Delete.
    Delete,
    /// An arrow to the left.
    Left,
    /// An arrow to the right.
    Right,
    /// An arrow up.
    Up,
    /// An arrow down.
    Down,
    /// Home.
    Home,
    /// End.
    End,
    /// Escape.
    Escape,
}

/// The most bytes of a key. A longer sequence is none.
const LONGEST: usize = 16;

/// Reads keys from bytes, in any pieces: UTF-8, and the sequences of ECMA-48 that xterm and the console of Linux send. Other
/// sequences are skipped.
#[derive(Debug, Clone, Default)]
pub struct Keys {
    /// The start of a key.
    start: Vec<u8>,
}

/// The meaning of the first bytes.
enum Read {
    /// A key of this many bytes, or as many bytes without a meaning.
    Key(usize, Option<Key>),
    /// More bytes are needed.
    Incomplete,
}

impl Keys {
    /// The keys that these bytes complete.
    pub fn read(&mut self, bytes: &[u8]) -> Vec<Key> {
        self.start.extend_from_slice(bytes);
        let (mut keys, mut at) = (Vec::new(), 0);
        while at < self.start.len() {
            match first(&self.start[at..]) {
                Read::Key(length, key) => {
                    keys.extend(key);
                    at += length;
                }
                Read::Incomplete if self.start.len() - at > LONGEST => at = self.start.len(),
                Read::Incomplete => break,
            }
        }
        self.start.drain(..at);
        keys
    }

    /// True if the next bytes may belong to a key that has begun: an escape is a key only if none follow soon.
    #[must_use]
    pub fn is_incomplete(&self) -> bool {
        !self.start.is_empty()
    }

    /// Nothing has followed. A single escape was the key.
    pub fn end(&mut self) -> Option<Key> {
        let is_escape = self.start == [0x1b];
        self.start.clear();
        is_escape.then_some(Key::Escape)
    }
}

fn first(bytes: &[u8]) -> Read {
    match bytes {
        [0x1b] => Read::Incomplete,
        [0x1b, b'[' | b'O', rest @ ..] => match rest.iter().position(|byte| (0x40..=0x7e).contains(byte)) {
            Some(end) => Read::Key(end + 3, sequence(&rest[..end], rest[end])),
            None => Read::Incomplete,
        },
        [0x1b, ..] => Read::Key(1, Some(Key::Escape)),
        [b'\r' | b'\n', ..] => Read::Key(1, Some(Key::Enter)),
        [b'\t', ..] => Read::Key(1, Some(Key::Tab)),
        [0x08 | 0x7f, ..] => Read::Key(1, Some(Key::Backspace)),
        [byte @ 1..=26, ..] => Read::Key(1, Some(Key::Control(char::from(byte - 1 + b'a')))),
        [0..0x20, ..] | [] => Read::Key(1, None),
        _ => character(bytes),
    }
}

/// A key with a control sequence.
fn sequence(parameters: &[u8], end: u8) -> Option<Key> {
    let number = parameters.split(|byte| *byte == b';').next().unwrap_or_default();
    match (end, number) {
        (b'A', _) => Some(Key::Up),
        (b'B', _) => Some(Key::Down),
        (b'C', _) => Some(Key::Right),
        (b'D', _) => Some(Key::Left),
        (b'H', _) | (b'~', b"1" | b"7") => Some(Key::Home),
        (b'F', _) | (b'~', b"4" | b"8") => Some(Key::End),
        (b'~', b"3") => Some(Key::Delete),
        _ => None,
    }
}

fn character(bytes: &[u8]) -> Read {
    let chunk = bytes.utf8_chunks().next();
    match chunk.map(|chunk| (chunk.valid().chars().next(), chunk.invalid())) {
        Some((Some(c), _)) => Read::Key(c.len_utf8(), Some(Key::Char(c))),
        // The bytes end within a character.
        Some((None, invalid)) if invalid.len() == bytes.len() && (0xc2..=0xf4).contains(&bytes[0]) => Read::Incomplete,
        Some((None, invalid)) => Read::Key(invalid.len().max(1), None),
        None => Read::Incomplete,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(bytes: &[u8]) -> Vec<Key> {
        Keys::default().read(bytes)
    }

    #[test]
    fn bytes_are_keys() {
        for (bytes, expected) in [
            (&b"aB "[..], &[Key::Char('a'), Key::Char('B'), Key::Char(' ')][..]),
            ("ü日".as_bytes(), &[Key::Char('ü'), Key::Char('日')]),
            (b"\r\n\t\x7f\x08", &[Key::Enter, Key::Enter, Key::Tab, Key::Backspace, Key::Backspace]),
            (b"\x01\x15\x00\x1f", &[Key::Control('a'), Key::Control('u')]),
            (b"\x1b[A\x1b[B\x1b[C\x1b[D", &[Key::Up, Key::Down, Key::Right, Key::Left]),
            (b"\x1bOA\x1b[1;5C", &[Key::Up, Key::Right]),
            (b"\x1b[H\x1b[F\x1b[1~\x1b[4~\x1b[3~", &[Key::Home, Key::End, Key::Home, Key::End, Key::Delete]),
            (b"\x1b[15~\x1b[200~x", &[Key::Char('x')]),
            (b"\x1bx", &[Key::Escape, Key::Char('x')]),
            (b"a\xff\xfeb", &[Key::Char('a'), Key::Char('b')]),
        ] {
            assert_eq!(keys(bytes), expected, "{bytes:?}");
        }
    }

    #[test]
    fn keys_arrive_in_any_pieces() {
        let bytes = "ü\x1b[3~日a\x1b[A".as_bytes();
        for size in 1..=bytes.len() {
            let mut read = Keys::default();
            let found: Vec<Key> = bytes.chunks(size).flat_map(|piece| read.read(piece)).collect();
            assert_eq!(found, keys(bytes), "{size}");
            assert!(!read.is_incomplete());
        }
    }

    #[test]
    fn an_escape_alone_is_a_key_when_nothing_follows() {
        let mut read = Keys::default();
        assert_eq!(read.read(b"\x1b"), []);
        assert!(read.is_incomplete());
        assert_eq!(read.end(), Some(Key::Escape));
        assert_eq!(read.read(b"\x1b[1"), []);
        assert_eq!((read.end(), read.read(b"a")), (None, vec![Key::Char('a')]));
    }

    #[test]
    fn an_endless_sequence_is_dropped() {
        let mut read = Keys::default();
        assert_eq!(read.read(&[b"\x1b[", &b"1".repeat(100)[..]].concat()), []);
        assert_eq!(read.read(b"a"), [Key::Char('a')]);
    }
}
