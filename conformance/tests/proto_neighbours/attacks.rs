//! The actions of a hostile user. A server may refuse any of them, so failures are not looked at.

use std::sync::Arc;
use std::time::{Duration, Instant};

use protomcp_binary::message::{
    CallToolRequest, ClientCapabilities, InitializeRequest, ListToolsRequest, McpMessage, Payload,
};
use protomcp_binary::{Any, FrameLimits, encode};
use protomcp_conformance::tier;
use tokio::io::AsyncWriteExt;
use tokio::task::JoinSet;

use crate::scene::{Door, Reader, Writer, call};

/// The time of an attack.
fn time() -> Duration {
    tier(Duration::from_secs(1), Duration::from_secs(20))
}

fn frame(id: u64, payload: Payload) -> Vec<u8> {
    let mut frame = Vec::new();
    encode(&McpMessage { id, payload: Some(payload) }, &FrameLimits::default(), &mut frame).unwrap();
    frame
}

fn initialize(bytes: usize) -> Vec<u8> {
    let capabilities = ClientCapabilities { encodings: vec!["protobuf".into()], ..ClientCapabilities::default() };
    let mut request = InitializeRequest {
        protocol_version: "1.0.0".into(),
        capabilities: Some(capabilities),
        ..InitializeRequest::default()
    };
    if bytes > 0 {
        request.metadata.insert("name".into(), "x".repeat(bytes));
    }
    frame(1, Payload::InitializeRequest(request))
}

/// A call of a tool whose arguments are a `Struct` with these numbers.
fn call_frame(id: u64, name: &str, numbers: &[(&str, f64)]) -> CallToolRequest {
    let field = |number: u8, value: &[u8]| {
        let size = u8::try_from(value.len()).unwrap();
        [&[number << 3 | 2, size][..], value].concat()
    };
    let entries = numbers.iter().flat_map(|(key, number)| {
        let value = [&[2 << 3 | 1][..], &number.to_le_bytes()].concat();
        field(1, &[field(1, key.as_bytes()), field(2, &value)].concat())
    });
    let arguments = Any::new("google.protobuf.Struct", entries.collect::<Vec<u8>>());
    // Kept for readers of a failed test: the number of the call.
    let metadata = [("call".to_owned(), id.to_string())].into();
    CallToolRequest { name: name.into(), arguments: Some(arguments), metadata }
}

/// Streams with these bytes on them, as many as the server takes.
async fn open_many(door: &Door, count: usize, bytes: &[u8]) -> Vec<(Reader, Writer)> {
    let mut streams = Vec::new();
    for _ in 0..count {
        let opened = tokio::time::timeout(Duration::from_millis(200), door.stream()).await;
        let Ok(Ok((reader, mut writer))) = opened else { continue };
        let written = tokio::time::timeout(Duration::from_millis(200), writer.write_all(bytes)).await;
        if matches!(written, Ok(Ok(()))) {
            streams.push((reader, writer));
        }
    }
    streams
}

/// Connections without a byte.
pub(crate) async fn say_nothing(door: Door) {
    let _streams = open_many(&door, 700, b"").await;
    tokio::time::sleep(time()).await;
}

/// Frames of 32 MiB of which 60 KB arrive.
pub(crate) async fn leave_small_frames_open(door: Door) {
    let bytes = [&(32_u32 << 20).to_be_bytes()[..], &[0; 60_000]].concat();
    let _streams = open_many(&door, 700, &bytes).await;
    tokio::time::sleep(time()).await;
}

/// Frames of which all but the last bytes arrive.
pub(crate) async fn leave_large_frames_open(door: Door) {
    let mut streams = JoinSet::new();
    for _ in 0..40 {
        let door = door.clone();
        streams.spawn(async move {
            let Ok((reader, mut writer)) = door.stream().await else { return };
            let mut sent = writer.write_all(&(32_u32 << 20).to_be_bytes()).await;
            let piece = vec![0; 1 << 20];
            for _ in 0..31 {
                sent = sent.and(writer.write_all(&piece).await);
            }
            if sent.is_ok() {
                tokio::time::sleep(Duration::from_secs(3)).await;
            }
            drop(reader);
        });
    }
    let all = async { while streams.join_next().await.is_some() {} };
    drop(tokio::time::timeout(Duration::from_secs(4), all).await);
}

/// Frames that are not messages, on one connection after the other.
pub(crate) async fn send_garbage(door: Door) {
    let garbage = [&[0, 0, 0x10, 0][..], &[0xff; 4096]].concat().repeat(20);
    repeat(&door, &garbage).await;
}

/// Lengths above every limit.
pub(crate) async fn announce_too_much(door: Door) {
    repeat(&door, &[&[0x07, 0xff, 0xff, 0xff][..], &[0; 60_000]].concat()).await;
}

