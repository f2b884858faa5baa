//! Texts of a peer in errors: a name may be as long as a message.

use std::fmt;

/// The most characters of a text that an error repeats.
const MAX_QUOTED: usize = 200;

/// A text in quotation marks, as `{:?}` writes it. Of one with more than 200 characters it is the beginning, with `…`.
///
/// ```
/// use protomcp_types::Quoted;
///
/// assert_eq!(Quoted("a \"b\"").to_string(), r#""a \"b\"""#);
/// assert!(Quoted(&"x".repeat(1_000_000)).to_string().ends_with("xx…\""));
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Quoted<'a>(pub &'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.char_indices().nth(MAX_QUOTED) {
            Some((end, _)) => write!(f, "{:?}", format!("{}…", &self.0[..end])),
            None => write!(f, "{:?}", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_cut() {
        let (whole, long) = ("é".repeat(MAX_QUOTED), "é".repeat(MAX_QUOTED + 1));
        for text in ["", "a\nb \"c\"", whole.as_str()] {
            assert_eq!(Quoted(text).to_string(), format!("{text:?}"));
        }
        assert_eq!(Quoted(&long).to_string(), format!("\"{whole}…\""));
    }
}
