//! `pmcp` behind an authorization server (MCP 2025-11-25, basic/authorization).

use std::path::Path;
use std::process::Command;

use protomcp_conformance::{Issuer, Reply, Sandbox, Web, peers};
use serde_json::{Value, json};

/// A server that requires tokens of this issuer, with a port that is known before it starts.
fn start(issuer: &Issuer, flags: &[&str], env: &[(&str, &str)]) -> Web {
    let all = [&["--transport", "http", "--oauth-issuer", issuer.url()], flags].concat();
    Web::start_with("py/basics.py", &all, env)
}

fn resource(web: &Web) -> String {
    format!("http://localhost:{}/mcp", web.port())
}

fn show(web: &Web, token: &str) -> Reply {
    let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "web", "version": "1"}
    }});
    web.send("POST", "/mcp", &[("authorization", &format!("Bearer {token}"))], &hello.to_string())
}

#[test]
fn the_official_python_client_gets_a_token_and_a_wider_one() {
    for (alg, mode, revision) in [("RS256", "legacy", "2025-11-25"), ("opaque", "auto", "2026-07-28")] {
        let mut issuer = Issuer::start_with_flow();
        issuer.token(&json!({"alg": alg}));
        let introspect = format!("{}/introspect", issuer.url());
        let mut flags = vec!["--oauth-scope", "use", "--oauth-tool-scope", "add=deploy"];
        if alg == "opaque" {
            flags.extend(["--oauth-introspect", &introspect, "--oauth-client-id", "tools"]);
            flags.extend(["--oauth-client-secret-env", "TOOLS_SECRET"]);
        }
        let web = start(&issuer, &flags, &[("TOOLS_SECRET", "s3cret")]);
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/hosts/oauth.py");
        let mut host = Command::new(peers().join("mcp/bin/python"));
        let output = host.args([script, &resource(&web), mode]).output().expect("the host starts");
        let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{alg} failed\n{stdout}\n{stderr}\n{}", web.process().stderr());
        let seen: Value = serde_json::from_str(&stdout).expect("one JSON object");
        assert_eq!(seen["protocol"], revision, "{alg}");
        assert_eq!((&seen["echo"], &seen["add"]), (&json!("hello"), &json!("3")), "{alg}");
        let asked = seen["authorizations"].as_array().expect("a list");
        assert_eq!(asked.len(), 2, "{alg}: {asked:?}");
        assert!(asked.iter().all(|one| one["resource"] == resource(&web)), "{alg}: {asked:?}");
        assert_eq!(asked[0]["scope"], "use", "{alg}");
        let better: Vec<_> = asked[1]["scope"].as_str().expect("a text").split(' ').collect();
        assert!(better.contains(&"use") && better.contains(&"deploy"), "{alg}: {better:?}");
        assert!(!web.process().stderr().contains("s3cret"));
    }
}

#[test]
fn tokens_count_if_the_issuer_has_signed_them_for_this_server() {
    let mut issuer = Issuer::start_with_flow();
    let keys = issuer.keys().to_string_lossy().into_owned();
    let places: [&[&str]; 2] = [&[], &["--oauth-jwks", &keys]];
    for place in places {
        let web = start(&issuer, &[place, &["--oauth-audience", "api://tools"]].concat(), &[]);
        let resource = resource(&web);
        for alg in ["RS256", "RS512", "PS256", "ES256", "ES384", "EdDSA"] {
            let reply = show(&web, &issuer.token(&json!({"alg": alg, "aud": resource})));
            assert_eq!(reply.status, 200, "{alg}: {reply:?}");
        }
        let lists = json!({"alg": "ES256", "aud": ["https://other.example.com", "api://tools"]});
        assert_eq!(show(&web, &issuer.token(&lists)).status, 200);
        for (claims, why) in [
            (json!({"alg": "none", "aud": resource}), "the token is signed in a way that is not allowed"),
            (json!({"alg": "HS256", "aud": resource}), "the token is signed in a way that is not allowed"),
            (json!({"alg": "opaque", "aud": resource}), "the token is not a JSON Web Token"),
            (json!({"alg": "ES256", "aud": "https://other.example.com"}), "the token is for another audience"),
            (json!({"alg": "ES256"}), "the token is for another audience"),
            (json!({"alg": "ES256", "aud": resource, "iss": "https://evil"}), "the token is from another issuer"),
            (json!({"alg": "ES256", "aud": resource, "exp": 1}), "the token has expired"),
            (json!({"alg": "ES256", "aud": resource, "nbf": 4_000_000_000_u32}), "the token is not valid yet"),
        ] {
            let reply = show(&web, &issuer.token(&claims));
            let challenge = reply.header("www-authenticate").unwrap_or_default();
            assert_eq!(reply.status, 401, "{claims}");
            assert!(challenge.contains("error=\"invalid_token\"") && challenge.contains(why), "{claims}: {challenge}");
        }
        // An ID token of a client whose id is an audience here, and an access token of an issuer that marks none.
        let id_token = json!({"alg": "ES256", "header_typ": "JWT", "aud": "api://tools", "nonce": "n", "at_hash": "h"});
        let reply = show(&web, &issuer.token(&id_token));
        let challenge = reply.header("www-authenticate").unwrap_or_default();
        assert!(reply.status == 401 && challenge.contains("the token is not an access token"), "{reply:?}");
        let unmarked = json!({"alg": "ES256", "header_typ": "JWT", "aud": "api://tools", "scope": "use"});
        assert_eq!(show(&web, &issuer.token(&unmarked)).status, 200);
        let token = issuer.token(&json!({"alg": "ES256", "aud": resource}));
        let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}).to_string();
        assert_eq!(web.send("POST", &format!("/mcp?access_token={token}"), &[], &ping).status, 401);
        let log = web.process().stderr_with("a request was refused: unauthorized: ");
        assert!(!log.contains(&token), "{log}");
    }
}

