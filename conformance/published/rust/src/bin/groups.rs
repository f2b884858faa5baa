//! Related tools in one group: cargo build, then pmcp dev target/debug/groups.
//!
//! `notes` is one tool with an `action` argument (strategy "union"), so its rules are checked before the handler runs.
//! `shapes` becomes a tool for each action, named `shapes.square`; some hosts refuse names with dots.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use protomcp::{tool_group, ArgDef, ToolResult};

#[tokio::main]
async fn main() {
    let kept = Arc::new(Mutex::new(BTreeMap::new()));
    let (written, read) = (Arc::clone(&kept), kept);
    tool_group("notes")
        .description("Keeps short notes.")
        .strategy("union")
        .action("write", |action| {
            action
                .description("Keeps a note.")
                .arg(ArgDef::string("title"))
                .arg(ArgDef::string("text"))
                .requires(&["title"])
                .enum_field("color", &["red", "green", "blue"])
                .handler(move |_, args| {
                    let (title, text) = (args["title"].as_str().unwrap_or_default(), args["text"].as_str());
                    written.lock().unwrap().insert(title.to_owned(), text.unwrap_or_default().to_owned());
                    ToolResult::new(format!("kept {title}"))
                })
        })
        .action("read", |action| {
            action.description("Reads a note.").arg(ArgDef::string("title")).handler(move |_, args| {
                let title = args["title"].as_str().unwrap_or_default();
                match read.lock().unwrap().get(title) {
                    Some(text) => ToolResult::new(text.clone()),
                    None => ToolResult::error(format!("no note {title:?}"), "NOT_FOUND", "Write it first.", false),
                }
            })
        })
        .register();
    tool_group("shapes")
        .description("Areas of shapes.")
        .action("square", |action| {
            action
                .description("Area of a square.")
                .arg(ArgDef::number("side"))
                .handler(|_, args| ToolResult::new(format!("{:.2}", args["side"].as_f64().unwrap_or(0.0).powi(2))))
        })
        .register();
    protomcp::run().await;
}
