//! The work of a walk, counted.

use jsonschema::Draft;
use serde_json::{Value, json};

use crate::explain::explain;
use crate::quote::Quote;
use crate::walk::{MAX_STEPS, Walk};

/// A tree of this many nodes below one another, whose innermost fits no branch.
fn tree(depth: usize, node: impl Fn(&Value) -> Value) -> Value {
    (0..depth).fold(json!({"op": 7}), |inner, _| node(&inner))
}

fn tagged(inner: &Value) -> Value {
    json!({"op": "and", "kids": [inner]})
}

/// The comparisons that explain a value, its faults, and the description.
fn measure(schema: &Value, value: &Value) -> (usize, usize, String) {
    let draft = jsonschema::validator_for(schema).unwrap().draft();
    let mut walk = Walk::new(schema, draft, MAX_STEPS);
    let count = walk.faults(schema, value).count();
    (MAX_STEPS - walk.steps(), count, explain(schema, draft, value, Quote::Values).to_string())
}

/// Branches of a node: with a tag each, and without one.
fn branches(inner: &Value) -> [Value; 2] {
    let node = |op: Value| {
        json!({
            "type": "object",
            "properties": {"op": op, "kids": {"type": "array", "items": inner}},
            "required": ["op", "kids"],
        })
    };
    let tagged = ["and", "or", "not"].map(|op| node(json!({"const": op})));
    let alike = [(); 3].map(|()| node(json!({"type": "string"})));
    [json!(tagged), json!(alike)]
}

#[test]
fn a_hostile_pair_of_schema_and_value_takes_bounded_work() {
    let inner = json!({"$ref": "#/$defs/node"});
    let mut rows = Vec::new();
    for branches in branches(&inner) {
        for keyword in ["anyOf", "oneOf"] {
            rows.push((keyword, json!({"$defs": {"node": {keyword: branches}}, "$ref": "#/$defs/node"})));
        }
        let node = json!({"allOf": [{"anyOf": branches}, {"anyOf": branches}, {"oneOf": branches}]});
        rows.push(("allOf", json!({"$defs": {"node": node}, "$ref": "#/$defs/node"})));
        let node = json!({"if": branches[0], "then": branches[1], "else": {"anyOf": branches}});
        rows.push(("if", json!({"$defs": {"node": node}, "$ref": "#/$defs/node"})));
        let node = json!({"not": {"not": {"anyOf": branches}}, "anyOf": branches});
        rows.push(("not", json!({"$defs": {"node": node}, "$ref": "#/$defs/node"})));
    }
    for branches in branches(&json!({"$dynamicRef": "#node"})) {
        let node = json!({"$dynamicAnchor": "node", "anyOf": branches});
        rows.push(("$dynamicRef", json!({"$defs": {"node": node}, "$ref": "#/$defs/node"})));
    }
    for (name, schema) in rows {
        for depth in [4, 16, 60] {
            let value = tree(depth, tagged);
            let (steps, count, text) = measure(&schema, &value);
            assert!(steps <= 120 * (depth + 1), "{name} at depth {depth}: {steps} comparisons");
            assert!(count > 0 && text.contains("op"), "{name} at depth {depth}: {count} faults, {text}");
            assert!(text.len() < 4096, "{name} at depth {depth}: {} bytes", text.len());
        }
    }
}

#[test]
fn a_wide_value_takes_no_more_than_the_budget() {
    let any = json!({"anyOf": [{"type": "integer"}, {"type": "object", "required": ["x"]}]});
    for (name, schema, value) in [
        ("elements", json!({"items": any}), json!(vec!["x"; 200_000])),
        ("objects", json!({"items": any}), Value::from(vec![json!({}); 50_000])),
        (
            "members",
            json!({"additionalProperties": any, "patternProperties": {"^(a+)+$": false}}),
            (0..50_000).map(|index| (format!("{}{index}", "a".repeat(30)), json!("x"))).collect(),
        ),
        ("equal", json!({"uniqueItems": true, "items": any}), json!(vec!["x"; 100_000])),
        (
            "branches",
            json!({"items": {"oneOf": (0..1000).map(|index| json!({"minLength": 100 + index})).collect::<Vec<_>>()}}),
            json!(vec!["x"; 1000]),
        ),
    ] {
        let (steps, count, text) = measure(&schema, &value);
        assert!(steps <= MAX_STEPS && count > 0, "{name}: {steps} comparisons, {count} faults");
        assert!(text.len() < 4096, "{name}: {} bytes", text.len());
    }
}

