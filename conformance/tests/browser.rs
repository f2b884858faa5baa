//! A web page in Chromium as a client: the limits that its browser sets for a server of another origin.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Command;

use protomcp_conformance::{Web, peers};
use serde_json::{Value, json};

const PAGE: &str = include_str!("../hosts/page.html");

/// Serves the page for every request until the test ends. Returns its origin.
fn page() -> String {
    let socket = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    let address = socket.local_addr().expect("an address");
    std::thread::spawn(move || {
        for stream in socket.incoming().flatten() {
            // A browser may open connections that it does not use.
            std::thread::spawn(move || show(stream));
        }
    });
    format!("http://localhost:{}", address.port())
}

fn show(mut stream: TcpStream) {
    let mut request = BufReader::new(&stream).lines();
    let is_page = request.next().is_some_and(|line| line.is_ok_and(|line| line.starts_with("GET /?")));
    while request.next().is_some_and(|line| line.is_ok_and(|line| !line.is_empty())) {}
    let (status, body) = if is_page { ("200 OK", PAGE) } else { ("404 Not Found", "") };
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: text/html\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    // The browser may have closed the connection.
    let _gone = stream.write_all(format!("{head}{body}").as_bytes());
}

/// The outcome of the page.
fn visit(origin: &str, web: &Web) -> Value {
    let url = format!("{origin}/?server=http://localhost:{}/mcp", web.port());
    let output = Command::new("node")
        .arg(format!("{}/hosts/browser.mjs", env!("CARGO_MANIFEST_DIR")))
        .arg(&url)
        .current_dir(peers().join("browser"))
        .output()
        .expect("node is installed by scripts/setup");
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("no JSON ({error}): {output:?}"))
}

/// Item 95.
#[test]
fn a_page_of_an_allowed_origin_is_a_client_in_both_eras() {
    let origin = page();
    let web = Web::start("py/basics.py", &["--transport", "http", "--allow-origin", &origin]);
    let seen = visit(&origin, &web);
    let stream = |seen: &Value| {
        assert_eq!((&seen["stream"]["status"], &seen["stream"]["type"]), (&json!(200), &json!("text/event-stream")));
        assert!(seen["stream"]["bytes"].as_u64() > Some(0), "{seen}");
    };
    for era in ["legacy", "modern"] {
        let seen = &seen[era];
        assert_eq!((&seen["error"], &seen["sum"]), (&Value::Null, &json!("3")), "{era}: {seen}");
        assert!(seen["tools"].as_array().is_some_and(|tools| tools.contains(&json!("add"))), "{era}: {seen}");
        stream(seen);
    }
    let legacy = &seen["legacy"];
    assert_eq!((&legacy["server"], &legacy["session"]), (&json!("protomcp"), &json!("string")), "{legacy}");
    assert_eq!((&legacy["told"], &legacy["end"]), (&json!(202), &json!(204)), "{legacy}");
    assert!(seen["modern"]["versions"].as_array().is_some_and(|all| all.contains(&json!("2026-07-28"))), "{seen}");
}

/// Item 95.
#[test]
fn a_page_of_another_origin_gets_nothing() {
    let origin = page();
    for flags in [&[][..], &["--allow-origin", "https://app.example.com"]] {
        let web = Web::start("py/basics.py", &[&["--transport", "http"], flags].concat());
        let seen = visit(&origin, &web);
        assert_eq!(seen, json!({"legacy": {"error": "TypeError"}, "modern": {"error": "TypeError"}}), "{flags:?}");
    }
}
