//! Prompts: message templates of a server for the users of a client.

use serde::{Deserialize, Serialize};

use crate::absent::null_as_default;
use crate::error::ErrorObject;
use crate::json_buf::JsonBuf;
use crate::json_object::JsonObject;
use crate::list::{ListPromptsResult, array};
use crate::method::Method;
use crate::params::Params;
use crate::raw::{Kind, RawJson};

/// The definition of a prompt (MCP 2025-11-25, schema, `Prompt`).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Prompt {
    /// The programmatic name.
    pub name: String,
    /// The display name; since 2025-06-18.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// A description.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The arguments.
    #[serde(default, deserialize_with = "null_as_default", skip_serializing_if = "Vec::is_empty")]
    pub arguments: Vec<PromptArgument>,
    /// An array of icons; since 2025-11-25.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub icons: Option<RawJson>,
    /// Metadata, an object.
    #[serde(default, rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<RawJson>,
}

/// An argument of a prompt.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct PromptArgument {
    /// The programmatic name.
    pub name: String,
    /// The display name; since 2025-06-18.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// A description.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// True if the argument is required.
    #[serde(default, deserialize_with = "null_as_default", skip_serializing_if = "std::ops::Not::not")]
    pub required: bool,
}

/// The author of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The user.
    User,
    /// The model.
    Assistant,
}

/// `prompts/get` (MCP 2025-11-25, server/prompts).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GetPrompt {
    /// The name in the request; such a prompt may not exist.
    pub name: String,
    /// An object whose values are strings; `{}` if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<RawJson>,
    /// Metadata, an object.
    #[serde(default, rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<RawJson>,
}

/// The answer to [`GetPrompt`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GetPromptResult {
    /// A description.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// An array of [`PromptMessage`]s.
    pub messages: RawJson,
    /// Metadata, an object.
    #[serde(default, rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<RawJson>,
}

/// One message of a prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromptMessage {
    /// The author.
    pub role: Role,
    /// One content block, as text.
    pub content: RawJson,
}

impl Prompt {
    /// A prompt without details.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }

    /// The definition as JSON text.
    #[must_use]
    pub fn to_raw(&self) -> RawJson {
        RawJson::of(self).expect("a prompt has string keys only")
    }
}

impl PromptArgument {
    /// An optional argument.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }

    /// Makes the argument required.
    #[must_use]
    pub fn required(mut self) -> Self {
        self.required = true;
        self
    }
}

impl ListPromptsResult {
    /// The only page, from definitions.
    #[must_use]
    pub fn of<'a>(prompts: impl IntoIterator<Item = &'a Prompt>) -> Self {
        Self::new(array(prompts.into_iter().map(Prompt::to_raw)))
    }
}

impl GetPrompt {
    /// Without arguments.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), arguments: None, meta: None }
    }

    /// The text of the arguments, `{}` when there are none.
    #[must_use]
    pub fn arguments_or_empty(&self) -> RawJson {
        self.arguments.clone().unwrap_or(RawJson::EMPTY_OBJECT)
    }

    /// The arguments one by one; none if they are not an object.
    #[must_use]
    pub fn members(&self) -> JsonObject {
        self.arguments.as_ref().and_then(|raw| JsonObject::from_raw(raw).ok()).unwrap_or_default()
    }
}

/// Reads the parameters without copying their values.
impl TryFrom<Params> for GetPrompt {
    type Error = ErrorObject;

    fn try_from(mut params: Params) -> Result<Self, ErrorObject> {
        let name = params.required("name")?;
        let arguments = params.take("arguments").filter(|raw| raw.kind() != Kind::Null);
        if let Some(raw) = &arguments {
            let members = JsonObject::from_raw(raw)
                .map_err(|error| ErrorObject::invalid_params(format!("invalid params: arguments: {error}")))?;
            if let Some((name, _)) = members.iter().find(|(_, value)| value.kind() != Kind::String) {
                let why = format!("invalid params: argument {name:?} must be a string");
                return Err(ErrorObject::invalid_params(why));
            }
        }
        Ok(Self { name, arguments, meta: params.take("_meta") })
    }
}

impl GetPromptResult {
    /// An answer from messages.
    #[must_use]
    pub fn of<'a>(messages: impl IntoIterator<Item = &'a PromptMessage>) -> Self {
        let messages = array(messages.into_iter().map(PromptMessage::to_raw));
        Self { description: None, messages, meta: None }
    }
}

impl PromptMessage {
    /// A message with any content block.
    #[must_use]
    pub fn new(role: Role, content: RawJson) -> Self {
        Self { role, content }
    }

    /// The JSON text.
    #[must_use]
    pub fn to_raw(&self) -> RawJson {
        JsonBuf::object().text("role", self.role.as_str()).raw("content", &self.content).finish().into_raw()
    }
}

impl Role {
    /// The name on the wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Assistant => "assistant",
        }
    }

    /// Reads the name on the wire, exactly.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        [Self::User, Self::Assistant].into_iter().find(|role| role.as_str() == text)
    }
}

impl Method for GetPrompt {
    const NAME: &'static str = "prompts/get";
    type Params = Self;
    type Result = GetPromptResult;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::content::ContentBlock;

    fn get(text: &'static str) -> Result<GetPrompt, ErrorObject> {
        GetPrompt::try_from(Params::Named(JsonObject::from_raw(&RawJson::parse(text).unwrap()).unwrap()))
    }

    #[test]
    fn absent_members_are_not_written() {
        let mut prompt = Prompt::new("p");
        assert_eq!(prompt.to_raw().as_str(), r#"{"name":"p"}"#);
        prompt.arguments = vec![PromptArgument::new("a").required(), PromptArgument::new("b")];
        let text = r#"{"name":"p","arguments":[{"name":"a","required":true},{"name":"b"}]}"#;
        assert_eq!(prompt.to_raw().as_str(), text);
        assert_eq!(serde_json::from_str::<Prompt>(text).unwrap(), prompt);
    }

    #[test]
    fn arguments_are_strings() {
        let read = get(r#"{"name":"p","arguments":{"a": "\u00e9"}}"#).unwrap();
        assert_eq!(read.arguments_or_empty().as_str(), r#"{"a": "\u00e9"}"#);
        assert_eq!(read.members().member("a").unwrap().to::<String>().unwrap(), "é");
        for none in [r#"{"name":"p"}"#, r#"{"name":"p","arguments":null}"#] {
            let read = get(none).unwrap();
            assert_eq!((read.arguments_or_empty(), read.members().len()), (RawJson::EMPTY_OBJECT, 0));
        }
        for bad in ["{}", r#"{"name":1}"#, r#"{"name":"p","arguments":[]}"#, r#"{"name":"p","arguments":{"a":1}}"#] {
            assert!(get(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn messages_carry_any_content() {
        let message = PromptMessage::new(Role::User, ContentBlock::text("hi").to_raw());
        assert_eq!(
            serde_json::to_string(&GetPromptResult::of([&message])).unwrap(),
            r#"{"messages":[{"role":"user","content":{"type":"text","text":"hi"}}]}"#
        );
        assert_eq!(Role::parse("assistant"), Some(Role::Assistant));
        assert_eq!(Role::parse("system"), None);
    }
}
