//! Insertion and removal of tables in the text of TOML.
//!
//! A server is a table with its own header at the end of the file. The parser says where things are; the text is never
//! written by it.

use std::ops::Range;

use serde_json::Map;
use toml_edit::{Document, Item, Table, TableLike};

use crate::document::comments::syntax;
use crate::document::edit::{EditError, Edited, Origin};
use crate::value::{Value, quoted};

pub(crate) fn insert(text: &str, keys: &[&str], name: &str, value: &Value) -> Result<Edited, EditError> {
    let document = parse(text)?;
    let container = container(document.as_table(), keys)?;
    if container.is_some_and(|servers| servers.contains_key(name)) {
        return Err(EditError::Exists(name.to_owned()));
    }
    let newline = newline(text);
    let padding = match text {
        "" | "\u{feff}" => String::new(),
        text if text.ends_with('\n') => newline.to_owned(),
        _ => newline.repeat(2),
    };
    let edited = format!("{text}{padding}{}", block(keys, name, value, newline)?);
    if !contents(&edited).is_ok_and(|contents| has(&contents, keys, name)) {
        return Err(EditError::Unsupported(format!("{} cannot hold a separate table", keys.join("."))));
    }
    Ok(Edited { text: edited, origin: Origin { depth: keys.len(), padding, ..Origin::default() } })
}

pub(crate) fn remove(text: &str, keys: &[&str], name: &str, origin: Option<&Origin>) -> Result<String, EditError> {
    let place = place(text, keys, name)?;
    let (before, after) = (&text[..place.start], &text[place.end..]);
    let edited = match origin.filter(|_| after.is_empty()) {
        Some(origin) => before.strip_suffix(origin.padding.as_str()).unwrap_or(before).to_owned(),
        None if before.trim_start_matches('\u{feff}').is_empty() => {
            format!("{before}{}", after.strip_prefix("\r\n").or(after.strip_prefix('\n')).unwrap_or(after))
        }
        None => format!("{}{after}", without_blank_line(before)),
    };
    if is_alone(text, &edited, keys, name) && !has(&contents(&edited)?, keys, name) {
        Ok(edited)
    } else {
        Err(elsewhere(name))
    }
}

/// The lines of the table of a server, with the tables below it.
pub(crate) fn place(text: &str, keys: &[&str], name: &str) -> Result<Range<usize>, EditError> {
    let document = parse(text)?;
    let servers = container(document.as_table(), keys)?;
    let entry = servers.and_then(|servers| servers.get(name)).ok_or_else(|| EditError::NotFound(name.to_owned()))?;
    let header = entry.as_table().filter(|table| !table.is_dotted() && !table.is_implicit()).and_then(Table::span);
    let header = header.ok_or_else(|| elsewhere(name))?;
    let start = text[..header.start].rfind('\n').map_or(0, |newline| newline + 1);
    let end = end(entry).unwrap_or(header.end).max(header.end);
    let end = text[end..].find('\n').map_or(text.len(), |newline| end + newline + 1);
    Ok(start..end)
}

/// The text with another table under this name.
pub(crate) fn replace(text: &str, keys: &[&str], name: &str, value: &Value) -> Result<String, EditError> {
    restore(text, keys, name, &block(keys, name, value, newline(text))?)
}

/// The text with these lines in the place of the table of a server.
pub(crate) fn restore(text: &str, keys: &[&str], name: &str, lines: &str) -> Result<String, EditError> {
    let place = place(text, keys, name)?;
    let after = &text[place.end..];
    let end = if after.is_empty() || lines.ends_with('\n') { "" } else { newline(text) };
    let edited = format!("{}{lines}{end}{after}", &text[..place.start]);
    let is_there = contents(&edited).is_ok_and(|contents| has(&contents, keys, name));
    if is_there && is_alone(text, &edited, keys, name) { Ok(edited) } else { Err(elsewhere(name)) }
}

