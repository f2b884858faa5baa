//! The committed code is what the proto file says, and the proto file is what version 1.0 says.
//!
//! After an edit of the proto file run `UPDATE_GENERATED=1 cargo test -p protomcp-bufmcp --test binary generated`.

use std::{fmt::Write, fs, path::Path};

use prost::Message;
use prost_types::{
    DescriptorProto, FieldDescriptorProto, FileDescriptorSet,
    field_descriptor_proto::{Label, Type},
};
use protomcp_bufmcp::message::{
    ClientCapabilities, InitializeRequest, InitializeResponse, McpMessage, Payload, ServerCapabilities, Tool,
    ToolCapabilities, tool::SchemaSource,
};
use protomcp_testing::assert_committed;

const COMMITTED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/gen/buf.mcp.v1.rs");
const FILE: &str = "buf/mcp/v1/mcp.proto";

/// The messages of version 1.0: number, name and type of each field. `*` is a list, `{}` a map, `|` in a oneof.
const MESSAGES: &str = "
MCPMessage: 1 id uint64, 2 initialize_request|InitializeRequest, 3 initialize_response|InitializeResponse, \
4 list_tools_request|ListToolsRequest, 5 list_tools_response|ListToolsResponse, 6 call_tool_request|CallToolRequest, \
7 call_tool_response|CallToolResponse, 8 list_resources_request|ListResourcesRequest, \
9 list_resources_response|ListResourcesResponse, 10 read_resource_request|ReadResourceRequest, \
11 read_resource_response|ReadResourceResponse, 12 error_response|ErrorResponse
InitializeRequest: 1 protocol_version string, 2 capabilities ClientCapabilities, 3 metadata{string string}
ClientCapabilities: 1 supports_bsr_refs bool, 2 supports_streaming bool, 3 encodings*string, 4 experimental{string bool}
InitializeResponse: 1 protocol_version string, 2 capabilities ServerCapabilities, 3 metadata{string string}
ServerCapabilities: 1 supports_bsr_refs bool, 2 supports_streaming bool, 3 tools ToolCapabilities, \
4 resources ResourceCapabilities, 5 prompts PromptCapabilities
ToolCapabilities: 1 supports_list_changed bool
ResourceCapabilities: 1 supports_subscribe bool, 2 supports_list_changed bool
PromptCapabilities: 1 supports_list_changed bool
ListToolsRequest: 1 bsr_refs*string, 2 include_schemas bool, 3 cursor string
ListToolsResponse: 1 tools*Tool, 2 next_cursor string
Tool: 1 name string, 2 description string, 3 bsr_ref|string, 4 inline_schema|FileDescriptorSet, \
5 metadata{string string}
CallToolRequest: 1 name string, 2 arguments Any, 3 metadata{string string}
CallToolResponse: 1 success|ToolResult, 2 error|Error, 3 metadata{string string}
ToolResult: 1 content*ToolContent, 2 is_error bool
ToolContent: 1 text|string, 2 image|bytes, 3 data|Any, 4 mime_type string
ListResourcesRequest: 1 cursor string
ListResourcesResponse: 1 resources*Resource, 2 next_cursor string
Resource: 1 uri string, 2 name string, 3 description string, 4 mime_type string, 5 metadata{string string}
ReadResourceRequest: 1 uri string
ReadResourceResponse: 1 contents*ResourceContent
ResourceContent: 1 uri string, 2 mime_type string, 3 text|string, 4 blob|bytes
ErrorResponse: 1 code int32, 2 message string, 3 data Struct
Error: 1 code int32, 2 message string, 3 data{string string}
";

/// Messages that version 1.0 does not have.
const EXTENSIONS: [&str; 24] = [
    "ListChanged",
    "CallProgress",
    "CallLog",
    "CancelCall",
    "ListPromptsRequest",
    "ListPromptsResponse",
    "Prompt",
    "PromptArgument",
    "GetPromptRequest",
    "GetPromptResponse",
    "PromptMessage",
    "CompleteRequest",
    "CompleteResponse",
    "ListTemplatesRequest",
    "ListTemplatesResponse",
    "ResourceTemplate",
    "SubscribeRequest",
    "UnsubscribeRequest",
    "SubscribeResponse",
    "ResourceUpdated",
    "CallEvent",
    "ListenRequest",
    "Notice",
    "Listening",
];

#[test]
fn the_committed_code_is_generated_from_the_proto_file() {
    assert_committed(COMMITTED, generate(), "UPDATE_GENERATED");
}

#[test]
fn the_messages_match_version_1_0() {
    let file = &own_file(&descriptors()).clone();
    let mut described = String::from("\n");
    for message in file.message_type.iter().filter(|message| !EXTENSIONS.contains(&message.name())) {
        let fields = message.field.iter().filter(|field| field.number() < extensions_from(message));
        let fields: Vec<_> = fields.map(|field| describe(message, field)).collect();
        writeln!(described, "{}: {}", message.name(), fields.join(", ")).unwrap();
    }
    assert_eq!(described, MESSAGES);
    assert_eq!(described.trim().lines().count(), 23);
}

