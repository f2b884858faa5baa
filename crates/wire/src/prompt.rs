//! The answer of a process as a `prompts/get` result.

use protomcp_envelope::{GetPromptResponse, PromptMessage as Wire};
use protomcp_types::{ErrorObject, GetPromptResult, PromptMessage, Role};

use crate::{content, metadata, tool_error};

/// The result for the client.
///
/// # Errors
/// −32602 or −32603 with the error of the process, or for a role that MCP does not have.
pub fn to_mcp(name: &str, response: GetPromptResponse) -> Result<GetPromptResult, ErrorObject> {
    let what = format!("get prompt \"{name}\"");
    if let Some(error) = &response.error {
        return Err(tool_error::to_mcp(&what, error));
    }
    let message = |Wire { role, content_json }: Wire| {
        let role = Role::parse(&role).ok_or_else(|| {
            ErrorObject::internal(format!("{what}: a message has the role \"{role}\" instead of user or assistant"))
        })?;
        Ok(PromptMessage::new(role, content::block(&content_json)))
    };
    let messages: Vec<_> = response.messages.into_iter().map(message).collect::<Result<_, ErrorObject>>()?;
    let mut result = GetPromptResult::of(&messages);
    result.meta = metadata::to_mcp(response.metadata_json);
    result.description = Some(response.description).filter(|description| !description.is_empty());
    Ok(result)
}

#[cfg(test)]
mod tests {
    use protomcp_envelope::ToolError;
    use protomcp_types::code;

    use super::*;

    fn response(role: &str, content: &'static str) -> GetPromptResponse {
        let message = Wire { role: role.into(), content_json: content.into() };
        GetPromptResponse { description: String::new(), messages: vec![message], ..Default::default() }
    }

    fn check(content: &'static str, expected: &str) {
        let result = to_mcp("p", response("user", content)).unwrap();
        assert_eq!(result.messages.as_str(), format!(r#"[{{"role":"user","content":{expected}}}]"#));
    }

    #[test]
    fn blocks_pass_and_everything_else_becomes_text() {
        for block in [
            r#"{"type":"text","text":"hi","_meta":{"n":9007199254740993}}"#,
            r#"{"type":"image","data":"AAE=","mimeType":"image/png"}"#,
            r#"{"type":"audio","data":"","mimeType":"audio/wav"}"#,
            r#"{"type":"resource","resource":{"uri":"a:b","text":""}}"#,
            r#"{"type":"resource_link","uri":"a:b","name":"n"}"#,
        ] {
            check(block, block);
        }
        check("", r#"{"type":"text","text":""}"#);
        check("plain", r#"{"type":"text","text":"plain"}"#);
        check(r#""quoted""#, r#"{"type":"text","text":"quoted"}"#);
        check(r#"{"type":"video"}"#, r#"{"type":"text","text":"{\"type\":\"video\"}"}"#);
        check("[1]", r#"{"type":"text","text":"[1]"}"#);
        check(r#"{"type":"image","mimeType":"a/b","data":"<"}"#, r#"{"data":"PA==","mimeType":"a/b","type":"image"}"#);
    }

    #[test]
    fn roles_and_description_match_mcp() {
        let mut wire = response("assistant", "x");
        wire.description = "what it is".into();
        wire.metadata_json = r#"{"a":1}"#.into();
        let result = to_mcp("p", wire).unwrap();
        assert_eq!(result.meta.unwrap().as_str(), r#"{"a":1}"#);
        assert_eq!(result.description.as_deref(), Some("what it is"));
        assert_eq!(to_mcp("p", response("user", "x")).unwrap().description, None);
        let error = to_mcp("p", response("system", "x")).unwrap_err();
        assert_eq!(error.code, code::INTERNAL_ERROR);
        assert!(error.message.contains(r#""system""#), "{error}");
    }

    #[test]
    fn a_reason_is_passed_on() {
        for (error_code, code) in [("X", code::INTERNAL_ERROR), ("INVALID_ARGUMENTS", code::INVALID_PARAMS)] {
            let error = ToolError { error_code: error_code.into(), message: "no ink".into(), ..Default::default() };
            let error = to_mcp("p", GetPromptResponse { error: Some(error), ..response("user", "x") }).unwrap_err();
            assert_eq!((error.code, &*error.message), (code, r#"get prompt "p": no ink"#));
            assert!(error.data.unwrap().as_str().contains(&format!(r#""error_code":"{error_code}""#)));
        }
    }
}
