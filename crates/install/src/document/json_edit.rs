//! Insertion and removal of members in the text of JSON.
//!
//! A member is inserted behind the last one and the comments on its line, or behind the comments of an empty object:
//! always directly behind something that is not white space. So the white space before a member is what was inserted with
//! it, and removing both, with the one comma that the member needs, gives back the text before. Three things cannot be seen
//! in the result, and are kept in the [`Origin`]: the objects on the way that were missing, the white space before the
//! bracket of an object that was empty, and a null in the place of an object.

use std::ops::Range;

use crate::document::comments::Blanked;
use crate::document::edit::{EditError, Edited, Format, Origin};
use crate::document::json::{Member, Object};
use crate::value::{Layout, Value, quoted};

pub(crate) fn insert(
    text: &str,
    format: Format,
    keys: &[&str],
    name: &str,
    value: &Value,
) -> Result<Edited, EditError> {
    let file = Blanked::new(text, format)?;
    let Some(mut object) = file.root()? else {
        return Ok(whole(&file, keys, name, value));
    };
    let mut depth = 0;
    for key in keys {
        let Some(member) = object.member(key)? else { break };
        if file.is_null(member) {
            let text = replace_value(&file, member, depth, &nested(&path_below(keys, depth, name), value));
            return Ok(Edited { text, origin: Origin { depth, was_null: true, ..Origin::default() } });
        }
        object = file.object(member.value.clone(), &format!("\"{key}\""))?;
        depth += 1;
    }
    let missing = &keys[depth..];
    if missing.is_empty()
        && let Some(member) = object.member(name)?
    {
        if !file.is_null(member) {
            return Err(EditError::Exists(name.to_owned()));
        }
        let text = replace_value(&file, member, depth, value);
        return Ok(Edited { text, origin: Origin { depth, ..Origin::default() } });
    }
    let path: Vec<&str> = missing.iter().copied().chain([name]).collect();
    let (key, value) = (path[0], nested(&path[1..], value));
    let (text, padding) = if object.members.is_empty() {
        insert_first(&file, &object, depth, key, &value)
    } else {
        (insert_last(&file, &object, depth, key, &value), String::new())
    };
    Ok(Edited { text, origin: Origin { depth, padding, ..Origin::default() } })
}

pub(crate) fn remove(
    text: &str,
    format: Format,
    keys: &[&str],
    name: &str,
    origin: Option<&Origin>,
) -> Result<String, EditError> {
    let file = Blanked::new(text, format)?;
    let not_found = || EditError::NotFound(name.to_owned());
    let container = file.container(keys)?.ok_or_else(not_found)?;
    container.member(name)?.ok_or_else(not_found)?;
    let Some(origin) = origin else {
        let text = remove_member(&file, &container, name);
        return Ok(without_space(&text, format, keys));
    };
    // The objects that were inserted for servers go with the last of these, unless something else is in them.
    let mut path: Vec<&str> = keys.to_vec();
    path.push(name);
    while path.len() > origin.depth + 1 {
        let object = file.container(&path[..path.len() - 1])?.ok_or_else(not_found)?;
        let has_comments = file.comments.iter().any(|comment| object.span.contains(&comment.start));
        if object.members.len() > 1 || has_comments {
            break;
        }
        path.pop();
    }
    let last = path.pop().ok_or_else(not_found)?;
    let object = file.container(&path)?.ok_or_else(not_found)?;
    if origin.was_null && path.len() == origin.depth {
        let member = object.member(last)?.ok_or_else(not_found)?;
        return Ok(replaced(text, member, "null"));
    }
    let is_only = object.members.len() == 1;
    let removed = remove_member(&file, &object, last);
    if !is_only || path.len() != origin.depth {
        return Ok(removed);
    }
    Ok(original(&removed, format, &path, origin))
}

/// The place of the value of a server.
pub(crate) fn place(text: &str, format: Format, keys: &[&str], name: &str) -> Result<Range<usize>, EditError> {
    let (_, member) = found(text, format, keys, name)?;
    Ok(member.value)
}

