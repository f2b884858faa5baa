//! A client of MCP, a server of MCP in front of a client of proto-mcp, and a server of proto-mcp in front of tools: what
//! goes in at one end comes out at the other.

use std::sync::Arc;
use std::time::Duration;

use protomcp_bufmcp::message::{CallToolRequest, ListToolsRequest};
use protomcp_bufmcp::{
    BinaryBackend, BinaryCallError, BinaryClient, BinaryClientConfig, BinaryCloseReason, BinaryPeer, BinaryServer,
    PageLimits, StructSchemas, Tokens,
};
use protomcp_client::{Client, ClientSession};
use protomcp_server::{Context, Handler, Router, Server, ServerInfo};
use protomcp_testing::in_time;
use protomcp_transport::memory;
use protomcp_types::{
    CallTool, CallToolResult, Complete, CompleteResult, Completion, ContentBlock, ErrorObject, GetPrompt,
    GetPromptResult, ListPrompts, ListPromptsResult, ListResourceTemplates, ListResourceTemplatesResult, ListResources,
    ListResourcesResult, ListTools, ListToolsResult, Prompt, PromptArgument, PromptMessage, RawJson, ReadResource,
    ReadResourceResult, Reference, Resource, ResourceContents, ResourceTemplate, Role, ServerCapabilities, Tool,
    ToolName,
};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex, split};

use super::config;

struct Tools;

impl Handler for Tools {
    fn info(&self) -> ServerInfo {
        let capabilities = ServerCapabilities::default().with_tools().with_resources().with_prompts();
        ServerInfo::new("tools", "3").with_capabilities(capabilities.with_completions())
    }

    async fn list_tools(&self, _: ListTools, _: Context) -> Result<ListToolsResult, ErrorObject> {
        let tools: Vec<_> = (0..60).map(|number| tool(&format!("t{number:02}"))).chain([tool("echo")]).collect();
        Ok(ListToolsResult::new(RawJson::of(&tools).unwrap()))
    }

