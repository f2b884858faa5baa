//! A server with two tools, and a client that sends single messages.

use std::time::Duration;

use bytes::Bytes;
use futures_util::{SinkExt, StreamExt};
use prost::Message as _;
use protomcp_bufmcp::message::{
    CallToolRequest, ClientCapabilities, InitializeRequest, ListToolsRequest, McpMessage, Payload,
};
use protomcp_bufmcp::{BinaryPeer, BinaryServer, StructSchemas, ToolSchemas};
use protomcp_server::{Context, Handler, Limits, Server, ServerHandle, ServerInfo};
use protomcp_testing::in_time;
use protomcp_types::{
    CallTool, CallToolResult, ErrorObject, ListTools, ListToolsResult, RawJson, ServerCapabilities, Tool, ToolName,
};
use protomcp_websocket::{WebSocketError, WebSocketOptions, serve};
use tokio::io::{DuplexStream, duplex};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::Role;

/// `echo` returns its text, `repeat` returns it many times.
pub(crate) struct Actor;

impl Handler for Actor {
    fn info(&self) -> ServerInfo {
        ServerInfo::new("stage", "1.2").with_capabilities(ServerCapabilities::default().with_tools())
    }

    async fn list_tools(&self, _: ListTools, _: Context) -> Result<ListToolsResult, ErrorObject> {
        let tools = ["echo", "repeat"].map(|name| Tool::new(ToolName::new(name).unwrap()).to_raw().as_str().to_owned());
        Ok(ListToolsResult::new(RawJson::parse(format!("[{}]", tools.join(","))).unwrap()))
    }

    async fn call_tool(&self, call: CallTool, _: Context) -> Result<CallToolResult, ErrorObject> {
        let json: serde_json::Value = call.arguments_or_empty().to().unwrap();
        let text = json["text"].as_str().unwrap_or_default();
        let times = json["times"].as_u64().unwrap_or(1);
        Ok(CallToolResult::text(text.repeat(usize::try_from(times).unwrap())))
    }
}

pub(crate) fn server() -> (BinaryServer<impl protomcp_server::Service>, ServerHandle) {
    let limits = Limits { drain_timeout: Duration::from_secs(2), ..Limits::default() };
    let handle = ServerHandle::new(Actor.info(), limits);
    let server = BinaryServer::new(Server::with_sessions(handle.clone(), Actor));
    (server.configure(|session| session.frames.max_frame = 1 << 20), handle)
}

/// A client that speaks WebSocket by the library alone.
pub(crate) struct Client {
    pub(crate) socket: WebSocketStream<DuplexStream>,
    pub(crate) serving: JoinHandle<Result<(), WebSocketError>>,
    pub(crate) server: ServerHandle,
    pub(crate) revoke: Option<oneshot::Sender<()>>,
}

impl Client {
    pub(crate) async fn new() -> Self {
        Self::with(WebSocketOptions::default(), BinaryPeer::default()).await
    }

    pub(crate) async fn with(options: WebSocketOptions, peer: BinaryPeer) -> Self {
        let (ours, theirs) = duplex(16 << 10);
        let (server, handle) = server();
        let (revoke, revoked) = oneshot::channel();
        let serving = tokio::spawn(async move {
            let revoked = async {
                if revoked.await.is_err() {
                    std::future::pending::<()>().await;
                }
            };
            serve(&server, theirs, peer, options, revoked).await
        });
        let socket = WebSocketStream::from_raw_socket(ours, Role::Client, None).await;
        Self { socket, serving, server: handle, revoke: Some(revoke) }
    }

    /// Sends the first request, and checks its answer.
    pub(crate) async fn open() -> Self {
        let mut client = Self::new().await;
        client.send(prefixed(&initialize())).await;
        let answer = McpMessage::decode(&client.message().await[4..]).unwrap();
        assert!(matches!(answer.payload, Some(Payload::InitializeResponse(_))), "{answer:?}");
        client
    }

    pub(crate) async fn send(&mut self, message: impl Into<Bytes>) {
        self.socket.send(Message::Binary(message.into())).await.unwrap();
    }

    pub(crate) async fn next(&mut self) -> Option<Message> {
        let next = in_time(self.socket.next()).await.expect("a message in time");
        next.map(Result::unwrap)
    }

    /// The next binary message.
    pub(crate) async fn message(&mut self) -> Bytes {
        loop {
            match self.next().await {
                Some(Message::Binary(bytes)) => return bytes,
                Some(Message::Ping(_) | Message::Pong(_)) => {}
                other => panic!("{other:?} instead of a binary message"),
            }
        }
    }

    /// The code of the next message, which closes the connection.
    pub(crate) async fn close_code(&mut self) -> u16 {
        match self.next().await {
            Some(Message::Close(Some(frame))) => frame.code.into(),
            other => panic!("{other:?} instead of a close message"),
        }
    }

    /// The outcome of the server.
    pub(crate) async fn outcome(self) -> Result<(), WebSocketError> {
        let Self { mut socket, serving, .. } = self;
        in_time(async { while let Some(Ok(_)) = socket.next().await {} }).await.unwrap();
        drop(socket);
        in_time(serving).await.unwrap().unwrap()
    }
}

pub(crate) fn initialize() -> McpMessage {
    let capabilities = ClientCapabilities { encodings: vec!["protobuf".to_owned()], ..ClientCapabilities::default() };
    let request = InitializeRequest {
        protocol_version: "1.0.0".to_owned(),
        capabilities: Some(capabilities),
        ..InitializeRequest::default()
    };
    McpMessage { id: 1, payload: Some(Payload::InitializeRequest(request)) }
}

pub(crate) fn list(id: u64) -> McpMessage {
    McpMessage { id, payload: Some(Payload::ListToolsRequest(ListToolsRequest::default())) }
}

/// A call with arguments in JSON.
pub(crate) async fn call(id: u64, name: &str, arguments: &str) -> McpMessage {
    let messages = StructSchemas.of_json(&Tool::new(ToolName::new(name).unwrap())).await.unwrap();
    let arguments = messages.arguments_to_any(&RawJson::parse(arguments.to_owned()).unwrap()).await.unwrap();
    let request = CallToolRequest { name: name.to_owned(), arguments: Some(arguments), ..CallToolRequest::default() };
    McpMessage { id, payload: Some(Payload::CallToolRequest(request)) }
}

/// A message behind its length.
pub(crate) fn prefixed(message: &McpMessage) -> Vec<u8> {
    let body = message.encode_to_vec();
    [&u32::try_from(body.len()).unwrap().to_be_bytes()[..], &body].concat()
}
