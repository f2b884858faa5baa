//! `pmcp schema to-proto`: JSON Schemas of tools as .proto files.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::{fs, io};

use protomcp_descriptors::convert::{Converted, Converter, FieldLock, Verdict};
use protomcp_types::one_line;
use serde_json::{Map, Value, json};

use super::files::{unreadable, unwritable};
use crate::args::schema::ToProto;
use crate::exit::{self, Failure};
use crate::text_file;
use crate::waiting;

/// The file that protoc does not bring along, and its origin.
const RULES: (&str, &str) = (
    "buf/validate/validate.proto",
    "folder proto/protovalidate of https://github.com/bufbuild/protovalidate, and buf.build/bufbuild/protovalidate",
);

/// The schemas of one tool.
struct Definition {
    name: String,
    input: Value,
    output: Option<Value>,
}

/// Converts the tools.
fn all(definitions: Vec<Definition>, converter: &Converter, lock: &mut FieldLock) -> Made {
    let mut made = Made::default();
    for definition in definitions {
        let name = one_line(&definition.name).into_owned();
        if made.has(&name) {
            made.refuse(&name, "another tool has this name");
            continue;
        }
        let converted = converter.convert(&definition.name, &definition.input, definition.output.as_ref(), lock);
        let added = converted.map_err(|error| error.to_string()).and_then(|converted| made.add(&name, &converted));
        if let Err(why) = added {
            made.refuse(&name, &why);
        }
    }
    made
}

/// Converts all tools of a file. One that cannot be converted leaves the others alone.
pub(super) fn run(options: &ToProto) -> Result<(), Failure> {
    let definitions = read(&options.file)?;
    let converter =
        Converter::new(&options.package).map_err(|error| Failure::usage(format!("invalid --package: {error}")))?;
    let converter = converter.style(options.style.into());
    let lock_path = options.out.join("fields.lock.json");
    let mut lock = read_lock(&lock_path)?;
    let mut made = waiting::shown_blocking("converting the tools", || all(definitions, &converter, &mut lock));
    if made.files.is_empty() && !made.refused.is_empty() {
        return Err(Failure::usage(made.refused.join("\n")));
    }
    // First, and whole or not at all: nothing else knows the numbers of the fields.
    write(&lock_path, &lock.to_text())?;
    for (file, text) in &made.files {
        write(&options.out.join(file), text)?;
    }
    write(&options.out.join("report.json"), &format!("{:#}\n", Value::Object(made.reports)))?;
    if made.has_rules {
        let (file, origin) = RULES;
        let _ = writeln!(made.table, "imports   {file}: {origin}");
    }
    exit::print(&made.table)?;
    match made.refused.len() {
        0 => Ok(()),
        1 => Err(Failure::failed(format!("one tool is not converted: {}", made.refused[0]))),
        count => Err(Failure::failed(format!("{count} tools are not converted:\n{}", made.refused.join("\n")))),
    }
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
    /// A file imports [`RULES`].
    has_rules: bool,
    /// The tools that cannot be converted, each with the reason.
    refused: Vec<String>,
}

impl Made {
    /// True if a tool of this name is converted.
    fn has(&self, name: &str) -> bool {
        self.reports.get(name).is_some_and(|report| report.get("file").is_some())
    }

    fn add(&mut self, name: &str, converted: &Converted) -> Result<(), String> {
        let file = converted.file_name();
        if let Some((message, other)) = converted.messages().find_map(|name| self.owners.get_key_value(name)) {
            return Err(format!("{other} needs the message {message}, too: rename a tool"));
        }
        if let Some(other) = self.file_owners.get(&file) {
            return Err(format!("{other} needs the file {file}, too: rename a tool"));
        }
        self.owners.extend(converted.messages().map(|message| (message.to_owned(), name.to_owned())));
        self.file_owners.insert(file.clone(), name.to_owned());
        let report = converted.report();
        let verdict = match report.verdict() {
            Verdict::Lossless => "lossless",
            Verdict::Lossy => "lossy",
            Verdict::Fallback => "fallback",
        };
        let _ = writeln!(self.table, "{verdict:8}  {name}  {file}");
        for loss in report.losses() {
            let line = format!("{} {}: {}", loss.pointer, loss.keyword, loss.reason);
            let _ = writeln!(self.table, "          {}", one_line(&line));
        }
        let entry = json!({
            "file": file,
            "input_type": converted.input_type(),
            "output_type": converted.output_type(),
            "verdict": verdict,
            "losses": report.losses(),
            "imports": self.imports(converted),
        });
        self.reports.insert(name.to_owned(), entry);
        self.files.insert(file, converted.text());
        Ok(())
    }

