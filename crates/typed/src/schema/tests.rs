//! Inferred schemas, and their changes.

use std::collections::BTreeMap;

use protomcp_schema::Validator;
use serde::{Deserialize, Serialize};

use super::*;
use crate::definition::DefinitionError;
use crate::schema::edit::{SchemaPatch, property, root};

#[derive(Deserialize, Serialize, JsonSchema)]
#[expect(dead_code, reason = "only its schema matters")]
struct Args {
    /// The name of the item.
    name: String,
    #[serde(default)]
    count: u32,
    nick: Option<String>,
    #[serde(skip)]
    password: Vec<u8>,
    items: Vec<Item>,
    by_name: BTreeMap<String, Item>,
    mode: Mode,
    next: Option<Box<Item>>,
}

#[derive(Deserialize, Serialize, JsonSchema)]
struct Item {
    status: i64,
}

#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Mode {
    Fast,
    Slow,
}

#[derive(Deserialize, Serialize, JsonSchema)]
struct Tree {
    children: Vec<Self>,
}

#[derive(Deserialize, Serialize, JsonSchema)]
enum Sum {
    Number(f64),
    Of(Vec<Self>),
}

fn args() -> Value {
    infer::<Args>(Direction::In)
}

#[test]
fn a_struct_becomes_an_object_in_its_own_order() {
    let schema = args();
    let names: Vec<_> = schema["properties"].as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(names, ["name", "count", "nick", "items", "by_name", "mode", "next"]);
    assert_eq!(schema["required"], json!(["name", "items", "by_name", "mode"]), "defaults and options may be left out");
    assert_eq!(schema["properties"]["name"], json!({"description": "The name of the item.", "type": "string"}));
    assert_eq!(schema["properties"]["count"]["minimum"], 0);
    assert_eq!(schema["properties"]["count"].get("format"), None, "formats of Rust are not formats of JSON Schema");
    assert_eq!(schema["properties"]["items"]["items"]["properties"]["status"], json!({"type": "integer"}));
    assert_eq!(choices(&schema["properties"]["mode"]), ["fast", "slow"]);
    for gone in ["title", "$schema", "$defs"] {
        assert_eq!(schema.get(gone), None, "{gone}");
    }
}

#[test]
fn a_union_with_an_open_branch_has_no_choices() {
    let (named, null) = (json!({"enum": ["a", "b"]}), json!({"type": "null"}));
    for (branches, expected) in [
        (vec![named.clone(), null.clone()], vec!["a", "b"]),
        (vec![named.clone(), json!({"const": 1}), json!({"type": "boolean"})], vec!["a", "b", "1", "true", "false"]),
        (vec![named.clone(), json!({"type": "string"})], vec![]),
        (vec![json!({"anyOf": [named, {}]}), null], vec![]),
    ] {
        assert_eq!(choices(&json!({"anyOf": branches})), expected, "{branches:?}");
    }
}

#[test]
fn only_recursive_types_are_references() {
    let schema = infer::<Tree>(Direction::In);
    assert!(schema["properties"]["children"]["items"].get("$ref").is_some(), "{schema}");
    assert!(Validator::compile(schema.clone()).unwrap().is_valid(&json!({"children": [{"children": []}]})));
    let wrapped = wrap(infer::<Vec<Tree>>(Direction::Out));
    let check = Validator::compile(wrapped).unwrap();
    assert!(check.is_valid(&json!({"result": [{"children": []}]})));
    assert!(!check.is_valid(&json!({"result": [{"children": 5}]})));
    let check = Validator::compile(wrap(infer::<Sum>(Direction::Out))).unwrap();
    assert!(check.is_valid(&json!({"result": {"Of": [{"Number": 1}, {"Of": []}]}})));
    assert!(!check.is_valid(&json!({"result": {"Of": [{"Number": "one"}]}})));
    assert!(!check.is_valid(&json!({"result": {"Of": [{"result": {"Number": 1}}]}})));
}

#[test]
fn arguments_must_be_an_object() {
    assert_eq!(into_object(infer::<Value>(Direction::In)).unwrap(), json!({"type": "object"}));
    assert_eq!(into_object(infer::<Option<Item>>(Direction::In)).unwrap()["type"], "object");
    assert!(into_object(infer::<BTreeMap<String, i32>>(Direction::In)).is_some());
    for none in [infer::<String>(Direction::In), infer::<Vec<i32>>(Direction::In), infer::<i32>(Direction::In)] {
        assert_eq!(into_object(none), None);
    }
}

#[test]
fn closing_forbids_unknown_members_at_every_depth() {
    let mut schema = args();
    close(&mut schema);
    assert_eq!(schema["additionalProperties"], json!(false));
    assert_eq!(schema["properties"]["items"]["items"]["additionalProperties"], json!(false));
    assert_eq!(schema["properties"]["by_name"]["additionalProperties"]["additionalProperties"], json!(false));
    // In addition to named members, a branch describes only a part of the object.
    let mut schema =
        json!({"type": "object", "properties": {"a": {}}, "oneOf": [{"type": "object", "properties": {"b": {}}}]});
    let before = schema.clone();
    close(&mut schema);
    assert_eq!(schema, before);
}

#[test]
fn edits_reach_every_depth() {
    for (edit, place, expected) in [
        (property("count").describe("size"), "/properties/count/description", json!("size")),
        (property("items").set("uniqueItems", true), "/properties/items/uniqueItems", json!(true)),
        (
            property("items").elements().property("status").one_of([0, 1]),
            "/properties/items/items/properties/status/enum",
            json!([0, 1]),
        ),
        (
            property("by_name").values().property("status").describe("s"),
            "/properties/by_name/additionalProperties/properties/status/description",
            json!("s"),
        ),
        (
            property("next").property("status").describe("n"),
            "/properties/next/properties/status/description",
            json!("n"),
        ),
        (property("name").replace(json!({"const": "x"})), "/properties/name", json!({"const": "x"})),
        (property("count").required(true), "/required", json!(["name", "items", "by_name", "mode", "count"])),
        (property("mode").required(false), "/required", json!(["name", "items", "by_name"])),
        (
            property("items").elements().property("status").required(false),
            "/properties/items/items/required",
            Value::Null,
        ),
        (property("name").remove("description"), "/properties/name", json!({"type": "string"})),
        (root().set("minProperties", 1), "/minProperties", json!(1)),
    ] {
        let mut schema = args();
        edit.apply(&mut schema, "t").unwrap();
        assert_eq!(schema.pointer(place).cloned().unwrap_or_default(), expected, "{edit:?}");
    }
    let mut tree = infer::<Tree>(Direction::In);
    property("children").elements().property("children").describe("more").apply(&mut tree, "t").unwrap();
    assert_eq!(tree["properties"]["children"]["description"], "more", "a reference is followed");
}

#[test]
fn an_edit_of_a_missing_place_names_the_last_existing_one() {
    let fails = |edit: SchemaPatch| match edit.apply(&mut args(), "t").unwrap_err() {
        DefinitionError::NoSuchPlace { place, why, .. } => format!("{place} {why}"),
        other => panic!("{other}"),
    };
    assert_eq!(fails(property("cuont").describe("")), "/ no property \"cuont\"; did you mean \"count\"?");
    assert_eq!(fails(property("items").elements().property("x")), "/items/[] no property \"x\"");
    assert_eq!(fails(property("name").elements().describe("")), "/name nothing with \"items\"");
    assert_eq!(fails(root().required(true)), "/ only a property can be required");
}
