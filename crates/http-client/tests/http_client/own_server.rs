//! The server of this project: all revisions, questions of the server, and streams that are resumed.

use protomcp_http::{Config, Listener, StreamableHttp};
use protomcp_server::{Context, Handler, Server, ServerHandle, ServerInfo};
use protomcp_transport::{RequestStreams, Sink};
use protomcp_types::{
    CallTool, CallToolResult, ErrorObject, JsonBuf, ListRoots, ListToolsResult, Message, Params, Progress,
    ProtocolVersion, RawJson, ServerCapabilities, Tool, ToolName,
};
use std::sync::Arc;
use tokio::sync::Notify;

use super::peer::{Peer, params, stateless};

/// A server on its own port.
pub(crate) struct OwnServer {
    pub(crate) url: String,
    pub(crate) sessions: ServerHandle,
    /// Lets the tool `leave` continue.
    pub(crate) go: Arc<Notify>,
    /// The tool `hang` was called.
    pub(crate) begun: Arc<Notify>,
    /// The tool `hang` was cancelled.
    pub(crate) dropped: Arc<Notify>,
    serving: tokio::task::JoinHandle<std::io::Result<()>>,
}

struct Tools {
    sessions: ServerHandle,
    go: Arc<Notify>,
    begun: Arc<Notify>,
    dropped: Arc<Notify>,
}

/// Tells when it is dropped.
struct OnDrop(Arc<Notify>);

impl Drop for OnDrop {
    fn drop(&mut self) {
        self.0.notify_one();
    }
}

impl Handler for Tools {
    fn info(&self) -> ServerInfo {
        ServerInfo::clone(self.sessions.info())
    }

    async fn list_tools(&self, _: protomcp_types::ListTools, _: Context) -> Result<ListToolsResult, ErrorObject> {
        Ok(ListToolsResult::of(&[Tool::new(ToolName::new("echo").unwrap())]))
    }

    async fn call_tool(&self, call: CallTool, context: Context) -> Result<CallToolResult, ErrorObject> {
        match call.name.as_str() {
            "count" => (1..=3).for_each(|step: i64| context.progress(&Progress::new(step))),
            "roots" => {
                let roots = context.ask::<ListRoots>(&ListRoots::default()).await?.roots;
                return Ok(CallToolResult::text(format!("{} roots", roots.len())));
            }
            // Closes its stream, and reports when the test says so.
            "leave" => {
                context.close_stream();
                self.go.notified().await;
                context.progress(&Progress::new(1));
            }
            "hang" => {
                let _on_drop = OnDrop(Arc::clone(&self.dropped));
                self.begun.notify_one();
                std::future::pending::<()>().await;
            }
            "big" => return Ok(CallToolResult::text("x".repeat(3_000_000))),
            _ => {}
        }
        Ok(CallToolResult::text("done"))
    }
}

impl OwnServer {
    pub(crate) async fn new() -> Self {
        Self::with(Config::default(), Listener::bind(("127.0.0.1", 0)).await.unwrap()).await
    }

    pub(crate) async fn with(config: Config, listener: Listener) -> Self {
        let capabilities = ServerCapabilities::default().with_tools();
        let sessions = ServerHandle::new(
            ServerInfo::new("own", "1").with_capabilities(capabilities),
            protomcp_server::Limits::default(),
        );
        let [go, begun, dropped] = [(); 3].map(|()| Arc::new(Notify::new()));
        let [for_go, for_begun, for_dropped] = [&go, &begun, &dropped].map(Arc::clone);
        let tools = Tools { sessions: sessions.clone(), go: for_go, begun: for_begun, dropped: for_dropped };
        let service = StreamableHttp::new(Server::with_sessions(sessions.clone(), tools), config);
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let serving = tokio::spawn(listener.serve(service).into_future());
        Self { url, sessions, go, begun, dropped, serving }
    }
}

impl Drop for OwnServer {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

fn call(tool: &str) -> Params {
    params(&format!(r#"{{"name":"{tool}","arguments":{{}},"_meta":{{"progressToken":1}}}}"#))
}

#[tokio::test]
async fn every_stateful_revision_has_its_session() {
    let server = OwnServer::new().await;
    for version in ProtocolVersion::ALL.into_iter().filter(|version| version.is_stateful()) {
        let mut peer = Peer::new(&server.url);
        peer.initialize(version).await;
        peer.request(1, "tools/call", call("echo")).await;
        assert!(peer.result(1).await.contains("done"));
        peer.request(2, "tools/call", call("count")).await;
        for step in 1..=3 {
            assert!(peer.next_text().await.contains(&format!("\"progress\":{step}")));
        }
        assert!(peer.result(2).await.contains("done"));
        peer.sink.end_session();
        peer.flush().await;
    }
}

#[tokio::test]
async fn stateless_requests_need_no_session() {
    let server = OwnServer::new().await;
    let mut peer = Peer::new(&server.url);
    peer.request(1, "server/discover", stateless("")).await;
    assert!(peer.result(1).await.contains("2026-07-28"));
    peer.request(2, "tools/call", stateless(r#""name":"echo","arguments":{}"#)).await;
    assert!(peer.result(2).await.contains("done"));
    peer.request(3, "ping", stateless("")).await;
    assert_eq!(peer.refusal().await, (404, -32601));
}

#[tokio::test]
async fn a_big_result_arrives_whole() {
    let server = OwnServer::new().await;
    let mut peer = Peer::new(&server.url);
    peer.initialize(ProtocolVersion::V2025_11_25).await;
    peer.request(1, "tools/call", call("big")).await;
    assert!(peer.result(1).await.len() > 3_000_000);
}

#[tokio::test]
async fn a_question_of_the_server_is_answered() {
    let server = OwnServer::new().await;
    let mut peer = Peer::new(&server.url);
    peer.initialize(ProtocolVersion::V2025_11_25).await;
    peer.request(1, "tools/call", call("roots")).await;
    let Message::Request(question) = peer.next().await.0 else { panic!("no question") };
    assert_eq!(question.method, "roots/list");
    let roots = JsonBuf::from(RawJson::parse(r#"{"roots":[{"uri":"file:///a"}]}"#).unwrap());
    peer.sink.send(Message::result(question.id, roots), None).unwrap();
    peer.flush().await;
    assert!(peer.result(1).await.contains("1 roots"));
}

#[tokio::test]
async fn a_stream_that_the_server_closes_is_resumed() {
    let server = OwnServer::new().await;
    let mut peer = Peer::new(&server.url);
    peer.initialize(ProtocolVersion::V2025_11_25).await;
    peer.request(1, "tools/call", call("leave")).await;
    server.go.notify_one();
    assert!(peer.next_text().await.contains("\"progress\":1"));
    assert!(peer.result(1).await.contains("done"));
}

#[tokio::test]
async fn messages_that_belong_to_no_request_arrive() {
    let server = OwnServer::new().await;
    let mut peer = Peer::new(&server.url);
    peer.initialize(ProtocolVersion::V2025_11_25).await;
    let announcing = async {
        // The stream opens after the handshake; each announcement before that is lost.
        loop {
            server.sessions.tools_changed(protomcp_server::Audience::Everyone);
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    };
    tokio::select! {
        text = peer.next_text() => assert!(text.contains("notifications/tools/list_changed"), "{text}"),
        () = announcing => {}
    }
}
