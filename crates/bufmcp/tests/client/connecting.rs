//! Streams to servers over TCP: proto-mcp where the server speaks it, JSON-RPC where it does not.

use std::sync::Arc;
use std::time::Duration;

use protomcp_bufmcp::{
    AnyClient, BinaryClient, BinaryClientConfig, BinaryCloseReason, BinaryPeer, BinaryServer, ConnectAnyError,
    DetectOptions, StructSchemas, TcpServer, Tokens,
};
use protomcp_client::{Client, ListChanged, RequestError};
use protomcp_server::{Audience, Context, Handler, Server, ServerInfo};
use protomcp_transport::lines::Lines;
use protomcp_types::{CallTool, CallToolResult, ErrorObject, ListTools, ListToolsResult, RawJson, ServerCapabilities};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::config;

struct Nothing;

impl Handler for Nothing {
    fn info(&self) -> ServerInfo {
        ServerInfo::new("nothing", "1").with_capabilities(ServerCapabilities::default().with_tools())
    }

    async fn list_tools(&self, _: ListTools, _: Context) -> Result<ListToolsResult, ErrorObject> {
        Ok(ListToolsResult::new(RawJson::parse("[]").unwrap()))
    }
}

/// Serves each connection with `serve`, and returns the address.
async fn listen<F: Future<Output = ()> + Send + 'static>(serve: impl Fn(TcpStream) -> F + Send + 'static) -> TcpServer {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(serve(stream));
        }
    });
    TcpServer::new(address.to_string())
}

async fn serve_any(server: BinaryServer<impl protomcp_server::Service>, stream: TcpStream) {
    let (reader, writer) = stream.into_split();
    drop(server.serve_any(reader, writer, BinaryPeer::default(), DetectOptions::NETWORK).await);
}

/// The name of the server at the other end of a session of MCP.
async fn server_name<R, W>(connected: AnyClient<R, W>) -> String
where
    R: tokio::io::AsyncRead + Unpin + Send + 'static,
    W: tokio::io::AsyncWrite + Unpin + Send + 'static,
{
    let session = Client::new("host", "1.0").connect(connected.into_transport(Arc::new(StructSchemas))).await.unwrap();
    session.server().implementation.as_ref().map(|info| info.name.clone()).unwrap_or_default()
}

#[tokio::test]
async fn a_server_of_both_protocols_is_spoken_to_in_proto_mcp() {
    let server = BinaryServer::new(Server::from_handler(Nothing));
    let address = listen(move |stream| serve_any(server.clone(), stream)).await;
    let connected = BinaryClient::connect_any(&address, config()).await.unwrap();
    assert!(matches!(connected, AnyClient::Binary(_)));
    assert_eq!(server_name(connected).await, "nothing");
}

#[tokio::test]
async fn a_server_of_json_alone_is_spoken_to_in_json() {
    // Servers answer bytes that are not JSON, close the stream, or wait for more.
    let server = Server::from_handler(Nothing);
    let answering = listen({
        let server = server.clone();
        move |stream| {
            let (server, (reader, writer)) = (server.clone(), stream.into_split());
            async move { drop(server.serve(Lines::new(reader, writer)).await) }
        }
    })
    .await;
    let strict = |is_silent: bool| {
        let server = server.clone();
        move |mut stream: TcpStream| {
            let server = server.clone();
            async move {
                let mut first = [0];
                stream.peek(&mut first).await.unwrap();
                if first == *b"{" {
                    let (reader, writer) = stream.into_split();
                    drop(server.serve(Lines::new(reader, writer)).await);
                } else if is_silent {
                    // Until the client gives up.
                    drop(stream.read_to_end(&mut Vec::new()).await);
                }
            }
        }
    };
    let (closing, silent) = (listen(strict(false)).await, listen(strict(true)).await);
    for (address, open_timeout) in [(answering, 30_000), (closing, 30_000), (silent, 300)] {
        let config = BinaryClientConfig { open_timeout: Duration::from_millis(open_timeout), ..config() };
        let connected = BinaryClient::connect_any(&address, config).await.unwrap();
        assert!(matches!(connected, AnyClient::Json(_)));
        assert_eq!(server_name(connected).await, "nothing");
    }
}

