//! A server of HTTP/2 that retires its first connection.

use std::convert::Infallible;
use std::sync::atomic::{AtomicUsize, Ordering};

use http::{HeaderMap, Response};
use http_body_util::{BodyExt, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use protomcp_bufmcp::message::ErrorResponse;
use protomcp_bufmcp::{Fault, TcpServer, code};
use protomcp_testing::{Log, StoppedClock, in_time, until};
use tokio::io::{WriteHalf, duplex};
use tokio::net::TcpListener;
use tokio::sync::{Notify, Semaphore};
use tokio::task::JoinHandle;
use tonic::Code;

use super::*;

/// A server that answers with the bytes of the request, and retires its first connection when it is asked to.
struct Scene {
    connections: AtomicUsize,
    /// Slow requests wait for a permit.
    release: Semaphore,
    /// Slow requests that wait.
    waiting: Semaphore,
    retire: Notify,
    /// Slow requests whose client has given them up.
    given_up: Semaphore,
    /// Calls of `CallToolStream`, which it does not have.
    streams: AtomicUsize,
    /// Calls of `Listen`.
    listens: AtomicUsize,
    /// A `Listen` ends without a notice.
    is_silent: AtomicBool,
    /// The resource `a:b` is not there.
    is_gone: AtomicBool,
    /// The status of HTTP that each request is answered with, without gRPC.
    refuses: Option<u16>,
}

impl Scene {
    fn new() -> Arc<Self> {
        Arc::new(Self::open())
    }

    fn open() -> Self {
        Self {
            connections: AtomicUsize::new(0),
            release: Semaphore::new(0),
            waiting: Semaphore::new(0),
            retire: Notify::new(),
            given_up: Semaphore::new(0),
            streams: AtomicUsize::new(0),
            listens: AtomicUsize::new(0),
            is_silent: AtomicBool::new(false),
            is_gone: AtomicBool::new(false),
            refuses: None,
        }
    }

    /// Serves this scene; returns a carrier to it, and its first connection.
    async fn carrier(self: &Arc<Self>) -> (Carrier<TcpServer>, Channel) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        tokio::spawn(serve(Arc::clone(self), listener));
        let way = Arc::new(TcpServer::new(&address));
        let channel = connect(&*way).await.unwrap();
        let origin = format!("http://{address}/").parse().unwrap();
        (carrier(way, origin), channel)
    }
}

/// Reports a request that is dropped before its answer.
struct Slow<'a>(&'a Semaphore);

impl Drop for Slow<'_> {
    fn drop(&mut self) {
        self.0.add_permits(1);
    }
}

async fn answer(
    scene: Arc<Scene>,
    request: http::Request<Incoming>,
) -> Response<impl http_body::Body<Data = Bytes, Error = Infallible>> {
    let is_stream = request.uri().path() == "/buf.mcp.v1.MCPStreams/CallToolStream";
    let listens = request.uri().path() == "/buf.mcp.v1.MCPStreams/Listen";
    let body = request.into_body().collect().await.unwrap().to_bytes();
    // One that listens has the first notice and no other.
    let is_gone = scene.is_gone.load(Ordering::SeqCst);
    let first: &[u8] = if is_gone { b"\0\0\0\0\x07\x0a\x05\x0a\x03a:b" } else { b"\0\0\0\0\x02\x0a\0" };
    let first: &[u8] = if scene.is_silent.load(Ordering::SeqCst) { b"" } else { first };
    scene.listens.fetch_add(usize::from(listens), Ordering::SeqCst);
    let body = if listens { Bytes::from_static(first) } else { body };
    if body.ends_with(b"slow") {
        let slow = Slow(&scene.given_up);
        scene.waiting.add_permits(1);
        scene.release.acquire().await.unwrap().forget();
        std::mem::forget(slow);
    }
    let mut trailers = HeaderMap::new();
    let status = HeaderValue::from_static(if is_stream { "12" } else { "0" });
    trailers.insert("grpc-status", status.clone());
    // A server without the method has its status in the head.
    let has_run = body.ends_with(b"run");
    scene.streams.fetch_add(usize::from(is_stream), Ordering::SeqCst);
    let data = (!is_stream).then_some(Ok(Frame::data(body)));
    let frames: Vec<_> = data.into_iter().chain([Ok(Frame::trailers(trailers))]).collect();
    let body = StreamBody::new(futures_util::stream::iter(frames));
    let mut response = Response::builder().header("content-type", "application/grpc").body(body).unwrap();
    if is_stream && !has_run {
        response.headers_mut().insert("grpc-status", status);
    }
    if let Some(status) = scene.refuses {
        *response.status_mut() = status.try_into().unwrap();
        response.headers_mut().insert("content-type", HeaderValue::from_static("application/json"));
        if status == 204 {
            *response.headers_mut() = Status::unavailable("away").into_http::<()>().into_parts().0.headers;
            response.headers_mut().remove("content-type");
        }
    }
    response
}

