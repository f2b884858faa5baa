//! The capabilities of clients and servers. Unknown capabilities are never an error.

use serde::{Deserialize, Serialize};

use crate::absent::null_as_default;
use crate::empty::Empty;
use crate::json_object::JsonObject;
use crate::raw::{Kind, RawJson};

/// The name of the task extension among the capabilities of both sides (MCP 2026-07-28).
pub const TASKS_EXTENSION: &str = "io.modelcontextprotocol/tasks";

/// The name of the extension for skills among the capabilities of a server (SEP-2640).
pub const SKILLS_EXTENSION: &str = "io.modelcontextprotocol/skills";

/// `{"io.modelcontextprotocol/tasks":{}}`
pub(crate) fn tasks_extension() -> RawJson {
    RawJson::trusted(r#"{"io.modelcontextprotocol/tasks":{}}"#)
}

/// The `capabilities` of a client, as sent.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ClientCapabilities(JsonObject);

impl ClientCapabilities {
    /// No capabilities.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a capability; its value is an object.
    #[must_use]
    pub fn with(self, name: impl Into<std::borrow::Cow<'static, str>>, value: RawJson) -> Self {
        Self(self.0.with(name, value))
    }

    /// The value of a capability.
    #[must_use]
    pub fn capability(&self, name: &str) -> Option<&RawJson> {
        self.0.member(name).filter(|value| value.kind() == Kind::Object)
    }

    /// The names of all capabilities.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| name)
    }

    /// The union with `other`, whose values win.
    #[must_use]
    pub fn and(mut self, other: &Self) -> Self {
        for (name, value) in other.0.iter() {
            self.0.insert(name.to_owned(), value.clone());
        }
        self
    }

    /// True if there is no capability.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// True if the client supports an extension; since 2026-07-28.
    #[must_use]
    pub fn has_extension(&self, name: &str) -> bool {
        let extensions = self.capability("extensions").and_then(|extensions| JsonObject::from_raw(extensions).ok());
        extensions.is_some_and(|extensions| extensions.member(name).is_some_and(|value| value.kind() == Kind::Object))
    }

    /// True if the client answers `roots/list`.
    #[must_use]
    pub fn has_roots(&self) -> bool {
        self.capability("roots").is_some()
    }

    /// True if the client answers `sampling/createMessage`.
    #[must_use]
    pub fn has_sampling(&self) -> bool {
        self.capability("sampling").is_some()
    }

    /// True if sampling accepts tools.
    #[must_use]
    pub fn has_sampling_with_tools(&self) -> bool {
        let modes = self.capability("sampling").and_then(|modes| JsonObject::from_raw(modes).ok());
        modes.is_some_and(|modes| has(&modes, "tools"))
    }

    /// True if the client shows forms. An `elicitation` without modes means forms (MCP 2025-11-25, client/elicitation).
    #[must_use]
    pub fn has_form_elicitation(&self) -> bool {
        self.elicitation_modes().is_some_and(|modes| has(&modes, "form") || modes.iter().all(|(_, mode)| is_null(mode)))
    }

    /// True if the client opens URLs.
    #[must_use]
    pub fn has_url_elicitation(&self) -> bool {
        self.elicitation_modes().is_some_and(|modes| has(&modes, "url"))
    }

    fn elicitation_modes(&self) -> Option<JsonObject> {
        self.capability("elicitation").and_then(|value| JsonObject::from_raw(value).ok())
    }
}

/// The `capabilities` of a server.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ServerCapabilities {
    /// Log messages and `logging/setLevel`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub logging: Option<RawJson>,
    /// Completion of arguments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completions: Option<RawJson>,
    /// Prompts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompts: Option<ListCapability>,
    /// Resources.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resources: Option<ListCapability>,
    /// Tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<ListCapability>,
    /// Calls as tasks; 2025-11-25 only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tasks: Option<TasksCapability>,
    /// Other capabilities, by name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub experimental: Option<RawJson>,
    /// Extensions of the protocol, by name; since 2026-07-28.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extensions: Option<RawJson>,
}

/// The capabilities for one list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ListCapability {
    /// The server notifies when the list changes.
    #[serde(default, deserialize_with = "null_as_default", skip_serializing_if = "is_false")]
    pub list_changed: bool,
    /// The server notifies when an element changes (resources only).
    #[serde(default, deserialize_with = "null_as_default", skip_serializing_if = "is_false")]
    pub subscribe: bool,
}

/// The capabilities for tasks (MCP 2025-11-25, basic/utilities/tasks, capabilities).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TasksCapability {
    /// Listing tasks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub list: Option<Empty>,
    /// Cancelling tasks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cancel: Option<Empty>,
    /// The requests that can become tasks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests: Option<TaskRequests>,
}

/// The requests that can become tasks, by kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TaskRequests {
    /// Requests about tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<TaskTools>,
}

/// The requests about tools that can become tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TaskTools {
    /// `tools/call`
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<Empty>,
}

impl TasksCapability {
    /// All of them.
    pub const ALL: Self = Self {
        list: Some(Empty {}),
        cancel: Some(Empty {}),
        requests: Some(TaskRequests { tools: Some(TaskTools { call: Some(Empty {}) }) }),
    };

    /// True if `tools/call` can become a task.
    #[must_use]
    pub fn has_tool_calls(&self) -> bool {
        self.requests.and_then(|requests| requests.tools).is_some_and(|tools| tools.call.is_some())
    }
}

