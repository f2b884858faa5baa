//! Calls, tool lists and tasks.

use bytes::Bytes;
use protomcp_envelope::{
    ActiveToolsResponse, BatchUpdateRequest, CallToolRequest, CallToolResponse, CancelRequest, CreateTaskResponse,
    DisableToolsRequest, EnableToolsRequest, GetActiveToolsRequest, ListToolsRequest, LogMessage,
    MiddlewareInterceptRequest, MiddlewareInterceptResponse, Msg, ProgressNotification, RegisterMiddlewareRequest,
    RegisterMiddlewareResponse, ReloadRequest, ReloadResponse, SetAllowedRequest, SetBlockedRequest, StreamChunk,
    StreamHeader, TaskCancelRequest, TaskResultRequest, TaskStatusRequest, TaskStatusResponse, ToolDefinition,
    ToolError, ToolListResponse,
};

use super::{blob, json, text, texts};

/// With every field set, or, when not `new`, every field of the original protocol.
#[expect(clippy::too_many_lines, reason = "one table")]
pub(super) fn messages(new: bool) -> Vec<Msg> {
    vec![
        ReloadRequest {}.into(),
        ListToolsRequest {}.into(),
        CallToolRequest {
            name: text("CallToolRequest.name"),
            arguments_json: json("CallToolRequest.arguments_json"),
            progress_token: text("CallToolRequest.progress_token"),
            metadata_json: if new { json("CallToolRequest.metadata_json") } else { Bytes::new() },
            arguments_match: new,
        }
        .into(),
        ReloadResponse { success: true, error: text("ReloadResponse.error") }.into(),
        ToolListResponse {
            tools: vec![
                ToolDefinition {
                    name: text("ToolDefinition.name"),
                    description: text("ToolDefinition.description"),
                    input_schema_json: json("ToolDefinition.input_schema_json"),
                    output_schema_json: json("ToolDefinition.output_schema_json"),
                    title: text("ToolDefinition.title"),
                    read_only_hint: true,
                    destructive_hint: true,
                    idempotent_hint: true,
                    open_world_hint: true,
                    task_support: true,
                    annotations_json: if new { json("ToolDefinition.annotations_json") } else { Bytes::new() },
                    icons_json: if new { json("ToolDefinition.icons_json") } else { Bytes::new() },
                    task_required: new,
                    metadata_json: if new { json("ToolDefinition.metadata_json") } else { Bytes::new() },
                    checks_arguments: new,
                },
                ToolDefinition::default(),
            ],
        }
        .into(),
        CallToolResponse {
            is_error: true,
            result_json: json("CallToolResponse.result_json"),
            enable_tools: texts("CallToolResponse.enable_tools"),
            disable_tools: texts("CallToolResponse.disable_tools"),
            error: Some(ToolError {
                error_code: text("ToolError.error_code"),
                message: text("ToolError.message"),
                suggestion: text("ToolError.suggestion"),
                retryable: true,
            }),
            structured_content_json: json("CallToolResponse.structured_content_json"),
            metadata_json: if new { json("CallToolResponse.metadata_json") } else { Bytes::new() },
        }
        .into(),
        EnableToolsRequest { tool_names: texts("EnableToolsRequest.tool_names") }.into(),
        DisableToolsRequest { tool_names: texts("DisableToolsRequest.tool_names") }.into(),
        SetAllowedRequest { tool_names: texts("SetAllowedRequest.tool_names") }.into(),
        SetBlockedRequest { tool_names: texts("SetBlockedRequest.tool_names") }.into(),
        GetActiveToolsRequest {}.into(),
        BatchUpdateRequest {
            enable: texts("BatchUpdateRequest.enable"),
            disable: texts("BatchUpdateRequest.disable"),
            allow: texts("BatchUpdateRequest.allow"),
            block: texts("BatchUpdateRequest.block"),
        }
        .into(),
        ActiveToolsResponse { tool_names: texts("ActiveToolsResponse.tool_names") }.into(),
        ProgressNotification {
            progress_token: text("ProgressNotification.progress_token"),
            progress: -(1 << 62) - 2,
            total: -(1 << 62) - 3,
            message: text("ProgressNotification.message"),
        }
        .into(),
        CancelRequest { request_id: text("CancelRequest.request_id") }.into(),
        LogMessage {
            level: text("LogMessage.level"),
            logger: text("LogMessage.logger"),
            data_json: json("LogMessage.data_json"),
        }
        .into(),
        CreateTaskResponse { task_id: text("CreateTaskResponse.task_id") }.into(),
        TaskStatusRequest { task_id: text("TaskStatusRequest.task_id") }.into(),
        TaskStatusResponse {
            task_id: text("TaskStatusResponse.task_id"),
            state: text("TaskStatusResponse.state"),
            progress: -(1 << 62) - 3,
            total: -(1 << 62) - 4,
            message: text("TaskStatusResponse.message"),
        }
        .into(),
        TaskResultRequest { task_id: text("TaskResultRequest.task_id") }.into(),
        TaskCancelRequest { task_id: text("TaskCancelRequest.task_id") }.into(),
        RegisterMiddlewareRequest { name: text("RegisterMiddlewareRequest.name"), priority: -(1 << 30) - 2 }.into(),
        RegisterMiddlewareResponse { success: true }.into(),
        MiddlewareInterceptRequest {
            middleware_name: text("MiddlewareInterceptRequest.middleware_name"),
            phase: text("MiddlewareInterceptRequest.phase"),
            tool_name: text("MiddlewareInterceptRequest.tool_name"),
            arguments_json: json("MiddlewareInterceptRequest.arguments_json"),
            result_json: json("MiddlewareInterceptRequest.result_json"),
            is_error: true,
        }
        .into(),
        MiddlewareInterceptResponse {
            arguments_json: json("MiddlewareInterceptResponse.arguments_json"),
            result_json: json("MiddlewareInterceptResponse.result_json"),
            reject: true,
            reject_reason: text("MiddlewareInterceptResponse.reject_reason"),
        }
        .into(),
        StreamHeader {
            field_name: text("StreamHeader.field_name"),
            total_size: (1 << 63) + 2,
            chunk_size: (1 << 31) + 3,
        }
        .into(),
        StreamChunk { data: blob("StreamChunk.data"), r#final: true }.into(),
    ]
}
