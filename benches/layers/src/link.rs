//! A call over the link and its answer: two machines in memory, and the driver over a socket.

use std::hint::black_box;
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use protomcp_codec::{Decoder, Encoder, Frame, Limits};
use protomcp_envelope::{CallToolRequest, CallToolResponse, Envelope, Msg, ReloadResponse, ToolListResponse};
use protomcp_link::{CallIds, Config, Connection, Event, Link, Side, drive};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;

use crate::runtime::on_one_thread;

/// The deadline of a call.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// A call of about 200 bytes.
pub fn request() -> CallToolRequest {
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

/// Both ends of a link, without a socket.
#[derive(Debug)]
pub struct Machines {
    now: Instant,
    ids: CallIds,
    bridge: Connection,
    tool: Connection,
    wire: Vec<u8>,
    buffer: BytesMut,
}

impl Machines {
    /// After the handshake.
    pub fn new() -> Self {
        let ids = CallIds::default();
        let mut machines = Self {
            now: Instant::now(),
            bridge: Connection::new(Side::Bridge, Config::default(), ids.clone()),
            ids,
            tool: Connection::new(Side::Tool, Config::default(), CallIds::default()),
            wire: Vec::new(),
            buffer: BytesMut::new(),
        };
        machines.bridge.begin(machines.now);
        machines.settle();
        machines.tool.notify(ReloadResponse { success: true, error: String::new() }.into());
        machines.settle();
        machines
    }

    /// One call and its answer; returns the number of answers.
    pub fn call(&mut self) -> u32 {
        self.bridge.call(self.now, self.ids.next(), request().into(), PATIENCE);
        self.settle()
    }

    /// Carries bytes both ways, answers every request on the tool side, and counts the answers on the bridge's side.
    fn settle(&mut self) -> u32 {
        let Self { now, bridge, tool, wire, buffer, .. } = self;
        let mut answers = 0;
        loop {
            let mut idle = true;
            idle &= !carry(*now, bridge, tool, wire, buffer);
            while let Some(event) = tool.poll_event() {
                if let Event::Request { id, message, .. } = event {
                    match message {
                        Msg::ListTools(_) => tool.reply(&id, ToolListResponse { tools: Vec::new() }.into()),
                        _ => tool.reply(&id, response().into()),
                    }
                    idle = false;
                }
            }
            idle &= !carry(*now, tool, bridge, wire, buffer);
            while let Some(event) = bridge.poll_event() {
                answers += u32::from(matches!(black_box(event), Event::Answer { .. }));
            }
            if idle {
                return answers;
            }
        }
    }
}

impl Default for Machines {
    fn default() -> Self {
        Self::new()
    }
}

fn carry(now: Instant, from: &mut Connection, to: &mut Connection, wire: &mut Vec<u8>, buffer: &mut BytesMut) -> bool {
    wire.clear();
    let any = from.poll_transmit(wire);
    buffer.extend_from_slice(wire);
    to.handle_bytes(now, buffer).expect("both sides speak the same protocol");
    any
}

/// Makes calls through both machines.
///
/// # Panics
/// If a call is not answered.
pub fn call_in_memory(count: u32) {
    let mut machines = Machines::new();
    for _ in 0..count {
        assert_eq!(machines.call(), 1);
    }
}

/// Makes calls through the driver, one at a time.
///
/// # Panics
/// If a call is not answered.
pub fn call_over_socket(count: u32) {
    on_one_thread(async move {
        let (bridge, tool) = UnixStream::pair().expect("a socket pair");
        tokio::spawn(serve(tool));
        let link = connect(bridge).await;
        for _ in 0..count {
            black_box(link.call(request(), PATIENCE).await.expect("the tool answers"));
        }
    });
}

/// The handle of a link after the handshake.
///
/// # Panics
/// Outside a tokio runtime with time enabled.
pub async fn connect(socket: UnixStream) -> Link {
    let (link, mut events) = drive(socket, Config::default());
    while let Some(event) = events.recv().await {
        if matches!(event, Event::Ready(_)) {
            break;
        }
    }
    tokio::spawn(async move { while events.recv().await.is_some() {} });
    link
}

/// A tool process as a task: it reads the available input and writes all answers together. Ends with the connection.
///
/// # Panics
/// If the bridge writes bad frames.
pub async fn serve(mut socket: UnixStream) {
    let (mut decoder, mut encoder) = (Decoder::new(Limits::default()), Encoder::new(Limits::default()));
    let (mut input, mut output) = (BytesMut::with_capacity(64 << 10), Vec::new());
    while let Ok(1..) = socket.read_buf(&mut input).await {
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
        if socket.write_all(&output).await.is_err() {
            return;
        }
        output.clear();
    }
}
