//! `pmcp` over HTTP: `--transport`, `--auth` and rejected requests.

use std::process::Command;

use protomcp_conformance::{Sandbox, Web, eventually, pmcp};
use rustix::process::Signal;
use serde_json::json;

/// Item 95.
#[test]
fn sessions_come_and_go_on_both_paths() {
    let mut web = Web::start("py/basics.py", &["--transport", "http"]);
    for method in ["POST", "GET", "DELETE"] {
        let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}).to_string();
        let reply = web.send(method, "/mcp", &[("mcp-session-id", "unknown")], &ping);
        assert_eq!(reply.status, 404, "{method} {}", reply.body);
    }
    let result = web.initialize();
    assert_eq!(result["serverInfo"]["name"], "protomcp");
    for path in ["/", "/mcp"] {
        let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}).to_string();
        assert_eq!(web.send("POST", path, &[], &ping).json()["result"], json!({}), "{path}");
    }
    let added = web.call("add", &json!({"a": 1, "b": 2}));
    assert_eq!((added.status, added.header("content-type")), (200, Some("application/json")));
    assert_eq!(added.json()["result"]["content"][0]["text"], "3");
    // The tool reports before it answers: the answer is a stream.
    let params = json!({"name": "count", "arguments": {"to": 3, "pause_ms": 1}, "_meta": {"progressToken": "p"}});
    let counted = web.post(&json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params}));
    assert_eq!(counted.header("content-type"), Some("text/event-stream"));
    assert_eq!(counted.body.matches("notifications/progress").count(), 3, "{}", counted.body);
    assert!(counted.body.contains("\"result\""), "{}", counted.body);
    // With the id that it carries these are two.
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}).to_string();
    let ambiguous = web.send("POST", "/mcp", &[("mcp-session-id", "unknown")], &ping);
    assert_eq!(ambiguous.status, 400, "{}", ambiguous.body);
    assert!(ambiguous.body.contains("several headers mcp-session-id"), "{}", ambiguous.body);
    assert_eq!(web.send("DELETE", "/mcp", &[], "").status, 204);
    assert_eq!(web.post(&json!({"jsonrpc": "2.0", "id": 3, "method": "ping"})).status, 404);
}

/// Item 95.
#[test]
fn rejections_name_the_flag_that_would_allow_the_origin() {
    let web = Web::start("py/basics.py", &["--transport", "http", "--allow-host", "tools.example.com"]);
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}).to_string();
    let local = format!("localhost:{}", web.port());
    for (host, origin, status, flag) in [
        ("evil.example.com", None, 403, "--allow-host evil.example.com"),
        (local.as_str(), Some("http://evil.example.com"), 403, "--allow-origin http://evil.example.com"),
        (local.as_str(), Some("null"), 403, "only pages of http and https"),
        (local.as_str(), Some("http://localhost:3000"), 400, "Mcp-Session-Id"),
        ("tools.example.com", Some("https://tools.example.com"), 400, "Mcp-Session-Id"),
    ] {
        let mut headers = vec![("host", host)];
        headers.extend(origin.map(|origin| ("origin", origin)));
        for path in ["/", "/mcp"] {
            let reply = web.send("POST", path, &headers, &ping);
            assert_eq!(reply.status, status, "{host} {origin:?}");
            assert!(reply.body.contains(flag), "{}", reply.body);
        }
    }
}

/// Item 96.
#[test]
fn secrets_are_required_on_every_method() {
    let flags = ["--transport", "http", "--auth", "token:MY_TOKEN", "--auth", "apikey:MY_KEY"];
    let mut web = Web::start_with("py/basics.py", &flags, &[("MY_TOKEN", "s3cret"), ("MY_KEY", "k3y")]);
    for method in ["POST", "GET", "DELETE"] {
        let bare = web.send(method, "/mcp", &[], "{}");
        assert_eq!(bare.status, 401);
        assert!(bare.body.contains("unauthorized: invalid or missing Bearer token"), "{}", bare.body);
        assert!(bare.header("www-authenticate").is_some_and(|challenge| challenge.starts_with("Bearer")));
        let half = web.send(method, "/mcp", &[("authorization", "Bearer s3cret")], "{}");
        assert_eq!(half.status, 401);
        assert!(half.body.contains("unauthorized: invalid or missing API key"), "{}", half.body);
    }
    web.carry("authorization", "Bearer s3cret");
    web.carry("x-api-key", "k3y");
    web.initialize();
    assert_eq!(web.call("add", &json!({"a": 1, "b": 2})).status, 200);
    let log = web.process().stderr_with(" was refused: unauthorized: invalid or missing Bearer token");
    assert!(!log.contains("s3cret") && !log.contains("k3y"), "{log}");
    for line in log.lines().filter(|line| line.contains("pmcp: ")) {
        let (time, _) = line.split_once(' ').expect("an entry begins with its time");
        assert!(time.starts_with("20") && time.ends_with('Z') && time.len() > 19, "{line}");
    }
}

