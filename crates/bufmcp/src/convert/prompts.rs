//! Prompts, their messages and completions, both ways.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use protomcp_types::{
    Complete, CompleteArgument, CompleteContext, Completion, ContentBlock, Extra, GetPrompt, GetPromptResult, Prompt,
    PromptArgument, PromptMessage, RawJson, Reference, Role,
};

use crate::code;
use crate::convert::back::call_metadata;
use crate::convert::json_metadata::{json_entries, json_of, some_text};
use crate::convert::results::{CONTENT_BLOCK, call_meta};
use crate::fault::Fault;
use crate::message::complete_request::Reference as Owner;
use crate::message::tool_content::Content;
use crate::message::{self, CompleteRequest, CompleteResponse, GetPromptRequest, GetPromptResponse, ToolContent};
use crate::metadata::{ICONS, META};
use crate::well_known;

/// The definition of a prompt.
pub(crate) fn prompt_to_proto(prompt: &Prompt) -> message::Prompt {
    let argument = |argument: &PromptArgument| message::PromptArgument {
        name: argument.name.clone(),
        description: argument.description.clone().unwrap_or_default(),
        required: argument.required,
        title: argument.title.clone().unwrap_or_default(),
    };
    message::Prompt {
        name: prompt.name.clone(),
        title: prompt.title.clone().unwrap_or_default(),
        description: prompt.description.clone().unwrap_or_default(),
        arguments: prompt.arguments.iter().map(argument).collect(),
        metadata: json_entries([(ICONS, &prompt.icons), (META, &prompt.meta)]),
    }
}

/// The definition of a prompt, for MCP.
pub(crate) fn prompt_from_proto(prompt: message::Prompt) -> Prompt {
    let argument = |argument: message::PromptArgument| PromptArgument {
        name: argument.name,
        title: some_text(argument.title),
        description: some_text(argument.description),
        required: argument.required,
    };
    Prompt {
        icons: json_of(&prompt.metadata, ICONS),
        meta: json_of(&prompt.metadata, META),
        name: prompt.name,
        title: some_text(prompt.title),
        description: some_text(prompt.description),
        arguments: prompt.arguments.into_iter().map(argument).collect(),
    }
}

/// A request for the messages of a prompt, from a client of proto-mcp.
pub(crate) fn get_from_proto(request: GetPromptRequest) -> GetPrompt {
    let GetPromptRequest { name, arguments, metadata } = request;
    GetPrompt { name, arguments: texts_to_json(&arguments), meta: call_meta(&metadata) }
}

/// A request for the messages of a prompt, for a server of proto-mcp.
pub(crate) fn get_to_proto(get: GetPrompt) -> GetPromptRequest {
    let metadata = call_metadata(get.meta.as_ref());
    GetPromptRequest { arguments: json_to_texts(get.arguments.as_ref()), name: get.name, metadata }
}

/// The messages of a prompt.
///
/// # Errors
/// If they are not messages of MCP.
pub(crate) fn prompt_result_to_proto(result: GetPromptResult) -> Result<GetPromptResponse, Fault> {
    let messages: Vec<PromptMessage> = result.messages.to().map_err(|_| malformed())?;
    let message = |message: PromptMessage| {
        let (role, content) = (message.role.as_str().to_owned(), Some(content_to_proto(message.content)?));
        Ok(message::PromptMessage { role, content })
    };
    Ok(GetPromptResponse {
        description: result.description.unwrap_or_default(),
        messages: messages.into_iter().map(message).collect::<Result<_, Fault>>()?,
        metadata: json_entries([(META, &result.meta)]),
    })
}

/// The messages of a prompt, for MCP.
///
/// # Errors
/// If an author or a content is none of MCP.
pub(crate) fn prompt_result_from_proto(response: GetPromptResponse) -> Result<GetPromptResult, Fault> {
    let message = |message: message::PromptMessage| {
        let role = Role::parse(&message.role).ok_or_else(malformed)?;
        let content = content_from_proto(message.content.unwrap_or_default())?;
        Ok(PromptMessage::new(role, content))
    };
    let messages: Vec<_> = response.messages.into_iter().map(message).collect::<Result<_, Fault>>()?;
    let mut result = GetPromptResult::of(&messages);
    result.description = some_text(response.description);
    result.meta = json_of(&response.metadata, META);
    Ok(result)
}

