//! The file `pmcp.toml`: keys for all commands that use a tool file, and tables for one of them.

use std::path::Path;

use toml_edit::{Document, Item, TableLike, Value};

use crate::args::settings::{Names, Origin, Setting, WATCH};
use crate::args::skills::SKILLS;
use crate::exit::Failure;
use crate::nearest::nearest;
use crate::text_file::read_bounded;

/// The name of the file.
pub(crate) const FILE: &str = "pmcp.toml";
/// Its largest size, in bytes.
const MAX_FILE: u64 = 1 << 20;

/// The settings of a file for a command; none if there is no file.
pub(super) fn read(path: &Path, verb: &str, names: impl FnOnce() -> Names) -> Result<Vec<Setting>, Failure> {
    let mut settings = written(path, verb, names)?;
    let directory = path.parent().unwrap_or(Path::new(""));
    for setting in settings.iter_mut().filter(|setting| has_paths(&setting.flag)) {
        for value in &mut setting.values {
            *value = directory.join(&*value).to_string_lossy().into_owned();
        }
    }
    Ok(settings)
}

/// The same, with paths as they are written in the file.
pub(super) fn written(path: &Path, verb: &str, names: impl FnOnce() -> Names) -> Result<Vec<Setting>, Failure> {
    match read_bounded(path, MAX_FILE, FILE) {
        Ok(text) => {
            parse(&text, verb, &names()).map_err(|reason| Failure::usage(format!("{}, {reason}", path.display())))
        }
        // A link whose target is missing is a file that was meant to be there.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound && !path.is_symlink() => Ok(Vec::new()),
        Err(error) => Err(Failure::usage(format!("cannot read {}: {error}", path.display()))),
    }
}

/// True for flags whose values are paths, relative to the file.
fn has_paths(flag: &str) -> bool {
    [WATCH, SKILLS].contains(&flag)
}

fn parse(text: &str, verb: &str, names: &Names) -> Result<Vec<Setting>, String> {
    let line = |at: usize| text[..at.min(text.len())].matches('\n').count() + 1;
    let document = Document::parse(text).map_err(|error| {
        let at = error.span().map_or(text.len(), |span| span.start);
        format!("line {}: {}", line(at), error.message())
    })?;
    let mut settings = Vec::new();
    for (section, table) in sections(document.as_table(), names) {
        for (key, item) in table.iter() {
            if section.is_none() && names.verbs().any(|verb| verb == key) {
                item.as_table_like().ok_or_else(|| format!("line {}: {key} is not a table", line(start(item))))?;
                continue;
            }
            let at = table.key(key).and_then(toml_edit::Key::span).map_or_else(|| start(item), |span| span.start);
            let line = line(at);
            if !names.flags(section).any(|flag| flag == key) {
                return Err(format!("line {line}: {}", unknown(key, section, names)));
            }
            // A setting of all commands need not be one of this command.
            if names.flags(Some(verb)).any(|flag| flag == key) && section.is_none_or(|section| section == verb) {
                let (values, expected) = match key {
                    WATCH | SKILLS => (paths(item), "a path or a list of paths"),
                    _ => (values(item), "a text, a number, true, false or a list"),
                };
                let values = values.ok_or_else(|| format!("line {line}: {key} is not {expected}"))?;
                // The table of the command counts more.
                settings.retain(|setting: &Setting| setting.flag != key);
                settings.push(Setting { flag: key.to_owned(), values, origin: Origin::File { line } });
            }
        }
    }
    Ok(settings)
}

/// The keys for all commands, then the tables of commands.
fn sections<'a>(root: &'a dyn TableLike, names: &'a Names) -> Vec<(Option<&'a str>, &'a dyn TableLike)> {
    let tables = names.verbs().filter_map(|verb| Some((Some(verb), root.get(verb)?.as_table_like()?)));
    [(None, root)].into_iter().chain(tables).collect()
}

fn unknown(key: &str, section: Option<&str>, names: &Names) -> String {
    let known = names.flags(section).chain(names.verbs().filter(|_| section.is_none()));
    match nearest(&key.replace('_', "-"), known) {
        Some(meant) => format!("unknown key \"{key}\"; did you mean {meant}?"),
        None => format!(
            "unknown key \"{key}\"; the keys are the flags of pmcp {}, without the dashes",
            section.unwrap_or("dev")
        ),
    }
}

fn values(item: &Item) -> Option<Vec<String>> {
    match item.as_value()? {
        Value::Array(items) => items.iter().map(plain).collect(),
        value => Some(vec![plain(value)?]),
    }
}

fn paths(item: &Item) -> Option<Vec<String>> {
    let path = |value: &Value| value.as_str().map(str::to_owned);
    match item.as_value()? {
        Value::Array(items) => items.iter().map(path).collect(),
        value => Some(vec![path(value)?]),
    }
}

fn plain(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.value().clone()),
        Value::Integer(number) => Some(number.value().to_string()),
        Value::Float(number) => Some(number.value().to_string()),
        Value::Boolean(flag) => Some(flag.value().to_string()),
        Value::Datetime(_) | Value::Array(_) | Value::InlineTable(_) => None,
    }
}

fn start(item: &Item) -> usize {
    item.span().map_or(0, |span| span.start)
}