#[test]
fn a_last_event_that_is_not_one_of_the_server_is_refused() {
    let mut web = Web::start("py/basics.py", &["--transport", "http"]);
    web.initialize();
    for (ids, reason) in [
        (&["0-é"][..], "the Last-Event-ID header cannot be read"),
        (&["0-99"], "unknown event id"),
        (&["abc"], "unknown event id"),
        (&["0-0", "0-0"], "several headers last-event-id"),
    ] {
        let headers: Vec<_> = ids.iter().map(|id| ("last-event-id", *id)).collect();
        let reply = web.send("GET", "/mcp", &headers, "");
        assert_eq!(reply.status, 400, "{ids:?}: {reply:?}");
        assert!(reply.body.contains(reason), "{ids:?}: {reply:?}");
    }
}

#[test]
fn one_of_several_tokens_is_enough() {
    let flags = ["--transport", "http", "--auth", "token:OLD", "--auth", "token:NEW"];
    let web = Web::start_with("py/basics.py", &flags, &[("OLD", "0ld"), ("NEW", "n3w")]);
    let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "web", "version": "1"}
    }});
    for (token, status) in [("0ld", 200), ("n3w", 200), ("other", 401), ("0ld n3w", 401)] {
        let reply = web.send("POST", "/mcp", &[("authorization", &format!("Bearer {token}"))], &hello.to_string());
        assert_eq!(reply.status, status, "{token}: {reply:?}");
    }
}

/// Item 96.
#[test]
fn wrong_secrets_are_rejected() {
    let flags = ["--transport", "http", "--auth", "token:MY_TOKEN", "--auth", "apikey:MY_KEY"];
    let web = Web::start_with("py/basics.py", &flags, &[("MY_TOKEN", "s3cret"), ("MY_KEY", "k3y")]);
    let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "web", "version": "1"}
    }});
    let right = [("authorization", "Bearer s3cret"), ("x-api-key", "k3y")];
    let opened = web.send("POST", "/mcp", &right, &hello.to_string());
    let session = opened.header("mcp-session-id").expect("the right secrets open a session").to_owned();
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}).to_string();
    let tokens = ["wrong!", "", "s", "s3cre", "s3crets", "s3cret s3cret", "S3CRET", "k3y"];
    let mut wrong: Vec<_> = tokens.iter().map(|token| (format!("Bearer {token}"), "k3y".to_owned())).collect();
    wrong.extend(
        ["s3cret", "Bearer", "Bearers3cret", "Basic s3cret", ""].map(|value| (value.to_owned(), "k3y".to_owned())),
    );
    let keys = ["bad", "", "k", "k3", "k3y3", "k3yk3y", "K3Y", "s3cret", "Bearer k3y"];
    wrong.extend(keys.map(|key| ("Bearer s3cret".to_owned(), key.to_owned())));
    for (token, key) in &wrong {
        let what = if key == "k3y" { "Bearer token" } else { "API key" };
        for method in ["POST", "GET", "DELETE"] {
            // A known session does not help without them.
            let headers = [("authorization", &**token), ("x-api-key", &**key), ("mcp-session-id", &*session)];
            let reply = web.send(method, "/mcp", &headers, &ping);
            assert_eq!(reply.status, 401, "{method} {token:?} {key:?}: {reply:?}");
            assert!(reply.body.contains(&format!("invalid or missing {what}")), "{token:?} {key:?}: {reply:?}");
        }
    }
    let headers = [right[0], right[1], ("mcp-session-id", &*session)];
    assert_eq!(web.send("POST", "/mcp", &headers, &ping).status, 200, "nothing of it has ended the session");
    assert!(!web.process().stderr().contains("s3cret"));
}

/// Item 96.
#[test]
fn a_missing_secret_is_an_error_and_on_stdio_a_warning() {
    let sandbox = Sandbox::new();
    sandbox.copy("py/basics.py");
    let flags = ["run", "basics.py", "--transport", "http", "--auth", "token:NOT_SET"];
    for launch in [sandbox.pmcp(&flags).without("NOT_SET"), sandbox.pmcp(&flags).env("NOT_SET", "")] {
        let output = launch.command().output().expect("pmcp starts");
        assert_eq!(output.status.code(), Some(2));
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(text.contains("the environment variable named by --auth token:… is "), "{text}");
        assert!(!text.contains("NOT_SET"), "it may be the secret itself: {text}");
    }
    let host = sandbox.pmcp(&["run", "basics.py", "--auth", "token:NOT_SET"]).start();
    host.initialize();
    host.stderr_with("--auth has no effect on stdio");
    host.hang_up();
    host.exit();
}

