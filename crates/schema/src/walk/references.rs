//! References between the parts of a schema.

use std::collections::HashMap;

use jsonschema::Draft;
use percent_encoding::percent_decode_str;
use serde_json::Value;

use crate::reference::local_fragment;

/// Keywords that hold values, in which nothing is a schema.
const DATA: [&str; 5] = ["const", "enum", "default", "examples", "example"];
/// Keywords with schemas by name, which may be `default`.
const NAMED: [&str; 6] =
    ["$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties", "properties"];

/// The parts of a schema that others refer to. The schema is read once, for any number of references.
///
/// ```
/// use protomcp_schema::References;
/// use serde_json::json;
///
/// let schema = json!({"items": {"$ref": "#word"}, "$defs": {"a b": {"$anchor": "word", "type": "string"}}});
/// let references = References::of(&schema);
/// assert_eq!(references.target("#word"), schema.pointer("/$defs/a b"));
/// assert_eq!(references.target("#/$defs/a%20b"), schema.pointer("/$defs/a b"));
/// assert_eq!(references.target("#number"), None);
/// ```
#[derive(Debug)]
pub struct References<'a> {
    /// The whole, and the parts that are separate documents, with their names.
    documents: Vec<(&'a str, &'a Value)>,
    /// The parts with a name in their document.
    anchors: HashMap<&'a str, Vec<&'a Value>>,
}

impl<'a> References<'a> {
    /// The references of a schema, whose `$schema` names the dialect.
    #[must_use]
    pub fn of(root: &'a Value) -> Self {
        Self::new(root, Draft::default().detect(root))
    }

    pub(crate) fn new(root: &'a Value, draft: Draft) -> Self {
        let id = if draft == Draft::Draft4 { "id" } else { "$id" };
        let name = root.get(id).and_then(Value::as_str).unwrap_or_default();
        let mut references = Self { documents: vec![(name, root)], anchors: HashMap::new() };
        let mut rest = vec![(root, true)];
        while let Some((part, has_keywords)) = rest.pop() {
            match part {
                Value::Object(members) => {
                    for (keyword, value) in members {
                        match value {
                            Value::String(name) if keyword == id => references.name(name, part),
                            Value::String(name) if keyword == "$anchor" || keyword == "$dynamicAnchor" => {
                                references.anchors.entry(name).or_default().push(part);
                            }
                            Value::Object(_) | Value::Array(_) if has_keywords && DATA.contains(&keyword.as_str()) => {}
                            Value::Object(_) | Value::Array(_) => {
                                rest.push((value, !(has_keywords && NAMED.contains(&keyword.as_str()))));
                            }
                            _ => {}
                        }
                    }
                }
                Value::Array(elements) => rest.extend(elements.iter().map(|element| (element, true))),
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

    /// The part that a reference leads to: `#/$defs/a%20b` by its place, `#name` by its `$anchor`. `None` for other documents,
    /// if there is none, and if several parts have the name.
    #[must_use]
    pub fn target(&self, reference: &str) -> Option<&'a Value> {
        let fragment = local_fragment(reference)?;
        if fragment.is_empty() || fragment.starts_with('/') {
            self.documents[0].1.pointer(&fragment)
        } else {
            match self.anchors.get(&*fragment)?[..] {
                [part] => Some(part),
                _ => None,
            }
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_reference_leads_to_a_place_or_a_name() {
        let schema = json!({
            "$defs": {"a b": {"$anchor": "n"}, "list": {"properties": {"default": {"items": {"$dynamicAnchor": "d"}}}}},
            "anyOf": [{"$anchor": "twice"}, {"$anchor": "twice"}],
            "enum": [{"$anchor": "data"}],
            "default": {"$anchor": "data"},
        });
        let references = References::of(&schema);
        for (reference, place) in [
            ("#", Some("")),
            ("#/$defs/a%20b", Some("/$defs/a b")),
            ("#n", Some("/$defs/a b")),
            ("#d", Some("/$defs/list/properties/default/items")),
            ("#data", None),
            ("#twice", None),
            ("#/$defs/c", None),
            ("other.json#n", None),
        ] {
            assert_eq!(references.target(reference), place.and_then(|place| schema.pointer(place)), "{reference}");
        }
    }
}