    async fn call_tool(&self, call: CallTool, _: Context) -> Result<CallToolResult, ErrorObject> {
        match call.name.as_str() {
            "echo" => {
                let arguments = call.arguments_or_empty();
                let blocks = [ContentBlock::text("said"), ContentBlock::image("AAEC", "image/gif")];
                let link = ContentBlock::link(&Resource::new("t:a", "a"));
                let result = CallToolResult::of(blocks.into_iter().chain([link])).with_structured(arguments);
                Ok(result.with_meta(RawJson::parse(r#"{"k":1}"#).unwrap()))
            }
            "t00" => Ok(CallToolResult::error("no luck")),
            "t01" => Err(ErrorObject::new(-32050, "broken").with_data(RawJson::parse(r#"{"a":1}"#).unwrap())),
            "t02" => {
                tokio::time::sleep(Duration::from_secs(600)).await;
                Ok(CallToolResult::text("late"))
            }
            "t03" => Ok(CallToolResult::text(call.meta.map(|meta| meta.as_str().to_owned()).unwrap_or_default())),
            "t04" => {
                let structured = RawJson::parse(r#"{"exact":1,"big":9007199254740993}"#).unwrap();
                Ok(CallToolResult::text("").with_structured(structured))
            }
            other => Err(ErrorObject::unknown_tool(other)),
        }
    }

    async fn list_resources(&self, _: ListResources, _: Context) -> Result<ListResourcesResult, ErrorObject> {
        let mut resource = Resource::new("t:a", "a");
        resource.size = Some(3);
        Ok(ListResourcesResult::of([&resource]))
    }

    async fn read_resource(&self, request: ReadResource, _: Context) -> Result<ReadResourceResult, ErrorObject> {
        match request.uri.as_str() {
            "t:a" => Ok(ReadResourceResult::of([ResourceContents::blob("t:a", "AAEC").with_mime_type("x/y")])),
            uri => Err(ErrorObject::resource_not_found(uri)),
        }
    }

    async fn list_resource_templates(
        &self,
        _: ListResourceTemplates,
        _: Context,
    ) -> Result<ListResourceTemplatesResult, ErrorObject> {
        Ok(ListResourceTemplatesResult::of([&ResourceTemplate::new("t:{name}", "named")]))
    }

    async fn list_prompts(&self, _: ListPrompts, _: Context) -> Result<ListPromptsResult, ErrorObject> {
        Ok(ListPromptsResult::of(&prompts()))
    }

    async fn get_prompt(&self, get: GetPrompt, _: Context) -> Result<GetPromptResult, ErrorObject> {
        if get.name != "p00" {
            return Err(ErrorObject::unknown_prompt(&get.name));
        }
        let said = ContentBlock::text(get.arguments_or_empty().as_str()).to_raw();
        let image = ContentBlock::image("AAEC", "image/gif").to_raw();
        Ok(GetPromptResult::of([&PromptMessage::new(Role::User, said), &PromptMessage::new(Role::Assistant, image)]))
    }

    async fn complete(&self, complete: Complete, _: Context) -> Result<CompleteResult, ErrorObject> {
        let owner = match complete.reference {
            Reference::Prompt { name } => name,
            Reference::Resource { uri } => uri,
        };
        Ok(Completion::new([owner, complete.argument.name, complete.argument.value]).with_more(true).into())
    }
}

fn prompts() -> Vec<Prompt> {
    let prompt = |number: u32| {
        let mut prompt = Prompt::new(format!("p{number:02}"));
        prompt.title = Some(format!("Prompt {number}"));
        prompt.arguments = vec![PromptArgument::new("city").required(), PromptArgument::new("day")];
        prompt
    };
    (0..45).map(prompt).collect()
}

fn tool(name: &str) -> Tool {
    let mut tool = Tool::new(ToolName::new(name).unwrap());
    tool.title = Some(format!("Tool {name}"));
    let schema = r#"{"type":"object","properties":{"a":{"type":"integer"}}}"#;
    tool.input_schema = RawJson::parse(schema).unwrap();
    tool.annotations = serde_json::from_str(r#"{"readOnlyHint":true,"destructiveHint":false}"#).unwrap();
    tool
}

fn server() -> BinaryServer<Router<Tools>> {
    BinaryServer::new(Server::from_handler(Tools)).pages(PageLimits { entries: 20, ..PageLimits::default() })
}

async fn connect(
    server: BinaryServer<Router<Tools>>,
    config: BinaryClientConfig,
) -> Result<BinaryClient, BinaryCloseReason> {
    let (ours, theirs) = duplex(4096);
    let ((reader, writer), (server_reader, server_writer)) = (split(ours), split(theirs));
    tokio::spawn(async move { server.serve(server_reader, server_writer, BinaryPeer::default()).await });
    BinaryClient::connect(reader, writer, config).await
}

/// A client of MCP, with the two conversations between it and the tools.
async fn session() -> ClientSession {
    let client = connect(server(), config()).await.unwrap();
    let front = Server::from_handler(BinaryBackend::new(client, Arc::new(StructSchemas)));
    let (ours, theirs) = memory::pair();
    tokio::spawn(async move { front.serve(theirs).await });
    Client::new("host", "1.0").connect(ours).await.unwrap()
}

#[tokio::test]
async fn tools_arrive_as_they_were_defined() {
    let session = session().await;
    let listed = session.list_tools(None).await.unwrap().items;
    assert_eq!(listed.len(), 61);
    let expected: Vec<_> = std::iter::once("echo".to_owned()).chain((0..60).map(|n| format!("t{n:02}"))).collect();
    assert_eq!(listed.iter().map(|tool| tool.name.to_string()).collect::<Vec<_>>(), expected);
    assert_eq!(listed[0].to_raw(), tool("echo").to_raw());
}

#[tokio::test]
async fn results_arrive_as_they_were_returned() {
    let session = session().await;
    let arguments = json!({"a": [1, 2.5, null, "é"], "b": {"c": true}});
    let result = session.call_tool("echo", &arguments).await.unwrap();
    assert_eq!(result.structured_content.unwrap().to::<serde_json::Value>().unwrap(), arguments);
    let blocks: Vec<serde_json::Value> = result.content.to().unwrap();
    assert_eq!(serde_json::from_str::<serde_json::Value>(blocks[0]["text"].as_str().unwrap()).unwrap(), arguments);
    assert_eq!(blocks[1], json!({"type": "text", "text": "said"}));
    assert_eq!(blocks[2], json!({"type": "image", "data": "AAEC", "mimeType": "image/gif"}));
    assert_eq!(blocks[3], json!({"type": "resource_link", "uri": "t:a", "name": "a"}));
    assert_eq!(result.meta.unwrap().to::<serde_json::Value>().unwrap()["k"], 1);
}

#[tokio::test]
async fn errors_keep_their_codes_on_the_way() {
    let session = session().await;
    let result = session.call_tool("t00", &json!({})).await.unwrap();
    assert!(result.is_error && result.content.as_str().contains("no luck"));
    for (name, code) in [("t01", -32050), ("nothing", -32602)] {
        assert_eq!(session.call_tool(name, &json!({})).await.unwrap_err().code(), Some(code));
    }
    // A Struct holds a double, and the JSON next to it the number.
    let wide = session.call_tool("t04", &json!({})).await.unwrap();
    assert_eq!(wide.structured_content.unwrap().as_str(), r#"{"exact":1,"big":9007199254740993}"#);
    assert!(wide.meta.is_none_or(|meta| !meta.as_str().contains("protomcp/inexact")));
    let inexact = session.call_tool("echo", &json!({"a": 9_007_199_254_740_993_i64})).await.unwrap_err();
    assert_eq!(inexact.code(), Some(-32602), "a Struct cannot hold it, and nothing is rounded in silence");
}

#[tokio::test]
async fn resources_arrive_too() {
    let session = session().await;
    let listed = session.list_resources(None).await.unwrap().items;
    assert_eq!((&*listed[0].uri, listed[0].size), ("t:a", Some(3)));
    let read = session.read_resource("t:a").await.unwrap();
    let contents = read.contents[0].clone().into_raw();
    assert_eq!(contents.as_str(), r#"{"uri":"t:a","mimeType":"x/y","blob":"AAEC"}"#);
    assert!(session.read_resource("t:b").await.unwrap_err().is_resource_not_found());
}

#[tokio::test]
async fn prompts_completions_and_templates_arrive_too() {
    let session = session().await;
    // In three pages between the two servers.
    assert_eq!(session.list_prompts(None).await.unwrap().items, prompts());
    let got = session.get_prompt("p00", &json!({"city": "Ulm"})).await.unwrap();
    let messages: serde_json::Value = got.messages.to().unwrap();
    let said = json!({"type": "text", "text": r#"{"city":"Ulm"}"#});
    let image = json!({"type": "image", "data": "AAEC", "mimeType": "image/gif"});
    assert_eq!(messages, json!([{"role": "user", "content": said}, {"role": "assistant", "content": image}]));
    assert_eq!(session.get_prompt("nothing", &json!({})).await.unwrap_err().code(), Some(-32602));
    let templates = session.list_resource_templates(None).await.unwrap().items;
    assert_eq!(templates, [ResourceTemplate::new("t:{name}", "named")]);
    for (reference, owner) in [
        (Reference::Prompt { name: "p00".into() }, "p00"),
        (Reference::Resource { uri: "t:{name}".into() }, "t:{name}"),
    ] {
        let completed = session.complete(reference, "city", "U").await.unwrap().completion;
        assert_eq!(completed.values, [owner, "city", "U"]);
        assert_eq!(completed.has_more, Some(true));
    }
}

fn call(name: &str) -> CallToolRequest {
    CallToolRequest { name: name.into(), ..CallToolRequest::default() }
}

#[tokio::test]
async fn a_late_tool_is_told_by_the_server() {
    let client = connect(server(), config()).await.unwrap();
    let late = client.call_tool(call("t02"), Some(Duration::from_millis(50))).await.unwrap_err();
    assert!(matches!(late, BinaryCallError::Refused(fault) if fault.code == -33003));
    // A call that is given up does not disturb others.
    let given_up = tokio::time::timeout(Duration::from_millis(50), client.call_tool(call("t02"), None)).await;
    assert!(given_up.is_err());
    client.call_tool(call("echo"), None).await.unwrap();
}

#[tokio::test]
async fn times_of_any_length_are_usable() {
    let server = server().configure(|config| {
        config.limits.call_timeout = Duration::MAX;
        config.limits.max_call_timeout = Duration::MAX;
        config.limits.request_timeout = Duration::MAX;
        config.limits.drain_timeout = Duration::MAX;
    });
    let (ours, theirs) = duplex(4096);
    let ((reader, writer), (server_reader, server_writer)) = (split(ours), split(theirs));
    let serving =
        tokio::spawn(async move { server.serve(server_reader, server_writer, BinaryPeer::default()).await.is_ok() });
    let config = BinaryClientConfig { open_timeout: Duration::MAX, timeout: Duration::MAX, ..config() };
    let client = BinaryClient::connect(reader, writer, config).await.unwrap();
    assert_eq!(client.all_tools().await.unwrap().len(), 61);
    for timeout in [None, Some(Duration::MAX)] {
        client.call_tool(call("echo"), timeout).await.unwrap();
    }
    drop(client);
    assert!(in_time(serving).await.expect("the server ends").expect("the server does not panic"));
}

#[tokio::test]
async fn a_client_without_a_token_is_refused() {
    let server = || server().configure(|config| config.tokens = Some(Arc::new(Tokens::new().with("ann", "t0k"))));
    let refused = connect(server(), BinaryClientConfig { token: Some("x".into()), ..config() }).await.unwrap_err();
    assert!(matches!(refused, BinaryCloseReason::Refused(fault) if fault.code == -32010));
    let client = connect(server(), BinaryClientConfig { token: Some("t0k".into()), ..config() }).await.unwrap();
    assert_eq!(client.all_tools().await.unwrap().len(), 61);
}

#[tokio::test]
async fn all_requests_end_with_the_conversation() {
    let client = connect(server(), config()).await.unwrap();
    let waiting = tokio::spawn({
        let client = client.clone();
        async move { client.call_tool(call("t02"), None).await }
    });
    client.call_tool(call("echo"), None).await.unwrap();
    client.close();
    assert_eq!(client.closed().await, BinaryCloseReason::Requested);
    assert!(matches!(waiting.await.unwrap(), Err(BinaryCallError::Closed(_))));
    assert!(matches!(client.list_tools(ListToolsRequest::default()).await, Err(BinaryCallError::Closed(_))));
}

#[tokio::test]
async fn a_server_of_another_protocol_is_noticed() {
    for (bytes, is_expected) in [
        (&b"{\"jsonrpc\":\"2.0\"}\n"[..], (|reason| matches!(reason, BinaryCloseReason::TooLarge(_))) as fn(_) -> bool),
        (b"\0\0\0\x01\xff\0\0\0\x01\xff\0\0\0\x01\xff", |reason| matches!(reason, BinaryCloseReason::Garbage)),
        (b"\0\0\0\x09", |reason| matches!(reason, BinaryCloseReason::Truncated)),
        (b"", |reason| matches!(reason, BinaryCloseReason::ByServer)),
    ] {
        let (ours, mut theirs) = duplex(4096);
        let (reader, writer) = split(ours);
        let connecting = tokio::spawn(BinaryClient::connect(reader, writer, config()));
        theirs.read_exact(&mut [0; 4]).await.unwrap();
        theirs.write_all(bytes).await.unwrap();
        theirs.shutdown().await.unwrap();
        let reason = connecting.await.unwrap().unwrap_err();
        assert!(is_expected(reason.clone()), "{reason:?}");
    }
}

#[tokio::test]
async fn metadata_passes_both_conversations() {
    let client = connect(server(), config()).await.unwrap();
    let mut request = call("t03");
    request.metadata = [("traceparent", "00-1"), ("user", "u")].map(|(k, v)| (k.to_owned(), v.to_owned())).into();
    let front = BinaryServer::new(Server::from_handler(BinaryBackend::new(client, Arc::new(StructSchemas))));
    let (ours, theirs) = duplex(4096);
    let ((reader, writer), (server_reader, server_writer)) = (split(ours), split(theirs));
    tokio::spawn(async move { front.serve(server_reader, server_writer, BinaryPeer::default()).await });
    let outer = BinaryClient::connect(reader, writer, config()).await.unwrap();
    let response = outer.call_tool(request, None).await.unwrap();
    let text = format!("{response:?}");
    assert!(text.contains("traceparent") && text.contains("00-1") && text.contains("protomcp/metadata"), "{text}");
}
