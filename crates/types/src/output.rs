//! The destination of JSON text.
//!
//! A message writes itself in pieces. Small pieces are copied into one buffer; big ones, which already exist as
//! `Bytes`, are shared, so that a large tool result is never copied on its way out.

use bytes::Bytes;

/// Pieces of at least this many bytes are shared instead of copied.
pub const SHARE_FROM: usize = 16 * 1024;

/// Accepts JSON text piece by piece.
pub trait Output {
    /// Appends a copy of `piece`.
    fn put(&mut self, piece: &[u8]);

    /// Appends `piece`, which may be kept without copying.
    fn put_shared(&mut self, piece: Bytes) {
        self.put(&piece);
    }
}

impl Output for Vec<u8> {
    fn put(&mut self, piece: &[u8]) {
        self.extend_from_slice(piece);
    }
}

/// Copies a small piece, shares a big one.
pub(crate) fn put_either(out: &mut impl Output, piece: &Bytes) {
    if piece.len() >= SHARE_FROM {
        out.put_shared(piece.clone());
    } else {
        out.put(piece);
    }
}

/// Appends `text` as a JSON string, quoted and escaped.
pub fn put_text(out: &mut impl Output, text: &str) {
    if text.bytes().all(is_plain) {
        out.put(b"\"");
        out.put(text.as_bytes());
        out.put(b"\"");
    } else {
        let quoted = serde_json::to_vec(text).expect("a string is always serializable");
        out.put_shared(Bytes::from(quoted));
    }
}

/// True if a byte needs no escape inside a JSON string.
fn is_plain(byte: u8) -> bool {
    byte >= 0x20 && byte != b'"' && byte != b'\\'
}