async fn serve(scene: Arc<Scene>, listener: TcpListener) {
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        let number = scene.connections.fetch_add(1, Ordering::SeqCst);
        let (ours, asked) = (Arc::clone(&scene), Arc::clone(&scene));
        tokio::spawn(async move {
            let service = service_fn(move |request| {
                let scene = Arc::clone(&ours);
                async move { Ok::<_, Infallible>(answer(scene, request).await) }
            });
            let connection = http2::Builder::new(TokioExecutor::new()).serve_connection(TokioIo::new(stream), service);
            tokio::pin!(connection);
            tokio::select! {
                _ = &mut connection => return,
                () = asked.retire.notified(), if number == 0 => connection.as_mut().graceful_shutdown(),
            }
            drop(connection.await);
        });
    }
}

fn carrier(way: Arc<TcpServer>, origin: Uri) -> Carrier<TcpServer> {
    Carrier {
        way,
        origin,
        authorization: None,
        max_message: 1 << 20,
        timeout: None,
        listener: Mutex::default(),
        lacks_reports: AtomicBool::new(false),
        lacks_logs: AtomicBool::new(false),
    }
}

/// A conversation with a server by way of a carrier.
struct Conversation {
    reader: tokio::io::ReadHalf<DuplexStream>,
    writer: WriteHalf<DuplexStream>,
    input: BytesMut,
    /// The task of the carrier.
    running: JoinHandle<()>,
}

impl Conversation {
    /// With a new carrier to this scene.
    async fn with(scene: &Arc<Scene>) -> Self {
        let (carrier, channel) = scene.carrier().await;
        Self::begin(carrier, channel)
    }

    fn begin(carrier: Carrier<TcpServer>, channel: Channel) -> Self {
        let (near, far) = duplex(1 << 16);
        let running = tokio::spawn(carrier.run(channel, far));
        let (reader, writer) = split(near);
        Self { reader, writer, input: BytesMut::new(), running }
    }

    /// Closes it, and waits for its carrier.
    async fn end(self) {
        let Self { reader, writer, running, .. } = self;
        drop((reader, writer));
        running.await.unwrap();
    }

    async fn send(&mut self, id: u64, body: &'static [u8]) {
        self.send_message(RawMessage { id, payload: 6, body: Bytes::from_static(body) }).await;
    }

    async fn send_message(&mut self, message: RawMessage) {
        self.writer.write_all(&message.to_frame().unwrap()).await.unwrap();
    }

    async fn answer(&mut self) -> (u64, Bytes) {
        let message = self.message().await;
        assert_eq!(message.payload, 7, "{:?}", String::from_utf8_lossy(&message.body));
        (message.id, message.body)
    }

    /// The next answer, without the notices in front of it.
    async fn request_answered(&mut self) -> (u64, Bytes) {
        loop {
            let message = self.message().await;
            if message.id != 0 {
                return (message.id, message.body);
            }
        }
    }

    async fn message(&mut self) -> RawMessage {
        loop {
            if let Some(message) = take(&mut self.input) {
                return RawMessage::split(&message).unwrap();
            }
            assert_ne!(self.reader.read_buf(&mut self.input).await.unwrap(), 0, "the conversation has ended");
        }
    }
}

#[tokio::test]
async fn calls_go_on_where_a_server_retires_a_connection() {
    let scene = Scene::new();
    let (carrier, channel) = scene.carrier().await;
    let mut ended = channel.ended();
    let mut conversation = Conversation::begin(carrier, channel);
    conversation.send(2, b"slow").await;
    scene.waiting.acquire().await.unwrap().forget();
    scene.retire.notify_one();
    // Requests around the end of the connection are answered as well, while the slow one runs.
    for id in 3..30 {
        conversation.send(id, b"quick").await;
        assert_eq!(conversation.answer().await, (id, Bytes::from_static(b"quick")));
    }
    ended.changed().await.unwrap_err();
    conversation.send(30, b"quick").await;
    assert_eq!(conversation.answer().await.0, 30);
    assert_eq!(scene.connections.load(Ordering::SeqCst), 2);
    scene.release.add_permits(1);
    assert_eq!(conversation.answer().await, (2, Bytes::from_static(b"slow")));
    conversation.end().await;
}

