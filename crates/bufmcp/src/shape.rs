//! The fields of the messages that are lists, maps or messages, for counting before decoding. A part of
//! `proto/buf/mcp/v1/mcp.proto`; a test compares the two.

use protomcp_codec::Shape;

/// No list, and no other message.
pub(crate) static PLAIN: Shape = Shape { lists: &[], inner: &[] };
static CLIENT_CAPABILITIES: Shape = Shape { lists: &[3, 4], inner: &[(4, &PLAIN)] };
pub(crate) static INITIALIZE_REQUEST: Shape = Shape { lists: &[3], inner: &[(2, &CLIENT_CAPABILITIES), (3, &PLAIN)] };
static SERVER_CAPABILITIES: Shape = Shape { lists: &[], inner: &[(3, &PLAIN), (4, &PLAIN), (5, &PLAIN)] };
pub(crate) static INITIALIZE_RESPONSE: Shape = Shape { lists: &[3], inner: &[(2, &SERVER_CAPABILITIES), (3, &PLAIN)] };
pub(crate) static LIST_TOOLS_REQUEST: Shape = Shape { lists: &[1], inner: &[] };
static TOOL: Shape = Shape { lists: &[5], inner: &[(5, &PLAIN)] };
pub(crate) static LIST_TOOLS_RESPONSE: Shape = Shape { lists: &[1], inner: &[(1, &TOOL)] };
pub(crate) static CALL_TOOL_REQUEST: Shape = Shape { lists: &[3], inner: &[(2, &PLAIN), (3, &PLAIN)] };
static TOOL_CONTENT: Shape = Shape { lists: &[], inner: &[(3, &PLAIN)] };
static TOOL_RESULT: Shape = Shape { lists: &[1], inner: &[(1, &TOOL_CONTENT)] };
static ERROR: Shape = Shape { lists: &[3], inner: &[(3, &PLAIN)] };
pub(crate) static CALL_TOOL_RESPONSE: Shape =
    Shape { lists: &[3], inner: &[(1, &TOOL_RESULT), (2, &ERROR), (3, &PLAIN)] };
static RESOURCE: Shape = Shape { lists: &[5], inner: &[(5, &PLAIN)] };
pub(crate) static LIST_RESOURCES_RESPONSE: Shape = Shape { lists: &[1], inner: &[(1, &RESOURCE)] };
pub(crate) static READ_RESOURCE_RESPONSE: Shape = Shape { lists: &[1], inner: &[(1, &PLAIN)] };
static PROMPT: Shape = Shape { lists: &[4, 5], inner: &[(4, &PLAIN), (5, &PLAIN)] };
pub(crate) static LIST_PROMPTS_RESPONSE: Shape = Shape { lists: &[1], inner: &[(1, &PROMPT)] };
pub(crate) static GET_PROMPT_REQUEST: Shape = Shape { lists: &[2, 3], inner: &[(2, &PLAIN), (3, &PLAIN)] };
static PROMPT_MESSAGE: Shape = Shape { lists: &[], inner: &[(2, &TOOL_CONTENT)] };
pub(crate) static GET_PROMPT_RESPONSE: Shape = Shape { lists: &[2, 3], inner: &[(2, &PROMPT_MESSAGE), (3, &PLAIN)] };
pub(crate) static COMPLETE_REQUEST: Shape = Shape { lists: &[5], inner: &[(5, &PLAIN)] };
pub(crate) static COMPLETE_RESPONSE: Shape = Shape { lists: &[1], inner: &[] };
pub(crate) static LIST_TEMPLATES_RESPONSE: Shape = Shape { lists: &[1], inner: &[(1, &RESOURCE)] };
/// It is in no `MCPMessage`.
pub(crate) static LISTEN_REQUEST: Shape = Shape { lists: &[1], inner: &[] };
static ERROR_RESPONSE: Shape = Shape { lists: &[], inner: &[(3, &STRUCT)] };
static CALL_LOG: Shape = Shape { lists: &[], inner: &[(3, &VALUE)] };
static STRUCT_ENTRY: Shape = Shape { lists: &[], inner: &[(2, &VALUE)] };