/// True if two texts differ in nothing other than an entry.
fn is_alone(text: &str, edited: &str, keys: &[&str], name: &str) -> bool {
    let others = |text: &str| {
        let mut contents = contents(text).ok()?;
        drop_entry(&mut contents, keys, name);
        Some(contents)
    };
    others(text).is_some_and(|expected| others(edited) == Some(expected))
}

fn elsewhere(name: &str) -> EditError {
    EditError::Unsupported(format!("the server \"{name}\" is not a table with one place in the file"))
}

/// A table with its own header.
fn block(keys: &[&str], name: &str, value: &Value, newline: &str) -> Result<String, EditError> {
    let header: Vec<String> = keys.iter().copied().chain([name]).map(key).collect();
    let mut block = format!("[{}]{newline}", header.join("."));
    let Value::Object(members) = value else { return Err(EditError::NotAnObject(format!("\"{name}\""))) };
    for (member, value) in members {
        block.push_str(&format!("{} = {}{newline}", key(member), inline(value)));
    }
    Ok(block)
}

/// The end of a line in this text.
fn newline(text: &str) -> &'static str {
    if text.contains("\r\n") { "\r\n" } else { "\n" }
}

pub(crate) fn servers(text: &str, keys: &[&str]) -> Result<Vec<(String, serde_json::Value)>, EditError> {
    let document = parse(text)?;
    let Some(servers) = container(document.as_table(), keys)? else { return Ok(Vec::new()) };
    Ok(servers.iter().map(|(name, entry)| (name.to_owned(), json(entry))).collect())
}

/// The values, and the comments.
pub(crate) fn values(text: &str) -> Result<Vec<Range<usize>>, EditError> {
    let document = parse(text)?;
    let mut found = Vec::new();
    document.as_table().iter().for_each(|(_, item)| add_values(item, &mut found));
    found.sort_by_key(|value| value.start);
    let comments = comments(text.as_bytes(), &found);
    Ok(found.into_iter().chain(comments).collect())
}

fn add_values(item: &Item, found: &mut Vec<Range<usize>>) {
    match item {
        Item::None => {}
        Item::Table(table) => table.iter().for_each(|(_, item)| add_values(item, found)),
        Item::ArrayOfTables(tables) => {
            tables.iter().flat_map(Table::iter).for_each(|(_, item)| add_values(item, found));
        }
        Item::Value(value) => add_scalars(value, found),
    }
}

fn add_scalars(value: &toml_edit::Value, found: &mut Vec<Range<usize>>) {
    match value {
        toml_edit::Value::Array(items) => items.iter().for_each(|value| add_scalars(value, found)),
        toml_edit::Value::InlineTable(table) => table.iter().for_each(|(_, value)| add_scalars(value, found)),
        scalar => found.extend(scalar.span()),
    }
}

/// The comments between values, which are sorted. A name in quotation marks may have the mark of a comment.
fn comments(bytes: &[u8], values: &[Range<usize>]) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut values = values.iter().peekable();
    let (mut at, mut quote) = (0, None);
    while at < bytes.len() {
        if let Some(value) = values.next_if(|value| value.start <= at) {
            at = at.max(value.end);
            continue;
        }
        match (quote, bytes[at]) {
            (None, b'#') => {
                let length = bytes[at..].iter().position(|byte| matches!(byte, b'\r' | b'\n'));
                let end = length.map_or(bytes.len(), |length| at + length);
                found.push(at..end);
                at = end;
                continue;
            }
            (None, mark @ (b'"' | b'\'')) => quote = Some(mark),
            (Some(mark), byte) if mark == byte => quote = None,
            (Some(b'"'), b'\\') => at += 1,
            _ => {}
        }
        at += 1;
    }
    found
}

fn parse(text: &str) -> Result<Document<&str>, EditError> {
    Document::parse(text).map_err(|error| {
        let at = error.span().map_or(text.len(), |span| span.start.min(text.len()));
        syntax(text, at, error.message())
    })
}

