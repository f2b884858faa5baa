//! Prometheus metrics, as a third-party reader understands them.

use std::collections::BTreeMap;
use std::io::Write;
use std::net::TcpListener;
use std::process::{Command, Stdio};
use std::time::{SystemTime, UNIX_EPOCH};

use protomcp_conformance::{Reply, Sandbox, Web, living, peers};
use rustix::process::Signal;
use serde_json::{Value, json};

/// Name, type and figures.
type Family = (String, String, Vec<Figure>);
/// Name, labels and value.
type Figure = (String, BTreeMap<String, String>, f64);

/// Values by name and labels, such as `pmcp_calls_total{outcome="ok",tool="echo"}`.
struct Figures {
    values: BTreeMap<String, f64>,
    types: BTreeMap<String, String>,
}

impl Figures {
    fn read(reply: &Reply) -> Self {
        assert_eq!(reply.status, 200, "{reply:?}");
        assert_eq!(reply.header("content-type"), Some("application/openmetrics-text; version=1.0.0; charset=utf-8"));
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/hosts/scrape.py");
        let mut reader = Command::new(peers().join("mcp/bin/python"))
            .arg(script)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the reader starts");
        let mut stdin = reader.stdin.take().expect("a pipe");
        stdin.write_all(reply.body.as_bytes()).expect("the reader reads");
        drop(stdin);
        let output = reader.wait_with_output().expect("the reader ends");
        assert!(output.status.success(), "{}", reply.body);
        let families: Vec<Family> = serde_json::from_slice(&output.stdout).expect("a list of families");
        let (mut values, mut types) = (BTreeMap::new(), BTreeMap::new());
        for (name, kind, samples) in families {
            assert!(types.insert(name.clone(), kind).is_none(), "{name} is there twice");
            for (sample, labels, value) in samples {
                let labels: Vec<_> = labels.iter().map(|(name, value)| format!("{name}=\"{value}\"")).collect();
                let key = format!("{sample}{{{}}}", labels.join(","));
                assert!(values.insert(key.clone(), value).is_none(), "{key} is there twice");
            }
        }
        Self { values, types }
    }

    #[track_caller]
    fn get(&self, key: &str) -> f64 {
        *self.values.get(key).unwrap_or_else(|| panic!("no {key} in {:#?}", self.values.keys()))
    }
}

#[test]
fn the_metrics_count_calls_and_outcomes() {
    let mut web = Web::start("py/basics.py", &["--transport", "http", "--metrics"]);
    web.initialize();
    for _ in 0..2 {
        assert_eq!(web.call("echo", &json!({"text": "x"})).status, 200);
    }
    web.call("fail_with_code", &json!({}));
    web.call("nothing_of_this_name", &json!({}));
    web.process().signal(Signal::HUP);
    web.process().stderr_with("reloaded");
    assert_eq!(web.call("echo", &json!({"text": "x"})).status, 200);

    let figures = Figures::read(&web.send("GET", "/metrics", &[], ""));
    for (key, value) in [
        ("pmcp_calls_total{outcome=\"ok\",tool=\"echo\"}", 3.0),
        ("pmcp_calls_total{outcome=\"tool_error\",tool=\"fail_with_code\"}", 1.0),
        ("pmcp_call_duration_seconds_count{tool=\"echo\"}", 3.0),
        ("pmcp_call_duration_seconds_bucket{le=\"+Inf\",tool=\"echo\"}", 3.0),
        ("pmcp_call_wait_seconds_count{}", 4.0),
        ("pmcp_calls_waiting{}", 0.0),
        ("pmcp_calls_running{}", 0.0),
        ("pmcp_calls_refused_total{limit=\"server\"}", 0.0),
        ("pmcp_reloads_total{outcome=\"ok\"}", 1.0),
        ("pmcp_reloads_total{outcome=\"failed\"}", 0.0),
        ("pmcp_crashes_total{}", 0.0),
        ("pmcp_http_sessions{}", 1.0),
        ("pmcp_http_streams{}", 0.0),
    ] {
        assert!((figures.get(key) - value).abs() < f64::EPSILON, "{key} is {}", figures.get(key));
    }
    assert!(figures.get("pmcp_call_duration_seconds_sum{tool=\"echo\"}") > 0.0);
    assert!(figures.get("pmcp_link_bytes_total{direction=\"received\"}") > 100.0);
    assert!(figures.get("pmcp_link_bytes_total{direction=\"sent\"}") > 100.0);
    assert!(figures.get("pmcp_http_responses_total{status=\"2xx\"}") >= 6.0);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock").as_secs_f64();
    let age = now - figures.get("process_start_time_seconds{}");
    assert!((0.0..3600.0).contains(&age), "{age}");
    assert!(figures.values.keys().any(|key| key.starts_with("pmcp_build_info{version=")));
    assert!(!figures.values.keys().any(|key| key.contains("nothing_of_this_name")), "hosts do not choose labels");
    for (name, kind) in
        [("pmcp_calls", "counter"), ("pmcp_call_duration_seconds", "histogram"), ("pmcp_http_sessions", "gauge")]
    {
        assert_eq!(figures.types.get(name).map(String::as_str), Some(kind), "{name}");
    }
}

