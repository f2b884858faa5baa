//! The fields of the messages that are lists or messages themselves.
//!
//! A part of `proto/protomcp.proto`, as far as counting needs it; a test compares the two.

/// The fields of one message that matter when its entries are counted. Messages may contain themselves.
#[derive(Debug)]
pub struct Shape {
    /// Its repeated fields, by number. Each occurrence of one is an entry, and so is each entry of a map.
    pub lists: &'static [u32],
    /// Its fields that are messages themselves.
    pub inner: &'static [(u32, &'static Self)],
}

impl Shape {
    /// The message in this field.
    pub fn inner(&self, field: u32) -> Option<&'static Self> {
        self.inner.iter().find(|(number, _)| *number == field).map(|(_, shape)| *shape)
    }
}

/// No list, and no other message.
static PLAIN: Shape = Shape { lists: &[], inner: &[] };
/// Nothing but names.
static NAMES: Shape = Shape { lists: &[1], inner: &[] };
/// A list of plain messages.
static ITEMS: Shape = Shape { lists: &[1], inner: &[(1, &PLAIN)] };
/// The same, with an error next to it.
static ITEMS_OR_ERROR: Shape = Shape { lists: &[1], inner: &[(1, &PLAIN), (100, &PLAIN)] };
static NAMES_OR_ERROR: Shape = Shape { lists: &[1], inner: &[(100, &PLAIN)] };
static CALL_RESULT: Shape = Shape { lists: &[3, 4], inner: &[(5, &PLAIN)] };
static BATCH: Shape = Shape { lists: &[1, 2, 3, 4], inner: &[] };
static PROMPT: Shape = Shape { lists: &[3], inner: &[(3, &PLAIN)] };
static PROMPT_LIST: Shape = Shape { lists: &[1], inner: &[(1, &PROMPT)] };
static PROMPT_MESSAGES: Shape = Shape { lists: &[2], inner: &[(2, &PLAIN), (100, &PLAIN)] };
static SDK_INFO: Shape = Shape { lists: &[5, 6], inner: &[] };
static BRIDGE_INFO: Shape = Shape { lists: &[3], inner: &[] };
static PRINCIPAL: Shape = Shape { lists: &[4], inner: &[] };
static CONTEXT: Shape = Shape { lists: &[], inner: &[(7, &PRINCIPAL)] };

/// The message in each kind of frame.
pub(crate) static ENVELOPE: Shape = Shape {
    lists: &[],
    inner: &[
        (1, &PLAIN),
        (2, &PLAIN),
        (3, &PLAIN),
        (4, &PLAIN),
        (5, &ITEMS),
        (6, &CALL_RESULT),
        (7, &NAMES),
        (8, &NAMES),
        (9, &NAMES),
        (10, &NAMES),
        (11, &PLAIN),
        (12, &BATCH),
        (13, &NAMES),
        (16, &PLAIN),
        (17, &PLAIN),
        (18, &PLAIN),
        (19, &PLAIN),
        (20, &PLAIN),
        (21, &PLAIN),
        (22, &PLAIN),
        (23, &PLAIN),
        (24, &PLAIN),
        (25, &PLAIN),
        (26, &PLAIN),
        (27, &PLAIN),
        (28, &PLAIN),
        (29, &PLAIN),
        (30, &PLAIN),
        (31, &PLAIN),
        (32, &ITEMS),
        (33, &PLAIN),
        (34, &ITEMS),
        (35, &PLAIN),
        (36, &ITEMS_OR_ERROR),
        (37, &PLAIN),
        (40, &PLAIN),
        (41, &PROMPT_LIST),
        (42, &PLAIN),
        (43, &PROMPT_MESSAGES),
        (50, &PLAIN),
        (51, &NAMES_OR_ERROR),
        (60, &PLAIN),
        (61, &PLAIN),
        (62, &PLAIN),
        (63, &ITEMS_OR_ERROR),
        (200, &SDK_INFO),
        (201, &BRIDGE_INFO),
        (202, &PLAIN),
        (203, &PLAIN),
        (204, &PLAIN),
        (205, &PLAIN),
        (206, &PLAIN),
        (207, &PLAIN),
        (208, &PLAIN),
        (209, &PLAIN),
        (210, &PLAIN),
        (211, &PLAIN),
        (212, &PLAIN),
        (103, &CONTEXT),
    ],
};

#[cfg(test)]
mod tests {
    use std::path::Path;

    use prost_types::field_descriptor_proto::{Label, Type};
    use prost_types::{DescriptorProto, FileDescriptorProto};

    use super::*;

    #[test]
    fn shapes_match_the_proto_file() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../proto");
        let set = protox::compile(["protomcp.proto"], [folder]).expect("the proto file compiles");
        let compared = compare(&set.file[0], "Envelope", &ENVELOPE);
        // 59 in the envelope, and those inside them.
        assert_eq!(compared, 1 + 59 + 14);
    }

    /// Compares a message and all messages in it; returns their number.
    fn compare(file: &FileDescriptorProto, name: &str, shape: &Shape) -> usize {
        let message = find(file, name);
        let number = |number: i32| u32::try_from(number).expect("field numbers are positive");
        let (mut lists, mut compared, mut inner) = (Vec::new(), 1, Vec::new());
        for field in &message.field {
            let is_text_or_message = matches!(field.r#type(), Type::String | Type::Bytes | Type::Message);
            if field.label() == Label::Repeated {
                assert!(is_text_or_message, "{name}.{}: numbers in one field are not counted", field.name());
                lists.push(number(field.number()));
            }
            if field.r#type() == Type::Message {
                let field_number = number(field.number());
                let (_, inside) = field.type_name().rsplit_once('.').expect("a type lies in a package");
                let shape = shape.inner(field_number).unwrap_or_else(|| panic!("{name}.{} is missing", field.name()));
                inner.push(field_number);
                compared += compare(file, inside, shape);
            }
        }
        assert_eq!(shape.lists, lists, "{name}");
        assert_eq!(shape.inner.iter().map(|(number, _)| *number).collect::<Vec<_>>(), inner, "{name}");
        compared
    }

    fn find<'a>(file: &'a FileDescriptorProto, name: &str) -> &'a DescriptorProto {
        file.message_type.iter().find(|message| message.name() == name).expect("the message is defined")
    }
}
