//! The session with the client: versions, lists, errors and a clean stream (MCP 2025-11-25, basic and server/tools).

use bytes::Bytes;
use protomcp_conformance::{Sandbox, Scene, session, tool};
use protomcp_envelope::ToolDefinition;
use serde_json::{Value, json};

/// Item 28.
#[test]
fn stateful_versions_are_accepted_and_others_get_the_newest() {
    let rows = [
        ("2024-11-05", "2024-11-05"),
        ("2025-03-26", "2025-03-26"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("2026-07-28", "2025-11-25"),
        ("1999-01-01", "2025-11-25"),
    ];
    for (asked, given) in rows {
        let sandbox = Sandbox::new();
        sandbox.copy("third_party");
        let host = sandbox.pmcp(&["run", "tools.js"]).start();
        let result = host.initialize_as(asked);
        assert_eq!(result["protocolVersion"], given, "asked for {asked}");
        assert_eq!(result["serverInfo"]["name"], "protomcp");
        assert_eq!(result["capabilities"]["tools"]["listChanged"], true);
        assert_eq!(result["capabilities"]["tasks"].is_object(), given == "2025-11-25", "tasks have come and gone");
        assert!(!host.tools().is_empty(), "{given} lists tools");
    }
}

#[test]
fn a_server_says_what_its_flags_say() {
    let sandbox = Sandbox::new();
    sandbox.copy("py/basics.py");
    sandbox.write("pmcp.toml", "website = \"https://example.com/tools\"\nicon = \"data:image/png;base64,AA==\"\n");
    let flags = ["--name", "weather", "--server-version", "2.1", "--instructions", "Ask for a city first."];
    let host = sandbox.pmcp(&[&["run", "basics.py"], &flags[..]].concat()).start();
    let result = host.initialize_as("2025-11-25");
    let icons = [json!({"src": "data:image/png;base64,AA=="})];
    let expected =
        json!({"name": "weather", "version": "2.1", "websiteUrl": "https://example.com/tools", "icons": icons});
    assert_eq!(result["serverInfo"], expected);
    assert_eq!(result["instructions"], "Ask for a city first.");
    assert_eq!(result["capabilities"]["tools"]["listChanged"], true);
}

/// Item 29.
#[test]
fn output_of_a_tool_goes_to_the_log_and_never_to_the_client() {
    let (host, _sandbox) = session("run", "py/basics.py", &[]);
    assert_eq!(host.text("shout", &json!({"text": "a line of the tool itself"})), "shouted");
    host.stderr_with("a line of the tool itself again");
    host.stderr_with("a line of the tool itself from a shell");
    // Dropping the host checks that standard output contained JSON-RPC only.
}

/// Item 30.
#[test]
fn a_script_that_writes_all_and_closes_gets_every_answer() {
    let sandbox = Sandbox::new();
    sandbox.copy("py/basics.py");
    let host = sandbox.pmcp(&["run", "basics.py"]).start();
    let client =
        json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "script", "version": "1"}});
    let mut script = String::new();
    for message in [
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": client}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"}),
        json!({"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": "add", "arguments": {"a": 1, "b": 2}}}),
        json!({"jsonrpc": "2.0", "id": 4, "method": "tools/call", "params": {"name": "sleep_ms", "arguments": {"ms": 300}}}),
    ] {
        script.push_str(&format!("{message}\n"));
    }
    host.bytes(script.as_bytes());
    host.hang_up();
    assert_eq!(host.exit().code(), Some(0));
    assert!(host.answer(1).value["result"].is_object());
    assert!(host.answer(2).value["result"]["tools"].is_array());
    assert_eq!(host.answer(3).value["result"]["content"][0]["text"], "3");
    assert_eq!(host.answer(4).value["result"]["content"][0]["text"], "slept 300");
    assert!(sandbox.leftovers().is_empty());
}

