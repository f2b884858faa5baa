//! Three tools in place of the list.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use protomcp_server::layer::lazy_tools::LazyTools;
use protomcp_server::layer::tools::{ToolPolicy, ToolPolicyLayer};
use protomcp_server::{
    Audience, Context, Layer, Limits, Server, ServerHandle, ServerInfo, ServerRequest, ServerResult, Service,
};
use protomcp_testing::run_paused;
use protomcp_types::{ErrorObject, JsonObject, ListToolsResult, RawJson, array};
use serde_json::{Value, json};

use super::mrtr::{accept, again, ask, says};
use super::transcript::{Host, Stage, connect_to, play};

/// Plays with a host of the usual server, which shows three tools.
#[expect(clippy::needless_pass_by_value, reason = "as `play` takes it, so that tests read alike")]
fn with_host(test: impl AsyncFn(&Stage, &mut Host)) {
    play(Limits::default(), async |stage| {
        let mut host = connect_to(&stage.server.clone().lazy_tools(LazyTools::default()), 1 << 20, None);
        test(&stage, &mut host).await;
    });
}

fn check(transcript: &[&str]) {
    with_host(async |_, host| host.steps(transcript).await);
}

/// The next line, as JSON.
async fn next(host: &mut Host) -> Value {
    serde_json::from_str(&host.next().await.expect("a line")).unwrap()
}

async fn call(host: &mut Host, tool: &str, arguments: &Value) -> Value {
    let params = json!({"name": tool, "arguments": arguments});
    host.send(&json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params}).to_string()).await;
    next(host).await
}

fn text(answer: &Value) -> &str {
    answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}"))
}

