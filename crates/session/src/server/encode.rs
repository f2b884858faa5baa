//! Encodes results for a revision: the one place where revisions differ on the way out.
//!
//! All stateful revisions share one shape, because clients ignore members that their revision does not have. Structured
//! content that is not an object is left out of it: clients refuse the whole result. The stateless revision adds the kind of the result, the identity of the server, and the time for which the answer may be
//! cached.

use std::time::Duration;

use protomcp_types::{
    CacheHint, CallToolResult, CompleteResult, CreateTaskResult, ErrorObject, GetPromptResult, Implementation, JsonBuf,
    JsonObject, Kind, ObjectWriter, ProtocolVersion, RawJson, ReadResourceResult, SHARE_FROM, ServerCapabilities, code,
    meta, timestamp,
};

use crate::info::{CacheHints, ServerInfo};
use crate::input::InputRequired;
use crate::request::ServerResult;
use crate::task_view::{TaskAnswer, TaskDetail, TaskView};

/// The bytes of the names in a result, and of its short members.
const FRAME: usize = 128;

/// The identity of a server as JSON, written once.
#[derive(Debug)]
pub(super) struct ServerIdentity {
    /// Its name and version.
    pub(super) info: RawJson,
    /// A `_meta` with nothing else in it.
    meta: RawJson,
}

impl ServerIdentity {
    pub(super) fn of(implementation: &Implementation) -> Self {
        let info = RawJson::of(implementation).expect("an implementation has string keys only");
        Self { meta: meta::with_member(None, meta::SERVER_INFO, &info), info }
    }

    /// This `_meta` with the identity.
    fn in_meta(&self, meta: Option<&RawJson>) -> RawJson {
        match meta {
            None => self.meta.clone(),
            Some(_) => meta::with_member(meta, meta::SERVER_INFO, &self.info),
        }
    }
}

/// The shape in which results and errors are written.
#[derive(Debug, Clone, Copy)]
pub(super) enum Shape<'a> {
    /// Of the revisions with a handshake.
    Stateful,
    /// Of the one without (MCP 2026-07-28, basic, results).
    Stateless {
        /// The identity of the server.
        server: &'a ServerIdentity,
        /// `None`: the answer depends on earlier answers of the client, and must not be cached.
        cache: Option<&'a CacheHints>,
    },
}

/// The `result` of a response.
pub(super) fn result(result: ServerResult, shape: Shape<'_>) -> JsonBuf {
    let hint = |hint: fn(&CacheHints) -> CacheHint| match shape {
        Shape::Stateful => None,
        Shape::Stateless { cache, .. } => Some(cache.map_or(CacheHint::NONE, hint)),
    };
    match result {
        ServerResult::CallTool(result) => shape.call_tool(&result),
        ServerResult::ListTools(page) => {
            shape.list("tools", &page.tools, page.next_cursor, page.meta, hint(|cache| cache.tools))
        }
        ServerResult::ListResources(page) => {
            shape.list("resources", &page.resources, page.next_cursor, page.meta, hint(|cache| cache.resources))
        }
        ServerResult::ListResourceTemplates(page) => {
            let hint = hint(|cache| cache.resource_templates);
            shape.list("resourceTemplates", &page.resource_templates, page.next_cursor, page.meta, hint)
        }
        ServerResult::ListPrompts(page) => {
            shape.list("prompts", &page.prompts, page.next_cursor, page.meta, hint(|cache| cache.prompts))
        }
        ServerResult::ReadResource(result) => shape.read_resource(&result, hint(|cache| cache.reads)),
        ServerResult::GetPrompt(result) => shape.get_prompt(&result),
        ServerResult::Complete(result) => shape.complete(&result),
        ServerResult::CreateTask(result) => shape.create_task(&result),
        ServerResult::Task(task) => shape.body(task.to_raw().into()),
        ServerResult::ListTasks(page) => shape.list("tasks", &page.tasks, page.next_cursor, page.meta, None),
        ServerResult::InputRequired(required) => shape.input_required(&required),
        ServerResult::Empty => shape.body(JsonBuf::empty_object()),
        ServerResult::Body(body) => shape.body(body),
    }
}

/// A result as the revisions with a handshake write it.
pub(crate) fn plain(other: ServerResult) -> JsonBuf {
    result(other, Shape::Stateful)
}

/// The `error` of a response.
pub(super) fn error(mut error: ErrorObject, shape: Shape<'_>) -> ErrorObject {
    // MCP 2026-07-28, server/resources: the code for an unknown resource no longer exists.
    if matches!(shape, Shape::Stateless { .. }) && error.code == code::RESOURCE_NOT_FOUND {
        error.code = code::INVALID_PARAMS;
    }
    error
}

