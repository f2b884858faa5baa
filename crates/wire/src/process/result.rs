//! Results for the envelope.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use protomcp_envelope as proto;
use protomcp_schema::ERROR_META;
use protomcp_types::{
    CallToolResult, CompleteResult, ErrorObject, GetPromptResult, JsonObject, PromptMessage, RawJson,
    ReadResourceResult, ResourceContents, ResourceData, code,
};

/// The error code of an unknown resource.
const NOT_FOUND: &str = "NOT_FOUND";

/// The result of a tool. The error of a failed one, which MCP has in `_meta`, is also in the envelope's own field.
#[must_use]
pub fn tool(result: CallToolResult) -> proto::CallToolResponse {
    let error = result.meta.as_ref().filter(|_| result.is_error).and_then(reported);
    proto::CallToolResponse {
        is_error: result.is_error,
        result_json: result.content.into_bytes(),
        error,
        structured_content_json: result.structured_content.map(RawJson::into_bytes).unwrap_or_default(),
        metadata_json: result.meta.map(RawJson::into_bytes).unwrap_or_default(),
        ..Default::default()
    }
}

/// The result of a tool that was answered with an error of the protocol.
#[must_use]
pub fn failed_tool(error: &ErrorObject) -> proto::CallToolResponse {
    let result_json = RawJson::text(&error.message).into_bytes();
    proto::CallToolResponse { is_error: true, result_json, error: Some(tool_error(error)), ..Default::default() }
}

/// An error of the protocol. Its data has no place in the envelope.
#[must_use]
pub fn tool_error(error: &ErrorObject) -> proto::ToolError {
    let error_code = match error.code {
        code::RESOURCE_NOT_FOUND => NOT_FOUND.to_owned(),
        code::INVALID_PARAMS => "INVALID_PARAMS".to_owned(),
        code::METHOD_NOT_FOUND => "METHOD_NOT_FOUND".to_owned(),
        code::INTERNAL_ERROR => "INTERNAL_ERROR".to_owned(),
        other => other.to_string(),
    };
    proto::ToolError { error_code, message: error.message.clone().into_owned(), ..Default::default() }
}

/// The contents of a resource.
///
/// # Errors
/// A text for the author, when contents are not contents of MCP, or not base64.
pub fn resource(result: ReadResourceResult) -> Result<proto::ReadResourceResponse, String> {
    let metadata_json = result.meta.map(RawJson::into_bytes).unwrap_or_default();
    let contents = result.contents.into_iter().map(|body| content(&JsonObject::from_raw(&body.into_raw())));
    Ok(proto::ReadResourceResponse { contents: contents.collect::<Result<_, _>>()?, error: None, metadata_json })
}

/// The messages of a prompt.
///
/// # Errors
/// A text for the author, when they are not messages.
pub fn prompt(result: GetPromptResult) -> Result<proto::GetPromptResponse, String> {
    let messages: Vec<PromptMessage> = result.messages.to().map_err(|error| error.to_string())?;
    let message = |message: PromptMessage| proto::PromptMessage {
        role: message.role.as_str().to_owned(),
        content_json: message.content.into_bytes(),
    };
    Ok(proto::GetPromptResponse {
        description: result.description.unwrap_or_default(),
        messages: messages.into_iter().map(message).collect(),
        error: None,
        metadata_json: result.meta.map(RawJson::into_bytes).unwrap_or_default(),
    })
}

/// The values of a completion.
#[must_use]
pub fn completion(result: CompleteResult) -> proto::CompletionResponse {
    let completion = result.completion;
    proto::CompletionResponse {
        values: completion.values,
        total: completion.total.map(|total| i32::try_from(total).unwrap_or(i32::MAX)).unwrap_or_default(),
        has_more: completion.has_more.unwrap_or_default(),
        error: None,
        metadata_json: result.meta.map(RawJson::into_bytes).unwrap_or_default(),
    }
}

/// The error in the `_meta` of a failed result.
fn reported(meta: &RawJson) -> Option<proto::ToolError> {
    let error = JsonObject::from_raw(JsonObject::from_raw(meta).ok()?.member(ERROR_META)?).ok()?;
    let text = |name: &str| error.member(name).and_then(|value| value.to().ok()).unwrap_or_default();
    Some(proto::ToolError {
        error_code: text("error_code"),
        message: text("message"),
        suggestion: text("suggestion"),
        retryable: error.member("retryable").and_then(|value| value.to().ok()).unwrap_or_default(),
    })
}