#[test]
fn the_service_has_the_five_calls_of_version_1_0() {
    let set = descriptors();
    let service = &own_file(&set).service[0];
    let calls: Vec<_> =
        service.method.iter().map(|call| (call.name(), call.input_type(), call.output_type())).collect();
    let expected = ["Initialize", "ListTools", "CallTool", "ListResources", "ReadResource"];
    assert_eq!(service.name(), "MCPService");
    assert_eq!(calls.len(), expected.len());
    for ((name, input, output), expected) in calls.into_iter().zip(expected) {
        assert_eq!(name, expected);
        assert_eq!(input, format!(".buf.mcp.v1.{expected}Request"));
        assert_eq!(output, format!(".buf.mcp.v1.{expected}Response"));
    }
}

#[test]
fn the_extension_prompts_has_a_service_for_itself() {
    let set = descriptors();
    let service = &own_file(&set).service[1];
    let calls: Vec<_> = service.method.iter().map(|call| call.name().to_owned()).collect();
    assert_eq!((service.name(), own_file(&set).service.len()), ("MCPPrompts", 3));
    assert_eq!(calls, ["ListPrompts", "GetPrompt", "Complete", "ListTemplates"]);
    for call in &service.method {
        assert_eq!(call.input_type(), format!(".buf.mcp.v1.{}Request", call.name()));
        assert_eq!(call.output_type(), format!(".buf.mcp.v1.{}Response", call.name()));
    }
}

#[test]
fn streaming_over_grpc_has_a_service_for_itself() {
    let set = descriptors();
    let service = &own_file(&set).service[2];
    let calls = service.method.iter().map(|call| {
        assert!(call.server_streaming() && !call.client_streaming(), "{}", call.name());
        [call.name(), call.input_type(), call.output_type()].map(|name| name.trim_start_matches(".buf.mcp.v1."))
    });
    let expected = [["CallToolStream", "CallToolRequest", "CallEvent"], ["Listen", "ListenRequest", "Notice"]];
    assert_eq!((service.name(), calls.collect::<Vec<_>>()), ("MCPStreams", expected.to_vec()));
    for (message, expected) in [
        ("CallEvent", "1 progress|CallProgress, 3 log|CallLog, 15 response|CallToolResponse"),
        ("ListenRequest", "1 uris*string, 2 log_level enum"),
        (
            "Notice",
            "1 listening|Listening, 2 list_changed|ListChanged, 3 resource_updated|ResourceUpdated, 4 log|CallLog",
        ),
    ] {
        let message = own_file(&set).message_type.iter().find(|one| one.name() == message).expect("it is defined");
        let fields: Vec<_> = message.field.iter().map(|field| describe(message, field)).collect();
        assert_eq!(fields.join(", "), expected);
    }
}

/// Clients that have declared an extension keep to these numbers.
#[test]
fn extensions_have_these_numbers() {
    let set = descriptors();
    let fields = own_file(&set).message_type.iter().flat_map(|message| {
        let of_extensions = message.field.iter().filter(move |field| field.number() >= extensions_from(message));
        of_extensions.map(move |field| format!("{} {}", message.name(), describe(message, field)))
    });
    let expected = [
        "MCPMessage 100 list_changed|ListChanged",
        "MCPMessage 101 call_progress|CallProgress",
        "MCPMessage 103 call_log|CallLog",
        "MCPMessage 104 cancel_call|CancelCall",
        "MCPMessage 110 list_prompts_request|ListPromptsRequest",
        "MCPMessage 111 list_prompts_response|ListPromptsResponse",
        "MCPMessage 112 get_prompt_request|GetPromptRequest",
        "MCPMessage 113 get_prompt_response|GetPromptResponse",
        "MCPMessage 114 complete_request|CompleteRequest",
        "MCPMessage 115 complete_response|CompleteResponse",
        "MCPMessage 116 list_templates_request|ListTemplatesRequest",
        "MCPMessage 117 list_templates_response|ListTemplatesResponse",
        "MCPMessage 120 subscribe_request|SubscribeRequest",
        "MCPMessage 121 subscribe_response|SubscribeResponse",
        "MCPMessage 122 unsubscribe_request|UnsubscribeRequest",
        "MCPMessage 124 resource_updated|ResourceUpdated",
        "ServerCapabilities 16 supports_completion bool",
        "ServerCapabilities 17 supports_logging bool",
        "ResourceCapabilities 16 supports_templates bool",
        "ListToolsRequest 16 query string",
        "ListToolsRequest 17 page_size uint32",
        "CallToolRequest 16 wants_progress bool",
        "CallToolRequest 18 log_level enum",
    ];
    assert_eq!(fields.collect::<Vec<_>>(), expected);
}

