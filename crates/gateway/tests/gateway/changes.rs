//! Changes of lists and resources.

use std::time::Duration;

use protomcp_client::Client;
use protomcp_testing::Seen;
use protomcp_typed::Tool;

use crate::stage::{client, everywhere};

fn listening(heard: &Seen) -> Client {
    let (lists, resources) = (heard.clone(), heard.clone());
    client()
        .on_list_changed(move |list, _| {
            let heard = lists.clone();
            async move { heard.push(format!("{list:?}")) }
        })
        .on_resource_updated(move |uri, _| {
            let heard = resources.clone();
            async move { heard.push(uri) }
        })
}

#[test]
fn list_changes_are_announced() {
    let told = Seen::default();
    everywhere(
        || listening(&told),
        async |stage| {
            // The session with the server opens with the first request.
            stage.call("whoami").await;
            tokio::time::sleep(Duration::from_secs(1)).await;
            assert!(told.take().is_empty());
            stage.backend.registry.tools().insert(Tool::new("new", "New").handler(async || "new")).unwrap();
            assert_eq!(told.wait().await, ["Tools"]);
            assert_eq!(stage.call("new").await, "new");
        },
    );
}

#[test]
fn a_resource_is_watched_while_a_client_watches_it() {
    let told = Seen::default();
    everywhere(
        || listening(&told),
        async |stage| {
            stage.session.subscribe("test:a").await.unwrap();
            tokio::time::sleep(Duration::from_secs(1)).await;
            stage.backend.registry.resource_updated("test:a");
            stage.backend.registry.resource_updated("test:b");
            assert_eq!(told.wait().await, ["test:a"]);
            stage.session.unsubscribe("test:a").await.unwrap();
            tokio::time::sleep(Duration::from_secs(1)).await;
            stage.backend.registry.resource_updated("test:a");
            tokio::time::sleep(Duration::from_secs(1)).await;
            assert!(told.take().is_empty());
            assert!(stage.session.subscribe("x:y").await.is_err());
        },
    );
}
