//! `--lazy-tools`: hosts see three tools, and use all the others by them.

use std::process::Command;

use protomcp_conformance::{Issuer, Sandbox, Web, eventually, living, peers, pmcp};
use serde_json::{Value, json};

/// The report of the official client about a server that this command starts, or at this URL.
fn visit(sandbox: &Sandbox, mode: &str, server: &[&str]) -> Value {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/hosts/lazy_tools.py");
    let prepared = sandbox.pmcp(&[]).command();
    let mut host = Command::new(peers().join("mcp/bin/python"));
    host.arg(script).arg(mode).args(server);
    host.current_dir(prepared.get_current_dir().expect("a launch has a working directory"));
    for (name, value) in prepared.get_envs() {
        match value {
            Some(value) => host.env(name, value),
            None => host.env_remove(name),
        };
    }
    let output = host.output().expect("the host starts");
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{mode} failed\n{stdout}\n{stderr}");
    serde_json::from_str(&stdout).unwrap_or_else(|error| panic!("no JSON ({error}): {stdout}\n{stderr}"))
}

/// The report about `pmcp` with these words, which leaves nothing behind.
fn visit_command(sandbox: &Sandbox, mode: &str, words: &[&str]) -> Value {
    let program = pmcp().to_string_lossy().into_owned();
    let seen = visit(sandbox, mode, &[&[program.as_str()], words].concat());
    eventually("everything to be gone", || living(sandbox.marker()).is_empty().then_some(()));
    seen
}

