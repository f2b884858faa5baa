//! One machine, the bridge's, and a peer that sends whatever the test needs.
//!
//! Messages arrive in pieces of changing size, so that no test depends on the end of a read.

use std::fmt::Write;
use std::time::{Duration, Instant};

use bytes::{Buf, Bytes, BytesMut};
use protomcp_codec::{Decoder, Encoder, Frame, Limits, Raw};
use protomcp_envelope::{
    CallToolRequest, CallToolResponse, CancelRequest, Envelope, ListPromptsRequest, Msg, ReloadResponse,
    ToolDefinition, ToolListResponse, message_name,
};
use protomcp_link::{CallId, CallIds, Config, Connection, Event, Notice, Side};

pub(crate) const SECOND: Duration = Duration::from_secs(1);

pub(crate) struct Talk {
    pub(crate) connection: Connection,
    pub(crate) ids: CallIds,
    pub(crate) now: Instant,
    limits: Limits,
    encoder: Encoder,
    decoder: Decoder,
    pieces: Pieces,
}

impl Talk {
    /// Nothing has been said.
    pub(crate) fn new(config: Config) -> Self {
        Self::on(Side::Bridge, config)
    }

    pub(crate) fn on(side: Side, config: Config) -> Self {
        let ids = CallIds::default();
        Self {
            limits: config.limits.clone(),
            connection: Connection::new(side, config, ids.clone()),
            ids,
            now: Instant::now(),
            encoder: Encoder::new(Limits::default()),
            decoder: Decoder::new(Limits::default()),
            pieces: Pieces(0x2545_f491_4f6c_dd1d),
        }
    }

    /// The process has registered the tool `echo`. Its list was asked for as `req-0`, so the next call is `req-1`.
    pub(crate) fn ready() -> Self {
        Self::ready_with(Config::default())
    }

    pub(crate) fn ready_with(config: Config) -> Self {
        let mut talk = Self::new(config);
        talk.connection.begin(talk.now);
        talk.wrote(&["list_tools[req-0]"]);
        talk.hears("req-0", tools(&["echo"]));
        talk.hears("", done(true));
        talk.happened(&["ready after Start: echo []"]);
        talk
    }

    /// The peer says something.
    pub(crate) fn hears(&mut self, id: &str, message: impl Into<Msg>) {
        let mut bytes = Vec::new();
        self.encoder.encode_envelope(&Envelope::new(id, message), &mut bytes).unwrap();
        self.hears_bytes(&bytes);
    }

    /// The peer sends a raw payload.
    pub(crate) fn hears_raw(&mut self, raw: &Raw) {
        let mut bytes = Vec::new();
        self.encoder.encode_raw(raw, &mut bytes).unwrap();
        self.hears_bytes(&bytes);
    }

    pub(crate) fn hears_bytes(&mut self, bytes: &[u8]) {
        self.reads(bytes).unwrap();
    }

    /// Reads bytes in pieces.
    pub(crate) fn reads(&mut self, bytes: &[u8]) -> Result<(), protomcp_link::LinkError> {
        let mut buffer = BytesMut::new();
        let mut rest = bytes;
        while !rest.is_empty() {
            let (piece, after) = rest.split_at(self.pieces.next(rest.len()));
            buffer.extend_from_slice(piece);
            self.connection.handle_bytes(self.now, &mut buffer)?;
            rest = after;
        }
        assert_eq!(buffer.len(), 0, "a whole frame leaves nothing behind");
        Ok(())
    }

    /// Calls the tool `echo`.
    pub(crate) fn call(&mut self, timeout: Duration) -> CallId {
        self.request(call_tool(""), timeout)
    }

    /// Calls the tool `echo` and listens to its progress.
    pub(crate) fn call_and_listen(&mut self, timeout: Duration) -> CallId {
        self.request(call_tool("listen"), timeout)
    }

    /// Asks for the prompts.
    pub(crate) fn list_prompts(&mut self) -> CallId {
        self.request(ListPromptsRequest {}, SECOND)
    }

    pub(crate) fn request(&mut self, request: impl Into<Msg>, timeout: Duration) -> CallId {
        let call = self.ids.next();
        self.connection.call(self.now, call, request.into(), timeout);
        call
    }

    /// Time passes, with a look at each deadline on the way.
    pub(crate) fn passes(&mut self, time: Duration) {
        let until = self.now + time;
        while let Some(deadline) = self.connection.poll_timeout().filter(|deadline| *deadline <= until) {
            self.now = self.now.max(deadline);
            self.connection.handle_timeout(self.now);
            assert!(self.connection.poll_timeout().is_none_or(|next| next > self.now), "a deadline that does not pass");
        }
        self.now = until;
        self.connection.handle_timeout(until);
    }

    /// The frames written since the last call.
    #[track_caller]
    pub(crate) fn wrote(&mut self, expected: &[&str]) {
        let mut written = Vec::new();
        let mut part = Vec::new();
        while self.connection.poll_transmit(&mut part) {
            written.append(&mut part);
        }
        assert_eq!(self.frames(&written), expected);
    }

    pub(crate) fn frames(&mut self, written: &[u8]) -> Vec<String> {
        let mut bytes = BytesMut::from(written);
        let mut frames = Vec::new();
        loop {
            // The decoder passes over them.
            while bytes.starts_with(&[0; 4]) {
                frames.push("nothing".into());
                bytes.advance(4);
            }
            let Some(frame) = self.decoder.decode(&mut bytes).unwrap() else { break };
            frames.push(frame_line(&frame));
        }
        assert!(bytes.is_empty(), "half a frame was written");
        frames
    }

