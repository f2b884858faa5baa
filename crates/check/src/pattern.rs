//! A regular expression of the table, compiled when the table is read.

use std::fmt;

use regex::Regex;
use serde::{Deserialize, Deserializer};

/// A regular expression; shown as it is written.
#[derive(Debug)]
pub(crate) struct Pattern(Regex);

impl Pattern {
    pub(crate) fn is_match(&self, text: &str) -> bool {
        self.0.is_match(text)
    }

    #[cfg(test)]
    pub(crate) fn as_str(&self) -> &str {
        self.0.as_str()
    }
}

impl<'de> Deserialize<'de> for Pattern {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Regex::new(&text).map(Self).map_err(serde::de::Error::custom)
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.as_str())
    }
}
