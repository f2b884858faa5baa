//! Messages that arrive slowly, in one frame each, so that their sender cannot answer pings.

use std::time::Duration;

use prost::Message as _;
use protomcp_bufmcp::message::{McpMessage, Payload};
use protomcp_websocket::WebSocketError;
use tokio::io::AsyncWriteExt;
use tokio::time::{Instant, sleep, timeout};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::Role;

use crate::stage::Client;

/// The head of a binary message of a client in one frame, with a mask of zeros.
fn head(length: usize) -> Vec<u8> {
    [&[0x82, 0xff][..], &u64::try_from(length).unwrap().to_be_bytes(), &[0; 4]].concat()
}

#[tokio::test(start_paused = true)]
async fn a_large_message_may_take_longer_than_pings() {
    let mut client = Client::open().await;
    let mut raw = client.socket.into_inner();
    let (begin, seconds, piece) = (Instant::now(), 180, [0; 5 << 10]);
    raw.write_all(&head(seconds * piece.len())).await.unwrap();
    for _ in 0..seconds {
        sleep(Duration::from_secs(1)).await;
        raw.write_all(&piece).await.expect("the connection stays");
    }
    assert_eq!(begin.elapsed().as_secs(), 180);
    // Zeros do not decode to a message of proto-mcp, and the answer says so.
    client.socket = WebSocketStream::from_raw_socket(raw, Role::Client, None).await;
    let answer = McpMessage::decode(&client.message().await[4..]).unwrap();
    assert!(matches!(&answer.payload, Some(Payload::ErrorResponse(error)) if error.code == -32700), "{answer:?}");
}

#[tokio::test(start_paused = true)]
async fn a_message_of_a_byte_a_second_is_not_waited_for() {
    let client = Client::new().await;
    let mut raw = client.socket.into_inner();
    let begin = Instant::now();
    raw.write_all(&head(10 << 10)).await.unwrap();
    let dripping = async {
        while raw.write_all(&[0]).await.is_ok() {
            sleep(Duration::from_secs(1)).await;
        }
    };
    let (outcome, ()) = timeout(Duration::from_secs(600), async { tokio::join!(client.serving, dripping) })
        .await
        .expect("the connection ends");
    let outcome = outcome.unwrap();
    assert!(matches!(outcome, Err(WebSocketError::Dead(_))), "{outcome:?}");
    assert!((90..=92).contains(&begin.elapsed().as_secs()), "{:?}", begin.elapsed());
}