impl ServerCapabilities {
    /// Adds tasks without a session (2026-07-28, extension [`TASKS_EXTENSION`]).
    #[must_use]
    pub fn with_task_extension(self) -> Self {
        self.with_extension(TASKS_EXTENSION, RawJson::EMPTY_OBJECT)
    }

    /// Adds an extension with its settings, an object. Sessions of revisions before 2026-07-28 do not see it.
    #[must_use]
    pub fn with_extension(mut self, name: &'static str, settings: RawJson) -> Self {
        let known = self.extensions.as_ref().and_then(|extensions| JsonObject::from_raw(extensions).ok());
        self.extensions = Some(known.unwrap_or_default().with(name, settings).to_body().into_raw());
        self
    }

    /// True if the server supports an extension.
    #[must_use]
    pub fn has_extension(&self, name: &str) -> bool {
        self.extension(name).is_some()
    }

    /// The settings of an extension, if the server supports it.
    #[must_use]
    pub fn extension(&self, name: &str) -> Option<RawJson> {
        let mut extensions = JsonObject::from_raw(self.extensions.as_ref()?).ok()?;
        extensions.take(name).filter(|settings| !is_null(settings))
    }

    /// Adds tool calls as tasks, with listing and cancelling.
    #[must_use]
    pub fn with_tasks(mut self) -> Self {
        self.tasks = Some(TasksCapability::ALL);
        self
    }

    /// Adds tools, with change notifications.
    #[must_use]
    pub fn with_tools(mut self) -> Self {
        self.tools = Some(ListCapability { list_changed: true, subscribe: false });
        self
    }

    /// Adds resources, with change notifications for the list and for each resource.
    #[must_use]
    pub fn with_resources(mut self) -> Self {
        self.resources = Some(ListCapability { list_changed: true, subscribe: true });
        self
    }

    /// Adds prompts, with change notifications.
    #[must_use]
    pub fn with_prompts(mut self) -> Self {
        self.prompts = Some(ListCapability { list_changed: true, subscribe: false });
        self
    }

    /// Adds completion of arguments.
    #[must_use]
    pub fn with_completions(mut self) -> Self {
        self.completions = Some(RawJson::EMPTY_OBJECT);
        self
    }

    /// Adds log messages.
    #[must_use]
    pub fn with_logging(mut self) -> Self {
        self.logging = Some(RawJson::EMPTY_OBJECT);
        self
    }
}

/// True if there is a member that is not null.
fn has(members: &JsonObject, name: &str) -> bool {
    members.member(name).is_some_and(|value| !is_null(value))
}

fn is_null(value: &RawJson) -> bool {
    value.kind() == Kind::Null
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde asks for")]
fn is_false(value: &bool) -> bool {
    !value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_and_unknown_capabilities_are_kept() {
        for (text, roots, sampling, form, url) in [
            ("{}", false, false, false, false),
            (r#"{"roots":{"listChanged":true},"later":[1]}"#, true, false, false, false),
            (r#"{"sampling":{},"elicitation":{}}"#, false, true, true, false),
            (r#"{"elicitation":{"url":{}}}"#, false, false, false, true),
            (r#"{"elicitation":{"form":{},"url":{}},"sampling":null}"#, false, false, true, true),
            (r#"{"elicitation":{"form":null,"url":{}}}"#, false, false, false, true),
            (r#"{"elicitation":{"form":{},"url":null}}"#, false, false, true, false),
            (r#"{"elicitation":{"form":null,"url":null}}"#, false, false, true, false),
        ] {
            let can: ClientCapabilities = serde_json::from_str(text).unwrap();
            let seen = (can.has_roots(), can.has_sampling(), can.has_form_elicitation(), can.has_url_elicitation());
            assert_eq!(seen, (roots, sampling, form, url), "{text}");
            assert_eq!(serde_json::to_string(&can).unwrap(), text);
        }
        assert!(serde_json::from_str::<ClientCapabilities>("[]").is_err());
    }

    #[test]
    fn extensions_add_up() {
        let twice = ServerCapabilities::default().with_task_extension().with_task_extension();
        assert_eq!(twice.extensions.unwrap().as_str(), r#"{"io.modelcontextprotocol/tasks":{}}"#);
        let settings = RawJson::parse(r#"{"b":true}"#).unwrap();
        let both = ServerCapabilities::default().with_task_extension().with_extension("a/b", settings);
        assert!(both.has_extension("a/b") && both.has_extension(TASKS_EXTENSION) && !both.has_extension("a"));
        assert_eq!(both.extension("a/b").unwrap().as_str(), r#"{"b":true}"#);
        let text = r#"{"io.modelcontextprotocol/tasks":{},"a/b":{"b":true}}"#;
        assert_eq!(both.extensions.unwrap().as_str(), text);
    }

    #[test]
    fn a_server_says_only_what_it_can() {
        assert_eq!(serde_json::to_string(&ServerCapabilities::default()).unwrap(), "{}");
        assert_eq!(
            serde_json::to_string(&ServerCapabilities::default().with_tools().with_logging()).unwrap(),
            r#"{"logging":{},"tools":{"listChanged":true}}"#
        );
        let all = ServerCapabilities::default().with_prompts().with_resources().with_completions().with_tasks();
        assert_eq!(
            serde_json::to_string(&all).unwrap(),
            r#"{"completions":{},"prompts":{"listChanged":true},"resources":{"listChanged":true,"subscribe":true},"tasks":{"list":{},"cancel":{},"requests":{"tools":{"call":{}}}}}"#
        );
    }
}