/// A request of the revision without sessions that calls the tool `meta`.
fn call_without_session() -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "meta", "arguments": {}, "_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "web", "version": "1"},
    }}})
}

/// The caller of a call of the tool `meta`, as the tool process sees it.
fn principal(reply: &Reply) -> Value {
    let answer = reply.json();
    let known = answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{reply:?}"));
    serde_json::from_str::<Value>(known).expect("it is JSON")["context"]["principal"].take()
}

#[test]
fn a_tool_process_sees_the_bearer_of_each_token() {
    let mut issuer = Issuer::start();
    let url = issuer.url().to_owned();
    let flags = ["--transport", "http", "--oauth-issuer", &url, "--oauth-audience", "api://tools"];
    let tool = concat!(env!("CARGO_MANIFEST_DIR"), "/second/tool.py");
    let mut web = Web::start_program(Path::new(tool), &flags, &[("PYTHONDONTWRITEBYTECODE", "1")]);
    let mut bearers = ["use", "deploy use"].map(|scope| {
        let claims = json!({"alg": "ES256", "aud": "api://tools", "sub": "bob", "client_id": "editor", "scope": scope});
        let scopes: Vec<_> = scope.split(' ').collect();
        let principal = json!({"subject": "bob", "client_id": "editor", "issuer": url, "scopes": scopes});
        (format!("Bearer {}", issuer.token(&claims)), principal)
    });
    let stateless =
        [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/call"), ("mcp-name", "meta")].as_slice();
    let body = call_without_session().to_string();
    for (bearer, expected) in &bearers {
        let reply = web.send("POST", "/mcp", &[stateless, &[("authorization", bearer)]].concat(), &body);
        assert_eq!(&principal(&reply), expected);
    }
    // In a session, too, each request has the scopes of its token.
    let reply = show(&web, bearers[0].0.trim_start_matches("Bearer "));
    web.carry("mcp-session-id", reply.header("mcp-session-id").expect("a session"));
    bearers.reverse();
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "meta"}}).to_string();
    for (bearer, expected) in &bearers {
        let reply = web.send("POST", "/mcp", &[("authorization", bearer)], &body);
        assert_eq!(&principal(&reply), expected);
    }
}

#[test]
fn a_tool_process_sees_the_bearer_of_a_conversation_over_tcp() {
    let mut issuer = Issuer::start();
    let url = issuer.url().to_owned();
    let tool = concat!(env!("CARGO_MANIFEST_DIR"), "/second/tool.py");
    let flags = ["--transport", "tcp", "--port", "0", "--oauth-issuer", &url, "--oauth-audience", "api://tools"];
    let sandbox = Sandbox::new();
    let host = sandbox.pmcp(&[&["run", tool], &flags[..]].concat()).env("PYTHONDONTWRITEBYTECODE", "1").start();
    let log = host.stderr_with("over TCP");
    let address = log.split_once("listening on ").and_then(|(_, rest)| rest.split_whitespace().next());
    let token = issuer.token(&json!({
        "alg": "ES256", "aud": "api://tools", "sub": "bob", "client_id": "editor", "scope": "deploy use"
    }));
    let header = format!("Authorization: Bearer {token}");
    let call = ["call", address.expect("it says where it listens"), "meta", "--header", &header];
    let output = sandbox.pmcp(&call).command().output().expect("pmcp starts");
    let known: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
    let expected = json!({"subject": "bob", "client_id": "editor", "issuer": url, "scopes": ["deploy", "use"]});
    assert_eq!(known["context"]["principal"], expected, "{output:?}");
    assert!(!host.stderr().contains(&token));
}

