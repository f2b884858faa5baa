//! Large answers over a unix socket: whole, in bounded memory, and given back.

use std::io::Write;
use std::os::unix::net::UnixStream as Blocking;

use protomcp_codec::{Encoder, Field, Limits, Raw};
use protomcp_envelope::{CallAnswer, CallToolRequest, CallToolResponse, Envelope};
use protomcp_link::{Config, Link, Options};
use protomcp_testing::patience;
use tokio::net::UnixStream;

use super::peer::{Events, Peer, serve, soon};

async fn connected() -> (Link, Events, Peer<UnixStream>) {
    let (ours, theirs) = UnixStream::pair().unwrap();
    serve(ours, theirs, Config::default()).await
}

/// One call that is answered with these bytes, which name it as `req-1`.
async fn answered_with(bytes: Vec<u8>) -> CallToolResponse {
    let (link, _events, mut peer) = connected().await;
    let call =
        tokio::spawn(
            async move { soon(link.call_tool(CallToolRequest::default(), patience(), Options::default())).await },
        );
    assert_eq!(peer.reads("call_tool").await, "req-1");
    let theirs = peer.io.into_std().unwrap();
    theirs.set_nonblocking(false).unwrap();
    let writer = std::thread::spawn(move || write_in_two_parts(theirs, &bytes));
    let CallAnswer::Result(result) = call.await.unwrap().unwrap() else { panic!() };
    writer.join().unwrap();
    result
}

/// The last bytes come on their own, so that the buffer has to keep what was there.
fn write_in_two_parts(mut to: Blocking, bytes: &[u8]) {
    let (most, rest) = bytes.split_at(bytes.len() - 10);
    to.write_all(most).unwrap();
    to.write_all(rest).unwrap();
}

/// Bytes that tell one place from another: a block whose length shares no factor with any buffer's.
fn pattern(size: usize) -> Vec<u8> {
    let block: Vec<u8> = (0..65_521_u32).map(|at| (at ^ (at >> 8)).to_le_bytes()[0]).collect();
    let mut pattern = block.repeat(size / block.len() + 1);
    pattern.truncate(size);
    pattern
}

#[tokio::test]
async fn a_large_raw_payload_arrives_whole() {
    for size in [65_536 - 30, 65_536, 65_537, 300_000, 64 << 20] {
        let mut bytes = Vec::new();
        let raw = Raw::new("req-1", Field::ResultJson, pattern(size));
        Encoder::new(Limits::default()).encode_raw(&raw, &mut bytes).unwrap();
        let result = answered_with(bytes).await;
        assert!(result.result_json == pattern(size), "{size}");
    }
}

#[tokio::test]
async fn a_large_plain_frame_arrives_whole() {
    for size in [65_536 - 30, 65_537, 10 << 20] {
        let mut bytes = Vec::new();
        let result = CallToolResponse { is_error: true, result_json: pattern(size).into(), ..Default::default() };
        let envelope = Envelope::new("req-1", result.clone());
        Encoder::new(Limits::default()).encode_envelope(&envelope, &mut bytes).unwrap();
        assert!(answered_with(bytes).await == result, "{size}");
    }
}