/// A block of content. One with members that `ToolContent` has no fields for is data.
fn content_to_proto(raw: RawJson) -> Result<ToolContent, Fault> {
    let (content, mime_type) = match ContentBlock::from_raw(raw) {
        ContentBlock::Text { text, extra } if extra == Extra::default() => (Content::Text(text), String::new()),
        ContentBlock::Image { data, mime_type, extra } if extra == Extra::default() => {
            let bytes = STANDARD.decode(&data).map_err(|_| malformed())?;
            (Content::Image(bytes.into()), mime_type)
        }
        other => {
            let data = well_known::to_any(&other.to_raw()).map_err(|_| malformed())?;
            (Content::Data(data.value), CONTENT_BLOCK.to_owned())
        }
    };
    Ok(ToolContent { content: Some(content), mime_type })
}

fn content_from_proto(content: ToolContent) -> Result<RawJson, Fault> {
    let ToolContent { content, mime_type } = content;
    match content {
        Some(Content::Text(text)) => Ok(ContentBlock::text(text).to_raw()),
        Some(Content::Image(bytes)) => Ok(ContentBlock::image(STANDARD.encode(bytes), mime_type).to_raw()),
        Some(Content::Data(any)) if mime_type == CONTENT_BLOCK => match well_known::to_json(&any) {
            Some(Ok(json)) => Ok(json),
            _ => Err(malformed()),
        },
        Some(Content::Data(_)) | None => Err(malformed()),
    }
}

/// A request for values of an argument, from a client of proto-mcp; `None`: it does not say of what.
pub(crate) fn complete_from_proto(request: CompleteRequest) -> Option<Complete> {
    let reference = match request.reference? {
        Owner::Prompt(name) => Reference::Prompt { name },
        Owner::Template(uri) => Reference::Resource { uri },
    };
    let argument = CompleteArgument { name: request.argument, value: request.value };
    let context = texts_to_json(&request.context).map(|arguments| CompleteContext { arguments: Some(arguments) });
    Some(Complete { reference, argument, context, meta: None })
}

/// A request for values of an argument, for a server of proto-mcp.
pub(crate) fn complete_to_proto(complete: Complete) -> CompleteRequest {
    let reference = match complete.reference {
        Reference::Prompt { name } => Owner::Prompt(name),
        Reference::Resource { uri } => Owner::Template(uri),
    };
    let CompleteArgument { name: argument, value } = complete.argument;
    let context = json_to_texts(complete.context.and_then(|context| context.arguments).as_ref());
    CompleteRequest { reference: Some(reference), argument, value, context }
}

/// Values of an argument: at most as many as MCP permits.
pub(crate) fn completion_to_proto(completion: Completion) -> CompleteResponse {
    let cut = Completion::new(completion.values);
    // A number that the field does not hold is not known.
    let total = completion.total.or(cut.total).and_then(|total| u32::try_from(total).ok()).unwrap_or_default();
    let has_more = completion.has_more.unwrap_or_default() || cut.has_more.unwrap_or_default();
    CompleteResponse { values: cut.values, total, has_more }
}

/// Values of an argument, for MCP: at most as many as it permits.
pub(crate) fn completion_from_proto(response: CompleteResponse) -> Completion {
    let CompleteResponse { values, total, has_more } = response;
    let mut completion = Completion::new(values);
    if total > 0 {
        completion = completion.with_total(total.into());
    }
    if has_more { completion.with_more(true) } else { completion }
}

/// Texts as an object; `None` without any.
fn texts_to_json(texts: &BTreeMap<String, String>) -> Option<RawJson> {
    (!texts.is_empty()).then(|| RawJson::of(texts).expect("texts are JSON"))
}

/// The members of an object. Servers of MCP take texts alone here, which their sessions check.
fn json_to_texts(object: Option<&RawJson>) -> BTreeMap<String, String> {
    object.and_then(|object| object.to().ok()).unwrap_or_default()
}

