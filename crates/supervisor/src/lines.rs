//! Splits the bytes of an output to lines of text, in bounded memory.
//!
//! A process may write anything: no line end for a gigabyte, half a character, bytes that are not UTF-8. At most
//! [`MAX_LINE`] bytes of a line are kept; the others are counted, and a notice at the end of the line gives their
//! number.

/// The most bytes of one line that are kept: 16 KiB.
pub const MAX_LINE: usize = 16 * 1024;

/// Splits bytes into lines.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    /// The beginning of an incomplete line, at most `MAX_LINE` bytes.
    partial: Vec<u8>,
    /// Bytes of that line beyond `partial`.
    cut: u64,
}

impl Lines {
    /// Feeds bytes and passes each complete line to `line`.
    pub(crate) fn feed(&mut self, bytes: &[u8], mut line: impl FnMut(String)) {
        let mut rest = bytes;
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            self.extend(&rest[..end]);
            line(self.take());
            rest = &rest[end + 1..];
        }
        self.extend(rest);
    }

    /// The output has ended: text without a line end is the last line.
    pub(crate) fn finish(&mut self) -> Option<String> {
        (!self.partial.is_empty()).then(|| self.take())
    }

    fn extend(&mut self, bytes: &[u8]) {
        let kept = bytes.len().min(MAX_LINE - self.partial.len());
        self.partial.extend_from_slice(&bytes[..kept]);
        self.cut += (bytes.len() - kept) as u64;
    }

    fn take(&mut self) -> String {
        let mut text = self.partial.as_slice();
        let mut cut = self.cut;
        if cut == 0 {
            text = text.strip_suffix(b"\r").unwrap_or(text);
        } else {
            let whole = whole_characters(text);
            cut += (text.len() - whole) as u64;
            text = &text[..whole];
        }
        let mut line = String::from_utf8_lossy(text).into_owned();
        if cut > 0 {
            line.push_str(&format!(" … [{cut} more bytes of this line were cut]"));
        }
        self.partial.clear();
        self.cut = 0;
        line
    }
}

/// The length of `bytes` without an incomplete character at the end.
fn whole_characters(bytes: &[u8]) -> usize {
    let tail = bytes.len().saturating_sub(4);
    for start in (tail..bytes.len()).rev() {
        if bytes[start] & 0xC0 != 0x80 {
            let torn = matches!(std::str::from_utf8(&bytes[start..]), Err(error) if error.error_len().is_none());
            return if torn { start } else { bytes.len() };
        }
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(chunks: &[&[u8]], expected: &[&str]) {
        let mut lines = Lines::default();
        let mut seen = Vec::new();
        for chunk in chunks {
            lines.feed(chunk, |line| seen.push(line));
        }
        seen.extend(lines.finish());
        assert_eq!(seen, expected);
        assert_eq!(lines.finish(), None);
    }

    #[test]
    fn lines_are_found_wherever_the_reads_end() {
        check(&[b"one\ntwo\n"], &["one", "two"]);
        check(&[b"o", b"ne", b"\n", b"tw", b"o\n"], &["one", "two"]);
        check(&[b"one\r\n\n two \n"], &["one", "", " two "]);
        check(&[b"", b""], &[]);
    }

    #[test]
    fn the_last_line_needs_no_end() {
        check(&[b"panicked\nat line 3"], &["panicked", "at line 3"]);
    }

    #[test]
    fn bytes_that_are_not_text_are_replaced() {
        check(&[b"a\xff\xfeb\n"], &["a\u{fffd}\u{fffd}b"]);
        check(&["é".as_bytes()[..1].as_ref(), "é\n".as_bytes()[1..].as_ref()], &["é"]);
    }

    #[test]
    fn a_long_line_is_cut_and_says_how_much_is_gone() {
        let full = "x".repeat(MAX_LINE);
        check(&[full.as_bytes(), b"\n"], &[&full]);

        let cut = format!("{full} … [3 more bytes of this line were cut]");
        check(&[full.as_bytes(), b"yyy\nnext\n"], &[&cut, "next"]);
        check(&[full.as_bytes(), b"y", b"y", b"y"], &[&cut]);
    }

    #[test]
    fn a_cut_never_tears_a_character() {
        let text = format!("{}éé\n", "x".repeat(MAX_LINE - 1));
        let cut = format!("{} … [4 more bytes of this line were cut]", "x".repeat(MAX_LINE - 1));
        check(&[text.as_bytes()], &[&cut]);
    }

    #[test]
    fn an_endless_line_stays_in_bounds() {
        let mut lines = Lines::default();
        for _ in 0..1000 {
            lines.feed(&[b'z'; 8192], |_| unreachable!());
            assert!(lines.partial.len() <= MAX_LINE && lines.partial.capacity() <= 2 * MAX_LINE);
        }
    }

    proptest! {
        #[test]
        fn any_split_of_the_bytes_gives_the_same_lines(bytes in proptest::collection::vec(prop_oneof![Just(b'\n'), any::<u8>()], 0..200), at in 0usize..200) {
            let collect = |chunks: &[&[u8]]| {
                let (mut lines, mut seen) = (Lines::default(), Vec::new());
                for chunk in chunks { lines.feed(chunk, |line| seen.push(line)); }
                seen.extend(lines.finish());
                seen
            };
            let at = at.min(bytes.len());
            prop_assert_eq!(collect(&[&bytes]), collect(&[&bytes[..at], &bytes[at..]]));
        }
    }
}