impl Shape<'_> {
    fn begin(self) -> ObjectWriter {
        self.begin_for(0)
    }

    /// Starts a result that copies about this many bytes, besides names and the identity of the server.
    fn begin_for(self, bytes: usize) -> ObjectWriter {
        match self {
            Self::Stateful => JsonBuf::object_with_capacity(FRAME + bytes),
            Self::Stateless { server, .. } => {
                let object = JsonBuf::object_with_capacity(FRAME + bytes + server.meta.len());
                object.text("resultType", "complete")
            }
        }
    }

    fn meta(self, object: ObjectWriter, meta: Option<&RawJson>) -> ObjectWriter {
        match self {
            Self::Stateful => object.raw_if("_meta", meta),
            Self::Stateless { server, .. } => object.raw("_meta", &server.in_meta(meta)),
        }
    }

    fn call_tool(self, result: &CallToolResult) -> JsonBuf {
        let structured = result.structured_content.as_ref().filter(|value| self.takes(value));
        let text = if structured.is_none() { self.text_in_place(result) } else { None };
        let content = text.as_ref().unwrap_or(&result.content);
        let copied = [Some(content), structured, result.meta.as_ref()];
        let copied = copied.into_iter().flatten().map(RawJson::len).filter(|bytes| *bytes < SHARE_FROM).sum();
        let object = self.begin_for(copied).raw("content", content).raw_if("structuredContent", structured);
        let object = self.meta(object, result.meta.as_ref());
        if result.is_error { object.boolean("isError", true).finish() } else { object.finish() }
    }

    /// True if a client takes this structured content. Until MCP 2026-07-28 it is an object (2025-11-25, server/tools).
    fn takes(self, structured: &RawJson) -> bool {
        matches!(self, Self::Stateless { .. }) || structured.kind() == Kind::Object
    }

    /// The content in place of a value that a client does not take, if there is no other.
    fn text_in_place(self, result: &CallToolResult) -> Option<RawJson> {
        let lost = result.structured_content.as_ref().filter(|value| !self.takes(value))?;
        let is_all = lost.kind() != Kind::Null && result.content.to::<Vec<RawJson>>().is_ok_and(|all| all.is_empty());
        is_all.then(|| CallToolResult::text(lost.as_str()).content)
    }

    #[expect(clippy::needless_pass_by_value, clippy::too_many_arguments, reason = "the page is taken apart")]
    fn list(
        self,
        name: &str,
        elements: &RawJson,
        next_cursor: Option<String>,
        meta: Option<RawJson>,
        hint: Option<CacheHint>,
    ) -> JsonBuf {
        let object = self.begin().raw(name, elements).text_if("nextCursor", next_cursor.as_deref());
        self.meta(cached(object, hint), meta.as_ref()).finish()
    }

    fn read_resource(self, result: &ReadResourceResult, hint: Option<CacheHint>) -> JsonBuf {
        let object = self.begin().list("contents", &result.contents);
        self.meta(cached(object, hint), result.meta.as_ref()).finish()
    }

    fn get_prompt(self, result: &GetPromptResult) -> JsonBuf {
        let object =
            self.begin().text_if("description", result.description.as_deref()).raw("messages", &result.messages);
        self.meta(object, result.meta.as_ref()).finish()
    }

    fn complete(self, result: &CompleteResult) -> JsonBuf {
        self.meta(self.begin().value("completion", &result.completion), result.meta.as_ref()).finish()
    }

    fn create_task(self, result: &CreateTaskResult) -> JsonBuf {
        self.meta(self.begin().raw("task", &result.task.to_raw()), result.meta.as_ref()).finish()
    }

    /// MCP 2026-07-28, basic/patterns/mrtr. Requests of other revisions are never answered with questions.
    fn input_required(self, required: &InputRequired) -> JsonBuf {
        let object = JsonBuf::object().text("resultType", "input_required");
        let object = if required.questions.is_empty() {
            object
        } else {
            object.body("inputRequests", &required.questions.to_body())
        };
        self.meta(object.text_if("requestState", required.state.as_deref()), None).finish()
    }

    /// An object made elsewhere: missing members are added, the others stay.
    fn body(self, body: JsonBuf) -> JsonBuf {
        let Self::Stateless { server, .. } = self else { return body };
        let raw = body.into_raw();
        let Ok(mut members) = JsonObject::from_raw(&raw) else { return raw.into() };
        if members.member("resultType").is_none() {
            members.insert("resultType", RawJson::text("complete"));
        }
        let meta = server.in_meta(members.member("_meta"));
        members.with("_meta", meta).to_body()
    }
}

