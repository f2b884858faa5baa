//! Events of handlers, for the clients of their calls.

use protomcp_server::LogLayer;
use protomcp_testing::run_paused;
use protomcp_typed::{Registry, Tool};
use serde_json::json;
use tracing_subscriber::layer::SubscriberExt;

use crate::host::Host;

#[test]
fn an_event_in_a_call_is_for_its_client_alone() {
    let work = async || {
        tracing::info!(target: "app", "in a call");
        tokio::spawn(async { tracing::info!(target: "app", "outside it") }).await.is_ok()
    };
    let registry = Registry::builder("t", "1").tool(Tool::new("work", "d").handler(work)).build().unwrap();
    let subscriber = tracing_subscriber::registry().with(LogLayer::new(registry.sessions().clone()));
    let _logging = tracing::subscriber::set_default(subscriber);
    run_paused(async {
        let server = registry.server();
        let (mut one, mut other) = (Host::connect(&server).await, Host::connect(&server).await);
        one.call("work", json!({})).await;
        other.ask("ping", json!({})).await.unwrap();
        let texts = |host: &Host| -> Vec<String> {
            host.told.iter().map(|told| told["params"]["data"]["message"].as_str().unwrap().to_owned()).collect()
        };
        assert_eq!(
            (texts(&one), texts(&other)),
            (vec!["in a call".into(), "outside it".into()], vec!["outside it".into()])
        );
    });
}

#[test]
fn a_client_without_a_session_names_the_level_of_each_call() {
    let work = async || {
        tracing::debug!(target: "app", "quiet");
        tracing::warn!(target: "app", "loud");
    };
    let registry = Registry::builder("t", "1").tool(Tool::new("work", "d").handler(work)).build().unwrap();
    let subscriber = tracing_subscriber::registry().with(LogLayer::new(registry.sessions().clone()));
    let _logging = tracing::subscriber::set_default(subscriber);
    run_paused(async {
        let mut host = Host::silent(&registry.server());
        let mut meta = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "host", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        host.ask("tools/call", json!({"name": "work", "_meta": meta})).await.unwrap();
        assert!(host.told.is_empty(), "it has named no level");
        meta["io.modelcontextprotocol/logLevel"] = json!("info");
        host.ask("tools/call", json!({"name": "work", "_meta": meta})).await.unwrap();
        let [told] = host.told.as_slice() else { panic!("{:?}", host.told) };
        assert_eq!((&told["params"]["level"], &told["params"]["data"]["message"]), (&json!("warning"), &json!("loud")));
    });
}
