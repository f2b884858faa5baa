//! A server with all kinds of tools, and a client that sends and reads frames.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::BytesMut;
use protomcp_bufmcp::message::{
    CallToolRequest, CallToolResponse, ClientCapabilities, Error, InitializeRequest, ListToolsRequest,
    ListToolsResponse, McpMessage, Payload, ToolContent, ToolResult, call_tool_response, tool_content::Content,
};
use protomcp_bufmcp::{
    Any, BinaryPeer, BinaryServeError, BinaryServer, Decoder, Fault, FrameLimits, StructSchemas, ToolSchemas, encode,
};
use protomcp_server::{Context, Handler, Limits, Router, Server, ServerHandle, ServerInfo, Service};
use protomcp_testing::in_time;
use protomcp_types::{
    CallTool, CallToolResult, ContentBlock, ErrorObject, ListResources, ListResourcesResult, ListTools,
    ListToolsResult, RawJson, ReadResource, ReadResourceResult, Resource, ResourceContents, ServerCapabilities, Tool,
    ToolAnnotations, ToolName,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
use tokio::task::JoinHandle;

/// A server whose tools are in `names`.
#[derive(Debug, Default)]
pub(crate) struct Stage {
    pub(crate) tools: std::sync::Mutex<Vec<String>>,
    pub(crate) entered: AtomicUsize,
    /// Lists wait while it is true.
    pub(crate) holds_lists: tokio::sync::watch::Sender<bool>,
    pub(crate) listed: AtomicUsize,
    pub(crate) dropped: Arc<AtomicUsize>,
    pub(crate) seen: std::sync::Mutex<Vec<CallTool>>,
}

struct CountDrop(Arc<AtomicUsize>);

impl Drop for CountDrop {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

pub(crate) const TOOLS: [&str; 8] = ["binary", "echo", "error", "fail", "panic", "slow", "sum", "text"];

impl Stage {
    pub(crate) fn with_tools(names: impl IntoIterator<Item = impl Into<String>>) -> Arc<Self> {
        let stage = Self::default();
        stage.set_tools(names);
        Arc::new(stage)
    }

    pub(crate) fn set_tools(&self, names: impl IntoIterator<Item = impl Into<String>>) {
        *self.tools.lock().unwrap() = names.into_iter().map(Into::into).collect();
    }
}

/// The stage as a handler.
pub(crate) struct Actor(pub(crate) Arc<Stage>);

impl Handler for Actor {
    fn info(&self) -> ServerInfo {
        ServerInfo::new("stage", "1.2").with_capabilities(ServerCapabilities::default().with_tools().with_resources())
    }

    async fn list_tools(&self, request: ListTools, _: Context) -> Result<ListToolsResult, ErrorObject> {
        // Pages of ten, in reverse order.
        let names = self.0.tools.lock().unwrap().clone();
        self.0.listed.fetch_add(1, Ordering::SeqCst);
        self.0.holds_lists.subscribe().wait_for(|holds| !holds).await.unwrap();
        let start: usize = request.cursor.as_deref().map_or(0, |cursor| cursor.parse().unwrap());
        let page = names.iter().rev().skip(start).take(10).map(|name| {
            let mut tool = Tool::new(ToolName::new(name.as_str()).unwrap());
            tool.title = Some(format!("The {name}"));
            tool.description = Some(format!("Runs {name}"));
            tool.annotations = Some(ToolAnnotations { read_only_hint: Some(true), ..ToolAnnotations::default() });
            tool.to_raw().as_str().to_owned()
        });
        let result = ListToolsResult::new(RawJson::parse(format!("[{}]", page.collect::<Vec<_>>().join(","))).unwrap());
        Ok(if start + 10 < names.len() { result.with_next((start + 10).to_string()) } else { result })
    }

    async fn call_tool(&self, call: CallTool, _: Context) -> Result<CallToolResult, ErrorObject> {
        self.0.entered.fetch_add(1, Ordering::SeqCst);
        self.0.seen.lock().unwrap().push(call.clone());
        let arguments = call.arguments_or_empty();
        let json: serde_json::Value = arguments.to().unwrap();
        match call.name.as_str() {
            "echo" => Ok(CallToolResult::text(arguments.as_str().to_owned()).with_structured(arguments)),
            "sum" => {
                let sum =
                    json["numbers"].as_array().into_iter().flatten().filter_map(serde_json::Value::as_i64).sum::<i64>();
                Ok(CallToolResult::text("done").with_structured(RawJson::parse(format!("{{\"sum\":{sum}}}")).unwrap()))
            }
            "slow" => {
                let _dropped = CountDrop(Arc::clone(&self.0.dropped));
                tokio::time::sleep(Duration::from_millis(json["ms"].as_u64().unwrap_or(1_000_000))).await;
                Ok(CallToolResult::text("awake"))
            }
            "error" => Ok(CallToolResult::error("the disk is full")),
            "fail" => Err(ErrorObject::new(-32050, "broken").with_data(RawJson::parse(r#"{"part":"x"}"#).unwrap())),
            "panic" => panic!("on purpose"),
            "binary" => Ok(CallToolResult::of([
                ContentBlock::image("iVBORw==", "image/png"),
                ContentBlock::audio("AAEC", "audio/wav"),
                ContentBlock::link(&Resource::new("t:a", "a")),
            ])),
            "text" => Ok(CallToolResult::text("plain").with_meta(RawJson::parse(r#"{"k":1}"#).unwrap())),
            other => Err(ErrorObject::unknown_tool(other)),
        }
    }

    async fn list_resources(&self, _: ListResources, _: Context) -> Result<ListResourcesResult, ErrorObject> {
        let mut resources: Vec<_> = (0..120).map(|n| Resource::new(format!("t:{n:03}"), format!("r{n}"))).collect();
        resources[0].mime_type = Some("text/plain".into());
        resources.reverse();
        Ok(ListResourcesResult::of(&resources))
    }

    async fn read_resource(&self, request: ReadResource, _: Context) -> Result<ReadResourceResult, ErrorObject> {
        match request.uri.as_str() {
            "t:000" => Ok(ReadResourceResult::of([
                ResourceContents::text("t:000", "zero").with_mime_type("text/plain"),
                ResourceContents::blob("t:000#b", "AAEC"),
            ])),
            uri => Err(ErrorObject::resource_not_found(uri)),
        }
    }
}

/// A client with a conversation.
pub(crate) struct Client {
    pub(crate) stream: DuplexStream,
    pub(crate) serving: JoinHandle<Result<(), BinaryServeError>>,
    input: BytesMut,
    last: u64,
}

pub(crate) fn server(stage: &Arc<Stage>) -> (BinaryServer<Router<Actor>>, ServerHandle) {
    let actor = Actor(Arc::clone(stage));
    let limits = Limits { drain_timeout: Duration::from_secs(2), ..Limits::default() };
    let handle = ServerHandle::new(actor.info(), limits);
    (BinaryServer::new(Server::with_sessions(handle.clone(), actor)), handle)
}

impl Client {
    /// Begins a conversation without a message.
    pub(crate) fn connect<S: Service>(server: &BinaryServer<S>) -> Self {
        Self::connect_as(server, BinaryPeer::default())
    }

    pub(crate) fn connect_as<S: Service>(server: &BinaryServer<S>, peer: BinaryPeer) -> Self {
        let (stream, theirs) = duplex(64 << 10);
        let server = server.clone();
        let (reader, writer) = tokio::io::split(theirs);
        let serving = tokio::spawn(async move { server.serve(reader, writer, peer).await });
        Self { stream, serving, input: BytesMut::new(), last: 0 }
    }

    /// Begins a conversation with `initialize`.
    pub(crate) async fn open<S: Service>(server: &BinaryServer<S>) -> Self {
        let mut client = Self::connect(server);
        match client.request(initialize()).await {
            Payload::InitializeResponse(response) => assert_eq!(response.metadata["name"], "stage"),
            other => panic!("{other:?}"),
        }
        client
    }

    pub(crate) async fn send(&mut self, payload: Payload) -> u64 {
        assert!(self.try_send(payload).await);
        self.last
    }

    /// False if the server has closed the stream.
    pub(crate) async fn try_send(&mut self, payload: Payload) -> bool {
        self.last += 1;
        let mut frame = Vec::new();
        encode(&McpMessage { id: self.last, payload: Some(payload) }, &FrameLimits::default(), &mut frame).unwrap();
        self.stream.write_all(&frame).await.is_ok()
    }

    /// The next message; `None` at the end.
    pub(crate) async fn receive(&mut self) -> Option<McpMessage> {
        let mut decoder = Decoder::new(FrameLimits::default());
        in_time(async {
            loop {
                if let Some(message) = decoder.decode(&mut self.input).unwrap() {
                    return Some(message.unwrap());
                }
                if self.stream.read_buf(&mut self.input).await.unwrap() == 0 {
                    assert!(self.input.is_empty());
                    return None;
                }
            }
        })
        .await
        .expect("the server answers")
    }

    pub(crate) async fn request(&mut self, payload: Payload) -> Payload {
        let id = self.send(payload).await;
        let message = self.receive().await.expect("an answer");
        assert_eq!(message.id, id);
        message.payload.unwrap()
    }

    pub(crate) async fn call(&mut self, name: &str, arguments: &str) -> CallToolResponse {
        self.call_with(name, arguments, &[]).await
    }

    pub(crate) async fn call_with(&mut self, name: &str, json: &str, metadata: &[(&str, &str)]) -> CallToolResponse {
        match self.request(call(name, json, metadata).await).await {
            Payload::CallToolResponse(response) => response,
            other => panic!("{other:?}"),
        }
    }

    pub(crate) async fn tools(&mut self, request: ListToolsRequest) -> Result<ListToolsResponse, Fault> {
        match self.request(Payload::ListToolsRequest(request)).await {
            Payload::ListToolsResponse(response) => Ok(response),
            Payload::ErrorResponse(error) => Err(error.into()),
            other => panic!("{other:?}"),
        }
    }

    /// Closes this end, and waits for the other.
    pub(crate) async fn end(mut self) -> Result<(), BinaryServeError> {
        self.stream.shutdown().await.unwrap();
        while self.receive().await.is_some() {}
        in_time(self.serving).await.expect("the server ends").unwrap()
    }
}

pub(crate) fn initialize() -> Payload {
    let capabilities = ClientCapabilities {
        supports_bsr_refs: true,
        encodings: vec!["protobuf".into()],
        experimental: [("notifications".to_owned(), true)].into(),
        ..ClientCapabilities::default()
    };
    Payload::InitializeRequest(InitializeRequest {
        protocol_version: "1.0.0".into(),
        capabilities: Some(capabilities),
        metadata: [("name".to_owned(), "tests".to_owned())].into(),
    })
}

/// A call with arguments as `Struct`; none for an empty text.
pub(crate) async fn call(name: &str, json: &str, metadata: &[(&str, &str)]) -> Payload {
    let arguments = match json {
        "" => None,
        json => Some(as_struct(json).await),
    };
    let metadata = metadata.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    Payload::CallToolRequest(CallToolRequest { name: name.into(), arguments, metadata, ..CallToolRequest::default() })
}

pub(crate) async fn as_struct(json: &str) -> Any {
    let tool = Tool::new(ToolName::new("t").unwrap());
    let messages = StructSchemas.of_json(&tool).await.unwrap();
    messages.arguments_to_any(&RawJson::parse(json.to_owned()).unwrap()).await.unwrap()
}

pub(crate) async fn as_json(any: &Any) -> serde_json::Value {
    let tool = Tool::new(ToolName::new("t").unwrap());
    let messages = StructSchemas.of_json(&tool).await.unwrap();
    messages.result_to_json(any).await.unwrap().value.to().unwrap()
}

pub(crate) fn success(response: CallToolResponse) -> ToolResult {
    match response.result {
        Some(call_tool_response::Result::Success(result)) => result,
        other => panic!("not a result: {other:?}"),
    }
}

pub(crate) fn error(response: CallToolResponse) -> Error {
    match response.result {
        Some(call_tool_response::Result::Error(error)) => error,
        other => panic!("not an error: {other:?}"),
    }
}

pub(crate) fn text(content: &ToolContent) -> &str {
    match &content.content {
        Some(Content::Text(text)) => text,
        other => panic!("not text: {other:?}"),
    }
}

pub(crate) fn data(content: &ToolContent) -> &Any {
    match &content.content {
        Some(Content::Data(any)) => any,
        other => panic!("not data: {other:?}"),
    }
}

pub(crate) fn metadata(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}
