//! The HTTP requests that services and handlers see.

use std::sync::Arc;

use http::Request;
use http::request::Parts;
use protomcp_http::{Config, Listener, PeerAddr, Principal, StreamableHttp};
use protomcp_server::{Context, Handler, Limits, Server, ServerHandle, ServerInfo};
use protomcp_types::{CallTool, CallToolResult, ErrorObject};

use super::client::{Host, call, full};
use super::eras::tool;

/// Reports the tenant of its session, and the head of the request.
struct Seer {
    tenant: String,
}

fn header(head: &Parts, name: &str) -> String {
    head.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or("none").to_owned()
}

fn info() -> ServerInfo {
    ServerInfo::new("seer", "1")
}

impl Handler for Seer {
    fn info(&self) -> ServerInfo {
        info()
    }

    async fn call_tool(&self, _: CallTool, context: Context) -> Result<CallToolResult, ErrorObject> {
        let head = context.extension::<Parts>().ok_or_else(|| ErrorObject::internal("no head"))?;
        assert!(context.extension::<String>().is_none());
        let peer = head
            .extensions
            .get::<PeerAddr>()
            .map_or("no peer", |peer| if peer.0.ip().is_loopback() { "local" } else { "remote" });
        let who = head.extensions.get::<Principal>().map_or("guest", |who| &who.0);
        let trace = header(head, "x-trace");
        Ok(CallToolResult::text(format!("{} {trace} {} {peer} {who}", self.tenant, head.uri.path())))
    }
}

fn service() -> StreamableHttp {
    let sessions = ServerHandle::new(info(), Limits::default());
    let config = Config::default().with_legacy_sse();
    StreamableHttp::per_session(sessions, config, |head, sessions| {
        Server::with_sessions(sessions.clone(), Seer { tenant: header(head, "x-tenant") })
    })
}

#[tokio::test]
async fn each_session_has_a_service_and_each_request_a_head() {
    let service = service();
    let listener = Listener::bind(("127.0.0.1", 0)).await.unwrap();
    let host = Host::new(listener.local_addr().unwrap());
    tokio::spawn(protomcp_http::serve(listener, service.clone()).into_future());
    let (ann, bob) = (host.with("x-tenant", "ann"), host.with("x-tenant", "bob"));
    let (ann, bob) = (ann.hello("2025-11-25").await, bob.hello("2025-03-26").await);
    // The service is the service of the session, even if later requests name another tenant.
    let says = async |host: &Host, body: &str| host.say(body).await.1;
    assert!(says(&ann.with("x-trace", "1"), &call(1, "see")).await.contains(r#""ann 1 /mcp local guest""#));
    assert!(says(&ann.with("x-tenant", "eve").at("/"), &call(2, "see")).await.contains(r#""ann none / local guest""#));
    let batch = format!("[{},{}]", full(&call(1, "see")), full(&call(2, "see")));
    assert_eq!(says(&bob.with("x-trace", "2"), &batch).await.matches(r#""bob 2 /mcp local guest""#).count(), 2);
    // Without a session there is a service for each request.
    let modern =
        host.with("mcp-protocol-version", "2026-07-28").with("mcp-method", "tools/call").with("mcp-name", "see");
    for tenant in ["ann", "bob"] {
        let text = says(&modern.with("x-tenant", tenant).with("x-trace", "3"), &tool("see", "")).await;
        assert!(text.contains(&format!("{tenant} 3 /mcp local guest")), "{text}");
    }
    assert_eq!(service.sessions(), 2);
}

#[tokio::test]
async fn the_old_transport_shows_the_head_of_each_post() {
    let listener = Listener::bind(("127.0.0.1", 0)).await.unwrap();
    let host = Host::new(listener.local_addr().unwrap()).with("x-tenant", "old");
    tokio::spawn(protomcp_http::serve(listener, service()).into_future());
    let mut stream = host.at("/sse").get().await;
    let endpoint = stream.event().await.unwrap().data;
    let post = host.at(&format!("/sse{endpoint}"));
    for message in [
        super::client::initialize("2024-11-05", "{}"),
        r#"{"method":"notifications/initialized"}"#.to_owned(),
        call(1, "see"),
    ] {
        assert_eq!(post.with("x-trace", "4").say(&message).await.0, 202);
    }
    stream.event().await.unwrap();
    assert!(stream.event().await.unwrap().data.contains("old 4 "));
}

#[tokio::test]
async fn services_see_the_extensions_of_middleware() {
    let body = full(&tool("see", ""));
    let request = Request::post("http://localhost/mcp")
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream")
        .header("mcp-protocol-version", "2026-07-28")
        .header("mcp-method", "tools/call")
        .header("mcp-name", "see")
        .extension(Principal(Arc::from("ann")))
        .body(axum::body::Body::from(body))
        .unwrap();
    let response = service().handle(request).await;
    let bytes = axum::body::to_bytes(axum::body::Body::new(response.into_body()), 1 << 20).await.unwrap();
    let text = String::from_utf8(bytes.to_vec()).unwrap();
    assert!(text.contains("none none /mcp no peer ann"), "{text}");
}

#[tokio::test]
async fn an_idle_session_keeps_nothing_of_its_requests_alive() {
    let (service, mark) = (service(), Arc::new("mark"));
    let request = Request::post("http://localhost/mcp")
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream")
        .extension(Arc::clone(&mark))
        .body(axum::body::Body::from(full(&super::client::initialize("2025-11-25", "{}"))))
        .unwrap();
    let response = service.handle(request).await;
    let bytes = axum::body::to_bytes(axum::body::Body::new(response.into_body()), 1 << 20).await.unwrap();
    assert!(String::from_utf8_lossy(&bytes).contains("seer"));
    assert_eq!((service.sessions(), Arc::strong_count(&mark)), (1, 1));
}