#[test]
fn a_crash_and_what_comes_after_it_are_counted() {
    let mut web = Web::start("py/basics.py", &["--transport", "http", "--metrics"]);
    web.initialize();
    let crashed: Value = web.call("die", &json!({"status": 3})).json();
    assert_eq!(crashed["result"]["isError"], true, "{crashed}");
    web.process().stderr_with("the tool process is back");
    let figures = Figures::read(&web.send("GET", "/metrics", &[], ""));
    for (key, value) in [
        ("pmcp_crashes_total{}", 1.0),
        ("pmcp_restarts_total{outcome=\"ok\"}", 1.0),
        ("pmcp_calls_total{outcome=\"crashed\",tool=\"die\"}", 1.0),
    ] {
        assert!((figures.get(key) - value).abs() < f64::EPSILON, "{key} is {}", figures.get(key));
    }
}

#[test]
fn metrics_on_the_servers_port_require_its_authentication() {
    let flags = ["--transport", "http", "--metrics", "--auth", "token:MY_TOKEN"];
    let web = Web::start_with("py/basics.py", &flags, &[("MY_TOKEN", "s3cret")]);
    assert_eq!(web.send("GET", "/metrics", &[], "").status, 401);
    let token = ("authorization", "Bearer s3cret");
    assert_eq!(web.send("GET", "/metrics", &[token, ("host", "evil.example.com")], "").status, 403);
    assert_eq!(web.send("POST", "/metrics", &[token], "{}").status, 405);
    Figures::read(&web.send("GET", "/metrics", &[token], ""));
    let without = Web::start("py/basics.py", &["--transport", "http"]);
    assert_eq!(without.send("GET", "/metrics", &[], "").status, 404);
}

#[test]
fn metrics_may_have_a_separate_address() {
    let flags = ["--transport", "http", "--metrics-addr", "127.0.0.1:0", "--auth", "token:MY_TOKEN"];
    let web = Web::start_with("py/basics.py", &flags, &[("MY_TOKEN", "s3cret")]);
    let text = web.process().stderr_with("metrics on");
    let line = text.lines().find(|line| line.contains("metrics on")).expect("the line");
    let port = line.rsplit(':').next().and_then(|rest| rest.split('/').next()).and_then(|port| port.parse().ok());
    let port = port.unwrap_or_else(|| panic!("no port in {line}"));
    assert_eq!(web.send("GET", "/metrics", &[], "").status, 404, "they are nowhere else");
    let web = web.at_port(port);
    assert!((Figures::read(&web.send("GET", "/metrics", &[], "")).get("pmcp_http_sessions{}")).abs() < 1.0);
    assert_eq!(web.send("GET", "/healthz", &[], "").body, "ok\n");
    assert_eq!(web.send("GET", "/readyz", &[], "").body, "ready\n");
    assert_eq!(web.send("POST", "/mcp", &[], "{}").status, 404, "nothing else is there");

    let sandbox = Sandbox::new();
    sandbox.copy("py/basics.py");
    for (place, code) in [("9090", 2), (":9090", 2), (&*format!("127.0.0.1:{port}"), 1)] {
        let words = ["run", "basics.py", "--transport", "http", "--port", "0", "--metrics-addr", place];
        let output = sandbox.pmcp(&words).command().output().expect("pmcp starts");
        assert_eq!(output.status.code(), Some(code), "{place}");
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(text.contains(place), "{text}");
    }
}

#[test]
fn an_unusable_metrics_address_prevents_the_start() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let taken = taken.local_addr().expect("an address").to_string();
    for (place, flags, code, part) in [
        ("0.0.0.0:0", &[][..], 2, "--insecure-plaintext"),
        ("[::]:0", &["--auth", "token:MY_TOKEN"], 2, "--insecure-plaintext"),
        (&*taken, &[], 1, &*format!("cannot listen on {taken}")),
        (&*taken, &[], 1, "name another port with --metrics-addr"),
    ] {
        let sandbox = Sandbox::new();
        let tool = sandbox.write("tools.py", "import pathlib\npathlib.Path('started').touch()\n");
        let words = ["run", "tools.py", "--transport", "http", "--port", "0", "--metrics-addr", place];
        let launch = sandbox.pmcp(&[&words[..], flags].concat()).env("MY_TOKEN", "s3cret");
        let output = launch.command().output().expect("pmcp starts");
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{place}: {text}");
        assert!(text.contains(part), "{place}: {text}");
        assert!(!tool.with_file_name("started").exists(), "{place}: the tool process was started");
        assert_eq!((sandbox.leftovers(), living(sandbox.marker())), (vec![], vec![]), "{place}");
    }
}

#[test]
fn metrics_are_served_beyond_this_machine_on_request() {
    let flags = ["--transport", "http", "--metrics-addr", "0.0.0.0:0", "--insecure-plaintext"];
    let web = Web::start("py/basics.py", &flags);
    web.process().stderr_with("metrics on http://0.0.0.0:");
}
