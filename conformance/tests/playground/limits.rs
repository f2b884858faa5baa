//! An app loads from the origins that it declares, and may ask for the permissions that it declares.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use protomcp_conformance::Sandbox;
use serde_json::{Value, json};

use super::{browser, opened, seen_by};

/// A server that pages of any origin may use. Returns its origin and the number of its requests.
fn origin() -> (String, Arc<AtomicUsize>) {
    let socket = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let origin = format!("http://{}", socket.local_addr().expect("it has an address"));
    let requests = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&requests);
    // It ends with the test. A browser may open connections that it does not use.
    thread::spawn(move || {
        for stream in socket.incoming().flatten() {
            let counted = Arc::clone(&counted);
            thread::spawn(move || serve(&stream, &counted));
        }
    });
    (origin, requests)
}

fn serve(mut stream: &TcpStream, requests: &AtomicUsize) {
    let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
    let Some(request) = lines.next() else { return };
    requests.fetch_add(1, Ordering::SeqCst);
    while lines.next().is_some_and(|line| !line.is_empty()) {}
    let (kind, body) = match request.split(' ').nth(1) {
        Some("/image.svg") => ("image/svg+xml", "<svg xmlns='http://www.w3.org/2000/svg' width='1' height='1'/>"),
        Some("/script.js") => ("text/javascript", ";"),
        _ => ("text/plain", "reached"),
    };
    let (head, length) = ("Access-Control-Allow-Origin: *\r\nConnection: close", body.len());
    let reply = format!("HTTP/1.1 200 OK\r\n{head}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\r\n{body}");
    // The browser may have closed the connection.
    let _gone = stream.write_all(reply.as_bytes());
}

#[test]
fn an_app_is_limited_to_its_declarations() {
    let ((connect, connections), (load, loads)) = (origin(), origin());
    let sandbox = Sandbox::new();
    sandbox.copy("playground/limits.py");
    let launch = sandbox.pmcp(&["playground", "limits.py", "--port", "0", "--sdk", "bundled"]);
    let launch = launch.env("CONNECT_ORIGIN", &connect).env("LOAD_ORIGIN", &load);
    let (web, url) = opened(sandbox, launch);
    let seen: Value = serde_json::from_str(&seen_by(browser("limits.mjs").arg(url), &web)).expect("one JSON object");

    let blocked = json!({"fetch": "blocked", "image": "blocked", "script": "blocked"});
    let violations = json!(["connect-src", "img-src", "script-src-elem"]);
    let csp = json!({"connectDomains": [connect], "resourceDomains": [load]});
    assert_eq!(
        seen["declares"],
        json!({
            "connect": {"fetch": "reached", "image": "blocked", "script": "blocked"},
            "load": {"fetch": "blocked", "image": "loaded", "script": "loaded"},
            "features": ["geolocation"],
            "sandbox": {"csp": csp, "permissions": {"geolocation": {}}},
            "violations": violations,
        })
    );
    assert_eq!(
        seen["declares_nothing"],
        json!({
            "connect": blocked,
            "load": blocked,
            "features": [],
            "sandbox": {"csp": {}, "permissions": {}},
            "violations": violations,
        })
    );
    assert_eq!((connections.load(Ordering::SeqCst), loads.load(Ordering::SeqCst)), (1, 2));
}
