//! Requests of a tool process to a client: from the envelope to MCP, and the answer back.

use protomcp_envelope::{
    ElicitationRequest, ElicitationResponse, ListRootsResponse, RootDef, SamplingRequest, SamplingResponse, ToolError,
};
use protomcp_types::{
    ContentBlock, CreateMessage, CreateMessageResult, Elicit, ElicitAction, ElicitResult, JsonObject, Kind,
    ListRootsResult, RawJson, Role, array,
};
use serde::Deserialize;

/// The limit of tokens for a request without one: MCP requires a number, and this is the default of the published
/// Python SDK.
const MAX_TOKENS: u64 = 1000;

/// `sampling/createMessage`. Published SDKs document and send the content of a message as a plain string, which
/// becomes a block of text (docs/envelope.md, "Questions").
///
/// # Errors
/// A text for the author, when the JSON is broken or not a conversation.
pub fn sampling(request: SamplingRequest) -> Result<CreateMessage, String> {
    let SamplingRequest { messages_json, model_preferences_json, system_prompt, max_tokens, params_json } = request;
    let messages = messages(messages_json).map_err(|why| format!("failed to parse messages_json: {why}"))?;
    let max_tokens = u64::try_from(max_tokens).ok().filter(|tokens| *tokens > 0).unwrap_or(MAX_TOKENS);
    let mut question = CreateMessage::new(messages, max_tokens);
    if !model_preferences_json.is_empty() {
        let preferences = object(model_preferences_json);
        let preferences = preferences.map_err(|why| format!("failed to parse model_preferences_json: {why}"))?;
        question.model_preferences = Some(preferences);
    }
    question.system_prompt = Some(system_prompt).filter(|prompt| !prompt.is_empty());
    if !params_json.is_empty() {
        let more: MoreParams =
            serde_json::from_slice(&params_json).map_err(|why| format!("failed to parse params_json: {why}"))?;
        more.add_to(&mut question);
    }
    Ok(question)
}

/// The members of a request to a model without a field in the envelope.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct MoreParams {
    include_context: Option<String>,
    temperature: Option<f64>,
    stop_sequences: Vec<String>,
    metadata: Option<RawJson>,
    tools: Option<RawJson>,
    tool_choice: Option<RawJson>,
}

impl MoreParams {
    fn add_to(self, question: &mut CreateMessage) {
        let Self { include_context, temperature, stop_sequences, metadata, tools, tool_choice } = self;
        question.include_context = include_context;
        question.temperature = temperature;
        question.stop_sequences = stop_sequences;
        question.metadata = metadata;
        question.tools = tools;
        question.tool_choice = tool_choice;
    }
}

/// A conversation for clients before 2025-11-25, whose messages hold one block: one message for each block.
pub fn one_block_each(messages: &RawJson) -> RawJson {
    let one = |message: RawJson| -> Vec<RawJson> {
        let members = JsonObject::from_raw(&message).unwrap_or_default();
        match members.member("content").and_then(|content| content.to::<Vec<RawJson>>().ok()) {
            Some(blocks) => blocks.into_iter().map(|block| with_content(&members, block)).collect(),
            None => vec![message],
        }
    };
    array(messages.to::<Vec<RawJson>>().unwrap_or_default().into_iter().flat_map(one))
}

/// The answer of the model. A single block in an array is passed on without the array: SDKs look for its text.
pub fn sampled(result: CreateMessageResult) -> SamplingResponse {
    let CreateMessageResult { role, content, model, stop_reason, meta: _ } = result;
    let content = match content.to::<[RawJson; 1]>() {
        Ok([block]) => block,
        Err(_) => content,
    };
    let role = match role {
        Role::User => "user",
        Role::Assistant => "assistant",
    };
    SamplingResponse {
        role: role.into(),
        content_json: content.into_bytes(),
        model,
        stop_reason: stop_reason.unwrap_or_default(),
        error: String::new(),
    }
}

/// The answer without a model, with the reason.
pub fn not_sampled(error: String) -> SamplingResponse {
    SamplingResponse { error, ..Default::default() }
}

/// The roots of the client.
pub fn roots(result: ListRootsResult) -> ListRootsResponse {
    let root = |root: protomcp_types::Root| RootDef { uri: root.uri, name: root.name.unwrap_or_default() };
    ListRootsResponse { roots: result.roots.into_iter().map(root).collect(), error: None }
}

/// The answer without roots, with the reason. A process that does not know the error reads an empty list.
pub fn no_roots(message: String) -> ListRootsResponse {
    let error = ToolError { error_code: "NO_ROOTS".into(), message, ..Default::default() };
    ListRootsResponse { roots: Vec::new(), error: Some(error) }
}

/// `elicitation/create`.
///
/// # Errors
/// A text for the author, when the schema is not an object, the mode is unknown, or a member of the mode is missing.
pub fn elicitation(request: ElicitationRequest) -> Result<Elicit, String> {
    let ElicitationRequest { mode, message, requested_schema_json, url, elicitation_id } = request;
    match mode.as_str() {
        "" | "form" => object(requested_schema_json)
            .map(|schema| Elicit::form(message, schema))
            .map_err(|why| format!("failed to parse requested_schema_json: {why}")),
        "url" if url.is_empty() || elicitation_id.is_empty() => Err("a url elicitation needs url and id".into()),
        "url" => Ok(Elicit::url(message, url, elicitation_id)),
        other => Err(format!("the mode \"{other}\" is neither form nor url")),
    }
}

/// The answer of the user.
pub fn elicited(result: ElicitResult) -> ElicitationResponse {
    let action = match result.action {
        ElicitAction::Accept => "accept",
        ElicitAction::Decline => "decline",
        ElicitAction::Cancel => "cancel",
    };
    let content_json = result.content.map(RawJson::into_bytes).unwrap_or_default();
    ElicitationResponse { action: action.into(), content_json, error: String::new() }
}

/// The answer without a user, with the reason.
pub fn not_elicited(error: String) -> ElicitationResponse {
    ElicitationResponse { error, ..Default::default() }
}

fn messages(text: bytes::Bytes) -> Result<RawJson, String> {
    let messages: Vec<RawJson> =
        RawJson::parse_lossy(text).and_then(|raw| raw.to()).map_err(|error| error.to_string())?;
    let messages = messages.iter().enumerate().map(|(index, message)| {
        let members = JsonObject::from_raw(message).map_err(|_| format!("message {index} is not an object"))?;
        let role = members.member("role").and_then(|role| role.to::<Role>().ok());
        if role.is_none() {
            return Err(format!("the role of message {index} is neither user nor assistant"));
        }
        match members.member("content") {
            Some(content) if content.kind() == Kind::String => {
                let text: String = content.to().map_err(|error| error.to_string())?;
                Ok(with_content(&members, ContentBlock::text(text).to_raw()))
            }
            Some(content) if matches!(content.kind(), Kind::Object | Kind::Array) => Ok(message.clone()),
            _ => Err(format!("message {index} has no content")),
        }
    });
    messages.collect::<Result<Vec<_>, _>>().map(array)
}

fn with_content(message: &JsonObject, content: RawJson) -> RawJson {
    let mut message = message.clone();
    message.insert("content", content);
    message.to_body().into_raw()
}

fn object(text: bytes::Bytes) -> Result<RawJson, String> {
    let raw = RawJson::parse_lossy(text).map_err(|error| error.to_string())?;
    if raw.kind() == Kind::Object { Ok(raw) } else { Err("it is not an object".into()) }
}

#[cfg(test)]
mod tests;
