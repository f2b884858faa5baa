"""The messages of docs/envelope.md, and their bytes.

A message is a dict from field names to values; a field with its default value is absent. `bytes` fields hold bytes,
lists hold lists, messages hold dicts.
"""

STRING, JSON, BYTES, BOOL = "string", "json", "bytes", "bool"
INT32, INT64, UINT32, UINT64 = "int32", "int64", "uint32", "uint64"
NUMBERS = (BOOL, INT32, INT64, UINT32, UINT64)


def many(kind):
    """A list of values."""
    return (kind,)


def fields(text, **extensions):
    """Fields numbered from 1 in order, written as `name:type`; a type in brackets is a list. Extensions are `xNUMBER`."""
    numbered = list(enumerate(text.split(), 1)) + [(int(key[1:]), value) for key, value in extensions.items()]
    table = {}
    for number, entry in numbered:
        name, kind = entry.split(":")
        table[number] = (name, many(kind[1:-1]) if kind.startswith("[") else kind)
    return table


NAMES = fields("tool_names:[string]")
TASK = fields("task_id:string")
EMPTY = {}

MESSAGES = {
    "ReloadRequest": EMPTY,
    "ListToolsRequest": EMPTY,
    "CallToolRequest": fields(
        "name:string arguments_json:json progress_token:string",
        x100="metadata_json:json",
        x101="arguments_match:bool",
    ),
    "ReloadResponse": fields("success:bool error:string"),
    "ToolListResponse": fields("tools:[ToolDefinition]"),
    "ToolDefinition": fields(
        "name:string description:string input_schema_json:json output_schema_json:json title:string"
        " read_only_hint:bool destructive_hint:bool idempotent_hint:bool open_world_hint:bool task_support:bool",
        x100="annotations_json:json",
        x101="icons_json:json",
        x102="task_required:bool",
        x103="metadata_json:json",
        x104="checks_arguments:bool",
    ),
    "CallToolResponse": fields(
        "is_error:bool result_json:json enable_tools:[string] disable_tools:[string] error:ToolError"
        " structured_content_json:json",
        x100="metadata_json:json",
    ),
    "ToolError": fields("error_code:string message:string suggestion:string retryable:bool"),
    "EnableToolsRequest": NAMES,
    "DisableToolsRequest": NAMES,
    "SetAllowedRequest": NAMES,
    "SetBlockedRequest": NAMES,
    "GetActiveToolsRequest": EMPTY,
    "BatchUpdateRequest": fields("enable:[string] disable:[string] allow:[string] block:[string]"),
    "ActiveToolsResponse": NAMES,
    "ProgressNotification": fields("progress_token:string progress:int64 total:int64 message:string"),
    "CancelRequest": fields("request_id:string"),
    "LogMessage": fields("level:string logger:string data_json:json"),
    "CreateTaskResponse": TASK,
    "TaskStatusRequest": TASK,
    "TaskStatusResponse": fields("task_id:string state:string progress:int64 total:int64 message:string"),
    "TaskResultRequest": TASK,
    "TaskCancelRequest": TASK,
    "RegisterMiddlewareRequest": fields("name:string priority:int32"),
    "RegisterMiddlewareResponse": fields("success:bool"),
    "MiddlewareInterceptRequest": fields(
        "middleware_name:string phase:string tool_name:string arguments_json:json result_json:json is_error:bool"
    ),
    "MiddlewareInterceptResponse": fields(
        "arguments_json:json result_json:json reject:bool reject_reason:string"
    ),
    "StreamHeader": fields("field_name:string total_size:uint64 chunk_size:uint32"),
    "StreamChunk": fields("data:bytes final:bool"),
    "RawHeader": fields(
        "request_id:string field_name:string size:uint64 compression:string uncompressed_size:uint64",
        x100="followed_by_result:bool",
    ),
    "ListResourcesRequest": EMPTY,
    "ResourceListResponse": fields("resources:[ResourceDefinition]"),
    "ResourceDefinition": fields(
        "uri:string name:string description:string mime_type:string size:int64",
        x100="title:string",
        x101="icons_json:json",
        x102="annotations_json:json",
        x103="metadata_json:json",
    ),
    "ListResourceTemplatesRequest": EMPTY,
    "ResourceTemplateListResponse": fields("templates:[ResourceTemplateDefinition]"),
    "ResourceTemplateDefinition": fields(
        "uri_template:string name:string description:string mime_type:string",
        x100="title:string",
        x101="icons_json:json",
        x102="annotations_json:json",
        x103="metadata_json:json",
    ),
    "ReadResourceRequest": fields("uri:string", x100="metadata_json:json"),
    "ReadResourceResponse": fields("contents:[ResourceContent]", x100="error:ToolError", x101="metadata_json:json"),
    "ResourceContent": fields("uri:string mime_type:string text:string blob:bytes", x100="metadata_json:json"),
    "ResourceChangedNotification": fields("uri:string"),
    "ListPromptsRequest": EMPTY,
    "PromptListResponse": fields("prompts:[PromptDefinition]"),
    "PromptDefinition": fields(
        "name:string description:string arguments:[PromptArgument]",
        x100="title:string",
        x101="icons_json:json",
        x102="metadata_json:json",
    ),
    "PromptArgument": fields("name:string description:string required:bool", x100="title:string"),
    "GetPromptRequest": fields("name:string arguments_json:json", x100="metadata_json:json"),
    "GetPromptResponse": fields(
        "description:string messages:[PromptMessage]", x100="error:ToolError", x101="metadata_json:json"
    ),
    "PromptMessage": fields("role:string content_json:json"),
    "CompletionRequest": fields(
        "ref_type:string ref_name:string argument_name:string argument_value:string",
        x100="context_json:json",
        x101="metadata_json:json",
    ),
    "CompletionResponse": fields(
        "values:[string] total:int32 has_more:bool", x100="error:ToolError", x101="metadata_json:json"
    ),
    "SamplingRequest": fields(
        "messages_json:json model_preferences_json:json system_prompt:string max_tokens:int32",
        x100="params_json:json",
    ),
    "SamplingResponse": fields("role:string content_json:json model:string stop_reason:string error:string"),
    "ListRootsRequest": EMPTY,
    "ListRootsResponse": fields("roots:[RootDef]", x100="error:ToolError"),
    "RootDef": fields("uri:string name:string"),
    "SdkInfo": fields(
        "name:string version:string language:string max_concurrent_calls:uint32 features:[string] skill_folders:[string]"
    ),
    "BridgeInfo": fields("name:string version:string features:[string]"),
    "ElicitationRequest": fields(
        "mode:string message:string requested_schema_json:json url:string elicitation_id:string"
    ),
    "ElicitationResponse": fields("action:string content_json:json error:string"),
    "PromptListChanged": EMPTY,
    "ResourceListChanged": EMPTY,
    "ElicitationComplete": fields("elicitation_id:string"),
    "Ping": EMPTY,
    "Pong": EMPTY,
    "HandOverRequest": EMPTY,
    "HandOverResponse": fields("state:bytes error:string"),
    "TakeOverRequest": fields("state:bytes"),
    "TakeOverResponse": fields("error:string"),
    "RequestContext": fields(
        "timeout_ms:uint64 session:string protocol_version:string client_name:string client_version:string"
        " client_capabilities_json:json principal:Principal"
    ),
    "Principal": fields("subject:string client_id:string issuer:string scopes:[string]"),
}

