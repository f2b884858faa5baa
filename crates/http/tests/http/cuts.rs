//! A network that cuts connections at any byte, and clients that come back.
//!
//! Between client and server is a proxy that lets a number of bytes through to the client and then cuts the connection,
//! or falls silent without closing it. MCP 2025-11-25 (basic/transports, resumability and redelivery) promises that a
//! client that has read one event of a stream gets all others, once.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use proptest::prelude::*;
use protomcp_http::Config;
use protomcp_server::Audience;
use protomcp_testing::until;
use protomcp_types::{Level, RawJson};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

use super::client::{Event, Host, call, call_with_progress, done, full};
use super::handler::Stage;

/// The fate of one connection.
#[derive(Debug, Clone, Copy)]
enum Fate {
    /// It is cut after this many bytes of the answer.
    Cut(usize),
    /// Nothing more arrives after this many bytes, and the connection stays open.
    Silence(usize),
}

/// The silence that a client takes for the end of a connection.
const DEAF: Duration = Duration::from_millis(80);

/// A proxy to `server` with one fate for each connection in order; later connections pass.
async fn proxy(server: SocketAddr, fates: Vec<Fate>) -> SocketAddr {
    let socket = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let address = socket.local_addr().unwrap();
    let fates = Arc::new(Mutex::new(VecDeque::from(fates)));
    tokio::spawn(async move {
        while let Ok((host, _)) = socket.accept().await {
            let fate = fates.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
            tokio::spawn(async move {
                // The side that closes first ends the connection.
                let _gone = pass(host, server, fate).await;
            });
        }
    });
    address
}

async fn pass(host: TcpStream, server: SocketAddr, fate: Option<Fate>) -> std::io::Result<()> {
    let (mut from_host, mut to_host) = host.into_split();
    let (mut from_server, mut to_server) = TcpStream::connect(server).await?.into_split();
    let asking = tokio::spawn(async move { tokio::io::copy(&mut from_host, &mut to_server).await });
    let (mut left, is_cut) = match fate {
        None => (usize::MAX, true),
        Some(Fate::Cut(bytes)) => (bytes, true),
        Some(Fate::Silence(bytes)) => (bytes, false),
    };
    let mut piece = [0; 4096];
    while left > 0 {
        let limit = left.min(piece.len());
        let length = from_server.read(&mut piece[..limit]).await?;
        if length == 0 {
            break;
        }
        to_host.write_all(&piece[..length]).await?;
        left -= length;
    }
    if !is_cut && left == 0 {
        // The client receives nothing more.
        tokio::io::copy(&mut from_server, &mut tokio::io::sink()).await?;
        std::future::pending::<()>().await;
    }
    asking.abort();
    Ok(())
}

/// Sends a request and reads events until there are enough, or the connection is gone or silent.
async fn read(host: &Host, method: &str, body: &str, is_enough: impl Fn(&[Event]) -> bool) -> (u16, Vec<Event>) {
    let mut text = format!("{method} /mcp HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n");
    for (name, value) in &host.headers {
        text += &format!("{name}: {value}\r\n");
    }
    let accept = "accept: application/json, text/event-stream\r\ncontent-type: application/json";
    text += &format!("{accept}\r\ncontent-length: {}\r\n\r\n{body}", body.len());
    let mut stream = TcpStream::connect(host.address).await.unwrap();
    stream.write_all(text.as_bytes()).await.unwrap();
    let mut bytes = Vec::new();
    loop {
        let (status, events) = understand(&String::from_utf8_lossy(&bytes));
        if is_enough(&events) {
            return (status, events);
        }
        let mut piece = [0; 4096];
        match timeout(DEAF, stream.read(&mut piece)).await {
            Ok(Ok(length @ 1..)) => bytes.extend(&piece[..length]),
            Ok(Ok(0) | Err(_)) | Err(_) => return (status, events),
        }
    }
}

/// The status, and all events that are complete.
fn understand(text: &str) -> (u16, Vec<Event>) {
    let Some((head, mut rest)) = text.split_once("\r\n\r\n") else { return (0, Vec::new()) };
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or_default();
    let mut body = String::new();
    if head.to_ascii_lowercase().contains("transfer-encoding: chunked") {
        while let Some((length, after)) = rest.split_once("\r\n") {
            let length = usize::from_str_radix(length, 16).unwrap();
            body += &after[..length.min(after.len())];
            rest = after.get(length + 2..).unwrap_or_default();
        }
    } else {
        body += rest;
    }
    let complete = body.rfind("\n\n").map_or("", |end| &body[..end + 2]);
    (status, complete.split_inclusive("\n\n").filter_map(Event::parse).collect())
}

