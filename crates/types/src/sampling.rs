//! Sampling: requests to the model of a client.

use serde::{Deserialize, Serialize};

use crate::capability::ClientCapabilities;
use crate::list::array;
use crate::method::{ClientMethod, Method};
use crate::prompt::{PromptMessage, Role};
use crate::raw::RawJson;

/// `sampling/createMessage` (MCP 2025-11-25, client/sampling). The messages are forwarded as text.
///
/// MCP 2026-07-28 deprecates sampling: it stays for a year at least, and few clients have it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CreateMessage {
    /// An array of messages, each with `role` and `content`.
    pub messages: RawJson,
    /// Preferences for the choice of the model, an object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_preferences: Option<RawJson>,
    /// The system prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system_prompt: Option<String>,
    /// `none`, `thisServer` or `allServers`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub include_context: Option<String>,
    /// The sampling temperature.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// The most tokens to generate.
    pub max_tokens: u64,
    /// Texts at which the model stops.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stop_sequences: Vec<String>,
    /// Metadata for the provider of the model, an object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<RawJson>,
    /// An array of tools that the model may use; since 2025-11-25, for clients that support it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<RawJson>,
    /// The tool choice, an object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_choice: Option<RawJson>,
    /// Metadata, an object.
    #[serde(default, rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<RawJson>,
}

/// The answer to [`CreateMessage`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CreateMessageResult {
    /// The author, usually the assistant.
    pub role: Role,
    /// One content block; since 2025-11-25 also an array of them.
    pub content: RawJson,
    /// The name of the model.
    pub model: String,
    /// The reason for which the model stopped, such as `endTurn`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_reason: Option<String>,
    /// Metadata, an object.
    #[serde(default, rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<RawJson>,
}

impl CreateMessage {
    /// With an array of messages that is already text.
    #[must_use]
    pub fn new(messages: RawJson, max_tokens: u64) -> Self {
        Self {
            messages,
            model_preferences: None,
            system_prompt: None,
            include_context: None,
            temperature: None,
            max_tokens,
            stop_sequences: Vec::new(),
            metadata: None,
            tools: None,
            tool_choice: None,
            meta: None,
        }
    }

    /// With messages.
    #[must_use]
    pub fn of<'a>(messages: impl IntoIterator<Item = &'a PromptMessage>, max_tokens: u64) -> Self {
        Self::new(array(messages.into_iter().map(PromptMessage::to_raw)), max_tokens)
    }
}

impl Method for CreateMessage {
    const NAME: &'static str = "sampling/createMessage";
    type Params = Self;
    type Result = CreateMessageResult;
}

impl ClientMethod for CreateMessage {
    fn is_supported_by(params: &Self, capabilities: &ClientCapabilities) -> bool {
        let is_plain = params.tools.is_none() && params.tool_choice.is_none();
        capabilities.has_sampling() && (is_plain || capabilities.has_sampling_with_tools())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_says_only_what_was_set() {
        let hi = PromptMessage::new(Role::User, RawJson::parse(r#"{"type":"text","text":"hi"}"#).unwrap());
        let mut question = CreateMessage::of([&hi], 10);
        let text = r#"{"messages":[{"role":"user","content":{"type":"text","text":"hi"}}],"maxTokens":10}"#;
        assert_eq!(serde_json::to_string(&question).unwrap(), text);
        question.system_prompt = Some("be brief".into());
        assert!(serde_json::to_string(&question).unwrap().contains(r#""systemPrompt":"be brief","maxTokens":10"#));
    }

    #[test]
    fn tools_need_a_host_that_declares_them() {
        let plain = CreateMessage::new(RawJson::EMPTY_ARRAY, 1);
        let mut with_tools = plain.clone();
        with_tools.tools = Some(RawJson::EMPTY_ARRAY);
        for (capabilities, answers_plain, answers_tools) in
            [("{}", false, false), (r#"{"sampling":{}}"#, true, false), (r#"{"sampling":{"tools":{}}}"#, true, true)]
        {
            let capabilities = serde_json::from_str(capabilities).unwrap();
            assert_eq!(CreateMessage::is_supported_by(&plain, &capabilities), answers_plain);
            assert_eq!(CreateMessage::is_supported_by(&with_tools, &capabilities), answers_tools);
        }
    }
}
