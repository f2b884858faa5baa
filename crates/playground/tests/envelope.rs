//! `page/envelope.json` is what the proto file says. After an edit of the proto file run
//! `UPDATE_GENERATED=1 cargo test -p protomcp-playground --test envelope` to write it.

use std::fmt::Write;
use std::path::Path;

use prost_types::field_descriptor_proto::{Label, Type};
use protomcp_testing::assert_committed;

const COMMITTED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/page/envelope.json");

#[test]
fn the_committed_table_is_generated_from_the_proto_file() {
    assert_committed(COMMITTED, generate(), "UPDATE_GENERATED");
}

/// For each message its fields by number: the name, and the type, with `[]` if it is repeated.
fn generate() -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../proto");
    let set = protox::compile(["protomcp.proto"], [folder]).expect("the proto file compiles");
    let mut text = String::from("{\n");
    let mut messages = set.file[0].message_type.iter().peekable();
    while let Some(message) = messages.next() {
        let fields: Vec<_> = message
            .field
            .iter()
            .map(|field| {
                let kind = match field.r#type() {
                    Type::Message => field.type_name().trim_start_matches(".protomcp.").to_owned(),
                    Type::Enum => "int32".to_owned(),
                    kind => format!("{kind:?}").to_lowercase(),
                };
                let list = if field.label() == Label::Repeated { "[]" } else { "" };
                format!("\"{}\": [\"{}\", \"{kind}{list}\"]", field.number(), field.name())
            })
            .collect();
        let comma = if messages.peek().is_some() { "," } else { "" };
        writeln!(text, "  \"{}\": {{{}}}{comma}", message.name(), fields.join(", ")).expect("a string grows");
    }
    text + "}\n"
}
