//! The machine: one end of a link as a value.
//!
//! ```text
//! bytes ─▶ Decoder ─▶ frame ─▶ kind ─┬─▶ handshake ─▶ Ready
//!                                    ├─▶ assembler ─┐
//!                                    ├─▶ pending  ◀─┘ ─▶ Answer
//!                                    └─▶ Asked, Told, Progress
//! call ─▶ deferred while a handshake is open ─┬─▶ outbox ─▶ bytes
//! reply, tell ────────────────────────────┘
//! ```
//!
//! This file is what the owner does to it; what the peer does is in [`receive`], and in [`refused`] where it cannot be taken.

mod receive;
mod refused;

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use bytes::BytesMut;
use protomcp_codec::{Decoder, Raw};
use protomcp_proto::{
    CallToolRequest, CancelRequest, Envelope, ListToolsRequest, Msg, ReloadRequest, Rpc, message_name,
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
use crate::outbox::{Outbox, Turn};
use crate::pending::{Pending, PendingCalls};
use crate::two_reader_workaround::TwoReaderWorkaround;

/// One end of a link. See the [crate documentation](crate) for how to drive it.
#[derive(Debug)]
pub struct Connection {
    side: Side,
    config: Config,
    ids: CallIds,
    decoder: Decoder,
    handshake: Handshaker,
    /// Why the process is not in service, when its first handshake failed.
    rejected: Option<HandshakeError>,
    two_readers: TwoReaderWorkaround,
    pending: PendingCalls,
    deferred_calls: DeferredCalls,
    assembler: Assembler,
    refused: Refused,
    outbox: Outbox,
    events: VecDeque<Event>,
    closed: Option<Closed>,
}

impl Connection {
    /// An open connection that has said nothing yet. `ids` names its calls; share it with whoever makes them.
    pub fn new(side: Side, config: Config, ids: CallIds) -> Self {
        Self {
            side,
            decoder: Decoder::new(config.limits.clone()),
            handshake: Handshaker::new(&config),
            rejected: None,
            two_readers: TwoReaderWorkaround::default(),
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

    /// Asks the tool process for its list. Ends in [`Event::Ready`] or [`Event::HandshakeFailed`].
    pub fn begin(&mut self, now: Instant) {
        self.rejected = None;
        self.open_handshake(now, Phase::Start, ListToolsRequest {}.into());
    }

    /// Asks the tool process to register anew. Ends in [`Event::Ready`] or [`Event::ReloadFailed`]. The owner sees to
    /// it that no call is in flight and no other handshake is open.
    pub fn reload(&mut self, now: Instant) {
        self.open_handshake(now, Phase::Reload, ReloadRequest {}.into());
    }

    /// Sends a request under an id of this connection's [`CallIds`]. Exactly one [`Event::Answer`] follows, unless the
    /// call is cancelled. `timeout` counts from the moment the request is written to [`poll_transmit`](Self::poll_transmit);
    /// [`Duration::MAX`] is for ever.
    pub fn call(&mut self, now: Instant, call: CallId, mut request: Msg, timeout: Duration) {
        if let Some(error) = self.refusal() {
            return self.fail(call, error);
        }
        let name = message_name(&request);
        let request_id = call.to_string();
        let mut reports = false;
        if let Msg::CallTool(CallToolRequest { progress_token, .. }) = &mut request
            && !progress_token.is_empty()
        {
            // A caller that bytes_needed progress says so with any token; on the wire it is the call's own id.
            progress_token.clone_from(&request_id);
            reports = true;
        }
        let envelope = Envelope::new(request_id, request);
        let written = if self.is_holding() {
            self.outbox
                .request_for_later(&envelope)
                .map(|frame| self.deferred_calls.push(DeferredCall { call, name, reports, timeout, frame }))
        } else {
            self.outbox.request(&envelope).map(|()| self.pending.insert(call, name, reports, now, timeout))
        };
        if let Err(error) = written {
            self.fail(call, CallError::RequestTooLarge(error.size()));
        }
    }

    /// Gives a call up; no outcome follows. A tool process that has been told of a tool call is told of this too.
    pub fn cancel(&mut self, call: CallId) {
        if let Some(pending) = self.pending.remove(call) {
            self.assembler.abandon(call);
            self.write_cancel(call, &pending);
        } else {
            self.deferred_calls.remove(call);
        }
    }

    /// Fails every tool call in flight with [`CallError::Interrupted`] and tells the peer to give it up. Calls that wait
    /// for the end of a handshake are not in flight.
    pub fn interrupt(&mut self) {
        for call in self.pending.named(CallToolRequest::NAME) {
            self.cancel(call);
            self.fail(call, CallError::Interrupted);
        }
    }

    /// Answers an [`Event::Request`]. `id` is what it carried.
    pub fn reply(&mut self, id: &str, answer: Msg) {
        let turn = match (self.side, &answer) {
            (Side::Tool, _) => Turn::Now,
            (Side::Bridge, Msg::ActiveTools(_) | Msg::RegisterMiddlewareResponse(_)) => Turn::Next,
            // Only a process that knows our extensions gets it, and those may wait for it before they register.
            (Side::Bridge, Msg::BridgeInfo(_)) => Turn::Now,
            (Side::Bridge, _) if self.is_holding() => Turn::AfterHandshake,
            (Side::Bridge, _) => Turn::Now,
        };
        self.write(turn, id, answer);
    }

    /// Answers tool list control of a process that reads its socket from two threads: with frames of length zero instead
    /// of a reply, and with silence otherwise, until no tool call is in flight.
    pub fn work_around_two_readers(&mut self, now: Instant) {
        if self.closed.is_none() {
            self.two_readers.begin(now);
            self.handle_timeout(now);
        }
    }

    /// Says something that expects no answer.
    pub fn notify(&mut self, message: Msg) {
        self.reply("", message);
    }

    /// Writes a large tool result the way published SDKs do, as a raw payload.
    pub fn reply_raw(&mut self, raw: &Raw) {
        if self.closed.is_none()
            && let Err(error) = self.outbox.reply_raw(raw)
        {
            self.notice(Notice::Unsendable { kind: "raw_header", size: error.size() });
        }
    }

    /// Takes what was read. Everything in `src` up to the last incomplete frame is consumed.
    ///
    /// # Errors
    /// The stream cannot be followed any further. The owner calls [`close`](Self::close) and drops it.
    pub fn handle_bytes(&mut self, now: Instant, src: &mut BytesMut) -> Result<(), LinkError> {
        self.handle_frames(now, src, usize::MAX).map(drop)
    }

    /// As [`handle_bytes`](Self::handle_bytes), but takes so many frames at most and says how many it has taken. As many as
    /// may be: there may be more of them in `src`.
    ///
    /// # Errors
    /// As [`handle_bytes`](Self::handle_bytes).
    pub fn handle_frames(&mut self, now: Instant, src: &mut BytesMut, most: usize) -> Result<usize, LinkError> {
        let outcome = self.receive(now, src, most);
        self.end_silence(now);
        outcome
    }

    /// Bytes the frame being read still needs, so that a driver can make room once. At least 1.
    pub fn bytes_needed(&self) -> usize {
        self.decoder.want()
    }

    /// Whether the owner should go on reading. `false` while so many replies wait to be written
    /// ([`Config::max_unwritten`]) that a peer which only asks would grow memory.
    pub fn may_read(&self) -> bool {
        self.outbox.replies() < self.config.max_unwritten
    }

    /// Bytes it keeps at the moment: requests and replies that nobody has taken to write, and incomplete answers. While
    /// the owner minds [`may_read`](Self::may_read), each of the three stays within its limit in [`Config`] and what one
    /// more frame brings.
    pub fn buffered(&self) -> usize {
        self.outbox.len() + self.deferred_calls.bytes() + self.assembler.held()
    }

    /// Ends the link: every pending call fails with `reason` and [`Event::Closed`] follows. From then on nothing that
    /// the peer or the clock does has any effect.
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

    /// Why the link ended, once it has.
    pub fn closed(&self) -> Option<&Closed> {
        self.closed.as_ref()
    }

    /// Lets deadlines pass that are not after `now`.
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
            self.fail(call, CallError::TimedOut(pending.timeout));
        }
        if self.two_readers.poll(now) {
            self.outbox.empty_frame();
        }
        self.end_silence(now);
    }

    /// The earliest instant at which [`handle_timeout`](Self::handle_timeout) has something to do.
    pub fn poll_timeout(&self) -> Option<Instant> {
        if self.closed.is_some() {
            return None;
        }
        let deadlines = [self.handshake.deadline(), self.pending.next_deadline(), self.two_readers.deadline()];
        deadlines.into_iter().flatten().min()
    }

    /// The next thing that happened.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// Puts bytes to write into `buffer`, by swapping when it is empty. `false`: there are none. Whole frames only,
    /// urgent ones first.
    pub fn poll_transmit(&mut self, buffer: &mut Vec<u8>) -> bool {
        self.outbox.hand_out(buffer)
    }

    /// Whether what is said now has to wait.
    fn is_holding(&self) -> bool {
        self.handshake.is_open() || self.two_readers.is_open()
    }

    /// The handler that read for itself has answered, or has had time enough.
    fn end_silence(&mut self, now: Instant) {
        if self.two_readers.is_open() && self.pending.named(CallToolRequest::NAME).is_empty() {
            self.two_readers.end();
        }
        if !self.is_holding() {
            self.release(now);
        }
    }

    /// Why a call made now cannot be taken.
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
            // Its answer is known by its kind, and the handshake's own deadline covers it.
            self.write(Turn::Now, &id, request);
        }
    }

    /// Only tool calls can be cancelled; an SDK that answers in order has no use for a word about anything else.
    fn write_cancel(&mut self, call: CallId, pending: &Pending) {
        if self.side == Side::Bridge && pending.name == CallToolRequest::NAME {
            // The envelope's own id stays empty; the target is named inside (wire contract §1.6).
            self.notify(CancelRequest { request_id: call.to_string() }.into());
        }
    }

    fn write(&mut self, turn: Turn, id: &str, message: Msg) {
        if self.closed.is_some() {
            return;
        }
        let kind = message_name(&message);
        if let Err(error) = self.outbox.reply(turn, id, message) {
            self.notice(Notice::Unsendable { kind, size: error.size() });
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
