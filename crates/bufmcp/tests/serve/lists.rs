//! Lists: pages, cursors, filters, schemas, changes.

use futures_util::future::BoxFuture;
use std::sync::{Arc, Mutex};

use protomcp_bufmcp::message::{self, ListResourcesRequest, ListToolsRequest, Payload, tool::SchemaSource};
use protomcp_bufmcp::{
    BinaryServer, Numbering, PageLimits, SchemaError, StructSchemas, ToolMessages, ToolSchemas, Unresolved,
};
use protomcp_server::{Context, Limits, Server, ServerHandle, ServerInfo, ServerRequest, ServerResult, Service};
use protomcp_types::{
    CallToolResult, ErrorObject, ListResourcesResult, ListToolsResult, RawJson, ServerCapabilities, Tool,
};

use super::ends::counted;
use super::stage::{Client, Stage, TOOLS, metadata, server, success};

fn from(cursor: &str) -> ListToolsRequest {
    ListToolsRequest { cursor: cursor.into(), ..ListToolsRequest::default() }
}

fn names(page: &message::ListToolsResponse) -> Vec<&str> {
    page.tools.iter().map(|tool| tool.name.as_str()).collect()
}

#[tokio::test]
async fn every_tool_is_on_one_page_in_order() {
    let all: Vec<_> = (0..73).map(|number| format!("tool{number:02}")).collect();
    let stage = Stage::with_tools(all.clone());
    let mut client = Client::open(&server(&stage).0.pages(PageLimits { entries: 25, ..PageLimits::default() })).await;
    let (mut seen, mut cursor, mut sizes) = (Vec::new(), String::new(), Vec::new());
    loop {
        let page = client.tools(from(&cursor)).await.unwrap();
        sizes.push(page.tools.len());
        seen.extend(page.tools.into_iter().map(|tool| tool.name));
        cursor = page.next_cursor;
        if cursor.is_empty() {
            break;
        }
    }
    assert_eq!((sizes, seen), (vec![25, 25, 23], all));
    // A client may want less.
    let page = client.tools(ListToolsRequest { page_size: 3, ..from("") }).await.unwrap();
    assert_eq!(names(&page), ["tool00", "tool01", "tool02"]);
}

#[tokio::test]
async fn a_page_ends_before_it_is_too_large() {
    let stage = Stage::with_tools((0..20).map(|number| format!("tool{number:02}")));
    let mut client = Client::open(&server(&stage).0.pages(PageLimits { entries: 50, bytes: 5000 })).await;
    let first = client.tools(from("")).await.unwrap();
    assert!(first.tools.len() > 1 && first.tools.len() < 10, "{}", first.tools.len());
    let second = client.tools(from(&first.next_cursor)).await.unwrap();
    assert_eq!(second.tools[0].name, format!("tool{:02}", first.tools.len()));
}

#[tokio::test]
async fn forged_and_stale_cursors_are_refused() {
    let stage = Stage::with_tools((0..60).map(|number| format!("tool{number:02}")));
    let (server, handle) = server(&stage);
    let mut client = Client::open(&server).await;
    let reason = |fault: protomcp_bufmcp::Fault| (fault.code, fault.data["reason"].clone());
    let forged = client.tools(from("MTIz")).await.unwrap_err();
    assert_eq!(reason(forged), (-32602, "invalid_cursor".into()));
    let cursor = client.tools(from("")).await.unwrap().next_cursor;
    // A cursor holds for its search only.
    let other = ListToolsRequest { query: "tool".into(), ..from(&cursor) };
    assert_eq!(reason(client.tools(other).await.unwrap_err()), (-32602, "stale_cursor".into()));
    assert_eq!(client.tools(from(&cursor)).await.unwrap().tools.len(), 10);
    stage.set_tools((0..60).map(|number| format!("other{number:02}")));
    // Until the change is known, the pages belong to one list.
    assert_eq!(client.tools(from(&cursor)).await.unwrap().tools[0].name, "tool50");
    handle.tools_changed(protomcp_server::Audience::Everyone);
    assert_eq!(client.receive().await.unwrap().id, 0);
    assert_eq!(client.tools(from("")).await.unwrap().tools[0].name, "other00");
    assert_eq!(reason(client.tools(from(&cursor)).await.unwrap_err()), (-32602, "stale_cursor".into()));
}

