//! Random lives of a link, and what must hold in each.
//!
//! Two machines are joined by a pipe that holds bytes back. Four bytes make an [`Operation`]: one end calls, cancels,
//! answers in one of many forms or writes nonsense, bytes move, time passes. After each of them [`World`] compares what
//! happened with a naive record of what may:
//!
//! * a call has exactly one outcome, or none if it was cancelled, and it has it when its time is over;
//! * progress is heard only by who listens, and only before the answer;
//! * an answer's text belongs to its call;
//! * nothing but acknowledgements is written while the process registers;
//! * after the end nothing happens but the failures of calls that are made all the same;
//! * what is kept in memory is bounded.
//!
//! The file is shared with the fuzz target, so it uses nothing but public names.

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use protomcp_codec::{Decoder, Encoder, Field, Frame, Limits, Raw};
use protomcp_link::{CallError, CallId, CallIds, Closed, Config, Connection, Event, Side};
use protomcp_proto::{
    ActiveToolsResponse, CallToolRequest, CallToolResponse, Envelope, GetActiveToolsRequest, ListPromptsRequest,
    LogMessage, Msg, ProgressNotification, PromptListResponse, RawHeader, RegisterMiddlewareRequest, ReloadResponse,
    SamplingRequest, SamplingResponse, StreamChunk, StreamHeader, ToolListResponse,
};

/// Small limits, so that a short life meets all of them.
fn config() -> Config {
    Config {
        limits: Limits { max_frame: 2000, max_payload: 4000, max_skip: 100_000 },
        max_pending: 8,
        max_unwritten: 3000,
        max_assembling: 5000,
        max_middleware: 3,
        handshake_timeout: Duration::from_secs(30),
        handshake_quiet: Duration::from_millis(500),
        reload_timeout: Duration::from_secs(3),
    }
}

/// More than this must never be kept: calls, replies and pieces up to their limits, with one frame over each.
const MOST_KEPT: usize = 3000 + 3000 + 5000 + 3 * 2004;

/// One step, from four bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Operation {
    /// The bridge calls a tool.
    Call {
        listens: bool,
        patience: Duration,
        size: usize,
    },
    /// The bridge asks for something else.
    Ask {
        patience: Duration,
    },
    /// The bridge gives a call up.
    Cancel {
        which: usize,
    },
    Interrupt,
    Reload,
    /// The tool process answers what it was asked.
    Answer {
        which: usize,
        form: u8,
        size: usize,
    },
    /// It reports how far a call is, under some id.
    Progress {
        id: u8,
    },
    /// It asks for something.
    Question {
        patience: Duration,
        sampling: bool,
    },
    /// It gives its question up.
    Forget {
        which: usize,
    },
    /// It says something of the handshake, in or out of turn.
    List,
    Register {
        long: bool,
    },
    Done {
        success: bool,
    },
    /// It says something out of turn, with some id.
    Stray {
        id: u8,
        form: u8,
        size: usize,
    },
    /// It sends bytes that mean nothing.
    Noise {
        form: u8,
        size: usize,
    },
    /// Bytes arrive.
    Carry {
        to_tool: bool,
        bytes: usize,
    },
    /// Time passes.
    Pass {
        time: Duration,
    },
    /// The bridge, or the process, ends it.
    Close {
        by_tool: bool,
    },
}

impl From<[u8; 4]> for Operation {
    fn from([kind, a, b, c]: [u8; 4]) -> Self {
        let size = usize::from(b) * usize::from(b) / 30;
        let patience = Duration::from_millis(u64::from(a) * 40);
        match kind % 48 {
            0..=5 => Self::Call { listens: c.is_multiple_of(2), patience, size },
            6 => Self::Ask { patience },
            7 | 8 => Self::Cancel { which: a.into() },
            9 => Self::Interrupt,
            10 => Self::Reload,
            11..=16 => Self::Answer { which: a.into(), form: c, size },
            17 => Self::Progress { id: a % 24 },
            18 => Self::Question { patience, sampling: c.is_multiple_of(2) },
            19 => Self::Forget { which: a.into() },
            20 => Self::List,
            21 => Self::Register { long: a == 0 },
            22 => Self::Done { success: !a.is_multiple_of(4) },
            23..=25 => Self::Stray { id: if a < 250 { a % 32 } else { a }, form: c, size },
            26 => Self::Noise { form: c, size },
            27..=36 => Self::Carry { to_tool: a.is_multiple_of(2), bytes: usize::from(b) * usize::from(c) / 16 + 1 },
            37..=44 => Self::Carry { to_tool: a.is_multiple_of(2), bytes: usize::MAX },
            45 | 46 => Self::Pass { time: Duration::from_millis(u64::from(a) * u64::from(b) / 32) },
            _ if a < 16 => Self::Close { by_tool: a.is_multiple_of(2) },
            _ => Self::Pass { time: Duration::from_millis(1) },
        }
    }
}

