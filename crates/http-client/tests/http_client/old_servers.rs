//! Servers that speak the transport of MCP 2024-11-05 alone.

use std::sync::{Arc, Mutex};

use protomcp_http::Config;
use protomcp_http::Listener;
use protomcp_transport::NoAnswer;
use protomcp_types::{Message, ProtocolVersion};
use tokio::sync::Notify;

use super::own_server::OwnServer;
use super::peer::{Peer, params};
use super::script::{Part, Request, Script, response, result, stream, text};

/// An old server: its stream names this address, then carries what POSTs to that address have asked for.
#[derive(Clone)]
struct Old {
    endpoint: String,
    asked: Arc<Notify>,
    bodies: Arc<Mutex<Vec<String>>>,
    /// Ends the stream instead of the second answer.
    ends: bool,
}

impl Old {
    fn new(endpoint: &str) -> Self {
        Self { endpoint: endpoint.to_owned(), asked: Arc::default(), bodies: Arc::default(), ends: false }
    }

    fn reply(&self, request: &Request) -> Vec<Part> {
        match (request.method.as_str(), request.path.as_str()) {
            ("GET", "/mcp") => {
                let wait = Part::Wait(Arc::clone(&self.asked));
                let handshake = result(0, r#"{"protocolVersion":"2024-11-05","capabilities":{},"serverInfo":{}}"#);
                let mut parts = vec![
                    stream(),
                    text(&format!("event: endpoint\ndata: {}\n\n", self.endpoint)),
                    wait.clone(),
                    text(&format!("event: message\ndata: {handshake}\n\n")),
                    wait,
                ];
                if !self.ends {
                    parts.push(text(&format!("event: message\r\ndata: {}\r\n\r\n", result(1, "{}"))));
                    parts.push(Part::UntilClosed);
                }
                parts.push(Part::Close);
                parts
            }
            ("POST", path) if path.starts_with("/messages") => {
                self.bodies.lock().unwrap().push(request.body.clone());
                if request.body.contains("\"id\"") {
                    self.asked.notify_one();
                }
                response(202, "", "Accepted")
            }
            _ => response(405, "", "Method Not Allowed"),
        }
    }
}

async fn start(old: &Old) -> Script {
    let old = old.clone();
    Script::new(move |request| old.reply(request)).await
}

#[tokio::test]
async fn an_old_server_is_recognized() {
    let old = Old::new("/messages?sessionId=1");
    let script = start(&old).await;
    let mut peer = Peer::new(&script.url());
    peer.initialize(ProtocolVersion::V2024_11_05).await;
    peer.request(1, "tools/list", params("{}")).await;
    assert_eq!(peer.result(1).await, "{}");
    let requests = script.requests();
    let heads: Vec<_> = requests.iter().map(|request| (request.method.as_str(), request.path.as_str())).collect();
    let post = ("POST", "/messages?sessionId=1");
    assert_eq!(heads, [("POST", "/mcp"), ("GET", "/mcp"), post, post, post]);
    assert!(old.bodies.lock().unwrap()[1].contains("notifications/initialized"));
}

#[tokio::test]
async fn an_address_of_another_origin_is_refused() {
    let other = Script::new(|_| response(202, "", "")).await;
    for endpoint in [format!("http://{}/messages", other.address), "//evil.example/".to_owned(), "http://[".to_owned()]
    {
        let script = start(&Old::new(&endpoint)).await;
        let mut peer = Peer::quick(&script.url());
        peer.request(0, "initialize", params("{}")).await;
        let (reason, why) = peer.failure(0).await;
        assert_eq!(reason, NoAnswer::Status(405));
        assert!(why.contains("405 Method Not Allowed") && why.contains("cannot be used"), "{why}");
    }
    assert_eq!(other.connections(), 0);
}

#[tokio::test]
async fn the_first_failure_counts_if_the_server_is_not_old() {
    for (status, get) in [
        (400, response(405, "", "")),
        (404, vec![stream(), Part::Close]),
        (405, vec![stream(), Part::UntilClosed]),
        (404, vec![stream(), Part::Endless(": x\n\n".to_owned(), std::time::Duration::from_millis(10))]),
    ] {
        let script = Script::new(move |request| match request.method.as_str() {
            "GET" => get.clone(),
            _ => response(status, "", "no"),
        })
        .await;
        let mut peer = Peer::hasty(&script.url());
        peer.request(0, "initialize", params("{}")).await;
        assert_eq!(peer.failure(0).await.0, NoAnswer::Status(status));
    }
    // Only a handshake tries.
    let script = Script::new(|_| response(404, "", "")).await;
    assert_eq!(Peer::quick(&script.url()).fails(1, "tools/list").await.0, NoAnswer::Status(404));
    assert_eq!(script.requests().len(), 1);
}

#[tokio::test]
async fn a_refusal_with_an_answer_is_not_a_sign_of_age() {
    let body = r#"{"jsonrpc":"2.0","id":0,"error":{"code":-32602,"message":"x"}}"#;
    let script = Script::new(move |_| response(400, "", body)).await;
    let mut peer = Peer::quick(&script.url());
    peer.request(0, "initialize", params("{}")).await;
    assert_eq!(peer.refusal().await, (400, -32602));
    assert_eq!(script.requests().len(), 1);
}

#[tokio::test]
async fn the_end_of_the_stream_loses_the_session() {
    let old = Old { ends: true, ..Old::new("/messages") };
    let script = start(&old).await;
    let mut peer = Peer::quick(&script.url());
    peer.initialize(ProtocolVersion::V2024_11_05).await;
    peer.request(1, "tools/call", params("{}")).await;
    let mut reasons = Vec::new();
    for _ in 0..2 {
        let (message, facts) = peer.next().await;
        let Message::Response(response) = message else { panic!("{}", message.to_text()) };
        reasons.push((response.id, *facts.find::<NoAnswer>().unwrap()));
    }
    reasons.sort_by_key(|(id, _)| id.is_some());
    // The call may have been executed. The end of the stream concerns the session as well.
    assert_eq!(reasons, [(None, NoAnswer::SessionLost), (Some(1.into()), NoAnswer::Incomplete)]);
    assert_eq!(peer.fails(2, "tools/call").await.0, NoAnswer::SessionLost);
    // Another handshake opens another stream, without asking which transport it is.
    peer.initialize(ProtocolVersion::V2024_11_05).await;
    let requests = script.requests();
    assert_eq!(requests.iter().filter(|request| request.method == "GET").count(), 2);
    assert_eq!(requests.iter().filter(|request| request.method == "POST" && request.path == "/mcp").count(), 1);
}

#[tokio::test]
async fn an_old_server_may_forget_its_session() {
    for status in [400, 404, 410] {
        let old = Old::new("/messages");
        let script = Script::new(move |request| match request.method.as_str() {
            "POST" if request.body.contains("tools/call") => response(status, "", "no session"),
            _ => old.reply(request),
        })
        .await;
        let mut peer = Peer::quick(&script.url());
        peer.initialize(ProtocolVersion::V2024_11_05).await;
        assert_eq!(peer.fails(1, "tools/call").await.0, NoAnswer::SessionLost, "{status}");
    }
}

#[tokio::test]
async fn the_old_transport_of_this_project_is_spoken() {
    let config = Config::default().with_legacy_sse();
    let server = OwnServer::with(config, Listener::bind(("127.0.0.1", 0)).await.unwrap()).await;
    // A proxy that knows no POST at the address of the stream.
    let target = server.url.replace("/mcp", "").replace("http://", "");
    let proxy = super::script::forwarding(&target).await;
    let mut peer = Peer::new(&format!("http://{proxy}/sse"));
    peer.initialize(ProtocolVersion::V2024_11_05).await;
    peer.request(1, "tools/list", params("{}")).await;
    assert!(peer.result(1).await.contains("echo"));
}