/// The text with another server under this name.
pub(crate) fn replace(
    text: &str,
    format: Format,
    keys: &[&str],
    name: &str,
    value: &Value,
) -> Result<String, EditError> {
    let (file, member) = found(text, format, keys, name)?;
    Ok(replace_value(&file, &member, keys.len(), value))
}

fn found<'a>(text: &'a str, format: Format, keys: &[&str], name: &str) -> Result<(Blanked<'a>, Member), EditError> {
    let not_found = || EditError::NotFound(name.to_owned());
    let file = Blanked::new(text, format)?;
    let container = file.container(keys)?.ok_or_else(not_found)?;
    let member = container.member(name)?.ok_or_else(not_found)?.clone();
    Ok((file, member))
}

/// The text with the last of its members gone, as it was before the first came.
fn original(text: &str, format: Format, path: &[&str], origin: &Origin) -> String {
    let found = Blanked::new(text, format).and_then(|file| Ok((file.container(path)?, file.comments)));
    let Ok((Some(object), comments)) = found else { return text.to_owned() };
    let inside = object.span.start + 1..object.span.end - 1;
    if let Some(before) = &origin.without_value {
        let outside = format!("{}{}", &text[..object.span.start], &text[object.span.end..]);
        if text[inside.clone()].trim().is_empty() && outside.trim() == before.trim() {
            return before.clone();
        }
    }
    let start = comments.iter().filter(|comment| inside.contains(&comment.start)).map(|comment| comment.end).max();
    let start = start.unwrap_or(inside.start);
    match text[start..].strip_prefix(origin.padding.as_str()) {
        Some(rest) => format!("{}{rest}", &text[..start]),
        None => text.to_owned(),
    }
}

/// The text with an empty object in place of one with white space only.
fn without_space(text: &str, format: Format, keys: &[&str]) -> String {
    match Blanked::new(text, format).and_then(|file| file.container(keys)) {
        Ok(Some(Object { span, members })) if members.is_empty() && text[span.clone()][1..].trim() == "}" => {
            format!("{}{{}}{}", &text[..span.start], &text[span.end..])
        }
        _ => text.to_owned(),
    }
}

/// A text that had no value, with one.
fn whole(file: &Blanked<'_>, keys: &[&str], name: &str, value: &Value) -> Edited {
    let newline = newline(file.text);
    let layout = Layout::Lines { newline: newline.into(), unit: "  ".into(), indent: String::new() };
    let path: Vec<&str> = keys.iter().copied().chain([name]).collect();
    let comments = file.text.trim_end_matches(['\n', '\r', ' ', '\t']);
    let separator = if file.comments.is_empty() { "" } else { newline };
    let text = format!("{comments}{separator}{}{newline}", nested(&path, value).render(&layout));
    let origin = Origin { without_value: Some(file.text.to_owned()), ..Origin::default() };
    Edited { text, origin }
}

/// The value inside objects with one member each.
fn nested(path: &[&str], value: &Value) -> Value {
    path.iter().rev().fold(value.clone(), |value, key| Value::Object(vec![((*key).to_owned(), value)]))
}

/// The keys behind the one at this depth, and the name.
fn path_below<'a>(keys: &[&'a str], depth: usize, name: &'a str) -> Vec<&'a str> {
    keys[depth + 1..].iter().copied().chain([name]).collect()
}

/// Writes a value in the place of another one.
fn replace_value(file: &Blanked<'_>, member: &Member, depth: usize, value: &Value) -> String {
    let space = &file.text[file.space_before(member.key_start)..member.key_start];
    let layout = match space.rsplit_once('\n') {
        Some((_, indent)) => lines(file.text, indent, depth + 1),
        None => Layout::Line,
    };
    replaced(file.text, member, &value.render(&layout))
}

/// The text with another value of a member.
fn replaced(text: &str, member: &Member, value: &str) -> String {
    format!("{}{value}{}", &text[..member.value.start], &text[member.value.end..])
}