#[tokio::test]
async fn a_refusal_in_proto_mcp_is_final() {
    let server = BinaryServer::new(Server::from_handler(Nothing))
        .configure(|config| config.tokens = Some(Arc::new(Tokens::new().with("ann", "t0k"))));
    let address = listen(move |stream| serve_any(server.clone(), stream)).await;
    let refused = BinaryClient::connect_any(&address, BinaryClientConfig { token: Some("x".into()), ..config() }).await;
    assert!(matches!(refused, Err(ConnectAnyError::Binary(BinaryCloseReason::Refused(fault))) if fault.code == -32010));
}

#[tokio::test]
async fn a_token_is_not_given_up_for_another_protocol() {
    let address = listen(|mut stream| async move { drop(stream.write_all(b"{}\n").await) }).await;
    let config = BinaryClientConfig { token: Some("t0k".into()), ..config() };
    let refused = BinaryClient::connect_any(&address, config).await;
    assert!(matches!(refused, Err(ConnectAnyError::Binary(reason)) if reason.is_other_protocol()));
}

#[tokio::test]
async fn an_address_without_a_server_is_an_error() {
    let free = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let refused = BinaryClient::connect_any(&TcpServer::new(free.to_string()), config()).await;
    assert!(matches!(refused, Err(ConnectAnyError::Stream(_))));
}

#[tokio::test]
async fn changes_and_the_end_reach_a_client_of_mcp() {
    let tools = Server::from_handler(Nothing);
    let (sessions, server) = (tools.handle().clone(), BinaryServer::new(tools));
    let address = listen(move |stream| serve_any(server.clone(), stream)).await;
    let connected = BinaryClient::connect_any(&address, config()).await.unwrap();
    let (changed, mut changes) = tokio::sync::mpsc::unbounded_channel();
    let client = Client::new("host", "1.0").on_list_changed(move |list, _| {
        let changed = changed.clone();
        async move { changed.send(list).unwrap() }
    });
    let session = client.connect(connected.into_transport(Arc::new(StructSchemas))).await.unwrap();
    // The session behind a conversation begins with its first request.
    assert!(session.list_tools(None).await.unwrap().items.is_empty());
    sessions.tools_changed(Audience::Everyone);
    assert_eq!(changes.recv().await, Some(ListChanged::Tools));
    sessions.shutdown();
    session.closed().await;
}

struct Stuck;

impl Handler for Stuck {
    fn info(&self) -> ServerInfo {
        ServerInfo::new("stuck", "1").with_capabilities(ServerCapabilities::default().with_tools())
    }

    async fn list_tools(&self, _: ListTools, _: Context) -> Result<ListToolsResult, ErrorObject> {
        Ok(ListToolsResult::new(RawJson::parse(r#"[{"name":"wait","inputSchema":{"type":"object"}}]"#).unwrap()))
    }

    async fn call_tool(&self, _: CallTool, _: Context) -> Result<CallToolResult, ErrorObject> {
        std::future::pending().await
    }
}

/// Its answer is lost, which is not an error of the server: the client may connect again and retry.
#[tokio::test]
async fn a_call_is_lost_with_its_conversation() {
    let (ours, theirs) = tokio::io::duplex(4096);
    let ((reader, writer), (server_reader, server_writer)) = (tokio::io::split(ours), tokio::io::split(theirs));
    let server = BinaryServer::new(Server::from_handler(Stuck));
    let serving = tokio::spawn(async move { server.serve(server_reader, server_writer, BinaryPeer::default()).await });
    let binary = BinaryClient::connect(reader, writer, config()).await.unwrap();
    let session = Client::new("host", "1.0").connect(binary.into_transport(Arc::new(StructSchemas))).await.unwrap();
    assert_eq!(session.list_tools(None).await.unwrap().items.len(), 1);
    let calling = tokio::spawn({
        let session = session.clone();
        async move { session.call_tool("wait", &serde_json::json!({})).await }
    });
    // Requests are answered in any order, so this one shows that the call is there.
    session.list_tools(None).await.unwrap();
    serving.abort();
    let lost = calling.await.unwrap().unwrap_err();
    assert!(matches!(lost, RequestError::Closed(_)) && lost.is_retryable(), "{lost:?}");
    session.closed().await;
}
