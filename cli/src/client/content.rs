//! The contents of results as text.

use serde_json::Value;

/// The content of a result as text: what is not text is named. Without content, the structured content.
pub(super) fn as_text(result: &Value) -> String {
    let blocks = result["content"].as_array().map(Vec::as_slice).unwrap_or_default();
    if blocks.is_empty() {
        return match &result["structuredContent"] {
            Value::Null => String::new(),
            structured => format!("{structured:#}\n"),
        };
    }
    blocks.iter().map(|block| format!("{}\n", block_text(block))).collect()
}

/// True if a result has what MCP says: a list of content, or structured content.
pub(super) fn is_result(result: &Value) -> bool {
    match result.get("content") {
        None => !result["structuredContent"].is_null(),
        Some(content) => content.is_array(),
    }
}

/// A block of content.
fn block_text(block: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    match block["type"].as_str() {
        Some("text") => text(&block["text"]),
        Some(kind @ ("image" | "audio")) => {
            format!("[{kind}, {}, {} characters of base64]", text(&block["mimeType"]), text(&block["data"]).len())
        }
        Some("resource_link") => format!("[resource {}]", text(&block["uri"])),
        Some("resource") => match block["resource"]["text"].as_str() {
            Some(content) => content.to_owned(),
            None => format!("[resource {}]", text(&block["resource"]["uri"])),
        },
        _ => block.to_string(),
    }
}

/// The contents of a resource. Bytes are named.
pub(super) fn of_resource(result: &Value) -> String {
    let contents = result["contents"].as_array().map(Vec::as_slice).unwrap_or_default();
    let text = |content: &Value| match (content["text"].as_str(), content["blob"].as_str()) {
        (Some(text), _) if text.ends_with('\n') => text.to_owned(),
        (Some(text), _) => format!("{text}\n"),
        (None, bytes) => {
            let kind = content["mimeType"].as_str().unwrap_or("bytes");
            format!("[{kind}, {} characters of base64, which --json prints]\n", bytes.unwrap_or_default().len())
        }
    };
    contents.iter().map(text).collect()
}

/// The messages of a prompt, each after its role.
pub(super) fn of_prompt(result: &Value) -> String {
    let messages = result["messages"].as_array().map(Vec::as_slice).unwrap_or_default();
    let text = |message: &Value| {
        format!("{}: {}\n", message["role"].as_str().unwrap_or_default(), block_text(&message["content"]))
    };
    messages.iter().map(text).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn content_is_printed_as_text() {
        let blocks = json!([
            {"type": "text", "text": "a\nb"},
            {"type": "image", "mimeType": "image/png", "data": "AAAA"},
            {"type": "resource_link", "uri": "file:///x"},
            {"type": "resource", "resource": {"uri": "r:1", "text": "inside"}},
            {"type": "resource", "resource": {"uri": "r:2", "blob": "AA=="}},
            {"type": "new", "x": 1},
        ]);
        let expected = "a\nb\n[image, image/png, 4 characters of base64]\n[resource file:///x]\ninside\n[resource r:2]\n\
                        {\"type\":\"new\",\"x\":1}\n";
        assert_eq!(as_text(&json!({"content": blocks})), expected);
        assert_eq!(as_text(&json!({"content": [], "structuredContent": 5})), "5\n");
        assert_eq!(as_text(&json!({"content": []})), "");
    }

    #[test]
    fn a_result_has_a_list_of_content_or_structured_content() {
        for (result, expected) in [
            (json!({"content": []}), true),
            (json!({"structuredContent": {"a": 1}}), true),
            (json!({"content": "hello"}), false),
            (json!({"content": "hello", "structuredContent": {"a": 1}}), false),
            (json!({"toolResult": "hello"}), false),
        ] {
            assert_eq!(is_result(&result), expected, "{result}");
        }
    }

    #[test]
    fn resources_and_prompts_are_printed_as_text() {
        let contents = json!([
            {"uri": "a:1", "text": "one"}, {"uri": "a:2", "text": "two\n"},
            {"uri": "a:3", "mimeType": "image/png", "blob": "AAAA"},
        ]);
        let expected = "one\ntwo\n[image/png, 4 characters of base64, which --json prints]\n";
        assert_eq!(of_resource(&json!({"contents": contents})), expected);
        let messages = json!([
            {"role": "user", "content": {"type": "text", "text": "Who?"}},
            {"role": "assistant", "content": {"type": "text", "text": "I."}},
        ]);
        assert_eq!(of_prompt(&json!({"messages": messages})), "user: Who?\nassistant: I.\n");
        assert_eq!(of_prompt(&json!({})) + &of_resource(&json!({})), "");
    }
}