#[test]
fn references_that_multiply_are_followed_once() {
    let pair = |next: usize| json!({"$ref": format!("#/$defs/d{next}")});
    let mut definitions: serde_json::Map<String, Value> =
        (0..60).map(|index| (format!("d{index}"), json!({"allOf": [pair(index + 1), pair(index + 1)]}))).collect();
    definitions.insert("d60".to_owned(), json!({"type": "integer"}));
    let schema = json!({"$defs": definitions, "$ref": "#/$defs/d0"});
    // The library would take 2^60 steps for it.
    let mut walk = Walk::new(&schema, Draft::Draft202012, MAX_STEPS);
    let value = json!("x");
    assert!(walk.faults(&schema, &value).count() > 0);
    assert!(MAX_STEPS - walk.steps() < 200);
    let mismatch = explain(&schema, Draft::Draft202012, &value, Quote::Values);
    assert_eq!(mismatch.faults, [r#"expected integer, got "x""#]);
}

/// The walk agrees with the library: if it is complete, it finds a fault exactly where the library finds one.
#[track_caller]
fn agrees(schema: &Value, values: &[Value]) {
    let validator = jsonschema::validator_for(schema).unwrap();
    for value in values {
        let mut walk = Walk::new(schema, validator.draft(), MAX_STEPS);
        let found = walk.faults(schema, value);
        if found.is_complete() {
            assert_eq!(found.count() == 0, validator.is_valid(value), "{value} in {schema}");
        } else {
            assert!(found.count() == 0 || !validator.is_valid(value), "{value} in {schema}");
        }
    }
}

#[test]
fn a_walk_finds_what_the_library_finds() {
    let values = [
        json!(null),
        json!(1),
        json!(-1.5),
        json!("a"),
        json!("abc"),
        json!([]),
        json!([1, "a"]),
        json!(["a", 1, null]),
        json!({}),
        json!({"a": 1}),
        json!({"a": "x", "b": [1]}),
        json!({"b": {"a": 1}, "x-1": 2}),
    ];
    for schema in [
        json!(true),
        json!(false),
        json!({"not": {"type": "string"}}),
        json!({"not": {}}),
        json!({"if": {"type": "object"}, "then": {"required": ["a"]}, "else": {"type": "string"}}),
        json!({"if": {"type": "object"}, "else": false}),
        json!({"oneOf": [{"type": "object"}, {"required": ["a"]}, {"minLength": 2}]}),
        json!({"anyOf": [{"type": "object", "required": ["b"]}, {"type": "array", "minItems": 1}]}),
        json!({"prefixItems": [{"type": "integer"}], "items": {"type": "string"}}),
        json!({"$schema": "http://json-schema.org/draft-07/schema#", "items": [{"type": "integer"}], "additionalItems": false}),
        json!({"$schema": "http://json-schema.org/draft-07/schema#", "$ref": "#/definitions/a", "type": "null", "definitions": {"a": {"type": "object"}}}),
        json!({"$schema": "http://json-schema.org/draft-07/schema#", "dependencies": {"a": ["b"], "b": {"required": ["a"]}}}),
        json!({"dependentSchemas": {"a": {"required": ["b"]}}, "dependentRequired": {"b": ["a"]}}),
        json!({"properties": {"a": {"type": "integer"}}, "patternProperties": {"^x-": {"type": "string"}}, "additionalProperties": {"type": "array"}}),
        json!({"properties": {"a": true}, "patternProperties": {"^x-": true}, "additionalProperties": false}),
        json!({"properties": {"a": {"$ref": "#/$defs/%C3%BC~1"}}, "$defs": {"ü/": {"type": "string"}}}),
        json!({"$ref": "#named", "$defs": {"x": {"$anchor": "named", "type": ["object", "null"]}}}),
        json!({"$defs": {"x": {"$id": "https://example.com/x", "$ref": "#/$defs/y", "$defs": {"y": {"type": "null"}}}}, "$ref": "https://example.com/x"}),
        json!({"contains": {"type": "integer"}, "maxContains": 1}),
        json!({"contains": {"anyOf": [{"type": "integer"}]}}),
        json!({"propertyNames": {"maxLength": 1}}),
        json!({"allOf": [{"properties": {"a": true}}], "unevaluatedProperties": false}),
        json!({"properties": {"a": true}, "unevaluatedProperties": false}),
        json!({"properties": {"a": {"type": "integer"}}, "additionalProperties": true, "unevaluatedProperties": false}),
        json!({"additionalProperties": {"type": "string"}, "unevaluatedProperties": false}),
        json!({"properties": {"a": {"$ref": "#/$defs/a"}}, "$defs": {"a": {"type": "string", "examples": [{"id": "x"}]}}}),
        json!({"$id": "https://example.com/s", "properties": {"a": {"$ref": "https://example.com/s#/$defs/a"}}, "$defs": {"a": {"type": "string"}}}),
        json!({"$schema": "http://json-schema.org/draft-07/schema#", "properties": {"a": {"$ref": "#a"}}, "definitions": {"x": {"$id": "#a", "type": "string"}}}),
        json!({"$schema": "http://json-schema.org/draft-04/schema#", "properties": {"a": {"$ref": "#/definitions/a"}}, "definitions": {"a": {"type": "string", "default": {"id": "x"}}}}),
        json!({"properties": {"b": {"$ref": "#"}}, "additionalProperties": {"type": "integer"}}),
        json!({"$schema": "https://json-schema.org/draft/2019-09/schema", "$recursiveAnchor": true, "additionalProperties": {"anyOf": [{"$recursiveRef": "#"}, {"type": "integer"}]}}),
        json!({"uniqueItems": true, "minItems": 1, "multipleOf": 0.5, "pattern": "^a+$", "enum": [[], "a", 1, {}]}),
    ] {
        agrees(&schema, &values);
    }
}

#[test]
fn the_end_of_a_long_place_is_named() {
    let inner = json!({"$ref": "#/$defs/node"});
    let [tagged_branches, _] = branches(&inner);
    let schema = json!({"$defs": {"node": {"anyOf": tagged_branches}}, "$ref": "#/$defs/node"});
    let text = explain(&schema, Draft::Draft202012, &tree(40, tagged), Quote::Values).to_string();
    assert!(text.starts_with("at …/") && text.contains("/kids/0/op: expected "), "{text}");
}

#[test]
fn options_and_names_cost_comparisons() {
    let options: Vec<String> = (0..256).map(|index| format!("Area/City{index}")).collect();
    let names: Vec<String> = (0..1_000).map(|index| format!("name{index}")).collect();
    for (name, schema, value) in [
        ("enum", json!({"items": {"enum": options}}), Value::from(vec!["Area/Citty1"; 20_000])),
        ("required", json!({"items": {"required": names}}), Value::from(vec![json!({"nam1": 1}); 5_000])),
        ("members", json!({"items": {"additionalProperties": false, "properties": {"x": true}}}), {
            let members: Value = (0..2_000).map(|index| (index.to_string(), json!(1))).collect();
            Value::from(vec![members; 1_000])
        }),
    ] {
        let mut walk = Walk::new(&schema, Draft::Draft202012, MAX_STEPS);
        let found = walk.faults(&schema, &value);
        assert!(found.count() > 0 && !found.is_complete() && walk.steps() == 0, "{name}: {} faults", found.count());
        let mismatch = explain(&schema, Draft::Draft202012, &value, Quote::Values);
        assert!(mismatch.faults.len() <= 8 && mismatch.to_string().len() < 4096, "{name}: {mismatch}");
    }
}

#[test]
fn explanations_name_values_that_would_fit() {
    let shapes = json!({"oneOf": [
        {"type": "object", "properties": {"kind": {"const": "circle"}, "r": {"type": "number"}}, "required": ["kind", "r"]},
        {"type": "object", "properties": {"kind": {"enum": ["square", "box"]}, "a": {"type": "number"}}, "required": ["kind"]},
    ]});
    for (schema, value, text) in [
        (shapes.clone(), json!({"kind": "foo"}), r#"at /kind: expected "circle" or "square" or "box", got "foo""#),
        (shapes.clone(), json!({"kind": "box", "a": ""}), r#"at /a: expected number, got """#),
        (shapes.clone(), json!({"kind": "circle"}), r#""r" is missing (number)"#),
        (shapes, json!(5), "expected object, got 5"),
        (json!({"dependentRequired": {"a": ["b"]}}), json!({"a": 1}), r#""b" is missing"#),
        (json!({"required": ["w"]}), json!({"r": 1}), r#""w" is missing"#),
        (
            json!({"contains": {"type": "integer"}, "minContains": 2}),
            json!([1]),
            r#"expected at least 2 elements that match {"type":"integer"}, got [1]"#,
        ),
        (
            json!({"additionalProperties": {"type": "integer"}}),
            json!({"a\n- b": ""}),
            r#"at /a\n- b: expected integer, got """#,
        ),
        (json!({"allOf": [{"required": ["a"]}, {"required": ["a"]}]}), json!({}), r#""a" is missing"#),
        (json!({"not": {"required": ["a"]}}), json!({"a": 1}), r#"must not match {"required":["a"]}, got {"a":1}"#),
        (
            json!({"oneOf": [{"minimum": 1}, {"maximum": 5}]}),
            json!(3),
            "matches more than one of the allowed forms, got 3",
        ),
        (json!({"const": {"a": 1}}), json!({"a": 2}), r#"expected {"a":1}, got {"a":2}"#),
    ] {
        assert_eq!(explain(&schema, Draft::Draft202012, &value, Quote::Values).to_string(), text);
    }
}

#[test]
fn a_long_chain_of_references_is_followed() {
    let link = |index: usize| (format!("d{index}"), json!({"allOf": [{"$ref": format!("#/$defs/d{}", index + 1)}]}));
    let mut definitions: serde_json::Map<String, Value> = (0..200).map(link).collect();
    definitions.insert("d200".to_owned(), json!({"type": "integer"}));
    let schema = json!({"$defs": definitions, "$ref": "#/$defs/d0"});
    let mismatch = explain(&schema, Draft::Draft202012, &json!("x"), Quote::Values);
    assert_eq!(mismatch.faults, [r#"expected integer, got "x""#]);
}
