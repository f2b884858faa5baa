//! A tool process written with nothing but this crate and the standard library.
//!
//! It shows what an SDK has to do, and no more: connect, answer the handshake, answer calls. Its main thread reads, answers
//! what takes no time itself, and writes all answers to one read in one go; each call that takes time gets a thread. Its
//! tools are `echo`, `add`, `sleep_ms` (with progress) and `large` (whose results leave their envelope).
//!
//! Try it with `cargo build --example tool_peer` and `pmcp dev path/to/tool_peer`.

#![allow(clippy::print_stderr)]

mod json;

use std::{
    env,
    error::Error,
    io::{Read, Write},
    os::unix::net::UnixStream,
    process::ExitCode,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use bytes::{Bytes, BytesMut};
use protomcp_codec::{DecodeError, Decoder, Encoder, Frame, Limits, Sideband, TooLarge};
use protomcp_envelope::{
    CallToolRequest, CallToolResponse, Envelope, Msg, ProgressNotification, PromptListResponse, ReloadResponse,
    ResourceListResponse, ResourceTemplateListResponse, SdkInfo, ToolDefinition, ToolListResponse,
};

fn main() -> ExitCode {
    let Some(path) = env::var_os("PROTOMCP_SOCKET") else {
        eprintln!("tool_peer: PROTOMCP_SOCKET is not set; start it with `pmcp dev path/to/tool_peer`");
        return ExitCode::FAILURE;
    };
    match UnixStream::connect(path).map_err(Into::into).and_then(serve) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("tool_peer: {error}");
            ExitCode::FAILURE
        }
    }
}

/// State that all threads share.
struct Peer {
    /// Locked for a whole frame at a time, so that frames never mix.
    stream: Mutex<UnixStream>,
    sideband: Sideband,
    /// The bridge said that it understands a result behind its payload.
    with_result: AtomicBool,
}

/// Reads until the bridge hangs up.
pub(crate) fn serve(mut stream: UnixStream) -> Result<(), Box<dyn Error>> {
    let variable = |name| env::var(name).ok();
    let (chunk, compress) = (variable("PROTOMCP_CHUNK_THRESHOLD"), variable("PROTOMCP_COMPRESS_THRESHOLD"));
    let peer = Arc::new(Peer {
        stream: Mutex::new(stream.try_clone()?),
        sideband: Sideband::from_variables(chunk.as_deref(), compress.as_deref()),
        with_result: AtomicBool::new(false),
    });
    let mut decoder = Decoder::new(Limits::default());
    let (mut src, mut chunk, mut answers) = (BytesMut::new(), vec![0; 64 << 10], Vec::new());
    push(&mut answers, "", introduction());
    loop {
        loop {
            match decoder.decode(&mut src) {
                Ok(Some(Frame::Envelope(envelope))) => handle(&peer, envelope, &mut answers),
                Ok(Some(Frame::TooLarge(TooLarge { request_id, .. }))) => {
                    refuse(&mut answers, &request_id, "too large");
                }
                // The bridge has no results to send.
                Ok(Some(Frame::Raw(_))) => {}
                Ok(None) => break,
                Err(DecodeError::Malformed { request_id, .. }) => refuse(&mut answers, &request_id, "not understood"),
                Err(error) => return Err(error.into()),
            }
        }
        peer.write(&mut answers);
        let size = stream.read(&mut chunk)?;
        if size == 0 {
            return Ok(());
        }
        src.reserve(size.max(decoder.want()));
        src.extend_from_slice(&chunk[..size]);
    }
}

fn handle(peer: &Arc<Peer>, envelope: Envelope, answers: &mut Vec<u8>) {
    let id = envelope.request_id;
    match envelope.msg {
        Some(Msg::ListTools(_)) => {
            push(answers, &id, ToolListResponse { tools: tools() });
            push(answers, "", ReloadResponse { success: true, ..Default::default() });
        }
        // The list first, then the answer, which completes the new handshake.
        Some(Msg::Reload(_)) => {
            push(answers, "", ToolListResponse { tools: tools() });
            push(answers, &id, ReloadResponse { success: true, ..Default::default() });
        }
        Some(Msg::CallTool(call)) => match call.name.as_str() {
            "echo" => peer.answer(&id, echo(&call), answers),
            "add" => peer.answer(&id, add(&call), answers),
            "sleep_ms" => peer.spawn(id, call, sleep_ms),
            "large" => peer.spawn(id, call, large),
            name => peer.answer(&id, failure(&format!("there is no tool {name}")), answers),
        },
        Some(Msg::BridgeInfo(bridge)) => {
            let with_result = bridge.features.iter().any(|feature| feature == "raw-with-result");
            peer.with_result.store(with_result, Ordering::Relaxed);
        }
        // It has tools only. Saying so immediately keeps the bridge from waiting for an answer.
        Some(Msg::ListResourcesRequest(_)) => push(answers, &id, ResourceListResponse::default()),
        Some(Msg::ListResourceTemplatesRequest(_)) => push(answers, &id, ResourceTemplateListResponse::default()),
        Some(Msg::ListPromptsRequest(_)) => push(answers, &id, PromptListResponse::default()),
        // Calls run to their end, so there is nothing to cancel.
        _ => {}
    }
}

