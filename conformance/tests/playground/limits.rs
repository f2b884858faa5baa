//! An app loads from the origins that it declares, and may ask for the permissions that it declares.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use protomcp_conformance::Sandbox;
use serde_json::{Value, json};

use super::{browser, opened, seen_by};

/// A server that pages of any origin may use.
struct Origin {
    url: String,
    /// The paths of its requests.
    paths: Arc<Mutex<Vec<String>>>,
}

impl Origin {
    fn new() -> Self {
        let socket = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let url = format!("http://{}", socket.local_addr().expect("it has an address"));
        let paths = Arc::default();
        let seen = Arc::clone(&paths);
        // It ends with the test. A browser may open connections that it does not use.
        thread::spawn(move || {
            for stream in socket.incoming().flatten() {
                let seen = Arc::clone(&seen);
                thread::spawn(move || serve(&stream, &seen));
            }
        });
        Self { url, paths }
    }

    /// The paths of its requests, each once: a browser may ask for a part of a sound again.
    fn paths(&self) -> Vec<String> {
        let mut paths = self.paths.lock().expect("no thread has panicked").clone();
        paths.sort();
        paths.dedup();
        paths
    }
}

fn serve(mut stream: &TcpStream, paths: &Mutex<Vec<String>>) {
    let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
    let Some(request) = lines.next() else { return };
    let path = request.split(' ').nth(1).unwrap_or_default();
    paths.lock().expect("no thread has panicked").push(path.to_owned());
    while lines.next().is_some_and(|line| !line.is_empty()) {}
    let (kind, body): (_, &[u8]) = match path {
        "/frame.html" => ("text/html", b"<script>parent.postMessage(location.hash.slice(1), '*')</script>"),
        "/image.svg" => ("image/svg+xml", b"<svg xmlns='http://www.w3.org/2000/svg' width='1' height='1'/>"),
        "/script.js" => ("text/javascript", b";"),
        "/sound.wav" => ("audio/wav", SOUND),
        "/style.css" => ("text/css", b"p {}"),
        _ => ("text/plain", b"reached"),
    };
    let (head, length) = ("Access-Control-Allow-Origin: *\r\nConnection: close", body.len());
    let reply = format!("HTTP/1.1 200 OK\r\n{head}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\r\n");
    // The browser may have closed the connection.
    let _gone = stream.write_all(&[reply.as_bytes(), body].concat());
}

/// Eight samples of silence.
const SOUND: &[u8] = b"RIFF\x2c\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0\x40\x1f\0\0\x40\x1f\0\0\x01\0\x08\0\
    data\x08\0\0\0\x80\x80\x80\x80\x80\x80\x80\x80";

#[test]
fn an_app_is_limited_to_its_declarations() {
    let (connect, load, frame) = (Origin::new(), Origin::new(), Origin::new());
    let sandbox = Sandbox::new();
    sandbox.copy("playground/limits.py");
    let launch = sandbox.pmcp(&["playground", "limits.py", "--port", "0", "--sdk", "bundled"]);
    let launch =
        launch.env("CONNECT_ORIGIN", &connect.url).env("LOAD_ORIGIN", &load.url).env("FRAME_ORIGIN", &frame.url);
    let (web, url) = opened(sandbox, launch);
    let seen: Value = serde_json::from_str(&seen_by(browser("limits.mjs").arg(url), &web)).expect("one JSON object");

    let resources = json!(["font-src", "img-src", "media-src", "script-src-elem", "style-src-elem"]);
    let csp = json!({"connectDomains": [connect.url], "resourceDomains": [load.url], "frameDomains": [frame.url]});
    assert_eq!(
        seen["declares"],
        json!({
            "reached": [["connect-src"], resources, ["frame-src"]],
            "features": ["geolocation"],
            "sandbox": {"csp": csp, "permissions": {"geolocation": {}}},
        })
    );
    assert_eq!(
        seen["declares_nothing"],
        json!({"reached": [[], [], []], "features": [], "sandbox": {"csp": {}, "permissions": {}}})
    );
    assert_eq!(connect.paths(), ["/data"]);
    assert_eq!(load.paths(), ["/font", "/image.svg", "/script.js", "/sound.wav", "/style.css"]);
    assert_eq!(frame.paths(), ["/frame.html"]);
}
