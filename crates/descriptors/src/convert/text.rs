//! A file as source text.

use std::fmt::Write as _;

use crate::convert::literal::quoted;
use crate::convert::model::{ProtoField, ProtoFile, ProtoMessage, Shape};
use crate::well_known::RULES;

/// The source text of a file.
pub(crate) fn file_text(file: &ProtoFile) -> String {
    let mut text = format!("syntax = \"proto3\";\n\npackage {};\n", file.package);
    for (index, import) in imports(file).enumerate() {
        let gap = if index == 0 { "\n" } else { "" };
        let _ = writeln!(text, "{gap}import \"{import}\";");
    }
    for message in &file.messages {
        text.push('\n');
        text.push_str(&message_text(message));
    }
    text
}

/// The paths of the files that a file imports.
pub(crate) fn imports(file: &ProtoFile) -> impl Iterator<Item = &'static str> + use<> {
    let rules = file.has_rules().then_some(RULES);
    rules.into_iter().chain(file.uses_struct().then_some("google/protobuf/struct.proto"))
}

/// The source text of a message.
pub(crate) fn message_text(message: &ProtoMessage) -> String {
    let mut text = comment_text(&message.comment, "");
    if message.fields.is_empty() && message.rules.is_empty() && message.reserved.is_empty() {
        let _ = writeln!(text, "message {} {{}}", message.name);
        return text;
    }
    let _ = writeln!(text, "message {} {{", message.name);
    for rule in &message.rules.0 {
        let _ = writeln!(text, "  option {};", rule.text("message"));
    }
    if !message.reserved.is_empty() {
        let numbers: Vec<String> = message.reserved.iter().map(ToString::to_string).collect();
        let _ = writeln!(text, "  reserved {};", numbers.join(", "));
    }
    for field in &message.fields {
        text.push_str(&comment_text(&field.comment, "  "));
        let _ = writeln!(text, "  {};", field_text(field));
    }
    text.push_str("}\n");
    text
}

fn field_text(field: &ProtoField) -> String {
    let label = match &field.shape {
        Shape::Plain(element) => element.name(),
        Shape::Optional(element) if element.is_message() => element.name(),
        Shape::Optional(element) => format!("optional {}", element.name()),
        Shape::Repeated(element) => format!("repeated {}", element.name()),
        Shape::Map(element) => format!("map<string, {}>", element.name()),
    };
    let mut options: Vec<String> = field.json_name.iter().map(|name| format!("json_name = {}", quoted(name))).collect();
    options.extend(field.rules.0.iter().map(|rule| rule.text("field")));
    let options = match options.as_slice() {
        [] => String::new(),
        [option] => format!(" [{option}]"),
        options => format!(" [\n    {}\n  ]", options.join(",\n    ")),
    };
    format!("{label} {} = {}{options}", field.name, field.number)
}

fn comment_text(comment: &str, indent: &str) -> String {
    comment.lines().fold(String::new(), |mut text, line| {
        let gap = if line.is_empty() { "" } else { " " };
        let _ = writeln!(text, "{indent}//{gap}{line}");
        text
    })
}
