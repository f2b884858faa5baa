//! References between the parts of a schema.

use std::collections::HashMap;

use jsonschema::Draft;
use percent_encoding::percent_decode_str;
use serde_json::Value;

/// Keywords that hold values, in which nothing is a schema.
const DATA: [&str; 5] = ["const", "enum", "default", "examples", "example"];

/// The parts of a schema that others refer to.
pub(crate) struct References<'a> {
    /// The whole, and the parts that are separate documents, with their names.
    documents: Vec<(&'a str, &'a Value)>,
    /// The parts with a name in their document.
    anchors: HashMap<&'a str, Vec<&'a Value>>,
}

impl<'a> References<'a> {
    pub(crate) fn new(root: &'a Value, draft: Draft) -> Self {
        let id = if draft == Draft::Draft4 { "id" } else { "$id" };
        let name = root.get(id).and_then(Value::as_str).unwrap_or_default();
        let mut references = Self { documents: vec![(name, root)], anchors: HashMap::new() };
        let mut rest = vec![root];
        while let Some(part) = rest.pop() {
            match part {
                Value::Object(members) => {
                    for (keyword, value) in members {
                        match value {
                            Value::String(name) if keyword == id => references.name(name, part),
                            Value::String(name) if keyword == "$anchor" || keyword == "$dynamicAnchor" => {
                                references.anchors.entry(name).or_default().push(part);
                            }
                            Value::Object(_) | Value::Array(_) if !DATA.contains(&keyword.as_str()) => rest.push(value),
                            _ => {}
                        }
                    }
                }
                Value::Array(elements) => rest.extend(elements),
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
            }
        }
        references
    }

    /// Takes down the identifier of a part. Until draft 7 one that is a fragment names the part in its document.
    fn name(&mut self, name: &'a str, part: &'a Value) {
        match name.strip_prefix('#') {
            Some(anchor) => self.anchors.entry(anchor).or_default().push(part),
            None if std::ptr::eq(self.documents[0].1, part) => {}
            None => self.documents.push((name, part)),
        }
    }

    /// The part that a reference means. `None` if it is in another document, or may be one of several.
    pub(crate) fn find(&self, reference: &str) -> Option<&'a Value> {
        match self.candidates(reference)[..] {
            [part] => Some(part),
            _ => None,
        }
    }

    /// The parts that a reference can mean: a JSON pointer in a fragment (RFC 6901, section 6) or a name, in any document
    /// that the reference can mean.
    pub(crate) fn candidates(&self, reference: &str) -> Vec<&'a Value> {
        let (document, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        let Ok(fragment) = percent_decode_str(fragment).decode_utf8() else { return Vec::new() };
        let is_pointer = fragment.is_empty() || fragment.starts_with('/');
        let mut found: Vec<&Value> = Vec::new();
        if !is_pointer {
            found.extend(self.anchors.get(fragment.as_ref()).into_iter().flatten());
        }
        for (name, root) in &self.documents {
            if is_pointer && (document.is_empty() || last(document) == last(name)) {
                found.extend(root.pointer(&fragment));
            }
        }
        found.dedup_by(|one, other| std::ptr::eq(*one, *other));
        found
    }
}

/// The last segment of an identifier: the names in one document are relative or not.
fn last(name: &str) -> &str {
    let name = name.split('#').next().unwrap_or_default().trim_end_matches('/');
    name.rsplit('/').next().unwrap_or_default()
}