/// The table of servers, if there is one.
fn container<'a>(root: &'a Table, keys: &[&str]) -> Result<Option<&'a dyn TableLike>, EditError> {
    let mut table: &dyn TableLike = root;
    for key in keys {
        let Some(item) = table.get(key) else { return Ok(None) };
        table = item.as_table_like().ok_or_else(|| EditError::NotAnObject(format!("\"{key}\"")))?;
    }
    Ok(Some(table))
}

/// The end of the last value of a table.
fn end(item: &Item) -> Option<usize> {
    match item {
        Item::Table(table) => {
            let header = table.span().map(|span| span.end);
            table.iter().filter_map(|(_, item)| end(item)).chain(header).max()
        }
        Item::ArrayOfTables(tables) => tables.iter().filter_map(Table::span).map(|span| span.end).max(),
        item => item.span().map(|span| span.end),
    }
}

/// The text without the empty line at its end, which separates two tables.
fn without_blank_line(text: &str) -> &str {
    for newline in ["\r\n", "\n"] {
        if let Some(rest) = text.strip_suffix(newline).filter(|rest| rest.ends_with('\n')) {
            return rest;
        }
    }
    text
}

/// The values of a text.
fn contents(text: &str) -> Result<serde_json::Value, EditError> {
    Ok(object(parse(text)?.as_table()))
}

fn has(contents: &serde_json::Value, keys: &[&str], name: &str) -> bool {
    keys.iter().try_fold(contents, |value, key| value.get(key)).and_then(|servers| servers.get(name)).is_some()
}

/// Removes an entry, and the tables around it that are empty without it.
fn drop_entry(contents: &mut serde_json::Value, keys: &[&str], name: &str) {
    let Some(members) = contents.as_object_mut() else { return };
    match keys {
        [] => drop(members.remove(name)),
        [first, rest @ ..] => {
            let Some(inner) = members.get_mut(*first) else { return };
            drop_entry(inner, rest, name);
            if inner.as_object().is_some_and(Map::is_empty) {
                members.remove(*first);
            }
        }
    }
}

fn json(item: &Item) -> serde_json::Value {
    match item {
        Item::None => serde_json::Value::Null,
        Item::Table(table) => object(table),
        Item::ArrayOfTables(tables) => tables.iter().map(|table| object(table)).collect(),
        Item::Value(value) => plain(value),
    }
}

fn plain(value: &toml_edit::Value) -> serde_json::Value {
    use toml_edit::Value as Toml;
    match value {
        Toml::String(text) => text.value().as_str().into(),
        Toml::Integer(number) => (*number.value()).into(),
        Toml::Float(number) => number.value().to_string().into(),
        Toml::Boolean(flag) => (*flag.value()).into(),
        Toml::Datetime(time) => time.value().to_string().into(),
        Toml::Array(items) => items.iter().map(plain).collect(),
        Toml::InlineTable(table) => object(table),
    }
}

fn object(table: &dyn TableLike) -> serde_json::Value {
    table.iter().map(|(key, item)| (key.to_owned(), json(item))).collect()
}

fn inline(value: &Value) -> String {
    match value {
        Value::Text(text) => string(text),
        Value::Flag(flag) => flag.to_string(),
        Value::List(items) => format!("[{}]", items.iter().map(inline).collect::<Vec<_>>().join(", ")),
        Value::Object(members) => {
            let members: Vec<_> =
                members.iter().map(|(name, value)| format!("{} = {}", key(name), inline(value))).collect();
            format!("{{ {} }}", members.join(", "))
        }
    }
}

fn key(name: &str) -> String {
    let is_bare = !name.is_empty() && name.bytes().all(|c| c.is_ascii_alphanumeric() || b"_-".contains(&c));
    if is_bare { name.to_owned() } else { string(name) }
}

/// A basic string, whose escapes are the escapes of JSON; it also escapes DEL.
fn string(text: &str) -> String {
    quoted(text).replace('\u{7f}', "\\u007F")
}
