//! Related tools in one group: `pmcp dev crates/sdk/examples/groups.rs`.
//!
//! `notes` is one tool with an argument `action`; the arguments of each action are checked by its own schema. `shapes`
//! becomes a tool for each action, such as `shapes_square`.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use protomcp_typed::{Group, JsonSchema, Registry, Tool, ToolError};
use serde::Deserialize;

#[derive(Deserialize, JsonSchema)]
struct Write {
    title: String,
    #[serde(default)]
    text: String,
    #[serde(default)]
    color: Color,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Color {
    Red,
    Green,
    #[default]
    Blue,
}

/// One note, or the names of all.
#[derive(Deserialize, JsonSchema)]
struct Read {
    title: Option<String>,
    #[serde(default)]
    all: bool,
}

#[derive(Deserialize, JsonSchema)]
struct Circle {
    radius: f64,
}

#[derive(Deserialize, JsonSchema)]
struct Square {
    side: f64,
}

/// The notes, shared by the actions.
#[derive(Clone, Default)]
struct Notes(Arc<Mutex<BTreeMap<String, String>>>);

impl Notes {
    fn write(&self, note: Write) -> String {
        let text = format!("kept {} in {:?}", note.title, note.color);
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(note.title, note.text);
        text
    }

    fn read(&self, args: Read) -> Result<String, ToolError> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match (args.title, args.all) {
            (Some(_), true) => Err(ToolError::new("give a title or all, not both").with_code("CONTRADICTION")),
            (Some(title), false) => {
                let missing = || ToolError::new(format!("no note {title:?}")).with_suggestion("write it first");
                kept.get(&title).cloned().ok_or_else(missing)
            }
            (None, true) => Ok(kept.keys().cloned().collect::<Vec<_>>().join(", ")),
            (None, false) => Err(ToolError::new("which note?").with_suggestion("give a title, or all = true")),
        }
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let notes = Notes::default();
    let (written, read) = (notes.clone(), notes);
    let write = move |args: Write| std::future::ready(written.write(args));
    let read = move |args: Read| std::future::ready(read.read(args));
    let notes = Group::new("notes")
        .action(Tool::new("write", "Keeps a note.").handler(write))
        .action(Tool::new("read", "Reads a note, or lists all of them.").handler(read))
        .union("Keeps short notes.");
    let circle = async |args: Circle| format!("{:.2}", std::f64::consts::PI * args.radius * args.radius);
    let square = async |args: Square| format!("{:.2}", args.side * args.side);
    let shapes = Group::new("shapes")
        .action(Tool::new("circle", "Area of a circle.").handler(circle).read_only())
        .action(Tool::new("square", "Area of a square.").handler(square).read_only());
    let registry = Registry::builder("groups", "1.0").group(notes).group(shapes).build()?;
    Ok(protomcp_sdk::run(registry.server()).await?)
}