    /// The files that a file imports, each with its origin.
    fn imports(&mut self, converted: &Converted) -> Map<String, Value> {
        let imports: Vec<_> = converted.imports().collect();
        self.has_rules |= imports.contains(&RULES.0);
        let origin = |file: &str| if file == RULES.0 { RULES.1 } else { "protoc" };
        imports.into_iter().map(|file| (file.to_owned(), origin(file).into())).collect()
    }

    fn refuse(&mut self, name: &str, why: &str) {
        let _ = writeln!(self.table, "refused   {name}");
        if !self.has(name) {
            self.reports.insert(name.to_owned(), json!({"verdict": "refused", "reason": why}));
        }
        self.refused.push(format!("{name}: {why}"));
    }
}

/// The tools in a file.
fn read(path: &Path) -> Result<Vec<Definition>, Failure> {
    let text = text_file::read(path).map_err(|error| unreadable(path, &error))?;
    let invalid = |reason: &str| Failure::usage(format!("{}: {reason}", path.display()));
    let read: Value = serde_json::from_str(&text).map_err(|error| invalid(&format!("not JSON: {error}")))?;
    let list = member(&read, "tools").or_else(|| member(read.get("result")?, "tools")).unwrap_or(&read);
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
    Some(Definition {
        name,
        input: member(tool, "inputSchema")?.clone(),
        output: member(tool, "outputSchema").cloned(),
    })
}

/// A member of an object. One that is null counts as absent.
fn member<'a>(object: &'a Value, name: &str) -> Option<&'a Value> {
    object.get(name).filter(|value| !value.is_null())
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    let folder = path.parent().unwrap_or(path);
    fs::create_dir_all(folder).map_err(|error| unwritable(folder, &error))?;
    text_file::replace(path, text.as_bytes()).map_err(|error| unwritable(path, &error))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_file_is_written_whole_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let (real, link) = (folder.path().join("real.json"), folder.path().join("fields.lock.json"));
        fs::write(&real, "before").unwrap();
        std::os::unix::fs::symlink(&real, &link).unwrap();
        write(&link, "after").unwrap_or_else(|_| panic!());
        assert_eq!((fs::read_to_string(&real).unwrap().as_str(), link.is_symlink()), ("after", true));
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        fs::set_permissions(&real, fs::Permissions::from_mode(0o600)).unwrap();
        write(&link, "after").unwrap_or_else(|_| panic!());
        assert_eq!(mode(&real), 0o600);
        // A link to a file that is not there yet.
        std::os::unix::fs::symlink("later.json", folder.path().join("early.json")).unwrap();
        write(&folder.path().join("early.json"), "made").unwrap_or_else(|_| panic!());
        assert_eq!(fs::read_to_string(folder.path().join("later.json")).unwrap(), "made");
        // The draft cannot be made.
        fs::create_dir(folder.path().join(format!("real.json.pmcp-{}", std::process::id()))).unwrap();
        assert!(write(&link, "lost").is_err());
        assert_eq!(fs::read_to_string(&real).unwrap(), "after");
    }

    #[test]
    fn members_that_are_null_count_as_absent() {
        let tool = r#"{"name":"add","inputSchema":{"type":"object"},"outputSchema":null}"#;
        for text in [
            tool.to_owned(),
            format!(r#"{{"tools":[{tool}]}}"#),
            format!(r#"{{"tools":null,"result":{{"tools":[{tool}]}}}}"#),
            format!(r#"{{"result":null,"tools":[{tool}]}}"#),
            r#"{"name":"add","inputSchema":{"type":"object"},"tools":null}"#.to_owned(),
        ] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("tools.json");
            fs::write(&path, &text).unwrap();
            let definitions = read(&path).unwrap_or_else(|_| panic!("{text}"));
            assert_eq!(definitions.len(), 1, "{text}");
            let Definition { name, input, output } = &definitions[0];
            assert_eq!((name.as_str(), input, output), ("add", &json!({"type": "object"}), &None), "{text}");
        }
        assert!(definition(&json!({"name": "add", "inputSchema": null})).is_none());
    }
}
