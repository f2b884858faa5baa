//! The entries of a list that a request wants, in order, and the size of a page.

use std::cmp::Reverse;

use crate::code;
use crate::fault::Fault;

/// The size of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageLimits {
    /// The most entries.
    pub entries: usize,
    /// The most bytes of all entries together. A single entry may have more.
    pub bytes: usize,
}

impl Default for PageLimits {
    fn default() -> Self {
        Self { entries: 50, bytes: 4 << 20 }
    }
}

/// A page that is being filled.
#[derive(Debug)]
pub(crate) struct PageBudget {
    limits: PageLimits,
    entries: usize,
    bytes: usize,
}

impl PageBudget {
    /// An empty page, for a client that wants at most this many entries; 0: any number.
    pub(crate) fn new(limits: PageLimits, wanted: u32) -> Self {
        let wanted = if wanted == 0 { limits.entries } else { limits.entries.min(wanted as usize) };
        Self { limits: PageLimits { entries: wanted.max(1), ..limits }, entries: 0, bytes: 0 }
    }

    /// True if an entry of this size goes on the page; it then has.
    pub(crate) fn takes(&mut self, bytes: usize) -> bool {
        let fits = self.entries < self.limits.entries && self.bytes.saturating_add(bytes) <= self.limits.bytes;
        if fits || self.entries == 0 {
            self.entries += 1;
            self.bytes = self.bytes.saturating_add(bytes);
            return true;
        }
        false
    }
}

/// The references that a client asks for. None: all tools.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RefFilter(Vec<String>);

impl RefFilter {
    /// Reads the filter of a request.
    ///
    /// # Errors
    /// −32602 for a text that cannot be a reference: without its host, owner, module and message.
    pub(crate) fn parse(refs: &[String]) -> Result<Self, Fault> {
        match refs.iter().find(|reference| !is_reference(reference)) {
            Some(wrong) => {
                let hint = "if the client uses the field numbers of proto-mcp-go, the server has to be told so";
                let message = format!("{wrong:?} is not a reference HOST/OWNER/MODULE/MESSAGE:VERSION; {hint}");
                Err(Fault::new(code::INVALID_PARAMS, message).with("reason", "invalid_ref"))
            }
            None => Ok(Self(refs.to_vec())),
        }
    }

    /// True for a tool with this reference. A filter without version matches every version.
    pub(crate) fn matches(&self, reference: Option<&str>) -> bool {
        let is_wanted = |reference: &str| {
            let base = base(reference);
            self.0.iter().any(|wanted| wanted == reference || wanted == base)
        };
        self.0.is_empty() || reference.is_some_and(is_wanted)
    }

    pub(crate) fn texts(&self) -> &[String] {
        &self.0
    }
}

fn is_reference(text: &str) -> bool {
    let mut parts = text.splitn(4, '/');
    let is_named = parts.by_ref().take(3).filter(|part| !part.is_empty()).count() == 3;
    is_named && parts.next().is_some_and(|message| !message.is_empty() && !message.starts_with(':'))
}

/// A reference without its version. Versions may contain slashes.
fn base(reference: &str) -> &str {
    let message = reference.match_indices('/').nth(2).map_or(0, |(at, _)| at);
    reference[message..].find(':').map_or(reference, |at| &reference[..message + at])
}

/// The longest query, in bytes. Each of its words is looked for in each tool, without a pause.
const MAX_QUERY: usize = 1024;

/// The order of the entries that match the words of a query, by their index: the best first. Without words all match, in
/// their order.
///
/// # Errors
/// −32602 for a query that is too long.
pub(crate) fn search<'a>(query: &str, entries: impl Iterator<Item = (&'a str, &'a str)>) -> Result<Vec<usize>, Fault> {
    if query.len() > MAX_QUERY {
        let length = query.len();
        return Err(Fault::new(
            code::INVALID_PARAMS,
            format!("the query has {length} bytes, and may have {MAX_QUERY}"),
        ));
    }
    let words: Vec<String> = query.split_whitespace().map(str::to_lowercase).collect();
    let mut found: Vec<_> = entries
        .enumerate()
        .filter_map(|(index, (name, description))| Some((Reverse(score(&words, name, description)?), index)))
        .collect();
    found.sort();
    Ok(found.into_iter().map(|(_, index)| index).collect())
}

