//! Random lives of a link.
//!
//! Two machines are joined by a pipe that holds bytes back. Each [`Operation`] lets one end call, cancel, answer in one of
//! many forms or write nonsense, moves bytes, or lets time pass. After each of them [`End`] compares what happened with
//! what may.
//!
//! The file is shared with the fuzz target, and so are its neighbours `operations` and `end`; they use public names only.

use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use protomcp_codec::{Decoder, Encoder, Field, Frame, Limits, Raw};
use protomcp_envelope::{
    ActiveToolsResponse, CallToolRequest, CallToolResponse, Envelope, GetActiveToolsRequest, ListPromptsRequest,
    LogMessage, Msg, ProgressNotification, PromptListResponse, RawHeader, RegisterMiddlewareRequest, ReloadResponse,
    SamplingRequest, SamplingResponse, StreamChunk, StreamHeader, ToolListResponse,
};
use protomcp_link::{Closed, Side};

use super::end::{End, mark};
use super::operations::Operation;

/// Lives through some operations, then lets everything come to its end.
pub(crate) fn live(operations: impl IntoIterator<Item = Operation>) {
    let mut world = World::new();
    for operation in operations {
        world.step(operation);
    }
    world.end();
}

struct World {
    now: Instant,
    bridge: End,
    tool: End,
    /// Requests that the tool process has not answered.
    asked: Vec<String>,
    /// The bridge's request to register is on the wire, and the handshake it opened is still open.
    told_to_register: bool,
    encoder: Encoder,
}

impl World {
    fn new() -> Self {
        let now = Instant::now();
        let mut world = Self {
            now,
            bridge: End::new(Side::Bridge, now),
            tool: End::new(Side::Tool, now),
            asked: Vec::new(),
            told_to_register: false,
            encoder: Encoder::new(Limits::default()),
        };
        world.bridge.connection.begin(now);
        world.bridge.registering = true;
        world
    }

    fn step(&mut self, operation: Operation) {
        self.carry_out(operation);
        self.settle();
    }

    fn carry_out(&mut self, operation: Operation) {
        let now = self.now;
        match operation {
            Operation::Call { listens, timeout, size } => {
                let progress_token = if listens { "listen".into() } else { String::new() };
                let arguments_json = vec![b' '; size].into();
                let request = CallToolRequest { progress_token, arguments_json, ..Default::default() };
                self.bridge.call(now, request.into(), listens, timeout);
            }
            Operation::Ask { timeout } => self.bridge.call(now, ListPromptsRequest {}.into(), false, timeout),
            Operation::Cancel { which } => self.bridge.cancel(which),
            Operation::Interrupt => self.bridge.connection.interrupt(),
            Operation::TwoReaders => self.bridge.work_around_two_readers(now),
            Operation::Reload => self.bridge.reload(now),
            Operation::Answer { which, form, size } => {
                if !self.asked.is_empty() {
                    let id = self.asked.swap_remove(which % self.asked.len());
                    self.say(&id, form, size);
                }
            }
            Operation::Progress { id } => {
                let progress_token = wire_id(id);
                self.tool.connection.notify(ProgressNotification { progress_token, ..Default::default() }.into());
            }
            Operation::Question { timeout, sampling: true } => {
                self.tool.call(now, SamplingRequest::default().into(), false, timeout);
            }
            Operation::Question { timeout, sampling: false } => {
                self.tool.call(now, GetActiveToolsRequest {}.into(), false, timeout);
            }
            Operation::Forget { which } => self.tool.cancel(which),
            Operation::List => self.tool.connection.notify(ToolListResponse::default().into()),
            Operation::Register { long } => {
                let name = if long { "n".repeat(1100) } else { "m".into() };
                self.tool.connection.notify(RegisterMiddlewareRequest { name, priority: 0 }.into());
            }
            Operation::Done { success } => {
                self.tool.connection.notify(ReloadResponse { success, ..Default::default() }.into());
            }
            Operation::Stray { id, form, size } => self.say(&wire_id(id), form, size),
            Operation::Noise { form, size } => self.noise(form, size),
            Operation::Carry { to_tool: true, bytes } => self.tool.carry(now, bytes),
            Operation::Carry { to_tool: false, bytes } => self.bridge.carry(now, bytes),
            Operation::Pass { time } => self.pass(time),
            Operation::Close { by_tool: true } => {
                self.tool.connection.close(Closed::Here);
                self.bridge.connection.close(Closed::ByPeer);
            }
            Operation::Close { by_tool: false } => self.bridge.connection.close(Closed::Here),
        }
    }

