//! The texts and sizes that tasks of both eras have in common.

use protomcp_types::{CallToolResult, ErrorObject, JsonObject, RawJson};

/// The bytes of a status message that are kept.
const MESSAGE: usize = 4096;

/// A status message without the bytes that are not kept.
pub(crate) fn cut(message: &str) -> String {
    message[..message.floor_char_boundary(MESSAGE)].to_owned()
}

/// Bytes that are kept of an outcome.
pub(crate) fn size(outcome: Result<&CallToolResult, &ErrorObject>) -> usize {
    let len = |raw: &Option<RawJson>| raw.as_ref().map_or(0, RawJson::len);
    match outcome {
        Ok(result) => result.content.len() + len(&result.structured_content) + len(&result.meta),
        Err(error) => error.message.len() + len(&error.data),
    }
}

/// The first text of a result.
pub(crate) fn first_text(result: &CallToolResult) -> Option<String> {
    let blocks = result.content.to::<Vec<JsonObject>>().ok()?;
    blocks.iter().find_map(|block| block.member("text")?.to().ok())
}
