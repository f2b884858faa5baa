//! Sorted lists, page by page: serialized once, the same for tools, resources, templates and prompts.
//!
//! A cursor names the last item before its page, so a list that changes between two pages repeats nothing and skips
//! nothing that stayed.

use std::sync::OnceLock;

use protomcp_types::{ErrorObject, RawJson, array};

use crate::cursor;

/// The default number of items on one page; see [`Pages::new`].
pub const PAGE_SIZE: usize = 1000;

/// The pages of a list that never changes. Another list has other pages.
///
/// ```
/// use std::collections::BTreeMap;
///
/// use protomcp_schema::Pages;
/// use protomcp_types::RawJson;
///
/// let items: BTreeMap<_, _> = ["a", "b", "c"].map(|key| (key, RawJson::text(key))).into();
/// let pages = Pages::new(2);
/// let all = || items.iter().map(|(key, json)| (*key, json));
/// let first = pages.page(all, None)?;
/// assert_eq!(first.items.as_str(), r#"["a","b"]"#);
/// let second = pages.page(all, first.next.as_deref())?;
/// assert_eq!((second.items.as_str(), second.next), (r#"["c"]"#, None));
/// # Ok::<_, protomcp_types::ErrorObject>(())
/// ```
#[derive(Debug)]
pub struct Pages {
    size: usize,
    /// Serialized for the first request.
    pages: OnceLock<Vec<Page>>,
}

/// One page, ready to be sent.
#[derive(Debug, Clone)]
pub struct Page {
    /// A JSON array of definitions.
    pub items: RawJson,
    /// The cursor of the next page; `None` for the last one.
    pub next: Option<String>,
}

impl Page {
    const EMPTY: Self = Self { items: RawJson::EMPTY_ARRAY, next: None };
}

impl Default for Pages {
    fn default() -> Self {
        Self::new(PAGE_SIZE)
    }
}

impl Pages {
    /// Pages of this many items, at least one.
    #[must_use]
    pub fn new(size: usize) -> Self {
        Self { size: size.max(1), pages: OnceLock::new() }
    }

    /// The page that begins at `cursor`; an empty cursor is the beginning. `items` are all items in the order of their
    /// keys, and the same in each call.
    ///
    /// # Errors
    /// −32602 for a cursor that no page has ended with.
    pub fn page<'a, I>(&self, items: impl Fn() -> I, cursor: Option<&str>) -> Result<Page, ErrorObject>
    where
        I: Iterator<Item = (&'a str, &'a RawJson)>,
    {
        let pages = self.pages.get_or_init(|| self.serialize(items()));
        let Some(cursor) = cursor.filter(|cursor| !cursor.is_empty()) else {
            return Ok(pages.first().cloned().unwrap_or(Page::EMPTY));
        };
        let last = cursor::read(cursor).ok_or_else(|| ErrorObject::invalid_cursor(cursor))?;
        let stored = pages.iter().position(|page| page.next.as_deref() == Some(cursor));
        match stored.and_then(|before| pages.get(before + 1)) {
            Some(page) => Ok(page.clone()),
            None => {
                let rest = items().filter(|(key, _)| *key > last.as_str());
                // One more than the page holds tells whether another page follows.
                Ok(self.serialize(rest.take(self.size.saturating_add(1))).into_iter().next().unwrap_or(Page::EMPTY))
            }
        }
    }

    fn serialize<'a>(&self, items: impl Iterator<Item = (&'a str, &'a RawJson)>) -> Vec<Page> {
        let items: Vec<_> = items.collect();
        let chunks = items.chunks(self.size);
        let count = chunks.len();
        let page = |(index, chunk): (usize, &[(&str, &RawJson)])| {
            let next = chunk.last().filter(|_| index + 1 < count).map(|(key, _)| cursor::write(key));
            Page { items: array(chunk.iter().map(|(_, json)| (*json).clone())), next }
        };
        chunks.enumerate().map(page).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    struct List {
        items: BTreeMap<String, RawJson>,
        pages: Pages,
    }

    impl List {
        fn new(names: impl IntoIterator<Item = String>) -> Self {
            let items = names.into_iter().map(|name| (name.clone(), RawJson::text(&name))).collect();
            Self { items, pages: Pages::default() }
        }

        fn page(&self, cursor: Option<&str>) -> Result<Page, ErrorObject> {
            self.pages.page(|| self.items.iter().map(|(name, json)| (name.as_str(), json)), cursor)
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
    fn foreign_cursors_are_refused_and_an_empty_one_is_the_start() {
        let list = List::new(["a".into()]);
        assert_eq!(names(&list.page(Some("")).unwrap()), ["a"]);
        for bad in ["x", "after-61", "61", "0000000061", &cursor::write("a")[1..]] {
            assert_eq!(list.page(Some(bad)).unwrap_err().code, -32602, "{bad}");
        }
        assert!(names(&list.page(Some(&cursor::write("a"))).unwrap()).is_empty());
    }

    #[test]
    fn a_page_after_a_change_says_whether_another_follows() {
        let list =
            |count| (0..count).map(|n| (format!("t{n}"), RawJson::text(&n.to_string()))).collect::<BTreeMap<_, _>>();
        let (old, new) = (list(3), list(9));
        let all = || new.iter().map(|(key, json)| (key.as_str(), json));
        let cursor =
            Pages::new(2).page(|| old.iter().map(|(key, json)| (key.as_str(), json)), None).unwrap().next.unwrap();
        let pages = Pages::new(4);
        let page = pages.page(all, Some(&cursor)).unwrap();
        assert_eq!(names(&page), ["2", "3", "4", "5"]);
        let last = pages.page(all, page.next.as_deref()).unwrap();
        assert_eq!((names(&last), last.next), (vec!["6".to_owned(), "7".to_owned(), "8".to_owned()], None));
    }
}