fn check(seen: &Value, who: &str) {
    let has = |list: &str, name: &str| seen[list].as_array().expect("a list").contains(&json!(name));
    assert_eq!(seen["tools"], json!(["search_tools", "describe_tools", "call_tool"]), "{who}");
    assert!(has("found", "add") && has("found", "echo") && !has("found", "secret"), "{who}: {}", seen["found"]);
    assert_eq!(seen["adding"][0], "add", "{who}: {}", seen["adding"]);
    let add = &seen["definitions"][0];
    assert_eq!((&add["name"], &add["inputSchema"]["required"]), (&json!("add"), &json!(["a", "b"])), "{who}");
    let calls = &seen["calls"];
    assert_eq!(calls["add"]["text"], json!(["3"]), "{who}");
    // A number beyond 2^53 is carried to the digit; the official client keeps it.
    assert_eq!(calls["structured"]["structured"]["big"], json!(9_007_199_254_740_993_u64), "{who}");
    assert_eq!(calls["weather_json"]["structured"], json!({"city": "Ulm", "degrees": 21}), "{who}");
    let failed = &calls["fail_with_code"];
    assert_eq!((&failed["isError"], &failed["meta"]["error_code"]), (&json!(true), &json!("BROKEN")), "{who}");
    let wrong = &calls["wrong"];
    assert_eq!((&wrong["isError"], &wrong["meta"]["error_code"]), (&json!(true), &json!("INVALID_ARGUMENTS")), "{who}");
    let misspelt = &calls["misspelt"];
    assert_eq!(misspelt["text"], json!([r#"no tool has the name "ad"; did you mean "add"?"#]), "{who}");
    assert_eq!(
        (&misspelt["isError"], &misspelt["meta"]["error_code"]),
        (&json!(true), &json!("UNKNOWN_TOOL")),
        "{who}"
    );
    assert_eq!(calls["direct"]["text"], json!(["by its name"]), "{who}");
    assert_eq!(seen["errors"]["unknown"]["code"], -32602, "{who}");
    let steps: Vec<_> = seen["progress"].as_array().expect("a list").iter().map(|step| step[2].clone()).collect();
    assert_eq!(steps, ["step 1", "step 2", "step 3"], "{who}");
    assert_eq!(seen["cancelled"], true, "{who}");
    // A tool that is hidden does not exist, until a call of the same session shows it.
    let is_stateless = seen["protocol"] == "2026-07-28";
    assert_eq!(calls["hidden"]["meta"]["error_code"], "UNKNOWN_TOOL", "{who}");
    assert_eq!(has("found_after", "secret"), !is_stateless, "{who}");
    assert_eq!(calls["shown"]["isError"], is_stateless, "{who}");
    assert!(!has("notices", "notifications/tools/list_changed"), "{who}: {}", seen["notices"]);
}

#[test]
fn the_official_client_uses_tools_that_it_has_found() {
    for (mode, revision) in [("legacy", "2025-11-25"), ("auto", "2026-07-28")] {
        let sandbox = Sandbox::new();
        sandbox.copy("py/basics.py");
        let seen = visit_command(&sandbox, mode, &["run", "basics.py", "--lazy-tools", "--validate-args", "reject"]);
        assert_eq!(seen["protocol"], revision);
        check(&seen, mode);
        let web = Web::start("py/basics.py", &["--lazy-tools", "--transport", "http", "--validate-args", "reject"]);
        let url = format!("http://localhost:{}/mcp", web.port());
        check(&visit(&sandbox, mode, &[&url]), &format!("{mode} over HTTP"));
    }
}

#[test]
fn a_tool_that_was_found_asks_its_host() {
    for mode in ["legacy", "auto"] {
        let sandbox = Sandbox::new();
        sandbox.copy("py/asks.py");
        let seen = visit_command(&sandbox, mode, &["run", "asks.py", "--lazy-tools"]);
        assert_eq!(seen["asked"], json!(["hi, é"]), "{mode}");
        let text = seen["calls"]["ask"]["text"][0].as_str().expect("a text");
        assert_eq!(serde_json::from_str::<Value>(text).expect("JSON")["content"], "hello", "{mode}");
    }
}

#[test]
fn the_tools_of_other_servers_are_found_and_their_policy_holds() {
    let sandbox = Sandbox::new();
    sandbox.copy("py/basics.py");
    let program = pmcp().to_string_lossy().into_owned();
    let config = json!({"mcpServers": {
        "one": {"command": program, "args": ["run", "basics.py"]},
        "two": {"command": program, "args": ["run", "basics.py"]},
    }});
    sandbox.write("servers.json", config.to_string());
    let host = sandbox.pmcp(&["run", "--config", "servers.json", "--lazy-tools", "--block-tools", "two_add"]).start();
    host.initialize();
    let found = host.text("search_tools", &json!({"query": "add integers"}));
    assert!(found.contains("one_add: Adds two integers.") && !found.contains("two_add"), "{found}");
    assert_eq!(host.text("call_tool", &json!({"name": "one_add", "arguments": {"a": 2, "b": 40}})), "42");
    let blocked = host.call("call_tool", &json!({"name": "two_add", "arguments": {"a": 2, "b": 40}}));
    assert_eq!(blocked["_meta"]["protomcp/error"]["error_code"], "UNKNOWN_TOOL", "{blocked}");
}

/// The scopes of a tool are asked for, whichever way it is called.
#[test]
fn scopes_come_from_the_named_tool() {
    let mut issuer = Issuer::start();
    let flags = ["--transport", "http", "--lazy-tools", "--oauth-issuer", issuer.url(), "--oauth-tool-scope"];
    let web = Web::start("py/basics.py", &[&flags[..], &["add=deploy"]].concat());
    let resource = format!("http://localhost:{}/mcp", web.port());
    let (plain, wide) = (
        issuer.token(&json!({"alg": "ES256", "aud": resource})),
        issuer.token(&json!({"alg": "ES256", "aud": resource, "scope": "deploy"})),
    );
    let send = |token: &str, session: &str, message: &Value| {
        let (token, version) = (format!("Bearer {token}"), "2025-11-25");
        let mut headers = vec![("authorization", token.as_str()), ("mcp-protocol-version", version)];
        headers.extend((!session.is_empty()).then_some(("mcp-session-id", session)));
        web.send("POST", "/mcp", &headers, &message.to_string())
    };
    let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "web", "version": "1"}
    }});
    let opened = send(&wide, "", &hello);
    let session = opened.header("mcp-session-id").expect("a session").to_owned();
    send(&wide, &session, &json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    let add = json!({"name": "add", "arguments": {"a": 1, "b": 2}});
    for (tool, arguments, allowed) in [
        ("search_tools", json!({"query": "add"}), true),
        ("call_tool", json!({"name": "echo", "arguments": {"text": "x"}}), true),
        ("call_tool", add.clone(), false),
        ("add", add["arguments"].clone(), false),
    ] {
        let params = json!({"name": tool, "arguments": arguments});
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
        let refused = send(&plain, &session, &call);
        assert_eq!(refused.status, if allowed { 200 } else { 403 }, "{tool} {arguments}: {refused:?}");
        let challenge = refused.header("www-authenticate").unwrap_or_default();
        assert_eq!(challenge.contains("insufficient_scope") && challenge.contains("deploy"), !allowed, "{challenge}");
        assert_eq!(send(&wide, &session, &call).status, 200, "{tool} {arguments}");
    }
}

#[test]
fn clients_of_proto_mcp_see_the_list() {
    let sandbox = Sandbox::new();
    sandbox.copy("py/basics.py");
    let host = sandbox.pmcp(&["run", "basics.py", "--lazy-tools", "--transport", "tcp", "--port", "0"]).start();
    let log = host.stderr_with("listening on proto://");
    let line = log.lines().find(|line| line.contains("listening on proto://")).expect("it says where it listens");
    let url = format!("proto://localhost:{}", line.rsplit(':').next().expect("a port"));
    let output = sandbox.pmcp(&["list", &url]).command().output().expect("pmcp starts");
    let listed = String::from_utf8_lossy(&output.stdout);
    assert!(listed.contains("Adds two integers.") && !listed.contains("search_tools"), "{listed}");
    for transport in ["grpc", "ws"] {
        let output = sandbox.pmcp(&["run", "basics.py", "--lazy-tools", "--transport", transport]).command().output();
        let output = output.expect("pmcp starts");
        let why = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{why}");
        assert!(why.contains("--lazy-tools has no effect on grpc and ws"), "{why}");
    }
}
