//! The entry of a bundle for the public registry of servers.

use serde_json::{Value, json};

use crate::bundle::{bundle, json_of, project};

#[test]
fn the_registry_gets_the_checksum_of_the_bundle() {
    let sandbox = project();
    let url = "https://example.com/greet.mcpb";
    let report = bundle(&sandbox, &["--registry-name", "io.github.ann/greet", "--url", url]);
    let entry = json_of(&sandbox.path("server.json"));
    let package = &entry["packages"][0];
    assert_eq!((&entry["name"], &package["identifier"]), (&json!("io.github.ann/greet"), &json!(url)));
    let sum = package["fileSha256"].as_str().expect("it has a checksum");
    assert!(sum.len() == 64 && report.contains(&format!("sha256 {sum}\n")), "{report}");
    assert_eq!(package["environmentVariables"][0]["isSecret"], true);
    assert_eq!(faults(&entry), Vec::<String>::new());
    for (place, value, fault) in [
        ("/name", json!("greet"), "name"),
        ("/version", json!("1.x"), "version"),
        ("/description", json!(""), "description"),
        ("/packages/0/fileSha256", json!("A"), "fileSha256"),
        ("/packages/0/identifier", json!(""), "identifier"),
        ("/packages/0/registryType", json!("zip"), "registryType"),
        ("/packages/0/transport/type", json!("pipe"), "transport"),
        ("/packages/0/environmentVariables/0/isSecret", json!("yes"), "isSecret"),
    ] {
        let mut wrong = entry.clone();
        *wrong.pointer_mut(place).expect("it is there") = value;
        assert_eq!(faults(&wrong), [fault]);
    }
}

/// The faults of an entry of the registry, by the rules of its schema for the members that are written:
/// `https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json`, definitions ServerDetail, Package,
/// StdioTransport and KeyValueInput.
fn faults(entry: &Value) -> Vec<String> {
    let mut found = Vec::new();
    let mut rule = |name: &str, holds: bool| found.extend((!holds).then(|| name.to_owned()));
    let text = |value: &Value, lengths: std::ops::RangeInclusive<usize>| {
        value.as_str().is_some_and(|text| lengths.contains(&text.chars().count()))
    };
    let has_only = |value: &Value, names: &[&str]| {
        value.as_object().is_some_and(|members| members.keys().all(|name| names.contains(&name.as_str())))
    };
    let made_of = |part: &str, more: &str| {
        !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric() || more.contains(c))
    };
    rule("members", has_only(entry, &["$schema", "name", "description", "version", "packages"]));
    rule("$schema", entry["$schema"] == "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json");
    // ^[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+$
    let parts = entry["name"].as_str().and_then(|name| name.split_once('/'));
    let has_form = parts.is_some_and(|(space, name)| made_of(space, ".-") && made_of(name, "._-"));
    rule("name", has_form && text(&entry["name"], 3..=200));
    rule("description", text(&entry["description"], 1..=100));
    let version = entry["version"].as_str().unwrap_or_default();
    let is_range = version.contains(['^', '~', '<', '>', '=', '*']) || version.split('.').any(|part| part == "x");
    rule("version", text(&entry["version"], 1..=255) && !is_range && version != "latest");
    for package in entry["packages"].as_array().into_iter().flatten() {
        let members = ["registryType", "identifier", "fileSha256", "transport", "environmentVariables"];
        rule("package", has_only(package, &members));
        rule("registryType", package["registryType"] == "mcpb");
        rule("identifier", text(&package["identifier"], 1..=usize::MAX));
        let sum = package["fileSha256"].as_str().unwrap_or_default();
        let is_hexadecimal = sum.chars().all(|c| matches!(c, '0'..='9' | 'a'..='f'));
        rule("fileSha256", sum.len() == 64 && is_hexadecimal);
        rule("transport", package["transport"] == json!({"type": "stdio"}));
        for variable in package["environmentVariables"].as_array().into_iter().flatten() {
            rule("variable", has_only(variable, &["name", "description", "isRequired", "isSecret"]));
            rule("name of a variable", text(&variable["name"], 1..=usize::MAX) && variable["description"].is_string());
            rule("isRequired", variable["isRequired"].is_boolean());
            rule("isSecret", variable["isSecret"].is_boolean());
        }
    }
    found
}