    /// The tool process says something about a call, in one of many forms.
    fn say(&mut self, id: &str, form: u8, size: usize) {
        let text = || Bytes::from(vec![mark(id); size]);
        let tool = &mut self.tool.connection;
        match form % 10 {
            0 => tool.reply(id, CallToolResponse { result_json: text(), ..Default::default() }.into()),
            1 => tool.reply(id, CallToolResponse { is_error: true, ..Default::default() }.into()),
            2 => tool.reply(id, PromptListResponse::default().into()),
            3 => tool.reply_raw(&Raw::new(id, Field::ResultJson, text())),
            4 => tool.reply_raw(&Raw::new(id, Field::ResultJson, text()).compress()),
            5 => {
                let mut raw = Raw::new(id, Field::StructuredContentJson, text());
                raw.header.followed_by_result = true;
                tool.reply_raw(&raw);
            }
            6 => tool.reply(id, StreamHeader { field_name: "result_json".into(), ..Default::default() }.into()),
            7 => tool.reply(id, StreamChunk { data: text(), r#final: false }.into()),
            8 => tool.reply(id, StreamChunk { data: text(), r#final: true }.into()),
            _ => tool.reply(id, LogMessage { data_json: text(), ..Default::default() }.into()),
        }
    }

    /// Bytes that no machine of ours would write.
    fn noise(&mut self, form: u8, size: usize) {
        let mut bytes = Vec::new();
        match form % 6 {
            0 => self.encoder.encode_empty(&mut bytes),
            // A frame of correct length that is not an envelope.
            1 => bytes.extend([0, 0, 0, 3, 0xff, 0xff, 0xff]),
            // A frame larger than the bridge takes.
            2 => {
                let log = LogMessage { data_json: vec![b'l'; 2000 + size].into(), ..Default::default() };
                self.encoder.encode_envelope(&Envelope::new("", log), &mut bytes).expect("it is small enough for us");
            }
            // A payload larger than the bridge takes.
            3 => {
                let raw = Raw::new(wire_id(form), Field::ResultJson, vec![b'r'; 4001 + size]);
                self.encoder.encode_raw(&raw, &mut bytes).expect("it is small enough for us");
            }
            // One so large that it is not even read past.
            4 => {
                let header = RawHeader { request_id: wire_id(form), size: u64::MAX, ..Default::default() };
                self.encoder.encode_envelope(&Envelope::new("", header), &mut bytes).expect("it is small");
            }
            // A payload that inflates to more than it says.
            _ => {
                let mut raw = Raw::new(wire_id(form), Field::ResultJson, vec![b'z'; 100_000]).compress();
                raw.header.uncompressed_size = size as u64;
                self.encoder.encode_raw(&raw, &mut bytes).expect("it is small");
            }
        }
        self.transmit();
        self.bridge.wire.extend(bytes);
    }

    fn pass(&mut self, time: Duration) {
        let until = self.now + time;
        loop {
            let next = [&self.bridge, &self.tool].into_iter().filter_map(|end| end.connection.poll_timeout()).min();
            let Some(next) = next.filter(|next| *next <= until) else { break };
            self.now = self.now.max(next);
            self.bridge.connection.handle_timeout(self.now);
            self.tool.connection.handle_timeout(self.now);
            self.settle();
        }
        self.now = until;
    }

    /// Takes what both ends have to say and checks it.
    fn settle(&mut self) {
        for question in self.tool.drain(self.now) {
            self.asked.push(question.0);
        }
        for (id, question) in self.bridge.drain(self.now) {
            let answer: Msg = match question {
                Msg::SamplingRequest(_) => SamplingResponse::default().into(),
                _ => ActiveToolsResponse { tool_names: vec!["a".into(), "b".into()] }.into(),
            };
            self.bridge.connection.reply(&id, answer);
        }
        self.transmit();
        self.bridge.check(self.now);
        self.tool.check(self.now);
    }

    /// Moves what was written to the wires. The tool process writes immediately; the bridge's bytes wait now and then.
    fn transmit(&mut self) {
        let mut bytes = Vec::new();
        while self.tool.connection.poll_transmit(&mut bytes) {}
        self.bridge.wire.extend(bytes);
        // The wire is full: nothing is taken, so the bridge's own limits have to hold.
        if self.tool.wire.len() > 10_000 {
            return;
        }
        let mut bytes = Vec::new();
        while self.bridge.connection.poll_transmit(&mut bytes) {}
        if !self.bridge.registering {
            self.told_to_register = false;
        }
        self.only_acknowledgements(&bytes);
        self.tool.wire.extend(bytes);
    }

    /// From the request to register to the end of the handshake nothing else is written (docs/envelope.md, "Handshake").
    fn only_acknowledgements(&mut self, bytes: &[u8]) {
        let mut bytes = BytesMut::from(bytes);
        let mut decoder = Decoder::new(Limits::default());
        let mut messages = Vec::new();
        while let Some(frame) = decoder.decode(&mut bytes).expect("we write good frames") {
            let Frame::Envelope(Envelope { msg: Some(message), .. }) = frame else { panic!("{frame:?}") };
            messages.push(message);
        }
        // Only the last request can belong to a handshake that is still open.
        let request = messages.iter().rposition(|message| matches!(message, Msg::ListTools(_) | Msg::Reload(_)));
        self.told_to_register |= self.bridge.registering && request.is_some();
        if self.told_to_register {
            let acknowledges =
                |message: &&Msg| matches!(message, Msg::RegisterMiddlewareResponse(_) | Msg::ActiveTools(_));
            let after = request.map_or(0, |request| request + 1);
            let other = messages[after..].iter().find(|message| !acknowledges(message));
            assert!(other.is_none(), "written while the process registers: {other:?}");
        }
    }

    /// Closes both ends. Every call has its outcome now.
    fn end(mut self) {
        self.bridge.connection.close(Closed::Here);
        self.tool.connection.close(Closed::ByPeer);
        self.settle();
        for end in [&self.bridge, &self.tool] {
            for (id, call) in &end.calls {
                assert_eq!(call.outcome, !call.given_up, "{:?} {id}: {call:?}", end.side);
            }
            assert!(end.closed);
            assert_eq!(end.connection.poll_timeout(), None);
        }
    }
}

/// An id that may or may not be one of ours.
fn wire_id(id: u8) -> String {
    if id == 255 { String::new() } else { format!("req-{id}") }
}
