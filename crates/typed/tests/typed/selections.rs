//! Tools that are hidden, and lists of sessions.

use protomcp_server::{Context, Handler, Router, Server};
use protomcp_testing::run_paused;
use protomcp_typed::{DefinitionError, Registry, SelectionError, Tool, ToolChange, ToolSelection};
use protomcp_types::RawJson;
use serde_json::{Value, json};

use crate::host::Host;

/// A vault: `open` shows `look` and `close`, and hides itself.
fn vault(selection: &ToolSelection) -> Registry {
    let change = |enable: &'static [&str], disable: &'static [&str]| {
        let selection = selection.clone();
        move |context: Context| {
            let selection = selection.clone();
            let owned = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
            let change = ToolChange::enable_then_disable(owned(enable), owned(disable));
            async move { selection.change(&context, change).await.map(|tools| tools.join(" ")) }
        }
    };
    let hidden = &["look", "close"];
    Registry::builder("vault", "1")
        .tool(Tool::new("open", "Opens").handler(change(hidden, &["open"])))
        .tool(Tool::new("look", "Looks").handler(async || "coins").hidden())
        .tool(Tool::new("close", "Closes").handler(change(&["open"], hidden)).hidden())
        .selection(selection)
        .build()
        .unwrap()
}

async fn names(host: &mut Host) -> Vec<String> {
    let page = host.ask("tools/list", json!({})).await.unwrap();
    page["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

async fn changed(host: &mut Host) {
    assert_eq!(host.peer.next().await["method"], "notifications/tools/list_changed");
}

#[test]
fn a_call_changes_the_list_of_its_session() {
    run_paused(async {
        let selection = ToolSelection::default();
        let server = vault(&selection).server();
        let (mut one, mut other) = (Host::connect(&server).await, Host::connect(&server).await);
        assert_eq!(names(&mut one).await, ["open"]);
        let unknown = one.ask("tools/call", json!({"name": "look"})).await.unwrap_err();
        assert_eq!(unknown["code"], -32602, "a hidden tool is an unknown one");
        assert!(!unknown["message"].as_str().unwrap().contains("did you mean"), "{unknown}");
        assert_eq!(one.text("open", json!({})).await, "close look");
        changed(&mut one).await;
        assert_eq!(
            (names(&mut one).await.join(" "), names(&mut other).await.join(" ")),
            ("close look".into(), "open".into())
        );
        assert_eq!(one.text("look", json!({})).await, "coins");
        assert!(other.peer.is_silent_for(std::time::Duration::from_secs(60)).await);
        assert_eq!(one.text("close", json!({})).await, "open");
        changed(&mut one).await;
        one.end().await.unwrap();
        other.end().await.unwrap();
    });
}

#[test]
fn a_change_for_all_reaches_every_session() {
    run_paused(async {
        let selection = ToolSelection::default();
        let registry = vault(&selection);
        let server = registry.server();
        let (mut one, mut other) = (Host::connect(&server).await, Host::connect(&server).await);
        one.text("open", json!({})).await;
        changed(&mut one).await;
        let shown = selection.change_for_all(&ToolChange::enable(vec!["look".into()])).unwrap();
        assert_eq!(shown, ["look", "open"]);
        changed(&mut other).await;
        assert!(one.peer.is_silent_for(std::time::Duration::from_secs(60)).await, "it has seen the tool already");
        assert_eq!(names(&mut other).await, ["look", "open"]);
        registry.tools().insert(Tool::new("later", "Comes later").handler(async || "").hidden()).unwrap();
        registry.tools().insert(Tool::new("new", "Is new").handler(async || "")).unwrap();
        changed(&mut other).await;
        assert_eq!(names(&mut other).await, ["look", "new", "open"]);
    });
}

#[test]
fn a_client_without_a_session_has_a_list_that_stays() {
    run_paused(async {
        let selection = ToolSelection::default();
        let mut host = Host::silent(&vault(&selection).server());
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "host", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        let listed = |page: &Value| page["tools"].as_array().unwrap().len();
        for _ in 0..2 {
            let page = host.ask("tools/list", json!({"_meta": meta})).await.unwrap();
            assert_eq!((listed(&page), &page["tools"][0]["name"]), (1, &json!("open")));
            let result = host.ask("tools/call", json!({"name": "open", "_meta": meta})).await.unwrap();
            assert_eq!(result["content"][0]["text"], "open", "nothing has changed");
            selection.change_for_all(&ToolChange::enable(vec!["look".into()])).unwrap();
        }
        let unknown = host.ask("tools/call", json!({"name": "look", "_meta": meta})).await.unwrap_err();
        assert_eq!(unknown["code"], -32602);
    });
}

#[test]
fn a_selection_belongs_to_one_registry() {
    let selection = ToolSelection::default();
    let all = ToolChange::set_allowed(Vec::new());
    assert_eq!(selection.change_for_all(&all), Err(SelectionError::NotServed));
    let registry = vault(&selection);
    assert_eq!(selection.change_for_all(&all).unwrap(), ["close", "look", "open"]);
    let second = Registry::builder("t", "1").selection(&selection).build();
    assert_eq!(second.map(drop).unwrap_err(), DefinitionError::SelectionTaken);
    drop(registry);
    assert_eq!(selection.change_for_all(&all), Err(SelectionError::NotServed), "it does not keep its registry");
}

#[test]
fn a_change_after_the_end_of_its_session_has_no_effect() {
    run_paused(async {
        let selection = ToolSelection::default();
        let (keep, mut kept) = tokio::sync::mpsc::unbounded_channel();
        let hand_out = move |context: Context| {
            let keep = keep.clone();
            async move { keep.send(context).map(|()| "kept").map_err(|_| "nothing receives it") }
        };
        let registry = Registry::builder("vault", "1")
            .tool(Tool::new("open", "Opens").handler(hand_out))
            .tool(Tool::new("look", "Looks").handler(async || "coins").hidden())
            .selection(&selection)
            .build()
            .unwrap();
        let mut host = Host::connect(&registry.server()).await;
        assert_eq!(host.text("open", json!({})).await, "kept");
        let context = kept.recv().await.unwrap();
        host.end().await.unwrap();
        // A selection of the session would stay for ever.
        assert_eq!(selection.enable(&context, ["look"]).await.unwrap(), ["open"]);
        assert_eq!(selection.active(&context).await.unwrap(), ["open"]);
    });
}

#[test]
fn the_list_of_a_session_moves_to_another_process() {
    run_paused(async {
        let (here, there) = (vault(&ToolSelection::default()), vault(&ToolSelection::default()));
        let (first, second) = (here.server(), there.server());
        let (mut one, mut other) = (Host::connect(&first).await, Host::connect(&second).await);
        let view = |server: &Server<Router<Registry>>| server.handle().views().pop().unwrap();
        assert_eq!(here.session_selection(view(&first).id), None, "it sees the list of all");
        assert_eq!(one.text("open", json!({})).await, "close look");
        let selection = here.session_selection(view(&first).id);
        there.session_restored(&view(&second), None);
        assert_eq!(names(&mut other).await, ["open"]);
        there.session_restored(&view(&second), selection.as_ref());
        assert_eq!(names(&mut other).await, ["close", "look"]);
        there.session_restored(&view(&second), Some(&RawJson::text("of a later version")));
        assert_eq!(names(&mut other).await, ["close", "look"]);
    });
}