#[test]
fn the_list_has_three_tools() {
    with_host(async |_, host| {
        host.steps(&["→ hello", r#"→ {"id":1,"method":"tools/list"}"#]).await;
        let list = next(host).await;
        let tools = list["result"]["tools"].as_array().unwrap();
        let names: Vec<_> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
        assert_eq!(names, ["search_tools", "describe_tools", "call_tool"]);
        assert_eq!(list["result"]["nextCursor"], Value::Null);
        // The server has tasks.
        assert_eq!(tools[2]["execution"], json!({"taskSupport": "optional"}));
        host.steps(&[
            r#"→ {"id":2,"method":"tools/list","params":{"cursor":"x"}}"#,
            r#"← {"id":2,"error":{"code":-32602,"message":"invalid cursor \"x\""}}"#,
        ])
        .await;
    });
}

#[test]
fn a_call_runs_the_named_tool() {
    check(&[
        "→ hello",
        r#"→ {"id":1,"method":"tools/call","params":{"name":"call_tool","arguments":{"name":"echo","arguments":{ "z": 9007199254740993 }}}}"#,
        r#"← {"id":1,"result":{"content":[{"type":"text","text":"echo"}],"structuredContent":{ "z": 9007199254740993 }}}"#,
        r#"→ {"id":2,"method":"tools/call","params":{"name":"call_tool","arguments":{"name":"fail"}}}"#,
        r#"← {"id":2,"result":{"content":[{"type":"text","text":"it did not work"}],"isError":true}}"#,
        r#"→ {"id":3,"method":"tools/call","params":{"name":"echo"}}"#,
        r#"← {"id":3,"result":{"content":[{"type":"text","text":"echo"}],"structuredContent":{}}}"#,
        r#"→ {"id":4,"method":"tools/call","params":{"name":"call_tool","arguments":{"name":"count 2"},"_meta":{"progressToken":"p"}}}"#,
        r#"← {"method":"notifications/progress","params":{"progressToken":"p","progress":1}}"#,
        r#"← {"method":"notifications/progress","params":{"progressToken":"p","progress":2}}"#,
        r#"← {"id":4,"result":{"content":[{"type":"text","text":"done"}]}}"#,
        r#"→ {"id":5,"method":"tools/call","params":{"name":"call_tool","arguments":{"name":"sleep","arguments":{}},"task":{"ttl":60000}}}"#,
        r#"← {"id":5,"result":{"task":{"taskId":"t","status":"working","createdAt":"1970-01-01T00:00:00.000Z","lastUpdatedAt":"1970-01-01T00:00:00.000Z","ttl":60000}}}"#,
        r#"→ {"id":6,"method":"tools/call","params":{"name":"search_tools","task":{}}}"#,
        r#"← {"id":6,"error":{"code":-32601,"message":"method not found: \"tools/call of search_tools as a task\""}}"#,
    ]);
}

#[test]
fn a_call_is_cancelled_behind() {
    with_host(async |stage, host| {
        host.steps(&[
            "→ hello",
            r#"→ {"id":1,"method":"tools/call","params":{"name":"call_tool","arguments":{"name":"listen"}}}"#,
            "· 10ms",
            r#"→ {"method":"notifications/cancelled","params":{"requestId":1}}"#,
            "· 1000ms",
        ])
        .await;
        assert_eq!(stage.tools.closed.load(Ordering::SeqCst), 100);
    });
}

#[test]
fn questions_reach_the_client_in_both_eras() {
    with_host(async |_, host| {
        let name = |name: &str| json!({"name": "call_tool", "arguments": {"name": name}});
        let params = name("name");
        let asked = ask(host, 1, "tools/call", &params).await;
        assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
        says(&ask(host, 2, "tools/call", &again(&params, &asked, accept("Ann"))).await, r#"{"name":"Ann"}"#);
    });
    with_host(async |_, host| {
        host.steps(&[
            r#"→ hello 2025-11-25 {"roots":{}}"#,
            r#"→ {"id":1,"method":"tools/call","params":{"name":"call_tool","arguments":{"name":"roots"}}}"#,
        ])
        .await;
        let question = next(host).await;
        assert_eq!(question["method"], "roots/list");
        host.send(&json!({"jsonrpc": "2.0", "id": question["id"], "result": {"roots": []}}).to_string()).await;
        assert_eq!(next(host).await["id"], 1);
    });
}

#[test]
fn a_change_behind_is_not_announced() {
    with_host(async |stage, host| {
        let ready = ["→ hello", r#"→ {"id":1,"method":"ping"}"#, r#"← {"id":1,"result":{}}"#];
        host.steps(&ready).await;
        stage.server.handle().tools_changed(Audience::Everyone);
        stage.server.handle().prompts_changed(Audience::Everyone);
        host.steps(&[r#"← {"method":"notifications/prompts/list_changed"}"#, "· 1000ms"]).await;
        let mut plain = stage.connect();
        plain.steps(&ready).await;
        stage.server.handle().tools_changed(Audience::Everyone);
        plain.steps(&[r#"← {"method":"notifications/tools/list_changed"}"#]).await;
        host.steps(&["· 1000ms"]).await;
    });
}

/// A service with these tools: each answers with its name.
struct Named(Vec<RawJson>);

impl Service for Named {
    async fn call(&self, request: ServerRequest, _: Context) -> Result<ServerResult, ErrorObject> {
        match request {
            // One tool a page.
            ServerRequest::ListTools(list) => {
                let place = list.cursor.map_or(0, |cursor| cursor.parse().unwrap());
                let tools = array(self.0.get(place).cloned());
                let next_cursor = (place + 1 < self.0.len()).then(|| (place + 1).to_string());
                Ok(ListToolsResult { tools, next_cursor, meta: None }.into())
            }
            ServerRequest::CallTool(call)
                if self.0.iter().any(|tool| tool.as_str().contains(&format!("{:?}", call.name))) =>
            {
                let body = JsonObject::new().with("content", RawJson::text(&call.name)).to_body();
                Ok(ServerResult::Body(body))
            }
            ServerRequest::CallTool(call) => Err(ErrorObject::unknown_tool(&call.name)),
            _ => Ok(ServerResult::Empty),
        }
    }
}

fn named() -> Named {
    let tool = |name: &str, description: &str| {
        RawJson::parse(format!(
            r#"{{"name":"{name}","description":"{description}","inputSchema":{{ "type":"object" }}}}"#
        ))
        .unwrap()
    };
    Named(vec![
        tool("write_file", "Writes a file. Slowly."),
        tool("read_file", "Reads a file."),
        tool("secret", "Reads what nothing else reads."),
        tool("search_tools", "A tool whose name is taken."),
    ])
}

fn server<S: Service>(service: S) -> Server<S> {
    Server::new(ServerHandle::new(ServerInfo::new("named", "1"), Limits::default()), service)
}

#[test]
fn tools_are_found_described_and_called() {
    run_paused(async {
        let policy = ToolPolicyLayer::new(ToolPolicy::block(["secret"]));
        let mut host = connect_to(&server(named()).layer(policy).lazy_tools(LazyTools::default()), 1 << 20, None);
        host.steps(&["→ hello"]).await;
        for (tool, arguments, expected) in [
            ("search_tools", json!({"query": "read"}), "1 matching tool\nread_file: Reads a file."),
            (
                "search_tools",
                json!({"query": "file"}),
                "2 matching tools, best first\nread_file: Reads a file.\nwrite_file: Writes a file.",
            ),
            (
                "search_tools",
                json!({"query": "file", "limit": 1}),
                "the best 1 of 2 matching tools\nread_file: Reads a file.",
            ),
            ("search_tools", json!({"query": "base"}), "no tool matches; a search without a query lists all 3"),
            (
                "search_tools",
                json!({"limit": 2}),
                "2 of 3 tools, by name; the next page begins after \"search_tools\"\nread_file: Reads a file.\nsearch_tools: A tool whose name is taken.",
            ),
            (
                "search_tools",
                json!({"query": " ", "after": "search_tools"}),
                "1 of 3 tools, by name\nwrite_file: Writes a file.",
            ),
            ("search_tools", json!({"after": "x"}), "none of 3 tools"),
            (
                "describe_tools",
                json!({"names": ["read_file"]}),
                r#"{"name":"read_file","description":"Reads a file.","inputSchema":{ "type":"object" }}"#,
            ),
        ] {
            let answer = call(&mut host, tool, &arguments).await;
            assert_eq!((text(&answer), &answer["result"]["isError"]), (expected, &Value::Null), "{tool} {arguments}");
        }
        // The three come first. A tool with such a name is called by `call_tool`.
        for (tool, name) in [("call_tool", "read_file"), ("call_tool", "search_tools")] {
            let answer = call(&mut host, tool, &json!({"name": name})).await;
            assert_eq!(answer["result"]["content"], name, "{answer}");
        }
        let both = call(&mut host, "describe_tools", &json!({"names": ["reed_file", "write_file"]})).await;
        assert_eq!(text(&both), r#"no tool has the name "reed_file"; did you mean "read_file"?"#);
        assert_eq!(both["result"]["content"].as_array().unwrap().len(), 2);
    });
}

#[test]
fn wrong_calls_are_results_that_say_what_is_right() {
    run_paused(async {
        let policy = ToolPolicyLayer::new(ToolPolicy::block(["secret"]));
        let mut host = connect_to(&server(named()).layer(policy).lazy_tools(LazyTools::default()), 1 << 20, None);
        host.steps(&["→ hello"]).await;
        for (tool, arguments, code, expected) in [
            (
                "call_tool",
                json!({"name": "raed_file"}),
                "UNKNOWN_TOOL",
                r#"no tool has the name "raed_file"; did you mean "read_file"?"#,
            ),
            (
                "call_tool",
                json!({"name": "file.write.now"}),
                "UNKNOWN_TOOL",
                r#"no tool has the name "file.write.now"; near are ["write_file", "read_file"]"#,
            ),
            (
                "call_tool",
                json!({"name": "xyz"}),
                "UNKNOWN_TOOL",
                r#"no tool has the name "xyz"; search_tools finds tools by words"#,
            ),
            // A blocked tool does not exist.
            (
                "call_tool",
                json!({"name": "secret"}),
                "UNKNOWN_TOOL",
                r#"no tool has the name "secret"; search_tools finds tools by words"#,
            ),
            (
                "call_tool",
                json!({"name": "describe_tools"}),
                "UNKNOWN_TOOL",
                r#"no tool has the name "describe_tools"; search_tools, describe_tools and call_tool are called directly"#,
            ),
            ("call_tool", json!({}), "INVALID_ARGUMENTS", r#""name", the name of a tool, is missing"#),
            (
                "call_tool",
                json!({"name": "read_file", "path": "x"}),
                "INVALID_ARGUMENTS",
                r#""call_tool" has no argument "path". The tool's own arguments belong into "arguments""#,
            ),
            (
                "describe_tools",
                json!({"names": ["raed_file"]}),
                "UNKNOWN_TOOL",
                r#"no tool has the name "raed_file"; did you mean "read_file"?"#,
            ),
            ("search_tools", json!({"limit": 0}), "INVALID_ARGUMENTS", r#""limit" must be an integer from 1 to 100"#),
        ] {
            let answer = call(&mut host, tool, &arguments).await;
            assert_eq!(text(&answer), expected, "{tool} {arguments}");
            assert_eq!(answer["result"]["isError"], true, "{tool} {arguments}");
            assert_eq!(answer["result"]["_meta"]["protomcp/error"]["error_code"], code, "{answer}");
        }
        let task = json!({"name": "call_tool", "arguments": {"name": "xyz"}, "task": {}});
        host.send(&json!({"jsonrpc": "2.0", "id": 8, "method": "tools/call", "params": task}).to_string()).await;
        let refused = next(&mut host).await;
        assert_eq!(refused["result"]["isError"], true, "this server has no tasks, so the wish is ignored: {refused}");
    });
}

/// Answers every list with the same tool and this next cursor.
struct Endless(&'static str);

impl Service for Endless {
    async fn call(&self, _: ServerRequest, _: Context) -> Result<ServerResult, ErrorObject> {
        let tools =
            RawJson::parse(r#"[{"name":"add","description":"Adds.","inputSchema":{"type":"object"}}]"#).unwrap();
        Ok(ListToolsResult::new(tools).with_next(self.0).into())
    }
}

#[test]
fn a_list_that_does_not_end_is_an_error_result() {
    run_paused(async {
        let mut host = connect_to(&server(Endless("again")).lazy_tools(LazyTools::default()), 1 << 20, None);
        host.steps(&["→ hello"]).await;
        let answer = call(&mut host, "search_tools", &json!({})).await;
        let expected = "the list of tools cannot be read: the list does not end: a cursor has come twice";
        assert_eq!((text(&answer), &answer["result"]["isError"]), (expected, &json!(true)));
    });
}

#[test]
fn a_list_that_begins_again_after_an_empty_cursor_ends() {
    run_paused(async {
        let mut host = connect_to(&server(Endless("")).lazy_tools(LazyTools::default()), 1 << 20, None);
        host.steps(&["→ hello"]).await;
        let answer = call(&mut host, "search_tools", &json!({"query": "add"})).await;
        assert_eq!(text(&answer), "1 matching tool\nadd: Adds.");
    });
}

/// Notes the names of the tools that are called.
struct Spy(Arc<Mutex<Vec<String>>>);

struct Spied<S>(S, Arc<Mutex<Vec<String>>>);

impl<S: Service> Layer<S> for Spy {
    type Service = Spied<S>;

    fn layer(&self, inner: S) -> Spied<S> {
        Spied(inner, Arc::clone(&self.0))
    }
}

impl<S: Service> Service for Spied<S> {
    async fn call(&self, request: ServerRequest, context: Context) -> Result<ServerResult, ErrorObject> {
        if let ServerRequest::CallTool(call) = &request {
            self.1.lock().unwrap().push(call.name.clone());
        }
        self.0.call(request, context).await
    }
}

#[test]
fn layers_behind_see_the_tool_that_is_called() {
    run_paused(async {
        for (lazy, expected) in [(Some(LazyTools::default().with_results(3)), "read_file"), (None, "call_tool")] {
            let seen = Arc::default();
            let mut host = connect_to(&server(named()).layer(Spy(Arc::clone(&seen))).lazy_tools(lazy), 1 << 20, None);
            host.steps(&["→ hello"]).await;
            call(&mut host, "call_tool", &json!({"name": "read_file"})).await;
            assert_eq!(*seen.lock().unwrap(), [expected]);
        }
    });
}

/// MCP Apps 2026-01-26: hosts know pages by the list alone, and hide tools that are for pages from the model.
#[test]
fn tools_of_apps_are_listed_for_hosts_that_show_them() {
    let tool = |name: &str, ui: &str| {
        RawJson::parse(format!(r#"{{"name":"{name}","inputSchema":{{"type":"object"}},"_meta":{ui}}}"#)).unwrap()
    };
    let service = || {
        Named(vec![
            tool("plain", "{}"),
            tool("show", r#"{"ui":{"resourceUri":"ui://t/page"}}"#),
            tool("refresh", r#"{"ui":{"visibility":["app"]}}"#),
        ])
    };
    run_paused(async {
        let mut host = connect_to(&server(service()).lazy_tools(LazyTools::default()), 1 << 20, None);
        let shows = json!({"extensions": {"io.modelcontextprotocol/ui": {"mimeTypes": ["text/html;profile=mcp-app"]}}});
        let three = ["search_tools", "describe_tools", "call_tool"].as_slice();
        for (capabilities, more) in [(json!({}), [].as_slice()), (shows, &["refresh", "show"])] {
            let meta = json!({
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities": capabilities,
                "io.modelcontextprotocol/clientInfo": {"name": "host", "version": "1"},
            });
            let request = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": meta}});
            host.send(&request.to_string()).await;
            let list = next(&mut host).await;
            let tools = list["result"]["tools"].as_array().unwrap_or_else(|| panic!("{list}"));
            let names: Vec<_> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
            assert_eq!(names, [three, more].concat());
            if let Some(page) = tools.iter().find(|tool| tool["name"] == "show") {
                assert_eq!(page["_meta"]["ui"]["resourceUri"], "ui://t/page");
            }
        }
        let mut host = connect_to(&server(service()).lazy_tools(LazyTools::default()), 1 << 20, None);
        host.steps(&["→ hello"]).await;
        let all = call(&mut host, "search_tools", &json!({})).await;
        assert_eq!(text(&all), "2 of 2 tools, by name\nplain\nshow");
        let hidden = call(&mut host, "describe_tools", &json!({"names": ["refresh"]})).await;
        assert_eq!(hidden["result"]["isError"], true, "{hidden}");
    });
    for definitions_are_known in [false, true] {
        run_paused(async {
            let seen = Arc::default();
            let mut server = server(service()).layer(Spy(Arc::clone(&seen)));
            if definitions_are_known {
                let tools = service().0;
                let find = move |name: &str| {
                    let start = format!(r#"{{"name":"{name}""#);
                    tools.iter().find(|tool| tool.as_str().starts_with(&start)).cloned()
                };
                server = server.with_tool_definitions(find);
            }
            let mut host = connect_to(&server.lazy_tools(LazyTools::default()), 1 << 20, None);
            host.steps(&["→ hello"]).await;
            let refused = call(&mut host, "call_tool", &json!({"name": "refresh"})).await;
            assert_eq!(refused["result"]["_meta"]["protomcp/error"]["error_code"], "UNKNOWN_TOOL", "{refused}");
            let shown = call(&mut host, "call_tool", &json!({"name": "show"})).await;
            assert_eq!(shown["result"]["content"], "show");
            // The page calls it by its own name.
            assert_eq!(call(&mut host, "refresh", &json!({})).await["result"]["content"], "refresh");
            assert_eq!(*seen.lock().unwrap(), ["show", "refresh"]);
        });
    }
}
