//! `pmcp schema to-proto`: JSON Schemas of tools as .proto files.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::{fs, io};

use protomcp_bsr::convert::{Converted, Converter, FieldLock, Verdict};
use serde_json::{Map, Value, json};

use super::files::{unreadable, unwritable};
use crate::args::schema::ToProto;
use crate::exit::{self, Failure, printable};
use crate::text_file;

/// The schemas of one tool.
struct Definition {
    name: String,
    input: Value,
    output: Option<Value>,
}

/// Converts all tools of a file. Nothing is written unless all of them can be converted.
pub(super) fn run(options: &ToProto) -> Result<(), Failure> {
    let definitions = read(&options.file)?;
    let converter =
        Converter::new(&options.package).map_err(|error| Failure::usage(format!("invalid --package: {error}")))?;
    let converter = converter.style(options.style.into());
    let lock_path = options.out.join("fields.lock.json");
    let mut lock = read_lock(&lock_path)?;
    let mut made = Made::default();
    for definition in definitions {
        let name = printable(&definition.name);
        let converted = converter
            .convert(&definition.name, &definition.input, definition.output.as_ref(), &mut lock)
            .map_err(|error| Failure::usage(format!("{name}: {error}")))?;
        made.add(&name, &converted)?;
    }
    for (file, text) in &made.files {
        write(&options.out.join(file), text)?;
    }
    write(&lock_path, &lock.to_text())?;
    write(&options.out.join("report.json"), &format!("{:#}\n", Value::Object(made.reports)))?;
    exit::print(&made.table)
}

fn read_lock(path: &Path) -> Result<FieldLock, Failure> {
    match text_file::read(path) {
        Ok(text) => FieldLock::parse(&text).map_err(|error| Failure::usage(format!("{}: {error}", path.display()))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(FieldLock::default()),
        Err(error) => Err(unreadable(path, &error)),
    }
}

/// The outcome of all conversions, before it is written.
#[derive(Default)]
struct Made {
    /// The texts by path.
    files: BTreeMap<String, String>,
    /// The tools by message: all messages are in one package.
    owners: BTreeMap<String, String>,
    /// The tools by path: names that differ in capitals have one.
    file_owners: BTreeMap<String, String>,
    reports: Map<String, Value>,
    table: String,
}

impl Made {
    fn add(&mut self, name: &str, converted: &Converted) -> Result<(), Failure> {
        for message in converted.messages() {
            if let Some(other) = self.owners.insert(message.to_owned(), name.to_owned()) {
                return Err(Failure::usage(format!(
                    "{other} and {name} both need the message {message}: rename a tool"
                )));
            }
        }
        let file = converted.file_name();
        if let Some(other) = self.file_owners.insert(file.clone(), name.to_owned()) {
            return Err(Failure::usage(format!("{other} and {name} both need the file {file}: rename a tool")));
        }
        let report = converted.report();
        let verdict = match report.verdict() {
            Verdict::Lossless => "lossless",
            Verdict::Lossy => "lossy",
            Verdict::Fallback => "fallback",
        };
        let _ = writeln!(self.table, "{verdict:8}  {name}  {file}");
        for loss in report.losses() {
            let line = format!("{} {}: {}", loss.pointer, loss.keyword, loss.reason).replace('\n', " ");
            let _ = writeln!(self.table, "          {}", printable(&line));
        }
        let entry = json!({
            "file": file,
            "input_type": converted.input_type(),
            "output_type": converted.output_type(),
            "verdict": verdict,
            "losses": report.losses(),
        });
        self.reports.insert(name.to_owned(), entry);
        self.files.insert(file, converted.text());
        Ok(())
    }
}

/// The tools in a file.
fn read(path: &Path) -> Result<Vec<Definition>, Failure> {
    let text = text_file::read(path).map_err(|error| unreadable(path, &error))?;
    let invalid = |reason: &str| Failure::usage(format!("{}: {reason}", path.display()));
    let read: Value = serde_json::from_str(&text).map_err(|error| invalid(&format!("not JSON: {error}")))?;
    let list = read.get("tools").or_else(|| read.pointer("/result/tools")).unwrap_or(&read);
    if let Some(tools) = list.as_array() {
        let tools: Option<Vec<_>> = tools.iter().map(definition).collect();
        return tools.ok_or_else(|| invalid("each tool needs a name and an inputSchema"));
    }
    if let Some(tool) = definition(&read) {
        return Ok(vec![tool]);
    }
    let name = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    Ok(vec![Definition { name, input: read, output: None }])
}

fn definition(tool: &Value) -> Option<Definition> {
    let name = tool.get("name")?.as_str()?.to_owned();
    Some(Definition { name, input: tool.get("inputSchema")?.clone(), output: tool.get("outputSchema").cloned() })
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    let folder = path.parent().unwrap_or(path);
    fs::create_dir_all(folder).map_err(|error| unwritable(folder, &error))?;
    fs::write(path, text).map_err(|error| unwritable(path, &error))
}