/// The sum over the words, each of which has to occur.
fn score(words: &[String], name: &str, description: &str) -> Option<u32> {
    let (name, description) = (name.to_lowercase(), description.to_lowercase());
    let each = words.iter().map(|word| match word {
        word if name == *word => Some(100),
        word if name.starts_with(&**word) => Some(80),
        word if name.contains(&**word) => Some(60),
        word if description.contains(&**word) => Some(20),
        _ => None,
    });
    each.sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_ends_by_count_or_by_bytes() {
        let fill = |limits: PageLimits, wanted: u32, sizes: &[usize]| {
            let mut page = PageBudget::new(limits, wanted);
            sizes.iter().take_while(|size| page.takes(**size)).count()
        };
        let limits = PageLimits { entries: 3, bytes: 100 };
        for (wanted, sizes, taken) in [
            (0, &[10, 10, 10, 10][..], 3),
            (2, &[10, 10, 10], 2),
            (9, &[10, 10, 10, 10], 3),
            (0, &[60, 40, 1], 2),
            (0, &[60, 41], 1),
            (0, &[500, 1], 1),
            (0, &[], 0),
        ] {
            assert_eq!(fill(limits, wanted, sizes), taken, "{wanted} of {sizes:?}");
        }
        assert_eq!(fill(PageLimits { entries: 0, bytes: 0 }, 0, &[5, 5]), 1);
    }

    #[test]
    fn a_filter_matches_exactly_or_every_version() {
        let reference = "buf.build/acme/tools/acme.v1.Search:feature/x";
        for (filter, matches) in [
            (&[][..], true),
            (&[reference], true),
            (&["buf.build/acme/tools/acme.v1.Search"], true),
            (&["buf.build/acme/tools/acme.v1.Search:feature"], false),
            (&["buf.build/acme/tools/acme.v1.Sear"], false),
            (&["buf.build/a/b/c.D", reference], true),
            (&["buf.build/a/b/c.D"], false),
        ] {
            let texts: Vec<_> = filter.iter().map(ToString::to_string).collect();
            let filter = RefFilter::parse(&texts).unwrap();
            assert_eq!(filter.matches(Some(reference)), matches, "{texts:?}");
            assert_eq!(filter.matches(None), texts.is_empty());
        }
    }

    #[test]
    fn words_of_a_search_are_not_taken_for_references() {
        for wrong in ["weather", "", "a/b", "a/b/c", "a/b/c/", "a/b/c/:v1", "/b/c/d.E", "a//c/d.E"] {
            let fault = RefFilter::parse(&[wrong.to_owned()]).unwrap_err();
            assert_eq!(fault.code, code::INVALID_PARAMS, "{wrong}");
        }
    }

    #[test]
    fn a_search_puts_the_best_first() {
        let entries = [
            ("read_file", "Read a file"),
            ("file", "Anything"),
            ("file_search", "Find"),
            ("grep", "search in a File"),
            ("clock", "Time"),
        ];
        let names = |words: &str| {
            let found = search(words, entries.iter().copied()).unwrap();
            found.into_iter().map(|index| entries[index].0).collect::<Vec<_>>()
        };
        assert_eq!(names("file"), ["file", "file_search", "read_file", "grep"]);
        assert_eq!(names("FILE search"), ["file_search", "grep"]);
        assert_eq!(names(" "), ["read_file", "file", "file_search", "grep", "clock"]);
        assert!(names("nothing").is_empty());
        assert_eq!(names(&" ".repeat(MAX_QUERY)).len(), 5);
        let fault = search(&"a ".repeat(MAX_QUERY), entries.iter().copied()).unwrap_err();
        assert_eq!(
            (fault.code, &*fault.message),
            (code::INVALID_PARAMS, "the query has 2048 bytes, and may have 1024")
        );
    }
}