async fn repeat(door: &Door, bytes: &[u8]) {
    let start = Instant::now();
    while start.elapsed() < time() {
        let Ok((_reader, mut writer)) = door.stream().await else { continue };
        while start.elapsed() < time() {
            let written = tokio::time::timeout(Duration::from_millis(500), writer.write_all(bytes)).await;
            if !matches!(written, Ok(Ok(()))) {
                break;
            }
        }
    }
}

/// Conversations whose clients have names of 8 MiB.
pub(crate) async fn begin_with_bytes(door: Door) {
    let first = initialize(8 << 20);
    let list = frame(2, Payload::ListToolsRequest(ListToolsRequest::default()));
    let bytes = Arc::new([first, list].concat());
    let mut streams = JoinSet::new();
    for _ in 0..120 {
        let (door, bytes) = (door.clone(), Arc::clone(&bytes));
        streams.spawn(async move {
            let Ok((_reader, mut writer)) = door.stream().await else { return };
            let _ = tokio::time::timeout(Duration::from_secs(2), writer.write_all(&bytes)).await;
            tokio::time::sleep(Duration::from_secs(3)).await;
        });
    }
    let all = async { while streams.join_next().await.is_some() {} };
    drop(tokio::time::timeout(Duration::from_secs(4), all).await);
}

/// Calls that stay open, each with as many entries as a frame may have.
pub(crate) async fn send_entries(door: Door) {
    let mut frames = initialize(0);
    for id in 2..60 {
        let mut call = call_frame(id, "sleep", &[("ms", 60_000.0)]);
        call.metadata.extend((0..1000).map(|key| (format!("{key:x}"), String::new())));
        frames.extend(frame(id, Payload::CallToolRequest(call)));
    }
    let (frames, mut streams) = (Arc::new(frames), JoinSet::new());
    for _ in 0..8 {
        let (door, frames) = (door.clone(), Arc::clone(&frames));
        streams.spawn(async move {
            let Ok((_reader, mut writer)) = door.stream().await else { return };
            drop(tokio::time::timeout(Duration::from_secs(2), writer.write_all(&frames)).await);
            tokio::time::sleep(Duration::from_secs(2)).await;
        });
    }
    let all = async { while streams.join_next().await.is_some() {} };
    drop(tokio::time::timeout(Duration::from_secs(4), all).await);
}

/// Requests for lists whose answers are not read.
pub(crate) async fn read_no_lists(door: Door) {
    let list = |id| {
        let request = ListToolsRequest { include_schemas: true, ..ListToolsRequest::default() };
        frame(id, Payload::ListToolsRequest(request))
    };
    let lists: Vec<u8> = (2..2000).flat_map(list).collect();
    let mut streams = JoinSet::new();
    for _ in 0..50 {
        let (door, lists) = (door.clone(), lists.clone());
        streams.spawn(async move {
            let Ok((_reader, mut writer)) = door.narrow_stream().await else { return };
            let written = async {
                writer.write_all(&initialize(0)).await?;
                writer.write_all(&lists).await
            };
            drop(tokio::time::timeout(Duration::from_secs(2), written).await);
        });
    }
    while streams.join_next().await.is_some() {}
}

/// Answers of 8 MiB that are not read.
pub(crate) async fn read_no_answers(door: Door) {
    let mut streams = JoinSet::new();
    for _ in 0..12 {
        let door = door.clone();
        streams.spawn(async move {
            let Ok((_reader, mut writer)) = door.narrow_stream().await else { return };
            let mut frames = initialize(0);
            for id in 2..6 {
                let call = call_frame(id, "large", &[("bytes", f64::from(8_u32 << 20))]);
                frames.extend(frame(id, Payload::CallToolRequest(call)));
            }
            drop(writer.write_all(&frames).await);
            tokio::time::sleep(Duration::from_secs(3)).await;
        });
    }
    let all = async { while streams.join_next().await.is_some() {} };
    drop(tokio::time::timeout(Duration::from_secs(4), all).await);
}

/// Many calls at once, again and again.
pub(crate) async fn call_without_pause(door: Door) {
    let mut callers = JoinSet::new();
    for _ in 0..8 {
        let door = door.clone();
        callers.spawn(async move {
            let Ok(client) = door.client().await else { return };
            let start = Instant::now();
            while start.elapsed() < time() {
                let calls = (0..32).map(|_| call(&client, "sleep", r#"{"ms":20}"#));
                futures_util::future::join_all(calls).await;
            }
        });
    }
    while callers.join_next().await.is_some() {}
}

/// Conversations that begin, call, and are gone.
pub(crate) async fn come_and_go(door: Door) {
    let sleep = frame(2, Payload::CallToolRequest(call_frame(2, "sleep", &[("ms", 50.0)])));
    let bytes = [initialize(0), sleep].concat();
    let start = Instant::now();
    while start.elapsed() < time() {
        drop(open_many(&door, 20, &bytes).await);
    }
}
