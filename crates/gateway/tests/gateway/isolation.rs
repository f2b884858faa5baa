//! One user is not held up by another.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use protomcp_client::{Client, Mode};
use protomcp_gateway::Sharing;
use protomcp_types::{Initialize, JsonObject, ListTools, Method, Request};
use tokio::time::Instant;

use crate::interposed::{self, Fate};
use crate::lists::tools;
use crate::stage::{Backend, ERAS, Seen, call, client, connect, connect_as, gateway, run};

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

/// A server without answers while the switch is on: to requests for tools, or to any request.
fn hanging(backend: &Backend, name: &str, is_hung: &Arc<AtomicBool>, all: Fate) -> protomcp_gateway::Upstream {
    let is_hung = Arc::clone(is_hung);
    interposed::upstream(backend, name, move |request| {
        let concerns = all == Fate::Hangs || request.method == ListTools::NAME;
        if concerns && is_hung.load(Ordering::SeqCst) { Fate::Hangs } else { Fate::Arrives }
    })
    .prefix(format!("{name}_"))
}

#[test]
fn a_hung_server_is_left_out_of_lists_until_it_answers() {
    for (ours, theirs) in ERAS {
        for sharing in [Sharing::PerSession, Sharing::Shared] {
            run(async {
                let (a, b, told, is_hung) = (Backend::new(), Backend::new(), Seen::default(), Arc::default());
                let upstream = hanging(&b, "b", &is_hung, Fate::Arrives).mode(theirs).sharing(sharing);
                let gateway = gateway().upstream(a.upstream("a").prefix("a_").mode(theirs)).upstream(upstream);
                let gateway = gateway.open().await.unwrap();
                let heard = told.clone();
                let client = client().mode(ours).on_list_changed(move |list, _| {
                    let heard = heard.clone();
                    async move { heard.push(format!("{list:?}")) }
                });
                let session = connect(&gateway, &client).await;
                is_hung.store(true, Ordering::SeqCst);
                for limit in [10, 1] {
                    let start = Instant::now();
                    assert_eq!(tools(&session).await.len(), 11);
                    assert!(start.elapsed() <= Duration::from_secs(limit), "{:?}", start.elapsed());
                }
                told.take();
                is_hung.store(false, Ordering::SeqCst);
                while !told.wait().await.contains(&"Tools".to_owned()) {}
                assert_eq!(tools(&session).await.len(), 22);
            });
        }
    }
}

#[test]
fn a_hung_server_does_not_hold_up_the_start() {
    for (ours, theirs) in ERAS {
        run(async {
            let (a, b, is_hung) = (Backend::new(), Backend::new(), Arc::new(AtomicBool::new(true)));
            let start = Instant::now();
            let gateway = gateway()
                .upstream(hanging(&b, "b", &is_hung, Fate::Hangs).mode(theirs))
                .upstream(a.upstream("a").prefix("a_").mode(theirs));
            let gateway = gateway.open().await.unwrap();
            assert!(start.elapsed() <= Duration::from_secs(3), "{:?}", start.elapsed());
            let session = connect(&gateway, &client().mode(ours)).await;
            assert_eq!(tools(&session).await.len(), 11);
            is_hung.store(false, Ordering::SeqCst);
            tokio::time::sleep(Duration::from_secs(60)).await;
            assert_eq!(tools(&session).await.len(), 22);
        });
    }
}
