//! Objects of JSON with the positions of their members.

use std::collections::HashSet;
use std::fmt;
use std::ops::Range;

use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::document::comments::{Blanked, is_space, syntax};
use crate::document::edit::{EditError, Format};

/// A member of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Member {
    pub(crate) key: String,
    pub(crate) key_start: usize,
    pub(crate) value: Range<usize>,
}

/// An object: its position, brackets included, and its members.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Object {
    pub(crate) span: Range<usize>,
    pub(crate) members: Vec<Member>,
}

impl Object {
    /// The member with this key.
    pub(crate) fn member(&self, key: &str) -> Result<Option<&Member>, EditError> {
        let mut found = self.members.iter().filter(|member| member.key == key);
        let first = found.next();
        if found.next().is_some() { Err(EditError::Twice(key.to_owned())) } else { Ok(first) }
    }
}

impl Blanked<'_> {
    /// The value of the whole text, which is checked to its end. `None` if there is none.
    pub(crate) fn root(&self) -> Result<Option<Object>, EditError> {
        if self.is_empty() {
            return Ok(None);
        }
        let whole: &RawValue = serde_json::from_str(&self.json).map_err(|error| self.error(&error))?;
        self.object(self.span(whole), "the file").map(Some)
    }

    /// The object at a position. `what` is its name in an error.
    pub(crate) fn object(&self, span: Range<usize>, what: &str) -> Result<Object, EditError> {
        let json = &self.json[span.clone()];
        if !json.starts_with('{') {
            return Err(EditError::NotAnObject(what.to_owned()));
        }
        let mut deserializer = serde_json::Deserializer::from_str(json);
        let values = deserializer.deserialize_map(Values).map_err(|error| {
            let at = offset(json, error.line(), error.column());
            syntax(self.text, span.start + at, reason(&error))
        })?;
        let mut at = span.start + 1;
        let mut members = Vec::new();
        for (key, value) in values {
            let key_start = self.next(at);
            let value = self.span(value);
            at = value.end;
            members.push(Member { key, key_start, value });
        }
        Ok(Object { span, members })
    }

    /// The object of servers, if there is one.
    pub(crate) fn container(&self, keys: &[&str]) -> Result<Option<Object>, EditError> {
        let Some(mut object) = self.root()? else { return Ok(None) };
        for key in keys {
            let Some(member) = object.member(key)?.filter(|member| !self.is_null(member)) else { return Ok(None) };
            object = self.object(member.value.clone(), &format!("\"{key}\""))?;
        }
        Ok(Some(object))
    }

    /// True if the value of a member is null, which counts as absent.
    pub(crate) fn is_null(&self, member: &Member) -> bool {
        self.json.get(member.value.clone()) == Some("null")
    }

    fn span(&self, raw: &RawValue) -> Range<usize> {
        let start = raw.get().as_ptr() as usize - self.json.as_ptr() as usize;
        start..start + raw.get().len()
    }

    /// The next position behind white space and a comma.
    fn next(&self, at: usize) -> usize {
        let bytes = self.json.as_bytes();
        (at..bytes.len()).find(|&next| !is_space(bytes[next]) && bytes[next] != b',').unwrap_or(at)
    }

    fn error(&self, error: &serde_json::Error) -> EditError {
        let at = offset(&self.json, error.line(), error.column());
        let bytes = self.json.as_bytes();
        let is_bracket = matches!(bytes.get(at), Some(b'}' | b']'));
        let before = bytes[..at].iter().rev().find(|&&byte| !is_space(byte));
        let is_comma = is_bracket && before == Some(&b',');
        let reason = if is_comma { "there is a comma before this bracket".to_owned() } else { reason(error) };
        syntax(self.text, at, reason)
    }
}

/// The servers of a text.
pub(crate) fn servers(
    text: &str,
    format: Format,
    keys: &[&str],
) -> Result<Vec<(String, serde_json::Value)>, EditError> {
    let blanked = Blanked::new(text, format)?;
    let Some(container) = blanked.container(keys)? else { return Ok(Vec::new()) };
    check_names(&container.members)?;
    let entry = |member: Member| {
        let value = serde_json::from_str(&blanked.json[member.value.clone()]).map_err(|error| {
            let at = offset(&blanked.json[member.value.clone()], error.line(), error.column());
            syntax(text, member.value.start + at, reason(&error))
        })?;
        Ok((member.key, value))
    };
    container.members.into_iter().filter(|member| !blanked.is_null(member)).map(entry).collect()
}

/// Refuses two members of one name: readers may disagree on the one that counts.
fn check_names(members: &[Member]) -> Result<(), EditError> {
    let mut names = HashSet::new();
    match members.iter().find(|member| !names.insert(member.key.as_str())) {
        Some(twice) => Err(EditError::Twice(twice.key.clone())),
        None => Ok(()),
    }
}

/// The position of a line and a column.
fn offset(text: &str, line: usize, column: usize) -> usize {
    let start: usize = text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
    (start + column.saturating_sub(1)).min(text.len())
}

/// The message without its position.
fn reason(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.rsplit_once(" at line ").map_or(text.clone(), |(reason, _)| reason.to_owned())
}

/// Reads the members of an object without reading their values.
struct Values;

impl<'de> Visitor<'de> for Values {
    type Value = Vec<(String, &'de RawValue)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members = Vec::new();
        while let Some(member) = map.next_entry()? {
            members.push(member);
        }
        Ok(members)
    }
}
