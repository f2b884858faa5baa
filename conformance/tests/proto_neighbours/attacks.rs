//! The actions of a hostile user. A server may refuse any of them, so failures are not looked at.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use protomcp_bufmcp::message::{
    CallToolRequest, ClientCapabilities, InitializeRequest, ListToolsRequest, McpMessage, Payload,
};
use protomcp_bufmcp::{Any, FrameLimits, encode};
use tokio::io::AsyncWriteExt;
use tokio::task::JoinSet;

use crate::carrier::{Door, Reader, Writer};
use crate::scene::call;

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
    CallToolRequest { name: name.into(), arguments: Some(arguments), metadata, ..CallToolRequest::default() }
}

/// Streams with these bytes on them, as many as the server takes. `open` opens one.
async fn open_many<F: Future<Output = io::Result<(Reader, Writer)>>>(
    open: impl Fn() -> F,
    count: usize,
    bytes: &[u8],
) -> Vec<(Reader, Writer)> {
    let mut streams = Vec::new();
    for _ in 0..count {
        let opened = tokio::time::timeout(Duration::from_millis(200), open()).await;
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
    let _streams = open_many(|| door.stream(), 700, b"").await;
    door.hold().over().await;
}

/// Frames of 32 MiB of which 60 KB arrive.
pub(crate) async fn leave_small_frames_open(door: Door) {
    let bytes = [&(32_u32 << 20).to_be_bytes()[..], &[0; 60_000]].concat();
    let _streams = open_many(|| door.raw_stream(), 700, &bytes).await;
    door.hold().over().await;
}

/// Frames of which all but the last bytes arrive.
pub(crate) async fn leave_large_frames_open(door: Door) {
    let mut streams = JoinSet::new();
    for _ in 0..40 {
        let door = door.clone();
        streams.spawn(async move {
            let (reader, mut writer) = door.raw_stream().await.ok()?;
            writer.write_all(&(32_u32 << 20).to_be_bytes()).await.ok()?;
            let piece = vec![0; 1 << 20];
            for _ in 0..31 {
                writer.write_all(&piece).await.ok()?;
            }
            Some((reader, writer))
        });
    }
    keep(&door, streams).await;
}

/// Streams whose bytes are sent, or as far as the server reads them.
type Streams = JoinSet<Option<(Reader, Writer)>>;

/// Keeps streams for the rest of the attack, once each is sent, fails or has had time for it.
async fn keep(door: &Door, mut streams: Streams) {
    let mut sent = Vec::new();
    let all = async {
        while let Some(stream) = streams.join_next().await {
            sent.push(stream);
        }
    };
    drop(tokio::time::timeout(SENDING, all).await);
    door.hold().over().await;
}

/// The time for the bytes of an attack. The server does not read all of them.
const SENDING: Duration = Duration::from_secs(4);

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
    let hold = door.hold();
    while hold.goes_on() {
        let Ok((_reader, mut writer)) = door.raw_stream().await else { continue };
        while hold.goes_on() {
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
    send_to_many(&door, 120, [first, list].concat()).await;
}

/// Sends these bytes on many streams, which stay open.
async fn send_to_many(door: &Door, count: usize, bytes: Vec<u8>) {
    let (bytes, mut streams) = (Arc::new(bytes), JoinSet::new());
    for _ in 0..count {
        let (door, bytes) = (door.clone(), Arc::clone(&bytes));
        streams.spawn(async move {
            let (reader, mut writer) = door.stream().await.ok()?;
            writer.write_all(&bytes).await.ok()?;
            Some((reader, writer))
        });
    }
    keep(door, streams).await;
}

/// Calls that stay open, each with as many entries as a frame may have.
pub(crate) async fn send_entries(door: Door) {
    let frames = (2..60).flat_map(|id| sleep_with(id, 1000));
    send_to_many(&door, 8, initialize(0).into_iter().chain(frames).collect()).await;
}

/// The same with more entries than a frame may have: each takes about 40 MiB as soon as it is decoded.
pub(crate) async fn send_too_many_entries(door: Door) {
    let bytes = [initialize(0), sleep_with(2, 250_000)].concat();
    send_to_many(&door, 40, bytes).await;
}

/// A long call with this many entries in addition to its arguments.
fn sleep_with(id: u64, entries: usize) -> Vec<u8> {
    let mut call = call_frame(id, "sleep", &[("ms", 60_000.0)]);
    call.metadata.extend((0..entries).map(|key| (format!("{key:x}"), String::new())));
    frame(id, Payload::CallToolRequest(call))
}

/// Requests for lists whose answers are not read.
pub(crate) async fn read_no_lists(door: Door) {
    let list = |id| {
        let request = ListToolsRequest { include_schemas: true, ..ListToolsRequest::default() };
        frame(id, Payload::ListToolsRequest(request))
    };
    let lists = (2..2000).flat_map(list);
    read_nothing(&door, 50, initialize(0).into_iter().chain(lists).collect()).await;
}

/// Answers of 8 MiB that are not read.
pub(crate) async fn read_no_answers(door: Door) {
    let large = |id| {
        let call = call_frame(id, "large", &[("bytes", f64::from(8_u32 << 20))]);
        frame(id, Payload::CallToolRequest(call))
    };
    read_nothing(&door, 12, initialize(0).into_iter().chain((2..6).flat_map(large)).collect()).await;
}

/// Sends requests on many streams, and reads no answers, for which the server has some time.
async fn read_nothing(door: &Door, count: usize, requests: Vec<u8>) {
    let (requests, mut streams) = (Arc::new(requests), JoinSet::new());
    for _ in 0..count {
        let (door, requests) = (door.clone(), Arc::clone(&requests));
        streams.spawn(async move {
            let (reader, mut writer) = door.narrow_stream().await.ok()?;
            writer.write_all(&requests).await.ok()?;
            tokio::time::sleep(SENDING).await;
            Some((reader, writer))
        });
    }
    keep(door, streams).await;
}

/// Many concurrent calls, again and again.
pub(crate) async fn call_without_pause(door: Door) {
    let mut callers = JoinSet::new();
    for _ in 0..8 {
        let door = door.clone();
        callers.spawn(async move {
            let Ok(client) = door.client().await else { return };
            let hold = door.hold();
            while hold.goes_on() {
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
    let hold = door.hold();
    while hold.goes_on() {
        drop(open_many(|| door.stream(), 20, &bytes).await);
    }
}
