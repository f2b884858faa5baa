//! `--access-log`: a line for each request, without its arguments.

use protomcp_conformance::{Sandbox, Web};
use serde_json::{Value, json};

/// The lines of the access log, without times and durations.
fn lines(log: &str) -> Vec<String> {
    let lines = log.lines().filter_map(|line| line.split_once("pmcp: request ")).map(|(_, fields)| fields);
    let timeless = |fields: &str| {
        let fields = fields.split(' ').filter(|field| !field.starts_with("ms=")).collect::<Vec<_>>();
        fields.join(" ")
    };
    lines.map(timeless).collect()
}

#[test]
fn requests_on_stdio_are_lines_of_the_log() {
    let sandbox = Sandbox::new();
    sandbox.copy("py/basics.py");
    let host = sandbox.pmcp(&["run", "basics.py", "--access-log", "--log-level", "error"]).start();
    host.initialize();
    host.text("echo", &json!({"text": "s3cret"}));
    host.call("fail_with_code", &json!({}));
    host.refused("no/such", &json!({}));
    let log = host.stderr_with("method=\"no/such\"");
    assert_eq!(
        lines(&log),
        [
            r#"method="initialize" outcome="ok" session=1"#,
            r#"method="tools/call" name="echo" outcome="ok" session=1"#,
            r#"method="tools/call" name="fail_with_code" outcome="tool error" session=1"#,
            r#"method="no/such" outcome="error" code=-32601 session=1"#,
        ]
    );
    assert!(!log.contains("s3cret"), "{log}");
}

#[test]
fn requests_over_http_have_a_status_if_they_are_refused() {
    let flags = ["--transport", "http", "--access-log", "--auth", "token:SECRET"];
    let mut web = Web::start_with("py/basics.py", &flags, &[("SECRET", "s3cret")]);
    let refused = web.send("POST", "/mcp", &[("authorization", "Bearer wr0ng")], "{}");
    assert_eq!(refused.status, 401, "{}", refused.body);
    web.carry("authorization", "Bearer s3cret");
    web.initialize();
    assert_eq!(web.call("echo", &json!({"text": "mine"})).status, 200);
    let log = web.process().stderr_with("\"tools/call\"");
    assert_eq!(
        lines(&log),
        [
            r#"http="POST" path="/mcp" outcome="refused" status=401 address=127.0.0.1"#,
            r#"method="initialize" outcome="ok" session=1"#,
            r#"method="tools/call" name="echo" outcome="ok" session=1"#,
        ]
    );
    for secret in ["wr0ng", "s3cret", "mine"] {
        assert!(!log.contains(secret), "{log}");
    }
}

#[test]
fn a_line_in_json_has_the_fields_as_members() {
    let sandbox = Sandbox::new();
    sandbox.copy("py/basics.py");
    let host = sandbox.pmcp(&["run", "basics.py", "--access-log", "--log-format", "json", "--quiet"]).start();
    host.initialize();
    host.text("echo", &json!({"text": "x"}));
    let log = host.stderr_with("\"tools/call\"");
    let mut lines = log.lines().map(|line| serde_json::from_str::<Value>(line).expect("it is JSON"));
    let line = lines.next_back().expect("there are two");
    assert!(line["timestamp"].is_string() && line["ms"].is_number() && line["session"].is_string(), "{line}");
    let found = ["target", "message", "method", "name", "outcome"].map(|field| line[field].clone());
    assert_eq!(Value::from_iter(found), json!(["protomcp::access", "request", "tools/call", "echo", "ok"]));
}

#[test]
fn a_search_of_lazy_tools_is_logged_as_it_is_sent() {
    let sandbox = Sandbox::new();
    sandbox.copy("py/basics.py");
    let host = sandbox.pmcp(&["run", "basics.py", "--access-log", "--lazy-tools"]).start();
    host.initialize();
    host.call("search_tools", &json!({"query": "echo"}));
    host.call("call_tool", &json!({"name": "echo", "arguments": {"text": "x"}}));
    let log = host.stderr_with("name=\"echo\"");
    let lines = lines(&log);
    for name in ["search_tools", "echo"] {
        assert!(lines.contains(&format!(r#"method="tools/call" name="{name}" outcome="ok" session=1"#)), "{log}");
    }
}

#[test]
fn a_gateway_logs_the_requests_of_its_clients() {
    let sandbox = Sandbox::new();
    sandbox.copy("py/basics.py");
    let pmcp = protomcp_conformance::pmcp().to_string_lossy();
    let host = sandbox.pmcp(&["run", "--access-log", "--", &pmcp, "run", "basics.py"]).start();
    host.initialize();
    host.text("echo", &json!({"text": "x"}));
    let log = host.stderr_with("name=\"echo\"");
    assert!(lines(&log).contains(&r#"method="tools/call" name="echo" outcome="ok" session=1"#.to_owned()), "{log}");
}
