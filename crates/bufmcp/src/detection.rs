//! The protocol of a stream, by its first bytes.
//!
//! One byte is enough for proto-mcp and for JSON; at most 68 are looked at. **A stream is never waited for longer than its
//! protocol needs**: a client may send a short first message and wait for the answer.

/// The protocol of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StreamProtocol {
    /// Frames of proto-mcp.
    Binary,
    /// JSON-RPC in lines.
    JsonLines,
    /// TLS, with any protocol inside.
    Tls,
    /// HTTP/1.1: Streamable HTTP, or the beginning of a WebSocket.
    Http1,
    /// HTTP/2 with prior knowledge: gRPC, or Streamable HTTP.
    Http2,
}

/// The meaning of the first bytes of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Detection {
    /// They may be the beginning of several protocols.
    Undecided,
    /// They are the beginning of this protocol, and of no other.
    Protocol(StreamProtocol),
    /// They are not the beginning of a protocol that is known here.
    Refused(Refusal),
}

/// The reason why a stream has no protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// The first frame would be larger than any limit.
    #[error("the first frame is too large")]
    TooLarge,
    /// None of the above.
    #[error("the stream begins with neither JSON nor a frame of proto-mcp")]
    Unknown,
}

impl Detection {
    /// The protocol of a stream that begins with these bytes. Call it again when there are more.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        match bytes {
            [] => Self::Undecided,
            // The first byte of a length of less than 144 MiB.
            [0x00..=0x08, ..] => Self::Protocol(StreamProtocol::Binary),
            [0x16] => Self::Undecided,
            // A handshake record of TLS (RFC 8446, section 5.1).
            [0x16, 0x03, ..] => Self::Protocol(StreamProtocol::Tls),
            [0xef, ..] => Self::after_mark(bytes),
            [b'{' | b'[' | b'\t' | b'\n' | b'\r' | b' ', ..] => Self::of_json(bytes),
            [0x0b..=0x1f, ..] => Self::Refused(Refusal::TooLarge),
            _ => Self::of_words(bytes),
        }
    }

    /// A stream that may begin with a byte order mark, behind which only JSON may follow.
    fn after_mark(bytes: &[u8]) -> Self {
        let known = bytes.len().min(MARK.len());
        if bytes[..known] != MARK[..known] {
            Self::Refused(Refusal::Unknown)
        } else if known == MARK.len() {
            Self::of_json(&bytes[known..])
        } else {
            Self::Undecided
        }
    }

    /// White space, and then JSON.
    fn of_json(bytes: &[u8]) -> Self {
        let skipped = bytes.iter().take_while(|byte| b"\t\n\r ".contains(byte)).count();
        match bytes.get(skipped) {
            _ if skipped > MAX_SPACE => Self::Refused(Refusal::Unknown),
            Some(b'{' | b'[') => Self::Protocol(StreamProtocol::JsonLines),
            Some(_) => Self::Refused(Refusal::Unknown),
            None => Self::Undecided,
        }
    }

    fn of_words(bytes: &[u8]) -> Self {
        let mut is_open = false;
        for (word, detection) in WORDS {
            let known = bytes.len().min(word.len());
            if bytes[..known].eq_ignore_ascii_case(&word.as_bytes()[..known]) {
                // Methods of HTTP are written in capitals, names of headers in any way.
                if known == word.len() {
                    return *detection;
                }
                is_open = true;
            }
        }
        if is_open { Self::Undecided } else { Self::Refused(Refusal::Unknown) }
    }
}

/// The byte order mark of UTF-8.
pub(crate) const MARK: [u8; 3] = [0xef, 0xbb, 0xbf];

/// The most white space before JSON.
const MAX_SPACE: usize = 64;

