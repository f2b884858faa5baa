//! The allocations of a POST, counted by the allocator: a request without a session takes no more than one in a session.

#![allow(clippy::unwrap_used)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::convert::Infallible;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::{Context as Wakes, Poll};

use bytes::Bytes;
use http::response::Parts;
use http::{Request, StatusCode};
use http_body::{Body, Frame};
use protomcp_http::{Config, StreamableHttp};
use protomcp_server::{Context, Handler, Server, ServerInfo};
use protomcp_types::{CallTool, CallToolResult, ErrorObject, ServerCapabilities};
use tokio::runtime::{Builder, Runtime};

/// The calls of one measurement.
const CALLS: u64 = 100;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

struct Counting;

// SAFETY: everything is left to the system's allocator.
#[expect(unsafe_code, reason = "an allocator is unsafe")]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // A thread that ends may allocate when its counter is gone.
        let _ended = ALLOCATIONS.try_with(|count| count.set(count.get() + 1));
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// A server whose only tool answers in the next turn of the runtime, as if it had asked another process.
struct Echo;

impl Handler for Echo {
    fn info(&self) -> ServerInfo {
        ServerInfo::new("echo", "1").with_capabilities(ServerCapabilities::default().with_tools())
    }

    async fn call_tool(&self, call: CallTool, _: Context) -> Result<CallToolResult, ErrorObject> {
        tokio::task::yield_now().await;
        Ok(CallToolResult::text(call.name))
    }
}

/// The body of a request.
struct Whole(Option<Bytes>);

impl Body for Whole {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Wakes<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.0.take().map(|body| Ok(Frame::data(body))))
    }
}

struct Client {
    runtime: Runtime,
    service: StreamableHttp,
    headers: Vec<(&'static str, String)>,
}

impl Client {
    fn new() -> Self {
        let runtime = Builder::new_current_thread().enable_time().build().unwrap();
        let service = StreamableHttp::new(Server::from_handler(Echo), Config::default());
        let headers = [
            ("host", "localhost"),
            ("content-type", "application/json"),
            ("accept", "application/json, text/event-stream"),
        ];
        Self { runtime, service, headers: headers.map(|(name, value)| (name, value.to_owned())).into() }
    }

    fn with_header(mut self, name: &'static str, value: &str) -> Self {
        self.headers.push((name, value.to_owned()));
        self
    }

    fn request(&self, body: &'static str) -> Request<Whole> {
        let request = Request::post("/mcp");
        let request = self.headers.iter().fold(request, |request, (name, value)| request.header(*name, value));
        request.body(Whole(Some(Bytes::from_static(body.as_bytes())))).unwrap()
    }

    /// Reads the whole response, and returns its head.
    fn send(&self, request: Request<Whole>) -> Parts {
        self.runtime.block_on(async {
            let (head, body) = self.service.handle(request).await.into_parts();
            let mut body = pin!(body);
            while poll_fn(|cx| body.as_mut().poll_frame(cx)).await.is_some() {}
            head
        })
    }

    /// The allocations for one call.
    fn allocations(&self, call: &'static str) -> u64 {
        assert_eq!(self.send(self.request(call)).status, StatusCode::OK);
        let requests: Vec<_> = (0..CALLS).map(|_| self.request(call)).collect();
        let before = ALLOCATIONS.get();
        for request in requests {
            self.send(request);
        }
        (ALLOCATIONS.get() - before) / CALLS
    }
}

#[test]
fn a_post_without_a_session_allocates_no_more() {
    let client = Client::new();
    let hello = concat!(
        r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","#,
        r#""capabilities":{},"clientInfo":{"name":"test","version":"1"}}}"#
    );
    let head = client.send(client.request(hello));
    let session = head.headers["mcp-session-id"].to_str().unwrap();
    let client = client.with_header("mcp-session-id", session).with_header("mcp-protocol-version", "2025-11-25");
    let ready = client.send(client.request(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#));
    assert_eq!(ready.status, StatusCode::ACCEPTED);
    let stateful = client
        .allocations(r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"a":1}}}"#);

    let client = Client::new()
        .with_header("mcp-protocol-version", "2026-07-28")
        .with_header("mcp-method", "tools/call")
        .with_header("mcp-name", "echo");
    let stateless = client.allocations(concat!(
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"a":1},"_meta":{"#,
        r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"#,
        r#""io.modelcontextprotocol/clientInfo":{"name":"test","version":"1"}}}}"#
    ));
    assert!(stateless <= stateful, "{stateless} without a session, {stateful} with one");
}
