//! Resources, prompts, completion, what the tool process asks of the host, and the extension.

use bytes::Bytes;
use protomcp_envelope::{
    BridgeInfo, CompletionRequest, CompletionResponse, ElicitationComplete, ElicitationRequest, ElicitationResponse,
    Envelope, GetPromptRequest, GetPromptResponse, HandOverRequest, HandOverResponse, ListPromptsRequest,
    ListResourceTemplatesRequest, ListResourcesRequest, ListRootsRequest, ListRootsResponse, Msg, Ping, Pong,
    Principal, PromptArgument, PromptDefinition, PromptListChanged, PromptListResponse, PromptMessage,
    ReadResourceRequest, ReadResourceResponse, RequestContext, ResourceChangedNotification, ResourceContent,
    ResourceDefinition, ResourceListChanged, ResourceListResponse, ResourceTemplateDefinition,
    ResourceTemplateListResponse, RootDef, SamplingRequest, SamplingResponse, SdkInfo, TakeOverRequest,
    TakeOverResponse, ToolError,
};

use super::{blob, json, text, texts};

/// With every field set, or, when not `new`, every field of the original protocol.
#[expect(clippy::too_many_lines, reason = "one table")]
pub(super) fn messages(new: bool) -> Vec<Msg> {
    vec![
        ListResourcesRequest {}.into(),
        ResourceListResponse {
            resources: vec![
                ResourceDefinition {
                    uri: text("ResourceDefinition.uri"),
                    name: text("ResourceDefinition.name"),
                    description: text("ResourceDefinition.description"),
                    mime_type: text("ResourceDefinition.mime_type"),
                    size: -(1 << 62) - 5,
                    title: if new { text("ResourceDefinition.title") } else { String::new() },
                    icons_json: if new { json("ResourceDefinition.icons_json") } else { Bytes::new() },
                    annotations_json: if new { json("ResourceDefinition.annotations_json") } else { Bytes::new() },
                    metadata_json: if new { json("ResourceDefinition.metadata_json") } else { Bytes::new() },
                },
                ResourceDefinition::default(),
            ],
        }
        .into(),
        ListResourceTemplatesRequest {}.into(),
        ResourceTemplateListResponse {
            templates: vec![
                ResourceTemplateDefinition {
                    uri_template: text("ResourceTemplateDefinition.uri_template"),
                    name: text("ResourceTemplateDefinition.name"),
                    description: text("ResourceTemplateDefinition.description"),
                    mime_type: text("ResourceTemplateDefinition.mime_type"),
                    title: if new { text("ResourceTemplateDefinition.title") } else { String::new() },
                    icons_json: if new { json("ResourceTemplateDefinition.icons_json") } else { Bytes::new() },
                    annotations_json: if new {
                        json("ResourceTemplateDefinition.annotations_json")
                    } else {
                        Bytes::new()
                    },
                    metadata_json: if new { json("ResourceTemplateDefinition.metadata_json") } else { Bytes::new() },
                },
                ResourceTemplateDefinition::default(),
            ],
        }
        .into(),
        ReadResourceRequest {
            uri: text("ReadResourceRequest.uri"),
            metadata_json: if new { json("ReadResourceRequest.metadata_json") } else { Bytes::new() },
        }
        .into(),
        ReadResourceResponse {
            contents: vec![
                ResourceContent {
                    uri: text("ResourceContent.uri"),
                    mime_type: text("ResourceContent.mime_type"),
                    text: text("ResourceContent.text"),
                    blob: blob("ResourceContent.blob"),
                    metadata_json: if new { json("ResourceContent.metadata_json") } else { Bytes::new() },
                },
                ResourceContent::default(),
            ],
            error: Some(ToolError {
                error_code: text("ToolError.error_code"),
                message: text("ToolError.message"),
                suggestion: text("ToolError.suggestion"),
                retryable: true,
            })
            .filter(|_| new),
            metadata_json: if new { json("ReadResourceResponse.metadata_json") } else { Bytes::new() },
        }
        .into(),
        ResourceChangedNotification { uri: text("ResourceChangedNotification.uri") }.into(),
        ListPromptsRequest {}.into(),
        PromptListResponse {
            prompts: vec![
                PromptDefinition {
                    name: text("PromptDefinition.name"),
                    description: text("PromptDefinition.description"),
                    arguments: vec![
                        PromptArgument {
                            name: text("PromptArgument.name"),
                            description: text("PromptArgument.description"),
                            required: true,
                            title: if new { text("PromptArgument.title") } else { String::new() },
                        },
                        PromptArgument::default(),
                    ],
                    title: if new { text("PromptDefinition.title") } else { String::new() },
                    icons_json: if new { json("PromptDefinition.icons_json") } else { Bytes::new() },
                    metadata_json: if new { json("PromptDefinition.metadata_json") } else { Bytes::new() },
                },
                PromptDefinition::default(),
            ],
        }
        .into(),
        GetPromptRequest {
            name: text("GetPromptRequest.name"),
            arguments_json: json("GetPromptRequest.arguments_json"),
            metadata_json: if new { json("GetPromptRequest.metadata_json") } else { Bytes::new() },
        }
        .into(),
        GetPromptResponse {
            description: text("GetPromptResponse.description"),
            messages: vec![
                PromptMessage { role: text("PromptMessage.role"), content_json: json("PromptMessage.content_json") },
                PromptMessage::default(),
            ],
            error: Some(ToolError {
                error_code: text("ToolError.error_code"),
                message: text("ToolError.message"),
                suggestion: text("ToolError.suggestion"),
                retryable: true,
            })
            .filter(|_| new),
            metadata_json: if new { json("GetPromptResponse.metadata_json") } else { Bytes::new() },
        }
        .into(),
        CompletionRequest {
            ref_type: text("CompletionRequest.ref_type"),
            ref_name: text("CompletionRequest.ref_name"),
            argument_name: text("CompletionRequest.argument_name"),
            argument_value: text("CompletionRequest.argument_value"),
            context_json: if new { json("CompletionRequest.context_json") } else { Bytes::new() },
            metadata_json: if new { json("CompletionRequest.metadata_json") } else { Bytes::new() },
        }
        .into(),
        CompletionResponse {
            values: texts("CompletionResponse.values"),
            total: -(1 << 30) - 2,
            has_more: true,
            error: Some(ToolError {
                error_code: text("ToolError.error_code"),
                message: text("ToolError.message"),
                suggestion: text("ToolError.suggestion"),
                retryable: true,
            })
            .filter(|_| new),
            metadata_json: if new { json("CompletionResponse.metadata_json") } else { Bytes::new() },
        }
        .into(),
        SamplingRequest {
            messages_json: json("SamplingRequest.messages_json"),
            model_preferences_json: json("SamplingRequest.model_preferences_json"),
            system_prompt: text("SamplingRequest.system_prompt"),
            max_tokens: -(1 << 30) - 4,
            params_json: if new { json("SamplingRequest.params_json") } else { Bytes::new() },
        }
        .into(),
        SamplingResponse {
            role: text("SamplingResponse.role"),
            content_json: json("SamplingResponse.content_json"),
            model: text("SamplingResponse.model"),
            stop_reason: text("SamplingResponse.stop_reason"),
            error: text("SamplingResponse.error"),
        }
        .into(),
        ListRootsRequest {}.into(),
        ListRootsResponse {
            roots: vec![RootDef { uri: text("RootDef.uri"), name: text("RootDef.name") }, RootDef::default()],
            error: Some(ToolError {
                error_code: text("ToolError.error_code"),
                message: text("ToolError.message"),
                suggestion: text("ToolError.suggestion"),
                retryable: true,
            })
            .filter(|_| new),
        }
        .into(),
        SdkInfo {
            name: text("SdkInfo.name"),
            version: text("SdkInfo.version"),
            language: text("SdkInfo.language"),
            max_concurrent_calls: (1 << 31) + 4,
            features: texts("SdkInfo.features"),
            skill_folders: texts("SdkInfo.skill_folders"),
        }
        .into(),
        BridgeInfo {
            name: text("BridgeInfo.name"),
            version: text("BridgeInfo.version"),
            features: texts("BridgeInfo.features"),
        }
        .into(),
        ElicitationRequest {
            mode: text("ElicitationRequest.mode"),
            message: text("ElicitationRequest.message"),
            requested_schema_json: json("ElicitationRequest.requested_schema_json"),
            url: text("ElicitationRequest.url"),
            elicitation_id: text("ElicitationRequest.elicitation_id"),
        }
        .into(),
        ElicitationResponse {
            action: text("ElicitationResponse.action"),
            content_json: json("ElicitationResponse.content_json"),
            error: text("ElicitationResponse.error"),
        }
        .into(),
        PromptListChanged {}.into(),
        ResourceListChanged {}.into(),
        ElicitationComplete { elicitation_id: text("ElicitationComplete.elicitation_id") }.into(),
        Ping {}.into(),
        Pong {}.into(),
        HandOverRequest {}.into(),
        HandOverResponse { state: blob("HandOverResponse.state"), error: text("HandOverResponse.error") }.into(),
        TakeOverRequest { state: blob("TakeOverRequest.state") }.into(),
        TakeOverResponse { error: text("TakeOverResponse.error") }.into(),
    ]
}

/// The fields next to the message that the published SDK does not have.
pub(super) fn surroundings() -> Envelope {
    let principal = Principal {
        subject: text("Principal.subject"),
        client_id: text("Principal.client_id"),
        issuer: text("Principal.issuer"),
        scopes: texts("Principal.scopes"),
    };
    let context = RequestContext {
        timeout_ms: (1 << 63) + 1,
        session: text("RequestContext.session"),
        protocol_version: text("RequestContext.protocol_version"),
        client_name: text("RequestContext.client_name"),
        client_version: text("RequestContext.client_version"),
        client_capabilities_json: json("RequestContext.client_capabilities_json"),
        principal: Some(principal),
    };
    Envelope {
        for_call: text("Envelope.for_call"),
        question_key: text("Envelope.question_key"),
        more_questions: true,
        context: Some(Box::new(context)),
        ..Envelope::default()
    }
}