fn malformed() -> Fault {
    Fault::new(code::INTERNAL_ERROR, "the server has returned malformed messages of a prompt")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn prompts_and_their_messages_pass_both_ways() {
        let mut argument = PromptArgument::new("city").required();
        argument.title = Some("City".into());
        let mut prompt = Prompt::new("weather");
        prompt.arguments = vec![argument, PromptArgument::new("day")];
        prompt.title = Some("Weather".into());
        prompt.icons = Some(RawJson::parse(r#"[{"src":"i.png"}]"#).unwrap());
        prompt.meta = Some(RawJson::parse(r#"{"k":1}"#).unwrap());
        assert_eq!(prompt_from_proto(prompt_to_proto(&prompt)), prompt);

        for (content, is_data) in [
            (json!({"type": "text", "text": "hi"}), false),
            (json!({"type": "text", "text": "hi", "annotations": {"priority": 0.5}}), true),
            (json!({"type": "image", "data": "AAEC", "mimeType": "image/gif"}), false),
            (json!({"type": "audio", "data": "AAEC", "mimeType": "audio/wav"}), true),
            (json!({"type": "resource_link", "uri": "t:a", "name": "a"}), true),
        ] {
            let message = PromptMessage::new(Role::Assistant, RawJson::of(&content).unwrap());
            let mut result = GetPromptResult::of([&message]);
            result.description = Some("About it".into());
            let proto = prompt_result_to_proto(result).unwrap();
            let sent = proto.messages[0].content.clone().unwrap().content;
            assert_eq!(matches!(sent, Some(Content::Data(_))), is_data, "{content}");
            let back = prompt_result_from_proto(proto).unwrap();
            assert_eq!(back.description.as_deref(), Some("About it"));
            let messages: serde_json::Value = back.messages.to().unwrap();
            assert_eq!(messages, json!([{"role": "assistant", "content": content}]));
        }
    }

    #[test]
    fn messages_that_are_none_of_mcp_are_refused() {
        let message = |role: &str, content| message::PromptMessage { role: role.into(), content };
        let text = || Some(ToolContent { content: Some(Content::Text("a".into())), ..ToolContent::default() });
        let other = ToolContent { content: Some(Content::Data(crate::any::Any::default())), mime_type: "a/b".into() };
        for (wrong, message) in [
            (false, message("user", text())),
            (true, message("system", text())),
            (true, message("user", None)),
            (true, message("user", Some(other))),
        ] {
            let response = GetPromptResponse { messages: vec![message], ..GetPromptResponse::default() };
            assert_eq!(prompt_result_from_proto(response).is_err(), wrong);
        }
        let result = GetPromptResult { description: None, messages: RawJson::parse("[1]").unwrap(), meta: None };
        assert!(prompt_result_to_proto(result).is_err());
    }

    #[test]
    fn requests_pass_both_ways() {
        let mut get = GetPrompt::new("weather");
        assert_eq!(get_from_proto(get_to_proto(get.clone())), get);
        get.arguments = Some(RawJson::parse(r#"{"city":"Ulm"}"#).unwrap());
        get.meta = Some(RawJson::parse(r#"{"traceparent":"00-1"}"#).unwrap());
        assert_eq!(get_from_proto(get_to_proto(get.clone())), get);
        for text in [
            r#"{"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"a","value":"x"}}"#,
            r#"{"ref":{"type":"ref/resource","uri":"f:{a}"},"argument":{"name":"a","value":""},"context":{"arguments":{"b":"c"}}}"#,
        ] {
            let complete: Complete = serde_json::from_str(text).unwrap();
            assert_eq!(complete_from_proto(complete_to_proto(complete.clone())), Some(complete));
        }
        assert_eq!(complete_from_proto(CompleteRequest::default()), None);
        for completion in [
            Completion::new(["a", "b"]),
            Completion::new((0..200).map(|number| format!("v{number}"))),
            Completion::new(["a"]).with_total(7).with_more(true),
        ] {
            assert_eq!(completion_from_proto(completion_to_proto(completion.clone())), completion);
        }
        let values: Vec<_> = (0..150).map(|number| number.to_string()).collect();
        let cut = completion_to_proto(Completion { values, total: None, has_more: Some(false) });
        assert_eq!((cut.values.len(), cut.total, cut.has_more), (Completion::MAX_VALUES, 150, true));
        let far = Completion::new(["a"]).with_total(1 << 40);
        assert_eq!(completion_to_proto(far).total, 0);
    }
}
