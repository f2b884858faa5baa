//! One page of a sorted list whose items are made for each request: it ends after a number of bytes.
//!
//! A cursor names the last item before its page, as for [`Pages`](crate::Pages).

use protomcp_types::{ErrorObject, RawJson, array};

use crate::cursor;
use crate::pages::Page;

/// The page that begins at `cursor`; an empty cursor is the beginning. `after` makes the items behind a key, in the
/// order of their keys. The page ends with the item that reaches `max_bytes`, so it has at least one if there are any.
///
/// ```
/// use std::collections::BTreeMap;
///
/// use protomcp_schema::sized_page;
/// use protomcp_types::RawJson;
///
/// let items: BTreeMap<_, _> = ["a", "b", "c"].map(|key| (key, RawJson::text(key))).into();
/// let after = |last: Option<&str>| {
///     let last = last.unwrap_or_default().to_owned();
///     items.iter().filter(move |(key, _)| **key > last.as_str()).map(|(key, json)| (*key, json.clone()))
/// };
/// let first = sized_page(after, None, 6)?;
/// assert_eq!(first.items.as_str(), r#"["a","b"]"#);
/// let second = sized_page(after, first.next.as_deref(), 6)?;
/// assert_eq!((second.items.as_str(), second.next), (r#"["c"]"#, None));
/// # Ok::<_, protomcp_types::ErrorObject>(())
/// ```
///
/// # Errors
/// −32602 for a cursor that no page has ended with.
pub fn sized_page<'a, I>(
    after: impl FnOnce(Option<&str>) -> I,
    cursor: Option<&str>,
    max_bytes: usize,
) -> Result<Page, ErrorObject>
where
    I: Iterator<Item = (&'a str, RawJson)>,
{
    let last = match cursor.filter(|cursor| !cursor.is_empty()) {
        None => None,
        Some(cursor) => Some(cursor::read(cursor).ok_or_else(|| ErrorObject::invalid_cursor(cursor))?),
    };
    let mut items = after(last.as_deref()).peekable();
    let (mut page, mut bytes, mut end) = (Vec::new(), 0, None);
    while bytes < max_bytes
        && let Some((key, item)) = items.next()
    {
        bytes += item.len();
        page.push(item);
        end = Some(key);
    }
    let next = end.filter(|_| items.peek().is_some()).map(cursor::write);
    Ok(Page { items: array(page), next })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn page(items: &BTreeMap<String, RawJson>, cursor: Option<&str>) -> Result<Page, ErrorObject> {
        let after = |last: Option<&str>| {
            let last = last.map(str::to_owned);
            let rest = items.iter().filter(move |(key, _)| last.as_ref().is_none_or(|last| *key > last));
            rest.map(|(key, item)| (key.as_str(), item.clone()))
        };
        sized_page(after, cursor, 100)
    }

    #[test]
    fn pages_end_by_bytes_and_never_within_an_item() {
        let items: BTreeMap<_, _> =
            (0..50).map(|number| (format!("k{number:02}"), RawJson::text(&"x".repeat(number * 7)))).collect();
        let (mut seen, mut cursor, mut sizes) = (Vec::new(), None, Vec::new());
        loop {
            let page = page(&items, cursor.as_deref()).unwrap();
            let part: Vec<RawJson> = page.items.to().unwrap();
            sizes.push(part.len());
            seen.extend(part);
            cursor = page.next;
            if cursor.is_none() {
                break;
            }
        }
        assert_eq!(seen, items.values().cloned().collect::<Vec<_>>());
        assert!(sizes.iter().all(|size| *size >= 1) && sizes.contains(&1) && sizes[0] > 1, "{sizes:?}");
    }

    #[test]
    fn a_cursor_of_nothing_is_refused_and_the_last_page_ends() {
        let items: BTreeMap<_, _> = [("a".to_owned(), RawJson::text("a"))].into();
        assert_eq!(page(&items, Some("x")).unwrap_err().code, -32602);
        assert_eq!(page(&items, Some("")).unwrap().next, None);
        let behind = page(&items, Some(&cursor::write("a"))).unwrap();
        assert_eq!((behind.items.as_str(), behind.next), ("[]", None));
        assert_eq!(page(&BTreeMap::new(), None).unwrap().items.as_str(), "[]");
    }
}