#[test]
fn a_scope_holds_for_every_spelling_of_its_tool() {
    let mut issuer = Issuer::start();
    let url = issuer.url().to_owned();
    let header = format!("Authorization: Bearer {}", issuer.token(&json!({"alg": "ES256", "aud": "api://tools"})));
    let flags = ["--port", "0", "--oauth-issuer", &url, "--oauth-audience", "api://tools"];
    let scopes = ["--oauth-tool-scope", "Add=deploy", "--oauth-tool-scope", "ehco=deploy"];
    for transport in ["http", "tcp"] {
        let sandbox = Sandbox::new();
        sandbox.copy("py/basics.py");
        let host = [&["run", "basics.py", "--transport", transport], &flags[..], &scopes].concat();
        let host = sandbox.pmcp(&host).start();
        let log = host.stderr_with("serving basics.py over");
        let address = log.split_once("listening on ").and_then(|(_, rest)| rest.split_whitespace().next());
        let address = address.expect("it says where it listens");
        for tool in ["add", "Add", " add "] {
            let call = ["call", address, tool, "a=1", "b=2", "--header", &header];
            let output = sandbox.pmcp(&call).command().output().expect("pmcp starts");
            let why = String::from_utf8_lossy(&output.stderr);
            // In proto-mcp a tool is found by its own name alone, before its scopes are.
            let expected = if transport == "tcp" && tool != "add" { "unknown tool" } else { "scope" };
            assert!(!output.status.success() && why.contains(expected), "{transport} {tool:?}: {output:?}");
        }
        for _ in 0..2 {
            let output = sandbox.pmcp(&["list", address, "--header", &header]).command().output();
            assert!(output.expect("pmcp starts").status.success());
        }
        let log = host.stderr_with("no listed tool has this name");
        let warnings: Vec<_> = log.lines().filter(|line| line.contains("no listed tool has this name")).collect();
        assert_eq!(warnings.len(), 1, "{transport}: {warnings:?}");
        assert!(warnings[0].contains("--oauth-tool-scope names \"ehco\""), "{transport}: {warnings:?}");
    }
}

#[test]
fn the_server_says_where_tokens_come_from() {
    let issuer = Issuer::start();
    let flags = ["--public-url", "https://tools.example.com/mcp", "--oauth-scope", "use"];
    let web = start(&issuer, &flags, &[]);
    for path in ["/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp"] {
        let document = web.send("GET", path, &[], "").json();
        assert_eq!(document["resource"], "https://tools.example.com/mcp", "{path}");
        assert_eq!(document["authorization_servers"], json!([issuer.url()]), "{path}");
        assert_eq!(document["scopes_supported"], json!(["use"]), "{path}");
    }
    let reply = web.send("GET", "/mcp", &[], "");
    assert_eq!(reply.status, 401);
    assert_eq!(
        reply.header("www-authenticate"),
        Some(
            "Bearer scope=\"use\", \
             resource_metadata=\"https://tools.example.com/.well-known/oauth-protected-resource/mcp\""
        )
    );
}

#[test]
fn an_https_issuer_is_used_only_if_the_system_trusts_it() {
    let mut issuer = Issuer::start_with_tls();
    let authority = issuer.authority().to_string_lossy().into_owned();
    let trusting = start(&issuer, &[], &[("SSL_CERT_FILE", &authority)]);
    let token = issuer.token(&json!({"alg": "ES256", "aud": resource(&trusting)}));
    assert_eq!(show(&trusting, &token).status, 200);
    let other = Issuer::start_with_tls();
    let stranger = other.authority().to_string_lossy().into_owned();
    let doubting = start(&issuer, &[], &[("SSL_CERT_FILE", &stranger)]);
    let token = issuer.token(&json!({"alg": "ES256", "aud": resource(&doubting)}));
    let reply = show(&doubting, &token);
    assert_eq!((reply.status, reply.header("www-authenticate")), (503, None), "{reply:?}");
    doubting.process().stderr_with("invalid peer certificate");
}

#[test]
fn missing_keys_are_reported_immediately_and_grant_no_access() {
    let mut issuer = Issuer::start();
    let flags = ["--oauth-jwks", &format!("{}/nothing", issuer.url())];
    let web = start(&issuer, &flags, &[]);
    web.process().stderr_with("/nothing answers with 404");
    let token = issuer.token(&json!({"alg": "ES256", "aud": resource(&web)}));
    assert_eq!(show(&web, &token).status, 503);
}

#[test]
fn on_stdio_flags_that_would_protect_nothing_are_refused() {
    let sandbox = Sandbox::new();
    sandbox.copy("py/basics.py");
    for flags in [
        &["--oauth-issuer", "https://as.example.com"][..],
        &["--oauth-scope", "use"],
        &["--tls-cert", "a.pem", "--tls-key", "b.pem"],
        &["--allow-origin", "https://app.example.com"],
        &["--metrics"],
    ] {
        let output = sandbox.pmcp(&[&["run", "basics.py"], flags].concat()).command().output().expect("pmcp starts");
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert!(text.contains(flags[0]) && text.contains("add --transport http"), "{text}");
    }
}
