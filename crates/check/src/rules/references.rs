//! References between schemas.

use std::collections::{HashMap, HashSet};
use std::ptr;

use protomcp_schema::References;
use serde_json::Value;

use super::cycles::on_cycles;
use super::walk::{REFERENCES, first, reference, walk};
use crate::fault::Fault;

pub(super) fn any(input: &Value) -> Option<Fault> {
    first(input, "write the schema in place of the reference, or serve with --for", |_, schema| {
        Some(format!("a reference to {}", reference(schema)?))
    })
}

pub(super) fn output(output: &Value) -> Option<Fault> {
    let mut found = None;
    walk(output, "/outputSchema", &mut |pointer, schema| {
        let words = REFERENCES.into_iter().chain(["$defs", "definitions"]);
        let word = words.into_iter().find(|word| schema.get(*word).is_some());
        if let (None, Some(word)) = (&found, word) {
            let fix = "write the schema in place of the reference, or serve with --for";
            found = Some(Fault::new(pointer, format!("the output schema has {word}"), fix));
        }
    });
    found
}

pub(super) fn dangling(input: &Value) -> Option<Fault> {
    let references = References::of(input);
    first(input, "correct the reference", |_, schema| {
        let reference = reference(schema)?;
        references.target(reference).is_none().then(|| format!("the reference {reference} leads nowhere"))
    })
}

pub(super) fn recursion(input: &Value) -> Option<Fault> {
    let references = References::of(input);
    let recursive = recursive(input, &references);
    let leads_back =
        |reference: &str| references.target(reference).is_some_and(|target| recursive.contains(&ptr::from_ref(target)));
    first(input, "end the nesting after a few levels", |pointer, schema| {
        let reference = reference(schema)?;
        let inside =
            reference == "#" || pointer.starts_with(&format!("/inputSchema{}/", reference.trim_start_matches('#')));
        (inside || leads_back(reference)).then(|| format!("the reference {reference} leads back to itself"))
    })
}

/// The targets from which references lead to them again, as places in memory.
fn recursive<'a>(root: &'a Value, references: &References<'a>) -> HashSet<*const Value> {
    let mut nodes = vec![root];
    let mut numbers = HashMap::from([(ptr::from_ref(root), 0)]);
    let mut edges = Vec::new();
    while let Some(node) = nodes.get(edges.len()).copied() {
        let mut targets = Vec::new();
        walk(node, "", &mut |_, inner| {
            let target = reference(inner).and_then(|reference| references.target(reference));
            targets.extend(target.map(|target| {
                *numbers.entry(ptr::from_ref(target)).or_insert_with(|| {
                    nodes.push(target);
                    nodes.len() - 1
                })
            }));
        });
        edges.push(targets);
    }
    let is_on_cycle = on_cycles(&edges);
    numbers.into_iter().filter(|(_, number)| is_on_cycle[*number]).map(|(node, _)| node).collect()
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
        assert!(dangling(&json!({"items": {"$dynamicRef": "#a"}})).is_some());
        for anchor in ["$anchor", "$dynamicAnchor"] {
            assert!(dangling(&json!({"items": {"$ref": "#a"}, "$defs": {"x": {anchor: "a"}}})).is_none(), "{anchor}");
        }
        let anchored =
            json!({"items": {"$ref": "#a"}, "$defs": {"x": {"$anchor": "a", "items": {"$ref": "#/$defs/x"}}}});
        assert!(recursion(&anchored).is_some());
    }

    /// A search from each reference would take hours.
    #[test]
    fn a_chain_has_an_end_and_a_ring_has_none() {
        const LENGTH: usize = 5_000;
        let named = |prefix: &str, schema: &dyn Fn(usize) -> Value| -> Value {
            (0..LENGTH).map(|n| (format!("{prefix}{n}"), schema(n))).collect::<serde_json::Map<_, _>>().into()
        };
        let to = |n: usize| json!({"$ref": format!("#/$defs/d{n}")});
        let properties = named("p", &to);
        let mut schema = json!({"properties": properties, "$defs": named("d", &|n| json!({"items": to(n + 1)}))});
        schema["$defs"][format!("d{}", LENGTH - 1)] = json!({});
        assert!(recursion(&schema).is_none());
        schema["$defs"][format!("d{}", LENGTH - 1)] = json!({"items": to(0)});
        assert!(recursion(&schema).is_some());
    }
}