#[test]
fn the_first_exchange_has_exactly_these_bytes() {
    let request = InitializeRequest {
        protocol_version: "1.0.0".into(),
        capabilities: Some(ClientCapabilities {
            supports_bsr_refs: true,
            encodings: vec!["protobuf".into()],
            ..ClientCapabilities::default()
        }),
        ..InitializeRequest::default()
    };
    let response = InitializeResponse {
        protocol_version: "1.0.0".into(),
        capabilities: Some(ServerCapabilities {
            supports_bsr_refs: true,
            tools: Some(ToolCapabilities { supports_list_changed: true }),
            ..ServerCapabilities::default()
        }),
        ..InitializeResponse::default()
    };
    for (payload, bytes) in [
        (Payload::InitializeRequest(request), "080112150a05312e302e30120c08011a0870726f746f627566"),
        (Payload::InitializeResponse(response), "08011a0f0a05312e302e30120608011a020801"),
    ] {
        let message = McpMessage { id: 1, payload: Some(payload) };
        let encoded = message.encode_to_vec();
        let hex = encoded.iter().fold(String::new(), |hex, byte| hex + &format!("{byte:02x}"));
        assert_eq!(hex, bytes);
        assert_eq!(McpMessage::decode(&encoded[..]).unwrap(), message);
    }
}

#[test]
fn an_inline_schema_survives_byte_for_byte() {
    // A descriptor set with an option that nothing here knows: field 1159 of the options of a field, as buf.validate's.
    let option = [0xba, 0x48, 0x02, 0xc8, 0x01];
    let mut field =
        FieldDescriptorProto { name: Some("q".into()), number: Some(1), ..Default::default() }.encode_to_vec();
    field.extend([0x42, option.len() as u8]);
    field.extend(option);
    let nest = |tag: u8, inner: &[u8]| [&[tag, u8::try_from(inner.len()).unwrap()], inner].concat();
    let set = nest(0x0a, &nest(0x22, &nest(0x12, &field)));
    assert!(FileDescriptorSet::decode(&set[..]).unwrap().encode_to_vec().len() < set.len(), "structs lose the option");
    let tool = Tool {
        name: "t".into(),
        schema_source: Some(SchemaSource::InlineSchema(set.clone().into())),
        ..Tool::default()
    };
    let read = Tool::decode(&tool.encode_to_vec()[..]).unwrap();
    assert_eq!(read.schema_source, Some(SchemaSource::InlineSchema(set.into())));
}

/// Extensions have numbers that version 1.0 and the next versions will not use.
fn extensions_from(message: &DescriptorProto) -> i32 {
    if message.name() == "MCPMessage" { 100 } else { 16 }
}

fn describe(message: &DescriptorProto, field: &FieldDescriptorProto) -> String {
    let kind = |field: &FieldDescriptorProto| match field.r#type() {
        Type::Message => field.type_name().rsplit('.').next().unwrap_or_default().to_owned(),
        scalar => scalar.as_str_name().trim_start_matches("TYPE_").to_lowercase(),
    };
    let (number, name) = (field.number(), field.name());
    let entry = message.nested_type.iter().find(|nested| field.type_name().ends_with(&format!(".{}", nested.name())));
    match (entry, field.label()) {
        (Some(entry), _) => format!("{number} {name}{{{} {}}}", kind(&entry.field[0]), kind(&entry.field[1])),
        (None, Label::Repeated) => format!("{number} {name}*{}", kind(field)),
        (None, _) if field.oneof_index.is_some() => format!("{number} {name}|{}", kind(field)),
        (None, _) => format!("{number} {name} {}", kind(field)),
    }
}

fn generate() -> String {
    let mut descriptors = descriptors();
    let file = descriptors.file.iter_mut().find(|file| file.name() == FILE).expect("the file is compiled");
    let tool = file.message_type.iter_mut().find(|message| message.name() == "Tool").expect("it is defined");
    let schema = tool.field.iter_mut().find(|field| field.name() == "inline_schema").expect("it is defined");
    // The same on the wire; see the documentation of the module `message`.
    schema.set_type(Type::Bytes);
    schema.type_name = None;
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join("generated");
    fs::create_dir_all(&out).expect("the folder can be made");
    let mut config = prost_build::Config::new();
    config.bytes(["."]).btree_map(["."]).enable_type_names().out_dir(&out);
    config.extern_path(".google.protobuf.Any", "crate::any::Any");
    config.compile_fds(descriptors).expect("the descriptors make code");
    fs::read_to_string(out.join("buf.mcp.v1.rs")).expect("the code was written")
}

fn own_file(set: &FileDescriptorSet) -> &prost_types::FileDescriptorProto {
    set.file.iter().find(|file| file.name() == FILE).expect("the file is compiled")
}

fn descriptors() -> FileDescriptorSet {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../proto");
    protox::compile([FILE], [folder]).expect("the proto file compiles")
}