/// Lives through some operations, then lets everything come to its end.
pub(crate) fn live(operations: impl IntoIterator<Item = Operation>) {
    let mut world = World::new();
    for operation in operations {
        world.step(operation);
    }
    world.end();
}

/// What is known of a call.
#[derive(Debug)]
struct Call {
    listens: bool,
    patience: Duration,
    /// Set when it is written.
    deadline: Option<Instant>,
    given_up: bool,
    outcome: bool,
    after_the_end: bool,
}

/// One machine and the record of it.
struct End {
    side: Side,
    connection: Connection,
    ids: CallIds,
    calls: BTreeMap<CallId, Call>,
    /// On the way here.
    wire: VecDeque<u8>,
    input: BytesMut,
    closed: bool,
    /// A handshake is open.
    registering: bool,
}

struct World {
    now: Instant,
    bridge: End,
    tool: End,
    /// What the tool process was asked and has not answered.
    asked: Vec<String>,
    encoder: Encoder,
}

impl World {
    fn new() -> Self {
        let now = Instant::now();
        let mut world = Self {
            now,
            bridge: End::new(Side::Bridge),
            tool: End::new(Side::Tool),
            asked: Vec::new(),
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
            Operation::Call { listens, patience, size } => {
                let progress_token = if listens { "listen".into() } else { String::new() };
                let arguments_json = vec![b' '; size].into();
                let request = CallToolRequest { progress_token, arguments_json, ..Default::default() };
                self.bridge.call(now, request.into(), listens, patience);
            }
            Operation::Ask { patience } => self.bridge.call(now, ListPromptsRequest {}.into(), false, patience),
            Operation::Cancel { which } => self.bridge.cancel(which),
            Operation::Interrupt => self.bridge.connection.interrupt(),
            Operation::Reload => {
                // The owner's part: nothing that is queued may fall into the handshake.
                self.transmit();
                self.bridge.connection.reload(now);
                self.bridge.registering |= !self.bridge.closed;
            }
            Operation::Answer { which, form, size } => {
                if !self.asked.is_empty() {
                    let id = self.asked.swap_remove(which % self.asked.len());
                    self.say(&id, form, size);
                }
            }
            Operation::Progress { id } => {
                let progress_token = wire_id(id);
                self.tool.connection.tell(ProgressNotification { progress_token, ..Default::default() }.into());
            }
            Operation::Question { patience, sampling: true } => {
                self.tool.call(now, SamplingRequest::default().into(), false, patience);
            }
            Operation::Question { patience, sampling: false } => {
                self.tool.call(now, GetActiveToolsRequest {}.into(), false, patience);
            }
            Operation::Forget { which } => self.tool.cancel(which),
            Operation::List => self.tool.connection.tell(ToolListResponse::default().into()),
            Operation::Register { long } => {
                let name = if long { "n".repeat(1100) } else { "m".into() };
                self.tool.connection.tell(RegisterMiddlewareRequest { name, priority: 0 }.into());
            }
            Operation::Done { success } => {
                self.tool.connection.tell(ReloadResponse { success, ..Default::default() }.into());
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
            // A frame of good length that is no envelope.
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

    /// Moves what was written to the wires. The tool process writes at once; the bridge's bytes wait now and then.
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
        if self.bridge.registering {
            only_acknowledgements(&bytes);
        }
        self.tool.wire.extend(bytes);
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

impl End {
    fn new(side: Side) -> Self {
        let ids = CallIds::default();
        // The process's end takes and writes anything: it is the bridge that has to stand it.
        let config = match side {
            Side::Bridge => config(),
            Side::Tool => Config::default(),
        };
        Self {
            side,
            connection: Connection::new(side, config, ids.clone()),
            ids,
            calls: BTreeMap::new(),
            wire: VecDeque::new(),
            input: BytesMut::new(),
            closed: false,
            registering: false,
        }
    }

    fn call(&mut self, now: Instant, request: Msg, listens: bool, patience: Duration) {
        let id = self.ids.next();
        let deadline = (!self.registering).then(|| now + patience);
        let after_the_end = self.closed;
        let call = Call { listens, patience, deadline, given_up: false, outcome: false, after_the_end };
        self.calls.insert(id, call);
        self.connection.call(now, id, request, patience);
    }

    fn cancel(&mut self, which: usize) {
        if self.calls.is_empty() {
            return;
        }
        let which = which % self.calls.len();
        let (id, call) = self.calls.iter_mut().nth(which).expect("there are calls");
        call.given_up |= !call.outcome;
        self.connection.cancel(*id);
    }

    /// Up to so many bytes of the wire are read.
    fn carry(&mut self, now: Instant, bytes: usize) {
        if !self.connection.may_read() {
            return;
        }
        let bytes = bytes.min(self.wire.len());
        self.input.extend(self.wire.drain(..bytes));
        if let Err(error) = self.connection.handle_bytes(now, &mut self.input) {
            self.connection.close(Closed::Broken(error.to_string()));
        }
        assert!(self.connection.wants() > 0);
    }

    /// Checks what happened; gives back what the peer asked.
    fn drain(&mut self, now: Instant) -> Vec<(String, Msg)> {
        let mut questions = Vec::new();
        while let Some(event) = self.connection.poll_event() {
            let refusal = matches!(&event, Event::Answer { call, .. } if self.calls[call].after_the_end);
            assert!(!self.closed || refusal, "after the end: {event:?}");
            match event {
                Event::Answer { call, outcome } => {
                    self.outcome(call, outcome.and_then(|it| it.finish(&config().limits)))
                }
                Event::Progress { call, .. } => {
                    let call = &self.calls[&call];
                    assert!(call.listens && !call.given_up && !call.outcome, "{call:?}");
                }
                Event::Ready(handshake) => {
                    assert!(handshake.middleware.len() <= 3);
                    self.settled(now);
                }
                Event::HandshakeFailed(_) | Event::ReloadFailed(_) => self.settled(now),
                Event::Asked { id, message } => questions.push((id, message)),
                Event::Closed(_) => self.closed = true,
                _ => {}
            }
        }
        questions
    }

    fn settled(&mut self, now: Instant) {
        assert!(self.registering, "a handshake ended that was not open");
        self.registering = false;
        for call in self.calls.values_mut().filter(|call| call.deadline.is_none()) {
            call.deadline = Some(now + call.patience);
        }
    }

    fn outcome(&mut self, id: CallId, outcome: Result<Msg, CallError>) {
        let call = self.calls.get_mut(&id).expect("the call was made");
        assert!(!call.outcome && !call.given_up, "{id}: {call:?} gets {outcome:?}");
        call.outcome = true;
        if let Ok(Msg::CallResult(result)) = outcome {
            let mark = mark(&id.to_string());
            for text in [result.result_json, result.structured_content_json] {
                assert!(text.iter().all(|byte| *byte == mark), "{id} got another's text");
            }
        }
    }

    fn check(&self, now: Instant) {
        assert!(self.side == Side::Tool || self.connection.buffered() <= MOST_KEPT, "{}", self.connection.buffered());
        assert!(!self.is_overdue(now), "{:?}", self.calls);
    }

    /// Whether a call waits although its time is over and the clock was looked at.
    fn is_overdue(&self, now: Instant) -> bool {
        let waits = |call: &&Call| !call.outcome && !call.given_up;
        self.calls.values().filter(waits).any(|call| call.deadline.is_some_and(|deadline| deadline < now))
    }
}

/// Rule R1 of the wire contract.
fn only_acknowledgements(bytes: &[u8]) {
    let mut bytes = BytesMut::from(bytes);
    let mut decoder = Decoder::new(Limits::default());
    while let Some(frame) = decoder.decode(&mut bytes).expect("we write good frames") {
        let Frame::Envelope(Envelope { msg: Some(message), .. }) = frame else { panic!("{frame:?}") };
        let allowed = matches!(
            message,
            Msg::ListTools(_) | Msg::Reload(_) | Msg::RegisterMiddlewareResponse(_) | Msg::ActiveTools(_)
        );
        assert!(allowed, "written while the process registers: {message:?}");
    }
}

/// An id that may or may not be one of ours.
fn wire_id(id: u8) -> String {
    if id == 255 { String::new() } else { format!("req-{id}") }
}

/// The byte that all texts about a call are made of.
fn mark(id: &str) -> u8 {
    let number: u64 = id.strip_prefix("req-").and_then(|digits| digits.parse().ok()).unwrap_or_default();
    b'0' + u8::try_from(number % 64).expect("below 64")
}
