//! The machine: one end of a link as a value.
//!
//! ```text
//! bytes ─▶ Decoder ─▶ frame ─▶ kind ─┬─▶ handshake ─▶ Ready
//!                                    ├─▶ assembler ─┐
//!                                    ├─▶ pending  ◀─┘ ─▶ Answer
//!                                    └─▶ Request, Notification, Progress
//! call ─▶ deferred while a handshake is open ─┬─▶ outbox ─▶ bytes
//! reply, notify ──────────────────────────────┘
//! ```
//!
//! This file handles the owner's operations; [`receive`] handles the peer's, and [`refused`] those it cannot accept.

mod receive;
mod refused;

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use bytes::BytesMut;
use protomcp_codec::{Decoder, Raw};
use protomcp_envelope::{
    CallToolRequest, CancelRequest, Envelope, ListToolsRequest, MiddlewareInterceptRequest, Msg, NO_TOOL, Ping,
    ReloadRequest, Rpc, TaskCancelRequest, message_name,
};

use crate::answer::Answer;
use crate::assemble::Assembler;
use crate::config::{Config, Side};
use crate::connection::refused::Refused;
use crate::deferred_calls::{DeferredCall, DeferredCalls};
use crate::error::{CallError, Closed, HandshakeError, LinkError};
use crate::event::{Event, Notice, Phase};
use crate::handshake::Handshaker;
use crate::id::{CallId, CallIds};
use crate::liveness::{Liveness, LivenessAction};
use crate::outbox::{Outbox, Turn};
use crate::pending::{Pending, PendingCalls, Request};
use crate::two_reader_workaround::TwoReaderWorkaround;

/// One end of a link. See the [crate documentation](crate) for how to drive it.
#[derive(Debug)]
pub struct Connection {
    side: Side,
    config: Config,
    ids: CallIds,
    decoder: Decoder,
    handshake: Handshaker,
    /// The reason why the process is not in service, when its first handshake failed.
    rejected: Option<HandshakeError>,
    two_readers: TwoReaderWorkaround,
    liveness: Liveness,
    pending: PendingCalls,
    deferred_calls: DeferredCalls,
    assembler: Assembler,
    refused: Refused,
    outbox: Outbox,
    events: VecDeque<Event>,
    closed: Option<Closed>,
}

impl Connection {
    /// An open connection that has not sent anything. `ids` names its calls; share it with the code that makes them.
    pub fn new(side: Side, config: Config, ids: CallIds) -> Self {
        Self {
            side,
            decoder: Decoder::new(config.limits.clone()),
            handshake: Handshaker::new(&config),
            rejected: None,
            two_readers: TwoReaderWorkaround::default(),
            liveness: Liveness::new(config.ping_interval, config.ping_timeout),
            pending: PendingCalls::default(),
            deferred_calls: DeferredCalls::default(),
            assembler: Assembler::new(config.limits.max_payload, config.max_assembling),
            refused: Refused::default(),
            outbox: Outbox::new(config.limits.clone()),
            events: VecDeque::new(),
            closed: None,
            ids,
            config,
        }
    }

    /// Requests the tool list. Ends in [`Event::Ready`] or [`Event::HandshakeFailed`].
    pub fn begin(&mut self, now: Instant) {
        self.rejected = None;
        self.open_handshake(now, Phase::Start, ListToolsRequest {}.into());
    }

    /// Requests a new registration. Ends in [`Event::Ready`] or [`Event::ReloadFailed`]. The owner ensures that no call
    /// is in flight and no other handshake is open.
    pub fn reload(&mut self, now: Instant) {
        self.open_handshake(now, Phase::Reload, ReloadRequest {}.into());
    }

    /// Sends a request under an id of this connection's [`CallIds`]. Exactly one [`Event::Answer`] follows, unless the
    /// call is cancelled. `timeout` counts from the moment the request is written to
    /// [`poll_transmit`](Self::poll_transmit); [`Duration::MAX`] means no timeout.
    pub fn call(&mut self, now: Instant, call: CallId, request: Msg, timeout: Duration) {
        self.call_with(now, call, Envelope::new("", request), timeout);
    }

