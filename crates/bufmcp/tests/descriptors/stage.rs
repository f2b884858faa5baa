//! A server with tools of all kinds of schemas, and a client that encodes with a library of others.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use prost_reflect::prost::Message as _;
use prost_reflect::{DescriptorPool, DynamicMessage};
use protomcp_bufmcp::message::{
    CallToolRequest, CallToolResponse, ListToolsRequest, Tool as ProtoTool, tool::SchemaSource,
};
use protomcp_bufmcp::{
    Any, BinaryCallError, BinaryClient, BinaryClientConfig, BinaryPeer, BinaryServer, DescriptorSchemas, Fault,
    ToolSchemas,
};
use protomcp_server::{Context, Handler, Server, ServerInfo};
use protomcp_types::{
    CallTool, CallToolResult, ErrorObject, ListCapability, ListTools, ListToolsResult, RawJson, ServerCapabilities,
    Tool, ToolName,
};
use serde_json::{Value, json};
use tokio::io::{duplex, split};

use crate::client::config;

/// The calls that have reached the handler, by which it answers with their arguments.
#[derive(Debug, Default)]
pub(crate) struct Spy {
    pub(crate) entered: AtomicUsize,
    pub(crate) arguments: Mutex<Vec<Value>>,
    /// The definitions, as a JSON array.
    pub(crate) tools: Mutex<Value>,
    /// The structured result of `answer`.
    pub(crate) answer: Mutex<Value>,
}

impl Spy {
    pub(crate) fn with(tools: Value) -> Arc<Self> {
        let spy = Self::default();
        *spy.tools.lock().unwrap() = tools;
        Arc::new(spy)
    }

    pub(crate) fn entered(&self) -> usize {
        self.entered.load(Ordering::SeqCst)
    }

    /// The arguments of the last call.
    pub(crate) fn last(&self) -> Value {
        self.arguments.lock().unwrap().pop().unwrap()
    }
}

pub(crate) struct Spied(pub(crate) Arc<Spy>);

impl Handler for Spied {
    fn info(&self) -> ServerInfo {
        // The list may change without notice, so it is asked for each time.
        let tools = Some(ListCapability { list_changed: false, subscribe: false });
        let capabilities = ServerCapabilities { tools, ..ServerCapabilities::default() };
        ServerInfo::new("spied", "1").with_capabilities(capabilities)
    }

    async fn list_tools(&self, _: ListTools, _: Context) -> Result<ListToolsResult, ErrorObject> {
        Ok(ListToolsResult::new(RawJson::of(&*self.0.tools.lock().unwrap()).unwrap()))
    }

    async fn call_tool(&self, call: CallTool, _: Context) -> Result<CallToolResult, ErrorObject> {
        self.0.entered.fetch_add(1, Ordering::SeqCst);
        let arguments = call.arguments_or_empty();
        self.0.arguments.lock().unwrap().push(arguments.to().unwrap());
        let answer = self.0.answer.lock().unwrap().clone();
        let structured = if answer.is_null() { arguments } else { RawJson::of(&answer).unwrap() };
        Ok(CallToolResult::text("said").with_structured(structured))
    }
}

/// The tool of the specification's example, and its neighbours.
pub(crate) fn search() -> Value {
    json!({
        "name": "web_search",
        "description": "Searches the web",
        "inputSchema": {
            "type": "object",
            "properties": {
                "query": {"type": "string", "minLength": 1, "description": "The words"},
                "max_results": {"type": "integer", "minimum": 1, "maximum": 100},
                "tags": {"type": "array", "items": {"type": "string"}},
                "extra": {},
            },
            "required": ["query", "tags"],
        },
        "outputSchema": {
            "type": "object",
            "properties": {"hits": {"type": "integer"}, "urls": {"type": "array", "items": {"type": "string"}}},
            "required": ["hits"],
        },
    })
}

pub(crate) fn serve(spy: &Arc<Spy>, schemas: impl ToolSchemas) -> BinaryServer<protomcp_server::Router<Spied>> {
    BinaryServer::new(Server::from_handler(Spied(Arc::clone(spy)))).schemas(Arc::new(schemas))
}

/// A conversation with a server of these tools, whose messages are made of their schemas.
pub(crate) async fn open(spy: &Arc<Spy>) -> BinaryClient {
    open_with(spy, schemas(), config()).await
}

/// Schemas whose time is enough for a busy machine.
pub(crate) fn schemas() -> DescriptorSchemas {
    DescriptorSchemas::new().time_limit(Duration::from_secs(60))
}

pub(crate) async fn open_with(spy: &Arc<Spy>, schemas: impl ToolSchemas, config: BinaryClientConfig) -> BinaryClient {
    let server = serve(spy, schemas);
    let (ours, theirs) = duplex(64 << 10);
    let ((reader, writer), (server_reader, server_writer)) = (split(ours), split(theirs));
    tokio::spawn(async move { server.serve(server_reader, server_writer, BinaryPeer::default()).await });
    BinaryClient::connect(reader, writer, config).await.unwrap()
}

/// The only tool of a server, with its schema.
pub(crate) async fn only_tool(client: &BinaryClient) -> ProtoTool {
    let request = ListToolsRequest { include_schemas: true, ..ListToolsRequest::default() };
    client.list_tools(request).await.unwrap().tools.remove(0)
}

pub(crate) fn inline(tool: &ProtoTool) -> &Bytes {
    match &tool.schema_source {
        Some(SchemaSource::InlineSchema(set)) => set,
        other => panic!("not inline: {other:?}"),
    }
}

/// JSON as a message of an inline schema, by a library that knows nothing else.
pub(crate) fn pack(tool: &ProtoTool, json: &Value) -> Any {
    let pool = DescriptorPool::decode(&inline(tool)[..]).unwrap();
    let descriptor = pool.get_message_by_name(&tool.metadata["input_type"]).unwrap();
    let message = DynamicMessage::deserialize(descriptor, json).unwrap();
    Any::new(&tool.metadata["input_type"], message.encode_to_vec())
}

/// A message of an inline schema as JSON.
pub(crate) fn unpack(tool: &ProtoTool, any: &Any) -> Value {
    let pool = DescriptorPool::decode(&inline(tool)[..]).unwrap();
    let descriptor = pool.get_message_by_name(any.type_name()).unwrap();
    let message = DynamicMessage::decode(descriptor, &any.value[..]).unwrap();
    serde_json::to_value(&message).unwrap()
}

pub(crate) fn request(name: &str, arguments: Option<Any>) -> CallToolRequest {
    CallToolRequest { name: name.into(), arguments, ..CallToolRequest::default() }
}

pub(crate) fn refused(outcome: Result<CallToolResponse, BinaryCallError>) -> Fault {
    match outcome {
        Err(BinaryCallError::Refused(fault)) => fault,
        other => panic!("not refused: {other:?}"),
    }
}

pub(crate) fn tool(definition: &Value) -> Tool {
    let mut tool = Tool::new(ToolName::new(definition["name"].as_str().unwrap()).unwrap());
    tool.input_schema = RawJson::of(&definition["inputSchema"]).unwrap();
    tool.output_schema = definition.get("outputSchema").map(|schema| RawJson::of(schema).unwrap());
    tool.meta = definition.get("_meta").map(|meta| RawJson::of(meta).unwrap());
    tool
}
