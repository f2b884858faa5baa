//! `page/envelope.json` is what the proto file says. After an edit of the proto file run
//! `UPDATE_GENERATED=1 cargo test -p protomcp-playground --test envelope` to write it.

use std::fmt::Write;
use std::path::Path;
use std::{env, fs};

use prost_types::field_descriptor_proto::{Label, Type};

const COMMITTED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/page/envelope.json");

#[test]
fn the_committed_table_is_generated_from_the_proto_file() {
    let generated = generate();
    if env::var_os("UPDATE_GENERATED").is_some() {
        fs::write(COMMITTED, generated).expect("the file can be written");
        return;
    }
    let committed = fs::read_to_string(COMMITTED).expect("the file is committed");
    assert!(committed == generated, "page/envelope.json is out of date; run this test with UPDATE_GENERATED=1");
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
