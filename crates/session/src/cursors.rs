//! The cursors of a list that is read page by page.

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};

/// The pages after which a list that does not end is given up.
pub const MAX_PAGES: usize = 1000;

/// The longest cursor that is sent back, in bytes.
const MAX_CURSOR: usize = 64 * 1024;

/// The cursors of one list, as its reader goes from page to page (MCP 2025-11-25, server/utilities/pagination).
///
/// A list ends with a page that has no cursor, and an empty cursor is one like any. But some servers mean the end with it,
/// and begin again if it is sent back: the page for an empty cursor that ends with a cursor that has come before repeats the
/// beginning of the list.
///
/// It keeps digests of the cursors, since a server chooses their length.
#[derive(Debug, Default)]
pub struct Cursors {
    seen: HashSet<u64>,
    digests: RandomState,
    /// The last cursor is empty.
    is_empty: bool,
}

/// The meaning of the cursor at the end of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NextPage {
    /// Another page follows, at this cursor.
    At(String),
    /// The page is the last one.
    End,
    /// The page repeats the beginning, and the one before it was the last.
    Repeated,
}

/// The reason why a list is given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EndlessList {
    /// A page has ended with the cursor of an earlier one.
    #[error("the list does not end: a cursor has come twice")]
    Circle,
    /// The list has 1,000 pages, and another one follows.
    #[error("the list does not end: it has {MAX_PAGES} pages")]
    TooManyPages,
    /// A cursor has more than 64 KiB.
    #[error("a cursor is longer than {MAX_CURSOR} bytes")]
    LongCursor,
}

impl Cursors {
    /// Reads the cursor with which the newest page ends.
    ///
    /// # Errors
    /// If the list does not end within 1,000 pages, or the cursor has more than 64 KiB.
    pub fn next(&mut self, cursor: Option<String>) -> Result<NextPage, EndlessList> {
        let Some(cursor) = cursor else { return Ok(NextPage::End) };
        if cursor.len() > MAX_CURSOR {
            return Err(EndlessList::LongCursor);
        }
        let digest = self.digests.hash_one(&cursor);
        if self.seen.contains(&digest) {
            return if self.is_empty { Ok(NextPage::Repeated) } else { Err(EndlessList::Circle) };
        }
        if self.seen.len() + 1 >= MAX_PAGES {
            return Err(EndlessList::TooManyPages);
        }
        self.seen.insert(digest);
        self.is_empty = cursor.is_empty();
        Ok(NextPage::At(cursor))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads the cursors of the pages, and returns the meaning of the last one.
    fn last(pages: &[Option<&str>]) -> Result<NextPage, EndlessList> {
        let mut cursors = Cursors::default();
        let mut read: Vec<_> = pages.iter().map(|cursor| cursors.next(cursor.map(str::to_owned))).collect();
        let last = read.pop().unwrap();
        assert!(read.iter().all(|before| matches!(before, Ok(NextPage::At(_)))), "{pages:?}: {read:?}");
        last
    }

    #[test]
    fn a_cursor_means_a_page_or_an_end() {
        let at = |cursor: &str| Ok(NextPage::At(cursor.to_owned()));
        for (pages, expected) in [
            (&[None] as &[_], Ok(NextPage::End)),
            (&[Some("a")], at("a")),
            (&[Some("a"), Some("b"), None], Ok(NextPage::End)),
            (&[Some("")], at("")),
            (&[Some(""), Some("b")], at("b")),
            (&[Some(""), None], Ok(NextPage::End)),
            (&[Some(""), Some("")], Ok(NextPage::Repeated)),
            (&[Some("a"), Some(""), Some("a")], Ok(NextPage::Repeated)),
            (&[Some(""), Some("a"), Some("")], Err(EndlessList::Circle)),
            (&[Some("a"), Some("a")], Err(EndlessList::Circle)),
        ] {
            assert_eq!(last(pages), expected, "{pages:?}");
        }
    }

    #[test]
    fn a_list_has_bounds() {
        let mut cursors = Cursors::default();
        let mut pages = 1;
        let end = loop {
            match cursors.next(Some(pages.to_string())) {
                Ok(_) => pages += 1,
                Err(end) => break end,
            }
        };
        assert_eq!((pages, end), (MAX_PAGES, EndlessList::TooManyPages));
        let mut cursors = Cursors::default();
        assert!(cursors.next(Some("x".repeat(MAX_CURSOR))).is_ok());
        assert_eq!(cursors.next(Some("x".repeat(MAX_CURSOR + 1))), Err(EndlessList::LongCursor));
    }
}