/// A task as the answer to the call that began it, or to a request for it.
pub(super) fn task(task: &TaskView, answer: TaskAnswer, shape: Shape<'_>) -> JsonBuf {
    let object = match answer {
        TaskAnswer::Created => seed(JsonBuf::object().text("resultType", "task"), task),
        TaskAnswer::Queried => {
            detail(seed(JsonBuf::object().text("resultType", "complete"), task), &task.detail, shape)
        }
    };
    shape.meta(object, None).finish()
}

/// The parameters of the notification that a task has changed: the same as the answer to `tasks/get`.
pub(super) fn task_notice(task: &TaskView, server: &ServerIdentity) -> JsonObject {
    let shape = Shape::Stateless { server, cache: None };
    let body = detail(seed(JsonBuf::object(), task), &task.detail, shape).finish();
    JsonObject::from_raw(&body.into_raw()).expect("a task is an object")
}

/// The members of every task.
fn seed(object: ObjectWriter, task: &TaskView) -> ObjectWriter {
    let millis = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    object
        .text("taskId", &task.id)
        .value("status", &task.detail.status())
        .text_if("statusMessage", task.message.as_deref())
        .text("createdAt", &timestamp(task.created))
        .text("lastUpdatedAt", &timestamp(task.updated))
        .value("ttlMs", &millis(task.options.ttl))
        .value("pollIntervalMs", &millis(task.options.poll_interval))
}

/// The members that belong to its status.
fn detail(object: ObjectWriter, detail: &TaskDetail, shape: Shape<'_>) -> ObjectWriter {
    match detail {
        TaskDetail::Working | TaskDetail::Cancelled => object,
        TaskDetail::Asking(questions) => object.body("inputRequests", questions),
        TaskDetail::Completed(completed) => object.body("result", &result(completed.clone(), shape)),
        TaskDetail::Failed(failed) => object.value("error", &error(failed.clone(), shape)),
    }
}

fn cached(object: ObjectWriter, hint: Option<CacheHint>) -> ObjectWriter {
    match hint {
        Some(hint) => object.value("ttlMs", &hint.ttl_ms).text("cacheScope", hint.cache_scope.as_str()),
        None => object,
    }
}

/// The answer to `initialize` (MCP 2025-11-25, basic/lifecycle).
pub(super) fn initialize(info: &ServerInfo, offered: &ServerCapabilities, version: ProtocolVersion) -> JsonBuf {
    JsonBuf::object()
        .text("protocolVersion", version.as_str())
        .value("capabilities", offered)
        .value("serverInfo", &info.implementation)
        .text_if("instructions", info.instructions.as_deref())
        .finish()
}

/// The answer to `server/discover` (MCP 2026-07-28, server/discover).
pub(super) fn discover(info: &ServerInfo, offered: &ServerCapabilities, server: &ServerIdentity) -> JsonBuf {
    let shape = Shape::Stateless { server, cache: Some(&info.cache) };
    let versions: Vec<_> = ProtocolVersion::ALL.iter().rev().map(|version| version.as_str()).collect();
    let object = shape
        .begin()
        .value("supportedVersions", &versions)
        .value("capabilities", offered)
        .text_if("instructions", info.instructions.as_deref());
    shape.meta(cached(object, Some(info.cache.discover)), None).finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn structured_content_is_an_object_for_older_clients() {
        let identity = ServerIdentity::of(&Implementation::new("s", "1"));
        let text = |text: &str| format!(r#"{{"content":[{{"type":"text","text":"{text}"}}]"#);
        for (content, structured, stateful) in [
            ("[]", "[1,2]", format!("{}}}", text("[1,2]"))),
            ("[ ]", "5", format!("{}}}", text("5"))),
            ("[]", r#""a""#, format!("{}}}", text(r#"\"a\""#))),
            ("[1]", "[1,2]", r#"{"content":[1]}"#.to_owned()),
            ("[]", "null", r#"{"content":[]}"#.to_owned()),
            ("[]", r#"{"a":1}"#, r#"{"content":[],"structuredContent":{"a":1}}"#.to_owned()),
        ] {
            let raw = |text: &str| RawJson::parse(text.to_owned()).unwrap();
            let given = CallToolResult::new(raw(content)).with_structured(raw(structured));
            let write = |shape: Shape<'_>| result(ServerResult::CallTool(given.clone()), shape).into_raw();
            assert_eq!(write(Shape::Stateful).as_str(), stateful, "{content} {structured}");
            let stateless = write(Shape::Stateless { server: &identity, cache: None });
            let members = format!(r#""content":{content},"structuredContent":{structured}"#);
            assert!(stateless.as_str().contains(&members), "{}", stateless.as_str());
        }
    }
}
