//! Requests whose session does not accept them immediately.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use protomcp_server::layer::lazy_tools::RequestTarget;
use protomcp_server::{Handler, Limits, Replies, ServerInfo, StatelessMeta};
use protomcp_testing::in_time;
use protomcp_transport::{Delivery, Sink, Source, Transport};
use protomcp_types::{
    ErrorObject, Incoming, JsonBuf as Payload, ListTools, ListToolsResult, Message, Params, ProtocolVersion, RequestId,
};
use tokio::task::unconstrained;

use std::future::poll_fn;
use std::pin::pin;

use tokio_util::task::TaskTracker;

use super::*;
use crate::caller::Caller;
use crate::endpoint::{Serve, TableSlot};
use crate::events::{EventSource, Events, StreamHandle};
use crate::http_session::transport::SessionTransport;
use crate::http_session::{HttpSession, SessionKind};
use crate::store::memory::MemoryStore;

/// Sessions whose tasks do nothing.
#[derive(Default)]
struct Still(Mutex<Vec<OpenConnection>>);

struct OpenConnection {
    source: <SessionTransport as Transport>::Source,
    sink: <SessionTransport as Transport>::Sink,
    _slot: TableSlot,
}

impl Serve for Arc<Still> {
    fn spawn(&self, session: Arc<HttpSession>, slot: TableSlot, _: &Parts, _: &TaskTracker) {
        let (source, sink) = SessionTransport(session).split();
        self.0.lock().unwrap().push(OpenConnection { source, sink, _slot: slot });
    }

    fn answer(&self, _: protomcp_types::Request, _: &StatelessMeta, _: &SourceRequest) -> Replies {
        unreachable!("no request without a session comes here")
    }

    fn target(&self, request: &protomcp_types::Request, _: &Parts) -> RequestTarget {
        RequestTarget::of(request)
    }
}

fn still() -> (StreamableHttp, Arc<Still>) {
    let still = Arc::new(Still::default());
    let sessions = ServerHandle::new(ServerInfo::new("still", "1"), Limits::default());
    let endpoint = Endpoint::new(Box::new(Arc::clone(&still)), sessions, Config::default());
    (StreamableHttp(Arc::new(endpoint)), still)
}

fn post(headers: &[(&str, &str)], body: &str) -> Request<String> {
    let request = Request::post("/mcp")
        .header("host", "localhost")
        .header("content-type", "application/json")
        .header("accept", "*/*");
    let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
    request.body(body.to_owned()).unwrap()
}

fn notice() -> Incoming {
    Incoming::One(Message::notification("n", Params::Absent))
}

/// Begins a session of 2025-03-26, and fills its inbox up to `free_slots` free slots.
fn begin(http: &StreamableHttp, still: &Still, free_slots: usize) -> Arc<HttpSession> {
    let parts = Request::new(()).into_parts().0;
    let session = http.0.begin(SessionKind::Stateful, &parts).unwrap();
    still.0.lock().unwrap()[0].sink.negotiated(ProtocolVersion::V2025_03_26);
    let mut cx = Context::from_waker(std::task::Waker::noop());
    for _ in 0..64 - free_slots {
        assert!(pin!(unconstrained(session.deliver(Ok(notice()), None))).poll(&mut cx).is_ready());
    }
    session
}

#[tokio::test]
async fn a_request_that_never_reached_its_session_is_not_waited_for() {
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let other = ping.replace(":1,", ":2,");
    for (free_slots, body, undelivered) in [
        (0, ping.to_owned(), vec![1, 2]),
        (0, format!("[{ping},{other}]"), vec![1, 2]),
        (1, format!("[{ping},{other}]"), vec![2]),
    ] {
        for is_over in [false, true] {
            let (http, still) = still();
            let session = begin(&http, &still, free_slots);
            let mut asking = Box::pin(http.handle(post(&[("mcp-session-id", session.key())], &body)));
            let mut cx = Context::from_waker(std::task::Waker::noop());
            assert!(asking.as_mut().poll(&mut cx).is_pending(), "{body}");
            if is_over {
                session.end();
                assert_eq!(asking.await.status(), StatusCode::NOT_FOUND);
            } else {
                drop(asking);
            }
            for id in undelivered.clone() {
                let open = session.open(&[&RequestId::from(id)], Vec::new());
                assert!(open.is_ok(), "{id} of {body} is in use");
                session.request_cancelled(&RequestId::from(id));
            }
            if free_slots > 0 {
                let open = session.open(&[&RequestId::from(1)], Vec::new());
                assert!(open.is_err(), "what was handed over is waited for");
            }
        }
    }
}