/// Item 97.
#[test]
fn an_unsupported_transport_is_an_error() {
    let sandbox = Sandbox::new();
    sandbox.copy("py/basics.py");
    for (transport, part) in [
        ("pigeon", "invalid --transport \"pigeon\": must be one of stdio, http, sse, grpc, ws, tcp"),
        ("", "flag \"--transport\" needs a value"),
    ] {
        let output = Command::new(pmcp())
            .args(["run", "basics.py", "--transport", transport])
            .current_dir(sandbox.path(""))
            .output()
            .expect("pmcp starts");
        assert_eq!(output.status.code(), Some(2), "{transport}");
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(text.contains(part), "{text}");
    }
}

/// Item 95.
#[test]
fn listening_beyond_this_machine_needs_two_flags() {
    let sandbox = Sandbox::new();
    sandbox.copy("py/basics.py");
    for (flags, part) in [(&[][..], "--no-auth"), (&["--no-auth"][..], "--insecure-plaintext")] {
        let words = [&["run", "basics.py", "--transport", "http", "--host", "0.0.0.0", "--port", "0"], flags].concat();
        let output = sandbox.pmcp(&words).command().output().expect("pmcp starts");
        assert_eq!(output.status.code(), Some(2), "{flags:?}");
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(text.contains(part) && text.contains("0.0.0.0"), "{text}");
    }
}

/// Items 66, 95.
#[test]
fn a_reload_notifies_every_initialized_session() {
    const CHANGED: &str = "notifications/tools/list_changed";
    let web = Web::start("py/versioned.py", &["--transport", "http"]);
    let initialize = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "web", "version": "1"}
    }});
    let begin = || web.post(&initialize).header("mcp-session-id").expect("a session").to_owned();
    let (one, other, unready) = (begin(), begin(), begin());
    for session in [&one, &other] {
        let told = json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string();
        assert_eq!(web.send("POST", "/mcp", &[("mcp-session-id", session)], &told).status, 202);
    }
    let mut streams = [&one, &other, &unready].map(|session| web.listen(&[("mcp-session-id", session)]));
    for stream in &mut streams {
        assert!(stream.line_with("text/event-stream").is_some(), "the stream is not open");
    }
    web.process().signal(Signal::HUP);
    let [first, second, third] = &mut streams;
    assert!(first.line_with(CHANGED).is_some() && second.line_with(CHANGED).is_some());
    assert_eq!(web.send("DELETE", "/mcp", &[("mcp-session-id", &unready)], "").status, 204);
    assert_eq!(third.line_with(CHANGED), None);
}

/// Item 90.
#[test]
fn shutdown_lets_running_calls_finish_and_leaves_nothing() {
    let mut web = Web::start("py/versioned.py", &["--transport", "http", "--drain-timeout", "10m"]);
    web.initialize();
    let end = web.sandbox().path("end");
    std::thread::scope(|scope| {
        let slow = scope.spawn(|| web.call("work", &json!({"id": 7, "ms": 0, "until": &end})));
        let log = web.sandbox().path("work.log");
        eventually("the call to run", || {
            std::fs::read_to_string(&log).is_ok_and(|text| !text.is_empty()).then_some(())
        });
        web.process().signal(Signal::TERM);
        // New calls are rejected, but messages of the running call get through.
        let ping = json!({"jsonrpc": "2.0", "id": 8, "method": "ping"});
        eventually("the end to begin", || (web.post(&ping).status == 503).then_some(()));
        let answer = json!({"jsonrpc": "2.0", "id": 1, "result": {}});
        assert_eq!(web.post(&answer).status, 202);
        std::fs::write(&end, "").expect("the sandbox can be written");
        let reply = slow.join().expect("an answer");
        assert_eq!(reply.status, 200, "{reply:?}");
        assert!(reply.body.contains("\"7 v0\""), "{reply:?}");
    });
    assert_eq!(web.process().exit().code(), Some(0));
    web.process().no_orphans();
    assert!(web.sandbox().leftovers().is_empty(), "{:?}", web.sandbox().leftovers());
}

/// Item 95.
#[test]
fn an_occupied_port_is_named_in_the_error() {
    let web = Web::start("py/basics.py", &["--transport", "http"]);
    let sandbox = Sandbox::new();
    sandbox.copy("py/basics.py");
    let port = web.port().to_string();
    let output = sandbox
        .pmcp(&["run", "basics.py", "--transport", "http", "--port", &port])
        .command()
        .output()
        .expect("pmcp starts");
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(text.contains("cannot listen on") && text.contains(&port) && text.contains("--port"), "{text}");
}
