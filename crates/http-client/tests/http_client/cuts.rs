//! Connections that break at each byte of a response.

use protomcp_transport::NoAnswer;
use protomcp_types::{Message, ProtocolVersion};
use tokio::task::JoinSet;

use super::peer::{Peer, params};
use super::script::{Part, Script, event, in_session, json, result, stream, text};

/// Sends one request to a server whose response ends after this many bytes, and returns the outcome: `None` for the
/// answer.
async fn outcome(response: String, cut: usize) -> Option<NoAnswer> {
    let begin = response[..cut].to_owned();
    let script = Script::new(in_session(move |request| match request.method.as_str() {
        "POST" => vec![text(&begin), Part::Close],
        // The server repeats everything after the position.
        _ => match request.headers["last-event-id"].as_str() {
            "e1" => vec![stream(), event("e2", &result(1, "{}")), Part::Close],
            _ => vec![stream(), Part::Close],
        },
    }))
    .await;
    let mut peer = Peer::quick(&script.url());
    peer.initialize(ProtocolVersion::V2025_11_25).await;
    peer.request(1, "tools/call", params("{}")).await;
    loop {
        let (message, facts) = peer.next().await;
        match message {
            Message::Response(response) if response.outcome.is_ok() => return None,
            Message::Response(_) => return Some(*facts.find::<NoAnswer>().unwrap()),
            Message::Request(_) | Message::Notification(_) => {}
        }
    }
}

/// The outcome after each number of bytes.
async fn outcomes(response: String) -> Vec<Option<NoAnswer>> {
    let mut tasks = JoinSet::new();
    for cut in 0..=response.len() {
        let response = response.clone();
        tasks.spawn(async move { (cut, outcome(response, cut).await) });
    }
    let mut all = tasks.join_all().await;
    all.sort_unstable_by_key(|(cut, _)| *cut);
    all.into_iter().map(|(_, outcome)| outcome).collect()
}

fn joined(parts: Vec<Part>) -> String {
    let texts = parts.into_iter().map(|part| match part {
        Part::Text(text) => text,
        _ => panic!("not a text"),
    });
    texts.collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_json_response_that_breaks_is_an_error() {
    let response = joined(json(&result(1, "{}")));
    let head = response.find("\r\n\r\n").unwrap() + 4;
    for (cut, outcome) in outcomes(response.clone()).await.into_iter().enumerate() {
        let expected = match cut {
            cut if cut < head => Some(NoAnswer::Connection),
            cut if cut < response.len() => Some(NoAnswer::Incomplete),
            _ => None,
        };
        assert_eq!(outcome, expected, "after {cut} bytes");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_that_breaks_is_resumed_after_its_first_id() {
    let response = joined(vec![stream(), text("id: e1\ndata: \n\n"), event("e2", &result(1, "{}"))]);
    let head = response.find("\r\n\r\n").unwrap() + 4;
    let first = head + "id: e1\ndata: \n\n".len();
    for (cut, outcome) in outcomes(response.clone()).await.into_iter().enumerate() {
        let expected = match cut {
            cut if cut < head => Some(NoAnswer::Connection),
            cut if cut < first => Some(NoAnswer::Incomplete),
            _ => None,
        };
        assert_eq!(outcome, expected, "after {cut} bytes");
    }
}