#[tokio::test]
async fn tools_bring_their_schema_and_their_hints() {
    let mut client = Client::open(&server(&Stage::with_tools(["echo"])).0).await;
    let tool = client.tools(from("")).await.unwrap().tools.remove(0);
    assert_eq!((&*tool.name, &*tool.description), ("echo", "Runs echo"));
    let expected = metadata(&[
        ("input_type", "google.protobuf.Struct"),
        ("input_schema", r#"{"type":"object"}"#),
        ("title", "The echo"),
        ("annotations.readOnlyHint", "true"),
    ]);
    assert_eq!(tool.metadata, expected);
    assert!(matches!(tool.schema_source, Some(SchemaSource::InlineSchema(set)) if set.len() > 500));
}

/// Schemas of a registry that is down; half of the tools are in it.
struct Registry;

impl ToolSchemas for Registry {
    fn of_json<'a>(&'a self, tool: &'a Tool) -> BoxFuture<'a, Result<Arc<dyn ToolMessages>, SchemaError>> {
        if self.reference(tool).is_none() {
            return StructSchemas.of_json(tool);
        }
        let error = SchemaError::Unresolved { cause: Unresolved::Unavailable, message: "the registry is down".into() };
        Box::pin(async move { Err(error) })
    }

    fn of_proto<'a>(&'a self, tool: &'a message::Tool) -> BoxFuture<'a, Result<Arc<dyn ToolMessages>, SchemaError>> {
        StructSchemas.of_proto(tool)
    }

    fn reference(&self, tool: &Tool) -> Option<String> {
        (tool.name.as_str() < "f").then(|| format!("buf.build/acme/tools/acme.v1.{}:v1", tool.name.as_str()))
    }

    fn has_references(&self) -> bool {
        true
    }
}

/// Schemas that note whose list they are asked for.
struct Noting(&'static str, Arc<Mutex<Vec<&'static str>>>);

impl ToolSchemas for Noting {
    fn of_json<'a>(&'a self, tool: &'a Tool) -> BoxFuture<'a, Result<Arc<dyn ToolMessages>, SchemaError>> {
        self.1.lock().unwrap().push(self.0);
        StructSchemas.of_json(tool)
    }

    fn of_proto<'a>(&'a self, tool: &'a message::Tool) -> BoxFuture<'a, Result<Arc<dyn ToolMessages>, SchemaError>> {
        StructSchemas.of_proto(tool)
    }
}

#[tokio::test]
async fn many_lists_of_one_client_hold_up_no_other() {
    let (tools, lists) = (40, 50);
    let stage = Stage::with_tools((0..tools).map(|number| format!("tool{number:02}")));
    let (server, asked) = (server(&stage).0, Arc::new(Mutex::new(Vec::new())));
    let noting = |name| server.clone().schemas(Arc::new(Noting(name, Arc::clone(&asked))));
    let (mut ann, mut bob) = (Client::open(&noting("ann")).await, Client::open(&noting("bob")).await);
    // From here on the tools are known.
    ann.tools(from("")).await.unwrap();
    asked.lock().unwrap().clear();
    for _ in 0..lists {
        ann.send(Payload::ListToolsRequest(from(""))).await;
    }
    assert_eq!(bob.tools(from("")).await.unwrap().tools.len(), tools);
    let asked = asked.lock().unwrap();
    let done = asked.iter().rposition(|name| *name == "bob").unwrap();
    let before = asked[..done].iter().filter(|name| **name == "ann").count();
    assert!(before < tools * lists / 4, "{before} tools of the other client came first");
}

#[tokio::test]
async fn references_are_listed_without_the_registry_and_filter_tools() {
    let server = server(&Stage::with_tools(TOOLS)).0.schemas(Arc::new(Registry));
    let mut client = Client::open(&server).await;
    let page = client.tools(from("")).await.unwrap();
    assert_eq!(names(&page), TOOLS);
    let reference = "buf.build/acme/tools/acme.v1.echo:v1";
    assert_eq!(page.tools[1].schema_source, Some(SchemaSource::BsrRef(reference.into())));
    assert!(!page.tools[1].metadata.contains_key("input_type"));
    assert!(matches!(page.tools[7].schema_source, Some(SchemaSource::InlineSchema(_))));
    for (filter, found) in [
        (&[reference][..], &["echo"][..]),
        (&["buf.build/acme/tools/acme.v1.echo"], &["echo"]),
        (&["buf.build/acme/tools/acme.v1.echo:v2"], &[]),
        (&[reference, "buf.build/acme/tools/acme.v1.error"], &["echo", "error"]),
    ] {
        let bsr_refs = filter.iter().map(ToString::to_string).collect();
        let page = client.tools(ListToolsRequest { bsr_refs, ..from("") }).await.unwrap();
        assert_eq!(names(&page), found);
    }
    // With schemas, a tool whose schema cannot be had is not lost.
    let page = client.tools(ListToolsRequest { include_schemas: true, ..from("") }).await.unwrap();
    assert_eq!(page.tools[1].metadata["schema_error"], "the registry is down");
    assert_eq!(page.tools[1].schema_source, Some(SchemaSource::BsrRef(reference.into())));
    let fault = super::stage::error(client.call("echo", "").await);
    assert_eq!((fault.code, &*fault.data["cause"]), (-33000, "unavailable"));
}

#[tokio::test]
async fn words_of_a_search_find_tools() {
    let mut client = Client::open(&server(&Stage::with_tools(TOOLS)).0).await;
    let page = client.tools(ListToolsRequest { query: "e".into(), ..from("") }).await.unwrap();
    assert_eq!(names(&page), ["echo", "error", "text"]);
}

#[tokio::test]
async fn clients_with_other_field_numbers_search_list_and_page() {
    let all: Vec<_> = (0..60).map(|number| format!("tool{number:02}")).collect();
    let server = server(&Stage::with_tools(all)).0.configure(|config| config.numbering = Numbering::Reference);
    let mut client = Client::open(&server).await;
    let mut list = async |request: ListToolsRequest| {
        let message = message::McpMessage { id: 9, payload: Some(Payload::ListToolsRequest(request)) };
        let (limits, mut frame) = (protomcp_bufmcp::FrameLimits::default(), Vec::new());
        protomcp_bufmcp::encode_with(&message, Numbering::Reference, &limits, &mut frame).unwrap();
        tokio::io::AsyncWriteExt::write_all(&mut client.stream, &frame).await.unwrap();
        match client.receive().await.unwrap().payload {
            Some(Payload::ListToolsResponse(page)) => page,
            other => panic!("{other:?}"),
        }
    };
    let first = list(from("")).await;
    assert_eq!(first.tools.len(), 50);
    assert_eq!(list(from(&first.next_cursor)).await.tools.len(), 10);
    assert_eq!(names(&list(ListToolsRequest { query: "TOOL07".into(), ..from("") }).await), ["tool07"]);
}

#[tokio::test]
async fn other_field_numbers_are_noticed_where_they_are_not_expected() {
    let mut client = Client::open(&server(&Stage::with_tools(TOOLS)).0).await;
    // The words of the search arrive as a filter.
    let request = ListToolsRequest { bsr_refs: vec!["search words".into()], ..from("") };
    let fault = client.tools(request).await.unwrap_err();
    assert_eq!(fault.code, -32602);
    assert!(fault.message.contains("proto-mcp-go"));
}

#[tokio::test]
async fn changes_are_announced_and_seen() {
    let stage = Stage::with_tools(["one"]);
    let (server, handle) = server(&stage);
    let mut client = Client::open(&server).await;
    assert_eq!(names(&client.tools(from("")).await.unwrap()), ["one"]);
    stage.set_tools(["one", "two"]);
    handle.tools_changed(protomcp_server::Audience::Everyone);
    let message = client.receive().await.unwrap();
    assert_eq!(message.id, 0);
    assert_eq!(message.payload, Some(Payload::ListChanged(message::ListChanged { tools: true, ..Default::default() })));
    assert_eq!(names(&client.tools(from("")).await.unwrap()), ["one", "two"]);
}

#[tokio::test]
async fn a_list_that_changes_while_it_is_read_is_read_again() {
    let stage = Stage::with_tools(["one"]);
    let (server, handle) = server(&stage);
    let mut client = Client::open(&server).await;
    stage.holds_lists.send_replace(true);
    let first = client.send(Payload::ListToolsRequest(from(""))).await;
    counted(&stage.listed).await;
    stage.set_tools(["one", "two"]);
    handle.tools_changed(protomcp_server::Audience::Everyone);
    assert_eq!(client.receive().await.unwrap().id, 0, "the change is announced");
    stage.holds_lists.send_replace(false);
    assert_eq!(client.receive().await.unwrap().id, first);
    assert_eq!(names(&client.tools(from("")).await.unwrap()), ["one", "two"]);
}

/// A server with elements in its lists that cannot be read.
struct Torn;

impl Service for Torn {
    async fn call(&self, request: ServerRequest, _: Context) -> Result<ServerResult, ErrorObject> {
        let list = |text: &'static str| RawJson::parse(text).unwrap();
        match request {
            ServerRequest::ListTools(_) => {
                let tools = list(r#"[{"name":"bad"},{"name":"good","inputSchema":{"type":"object"}}]"#);
                Ok(ListToolsResult { tools, next_cursor: None, meta: None }.into())
            }
            ServerRequest::ListResources(_) => {
                let resources = list(r#"[{"uri":"t:bad"},{"uri":"t:good","name":"good"}]"#);
                Ok(ListResourcesResult { resources, next_cursor: None, meta: None }.into())
            }
            ServerRequest::CallTool(_) => Ok(CallToolResult::text("called").into()),
            _ => Err(ErrorObject::internal("only lists and calls")),
        }
    }
}

#[tokio::test]
async fn an_element_that_cannot_be_read_costs_no_other() {
    let info =
        ServerInfo::new("stage", "1").with_capabilities(ServerCapabilities::default().with_tools().with_resources());
    let server = BinaryServer::new(Server::new(ServerHandle::new(info, Limits::default()), Torn));
    let mut client = Client::open(&server).await;
    assert_eq!(names(&client.tools(from("")).await.unwrap()), ["good"]);
    success(client.call("good", "{}").await);
    let request = Payload::ListResourcesRequest(ListResourcesRequest::default());
    let Payload::ListResourcesResponse(page) = client.request(request).await else { panic!() };
    assert_eq!(page.resources.iter().map(|resource| &*resource.uri).collect::<Vec<_>>(), ["t:good"]);
}

#[tokio::test]
async fn resources_come_in_pages() {
    let mut client = Client::open(&server(&Stage::with_tools(TOOLS)).0).await;
    let (mut uris, mut cursor) = (Vec::new(), String::new());
    loop {
        let request = Payload::ListResourcesRequest(ListResourcesRequest { cursor });
        let Payload::ListResourcesResponse(page) = client.request(request).await else { panic!() };
        uris.extend(page.resources.into_iter().map(|resource| resource.uri));
        cursor = page.next_cursor;
        if cursor.is_empty() {
            break;
        }
    }
    assert_eq!(uris, (0..120).map(|number| format!("t:{number:03}")).collect::<Vec<_>>());
    let forged = Payload::ListResourcesRequest(ListResourcesRequest { cursor: "x".into() });
    assert!(matches!(client.request(forged).await, Payload::ErrorResponse(fault) if fault.code == -32602));
}