/// Counts its live instances.
struct Counted(#[expect(dead_code, reason = "held for its count")] Arc<()>);

impl std::task::Wake for Counted {
    fn wake(self: Arc<Self>) {}
}

#[tokio::test]
async fn a_cancelled_delivery_leaves_nothing_in_its_session() {
    let (http, still) = still();
    let session = begin(&http, &still, 0);
    let alive = Arc::new(());
    for _ in 0..10_000 {
        let waker = std::task::Waker::from(Arc::new(Counted(Arc::clone(&alive))));
        let mut cx = Context::from_waker(&waker);
        // With a budget for its turn it would soon stop and wait.
        let mut delivery = pin!(unconstrained(session.deliver(Ok(notice()), None)));
        assert!(delivery.as_mut().poll(&mut cx).is_pending());
    }
    assert_eq!(Arc::strong_count(&alive), 1);
}

/// Never answers, and counts its calls.
struct Silent(Arc<AtomicUsize>);

impl Handler for Silent {
    fn info(&self) -> ServerInfo {
        ServerInfo::new("silent", "1")
    }

    async fn list_tools(&self, _: ListTools, _: protomcp_server::Context) -> Result<ListToolsResult, ErrorObject> {
        self.0.fetch_add(1, Ordering::Relaxed);
        std::future::pending().await
    }
}

#[tokio::test]
async fn a_stateless_request_runs_without_a_task() {
    let calls = Arc::new(AtomicUsize::new(0));
    let http = StreamableHttp::new(Server::from_handler(Silent(Arc::clone(&calls))), Config::default());
    let headers = [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/list")];
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#;
    let mut asking = Box::pin(http.handle(post(&headers, body)));
    let mut cx = Context::from_waker(std::task::Waker::noop());
    assert!(asking.as_mut().poll(&mut cx).is_pending());
    assert_eq!(calls.load(Ordering::Relaxed), 1);
    assert_eq!(tokio::runtime::Handle::current().metrics().num_alive_tasks(), 0);
}

#[tokio::test]
async fn a_legacy_client_is_not_served_until_it_reads() {
    let (http, still) = still();
    let parts = Request::new(()).into_parts().0;
    let session = http.0.begin(SessionKind::HttpSse, &parts).unwrap();
    let (stream_ref, _) = session.listen().unwrap();
    let mut held = still.0.lock().unwrap().pop().unwrap();
    for id in 0..256 {
        let answer = Message::result(RequestId::from(id), Payload::empty_object());
        held.sink.send(answer, Some(&RequestId::from(id))).unwrap();
    }
    assert!(session.deliver(Ok(notice()), None).await);
    let mut next = Box::pin(held.source.next());
    let is_taken = tokio::time::timeout(Duration::from_millis(1), next.as_mut()).await.is_ok();
    assert!(!is_taken, "a message was taken of a host that does not read");
    // The client reads, and that wakes the task.
    let reading = async {
        tokio::task::yield_now().await;
        session.next(stream_ref, std::task::Waker::noop())
    };
    let both = async { tokio::join!(next, reading) };
    let (taken, _) = in_time(both).await.expect("the task is not woken");
    assert!(matches!(taken, Ok(Some(_))));
}

#[tokio::test]
async fn nothing_is_kept_of_an_ended_session() {
    let store = Arc::new(MemoryStore::default());
    let mut config = Config::default();
    config.streams.event_store = Some(Arc::clone(&store) as _);
    let session = HttpSession::new(SessionKind::Stateful, "s".into(), &Caller::default(), &config);
    let (stream_ref, _) = session.listen().unwrap();
    let (_source, mut sink) = SessionTransport(Arc::clone(&session)).split();
    for _ in 0..2 {
        sink.send(Message::notification("n", Params::Absent), None).unwrap();
    }
    let handle = StreamHandle::new(session, stream_ref, None);
    let mut events = Events::new(EventSource::Session(handle), Duration::from_secs(20));
    let mut cx = Context::from_waker(std::task::Waker::noop());
    assert!(events.poll(&mut cx).is_ready());
    assert!(store.bytes() > 0);
    drop(sink);
    while let Poll::Ready(Some(_)) = events.poll(&mut cx) {}
    assert_eq!(store.bytes(), 0);
}

#[tokio::test]
async fn a_repeated_mcp_header_is_refused() {
    let (http, still) = still();
    let session = begin(&http, &still, 64);
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let hello = ping.replace("ping", "initialize");
    let notice = r#"{"jsonrpc":"2.0","method":"notifications/x"}"#;
    let modern = r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#;
    let (session, version) = (("mcp-session-id", session.key()), ("mcp-protocol-version", "2025-03-26"));
    let now = ("mcp-protocol-version", "2026-07-28");
    let method = ("mcp-method", "ping");
    for (method, headers, body, code) in [
        ("POST", vec![session, session], ping, "-32600"),
        ("POST", vec![session, version, version], ping, "-32600"),
        ("POST", vec![version, version], hello.as_str(), "-32600"),
        ("POST", vec![session, session], notice, "-32600"),
        ("POST", vec![now, now], notice, "-32600"),
        ("POST", vec![session, session], "[]", ""),
        ("POST", vec![now, now, method], modern, "-32020"),
        ("POST", vec![now, method, method], modern, "-32020"),
        ("POST", vec![now, method, ("mcp-name", "a"), ("mcp-name", "b")], modern, "-32020"),
        ("POST", vec![now, method, ("mcp-param-x", "a"), ("mcp-param-x", "a")], modern, "-32020"),
        ("GET", vec![session, session], "", "-32600"),
        ("DELETE", vec![session, version, version], "", "-32600"),
    ] {
        let mut request = post(&headers, body);
        *request.method_mut() = Method::from_bytes(method.as_bytes()).unwrap();
        let answer = in_time(http.handle(request)).await;
        let answer = answer.unwrap_or_else(|_| panic!("{method} {headers:?} is served"));
        assert_eq!(answer.status(), StatusCode::BAD_REQUEST, "{method} {headers:?}");
        let mut text = pin!(answer.into_body());
        let frame = poll_fn(|cx| http_body::Body::poll_frame(text.as_mut(), cx)).await;
        let piece = String::from_utf8(frame.unwrap().unwrap().into_data().unwrap().to_vec()).unwrap();
        assert!(piece.contains(code), "{method} {headers:?}: {piece}");
    }
    // Other headers may occur more than once.
    let twice = [session, ("accept", "text/event-stream"), ("x-forwarded-for", "a"), ("x-forwarded-for", "b")];
    assert_eq!(http.handle(post(&twice, notice)).await.status(), StatusCode::ACCEPTED);
}
