//! A web page in Chromium as a client: the limits that its browser sets for a server of another origin.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Command;

use protomcp_conformance::{Web, peers};
use serde_json::{Value, json};

const PAGE: &str = include_str!("../hosts/page.html");
const WEBSOCKET_PAGE: &str = include_str!("../hosts/ws_page.html");

/// Serves a page for every request until the test ends. Returns its origin.
fn serve(page: &'static str) -> String {
    let socket = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    let address = socket.local_addr().expect("an address");
    std::thread::spawn(move || {
        for stream in socket.incoming().flatten() {
            // A browser may open connections that it does not use.
            std::thread::spawn(move || show(stream, page));
        }
    });
    format!("http://localhost:{}", address.port())
}

fn show(mut stream: TcpStream, page: &str) {
    let mut request = BufReader::new(&stream).lines();
    let is_page = request.next().is_some_and(|line| line.is_ok_and(|line| line.starts_with("GET /?")));
    while request.next().is_some_and(|line| line.is_ok_and(|line| !line.is_empty())) {}
    let (status, body) = if is_page { ("200 OK", page) } else { ("404 Not Found", "") };
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: text/html\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    // The browser may have closed the connection.
    let _gone = stream.write_all(format!("{head}{body}").as_bytes());
}

/// The outcome of the page, which uses the server in this scheme.
fn visit(origin: &str, scheme: &str, web: &Web) -> Value {
    let url = format!("{origin}/?server={scheme}://localhost:{}/mcp", web.port());
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
    let origin = serve(PAGE);
    let web = Web::start("py/basics.py", &["--transport", "http", "--allow-origin", &origin]);
    let seen = visit(&origin, "http", &web);
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
    let origin = serve(PAGE);
    for flags in [&[][..], &["--allow-origin", "https://app.example.com"]] {
        let web = Web::start("py/basics.py", &[&["--transport", "http"], flags].concat());
        let seen = visit(&origin, "http", &web);
        assert_eq!(seen, json!({"legacy": {"error": "TypeError"}, "modern": {"error": "TypeError"}}), "{flags:?}");
    }
}

#[test]
fn a_page_of_an_allowed_origin_uses_websocket() {
    let origin = serve(WEBSOCKET_PAGE);
    for transport in ["http", "ws"] {
        let web = Web::start("py/basics.py", &["--transport", transport, "--allow-origin", &origin]);
        let seen = visit(&origin, "ws", &web);
        for form in ["prefixed", "bare"] {
            let seen = &seen[form];
            assert_eq!(seen["error"], Value::Null, "{transport} {form}: {seen}");
            assert_eq!((&seen["protocol"], &seen["version"]), (&json!("proto-mcp.v1"), &json!("1.0.0")));
            assert_eq!((&seen["ids"], &seen["sum"]), (&json!([1, 2, 3]), &json!("3")));
            assert!(seen["tools"].as_array().is_some_and(|tools| tools.contains(&json!("add"))), "{seen}");
            assert_eq!(seen["closed"], 1000);
        }
    }
}

#[test]
fn a_page_of_another_origin_opens_no_websocket() {
    let origin = serve(WEBSOCKET_PAGE);
    let refused = json!({"error": "the handshake failed"});
    for flags in [&[][..], &["--allow-origin", "https://app.example.com"]] {
        let web = Web::start("py/basics.py", &[&["--transport", "http"], flags].concat());
        assert_eq!(visit(&origin, "ws", &web), json!({"prefixed": refused, "bare": refused}), "{flags:?}");
    }
}