impl Peer {
    /// Runs a tool on its own thread.
    fn spawn(
        self: &Arc<Self>,
        id: String,
        call: CallToolRequest,
        tool: fn(&Self, &CallToolRequest) -> CallToolResponse,
    ) {
        let peer = Arc::clone(self);
        thread::spawn(move || {
            let mut frames = Vec::new();
            peer.answer(&id, tool(&peer, &call), &mut frames);
            peer.write(&mut frames);
        });
    }

    /// Appends the answer to a call, in its envelope or next to it.
    fn answer(&self, id: &str, result: CallToolResponse, frames: &mut Vec<u8>) {
        let sideband = Sideband { with_result: self.with_result.load(Ordering::Relaxed), ..self.sideband.clone() };
        if let Err(error) = encoder().encode_result(id, result, &sideband, frames) {
            push(frames, id, failure(&error.to_string()));
        }
    }

    fn progress(&self, call: &CallToolRequest, progress: i64, total: i64) {
        if call.progress_token.is_empty() {
            return;
        }
        let progress_token = call.progress_token.clone();
        let mut frame = Vec::new();
        push(&mut frame, "", ProgressNotification { progress_token, progress, total, ..Default::default() });
        self.write(&mut frame);
    }

    /// Writes frames and leaves the buffer empty. If the bridge is gone, the reading thread notices as well.
    fn write(&self, frames: &mut Vec<u8>) {
        if !frames.is_empty() {
            let mut stream = self.stream.lock().unwrap_or_else(PoisonError::into_inner);
            let _ = stream.write_all(frames);
            frames.clear();
        }
    }
}

fn encoder() -> Encoder {
    Encoder::new(Limits::default())
}

fn push(frames: &mut Vec<u8>, id: &str, msg: impl Into<Msg>) {
    if let Err(error) = encoder().encode_envelope(&Envelope::new(id, msg), frames) {
        let sorry = Envelope::new(id, failure(&error.to_string()));
        encoder().encode_envelope(&sorry, frames).expect("a short message fits");
    }
}

/// The answer to what could not be read, if it named itself.
fn refuse(frames: &mut Vec<u8>, id: &str, why: &str) {
    if !id.is_empty() {
        push(frames, id, failure(&format!("the request was {why}")));
    }
}

fn introduction() -> SdkInfo {
    SdkInfo {
        name: "tool_peer".into(),
        version: env!("CARGO_PKG_VERSION").into(),
        language: "rust".into(),
        max_concurrent_calls: 256,
        features: Vec::new(),
        skill_folders: Vec::new(),
    }
}

fn tools() -> Vec<ToolDefinition> {
    let tool = |name: &str, description: &str, schema: &'static str| ToolDefinition {
        name: name.into(),
        description: description.into(),
        input_schema_json: schema.into(),
        read_only_hint: true,
        ..Default::default()
    };
    vec![
        tool(
            "echo",
            "Says the text again.",
            r#"{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}"#,
        ),
        tool(
            "add",
            "Adds two integers.",
            r#"{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer"}},"required":["a","b"]}"#,
        ),
        tool(
            "sleep_ms",
            "Waits that long, with progress, then says so.",
            r#"{"type":"object","properties":{"ms":{"type":"integer","minimum":0}},"required":["ms"]}"#,
        ),
        tool(
            "large",
            "Answers with a text of that many bytes.",
            r#"{"type":"object","properties":{"size":{"type":"integer","minimum":0}},"required":["size"]}"#,
        ),
    ]
}

fn echo(call: &CallToolRequest) -> CallToolResponse {
    match json::member(&call.arguments_json, "text") {
        Some(text) if text.starts_with(b"\"") => content(text),
        _ => failure("text is missing or no string"),
    }
}

fn add(call: &CallToolRequest) -> CallToolResponse {
    match (json::integer(&call.arguments_json, "a"), json::integer(&call.arguments_json, "b")) {
        (Some(a), Some(b)) => text(&(i128::from(a) + i128::from(b)).to_string()),
        _ => failure("a or b is missing or no integer"),
    }
}

fn sleep_ms(peer: &Peer, call: &CallToolRequest) -> CallToolResponse {
    let Some(ms) = json::integer(&call.arguments_json, "ms").and_then(|ms| u32::try_from(ms).ok()) else {
        return failure("ms is missing or no number of milliseconds");
    };
    for quarter in 0..4 {
        peer.progress(call, quarter, 4);
        thread::sleep(Duration::from_millis(ms.into()) / 4);
    }
    peer.progress(call, 4, 4);
    text(&format!("slept {ms} ms"))
}

fn large(_: &Peer, call: &CallToolRequest) -> CallToolResponse {
    match json::integer(&call.arguments_json, "size").and_then(|size| usize::try_from(size).ok()) {
        Some(size) if size <= 1 << 30 => text(&"x".repeat(size)),
        _ => failure("size is missing or not between 0 and 1 GiB"),
    }
}

fn text(text: &str) -> CallToolResponse {
    content(&json::string(text))
}

fn failure(why: &str) -> CallToolResponse {
    CallToolResponse { is_error: true, ..text(why) }
}

/// A result with one text block; `text` is a JSON string with its quotes.
fn content(text: &[u8]) -> CallToolResponse {
    let result_json = Bytes::from([br#"[{"type":"text","text":"#, text, b"}]"].concat());
    CallToolResponse { result_json, ..Default::default() }
}
