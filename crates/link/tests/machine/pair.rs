//! Two machines joined by a pipe that splits and delays, one playing a published SDK.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use bytes::BytesMut;
use protomcp_codec::{Field, Limits, Raw, chunks};
use protomcp_envelope::{
    CallToolRequest, CallToolResponse, DisableToolsRequest, Msg, ProgressNotification, PromptListResponse,
    RegisterMiddlewareRequest,
};
use protomcp_link::{CallIds, Config, Connection, Event, Side};

use super::talk::{SECOND, call_tool, done, event_line, result, tools};

/// The bridge's machine and a tool process of one thread.
struct Pair {
    now: Instant,
    bridge: Connection,
    ids: CallIds,
    tool: Connection,
    to_bridge: Pipe,
    to_tool: Pipe,
    /// Blocks until its registration is acknowledged, as published SDKs do.
    registering: bool,
    happened: Vec<String>,
}

/// Bytes on the way, in pieces with a time of arrival. The same seed makes the same pieces and times.
struct Pipe {
    seed: u64,
    pieces: VecDeque<(Instant, Vec<u8>)>,
    arrived: BytesMut,
}

impl Pipe {
    fn random(&mut self, below: u64) -> u64 {
        self.seed = self.seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.seed >> 33) % below
    }

    fn send(&mut self, now: Instant, connection: &mut Connection) {
        let mut bytes = Vec::new();
        while connection.poll_transmit(&mut bytes) {}
        let mut rest = &bytes[..];
        while !rest.is_empty() {
            let most = if self.random(3) == 0 { 5000 } else { 7 };
            let size = (1 + self.random(most)).min(rest.len() as u64);
            let (piece, after) = rest.split_at(usize::try_from(size).unwrap());
            let earliest = self.pieces.back().map_or(now, |(at, _)| *at);
            let arrival = earliest.max(now) + Duration::from_micros(self.random(300));
            self.pieces.push_back((arrival, piece.to_vec()));
            rest = after;
        }
    }

    fn next(&self) -> Option<Instant> {
        self.pieces.front().map(|(at, _)| *at)
    }

    fn receive(&mut self, now: Instant, connection: &mut Connection) {
        while let Some((_, piece)) = self.pieces.pop_front_if(|(at, _)| *at <= now) {
            self.arrived.extend_from_slice(&piece);
            connection.handle_bytes(now, &mut self.arrived).unwrap();
        }
    }
}

impl Pair {
    fn new(seed: u64) -> Self {
        let pipe = |seed| Pipe { seed, pieces: VecDeque::new(), arrived: BytesMut::new() };
        let ids = CallIds::default();
        let now = Instant::now();
        let mut pair = Self {
            now,
            bridge: Connection::new(Side::Bridge, Config::default(), ids.clone()),
            ids,
            tool: Connection::new(Side::Tool, Config::default(), CallIds::default()),
            to_bridge: pipe(seed),
            to_tool: pipe(!seed),
            registering: false,
            happened: Vec::new(),
        };
        pair.bridge.begin(now);
        pair
    }

    fn call(&mut self, name: &str, timeout: Duration) {
        let request = CallToolRequest { name: name.into(), ..call_tool("listen") };
        self.bridge.call(self.now, self.ids.next(), request.into(), timeout);
    }

    /// Runs until no bytes are in flight and no deadline is left.
    fn drive(&mut self) -> Vec<String> {
        loop {
            self.to_tool.send(self.now, &mut self.bridge);
            self.to_bridge.send(self.now, &mut self.tool);
            let times = [self.to_tool.next(), self.to_bridge.next(), self.bridge.poll_timeout()];
            let Some(next) = times.into_iter().flatten().min() else { break };
            self.now = self.now.max(next);
            self.to_tool.receive(self.now, &mut self.tool);
            self.to_bridge.receive(self.now, &mut self.bridge);
            self.bridge.handle_timeout(self.now);
            while let Some(event) = self.tool.poll_event() {
                self.act(event);
            }
            while let Some(event) = self.bridge.poll_event() {
                self.happened.push(event_line(event, &Limits::default()));
            }
        }
        std::mem::take(&mut self.happened)
    }