    /// Sends a request like [`call`](Self::call), with the other fields of its envelope. The id is the call's. An
    /// envelope without a message is not sent and has no answer.
    pub fn call_with(&mut self, now: Instant, call: CallId, mut envelope: Envelope, timeout: Duration) {
        if let Some(error) = self.refusal() {
            return self.fail(call, error);
        }
        let Some(request) = &mut envelope.msg else { return };
        let name = message_name(request);
        let is_probe = matches!(request, Msg::CallTool(CallToolRequest { name, .. }) if name == NO_TOOL);
        let request_id = call.to_string();
        let mut reports = false;
        let is_interruptible = match request {
            Msg::CallTool(CallToolRequest { progress_token, .. }) => {
                if !progress_token.is_empty() {
                    // A caller asks for progress with any token; on the wire the token is the id of the call.
                    progress_token.clone_from(&request_id);
                    reports = true;
                }
                true
            }
            Msg::MiddlewareIntercept(MiddlewareInterceptRequest { phase, .. }) => phase == "before",
            _ => false,
        };
        envelope.request_id = request_id;
        self.show(&envelope);
        let request = Request { name, reports, is_interruptible, is_probe, timeout };
        let written = if self.is_holding() {
            self.outbox
                .request_for_later(&envelope)
                .map(|frame| self.deferred_calls.push(DeferredCall { call, request, frame }))
        } else {
            self.outbox.request(&envelope).map(|()| self.pending.insert(call, request, now))
        };
        if let Err(error) = written {
            let (size, limit) = (error.size(), self.config.limits.max_frame);
            self.fail(call, CallError::RequestTooLarge { size, limit });
        }
    }

    /// Cancels a call; no answer follows. The tool process is notified if it has received the call.
    pub fn cancel(&mut self, call: CallId) {
        if let Some(pending) = self.pending.remove(call) {
            self.assembler.abandon(call);
            self.write_cancel(call, &pending);
        } else {
            self.deferred_calls.remove(call);
        }
    }

    /// Fails every tool call in flight, and every middleware before one, with [`CallError::Interrupted`], and cancels the
    /// calls at the peer. Middleware after a call goes on. Calls that wait for the end of a handshake are not in flight.
    pub fn interrupt(&mut self) {
        for call in self.pending.interruptible() {
            self.cancel(call);
            self.fail(call, CallError::Interrupted);
        }
    }

    /// Replies to an [`Event::Request`] with its `id`.
    pub fn reply(&mut self, id: &str, answer: Msg) {
        let turn = match (self.side, &answer) {
            (Side::Tool, _) => Turn::Now,
            (Side::Bridge, Msg::ActiveTools(_) | Msg::RegisterMiddlewareResponse(_)) => Turn::Next,
            // Only a process that knows our extensions receives it, and may wait for it before it registers.
            (Side::Bridge, Msg::BridgeInfo(_)) => Turn::Now,
            (Side::Bridge, _) if self.is_holding() => Turn::AfterHandshake,
            (Side::Bridge, _) => Turn::Now,
        };
        self.write(turn, id, answer);
    }

    /// Cancels a task of the process that has no owner; its answer is ignored.
    pub(crate) fn cancel_task(&mut self, task_id: String) {
        let id = self.ids.next().to_string();
        self.reply(&id, TaskCancelRequest { task_id }.into());
    }

    /// Works around a process that reads its socket from two threads: list control is answered with frames of length
    /// zero, and nothing else is written until no tool call is in flight.
    pub fn work_around_two_readers(&mut self, now: Instant) {
        if self.closed.is_none() {
            self.two_readers.begin(now);
            self.handle_timeout(now);
        }
    }

    /// Sends a ping when the process has been silent for [`Config::ping_interval`], for one that answers pings at any
    /// time. If nothing arrives within [`Config::ping_timeout`] more, the link closes with [`Closed::Silent`]. While
    /// the process works on requests, [`Notice::Silent`] follows instead, once. Handshakes have their own time limits.
    pub fn keep_alive(&mut self, now: Instant) {
        self.liveness.begin(now);
    }