/// A client that comes back until it has read this many messages of one stream. Returns them, without events that have
/// none.
async fn traveller(host: &Host, mut events: Vec<Event>, wanted: usize) -> Vec<String> {
    let messages = |events: &[Event]| events.iter().filter(|event| !event.data.is_empty()).count();
    for _ in 0..100 {
        let missing = wanted - messages(&events);
        if missing == 0 {
            break;
        }
        let last = events.iter().rev().find_map(|event| event.id.clone()).expect("the host has read an event");
        let back = host.with("last-event-id", &last);
        let (status, more) = read(&back, "GET", "", |events| messages(events) >= missing).await;
        assert!(matches!(status, 0 | 200), "{status}");
        events.extend(more);
    }
    let messages: Vec<_> = events.into_iter().map(|event| event.data).filter(|data| !data.is_empty()).collect();
    assert_eq!(messages.len(), wanted, "{messages:?}");
    messages
}

fn fates() -> impl Strategy<Value = Vec<Fate>> {
    // The head of an answer has some 200 bytes, an event some 150.
    let fate = prop_oneof![4 => (0..1200_usize).prop_map(Fate::Cut), 1 => (0..1200_usize).prop_map(Fate::Silence)];
    prop::collection::vec(fate, 0..6)
}

fn run(test: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(test);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, max_shrink_iters: 40, ..ProptestConfig::default() })]

    #[test]
    fn an_answer_arrives_once_wherever_its_connections_are_cut(fates in fates()) {
        run(async {
            let stage = Stage::local().await;
            let mut host = stage.host.hello("2025-11-25").await;
            host.address = proxy(host.address, fates).await;
            let body = full(&call_with_progress(1, "count 9"));
            let (status, events) = read(&host, "POST", &body, |events| {
                events.iter().filter(|event| !event.data.is_empty()).count() == 10
            }).await;
            // A client that has read no event has nothing to come back to.
            if events.is_empty() {
                assert!(matches!(status, 0 | 200), "{status}");
                return;
            }
            let messages = traveller(&host, events, 10).await;
            for (index, message) in messages[..9].iter().enumerate() {
                assert!(message.contains(&format!("\"progress\":{}", index + 1)), "{messages:?}");
            }
            assert_eq!(messages[9], done(1, "done"));
        });
    }

    #[test]
    fn session_messages_arrive_once_wherever_connections_are_cut(fates in fates()) {
        run(async {
            let stage = Stage::local().await;
            let mut host = stage.host.hello("2025-11-25").await;
            host.address = proxy(host.address, fates).await;
            let speaking = async {
                for number in 0..12 {
                    stage.sessions.log(Audience::Everyone, Level::Error, None, &RawJson::text(&format!("n{number}.")));
                    tokio::time::sleep(Duration::from_millis(3)).await;
                }
            };
            let listening = async {
                // A client that has read nothing can only listen anew, and earlier messages are lost.
                let mut events = Vec::new();
                while events.is_empty() {
                    let (status, read) = read(&host, "GET", "", |events| events.len() == 13).await;
                    // The server may not have noticed yet that the previous connection is closed.
                    assert!(matches!(status, 0 | 200 | 409), "{status}");
                    events = read;
                }
                let number = |event: &Event| event.id.as_deref().unwrap().trim_start_matches("0-").parse::<usize>().unwrap();
                let seen = number(&events[0]);
                // The opening has the number of the last event before it.
                let wanted = 12 - if events[0].data.is_empty() { seen } else { seen - 1 };
                (12 - wanted, traveller(&host, events, wanted).await)
            };
            let ((), (gone, messages)) = tokio::join!(speaking, listening);
            for (index, message) in messages.iter().enumerate() {
                assert!(message.contains(&format!("n{}.", gone + index)), "{messages:?}");
            }
        });
    }
}

#[tokio::test]
async fn the_old_transport_ends_wherever_its_connection_is_cut() {
    for bytes in [0, 20, 150, 260, 300, 400] {
        let stage = Stage::new(Config::default().with_legacy_sse()).await;
        let direct = stage.host.clone();
        let mut through = stage.host.at("/sse");
        through.address = proxy(direct.address, vec![Fate::Cut(bytes)]).await;
        let body = "GET /sse HTTP/1.1\r\nhost: localhost\r\naccept: text/event-stream\r\n\r\n";
        let mut stream = TcpStream::connect(through.address).await.unwrap();
        stream.write_all(body.as_bytes()).await.unwrap();
        let mut rest = Vec::new();
        // The cut may come as an error.
        let _cut = timeout(DEAF * 3, stream.read_to_end(&mut rest)).await;
        if let Some((_, query)) = String::from_utf8_lossy(&rest).split_once("?sessionId=") {
            let post = direct.at(&format!("/sse?sessionId={}", query.split('\n').next().unwrap()));
            post.say(&super::client::initialize("2024-11-05", "{}")).await;
            post.say(&call(1, "wait")).await;
        }
        drop(stream);
        until(&format!("no session is left after {bytes} bytes"), || stage.service.sessions() == 0).await;
    }
}