#[tokio::test]
async fn the_server_sees_a_request_that_is_given_up() {
    let scene = Scene::new();
    let mut conversation = Conversation::with(&scene).await;
    conversation.send(2, b"slow").await;
    conversation.send(3, b"slow").await;
    scene.waiting.acquire_many(2).await.unwrap().forget();
    conversation.writer.write_all(b"\0\0\0\x02\x08\x02").await.unwrap();
    scene.given_up.acquire().await.unwrap().forget();
    scene.release.add_permits(1);
    assert_eq!(conversation.answer().await, (3, Bytes::from_static(b"slow")));
    assert_eq!(scene.given_up.available_permits(), 0);
    conversation.end().await;
}

#[tokio::test]
async fn a_server_without_streams_is_asked_for_reports_once() {
    let scene = Scene::new();
    let mut conversation = Conversation::with(&scene).await;
    // Calls that want progress.
    for id in [2, 3] {
        conversation.send(id, b"\x80\x01\x01").await;
        assert_eq!(conversation.answer().await, (id, Bytes::from_static(b"\x80\x01\x01")));
    }
    assert_eq!(scene.streams.load(Ordering::SeqCst), 1);
    conversation.end().await;
}

#[test]
fn a_call_may_have_any_time() {
    let carrier = carrier(Arc::new(TcpServer::new("localhost:1")), Uri::from_static("http://localhost:1/"));
    let request = carrier.request(Bytes::new(), Some(Duration::MAX));
    assert!(request.metadata().contains_key("grpc-timeout"));
}

/// Each `Listen` of this server ends after its first notice.
#[tokio::test]
async fn a_subscription_is_made_again_and_counts_as_changed() {
    let scene = Scene::new();
    let mut conversation = Conversation::with(&scene).await;
    let uri = Bytes::from_static(b"\x0a\x03a:b");
    conversation.send_message(RawMessage { id: 2, payload: 120, body: uri.clone() }).await;
    let subscribed = RawMessage { id: 2, payload: 121, body: Bytes::new() };
    assert_eq!(conversation.message().await, subscribed);
    for _ in 0..2 {
        assert_eq!(conversation.message().await, RawMessage { id: 0, payload: 124, body: uri.clone() });
    }
    conversation.send_message(RawMessage { id: 3, payload: 122, body: uri }).await;
    while conversation.message().await.id != 3 {}
    conversation.end().await;
}

#[tokio::test]
async fn a_resource_that_is_gone_fails_no_other_one() {
    let scene = Scene::new();
    let mut conversation = Conversation::with(&scene).await;
    let (gone, other) = (Bytes::from_static(b"\x0a\x03a:b"), Bytes::from_static(b"\x0a\x03c:d"));
    conversation.send_message(RawMessage { id: 2, payload: 120, body: gone.clone() }).await;
    assert_eq!(conversation.message().await.payload, 121);
    scene.is_gone.store(true, Ordering::SeqCst);
    conversation.send_message(RawMessage { id: 3, payload: 120, body: other }).await;
    let (mut updates, mut is_subscribed) = (0, false);
    while updates == 0 || !is_subscribed {
        match conversation.message().await {
            RawMessage { id: 3, payload, .. } => {
                assert_eq!(payload, 121);
                is_subscribed = true;
            }
            message => {
                assert_eq!((message.id, message.payload), (0, 124));
                updates += usize::from(message.body == gone);
            }
        }
    }
    conversation.send_message(RawMessage { id: 4, payload: 120, body: gone.clone() }).await;
    let refused = loop {
        let message = conversation.message().await;
        if message.id == 4 {
            break message;
        }
        assert_ne!(message.body, gone, "its change is heard of once");
    };
    assert_eq!(refused.payload, 12);
    conversation.end().await;
}

#[tokio::test]
async fn calls_are_answered_when_nothing_is_heard_any_longer() {
    let (log, scene) = (Log::capture(), Scene::new());
    let mut conversation = Conversation::with(&scene).await;
    let uri = Bytes::from_static(b"\x0a\x03a:b");
    conversation.send_message(RawMessage { id: 2, payload: 120, body: uri }).await;
    assert_eq!(conversation.message().await.payload, 121);
    conversation.send(3, b"slow").await;
    scene.waiting.acquire().await.unwrap().forget();
    // The next request to listen fails.
    scene.is_silent.store(true, Ordering::SeqCst);
    until("the conversation hears of no changes", || log.has("no longer says what changes")).await;
    let listens = scene.listens.load(Ordering::SeqCst);
    let clock = StoppedClock::new();
    clock.advance(AGAIN).await;
    drop(clock);
    until("it asks for them again", || scene.listens.load(Ordering::SeqCst) > listens).await;
    conversation.send(4, b"quick").await;
    assert_eq!(conversation.request_answered().await, (4, Bytes::from_static(b"quick")));
    scene.release.add_permits(1);
    assert_eq!(conversation.request_answered().await, (3, Bytes::from_static(b"slow")));
    // It ends, although its client has not closed it.
    in_time(conversation.running).await.expect("it ends after its calls").unwrap();
    assert_eq!(scene.given_up.available_permits(), 0);
}