    /// The owner does not read for now, so the silence of the peer proves nothing.
    pub fn reading_paused(&mut self, now: Instant) {
        self.liveness.heard(now);
    }

    /// Sends a message that expects no answer.
    pub fn notify(&mut self, message: Msg) {
        self.reply("", message);
    }

    /// Writes a large tool result as published SDKs do, as a raw payload.
    pub fn reply_raw(&mut self, raw: &Raw) {
        if self.closed.is_some() {
            return;
        }
        if let Some(tap) = &self.config.tap {
            tap.raw(self.side, raw);
        }
        if let Err(error) = self.outbox.reply_raw(raw) {
            self.notice(Notice::Unsendable { kind: "raw_header", size: error.size() });
        }
    }

    /// Handles received bytes. Consumes `src` up to the last incomplete frame.
    ///
    /// # Errors
    /// If the stream cannot be decoded any further. The owner calls [`close`](Self::close) and drops the connection.
    pub fn handle_bytes(&mut self, now: Instant, src: &mut BytesMut) -> Result<(), LinkError> {
        self.handle_frames(now, src, usize::MAX).map(drop)
    }

    /// Like [`handle_bytes`](Self::handle_bytes), but handles at most `frames` frames and returns their number. If that
    /// is `frames`, `src` may hold more.
    ///
    /// # Errors
    /// Like [`handle_bytes`](Self::handle_bytes).
    pub fn handle_frames(&mut self, now: Instant, src: &mut BytesMut, most: usize) -> Result<usize, LinkError> {
        self.liveness.heard(now);
        let outcome = self.receive(now, src, most);
        self.end_silence(now);
        outcome
    }

    /// The bytes that the incomplete frame still needs, so that a driver can reserve once. At least 1.
    pub fn bytes_needed(&self) -> usize {
        self.decoder.want()
    }

    /// True if the owner should continue to read. False while as many replies wait to be written
    /// ([`Config::max_unwritten`]) that a peer which sends only requests would exhaust memory.
    pub fn may_read(&self) -> bool {
        self.outbox.replies() < self.config.max_unwritten
    }

    /// The bytes held at present: requests and replies that are not written, and incomplete answers. While the owner
    /// respects [`may_read`](Self::may_read), each of the three stays within its limit in [`Config`] plus one frame.
    pub fn buffered(&self) -> usize {
        self.outbox.len() + self.deferred_calls.bytes() + self.assembler.held()
    }

    /// Closes the link: every pending call fails with `reason`, and [`Event::Closed`] follows. Later bytes and timeouts
    /// have no effect.
    pub fn close(&mut self, reason: Closed) {
        if self.closed.is_some() {
            return;
        }
        for call in self.pending.drain() {
            self.fail(call, CallError::Closed(reason.clone()));
        }
        while let Some(deferred) = self.deferred_calls.pop() {
            self.fail(deferred.call, CallError::Closed(reason.clone()));
        }
        self.assembler.clear();
        self.events.push_back(Event::Closed(reason.clone()));
        self.closed = Some(reason);
    }

    /// The reason why the link is closed, if it is.
    pub fn closed(&self) -> Option<&Closed> {
        self.closed.as_ref()
    }

    /// Handles the deadlines up to `now`.
    pub fn handle_timeout(&mut self, now: Instant) {
        if self.closed.is_some() {
            return;
        }
        if let Some(outcome) = self.handshake.elapsed(now) {
            self.settle(outcome);
        }
        while let Some((call, pending)) = self.pending.pop_expired(now) {
            self.assembler.abandon(call);
            self.write_cancel(call, &pending);
            self.fail(call, CallError::TimedOut(pending.request.timeout));
        }
        if self.two_readers.poll(now) {
            self.outbox.empty_frame();
        }
        self.end_silence(now);
        self.look_after(now);
    }

    /// The earliest instant at which [`handle_timeout`](Self::handle_timeout) has an effect.
    pub fn poll_timeout(&self) -> Option<Instant> {
        if self.closed.is_some() {
            return None;
        }
        let own = [self.handshake.deadline(), self.two_readers.deadline(), self.liveness.deadline()];
        own.into_iter().chain([self.pending.next_deadline()]).flatten().min()
    }

