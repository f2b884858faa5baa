//! The losses that a host of JSON-RPC sees at a server behind proto-mcp. The official client visits a server that uses
//! what MCP has, directly and through proto-mcp; the differences are the table between `<!-- losses` markers of
//! `docs/proto-mcp.md`. `UPDATE_LOSSES=1 scripts/run-tests 'test(/^proto_upstreams::losses/)'` writes it.

use std::collections::BTreeMap;
use std::fs;

use protomcp_conformance::{Sandbox, peers, pmcp, root};
use protomcp_testing::assert_committed;
use serde_json::{Value, json};

use super::{Server, official};

/// The server.
const RICH: &str = include_str!("../../hosts/rich.py");

const BEGIN: &str = "<!-- losses: made by conformance/tests/proto_upstreams/losses.rs -->\n";
const END: &str = "<!-- end of losses -->\n";

/// The methods of the table, and the steps of the visit that call them.
fn steps() -> Vec<(&'static str, Value)> {
    vec![
        ("initialize", json!({"capabilities": true})),
        ("tools/list", json!({"whole": "list_tools"})),
        ("tools/call", json!({"call": "content"})),
        ("tools/call", json!({"call": "structured"})),
        ("tools/call", json!({"call": "ask"})),
        ("notifications/progress", json!({"hear": "progress", "steps": 2})),
        ("notifications/message", json!({"hear": "logs", "messages": 2})),
        ("resources/list", json!({"whole": "list_resources"})),
        ("resources/templates/list", json!({"whole": "list_resource_templates"})),
        ("resources/read", json!({"read": "rich:text"})),
        ("resources/subscribe", json!({"subscribe": "rich:text"})),
        ("prompts/list", json!({"whole": "list_prompts"})),
        ("prompts/get", json!({"get": "greet", "with": {"who": "Ann"}})),
        ("completion/complete", json!({"complete": ["prompt", "greet", "who", "few"]})),
        ("completion/complete", json!({"complete": ["prompt", "greet", "who", "many"]})),
    ]
}

#[test]
fn the_table_of_losses_is_what_a_host_misses() {
    let near = Sandbox::new();
    near.write("rich.py", RICH);
    let python = peers().join("py/bin/python");
    let server = ["--", python.to_str().unwrap(), "rich.py"];
    let script = Value::from(steps().into_iter().map(|(_, step)| step).collect::<Vec<_>>()).to_string();
    // A further pmcp in between, so that proto-mcp is the only difference.
    let json = [&["run", "--", pmcp().to_str().unwrap(), "run"], &server[..]].concat();
    let directly = official("script.py", &script, &near, &json);
    let [rows, websocket, grpc] = ["proto", "ws", "grpc"].map(|scheme| {
        let far = Sandbox::new();
        far.write("rich.py", RICH);
        let served = Server::start_over(scheme, &far, &server, 0);
        rows(&directly, &official("script.py", &script, &near, &["run", "--upstream", &served.url()]))
    });
    assert_eq!(websocket, rows, "WebSocket and TCP");
    assert_eq!(grpc, rows, "gRPC and TCP");
    let table = format!("\n| of | member | directly | through proto-mcp |\n|---|---|---|---|\n{}\n", rows.concat());
    let path = root().join("docs/proto-mcp.md");
    let document = fs::read_to_string(&path).expect("the page is there");
    let (before, rest) = document.split_once(BEGIN).expect("the table has a beginning");
    let (_, after) = rest.split_once(END).expect("the table has an end");
    assert_committed(path, format!("{before}{BEGIN}{table}{END}{after}"), "UPDATE_LOSSES");
}

/// A row for each difference of two visits.
fn rows(directly: &Value, through: &Value) -> Vec<String> {
    let mut rows: Vec<String> = Vec::new();
    for (index, (method, step)) in steps().into_iter().enumerate() {
        let [directly, through] = [directly, through].map(|seen| seen.get(index).map(comparable));
        assert!(directly.as_ref().is_some_and(|seen| seen.get("error").is_none()), "{step}: {directly:?}");
        let mut found = Vec::new();
        differences("", directly.as_ref(), through.as_ref(), &mut found);
        for (place, directly, through) in found {
            let row = format!("| `{method}` | `{place}` | {directly} | {through} |\n");
            if !rows.contains(&row) {
                rows.push(row);
            }
        }
    }
    rows
}

/// The given value without what has its own page (schemas) and its own words (texts of errors); lists in one order.
fn comparable(given: &Value) -> Value {
    match given {
        Value::Array(items) => {
            let mut items: Vec<_> = items.iter().map(comparable).collect();
            if items.iter().all(|item| item["name"].is_string()) {
                items.sort_by(|one, other| one["name"].as_str().cmp(&other["name"].as_str()));
            }
            Value::Array(items)
        }
        Value::Object(members) => {
            let has_error = members.contains_key("error");
            let kept =
                |name: &str| name != "inputSchema" && name != "outputSchema" && !(has_error && name == "message");
            let members = members.iter().filter(|(name, _)| kept(name));
            let members: BTreeMap<_, _> = members.map(|(name, member)| (name.clone(), comparable(member))).collect();
            Value::Object(members.into_iter().collect())
        }
        other => other.clone(),
    }
}

/// Adds the places at which two values differ, and both values there. All items of a list are one place.
fn differences(
    place: &str,
    directly: Option<&Value>,
    through: Option<&Value>,
    found: &mut Vec<(String, String, String)>,
) {
    match (directly, through) {
        (Some(Value::Object(one)), Some(Value::Object(other))) => {
            let names = one.keys().chain(other.keys().filter(|name| !one.contains_key(*name)));
            for name in names {
                let dot = if place.is_empty() { "" } else { "." };
                differences(&format!("{place}{dot}{name}"), one.get(name), other.get(name), found);
            }
        }
        (Some(Value::Array(one)), Some(Value::Array(other))) if one.len() == other.len() => {
            for (one, other) in one.iter().zip(other) {
                differences(&format!("{place}[]"), Some(one), Some(other), found);
            }
        }
        (one, other) if one != other => found.push((place.to_owned(), shown(one), shown(other))),
        _ => {}
    }
}

/// The beginning of a value as a cell.
fn shown(value: Option<&Value>) -> String {
    let Some(value) = value else { return "absent".to_owned() };
    let text = value.to_string();
    let short: String = text.chars().take(SHOWN).collect();
    let rest = if short.len() < text.len() { "…" } else { "" };
    format!("`{}{rest}`", short.replace('|', "\\|"))
}

/// The characters of a value in a cell.
const SHOWN: usize = 40;
