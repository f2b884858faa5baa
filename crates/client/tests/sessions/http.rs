//! Sessions with our own server over HTTP, in both eras.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use protomcp_client::{Client, ClientSession, CloseReason, Mode};
use protomcp_http::{Config, StreamableHttp};
use protomcp_http_client::HttpTransport;
use protomcp_listener::Listener;
use protomcp_testing::{Seen, patience, until};
use protomcp_typed::{Registry, Tool};
use protomcp_types::{ElicitAction, ElicitResult, JsonObject, ProtocolVersion};

use super::server::{client, registry, text};

struct Site {
    registry: Registry,
    seen: Seen,
    url: String,
}

async fn site() -> Site {
    let seen = Seen::default();
    let registry = registry(&seen);
    let listener = Listener::bind(("127.0.0.1", 0)).await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let service = StreamableHttp::new(registry.server(), Config::default());
    tokio::spawn(listener.serve(service).into_future());
    Site { registry, seen, url }
}

impl Site {
    async fn connect(&self, client: &Client, mode: Mode) -> ClientSession {
        client.clone().mode(mode).connect(HttpTransport::new(&self.url).unwrap()).await.unwrap()
    }
}

const ERAS: [Mode; 3] = [Mode::Auto, Mode::Stateful, Mode::Stateless];

#[tokio::test]
async fn a_session_works_over_http() {
    let site = site().await;
    for mode in ERAS {
        let client = client()
            .with_roots(["file:///a"])
            .on_elicit(|_, _| async { Ok(ElicitResult { action: ElicitAction::Accept, content: None, meta: None }) });
        let session = site.connect(&client, mode).await;
        assert_eq!(session.server().is_stateful(), mode == Mode::Stateful);
        assert_eq!(text(&session, "ask").await.unwrap(), r#"{"name":"Ann"}"#);
        assert_eq!(text(&session, "roots").await.unwrap(), "file:///a");
        let reports = Arc::new(Mutex::new(0));
        let counted = Arc::clone(&reports);
        let call = session.call_tool("count", &JsonObject::new());
        call.on_progress(move |_| *counted.lock().unwrap() += 1).await.unwrap();
        assert_eq!(*reports.lock().unwrap(), 3);
        assert!(session.read_resource("test:a").await.is_ok());
        session.ping().await.unwrap();
        let began = Instant::now();
        assert_eq!(session.close(patience()).await, CloseReason::Requested);
        assert!(began.elapsed() < patience() / 2);
    }
    until("all sessions are closed", || site.registry.sessions().count() == 0).await;
}

#[tokio::test]
async fn a_dropped_call_is_cancelled_over_http() {
    let site = site().await;
    for mode in ERAS {
        let session = site.connect(&client(), mode).await;
        let call = tokio::spawn(session.call_tool("hang", &JsonObject::new()).into_future());
        assert_eq!(site.seen.wait().await, ["started"]);
        call.abort();
        assert_eq!(site.seen.wait().await, ["cancelled"]);
        session.ping().await.unwrap();
    }
}

#[tokio::test]
async fn changes_are_announced_over_http() {
    for mode in ERAS {
        let site = site().await;
        let told = Seen::default();
        let (lists, uris) = (told.clone(), told.clone());
        let client = client()
            .on_list_changed(move |list, _| {
                lists.push(format!("{list:?}"));
                async {}
            })
            .on_resource_updated(move |uri, _| {
                uris.push(uri);
                async {}
            });
        let session = site.connect(&client, mode).await;
        session.subscribe("test:a").await.unwrap();
        let mut heard = Vec::new();
        let began = Instant::now();
        // The stream for such notifications is opened in addition to the session.
        while !(heard.contains(&"Tools".to_owned()) && heard.contains(&"test:a".to_owned())) {
            assert!(began.elapsed() < patience(), "{mode:?}: {heard:?}");
            site.registry.tools().remove("new");
            site.registry.tools().insert(Tool::new("new", "New").handler(async || "new")).unwrap();
            site.registry.resource_updated("test:a");
            tokio::time::sleep(Duration::from_millis(50)).await;
            heard.extend(told.take());
        }
    }
}

#[tokio::test]
async fn an_old_revision_is_negotiated_over_http() {
    let site = site().await;
    for version in ProtocolVersion::ALL {
        let session = site.connect(&client().version(version), Mode::Stateful).await;
        let expected = if version.is_stateful() { version } else { ProtocolVersion::NEWEST_STATEFUL };
        assert_eq!(session.server().version, expected);
        text(&session, "count").await.unwrap();
    }
}

#[tokio::test]
async fn a_server_that_is_not_there_is_an_error() {
    let failed = client().connect(HttpTransport::new("http://127.0.0.1:1/mcp").unwrap()).await.unwrap_err();
    assert!(matches!(failed, CloseReason::NotOpened(_)), "{failed}");
}
