//! One call over the link and back: two state machines in memory, and the driver over a real socket.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use futures_util::future::join_all;
use protomcp_codec::{Decoder, Encoder, Frame, Limits};
use protomcp_link::{CallIds, Config, Connection, Event, Link, Side, drive};
use protomcp_proto::{CallToolRequest, CallToolResponse, Envelope, Msg, ReloadResponse, ToolListResponse};
use tokio::runtime::Runtime;

const PATIENCE: Duration = Duration::from_secs(30);
const BURST: usize = 64;

fn main() {
    divan::main();
}

/// A call of about 200 bytes each way, through both state machines, without a socket.
#[divan::bench(sample_size = 1_000)]
fn machines_in_memory(bencher: Bencher<'_, '_>) {
    let now = Instant::now();
    let ids = CallIds::default();
    let mut bridge = Connection::new(Side::Bridge, Config::default(), ids.clone());
    let mut tool = Connection::new(Side::Tool, Config::default(), CallIds::default());
    let (mut wire, mut buffer) = (Vec::new(), BytesMut::new());
    bridge.begin(now);
    settle(now, &mut bridge, &mut tool, &mut wire, &mut buffer);
    tool.notify(ReloadResponse { success: true, error: String::new() }.into());
    settle(now, &mut bridge, &mut tool, &mut wire, &mut buffer);

    bencher.bench_local(|| {
        bridge.call(now, ids.next(), request().into(), PATIENCE);
        settle(now, &mut bridge, &mut tool, &mut wire, &mut buffer)
    });
}

/// Carries bytes both ways, answers every request on the tool side, and counts the answers on the bridge's side.
fn settle(
    now: Instant,
    bridge: &mut Connection,
    tool: &mut Connection,
    wire: &mut Vec<u8>,
    buffer: &mut BytesMut,
) -> u32 {
    let mut answers = 0;
    loop {
        let mut idle = true;
        idle &= !carry(now, bridge, tool, wire, buffer);
        while let Some(event) = tool.poll_event() {
            if let Event::Request { id, message, .. } = event {
                match message {
                    Msg::ListTools(_) => tool.reply(&id, ToolListResponse { tools: Vec::new() }.into()),
                    _ => tool.reply(&id, response().into()),
                }
                idle = false;
            }
        }
        idle &= !carry(now, tool, bridge, wire, buffer);
        while let Some(event) = bridge.poll_event() {
            answers += u32::from(matches!(black_box(event), Event::Answer { .. }));
        }
        if idle {
            return answers;
        }
    }
}

fn carry(now: Instant, from: &mut Connection, to: &mut Connection, wire: &mut Vec<u8>, buffer: &mut BytesMut) -> bool {
    wire.clear();
    let any = from.poll_transmit(wire);
    buffer.extend_from_slice(wire);
    to.handle_bytes(now, buffer).expect("both sides speak the same protocol");
    any
}

/// One call at a time over a socket to a thread that replies.
#[divan::bench(sample_size = 100)]
fn driver_one_at_a_time(bencher: Bencher<'_, '_>) {
    let (runtime, link) = connected();
    bencher.bench_local(|| call(&runtime, &link, 1));
}

/// 64 calls in flight at once, all of them answered.
#[divan::bench(sample_size = 20)]
fn driver_64_at_once(bencher: Bencher<'_, '_>) {
    let (runtime, link) = connected();
    bencher.counter(ItemsCount::new(BURST)).bench_local(|| call(&runtime, &link, BURST));
}

fn call(runtime: &Runtime, link: &Link, count: usize) {
    let link = link.clone();
    // Spawned, because programs do not do their work in the future given to `block_on`.
    let work = async move {
        for answer in join_all((0..count).map(|_| link.call(request(), PATIENCE))).await {
            black_box(answer.expect("the thread answers"));
        }
    };
    runtime.block_on(async { tokio::spawn(work).await }).expect("the calls do not panic");
}

/// A link to a thread, after the handshake.
fn connected() -> (Runtime, Link) {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime");
    let (ours, theirs) = UnixStream::pair().expect("a socket pair");
    thread::spawn(move || serve(theirs));
    ours.set_nonblocking(true).expect("a socket can be told not to block");
    let link = runtime.block_on(async {
        let (link, mut events) =
            drive(tokio::net::UnixStream::from_std(ours).expect("a runtime is there"), Config::default());
        while let Some(event) = events.recv().await {
            if matches!(event, Event::Ready(_)) {
                break;
            }
        }
        tokio::spawn(async move { while events.recv().await.is_some() {} });
        link
    });
    (runtime, link)
}

/// A tool process as a thread: it reads the available input and writes all answers at once.
fn serve(mut socket: UnixStream) {
    let (mut decoder, mut encoder) = (Decoder::new(Limits::default()), Encoder::new(Limits::default()));
    let (mut input, mut output, mut room) = (BytesMut::new(), Vec::new(), vec![0; 64 << 10]);
    while let Ok(count @ 1..) = socket.read(&mut room) {
        input.extend_from_slice(&room[..count]);
        while let Some(frame) = decoder.decode(&mut input).expect("the bridge writes good frames") {
            let Frame::Envelope(envelope) = frame else { continue };
            let answers: &[Msg] = match envelope.msg {
                Some(Msg::ListTools(_)) => {
                    &[ToolListResponse::default().into(), ReloadResponse { success: true, error: String::new() }.into()]
                }
                Some(Msg::CallTool(_)) => &[response().into()],
                _ => &[],
            };
            for answer in answers {
                let id = if matches!(answer, Msg::ReloadResponse(_)) { "" } else { &envelope.request_id };
                encoder.encode_envelope(&Envelope::new(id, answer.clone()), &mut output).expect("it is small");
            }
        }
        if socket.write_all(&output).is_err() {
            return;
        }
        output.clear();
    }
}

fn request() -> CallToolRequest {
    let arguments_json =
        Bytes::from_static(br#"{"text":"some words that make this about as long as calls usually are"}"#);
    CallToolRequest { name: "echo".to_owned(), arguments_json, ..CallToolRequest::default() }
}

fn response() -> CallToolResponse {
    let result_json = Bytes::from_static(
        br#"[{"type":"text","text":"some words that make this about as long as calls usually are"}]"#,
    );
    CallToolResponse { result_json, ..CallToolResponse::default() }
}
