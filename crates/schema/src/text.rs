//! Texts of bounded length.

use std::fmt::{self, Write};

/// The longest description, in bytes: a part of it comes from the peer.
pub(crate) const MAX_FAULT: usize = 300;

/// The beginning of a text, which is not written any further: a little more than a description.
pub(crate) fn begin(text: &(impl fmt::Display + ?Sized)) -> String {
    let mut beginning = Beginning::new(MAX_FAULT + 1);
    // It ends early if it is too long.
    let _ = write!(beginning, "{text}");
    beginning.into()
}

/// A text that takes no more than this many bytes, and fails at more.
pub(crate) struct Beginning {
    text: String,
    most: usize,
}

impl Beginning {
    pub(crate) fn new(most: usize) -> Self {
        Self { text: String::new(), most }
    }
}

impl From<Beginning> for String {
    fn from(beginning: Beginning) -> Self {
        beginning.text
    }
}

impl Write for Beginning {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let room = self.most - self.text.len();
        self.text.push_str(&text[..text.floor_char_boundary(room)]);
        if text.len() > room { Err(fmt::Error) } else { Ok(()) }
    }
}

pub(crate) fn shorten(mut text: String) -> String {
    if text.len() > MAX_FAULT {
        text.truncate(text.floor_char_boundary(MAX_FAULT));
        text.push('…');
    }
    text
}
