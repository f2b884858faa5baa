//! An estimate of the tokens that a definition or a result costs.
//!
//! Each model has its own tokenizer, and several are not published. A quarter of the bytes is close enough to compare
//! tools with each other.

/// The method of [`tokens`], for people.
pub const TOKEN_METHOD: &str = "bytes of the JSON / 4";

/// The estimated number of tokens of a text of this many bytes.
#[must_use]
pub fn tokens(bytes: usize) -> usize {
    bytes.div_ceil(4)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_started_token_counts() {
        assert_eq!([0, 1, 4, 5, 400].map(tokens), [0, 1, 1, 2, 100]);
    }
}
