//! Redirects: within the origin they are followed, and nothing is sent anywhere else.

use protomcp_http_client::HttpTransport;
use protomcp_transport::NoAnswer;

use super::peer::{Peer, params, quick};
use super::script::{Script, json, response, result};

fn redirect(status: u16, location: &str) -> Vec<super::script::Part> {
    response(status, &format!("location: {location}\r\n"), "")
}

#[tokio::test]
async fn a_redirect_within_the_origin_repeats_the_request() {
    let script = Script::new(|request| match request.path.as_str() {
        "/mcp" => redirect(307, "/a/b"),
        "/a/b" => redirect(308, "../c?x=y"),
        _ => json(&result(1, "{}")),
    })
    .await;
    let transport = HttpTransport::new(&script.url()).unwrap().header("authorization", "Bearer s3cret").unwrap();
    let mut peer = Peer::with(transport);
    peer.request(1, "tools/list", params("{}")).await;
    assert_eq!(peer.result(1).await, "{}");
    let requests = script.requests();
    let paths: Vec<_> = requests.iter().map(|request| request.path.as_str()).collect();
    assert_eq!(paths, ["/mcp", "/a/b", "/c?x=y"]);
    for request in &requests {
        assert_eq!((request.method.as_str(), request.headers["authorization"].as_str()), ("POST", "Bearer s3cret"));
        assert!(request.body.contains("tools/list"));
    }
}

#[tokio::test]
async fn nothing_is_sent_to_another_origin() {
    let other = Script::new(|_| json(&result(1, "{}"))).await;
    for status in [301, 302, 303, 307, 308] {
        let target = other.url();
        let script = Script::new(move |_| redirect(status, &target)).await;
        let transport = HttpTransport::new(&script.url()).unwrap().header("authorization", "Bearer s3cret").unwrap();
        let mut peer = Peer::with(transport.limits(quick()));
        peer.request(1, "tools/list", params("{}")).await;
        assert_eq!(peer.failure(1).await.0, NoAnswer::Status(status));
        assert_eq!(script.requests().len(), 1);
    }
    assert_eq!((other.connections(), other.requests().len()), (0, 0));
}

#[tokio::test]
async fn a_circle_of_redirects_ends() {
    let script = Script::new(|_| redirect(307, "/mcp")).await;
    let (reason, why) = Peer::quick(&script.url()).fails(1, "tools/list").await;
    assert_eq!((reason, script.requests().len()), (NoAnswer::Status(307), 6));
    assert!(why.contains("not followed"), "{why}");
}

#[tokio::test]
async fn a_redirect_without_a_usable_target_is_an_error() {
    for location in ["location: http://[\r\n", "location: \r\nlocation: a b\r\n", ""] {
        let script = Script::new(move |_| response(308, location, "")).await;
        let mut peer = Peer::quick(&script.url());
        let (reason, _) = peer.fails(1, "tools/list").await;
        assert_eq!(reason, NoAnswer::Status(308), "{location:?}");
    }
}
