//! Results in the shape that a revision wants: the one place where revisions differ on the way out.

use protomcp_types::{
    Body, CallToolResult, CompleteResult, CreateTaskResult, GetPromptResult, ProtocolVersion, RawJson,
    ReadResourceResult, ServerCapabilities,
};

use crate::info::ServerInfo;
use crate::request::ServerResult;

/// The `result` of a response. All stateful revisions share one shape: what a revision does not know, its hosts ignore.
pub(super) fn result(result: ServerResult, version: ProtocolVersion) -> Body {
    debug_assert!(version.is_stateful(), "no session speaks the stateless revision yet");
    match result {
        ServerResult::CallTool(result) => call_tool(&result),
        ServerResult::ListTools(page) => list("tools", &page.tools, page.next_cursor, page.meta),
        ServerResult::ListResources(page) => list("resources", &page.resources, page.next_cursor, page.meta),
        ServerResult::ListResourceTemplates(page) => {
            list("resourceTemplates", &page.resource_templates, page.next_cursor, page.meta)
        }
        ServerResult::ListPrompts(page) => list("prompts", &page.prompts, page.next_cursor, page.meta),
        ServerResult::ReadResource(result) => read_resource(&result),
        ServerResult::GetPrompt(result) => get_prompt(&result),
        ServerResult::Complete(result) => complete(&result),
        ServerResult::CreateTask(result) => create_task(&result),
        ServerResult::Task(task) => task.to_raw().into(),
        ServerResult::ListTasks(page) => list("tasks", &page.tasks, page.next_cursor, page.meta),
        ServerResult::Empty => Body::empty_object(),
        ServerResult::Body(body) => body,
    }
}

fn call_tool(result: &CallToolResult) -> Body {
    let object = Body::object()
        .raw("content", &result.content)
        .raw_if("structuredContent", result.structured_content.as_ref())
        .raw_if("_meta", result.meta.as_ref());
    if result.is_error { object.boolean("isError", true).finish() } else { object.finish() }
}

#[expect(clippy::needless_pass_by_value, reason = "the page is taken apart")]
fn list(name: &str, elements: &RawJson, next_cursor: Option<String>, meta: Option<RawJson>) -> Body {
    Body::object()
        .raw(name, elements)
        .text_if("nextCursor", next_cursor.as_deref())
        .raw_if("_meta", meta.as_ref())
        .finish()
}

fn read_resource(result: &ReadResourceResult) -> Body {
    Body::object().list("contents", &result.contents).raw_if("_meta", result.meta.as_ref()).finish()
}

fn get_prompt(result: &GetPromptResult) -> Body {
    Body::object()
        .text_if("description", result.description.as_deref())
        .raw("messages", &result.messages)
        .raw_if("_meta", result.meta.as_ref())
        .finish()
}

fn complete(result: &CompleteResult) -> Body {
    Body::object().value("completion", &result.completion).raw_if("_meta", result.meta.as_ref()).finish()
}

fn create_task(result: &CreateTaskResult) -> Body {
    Body::object().raw("task", &result.task.to_raw()).raw_if("_meta", result.meta.as_ref()).finish()
}

/// The answer to `initialize` (MCP 2025-11-25, basic/lifecycle).
pub(super) fn initialize(info: &ServerInfo, offered: &ServerCapabilities, version: ProtocolVersion) -> Body {
    Body::object()
        .text("protocolVersion", version.as_str())
        .value("capabilities", offered)
        .value("serverInfo", &info.implementation)
        .text_if("instructions", info.instructions.as_deref())
        .finish()
}