MEMBERS = {
    1: "reload:ReloadRequest",
    2: "list_tools:ListToolsRequest",
    3: "call_tool:CallToolRequest",
    4: "reload_response:ReloadResponse",
    5: "tool_list:ToolListResponse",
    6: "call_result:CallToolResponse",
    7: "enable_tools:EnableToolsRequest",
    8: "disable_tools:DisableToolsRequest",
    9: "set_allowed:SetAllowedRequest",
    10: "set_blocked:SetBlockedRequest",
    11: "get_active_tools:GetActiveToolsRequest",
    12: "batch:BatchUpdateRequest",
    13: "active_tools:ActiveToolsResponse",
    16: "progress:ProgressNotification",
    17: "cancel:CancelRequest",
    18: "log:LogMessage",
    19: "create_task:CreateTaskResponse",
    20: "task_status:TaskStatusRequest",
    21: "task_status_response:TaskStatusResponse",
    22: "task_result:TaskResultRequest",
    23: "task_cancel:TaskCancelRequest",
    24: "register_middleware:RegisterMiddlewareRequest",
    25: "register_middleware_response:RegisterMiddlewareResponse",
    26: "middleware_intercept:MiddlewareInterceptRequest",
    27: "middleware_intercept_response:MiddlewareInterceptResponse",
    28: "stream_header:StreamHeader",
    29: "stream_chunk:StreamChunk",
    30: "raw_header:RawHeader",
    31: "list_resources_request:ListResourcesRequest",
    32: "resource_list_response:ResourceListResponse",
    33: "list_resource_templates_request:ListResourceTemplatesRequest",
    34: "resource_template_list_response:ResourceTemplateListResponse",
    35: "read_resource_request:ReadResourceRequest",
    36: "read_resource_response:ReadResourceResponse",
    37: "resource_changed:ResourceChangedNotification",
    40: "list_prompts_request:ListPromptsRequest",
    41: "prompt_list_response:PromptListResponse",
    42: "get_prompt_request:GetPromptRequest",
    43: "get_prompt_response:GetPromptResponse",
    50: "completion_request:CompletionRequest",
    51: "completion_response:CompletionResponse",
    60: "sampling_request:SamplingRequest",
    61: "sampling_response:SamplingResponse",
    62: "list_roots_request:ListRootsRequest",
    63: "list_roots_response:ListRootsResponse",
    200: "sdk_info:SdkInfo",
    201: "bridge_info:BridgeInfo",
    202: "elicitation_request:ElicitationRequest",
    203: "elicitation_response:ElicitationResponse",
    204: "prompt_list_changed:PromptListChanged",
    205: "resource_list_changed:ResourceListChanged",
    206: "elicitation_complete:ElicitationComplete",
    207: "ping:Ping",
    208: "pong:Pong",
    209: "hand_over:HandOverRequest",
    210: "hand_over_response:HandOverResponse",
    211: "take_over:TakeOverRequest",
    212: "take_over_response:TakeOverResponse",
}

