//! Lists that hosts read page by page: sorted, serialized once, the same for tools, resources, templates and prompts.
//!
//! A cursor names the last item before its page, so a list that changes between two pages repeats nothing and skips
//! nothing that stayed.

use std::fmt::Write;
use std::sync::OnceLock;

use protomcp_types::{ErrorObject, RawJson, array};

/// Items on one page.
pub(crate) const PAGE: usize = 1000;
/// What a cursor of ours begins with; after it the key of the last item on the page before, in hexadecimal.
const CURSOR: &str = "after-";

/// The pages of one list that never changes.
#[derive(Debug, Default)]
pub(crate) struct Listing {
    /// Serialized when the first host asks.
    pages: OnceLock<Vec<Page>>,
}

/// One page, ready to be sent.
#[derive(Debug, Clone)]
pub(crate) struct Page {
    /// A JSON array of definitions.
    pub(crate) items: RawJson,
    /// The cursor of the page after it.
    pub(crate) next: Option<String>,
}

impl Page {
    const EMPTY: Self = Self { items: RawJson::EMPTY_ARRAY, next: None };
}

impl Listing {
    /// The page that begins at `cursor`. `items` are all items in the order of their keys, and always the same.
    ///
    /// # Errors
    /// −32602 for a cursor that no page of ours has ended with. An empty one is the beginning.
    pub(crate) fn page<'a, I>(&self, items: impl Fn() -> I, cursor: Option<&str>) -> Result<Page, ErrorObject>
    where
        I: Iterator<Item = (&'a str, &'a RawJson)>,
    {
        let pages = self.pages.get_or_init(|| serialize(items()));
        let Some(cursor) = cursor.filter(|cursor| !cursor.is_empty()) else {
            return Ok(pages.first().cloned().unwrap_or(Page::EMPTY));
        };
        let last =
            parse_cursor(cursor).ok_or_else(|| ErrorObject::invalid_params(format!("invalid cursor \"{cursor}\"")))?;
        let stored = pages.iter().position(|page| page.next.as_deref() == Some(cursor));
        match stored.and_then(|before| pages.get(before + 1)) {
            Some(page) => Ok(page.clone()),
            None => {
                let rest = items().filter(|(key, _)| *key > last.as_str());
                Ok(serialize(rest).into_iter().next().unwrap_or(Page::EMPTY))
            }
        }
    }
}

fn serialize<'a>(items: impl Iterator<Item = (&'a str, &'a RawJson)>) -> Vec<Page> {
    let items: Vec<_> = items.collect();
    let chunks = items.chunks(PAGE);
    let count = chunks.len();
    let page = |(index, chunk): (usize, &[(&str, &RawJson)])| {
        let next = chunk.last().filter(|_| index + 1 < count).map(|(key, _)| write_cursor(key));
        Page { items: array(chunk.iter().map(|(_, json)| (*json).clone())), next }
    };
    chunks.enumerate().map(page).collect()
}

fn write_cursor(last: &str) -> String {
    last.bytes().fold(CURSOR.to_owned(), |mut cursor, byte| {
        write!(cursor, "{byte:02x}").expect("a string takes everything");
        cursor
    })
}

fn parse_cursor(cursor: &str) -> Option<String> {
    let hex = cursor.strip_prefix(CURSOR)?;
    let digits = hex.len().is_multiple_of(2) && !hex.is_empty() && hex.bytes().all(|byte| byte.is_ascii_hexdigit());
    if !digits {
        return None;
    }
    let bytes: Option<Vec<_>> =
        (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).ok()).collect();
    String::from_utf8(bytes?).ok()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    struct List {
        items: BTreeMap<String, RawJson>,
        listing: Listing,
    }

    impl List {
        fn new(names: impl IntoIterator<Item = String>) -> Self {
            let items = names.into_iter().map(|name| (name.clone(), RawJson::text(&name))).collect();
            Self { items, listing: Listing::default() }
        }

        fn page(&self, cursor: Option<&str>) -> Result<Page, ErrorObject> {
            self.listing.page(|| self.items.iter().map(|(name, json)| (name.as_str(), json)), cursor)
        }
    }

    fn names(page: &Page) -> Vec<String> {
        page.items.to().unwrap()
    }

    #[test]
    fn pages_are_sorted_and_complete() {
        let list = List::new((0..2500).rev().map(|n| format!("t{n:04}")));
        let mut seen = Vec::new();
        let mut cursor = None;
        loop {
            let page = list.page(cursor.as_deref()).unwrap();
            seen.extend(names(&page));
            cursor = page.next;
            if cursor.is_none() {
                break;
            }
        }
        assert_eq!(seen, (0..2500).map(|n| format!("t{n:04}")).collect::<Vec<_>>());
    }

    #[test]
    fn a_cursor_outlives_a_change_of_the_list() {
        let old = List::new((0..1500).map(|n| format!("t{n:04}")));
        let cursor = old.page(None).unwrap().next.unwrap();
        let new = List::new((500..1501).map(|n| format!("t{n:04}")).chain(["a".into()]));
        let page = new.page(Some(&cursor)).unwrap();
        assert_eq!((names(&page).first().unwrap().as_str(), names(&page).len(), page.next), ("t1000", 501, None));
    }

    #[test]
    fn only_our_cursors_are_accepted_and_an_empty_one_is_the_beginning() {
        let list = List::new(["a".into()]);
        assert_eq!(names(&list.page(Some("")).unwrap()), ["a"]);
        for bad in ["x", "after-", "after-6", "after-6g", "after-ff", "61"] {
            assert_eq!(list.page(Some(bad)).unwrap_err().code, -32602, "{bad}");
        }
        assert!(names(&list.page(Some("after-61")).unwrap()).is_empty());
    }
}
