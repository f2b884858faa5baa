//! The content of results and prompts.

use serde_json::{Value, json};

pub(crate) const PNG: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
pub(crate) const WAV: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEARKwAAIhYAQACABAAZGF0YQAAAAA=";

/// A single text.
pub(crate) fn said(text: &str) -> Value {
    json!([{"type": "text", "text": text}])
}

pub(crate) fn image() -> Value {
    json!({"type": "image", "data": PNG, "mimeType": "image/png"})
}

pub(crate) fn resource(uri: &str, mime_type: &str, text: &str) -> Value {
    json!({"type": "resource", "resource": {"uri": uri, "mimeType": mime_type, "text": text}})
}
