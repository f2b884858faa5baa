//! URI templates (RFC 6570): matching and expansion.
//!
//! A template is parsed once, into a small graph of literals and gaps. Matching fills a table of graph nodes by
//! positions from the end of the URI to its start, so its cost is at most the product of the two lengths: there is no
//! backtracking for any template or URI. RFC 6570 defines expansion alone; where a URI could be the expansion of
//! several values, the rules of [`UriTemplate::captures`] decide.

mod error;
mod expand;
mod graph;
mod parse;
mod unit;

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

pub use self::error::UriTemplateError;
pub use self::unit::is_same_uri;
use crate::uri_template::graph::Graph;
use crate::uri_template::parse::Part;

/// A URI template after RFC 6570, with all its operators: `{x}`, `{+x}`, `{#x}`, `{.x}`, `{/x}`, `{;x}`, `{?x}`, `{&x}`.
///
/// ```
/// use protomcp_types::UriTemplate;
///
/// let template: UriTemplate = "notes://{user}/{+path}{?format}".parse()?;
/// let found = template.captures("notes://ann/2026/may?format=md").unwrap();
/// assert_eq!(found.get("path").as_deref(), Some("2026/may"));
/// assert_eq!(template.expand(|name| (name != "format").then_some("a b")), "notes://a%20b/a%20b");
/// # Ok::<(), protomcp_types::UriTemplateError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UriTemplate {
    text: Box<str>,
    parts: Vec<Part>,
    graph: Graph,
}

/// The values of a template's variables in one URI.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UriVariables<'a> {
    found: Vec<(&'a str, &'a str)>,
}

impl UriTemplate {
    /// The longest template, in bytes.
    pub const MAX_LENGTH: usize = parse::MAX_LENGTH;
    /// The most variables of a template, counting repetitions.
    pub const MAX_VARIABLES: usize = parse::MAX_VARIABLES;
    /// The longest URI, in bytes, that can match. Longer ones match nothing.
    pub const MAX_URI: usize = 8 * 1024;

    /// Parses a template.
    ///
    /// # Errors
    /// If it is not a template, or exceeds this crate's limits.
    pub fn parse(text: &str) -> Result<Self, UriTemplateError> {
        let parts = parse::parts(text)?;
        let graph = Graph::of(&parts);
        Ok(Self { text: text.into(), parts, graph })
    }

    /// The template as it was written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The names of its variables in their order, with repetitions.
    pub fn variables(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().flat_map(Part::names)
    }

    /// True if the template matches this URI.
    #[must_use]
    pub fn matches(&self, uri: &str) -> bool {
        self.captures(uri).is_some()
    }

    /// The values of the variables in this URI, if the template matches it.
    ///
    /// * `{x}` is one or more characters other than `/`, `?` and `#`; `{+x}` one or more of any. Several names in one
    ///   expression are separated by commas.
    /// * The other operators begin with their own character, and may be absent: `{#x}`, `{.x}`, `{/x}`, `{;x}`, `{?x}`,
    ///   `{&x}`. Named values, the values of `;`, `?` and `&`, come in the order of the template, and each may be
    ///   absent.
    /// * `{x*}` takes all values of the operator: the raw value of `{/x*}` in `/a/b` is `a/b`.
    /// * If there are several ways to divide a text, the earlier variable takes as much as possible; but an expression
    ///   that can be present is present.
    ///
    /// Absent variables are not in the result.
    #[must_use]
    pub fn captures<'a>(&'a self, uri: &'a str) -> Option<UriVariables<'a>> {
        if uri.len() > Self::MAX_URI {
            return None;
        }
        let names: Vec<_> = self.variables().collect();
        let spans = self.graph.run(uri)?;
        let found = spans.into_iter().map(|(variable, span)| (names[variable], &uri[span])).collect();
        Some(UriVariables { found })
    }

    /// Expands the template; a variable without a value is left out. A value is one string: lists and maps, which
    /// `{x*}` could expand, are not supported.
    pub fn expand<'v>(&self, value: impl Fn(&str) -> Option<&'v str>) -> String {
        expand::expand(&self.parts, value)
    }
}

impl FromStr for UriTemplate {
    type Err = UriTemplateError;

    fn from_str(text: &str) -> Result<Self, UriTemplateError> {
        Self::parse(text)
    }
}

impl fmt::Display for UriTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl<'a> UriVariables<'a> {
    /// The decoded value of a variable, or its raw text if it does not decode to UTF-8. Of a variable that occurs
    /// twice, the longer one: `{x:1}` is the beginning of `{x}`.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<Cow<'a, str>> {
        self.raw(name).map(expand::decode)
    }

    /// The raw value of a variable.
    #[must_use]
    pub fn raw(&self, name: &str) -> Option<&'a str> {
        let values = self.found.iter().filter(|(known, _)| *known == name).map(|(_, value)| *value);
        values.rev().max_by_key(|value| value.len())
    }

    /// Names and raw values in the order of the template.
    pub fn iter(&self) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.found.iter().copied()
    }
}
