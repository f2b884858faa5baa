//! Any server, and any order of requests: each request of the client ends exactly once, or was cancelled; requests without
//! an answer stay bounded; and every frame of the client is a message.
//!
//! Progress grows, and no report is of a request that has ended.
//!
//! The first byte of the input chooses the settings; each of the others is a step. A step may take the bytes behind it as
//! the body of a frame.

#![no_main]

use std::collections::HashMap;
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use libfuzzer_sys::fuzz_target;
use protomcp_bufmcp::message::{
    CallLog, CallProgress, CallToolRequest, InitializeResponse, ListResourcesRequest, ListToolsRequest, McpMessage,
    Payload, ReadResourceRequest, ResourceUpdated, ServerCapabilities, SubscribeRequest, UnsubscribeRequest,
};
use protomcp_bufmcp::{
    BinaryClientConfig, BinaryClientEvent, BinaryClientSession, BinaryCloseReason, CallReport, Decoder, FrameLimits,
    Numbering,
};
use protomcp_fair::Owner;
use protomcp_session::{CallerKey, Conversation};

/// The most requests that the server has at a time, and the most calls, and other requests, that wait for their turn.
const MAX: usize = 4;
const MAX_WAITING: usize = 8;

/// A client with the requests whose end is owed, and the ones among them that were sent.
struct Client {
    session: BinaryClientSession,
    decoder: Decoder,
    open: Vec<u64>,
    sent: Vec<u64>,
    /// The last progress of each call.
    reached: HashMap<u64, f64>,
    is_closed: bool,
}

fuzz_target!(|input: &[u8]| {
    let [flags, steps @ ..] = input else { return };
    let mut config = BinaryClientConfig::new("fuzz", "1.0");
    config.max_in_flight = MAX;
    config.max_waiting = MAX_WAITING;
    config.numbering = (flags & 1 == 1).then_some(Numbering::Reference);
    config.frames = FrameLimits { max_frame: 4096, max_entries: 256, setting: None };
    let decoder = Decoder::new(config.frames.clone()).with_numbering(config.numbering.unwrap_or_default());
    let mut now = Instant::now();
    let session = BinaryClientSession::new(config, now);
    let mut client =
        Client { session, decoder, open: Vec::new(), sent: Vec::new(), reached: HashMap::new(), is_closed: false };
    let mut rest = steps;
    while let [step, behind @ ..] = rest {
        rest = behind;
        match step & 7 {
            0 | 1 => client.call(now, step >> 3),
            2 => client.cancel(usize::from(step >> 3)),
            3 => {
                now += Duration::from_secs(u64::from(step >> 3));
                client.session.handle_timeout(now);
                let next = client.session.poll_timeout();
                assert!(next.is_none_or(|next| next > now) || client.session.is_closed());
            }
            4 if step >> 3 == 0 => client.session.close(BinaryCloseReason::ByServer),
            5 => client.hear(now, step >> 3),
            _ => {
                let [size, behind @ ..] = rest else { break };
                let (body, behind) = behind.split_at(usize::from(*size).min(behind.len()));
                rest = behind;
                let frame = client.decoder.message(&Bytes::copy_from_slice(body));
                client.session.receive(now, frame);
            }
        }
        client.settle();
    }
    client.session.close(BinaryCloseReason::Requested);
    client.settle();
    assert!(client.is_closed && client.open.is_empty());
});

impl Client {
    fn call(&mut self, now: Instant, kind: u8) {
        let request = match kind % 7 {
            0 => Payload::ListToolsRequest(ListToolsRequest { query: "q".into(), ..ListToolsRequest::default() }),
            1 => Payload::CallToolRequest(CallToolRequest::default()),
            2 => Payload::ListResourcesRequest(ListResourcesRequest::default()),
            3 => Payload::ReadResourceRequest(ReadResourceRequest { uri: "u".repeat(usize::from(kind) * 200) }),
            4 => Payload::SubscribeRequest(SubscribeRequest { uri: "a:b".into() }),
            5 => Payload::UnsubscribeRequest(UnsubscribeRequest { uri: "a:b".into() }),
            _ => Payload::ReadResourceResponse(Default::default()),
        };
        let owner = Owner::Principal(["ann", "bob", "cid"][usize::from(kind / 7 % 3)].into());
        let caller = CallerKey { owner, conversation: Conversation::Connection(u64::from(kind / 15)) };
        let id = self.session.call_for(&caller, now, request, (kind & 16 == 16).then(|| Duration::from_secs(5)));
        assert!(!self.open.contains(&id));
        self.open.push(id);
    }

    /// Takes a message of a server that streams: the first answer, a report, a notice, or the answer to a call.
    fn hear(&mut self, now: Instant, kind: u8) {
        let known = self.open.get(usize::from(kind / 6)).copied().unwrap_or(1_000);
        let capabilities = ServerCapabilities { supports_streaming: kind / 6 != 1, ..ServerCapabilities::default() };
        let (id, payload) = match kind % 6 {
            0 => {
                let (protocol_version, capabilities) = ("1.0.0".into(), Some(capabilities));
                let opened = InitializeResponse { protocol_version, capabilities, ..InitializeResponse::default() };
                (1, Payload::InitializeResponse(opened))
            }
            1 => (known, Payload::CallProgress(CallProgress { progress: kind.into(), ..CallProgress::default() })),
            2 => (known, Payload::CallLog(CallLog::default())),
            3 => (0, Payload::ResourceUpdated(ResourceUpdated { uri: "a:b".into() })),
            4 => (known, Payload::CallToolResponse(Default::default())),
            _ => (known, Payload::SubscribeResponse(Default::default())),
        };
        self.session.receive(now, Ok(McpMessage { id, payload: Some(payload) }));
    }

    fn cancel(&mut self, index: usize) {
        if index < self.open.len() {
            self.session.cancel(self.open.remove(index));
        }
    }

    fn settle(&mut self) {
        while let Some(event) = self.session.poll_event() {
            match event {
                BinaryClientEvent::Answer(id, _) => {
                    let place = self.open.iter().position(|open| *open == id).expect("a request ends once");
                    self.open.remove(place);
                }
                BinaryClientEvent::Report(id, report) => {
                    assert!(self.open.contains(&id), "a report of no open request");
                    if let CallReport::Progress(CallProgress { progress, .. }) = report {
                        let before = self.reached.insert(id, progress);
                        assert!(before.is_none_or(|before| before < progress), "progress has to grow");
                    }
                }
                BinaryClientEvent::Closed(_) => {
                    assert!(!self.is_closed && self.open.is_empty());
                    self.is_closed = true;
                }
                _ => assert!(!self.is_closed),
            }
        }
        assert!(self.open.len() <= MAX + 2 * MAX_WAITING);
        while let Some(frame) = self.session.poll_transmit() {
            let mut buffer = BytesMut::from(&frame[..]);
            let message: McpMessage =
                self.decoder.decode(&mut buffer).expect("within the limits").expect("whole").expect("a message");
            assert!(buffer.is_empty() && message.payload.is_some());
            self.sent.push(message.id);
        }
        self.sent.retain(|id| self.open.contains(id));
        assert!(self.sent.len() <= MAX);
    }
}