#[tokio::test]
async fn a_call_that_may_have_run_is_not_made_again() {
    let scene = Scene::new();
    let mut conversation = Conversation::with(&scene).await;
    // A call named "run" that wants progress, of which the status follows the head.
    conversation.send(2, b"\x80\x01\x01\x0a\x03run").await;
    assert_eq!(conversation.message().await.payload, 12);
    assert_eq!(scene.streams.load(Ordering::SeqCst), 1);
    conversation.end().await;
}

#[tokio::test]
async fn a_server_that_refuses_its_log_is_asked_once() {
    let scene = Scene::new();
    scene.is_silent.store(true, Ordering::SeqCst);
    let (carrier, channel) = scene.carrier().await;
    let (heard, _hears) = mpsc::channel(1);
    // A call that wants log messages.
    let call = RawMessage { id: 2, payload: 7, body: Bytes::from_static(b"\x90\x01\x03") };
    for _ in 0..2 {
        carrier.hear_logs(channel.clone(), &call, &heard).await;
        assert_eq!(scene.listens.load(Ordering::SeqCst), 1);
    }
}

/// nginx sends no content type with 204.
#[tokio::test]
async fn a_status_of_grpc_without_a_content_type_counts() {
    let scene = Arc::new(Scene { refuses: Some(204), ..Scene::open() });
    let mut conversation = Conversation::with(&scene).await;
    conversation.send(2, b"quick").await;
    let fault = Fault::from(ErrorResponse::decode(conversation.message().await.body).unwrap());
    assert_eq!((fault.code, &*fault.message), (code::OVERLOADED, "away"));
    conversation.end().await;
}

/// The error of proto-mcp, with the status of gRPC that stands for each status of HTTP.
#[tokio::test]
async fn an_answer_without_grpc_says_the_status_of_http() {
    let cases = [
        (200, code::INTERNAL_ERROR, Code::Unknown),
        (400, code::INTERNAL_ERROR, Code::Internal),
        (401, code::UNAUTHENTICATED, Code::Unauthenticated),
        (403, code::PERMISSION_DENIED, Code::PermissionDenied),
        (404, code::METHOD_NOT_FOUND, Code::Unimplemented),
        (429, code::OVERLOADED, Code::Unavailable),
        (500, code::INTERNAL_ERROR, Code::Unknown),
        (502, code::OVERLOADED, Code::Unavailable),
        (503, code::OVERLOADED, Code::Unavailable),
        (504, code::OVERLOADED, Code::Unavailable),
    ];
    for (http, code, status) in cases {
        let scene = Arc::new(Scene { refuses: Some(http), ..Scene::open() });
        let mut conversation = Conversation::with(&scene).await;
        conversation.send(2, b"quick").await;
        let error = ErrorResponse::decode(conversation.message().await.body).unwrap();
        let fault = Fault::from(error);
        assert_eq!((fault.code, &fault.data["grpc_status"]), (code, &f64::from(i32::from(status)).into()), "{http}");
        assert_eq!(fault.message, format!("the address answers with the HTTP status {http} and without gRPC"));
        conversation.end().await;
    }
}

/// It answers with bytes that are not HTTP/2, or ends the connection.
#[tokio::test]
async fn a_server_without_http_2_is_named_as_such() {
    for bytes in [&b"HTTP/1.1 400 Bad Request\r\n\r\n"[..], b""] {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let way = Arc::new(TcpServer::new(&address));
        let (channel, accepted) = tokio::join!(connect(&*way), listener.accept());
        let (mut stream, _) = accepted.unwrap();
        let origin = format!("http://{address}/").parse().unwrap();
        let mut conversation = Conversation::begin(carrier(way, origin), channel.unwrap());
        conversation.send(2, b"quick").await;
        stream.read_exact(&mut [0; 24]).await.unwrap();
        stream.write_all(bytes).await.unwrap();
        stream.shutdown().await.unwrap();
        let error = ErrorResponse::decode(conversation.message().await.body).unwrap();
        let cause = error.message.strip_prefix("the address has not answered the first call, and may not serve gRPC: ");
        assert!(cause.is_some_and(|cause| cause != "connection error"), "{}", error.message);
        conversation.end().await;
    }
}