    /// The events since the last call.
    #[track_caller]
    pub(crate) fn happened(&mut self, expected: &[&str]) {
        assert_eq!(self.events(), expected);
    }

    pub(crate) fn events(&mut self) -> Vec<String> {
        let mut events = Vec::new();
        while let Some(event) = self.connection.poll_event() {
            events.push(event_line(event, &self.limits));
        }
        events
    }

    /// Nothing was written and nothing happened.
    #[track_caller]
    pub(crate) fn is_quiet(&mut self) {
        self.wrote(&[]);
        self.happened(&[]);
    }
}

/// Sizes of pieces, from one byte to everything, the same in every run.
struct Pieces(u64);

impl Pieces {
    fn next(&mut self, most: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        let small = 1 + usize::try_from(self.0 >> 32).unwrap() % 9;
        if self.0.is_multiple_of(5) { most } else { small.min(most) }
    }
}

pub(crate) fn frame_line(frame: &Frame) -> String {
    match frame {
        Frame::Envelope(Envelope { msg: Some(message), request_id, .. }) => {
            format!("{}{}[{request_id}]", message_name(message), detail(message))
        }
        Frame::Envelope(Envelope { msg: None, .. }) => "empty".into(),
        Frame::Raw(raw) => format!("raw {} of {} bytes[{}]", raw.field(), raw.payload.len(), raw.header.request_id),
        Frame::TooLarge(large) => format!("too large[{}]", large.request_id),
    }
}

/// The part of a message that tests look at.
fn detail(message: &Msg) -> String {
    match message {
        Msg::Cancel(CancelRequest { request_id }) => format!("({request_id})"),
        Msg::CallTool(CallToolRequest { progress_token, .. }) if !progress_token.is_empty() => {
            format!("(token {progress_token})")
        }
        Msg::RegisterMiddlewareResponse(response) if !response.success => "(refused)".into(),
        Msg::ActiveTools(active) => format!("({})", active.tool_names.join(" ")),
        _ => String::new(),
    }
}

pub(crate) fn event_line(event: Event, limits: &Limits) -> String {
    match event {
        Event::Ready(ready) => {
            let tools = ready.tools.map_or("no list".into(), |tools| names(&tools));
            let middleware: Vec<_> = ready.middleware.iter().map(|m| m.name.as_str()).collect();
            format!("ready after {:?}: {tools} [{}]", ready.phase, middleware.join(" "))
        }
        Event::HandshakeFailed(error) => format!("handshake failed: {error}"),
        Event::ReloadFailed(error) => format!("reload failed: {error}"),
        Event::Answer { call, outcome } => match outcome.and_then(|answer| answer.finish(limits)) {
            Ok(answer) => format!("{call}: {}", answer_line(&answer)),
            Err(error) => format!("{call} failed: {error}"),
        },
        Event::Progress { call, progress } => {
            format!("{call} at {} of {} {}", progress.progress, progress.total, progress.message)
        }
        Event::Request { id, message, .. } => format!("asked {}[{id}]", message_name(&message)),
        Event::Notification { message, .. } => format!("told {}", message_name(&message)),
        Event::LateMiddleware(middleware) => format!("late middleware {}", middleware.name),
        Event::Listed(tools) => format!("listed {}", names(&tools)),
        Event::Noticed(notice) => match notice {
            Notice::LateAnswer { id, kind } => format!("late {kind}[{id}]"),
            Notice::Unexpected { kind } => format!("unexpected {kind}"),
            Notice::Refused { kind } => format!("refused {kind}"),
            Notice::Unsendable { kind, size } => format!("unsendable {kind} of {size} bytes"),
            Notice::Undecoded { reason, count } => format!("undecoded {count}: {reason}"),
            other => format!("{other:?}"),
        },
        Event::Closed(reason) => format!("closed: {reason}"),
        other => format!("{other:?}"),
    }
}

fn answer_line(answer: &Msg) -> String {
    let Msg::CallResult(result) = answer else { return message_name(answer).into() };
    let mut line = String::new();
    let mut put = |name: &str, text: &Bytes| {
        if text.len() > 100 {
            write!(line, " {name} of {} bytes", text.len()).unwrap();
        } else if !text.is_empty() {
            write!(line, " {name} {}", String::from_utf8_lossy(text)).unwrap();
        }
    };
    put("text", &result.result_json);
    put("structured", &result.structured_content_json);
    if result.is_error {
        line.push_str(" is an error");
    }
    if !result.enable_tools.is_empty() {
        write!(line, " enables {}", result.enable_tools.join(" ")).unwrap();
    }
    format!("result{line}")
}

fn names(tools: &[ToolDefinition]) -> String {
    tools.iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>().join(" ")
}

pub(crate) fn tools(names: &[&str]) -> ToolListResponse {
    let tool = |name: &&str| ToolDefinition { name: (*name).into(), ..Default::default() };
    ToolListResponse { tools: names.iter().map(tool).collect() }
}

pub(crate) fn done(success: bool) -> ReloadResponse {
    ReloadResponse { success, error: if success { String::new() } else { "no such module".into() } }
}

pub(crate) fn call_tool(token: &str) -> CallToolRequest {
    CallToolRequest { name: "echo".into(), progress_token: token.into(), ..Default::default() }
}

pub(crate) fn result(text: &'static str) -> CallToolResponse {
    CallToolResponse { result_json: text.into(), ..Default::default() }
}
