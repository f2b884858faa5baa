//! The answer of a process as a `resources/read` result.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use protomcp_envelope::{ReadResourceResponse, ResourceContent};
use protomcp_types::{ErrorObject, JsonBuf, ReadResourceResult};

use crate::{metadata, tool_error};

/// The result for the client. `uri` of the request and `media_type` of the definition, perhaps empty, stand in for those
/// that the process leaves out.
///
/// # Errors
/// −32002 without contents, as published SDKs answer for an unknown resource; −32602 or −32603 with the error of the process.
pub fn to_mcp(uri: &str, media_type: &str, response: ReadResourceResponse) -> Result<ReadResourceResult, ErrorObject> {
    match response.error {
        Some(error) if error.error_code == NOT_FOUND => return Err(ErrorObject::resource_not_found(uri)),
        Some(error) => return Err(tool_error::to_mcp(&format!("read resource \"{uri}\""), &error)),
        None if response.contents.is_empty() => return Err(ErrorObject::resource_not_found(uri)),
        None => {}
    }
    let contents = response.contents.into_iter().map(|content| body(uri, media_type, content)).collect();
    Ok(ReadResourceResult { contents, meta: metadata::to_mcp(response.metadata_json) })
}

/// The error code of SDKs for an unknown resource.
const NOT_FOUND: &str = "NOT_FOUND";

fn body(uri: &str, media_type: &str, content: ResourceContent) -> JsonBuf {
    let ResourceContent { uri: own_uri, mime_type, text, blob, metadata_json } = content;
    let or = |own: String, default: &str| if own.is_empty() { default.to_owned() } else { own };
    let media_type = Some(or(mime_type, media_type)).filter(|media_type| !media_type.is_empty());
    let object = JsonBuf::object().text("uri", &or(own_uri, uri)).text_if("mimeType", media_type.as_deref());
    let object =
        if blob.is_empty() { object.text("text", &text) } else { object.text("blob", &BASE64_STANDARD.encode(blob)) };
    let meta = metadata::to_mcp(metadata_json);
    object.raw_if("_meta", meta.as_ref()).finish()
}

#[cfg(test)]
mod tests {
    use protomcp_envelope::ToolError;
    use protomcp_types::code;

    use super::*;

    fn content(uri: &str, mime_type: &str, text: &str, blob: &[u8]) -> ResourceContent {
        ResourceContent {
            uri: uri.into(),
            mime_type: mime_type.into(),
            text: text.into(),
            blob: blob.to_vec().into(),
            ..Default::default()
        }
    }

    fn check(media_type: &str, contents: Vec<ResourceContent>, expected: &str) {
        let result = to_mcp("a://1", media_type, ReadResourceResponse { contents, ..Default::default() }).unwrap();
        assert_eq!(serde_json::to_string(&result).unwrap(), format!(r#"{{"contents":[{expected}]}}"#));
    }

    #[test]
    fn content_is_text_or_base64_and_missing_members_are_filled_in() {
        check("", vec![content("", "", "x\n", b"")], r#"{"uri":"a://1","text":"x\n"}"#);
        check("text/plain", vec![content("", "", "", b"")], r#"{"uri":"a://1","mimeType":"text/plain","text":""}"#);
        check(
            "text/plain",
            vec![content("b", "image/png", "ignored", b"\x00\xff"), content("", "", "t", b"")],
            r#"{"uri":"b","mimeType":"image/png","blob":"AP8="},{"uri":"a://1","mimeType":"text/plain","text":"t"}"#,
        );
    }

    #[test]
    fn the_meta_of_a_part_is_passed_on_if_it_is_an_object() {
        for (meta, shown) in
            [(r#"{"ui":{"prefersBorder":true}}"#, r#","_meta":{"ui":{"prefersBorder":true}}"#), ("[1]", ""), ("{", "")]
        {
            let part = ResourceContent { metadata_json: meta.into(), ..content("ui://a", "", "x", b"") };
            check("", vec![part], &format!(r#"{{"uri":"ui://a","text":"x"{shown}}}"#));
        }
    }

    #[test]
    fn empty_contents_are_not_found_and_a_reason_is_passed_on() {
        let error = to_mcp("a://1", "", ReadResourceResponse::default()).unwrap_err();
        assert_eq!((error.code, error.data.unwrap().as_str()), (code::RESOURCE_NOT_FOUND, r#"{"uri":"a://1"}"#));
        for (error_code, code) in [("NOT_FOUND", code::RESOURCE_NOT_FOUND), ("X", code::INTERNAL_ERROR)] {
            let error = ToolError { error_code: error_code.into(), message: "why".into(), ..Default::default() };
            let contents = vec![content("", "", "counts for nothing", b"")];
            let error =
                to_mcp("a://1", "", ReadResourceResponse { contents, error: Some(error), ..Default::default() })
                    .unwrap_err();
            assert_eq!(error.code, code, "{error}");
        }
    }
}
