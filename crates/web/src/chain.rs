//! The causes of an error in words.

use std::error::Error;
use std::fmt::Write;

/// An error with its causes, as one sentence.
///
/// # Panics
/// Never: a string takes any text.
#[must_use]
pub fn chain(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let part = error.to_string();
        // Some errors repeat their cause in their own text.
        if !text.ends_with(&part) {
            write!(text, ": {part}").expect("a string grows");
        }
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    #[test]
    fn causes_are_named_once() {
        #[derive(Debug, thiserror::Error)]
        #[error("{text}")]
        struct Outer {
            text: &'static str,
            source: io::Error,
        }
        let chained = |text| chain(&Outer { text, source: io::Error::other("refused") });
        assert_eq!(chained("cannot connect"), "cannot connect: refused");
        assert_eq!(chained("cannot connect: refused"), "cannot connect: refused");
    }
}
