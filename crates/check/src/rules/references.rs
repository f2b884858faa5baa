//! References between schemas.

use protomcp_schema::local_fragment;
use serde_json::Value;

use super::walk::{first, walk};
use crate::fault::Fault;

pub(super) fn any(input: &Value) -> Option<Fault> {
    first(input, "write the schema in place of the reference, or serve with --for", |_, schema| {
        Some(format!("a reference to {}", schema["$ref"].as_str()?))
    })
}

pub(super) fn output(output: &Value) -> Option<Fault> {
    let mut found = None;
    walk(output, "/outputSchema", &mut |pointer, schema| {
        let word = ["$ref", "$defs", "definitions"].into_iter().find(|word| schema.get(*word).is_some());
        if let (None, Some(word)) = (&found, word) {
            let fix = "write the schema in place of the reference, or serve with --for";
            found = Some(Fault::new(pointer, format!("the output schema has {word}"), fix));
        }
    });
    found
}

pub(super) fn dangling(input: &Value) -> Option<Fault> {
    first(input, "correct the reference", |_, schema| {
        let reference = schema["$ref"].as_str()?;
        target(input, reference).is_none().then(|| format!("the reference {reference} leads nowhere"))
    })
}

pub(super) fn recursion(input: &Value) -> Option<Fault> {
    first(input, "end the nesting after a few levels", |pointer, schema| {
        let reference = schema["$ref"].as_str()?;
        let inside =
            reference == "#" || pointer.starts_with(&format!("/inputSchema{}/", reference.trim_start_matches('#')));
        (inside || leads_back(input, reference)).then(|| format!("the reference {reference} leads back to itself"))
    })
}

/// True if following the references of a target leads to it again.
fn leads_back(root: &Value, reference: &str) -> bool {
    let mut seen: Vec<&str> = Vec::new();
    let mut next = vec![reference];
    while let Some(current) = next.pop() {
        let Some(schema) = target(root, current) else { continue };
        let mut found = Vec::new();
        walk(schema, "", &mut |_, inner| found.extend(inner["$ref"].as_str()));
        if found.contains(&reference) {
            return true;
        }
        next.extend(found.into_iter().filter(|found| !seen.contains(found)));
        seen.push(current);
        next.retain(|found| !seen.contains(found));
    }
    false
}

/// The schema of a reference within the same document.
fn target<'a>(root: &'a Value, reference: &str) -> Option<&'a Value> {
    match &*local_fragment(reference)? {
        "" => Some(root),
        pointer if pointer.starts_with('/') => root.pointer(pointer),
        // An anchor may be anywhere.
        anchor => {
            let mut found = None;
            walk(root, "", &mut |_, schema| {
                if schema["$anchor"] == anchor {
                    found = Some(schema);
                }
            });
            found
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn cycles_are_found_through_other_references() {
        let tree = json!({"properties": {"root": {"$ref": "#/$defs/node"}}, "$defs": {
            "node": {"properties": {"next": {"$ref": "#/$defs/list"}}}, "list": {"items": {"$ref": "#/$defs/node"}}}});
        assert!(recursion(&tree).is_some());
        assert!(recursion(&json!({"properties": {"self": {"$ref": "#"}}})).is_some());
        let flat = json!({"properties": {"a": {"$ref": "#/$defs/a"}, "b": {"$ref": "#/$defs/a"}}, "$defs": {"a": {}}});
        assert!(recursion(&flat).is_none() && dangling(&flat).is_none());
        assert!(dangling(&json!({"items": {"$ref": "#/$defs/a"}})).is_some());
        for (reference, name) in [("#/%24defs/%C3%BC", "ü"), ("#/$defs/a%7E1b", "a/b"), ("#/$defs/x%2520y", "x%20y")] {
            assert!(dangling(&json!({"items": {"$ref": reference}, "$defs": {name: {}}})).is_none(), "{reference}");
        }
        assert!(dangling(&json!({"items": {"$ref": "#a"}, "$defs": {"x": {"$anchor": "a"}}})).is_none());
    }
}
