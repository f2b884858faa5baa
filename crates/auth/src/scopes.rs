//! The scopes of a token, in words that its issuer has chosen.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

/// A set of scopes, written with blanks between them (RFC 6749, section 3.3).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Scopes(BTreeSet<Box<str>>);

/// A text that is not a scope.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a scope: it is empty or holds a quote, a backslash or a character beyond ASCII")]
pub struct BadScope(pub String);

impl Scopes {
    /// Reads a claim. Words that are not valid scopes are ignored, because no client can have asked for them.
    pub fn lenient<'a>(words: impl IntoIterator<Item = &'a str>) -> Self {
        let words = words.into_iter().flat_map(|words| words.split(' '));
        Self(words.filter(|word| is_scope(word)).map(Box::from).collect())
    }

    /// True if there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// True if this scope is in the set.
    #[must_use]
    pub fn contains(&self, scope: &str) -> bool {
        self.0.contains(scope)
    }

    /// True if all of `others` are in the set.
    #[must_use]
    pub fn include(&self, others: &Self) -> bool {
        others.0.is_subset(&self.0)
    }

    /// Adds all of `others`.
    pub fn add(&mut self, others: &Self) {
        self.0.extend(others.0.iter().cloned());
    }

    /// Adds the scopes of `others` that fit into a text of `max` bytes, and returns the number of those that do not.
    pub fn add_within(&mut self, others: &Self, max: usize) -> usize {
        let mut length: usize = self.iter().map(|scope| scope.len() + 1).sum();
        let mut left_out = 0;
        for scope in others.0.iter().filter(|scope| !self.0.contains(*scope)).cloned().collect::<Vec<_>>() {
            if length + scope.len() > max {
                left_out += 1;
            } else {
                length += scope.len() + 1;
                self.0.insert(scope);
            }
        }
        left_out
    }

    /// All but this one.
    #[must_use]
    pub fn without(mut self, scope: &str) -> Self {
        self.0.remove(scope);
        self
    }

    /// In alphabetical order.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|scope| &**scope)
    }
}

impl FromStr for Scopes {
    type Err = BadScope;

    fn from_str(text: &str) -> Result<Self, BadScope> {
        text.split(' ')
            .map(|word| if is_scope(word) { Ok(word.into()) } else { Err(BadScope(word.to_owned())) })
            .collect::<Result<_, _>>()
            .map(Self)
    }
}

impl fmt::Display for Scopes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, scope) in self.iter().enumerate() {
            f.write_str(if number == 0 { "" } else { " " })?;
            f.write_str(scope)?;
        }
        Ok(())
    }
}

/// RFC 6749, section 3.3: visible ASCII without quote and backslash.
fn is_scope(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\\'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scopes_are_a_set_of_words() {
        let scopes: Scopes = "write read read".parse().unwrap();
        assert_eq!(scopes.to_string(), "read write");
        assert!(scopes.include(&"read".parse().unwrap()) && !scopes.include(&"read admin".parse().unwrap()));
        assert!(scopes.include(&Scopes::default()));
    }

    #[test]
    fn a_scope_cannot_break_out_of_a_header() {
        for bad in ["", "a  b", "a\"b", "a\\b", "a\tb", "ü", "a\r\nb", " a"] {
            assert!(bad.parse::<Scopes>().is_err(), "{bad:?}");
        }
        assert_eq!(Scopes::lenient(["a\"b read", "  write"]).to_string(), "read write");
    }
}
