//! The state of a session that comes along: log level, subscriptions and selected tools.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use protomcp_http::{Listener, StreamableHttp};
use protomcp_server::{Context, Handler, LeaseStore, Limits, Server, ServerHandle, ServerInfo, SessionId, SessionView};
use protomcp_testing::{in_time, patience};
use protomcp_types::{CallTool, CallToolResult, ErrorObject, Level, RawJson, ServerCapabilities, Subscribe};
use tokio::sync::Notify;

use super::replicas::{Link, Shared};
use crate::client::{Host, call, done};

/// A server whose sessions select a tool, subscribe, and have log messages.
struct Desk {
    sessions: ServerHandle,
    selected: Mutex<HashMap<SessionId, String>>,
    subscribed: Mutex<Vec<String>>,
    has_subscribed: Notify,
}

impl Handler for Desk {
    fn info(&self) -> ServerInfo {
        ServerInfo::clone(self.sessions.info())
    }

    async fn call_tool(&self, call: CallTool, context: Context) -> Result<CallToolResult, ErrorObject> {
        let session = context.session();
        match call.name.split_once(' ').unwrap_or((&call.name, "")) {
            ("select", tool) => {
                self.selected.lock().unwrap().insert(session, tool.to_owned());
                self.sessions.tools_changed(protomcp_server::Audience::Session(session));
            }
            ("log", _) => {
                context.log(Level::Info, None, &RawJson::text("quiet"));
                context.log(Level::Error, None, &RawJson::text("loud"));
            }
            _ => {}
        }
        let selected = self.selected.lock().unwrap().get(&session).cloned();
        Ok(CallToolResult::text(selected.unwrap_or_else(|| "all".to_owned())))
    }

    async fn subscribe(&self, request: Subscribe, _: Context) -> Result<(), ErrorObject> {
        if request.uri.ends_with("/gone") && self.sessions.node().as_str() != "a" {
            return Err(ErrorObject::resource_not_found(&request.uri));
        }
        self.subscribed.lock().unwrap().push(request.uri);
        self.has_subscribed.notify_one();
        Ok(())
    }

    fn session_selection(&self, session: SessionId) -> Option<RawJson> {
        self.selected.lock().unwrap().get(&session).map(|tool| RawJson::text(tool))
    }

    fn session_restored(&self, session: &SessionView, selection: Option<&RawJson>) {
        if let Some(tool) = selection.and_then(RawJson::to_text) {
            self.selected.lock().unwrap().insert(session.id, tool.into_owned());
        }
    }
}

/// A desk with this link to the stores, on its own port.
async fn desk(link: &Link, name: &str) -> (Arc<Desk>, Host) {
    let capabilities = ServerCapabilities::default().with_tools().with_resources().with_logging();
    let info = ServerInfo::new("desk", "1").with_capabilities(capabilities);
    let stores = protomcp_server::Stores::new(protomcp_server::NodeId::new(name));
    let keys = protomcp_server::RequestStateKeys::shared([[7; 32]]);
    let sessions = ServerHandle::with_stores(info, Limits::default(), keys, stores);
    let desk = Arc::new(Desk {
        sessions: sessions.clone(),
        selected: Mutex::default(),
        subscribed: Mutex::default(),
        has_subscribed: Notify::new(),
    });
    let (keeper, mut config) = link.config(name, Duration::from_secs(600));
    // An answer alone is JSON, however long a busy machine takes for it.
    config.streams.stream_after = 3 * patience();
    in_time(keeper.held()).await.expect("the store grants a lease");
    let service = StreamableHttp::new(Server::with_sessions(sessions, Arc::clone(&desk)), config);
    let listener = Listener::bind(("127.0.0.1", 0)).await.unwrap();
    let host = Host::new(listener.local_addr().unwrap());
    tokio::spawn(protomcp_http::serve(listener, service).into_future());
    (desk, host)
}

#[tokio::test]
async fn the_state_of_a_session_comes_along() {
    let shared = Shared::new();
    let (here, there) = (shared.link(), shared.link());
    let ((_, first), (desk, second)) = (desk(&here, "a").await, desk(&there, "b").await);
    let host = first.hello("2025-11-25").await;
    let subscribe = |id, uri| format!(r#"{{"id":{id},"method":"resources/subscribe","params":{{"uri":"{uri}"}}}}"#);
    for (id, uri) in [(1, "file:///kept"), (2, "file:///gone"), (3, "file:///left")] {
        assert_eq!(host.say(&subscribe(id, uri)).await.0, 200);
    }
    let unsubscribe = r#"{"id":4,"method":"resources/unsubscribe","params":{"uri":"file:///left"}}"#;
    assert_eq!(host.say(unsubscribe).await.0, 200);
    let level = r#"{"id":5,"method":"logging/setLevel","params":{"level":"error"}}"#;
    assert_eq!(host.say(level).await.0, 200);
    assert_eq!(host.say(&call(6, "select hammer")).await, (200, done(6, "hammer")));
    // Each change was saved before its answer.
    here.cut();
    let lease = shared.leases.live().await.unwrap().into_iter().find(|lease| lease.node.as_str() == "a").unwrap();
    shared.leases.resign(&lease).await.unwrap();

    let host = Host { address: second.address, ..host };
    let mut listening = host.get().await;
    assert_eq!((listening.status, listening.event().await.unwrap().data.as_str()), (200, ""));
    // The resource may have changed in between.
    let updated = listening.event().await.unwrap();
    assert!(updated.data.contains("resources/updated") && updated.data.contains("file:///kept"), "{}", updated.data);
    in_time(desk.has_subscribed.notified()).await.expect("the service is asked again");
    assert_eq!(*desk.subscribed.lock().unwrap(), ["file:///kept"]);
    assert_eq!(host.say(&call(1, "selected")).await, (200, done(1, "hammer")));
    let logged = host.post(&call(2, "log")).await.events().await;
    let logged: Vec<_> = logged.iter().filter(|event| event.data.contains("notifications/message")).collect();
    assert!(matches!(logged[..], [event] if event.data.contains("loud")), "{logged:?}");
    for uri in ["file:///left", "file:///gone", "file:///kept"] {
        desk.sessions.resource_updated(uri);
    }
    let updated = listening.event().await.unwrap();
    assert!(updated.data.contains("file:///kept"), "the others are not subscribed: {}", updated.data);
}
