//! Lines of a terminal as values: texts with a tone, and their width in columns.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// The emphasis of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Tone {
    /// None.
    #[default]
    Plain,
    /// Less important than the rest.
    Dim,
    /// More important than the rest.
    Strong,
    /// A success.
    Good,
    /// A state that passes.
    Warning,
    /// A failure.
    Bad,
    /// The place at which a person types. It is shown without colours, too.
    Cursor,
}

/// A part of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    /// Its text, without control characters.
    pub text: String,
    /// Its emphasis.
    pub tone: Tone,
}

/// One row of a terminal.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Line {
    spans: Vec<Span>,
}

impl Tone {
    /// The parameters of `SGR` (ECMA-48, section 8.3.117); none for plain text.
    fn codes(self, has_colors: bool) -> Option<&'static str> {
        match self {
            Self::Cursor => Some("7"),
            _ if !has_colors => None,
            Self::Plain => None,
            Self::Dim => Some("2"),
            Self::Strong => Some("1"),
            Self::Good => Some("32"),
            Self::Warning => Some("33"),
            Self::Bad => Some("31"),
        }
    }
}

impl Line {
    /// Adds plain text.
    #[must_use]
    pub fn plain(self, text: &str) -> Self {
        self.with(Tone::Plain, text)
    }

    /// Adds text. Control characters are left out.
    #[must_use]
    pub fn with(mut self, tone: Tone, text: &str) -> Self {
        let text: String = text.chars().filter(|c| c.width().is_some()).collect();
        if !text.is_empty() {
            self.spans.push(Span { text, tone });
        }
        self
    }

    /// The parts, in order.
    #[must_use]
    pub fn spans(&self) -> &[Span] {
        &self.spans
    }

    /// The text alone.
    #[must_use]
    pub fn text(&self) -> String {
        self.spans.iter().map(|span| span.text.as_str()).collect()
    }

    /// The number of columns.
    #[must_use]
    pub fn width(&self) -> usize {
        self.spans.iter().map(|span| span.text.width()).sum()
    }

    /// The line within this number of columns. A longer one ends with `…`.
    #[must_use]
    pub fn clipped(self, columns: usize) -> Self {
        if self.width() <= columns {
            return self;
        }
        let mut room = columns.saturating_sub(1);
        let mut spans = Vec::new();
        for span in self.spans {
            let text = start_of(&span.text, room);
            let is_whole = text.len() == span.text.len();
            room -= text.width();
            spans.push(Span { text: text.to_owned(), tone: span.tone });
            if !is_whole {
                break;
            }
        }
        if columns > 0 {
            spans.push(Span { text: "…".to_owned(), tone: Tone::Plain });
        }
        Self { spans }
    }

    /// The bytes for a terminal, without a line end.
    #[must_use]
    pub fn painted(&self, has_colors: bool) -> String {
        self.spans.iter().fold(String::new(), |painted, span| match span.tone.codes(has_colors) {
            Some(codes) => painted + "\x1b[" + codes + "m" + &span.text + "\x1b[0m",
            None => painted + &span.text,
        })
    }
}

/// The longest start of a text within this number of columns.
pub(crate) fn start_of(text: &str, columns: usize) -> &str {
    let mut width = 0;
    for (at, c) in text.char_indices() {
        width += c.width().unwrap_or(0);
        if width > columns {
            return &text[..at];
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_cut_by_columns() {
        let line = Line::default().plain("ab").with(Tone::Good, "日本").plain("cd");
        assert_eq!(line.width(), 8);
        for (columns, text) in [
            (9, "ab日本cd"),
            (8, "ab日本cd"),
            (7, "ab日本…"),
            (6, "ab日…"),
            (5, "ab日…"),
            (4, "ab…"),
            (1, "…"),
            (0, ""),
        ] {
            let clipped = line.clone().clipped(columns);
            assert_eq!(clipped.text(), text, "{columns}");
            assert!(clipped.width() <= columns, "{columns}");
        }
    }

    #[test]
    fn control_characters_are_left_out() {
        assert_eq!(Line::default().plain("a\x1b[2Jb\nc\td").text(), "a[2Jbcd");
        assert_eq!(Line::default().plain("\x07").spans(), []);
    }

    #[test]
    fn tones_are_colours_where_they_are_wanted() {
        let line = Line::default().with(Tone::Bad, "✗").plain(" x").with(Tone::Cursor, " ");
        assert_eq!(line.painted(true), "\x1b[31m✗\x1b[0m x\x1b[7m \x1b[0m");
        assert_eq!(line.painted(false), "✗ x\x1b[7m \x1b[0m");
    }
}