/// Inserts a member behind the last one of an object.
fn insert_last(file: &Blanked<'_>, object: &Object, depth: usize, key: &str, value: &Value) -> String {
    let last = object.members.last().expect("the object has members");
    let comma = file.comma_after(last.value.end);
    let at = file.after_comments_of_line(comma.map_or(last.value.end, |comma| comma + 1));
    let space = &file.text[file.space_before(last.key_start)..last.key_start];
    let ends_line =
        file.comments.iter().any(|comment| comment.end == at && file.text[comment.start..].starts_with("//"));
    let layout = match space.rsplit_once('\n') {
        Some((_, indent)) => lines(file.text, indent, depth + 1),
        None if ends_line => lines(file.text, line_indent(file.text, last.key_start), depth + 1),
        None => Layout::Line,
    };
    let start = if layout == Layout::Line { " ".to_owned() } else { layout.start() };
    let member = format!("{start}{}: {}", quoted(key), value.render(&layout));
    match comma {
        Some(_) => format!("{}{member},{}", &file.text[..at], &file.text[at..]),
        None => {
            let (before, between) = file.text[..at].split_at(last.value.end);
            format!("{before},{between}{member}{}", &file.text[at..])
        }
    }
}

/// Inserts a member into an empty object. Returns the white space before the bracket as well.
fn insert_first(file: &Blanked<'_>, object: &Object, depth: usize, key: &str, value: &Value) -> (String, String) {
    let close = object.span.end - 1;
    let at = file.after_comments(object.span.start + 1..close);
    let indent = line_indent(file.text, object.span.start);
    let outer = lines(file.text, indent, depth);
    let layout = outer.deeper();
    let padding = if file.text[at..close].contains('\n') { String::new() } else { outer.start() };
    let member = format!("{}{}: {}", layout.start(), quoted(key), value.render(&layout));
    (format!("{}{member}{padding}{}", &file.text[..at], &file.text[at..]), padding)
}

/// Removes a member, the white space before it, and one comma.
fn remove_member(file: &Blanked<'_>, object: &Object, key: &str) -> String {
    let at = object.members.iter().position(|member| member.key == key).expect("the member was found");
    let member = &object.members[at];
    let entry = file.space_before(member.key_start)..member.value.end;
    let comma = match file.comma_after(entry.end) {
        Some(comma) => Some(comma),
        None if at > 0 => file.comma_after(object.members[at - 1].value.end),
        None => None,
    };
    let mut cuts: Vec<Range<usize>> = comma.map(|comma| comma..comma + 1).into_iter().chain([entry]).collect();
    cuts.sort_by_key(|cut| cut.start);
    let mut text = String::new();
    let mut copied = 0;
    for cut in cuts {
        text.push_str(&file.text[copied..cut.start]);
        copied = cut.end;
    }
    text.push_str(&file.text[copied..]);
    text
}

/// The layout of members that begin on separate lines with this indentation, at this depth.
fn lines(text: &str, indent: &str, depth: usize) -> Layout {
    let unit = match indent.len().checked_div(depth) {
        _ if indent.starts_with('\t') => "\t",
        Some(width) if width > 0 && width * depth == indent.len() => &indent[..width],
        _ => unit(text),
    };
    Layout::Lines { newline: newline(text).into(), unit: unit.into(), indent: indent.into() }
}

/// The indentation of the first line that has one.
fn unit(text: &str) -> &str {
    let mut indents = text.lines().skip(1).map(|line| &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]);
    indents.find(|indent| !indent.is_empty() && indent.len() <= 8).unwrap_or("  ")
}

/// The white space at the beginning of the line of a position.
fn line_indent(text: &str, at: usize) -> &str {
    let start = text[..at].rfind('\n').map_or(0, |newline| newline + 1);
    let line = &text[start..at];
    &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
}

/// The end of a line in this text.
fn newline(text: &str) -> &'static str {
    match text.find('\n') {
        Some(at) if text[..at].ends_with('\r') => "\r\n",
        _ => "\n",
    }
}
