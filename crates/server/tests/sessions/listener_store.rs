//! A store of the test's own counts the requests that listen to resources.

use std::sync::{Arc, Mutex};

use protomcp_server::{Limits, ListenerStore, MemoryListeners, NodeId, RequestStateKeys, StoreFuture, Stores};
use protomcp_testing::run_paused;

use super::transcript::Stage;
use super::watching::{A, acknowledged, cancel, heard, listen};

/// Answers later, as another process would, and records the calls.
#[derive(Debug, Default)]
struct Recording {
    counts: MemoryListeners,
    calls: Mutex<Vec<&'static str>>,
}

impl Recording {
    fn later<'a, T: Send + 'a>(&'a self, call: &'static str, answer: StoreFuture<'a, T>) -> StoreFuture<'a, T> {
        self.calls.lock().unwrap().push(call);
        Box::pin(async move {
            tokio::task::yield_now().await;
            answer.await
        })
    }
}

impl ListenerStore for Recording {
    fn join<'a>(&'a self, uri: &'a str) -> StoreFuture<'a, bool> {
        self.later("join", self.counts.join(uri))
    }

    fn add<'a>(&'a self, uri: &'a str) -> StoreFuture<'a, ()> {
        self.later("add", self.counts.add(uri))
    }

    fn remove<'a>(&'a self, uri: &'a str) -> StoreFuture<'a, bool> {
        self.later("remove", self.counts.remove(uri))
    }

    fn contains<'a>(&'a self, uri: &'a str) -> StoreFuture<'a, bool> {
        self.later("contains", self.counts.contains(uri))
    }
}

#[test]
fn the_first_and_the_last_of_all_servers_count() {
    run_paused(async {
        let store = Arc::new(Recording::default());
        let server = |name: &str| {
            let stores = Stores::new(NodeId::new(name)).with_listeners(Arc::clone(&store) as Arc<dyn ListenerStore>);
            Stage::with_stores(Limits::default(), RequestStateKeys::random(), stores)
        };
        let (a, b) = (server("a"), server("b"));
        let (mut one, mut two) = (a.connect(), b.connect());
        one.steps(&[&listen(1, A), &acknowledged(1, A)]).await;
        two.steps(&[&listen(1, A), &acknowledged(1, A)]).await;
        assert_eq!((heard(&a).await, heard(&b).await), (vec!["+file:///a".to_owned()], vec![]));
        one.steps(&[&cancel(1)]).await;
        assert!(heard(&a).await.is_empty(), "a request of the other server listens");
        two.steps(&[&cancel(1)]).await;
        assert_eq!(heard(&b).await, ["-file:///a"]);
        assert_eq!(*store.calls.lock().unwrap(), ["join", "add", "join", "remove", "remove", "contains"]);
    });
}

#[cfg(feature = "contract-tests")]
#[test]
fn the_contract_holds() {
    run_paused(async {
        protomcp_server::contract::listener_store(&MemoryListeners::default()).await;
        protomcp_server::contract::listener_store(&Recording::default()).await;
    });
}