/// The first words of text protocols.
const WORDS: &[(&str, Detection)] = &[
    ("PRI * HTTP/2.0\r\n", Detection::Protocol(StreamProtocol::Http2)),
    ("GET ", Detection::Protocol(StreamProtocol::Http1)),
    ("POST ", Detection::Protocol(StreamProtocol::Http1)),
    ("OPTIONS ", Detection::Protocol(StreamProtocol::Http1)),
    ("DELETE ", Detection::Protocol(StreamProtocol::Http1)),
    ("HEAD ", Detection::Protocol(StreamProtocol::Http1)),
    ("PUT ", Detection::Protocol(StreamProtocol::Http1)),
    ("PATCH ", Detection::Protocol(StreamProtocol::Http1)),
    // The frames of editors, by which some hosts probe a server: the reader of lines skips their headers.
    ("Content-Length:", Detection::Protocol(StreamProtocol::JsonLines)),
];

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the meaning of the whole, and the meaning of each shorter beginning: undecided until it is decided for
    /// good.
    fn check(bytes: &[u8], expected: Detection) {
        assert_eq!(Detection::of(bytes), expected, "{bytes:02x?}");
        let first = (0..=bytes.len()).find(|end| Detection::of(&bytes[..*end]) != Detection::Undecided);
        for end in first.unwrap_or(bytes.len())..=bytes.len() {
            assert_eq!(Detection::of(&bytes[..end]), expected, "{:02x?}", &bytes[..end]);
        }
    }

    #[test]
    fn the_first_bytes_decide() {
        use Detection::{Protocol, Refused, Undecided};
        use StreamProtocol::{Binary, Http1, Http2, JsonLines, Tls};
        for (bytes, expected) in [
            (&b""[..], Undecided),
            (b"{", Protocol(JsonLines)),
            (b"[", Protocol(JsonLines)),
            (b" {", Protocol(JsonLines)),
            (b"\r\n{", Protocol(JsonLines)),
            (b"\t\n", Undecided),
            (b"\xef\xbb\xbf{", Protocol(JsonLines)),
            (b"\xef\xbb\xbf \n{", Protocol(JsonLines)),
            (b"\xef\xbb", Undecided),
            (b"\xef\xbb\xbf", Undecided),
            (b"\xef\xbb\xbfx", Refused(Refusal::Unknown)),
            (b"\xef\xbc\xbf{", Refused(Refusal::Unknown)),
            (b"\n\x00", Refused(Refusal::Unknown)),
            (b"\x00", Protocol(Binary)),
            (b"\x00\x00\x00\x0f", Protocol(Binary)),
            (b"\x02\x00\x00\x00", Protocol(Binary)),
            (b"\x08\xff\xff\xff", Protocol(Binary)),
            (b"\x16", Undecided),
            (b"\x16\x03\x01\x02\x00\x01", Protocol(Tls)),
            (b"\x16\x04", Refused(Refusal::TooLarge)),
            (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", Protocol(Http2)),
            (b"PRI * HTTP/1", Refused(Refusal::Unknown)),
            (b"P", Undecided),
            (b"POST /mcp HTTP/1.1\r\n", Protocol(Http1)),
            (b"GET / HTTP/1.1\r\n", Protocol(Http1)),
            (b"OPTIONS *", Protocol(Http1)),
            (b"DELETE /", Protocol(Http1)),
            (b"GETTY", Refused(Refusal::Unknown)),
            (b"content-length: 20\r\n", Protocol(JsonLines)),
            (b"hello", Refused(Refusal::Unknown)),
            (b"\x7f", Refused(Refusal::Unknown)),
            (b"\xff", Refused(Refusal::Unknown)),
        ] {
            check(bytes, expected);
        }
    }

    #[test]
    fn sizes_above_every_limit_are_named() {
        for byte in (0x0b..=0x1f).filter(|byte| ![0x0d, 0x16].contains(byte)) {
            check(&[byte, 0, 0, 0], Detection::Refused(Refusal::TooLarge));
        }
    }

    #[test]
    fn white_space_is_skipped_within_bounds() {
        let after = |count: usize| [&vec![b' '; count][..], b"{"].concat();
        check(&after(64), Detection::Protocol(StreamProtocol::JsonLines));
        check(&after(65), Detection::Refused(Refusal::Unknown));
        assert_eq!(Detection::of(&[b' '; 64]), Detection::Undecided);
        assert_eq!(Detection::of(&[b' '; 65]), Detection::Refused(Refusal::Unknown));
    }
}