/// Item 31.
#[test]
fn ping_is_answered_before_the_session_and_while_a_call_runs() {
    let mut scene = Scene::open(&[], &["slow"]);
    assert_eq!(scene.host.ask("ping", &json!({})), json!({}));
    let call = scene.host.start_call("slow", &json!({}));
    let (id, _) = scene.peer.call();
    assert_eq!(scene.host.ask("ping", &json!({})), json!({}));
    assert!(scene.host.answered(call).is_none());
    scene.peer.result(&id, r#""done""#);
    scene.host.answer(call);

    let sandbox = Sandbox::new();
    sandbox.copy("third_party");
    let early = sandbox.pmcp(&["run", "tools.js"]).start();
    assert_eq!(early.ask("ping", &json!({})), json!({}));
}

/// Item 32.
#[test]
fn unknown_methods_and_unknown_tools_have_different_errors() {
    let scene = Scene::open(&[], &["echo"]);
    let error = scene.host.refused("no/such/method", &json!({}));
    assert_eq!(error["code"], -32601, "{error}");
    let error = scene.host.refused("tools/call", &json!({"name": "no_such_tool", "arguments": {}}));
    assert_eq!(error["code"], -32602, "{error}");
    assert!(
        error["message"].as_str().is_some_and(|text| text.starts_with(r#"unknown tool "no_such_tool""#)),
        "{error}"
    );
}

/// Item 33.
#[test]
fn the_tool_list_is_sorted_by_name_and_comes_in_pages() {
    let names: Vec<String> = (0..2_500).rev().map(|n| format!("t{n:04}")).collect();
    let scene = Scene::with_tools("run", "./relay", &[], names.iter().map(|name| tool(name)).collect());
    let (mut seen, mut pages, mut cursor) = (Vec::new(), 0, None::<String>);
    loop {
        let params = cursor.as_ref().map_or_else(|| json!({}), |cursor| json!({"cursor": cursor}));
        let page = scene.host.ask("tools/list", &params);
        pages += 1;
        seen.extend(page["tools"].as_array().expect("tools is an array").iter().map(|tool| tool["name"].to_string()));
        match page["nextCursor"].as_str() {
            Some(next) => cursor = Some(next.to_owned()),
            None => break,
        }
    }
    assert!(pages > 1, "2,500 tools do not come in one page");
    assert_eq!(seen.len(), 2_500);
    assert!(seen.is_sorted(), "the names are sorted across pages");
    let error = scene.host.refused("tools/list", &json!({"cursor": "made up"}));
    assert_eq!(error["code"], -32602, "{error}");
}

/// Item 34.
#[test]
fn input_schemas_pass_through_and_bad_ones_are_replaced() {
    let schema =
        r#"{"type":"object","properties":{"n":{"type":"integer","maximum":9007199254740993}},"x-own":[1.0,null]}"#;
    let rows: &[(&str, &str)] = &[
        ("whole", schema),
        ("empty", ""),
        ("broken", "{\"type\":"),
        ("number", "7"),
        ("stringly", r#"{"type":"string"}"#),
    ];
    let tools = rows
        .iter()
        .map(|(name, schema)| ToolDefinition { input_schema_json: Bytes::from_static(schema.as_bytes()), ..tool(name) })
        .collect();
    let mut scene = Scene::with_tools("run", "./relay", &[], tools);
    assert_eq!(scene.host.tool("whole")["inputSchema"], serde_json::from_str::<Value>(schema).expect("it is JSON"));
    assert_eq!(scene.host.tool("empty")["inputSchema"], json!({"type": "object"}));
    for tool in scene.host.tools() {
        assert_eq!(tool["inputSchema"]["type"], "object", "a host may rely on an object: {tool}");
    }
    let id = scene.host.start_call("whole", &json!({"n": 1}));
    let (call, _) = scene.peer.call();
    scene.peer.result(&call, r#""fine""#);
    assert_eq!(scene.host.answer(id).value["result"]["content"][0]["text"], "fine");
}

/// Item 35.
#[test]
fn titles_and_hints_that_are_set_appear_and_others_do_not() {
    let plain = tool("plain");
    let titled = ToolDefinition { title: "A Title".to_owned(), ..tool("titled") };
    let reader = ToolDefinition { read_only_hint: true, idempotent_hint: true, ..tool("reader") };
    let writer = ToolDefinition { destructive_hint: true, open_world_hint: true, ..tool("writer") };
    let scene = Scene::with_tools("run", "./relay", &[], vec![plain, titled, reader, writer]);
    assert_eq!(scene.host.tool("titled")["title"], "A Title");
    assert!(scene.host.tool("plain").get("title").is_none());
    let hints = |name: &str| scene.host.tool(name).get("annotations").cloned().unwrap_or_else(|| json!({}));
    for hint in ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"] {
        // An unset hint is false on the wire; to a client, a false hint would be a promise that the tool never made.
        assert!(hints("plain").get(hint).is_none(), "{hint} was never set");
        assert!(hints("titled").get(hint).is_none(), "{hint} was never set");
    }
    assert_eq!((&hints("reader")["readOnlyHint"], &hints("reader")["idempotentHint"]), (&json!(true), &json!(true)));
    assert_eq!((&hints("writer")["destructiveHint"], &hints("writer")["openWorldHint"]), (&json!(true), &json!(true)));
    assert!(hints("writer").get("readOnlyHint").is_none());
}