# The names of the messages in an envelope, of which it holds one.
KINDS = {number: entry.split(":")[0] for number, entry in MEMBERS.items()}

MESSAGES["Envelope"] = {number: tuple(entry.split(":")) for number, entry in MEMBERS.items()} | {
    14: ("request_id", STRING),
    15: ("namespace", STRING),
    100: ("for_call", STRING),
    101: ("question_key", STRING),
    102: ("more_questions", BOOL),
    103: ("context", "RequestContext"),
}


class Malformed(Exception):
    """The bytes are not a message."""


def write_varint(value):
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def read_varint(data, at):
    """The value, and the position behind it."""
    value = 0
    for place in range(10):
        if at + place >= len(data):
            break
        byte = data[at + place]
        value |= (byte & 0x7F) << (7 * place)
        if byte < 0x80:
            if value >> 64:
                break
            return value, at + place + 1
    raise Malformed("a varint does not end")


def encode(kind, message):
    """The bytes of a message, in the order of the numbers of its fields."""
    known = {name: (number, type_) for number, (name, type_) in MESSAGES[kind].items()}
    unknown = set(message) - set(known)
    if unknown:
        raise ValueError(f"{kind} has no field {sorted(unknown)}")
    out = bytearray()
    for name, (number, type_) in sorted(known.items(), key=lambda item: item[1][0]):
        if name not in message:
            continue
        value = message[name]
        for one in value if isinstance(type_, tuple) else [value]:
            out += encode_field(number, type_[0] if isinstance(type_, tuple) else type_, one, type_)
    return bytes(out)


def encode_field(number, kind, value, declared):
    if kind in NUMBERS:
        return write_varint(number << 3) + write_varint(int(value)) if value else b""
    if kind in MESSAGES:
        data = encode(kind, value)
    else:
        data = value if kind == BYTES else value.encode()
        if not data and not isinstance(declared, tuple):
            return b""
    return write_varint(number << 3 | 2) + write_varint(len(data)) + data


def decode(kind, data, into=None):
    """The message in these bytes, merged into `into`."""
    message, known, at = {} if into is None else into, MESSAGES[kind], 0
    while at < len(data):
        key, at = read_varint(data, at)
        number, wire = key >> 3, key & 7
        if key >> 32 or not number:
            raise Malformed("a key is out of range")
        if wire == 0:
            value, at = read_varint(data, at)
        elif wire == 2:
            length, at = read_varint(data, at)
            value, at = take(data, at, length)
        elif wire in (1, 5):
            value, at = take(data, at, 8 if wire == 1 else 4)
        else:
            raise Malformed("an unknown wire type")
        if number in known:
            name, type_ = known[number]
            read_field(message, name, type_, wire, value)
            if kind == "Envelope" and number in KINDS:
                for other in set(KINDS.values()) - {name}:
                    message.pop(other, None)
    return message


def take(data, at, length):
    if length > len(data) - at:
        raise Malformed("a value does not end")
    return data[at : at + length], at + length


def read_field(message, name, type_, wire, value):
    kind = type_[0] if isinstance(type_, tuple) else type_
    if wire != (0 if kind in NUMBERS else 2):
        raise Malformed(f"{name} has another wire type")
    if kind in MESSAGES:
        value = decode(kind, value, None if isinstance(type_, tuple) else message.get(name))
    elif kind in NUMBERS:
        value = number_of(kind, value)
    elif kind == BYTES:
        value = bytes(value)
    else:
        try:
            value = bytes(value).decode("utf-8", "strict" if kind == STRING else "replace")
        except UnicodeDecodeError:
            raise Malformed(f"{name} is not UTF-8") from None
    if isinstance(type_, tuple):
        message.setdefault(name, []).append(value)
    elif value or kind in MESSAGES:
        message[name] = value
    else:
        message.pop(name, None)


def number_of(kind, value):
    if kind == BOOL:
        return value != 0
    bits = 32 if kind.endswith("32") else 64
    value &= (1 << bits) - 1
    return value - (1 << bits) if kind.startswith("int") and value >> (bits - 1) else value


def kind_of(envelope):
    """The name of the message in an envelope, or `empty`."""
    return next((name for name in KINDS.values() if name in envelope), "empty")
