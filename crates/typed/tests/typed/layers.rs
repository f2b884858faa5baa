//! Layers around one tool.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use protomcp_server::{Context, Layer, ServerRequest, ServerResult, Service};
use protomcp_testing::run_paused;
use protomcp_typed::{Registry, Tool};
use protomcp_types::{ErrorObject, TaskSupport};
use serde_json::json;

use crate::host::{Host, with};

/// Logs each call.
#[derive(Clone)]
struct Note(&'static str, Arc<Mutex<Vec<&'static str>>>);

struct Noting<S>(Note, S);

impl<S: Service> Layer<S> for Note {
    type Service = Noting<S>;

    fn layer(&self, inner: S) -> Noting<S> {
        Noting(self.clone(), inner)
    }
}

impl<S: Service> Service for Noting<S> {
    async fn call(&self, request: ServerRequest, context: Context) -> Result<ServerResult, ErrorObject> {
        self.0.1.lock().unwrap().push(self.0.0);
        self.1.call(request, context).await
    }
}

#[test]
fn layers_of_the_server_come_first_and_of_each_the_last_added() {
    let notes = Arc::new(Mutex::new(Vec::new()));
    let note = |name| Note(name, Arc::clone(&notes));
    let registry = Registry::builder("t", "1")
        .tool(Tool::new("a", "").handler(async || "a").layer(note("tool 1")).layer(note("tool 2")))
        .tool(Tool::new("b", "").handler(async || "b"))
        .build()
        .unwrap();
    let server = registry.server().layer(note("server 1")).layer(note("server 2"));
    run_paused(async {
        let mut host = Host::connect(&server).await;
        assert_eq!(host.text("a", json!({})).await, "a");
        assert_eq!(std::mem::take(&mut *notes.lock().unwrap()), ["server 2", "server 1", "tool 2", "tool 1"]);
        assert_eq!(host.text("b", json!({})).await, "b");
        assert_eq!(*notes.lock().unwrap(), ["server 2", "server 1"], "the layers of a tool are its own");
    });
}

#[test]
fn a_layer_does_not_hide_sessions_and_notifications() {
    let (changed, cancelled) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let wait = {
        let cancelled = Arc::clone(&cancelled);
        move |context: Context| {
            let cancelled = Arc::clone(&cancelled);
            async move {
                context.cancelled().await;
                cancelled.fetch_add(1, Ordering::SeqCst);
            }
        }
    };
    let on_change = Arc::clone(&changed);
    let registry = Registry::builder("t", "1")
        .tool(Tool::new("wait", "").handler(wait).task(TaskSupport::Optional))
        .on_roots_changed(move |_| _ = on_change.fetch_add(1, Ordering::SeqCst))
        .build()
        .unwrap();
    let server = registry.server().layer(Note("server", Arc::default()));
    run_paused(async {
        let mut host = Host::connect(&server).await;
        host.peer.notify("notifications/roots/list_changed", json!({})).await;
        host.ask("tools/call", json!({"name": "wait", "task": {"ttl": 60_000}})).await.unwrap();
        assert_eq!(changed.load(Ordering::SeqCst), 1, "the registry hears of notifications");
        host.end().await.unwrap();
        tokio::time::sleep(Duration::from_millis(1)).await;
        assert_eq!(cancelled.load(Ordering::SeqCst), 1, "the tasks of a session end with it");
    });
}

#[test]
fn a_tool_has_its_own_deadline_and_permits() {
    let (running, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let busy = {
        let (running, most) = (Arc::clone(&running), Arc::clone(&most));
        move || {
            let (running, most) = (Arc::clone(&running), Arc::clone(&most));
            async move {
                most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                tokio::time::sleep(Duration::from_secs(1)).await;
                running.fetch_sub(1, Ordering::SeqCst);
            }
        }
    };
    let registry = Registry::builder("t", "1")
        .tool(
            Tool::new("slow", "").handler(async || std::future::pending::<()>().await).timeout(Duration::from_secs(5)),
        )
        .tool(Tool::new("busy", "").handler(busy).limit(2))
        .tool(Tool::new("free", "").handler(async || "free"))
        .build()
        .unwrap();
    with(&registry, async |mut host| {
        let result = host.call("slow", json!({})).await;
        assert_eq!(result["isError"], true);
        assert_eq!(result["content"][0]["text"], "call tool \"slow\" timed out after 5s");
        for _ in 0..6 {
            host.peer.request("tools/call", json!({"name": "busy"})).await;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
        assert_eq!(host.text("free", json!({})).await, "free", "other tools do not wait");
        for _ in 0..6 {
            host.peer.next().await;
        }
    });
    assert_eq!((most.load(Ordering::SeqCst), running.load(Ordering::SeqCst)), (2, 0));
}