    /// The next event.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// Writes outgoing bytes to `buffer`, by swapping when it is empty. Returns false if there are none. Writes whole
    /// frames only, urgent ones first.
    pub fn poll_transmit(&mut self, buffer: &mut Vec<u8>) -> bool {
        self.outbox.hand_out(buffer)
    }

    /// True if messages must wait for the end of a handshake or workaround.
    fn is_holding(&self) -> bool {
        self.handshake.is_open() || self.two_readers.is_open()
    }

    /// The handler that reads the socket itself has answered, or has had enough time.
    fn end_silence(&mut self, now: Instant) {
        if self.two_readers.is_open() && !self.pending.has(CallToolRequest::NAME) {
            self.two_readers.end();
        }
        if !self.is_holding() {
            self.release(now);
        }
    }

    /// Pings a silent process, and decides about one that does not answer.
    fn look_after(&mut self, now: Instant) {
        if self.is_holding() {
            return self.liveness.heard(now);
        }
        let (requests, time) = (self.pending.without_probes(), self.liveness.limit());
        match self.liveness.poll(now, requests) {
            None => {}
            Some(LivenessAction::Ping) => {
                let id = self.ids.next().to_string();
                self.write(Turn::Now, &id, Ping {}.into());
            }
            Some(LivenessAction::Report) => self.notice(Notice::Silent { time, requests }),
            Some(LivenessAction::GiveUp) => self.close(Closed::Silent(time)),
        }
    }

    /// The reason why a new call must fail.
    fn refusal(&self) -> Option<CallError> {
        if let Some(reason) = &self.closed {
            return Some(CallError::Closed(reason.clone()));
        }
        if let Some(reason) = &self.rejected {
            return Some(CallError::NotInService(reason.clone()));
        }
        let waiting = self.pending.len() + self.deferred_calls.len();
        let unwritten = self.outbox.len() + self.deferred_calls.bytes();
        let full = waiting >= self.config.max_pending || unwritten >= self.config.max_unwritten;
        full.then_some(CallError::Busy(waiting))
    }

    fn open_handshake(&mut self, now: Instant, phase: Phase, request: Msg) {
        if self.closed.is_none() {
            self.handshake.begin(now, phase);
            let id = self.ids.next().to_string();
            // The kind of the answer identifies it, and the handshake's own deadline covers it.
            self.write(Turn::Now, &id, request);
        }
    }

    /// Only tool calls can be cancelled; an SDK that answers in order cannot act on other cancellations.
    fn write_cancel(&mut self, call: CallId, pending: &Pending) {
        if self.side == Side::Bridge && pending.request.name == CallToolRequest::NAME {
            // The envelope's own id stays empty; the message names the target (docs/envelope.md, "Cancellation").
            self.notify(CancelRequest { request_id: call.to_string() }.into());
        }
    }

    fn write(&mut self, turn: Turn, id: &str, message: Msg) {
        if self.closed.is_some() {
            return;
        }
        let kind = message_name(&message);
        let envelope = Envelope::new(id, message);
        self.show(&envelope);
        if let Err(error) = self.outbox.reply(turn, &envelope) {
            self.notice(Notice::Unsendable { kind, size: error.size() });
        }
    }

    /// Shows a message of this end to the tap.
    fn show(&self, envelope: &Envelope) {
        if let Some(tap) = &self.config.tap {
            tap.envelope(self.side, envelope);
        }
    }

    fn answer(&mut self, call: CallId, outcome: Result<Answer, CallError>) {
        self.pending.remove(call);
        self.assembler.abandon(call);
        self.events.push_back(Event::Answer { call, outcome });
    }

    fn fail(&mut self, call: CallId, error: CallError) {
        self.events.push_back(Event::Answer { call, outcome: Err(error) });
    }

    fn notice(&mut self, notice: Notice) {
        self.events.push_back(Event::Noticed(notice));
    }
}
