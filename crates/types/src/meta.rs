//! What is written in a `_meta` object.

use crate::body::Body;
use crate::id::ProgressToken;
use crate::members::Members;
use crate::raw::RawJson;

/// The progress token of a request, from its `_meta`. A token that is neither string nor integer counts as none.
#[must_use]
pub fn progress_token(meta: &RawJson) -> Option<ProgressToken> {
    Members::from_raw(meta).ok()?.member("progressToken").and_then(ProgressToken::from_raw)
}

/// Under which name a message says to which task it belongs (MCP 2025-11-25, basic/utilities/tasks).
pub const RELATED_TASK: &str = "io.modelcontextprotocol/related-task";

/// `meta`, or an empty one, with the task that the message belongs to.
#[must_use]
pub fn with_related_task(meta: Option<&RawJson>, task_id: &str) -> RawJson {
    let related = Body::object().text("taskId", task_id).finish().into_raw();
    let members = meta.and_then(|meta| Members::from_raw(meta).ok()).unwrap_or_default();
    members.with(RELATED_TASK, related).to_body().into_raw()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_is_named_beside_what_is_there() {
        assert_eq!(with_related_task(None, "t").as_str(), r#"{"io.modelcontextprotocol/related-task":{"taskId":"t"}}"#);
        let meta = RawJson::parse(r#"{"a":1,"io.modelcontextprotocol/related-task":{}}"#).unwrap();
        assert_eq!(
            with_related_task(Some(&meta), "t").as_str(),
            r#"{"a":1,"io.modelcontextprotocol/related-task":{"taskId":"t"}}"#
        );
    }

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