/// `ListToolsRequest` in the other numbers ([`crate::Numbering`]).
pub(crate) static SHIFTED_LIST_TOOLS_REQUEST: Shape = Shape { lists: &[2], inner: &[] };

/// `google.protobuf.Struct`
pub(crate) static STRUCT: Shape = Shape { lists: &[1], inner: &[(1, &STRUCT_ENTRY)] };
/// `google.protobuf.Value`
pub(crate) static VALUE: Shape = Shape { lists: &[], inner: &[(5, &STRUCT), (6, &LIST)] };
/// `google.protobuf.ListValue`
pub(crate) static LIST: Shape = Shape { lists: &[1], inner: &[(1, &VALUE)] };

/// `MCPMessage`
pub(crate) static MESSAGE: Shape = Shape {
    lists: &[],
    inner: &[
        (2, &INITIALIZE_REQUEST),
        (3, &INITIALIZE_RESPONSE),
        (4, &LIST_TOOLS_REQUEST),
        (5, &LIST_TOOLS_RESPONSE),
        (6, &CALL_TOOL_REQUEST),
        (7, &CALL_TOOL_RESPONSE),
        (8, &PLAIN),
        (9, &LIST_RESOURCES_RESPONSE),
        (10, &PLAIN),
        (11, &READ_RESOURCE_RESPONSE),
        (12, &ERROR_RESPONSE),
        (100, &PLAIN),
        (101, &PLAIN),
        (103, &CALL_LOG),
        (104, &PLAIN),
        (110, &PLAIN),
        (111, &LIST_PROMPTS_RESPONSE),
        (112, &GET_PROMPT_REQUEST),
        (113, &GET_PROMPT_RESPONSE),
        (114, &COMPLETE_REQUEST),
        (115, &COMPLETE_RESPONSE),
        (116, &PLAIN),
        (117, &LIST_TEMPLATES_RESPONSE),
        (120, &PLAIN),
        (121, &PLAIN),
        (122, &PLAIN),
        (124, &PLAIN),
    ],
};

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use prost_types::field_descriptor_proto::{Label, Type};
    use prost_types::{DescriptorProto, FileDescriptorSet};

    use super::*;

    #[test]
    fn shapes_match_the_proto_files() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../proto");
        let set = protox::compile(["buf/mcp/v1/mcp.proto"], [folder]).expect("the proto file compiles");
        let mut compared = BTreeSet::new();
        compare(&set, ".buf.mcp.v1.MCPMessage", &MESSAGE, &mut compared);
        // The messages of `mcp.proto`, the entries of its maps, `Any`, and `Struct` with the three inside it.
        assert_eq!(compared.len(), 43 + 14 + 1 + 4, "{compared:?}");
    }

    /// Compares a message and all messages in it.
    fn compare(set: &FileDescriptorSet, name: &str, shape: &Shape, compared: &mut BTreeSet<String>) {
        if !compared.insert(name.to_owned()) {
            return;
        }
        let message = find(set, name);
        let (mut lists, mut inner) = (Vec::new(), Vec::new());
        for field in &message.field {
            let number = u32::try_from(field.number()).expect("field numbers are positive");
            if field.label() == Label::Repeated {
                lists.push(number);
            }
            // An inline schema stays bytes.
            if field.r#type() == Type::Message && field.name() != "inline_schema" {
                inner.push(number);
                let shape = shape.inner(number).unwrap_or_else(|| panic!("{name}.{} is missing", field.name()));
                compare(set, field.type_name(), shape, compared);
            }
        }
        assert_eq!(shape.lists, lists, "{name}");
        assert_eq!(shape.inner.iter().map(|(number, _)| *number).collect::<Vec<_>>(), inner, "{name}");
    }

    fn find<'a>(set: &'a FileDescriptorSet, name: &str) -> &'a DescriptorProto {
        let all =
            set.file.iter().flat_map(|file| file.message_type.iter().map(|m| (format!(".{}", file.package()), m)));
        for (package, message) in all {
            let own = format!("{package}.{}", message.name());
            if own == name {
                return message;
            }
            if let Some(inside) = name.strip_prefix(&format!("{own}.")) {
                let nested = message.nested_type.iter().find(|nested| nested.name() == inside);
                return nested.expect("the message is defined");
            }
        }
        panic!("{name} is not defined");
    }
}
