//! URI templates (RFC 6570): which URIs a template stands for, and the URI that values make of it.
//!
//! A template is read once, into a small graph of literals and gaps. Matching fills a table of graph nodes by positions
//! from the end of the URI to its start, so its cost is the product of the two lengths at worst: there is no backtracking,
//! whatever a template or a host says. RFC 6570 defines expansion alone; where a URI could be the expansion of several
//! values, the rules of [`UriTemplate::captures`] decide.

mod error;
mod expand;
mod graph;
mod parse;

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

pub use self::error::UriTemplateError;
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

/// What the variables of a template are in one URI.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UriVariables<'a> {
    found: Vec<(&'a str, &'a str)>,
}

impl UriTemplate {
    /// The longest template, in bytes.
    pub const MAX_LENGTH: usize = parse::MAX_LENGTH;
    /// How many variables a template may have, counting repetitions.
    pub const MAX_VARIABLES: usize = parse::MAX_VARIABLES;
    /// The longest URI, in bytes, that can match. Longer ones match nothing.
    pub const MAX_URI: usize = 8 * 1024;

    /// Reads a template.
    ///
    /// # Errors
    /// When it is none, or larger than this crate's limits.
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

    /// The names of its variables in the order in which they stand, with repetitions.
    pub fn variables(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().flat_map(Part::names)
    }

    /// Whether the template stands for this URI.
    #[must_use]
    pub fn matches(&self, uri: &str) -> bool {
        self.captures(uri).is_some()
    }

    /// What the variables are in this URI, if the template stands for it.
    ///
    /// * `{x}` is one or more characters other than `/`, `?` and `#`; `{+x}` one or more of any. With several names in one
    ///   expression, commas part them.
    /// * The other operators begin with a character of their own, and may be absent altogether: `{#x}`, `{.x}`, `{/x}`,
    ///   `{;x}`, `{?x}`, `{&x}`. Named values, those of `;`, `?` and `&`, stand in the order of the template, and each may
    ///   be absent.
    /// * `{x*}` takes all that the operator parts: the raw value of `{/x*}` in `/a/b` is `a/b`.
    /// * What can be divided in several ways goes to the earlier variable, as much of it as possible; but an expression
    ///   that can be there is not absent for that.
    ///
    /// A variable that is absent is not among the result.
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

    /// The URI for these values; a variable without a value is left out. A value is one string: lists and maps, which
    /// `{x*}` could take apart, are not known here.
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
    /// The value of a variable without percent-encoding; as it stands in the URI when that would not be UTF-8. Of a
    /// variable that occurs twice, the longer one: `{x:1}` is the beginning of `{x}`.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<Cow<'a, str>> {
        self.raw(name).map(expand::decode)
    }

    /// The value of a variable as it stands in the URI.
    #[must_use]
    pub fn raw(&self, name: &str) -> Option<&'a str> {
        let values = self.found.iter().filter(|(known, _)| *known == name).map(|(_, value)| *value);
        values.rev().max_by_key(|value| value.len())
    }

    /// Names and values as they stand in the URI, in the order of the template.
    pub fn iter(&self) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.found.iter().copied()
    }
}