    /// The behaviour of the tool process.
    fn act(&mut self, event: Event) {
        match event {
            Event::Request { id, message, .. } => {
                assert!(!self.registering, "{message:?} was taken for an acknowledgement");
                self.answer(&id, message);
            }
            Event::Answer { outcome: Ok(_), .. } => {
                self.registering = false;
                self.tool.notify(done(true).into());
                self.tool.notify(DisableToolsRequest::default().into());
            }
            Event::Notification { message: Msg::Cancel(_), .. } => {}
            other => panic!("{other:?}"),
        }
    }

    fn answer(&mut self, id: &str, message: Msg) {
        match message {
            Msg::ListTools(_) => self.tool.reply(id, tools(&["plain", "raw"]).into()),
            Msg::Reload(_) => {
                self.tool.reply(id, done(true).into());
                self.tool.notify(tools(&["new"]).into());
            }
            Msg::ListPromptsRequest(_) => return self.tool.reply(id, PromptListResponse::default().into()),
            Msg::CallTool(call) => return self.run(id, &call),
            other => panic!("{other:?}"),
        }
        self.registering = true;
        let register = RegisterMiddlewareRequest { name: "m".into(), priority: 1 };
        self.tool.call(self.now, CallIds::default().next(), register.into(), SECOND);
    }

    fn run(&mut self, id: &str, call: &CallToolRequest) {
        let progress_token = call.progress_token.clone();
        self.tool.notify(ProgressNotification { progress_token, progress: 1, ..Default::default() }.into());
        let text = vec![b'x'; 10_000];
        match call.name.as_str() {
            "plain" => self.tool.reply(id, result("hi").into()),
            "raw" => self.tool.reply_raw(&Raw::new(id, Field::ResultJson, text)),
            "zstd" => self.tool.reply_raw(&Raw::new(id, Field::ResultJson, text).compress()),
            "chunks" => chunks(Field::ResultJson, text.into(), 999).for_each(|piece| self.tool.reply(id, piece)),
            "raw error" => {
                let mut raw = Raw::new(id, Field::ResultJson, text);
                raw.header.followed_by_result = true;
                self.tool.reply_raw(&raw);
                self.tool.reply(id, CallToolResponse { is_error: true, ..Default::default() }.into());
            }
            _ => {}
        }
    }
}

#[test]
fn two_machines_understand_each_other_over_any_pipe() {
    for seed in 0..200 {
        let mut pair = Pair::new(seed);
        // Before the handshake: held.
        pair.call("plain", SECOND);
        let mut started = pair.drive();
        let asked = started.iter().position(|line| line == "asked disable_tools[]").expect("it hides its tools");
        assert_eq!(started.remove(asked), "asked disable_tools[]");
        assert_eq!(
            started,
            ["ready after Start: plain raw [m]", "req-1 at 1 of 0 ", "req-1: result text hi"],
            "{seed}"
        );

        for name in ["raw", "zstd", "chunks", "raw error", "nothing at all", "plain"] {
            pair.call(name, SECOND);
        }
        let happened = pair.drive();
        let answers: Vec<_> = happened.iter().filter(|line| !line.contains(" at 1 of 0")).collect();
        assert_eq!(
            answers,
            [
                "req-2: result text of 10000 bytes",
                "req-3: result text of 10000 bytes",
                "req-4: result text of 10000 bytes",
                "req-5: result text of 10000 bytes is an error",
                "req-7: result text hi",
                "req-6 failed: timed out after 1s",
            ],
            "{seed}"
        );
        assert_eq!(happened.len(), 12, "one report for each call: {happened:?}");

        pair.bridge.reload(pair.now);
        pair.call("plain", SECOND);
        let mut reloaded = pair.drive();
        reloaded.retain(|line| line != "asked disable_tools[]");
        assert_eq!(reloaded, ["ready after Reload: new [m]", "req-9 at 1 of 0 ", "req-9: result text hi"], "{seed}");
    }
}
