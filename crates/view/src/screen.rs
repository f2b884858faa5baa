//! The bytes that keep the view at the end of a terminal's text.

use crate::line::Line;

/// The size of a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    /// Its columns, at least one.
    pub columns: u16,
    /// Its rows.
    pub rows: u16,
}

/// Draws the view below the text of a terminal, which scrolls above it (ECMA-48; the sequences work in every terminal
/// since the VT100). The cursor is hidden while the view is there.
#[derive(Debug)]
pub struct Screen {
    has_colors: bool,
    /// The widths of the lines that are there, in columns.
    drawn: Vec<usize>,
}

impl Screen {
    /// A terminal without the view.
    #[must_use]
    pub fn new(has_colors: bool) -> Self {
        Self { has_colors, drawn: Vec::new() }
    }

    /// The bytes that replace the view by `above`, whole lines of text, with the view below.
    ///
    /// Lines that are wider than a window that has become narrower take several rows by now.
    pub fn draw(&mut self, above: &str, lines: &[Line], size: Size) -> String {
        let columns = usize::from(size.columns.max(1));
        let mut bytes = self.erase(size) + above + "\x1b[?25l";
        for (number, line) in lines.iter().enumerate() {
            // Some terminals wrap after the last column.
            let line = line.clone().clipped(columns.saturating_sub(1));
            if number > 0 {
                bytes.push('\n');
            }
            bytes += &line.painted(self.has_colors);
            self.drawn.push(line.width());
        }
        bytes
    }

    /// The bytes that remove the view, and show the cursor. Each row is erased: some terminals keep a screen that is erased
    /// as a whole in their history.
    pub fn erase(&mut self, size: Size) -> String {
        let columns = usize::from(size.columns.max(1));
        let rows: usize = self.drawn.drain(..).map(|width| width.div_ceil(columns).max(1)).sum();
        match rows {
            0 => "\x1b[?25h".to_owned(),
            rows => "\r\x1b[2K".to_owned() + &"\x1b[1A\x1b[2K".repeat(rows - 1) + "\x1b[?25h",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(texts: &[&str]) -> Vec<Line> {
        texts.iter().map(|text| Line::default().plain(text)).collect()
    }

    #[test]
    fn text_scrolls_above_the_view() {
        let size = Size { columns: 10, rows: 5 };
        let mut screen = Screen::new(false);
        assert_eq!(screen.draw("", &lines(&["a", "b"]), size), "\x1b[?25h\x1b[?25la\nb");
        assert_eq!(screen.draw("log\n", &lines(&["c"]), size), "\r\x1b[2K\x1b[1A\x1b[2K\x1b[?25hlog\n\x1b[?25lc");
        assert_eq!(screen.erase(size), "\r\x1b[2K\x1b[?25h");
        assert_eq!(screen.erase(size), "\x1b[?25h");
    }

    #[test]
    fn lines_keep_within_the_columns_and_are_erased_where_they_wrap() {
        let mut screen = Screen::new(false);
        let text = screen.draw("", &lines(&["0123456789abcdef", "b"]), Size { columns: 10, rows: 5 });
        assert!(text.ends_with("01234567…\nb"), "{text:?}");
        let erased = screen.erase(Size { columns: 4, rows: 5 });
        assert_eq!(erased.matches("\x1b[2K").count(), 4, "3 rows and 1: {erased:?}");
    }
}
