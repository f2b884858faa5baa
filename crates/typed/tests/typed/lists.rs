//! Lists that change while clients read them.

use std::time::Duration;

use protomcp_testing::run_paused;
use protomcp_typed::{Builder, Capability, DefinitionError, Registry, Tool};
use protomcp_types::RawJson;
use serde_json::{Value, json};

use crate::host::{Host, with};

fn tool(name: &str) -> Tool {
    let text = name.to_owned();
    Tool::new(name, "d").handler(move || std::future::ready(text.clone()))
}

fn names(page: &Value) -> Vec<&str> {
    page["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect()
}

#[test]
fn a_definition_shows_everything_that_was_set() {
    let icons = r#"[{"src":"data:,"}]"#;
    let tool = tool("a")
        .title("A")
        .read_only()
        .destructive(false)
        .idempotent()
        .open_world(false)
        .icons(RawJson::parse(icons).unwrap())
        .meta(RawJson::parse(r#"{"x/y":1}"#).unwrap());
    with(&Registry::builder("t", "1").tool(tool).build().unwrap(), async |mut host| {
        let definition = host.definition("a").await;
        assert_eq!(
            definition["annotations"],
            json!({"readOnlyHint": true, "destructiveHint": false, "idempotentHint": true, "openWorldHint": false})
        );
        assert_eq!((&definition["title"], &definition["_meta"]), (&json!("A"), &json!({"x/y": 1})));
        assert_eq!(definition["icons"], serde_json::from_str::<Value>(icons).unwrap());
    });
}

#[test]
fn a_list_is_sorted_and_its_pages_survive_changes() {
    let tools = ["d", "a", "e", "c", "b"].map(tool);
    let builder = tools.into_iter().fold(Registry::builder("t", "1").page_size(2), Builder::tool);
    let registry = builder.build().unwrap();
    with(&registry, async |mut host| {
        let first = host.ask("tools/list", json!({})).await.unwrap();
        assert_eq!(names(&first), ["a", "b"]);
        let cursor = first["nextCursor"].clone();
        let second = host.ask("tools/list", json!({"cursor": cursor})).await.unwrap();
        assert_eq!(names(&second), ["c", "d"]);
        // The list changes between two pages: an entry occurs at most once, and an unchanged one is not missing.
        registry.tools().remove("b");
        registry.tools().insert(tool("bb")).unwrap();
        let second = host.ask("tools/list", json!({"cursor": cursor})).await.unwrap();
        assert_eq!(names(&second), ["bb", "c"]);
        let third = host.ask("tools/list", json!({"cursor": second["nextCursor"]})).await.unwrap();
        assert_eq!((names(&third), third.get("nextCursor")), (vec!["d", "e"], None));
        for cursor in [json!("nonsense"), json!(5), json!(format!("{}0", cursor.as_str().unwrap()))] {
            let error = host.ask("tools/list", json!({"cursor": cursor})).await.unwrap_err();
            assert_eq!(error["code"], -32602, "{cursor}");
        }
    });
}

#[test]
fn every_session_is_notified_once_of_a_visible_change() {
    let registry = Registry::builder("t", "1").tool(tool("a")).build().unwrap();
    run_paused(async {
        let server = registry.server();
        let mut hosts = [Host::connect(&server).await, Host::connect(&registry.clone().server()).await];
        for host in &mut hosts {
            host.ask("tools/list", json!({})).await.unwrap();
        }
        for name in ["b", "c", "d"] {
            assert!(!registry.tools().insert(tool(name)).unwrap());
        }
        assert!(registry.tools().remove("b"));
        for host in &mut hosts {
            assert_eq!(host.peer.next().await["method"], "notifications/tools/list_changed");
            assert!(host.peer.is_silent_for(Duration::from_secs(60)).await, "many changes are told once");
            assert_eq!(host.text("c", json!({})).await, "c");
        }
        // A new handler behind the same definition is not a visible change.
        assert!(registry.tools().insert(Tool::new("c", "d").handler(async || "new")).unwrap());
        assert!(!registry.tools().remove("b"));
        registry.tools().replace_all(["a", "c", "d"].map(tool)).unwrap();
        for host in &mut hosts {
            assert!(host.peer.is_silent_for(Duration::from_secs(60)).await);
        }
        registry.tools().replace_all([tool("z")]).unwrap();
        for host in &mut hosts {
            assert_eq!(host.peer.next().await["method"], "notifications/tools/list_changed");
            let page = host.ask("tools/list", json!({})).await.unwrap();
            assert_eq!(names(&page), ["z"]);
        }
        // A wrong definition changes nothing.
        assert_eq!(registry.tools().replace_all([tool("x"), tool("x")]), Err(DefinitionError::Twice("x".into())));
        assert_eq!(registry.tools().names(), ["z"]);
        assert!(registry.tools().contains("z") && registry.tools().len() == 1 && !registry.tools().is_empty());
        for host in hosts {
            host.end().await.unwrap();
        }
    });
}

#[test]
fn a_running_call_outlives_its_tool() {
    let slow = Tool::new("slow", "d").handler(async || {
        tokio::time::sleep(Duration::from_secs(1)).await;
        "done"
    });
    let registry = Registry::builder("t", "1").tool(slow).build().unwrap();
    with(&registry, async |mut host| {
        let id = host.peer.request("tools/call", json!({"name": "slow"})).await;
        tokio::time::sleep(Duration::from_millis(1)).await;
        assert!(registry.tools().remove("slow"));
        assert_eq!(host.peer.next().await["method"], "notifications/tools/list_changed");
        let answer = host.peer.next().await;
        assert_eq!((&answer["id"], &answer["result"]["content"][0]["text"]), (&json!(id), &json!("done")));
    });
}

#[test]
fn an_undeclared_capability_gets_no_entries() {
    let none = Registry::builder("t", "1").build().unwrap();
    assert_eq!(none.tools().insert(tool("a")), Err(DefinitionError::NotServed("tools")));
    assert!(none.tools().is_empty());
    let later = Registry::builder("t", "1").declare(Capability::Tools).build().unwrap();
    later.tools().insert(tool("a")).unwrap();
    with(&none, async |mut host| {
        assert_eq!(host.ask("tools/list", json!({})).await.unwrap_err()["code"], -32601);
    });
    with(&later, async |mut host| assert_eq!(host.text("a", json!({})).await, "a"));
}
