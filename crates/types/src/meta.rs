//! What is written in a `_meta` object.

use crate::id::ProgressToken;
use crate::members::Members;
use crate::raw::RawJson;

/// The progress token of a request, from its `_meta`. A token that is neither string nor integer counts as none.
#[must_use]
pub fn progress_token(meta: &RawJson) -> Option<ProgressToken> {
    Members::from_raw(meta).ok()?.member("progressToken").and_then(ProgressToken::from_raw)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_keeps_its_type() {
        for (meta, token) in [
            (r#"{"progressToken":1}"#, Some(ProgressToken::from(1))),
            (r#"{"x":{},"progressToken":"1"}"#, Some(ProgressToken::from("1"))),
            (r#"{"progressToken":1.5}"#, None),
            (r#"{"progressToken":null}"#, None),
            ("{}", None),
            ("[]", None),
        ] {
            assert_eq!(progress_token(&RawJson::parse(meta).unwrap()), token, "{meta}");
        }
    }
}
