//! One user is not held up by another.

use std::time::Duration;

use protomcp_client::{Client, Mode};
use protomcp_types::{Initialize, JsonObject, Method, Request};

use crate::interposed::{self, Fate};
use crate::stage::{Backend, call, client, connect_as, gateway, run};

/// The name of a client in a handshake.
fn client_name(request: &Request) -> Option<String> {
    let info = request.params.member("clientInfo").filter(|_| request.method == Initialize::NAME)?;
    info.to::<serde_json::Value>().ok()?["name"].as_str().map(str::to_owned)
}

#[test]
fn a_client_whose_handshake_fails_takes_the_server_from_no_other() {
    for fate in [Fate::Refused, Fate::Ends, Fate::Hangs] {
        run(async {
            let backend = Backend::new();
            let judge = move |request: &Request| match client_name(request).as_deref() {
                Some("mallory") => fate,
                _ => Fate::Arrives,
            };
            let upstream = interposed::upstream(&backend, "server", judge).mode(Mode::Stateful);
            let gateway = gateway().upstream(upstream).open().await.unwrap();
            let ann = connect_as(&gateway, &client().mode(Mode::Stateful), "ann").await;
            assert_eq!(call(&ann, "log").await, "logged");
            let mallory = Client::new("mallory", "1").mode(Mode::Stateful);
            let mallory = connect_as(&gateway, &mallory, "mallory").await;
            let attack = tokio::spawn(async move {
                loop {
                    let failed = mallory.call_tool("log", &JsonObject::new()).await.unwrap();
                    assert!(failed.meta.unwrap().as_str().contains("SERVER_DOWN"));
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            });
            for _ in 0..100 {
                tokio::time::sleep(Duration::from_millis(300)).await;
                assert_eq!(call(&ann, "log").await, "logged", "{fate:?}");
            }
            let bob = connect_as(&gateway, &client().mode(Mode::Stateful), "bob").await;
            assert_eq!(call(&bob, "log").await, "logged", "{fate:?}");
            assert!(!attack.is_finished());
            attack.abort();
        });
    }
}