fn content(members: &Result<JsonObject, serde_json::Error>) -> Result<proto::ResourceContent, String> {
    let members = members.as_ref().map_err(|_| "contents of a resource are not an object".to_owned())?;
    let text = |name: &str| members.member(name).and_then(|value| value.to::<String>().ok());
    let uri = text("uri").ok_or("contents of a resource have no uri")?;
    let data = match (text("blob"), text("text")) {
        (Some(blob), _) => ResourceData::Blob(blob),
        (None, Some(text)) => ResourceData::Text(text),
        (None, None) => return Err(format!("contents of {uri:?} have neither text nor blob")),
    };
    let contents = ResourceContents { uri, mime_type: text("mimeType"), data, meta: members.member("_meta").cloned() };
    let (text, blob) = match contents.data {
        ResourceData::Text(text) => (text, Vec::new()),
        ResourceData::Blob(blob) => {
            let bytes = BASE64_STANDARD.decode(&blob);
            (String::new(), bytes.map_err(|why| format!("the blob of {:?} is not base64: {why}", contents.uri))?)
        }
    };
    Ok(proto::ResourceContent {
        uri: contents.uri,
        mime_type: contents.mime_type.unwrap_or_default(),
        text,
        blob: blob.into(),
        metadata_json: contents.meta.map(RawJson::into_bytes).unwrap_or_default(),
    })
}

#[cfg(test)]
mod tests {
    use protomcp_types::{Completion, ContentBlock, Role};

    use super::*;

    #[test]
    fn the_bridge_reads_the_result_that_was_written() {
        let meta =
            r#"{"protomcp/error":{"error_code":"E1","message":"no ink","suggestion":"refill","retryable":true}}"#;
        let blocks = [ContentBlock::text("no ink, refill"), ContentBlock::image("AAE=", "image/png")];
        for is_error in [false, true] {
            let mut result = CallToolResult::of(blocks.clone());
            result.is_error = is_error;
            result.meta = Some(RawJson::parse(meta).unwrap());
            let response = tool(result.clone());
            assert_eq!(response.error.as_ref().map(|error| error.error_code.as_str()), is_error.then_some("E1"));
            let read = crate::tool_result::to_mcp(response).unwrap();
            assert_eq!((read.content, read.is_error), (result.content, is_error));
            assert_eq!(read.meta.unwrap().as_str(), meta);
        }
        let response = tool(CallToolResult::text("x").with_structured(RawJson::parse(r#"{"n":1.50}"#).unwrap()));
        assert_eq!(response.structured_content_json, r#"{"n":1.50}"#.as_bytes());
        let read = crate::tool_result::to_mcp(failed_tool(&ErrorObject::internal("it broke"))).unwrap();
        assert!(read.is_error && read.content.as_str().contains("it broke"), "{read:?}");
    }

    #[test]
    fn the_bridge_reads_resources_prompts_and_completions() {
        let contents = || {
            let text = ResourceContents::text("a:b", "t").with_mime_type("text/plain");
            ReadResourceResult::of([text, ResourceContents::blob("a:c", "AP8=")])
        };
        let read = crate::resource::to_mcp("a:b", "", resource(contents()).unwrap()).unwrap();
        assert_eq!(read, contents());
        assert!(resource(ReadResourceResult::of([ResourceContents::blob("a:c", "<")])).unwrap_err().contains("base64"));

        let message = PromptMessage::new(Role::Assistant, ContentBlock::text("hi").to_raw());
        let mut asked = GetPromptResult::of([&message]);
        asked.description = Some("greets".into());
        assert_eq!(crate::prompt::to_mcp("p", prompt(asked.clone()).unwrap()).unwrap(), asked);

        let values = CompleteResult::from(Completion::new(["a", "b"]).with_total(9).with_more(true));
        assert_eq!(crate::completion::to_mcp(completion(values.clone())).unwrap(), values);
    }

    #[test]
    fn an_unknown_resource_stays_one() {
        let error = tool_error(&ErrorObject::resource_not_found("a:b"));
        let response = proto::ReadResourceResponse { error: Some(error), ..Default::default() };
        let read = crate::resource::to_mcp("a:b", "", response).unwrap_err();
        assert_eq!(read.code, code::RESOURCE_NOT_FOUND);
    }
}
