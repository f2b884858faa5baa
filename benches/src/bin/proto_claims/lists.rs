//! Lists of tools: JSON files, with their digests and the converted schemas.

use std::fs;
use std::path::Path;

use protomcp_descriptors::convert::{Converted, Converter, FieldLock};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// The error of this program, of any kind.
pub(crate) type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

/// The tools of one server.
pub(crate) struct List {
    pub(crate) name: String,
    /// The SHA-256 of the file, in hexadecimal digits.
    pub(crate) digest: String,
    pub(crate) tools: Vec<Tool>,
}

/// One tool, with its messages.
pub(crate) struct Tool {
    pub(crate) json: Value,
    pub(crate) name: String,
    pub(crate) description: String,
    /// The reference that a server with a registry would give.
    pub(crate) reference: String,
    pub(crate) converted: Converted,
}

/// Reads all lists of a folder: JSON arrays of tools, or results of `tools/list`.
pub(crate) fn read(folder: &Path) -> Outcome<Vec<List>> {
    let mut files: Vec<_> =
        fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path())).collect::<Result<_, _>>()?;
    files.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    files.sort();
    files.iter().map(|path| read_one(path)).collect()
}

fn read_one(path: &Path) -> Outcome<List> {
    let bytes = fs::read(path)?;
    let digest = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let read: Value = serde_json::from_slice(&bytes)?;
    let tools = read.get("tools").unwrap_or(&read).as_array().ok_or("a list of tools is a JSON array")?;
    let tools = tools.iter().map(|tool| convert(&name, tool)).collect::<Outcome<_>>()?;
    Ok(List { name, digest, tools })
}

fn convert(list: &str, tool: &Value) -> Outcome<Tool> {
    let name = tool["name"].as_str().ok_or("a tool has a name")?.to_owned();
    let description = tool["description"].as_str().unwrap_or_default().to_owned();
    let converter = Converter::new("tools.v1")?;
    let converted =
        converter.convert(&name, &tool["inputSchema"], tool.get("outputSchema"), &mut FieldLock::default())?;
    let reference = format!("buf.build/{list}/tools/{}:v1", converted.input_type());
    Ok(Tool { json: tool.clone(), name, description, reference, converted })
}

/// The schema of the tool in the example of the specification.
pub(crate) fn search() -> Value {
    json!({
        "type": "object",
        "properties": {
            "query": {"type": "string", "minLength": 1},
            "max_results": {"type": "integer", "minimum": 1, "maximum": 100},
        },
        "required": ["query"],
    })
}
