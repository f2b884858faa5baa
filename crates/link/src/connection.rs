//! The machine: one end of a link as a value.
//!
//! ```text
//! bytes ─▶ Decoder ─▶ frame ─▶ kind ─┬─▶ handshake ─▶ Ready
//!                                    ├─▶ assembler ─┐
//!                                    ├─▶ pending  ◀─┘ ─▶ Answer
//!                                    └─▶ Asked, Told, Progress
//! call, reply, tell ─▶ held while a handshake is open ─▶ Encoder ─▶ bytes
//! ```

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use bytes::BytesMut;
use protomcp_codec::{DecodeError, Decoder, Encoder, Frame, Raw, TooLarge, TooLargeKind};
use protomcp_proto::{
    CallToolRequest, CancelRequest, Envelope, ListToolsRequest, Msg, ProgressNotification, RegisterMiddlewareRequest,
    RegisterMiddlewareResponse, ReloadRequest, message_name,
};

use crate::answer::Answer;
use crate::assemble::Assembler;
use crate::config::{Config, Side};
use crate::error::{CallError, Closed, LinkError};
use crate::event::{Event, Middleware, Notice, Phase, Progress};
use crate::handshake::{Handshaker, Outcome};
use crate::id::{CallId, CallIds};
use crate::kind::Kind;
use crate::pending::PendingCalls;

/// One end of a link. See the [crate documentation](crate) for how to drive it.
#[derive(Debug)]
pub struct Connection {
    side: Side,
    config: Config,
    ids: CallIds,
    decoder: Decoder,
    encoder: Encoder,
    handshake: Handshaker,
    pending: PendingCalls,
    assembler: Assembler,
    /// Requests that wait for the end of a handshake, with the time they will be given.
    held: VecDeque<(CallId, Msg, Duration)>,
    /// Replies to tool list control, which published SDKs expect as the very next frame (wire contract, rule R5).
    urgent: Vec<u8>,
    out: Vec<u8>,
    /// What was said while a handshake was open; it follows when the handshake ends (wire contract, rule R1).
    deferred: Vec<u8>,
    events: VecDeque<Event>,
    closed: bool,
}

impl Connection {
    /// An open connection that has said nothing yet. `ids` names its calls; share it with whoever makes them.
    pub fn new(side: Side, config: Config, ids: CallIds) -> Self {
        Self {
            side,
            decoder: Decoder::new(config.limits.clone()),
            encoder: Encoder::new(config.limits.clone()),
            handshake: Handshaker::new(&config),
            pending: PendingCalls::default(),
            assembler: Assembler::new(config.limits.max_payload, config.max_assembling),
            held: VecDeque::new(),
            urgent: Vec::new(),
            out: Vec::new(),
            deferred: Vec::new(),
            events: VecDeque::new(),
            closed: false,
            ids,
            config,
        }
    }

    /// Asks the tool process for its list. Ends in [`Event::Ready`] or [`Event::HandshakeFailed`].
    pub fn begin(&mut self, now: Instant) {
        self.handshake.begin(now, Phase::Start);
        self.request_in_handshake(ListToolsRequest {}.into());
    }

    /// Asks the tool process to register anew. Ends in [`Event::Ready`] or [`Event::ReloadFailed`]. The owner sees to
    /// it that no call is in flight and no other handshake is open.
    pub fn reload(&mut self, now: Instant) {
        self.handshake.begin(now, Phase::Reload);
        self.request_in_handshake(ReloadRequest {}.into());
    }

    /// Sends a request under an id of this connection's [`CallIds`]. Exactly one [`Event::Answer`] follows, unless the
    /// call is cancelled. `patience` counts from the moment the request is written to [`poll_transmit`](Self::poll_transmit).
    pub fn call(&mut self, now: Instant, call: CallId, request: Msg, patience: Duration) {
        let waiting = self.pending.len() + self.held.len();
        let refusal = if self.closed {
            Some(CallError::Closed(Closed::ByPeer))
        } else if waiting >= self.config.max_pending || self.out.len() >= self.config.max_unwritten {
            Some(CallError::Busy(waiting))
        } else {
            None
        };
        if let Some(error) = refusal {
            self.events.push_back(Event::Answer { call, outcome: Err(error) });
        } else if self.handshake.is_open() {
            self.held.push_back((call, request, patience));
        } else {
            self.write_call(now, call, request, patience);
        }
    }

    /// Gives a call up: the peer is told if it has been told of the call, and no outcome follows.
    pub fn cancel(&mut self, call: CallId) {
        if self.pending.remove(call).is_some() {
            self.assembler.abandon(call);
            self.write_cancel(call);
        } else {
            self.held.retain(|(held, ..)| *held != call);
        }
    }

    /// Answers an [`Event::Asked`]. `id` is what it carried.
    pub fn reply(&mut self, id: &str, answer: Msg) {
        let turn = match &answer {
            Msg::ActiveTools(_) if self.side == Side::Bridge => Turn::Next,
            Msg::RegisterMiddlewareResponse(_) => Turn::Now,
            _ if self.side == Side::Bridge && self.handshake.is_open() => Turn::AfterHandshake,
            _ => Turn::Now,
        };
        self.write(turn, id, answer);
    }

    /// Says something that expects no answer.
    pub fn tell(&mut self, message: Msg) {
        self.reply("", message);
    }

    /// Writes a large tool result the way published SDKs do, as a raw payload.
    pub fn reply_raw(&mut self, raw: Raw) {
        if let Err(error) = self.encoder.encode(&Frame::Raw(raw), &mut self.out) {
            self.notice(Notice::Malformed { reason: error.to_string() });
        }
    }

    /// Takes what was read. Everything in `src` up to the last incomplete frame is consumed.
    ///
    /// # Errors
    /// The stream cannot be followed any further. The owner calls [`close`](Self::close) and drops it.
    pub fn handle_bytes(&mut self, now: Instant, src: &mut BytesMut) -> Result<(), LinkError> {
        loop {
            match self.decoder.decode(src) {
                Ok(None) => return Ok(()),
                Ok(Some(Frame::Envelope(envelope))) => self.handle_envelope(now, envelope),
                Ok(Some(Frame::Raw(raw))) => self.handle_raw(raw),
                Ok(Some(Frame::TooLarge(frame))) => self.handle_too_large(frame),
                Err(error @ DecodeError::Malformed { .. }) => {
                    self.notice(Notice::Malformed { reason: error.to_string() });
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Bytes the frame being read still needs, so that a driver can make room once; 0 when unknown.
    pub fn wants(&self) -> usize {
        self.decoder.want()
    }

    /// Ends the link: every pending call fails with `reason` and [`Event::Closed`] follows. Later calls change nothing.
    pub fn close(&mut self, reason: Closed) {
        if self.closed {
            return;
        }
        self.closed = true;
        let held = std::mem::take(&mut self.held).into_iter().map(|(call, ..)| call);
        for call in self.pending.drain().into_iter().chain(held) {
            self.events.push_back(Event::Answer { call, outcome: Err(CallError::Closed(reason.clone())) });
        }
        self.assembler.clear();
        self.events.push_back(Event::Closed(reason));
    }

    /// Lets deadlines pass that are not after `now`.
    pub fn handle_timeout(&mut self, now: Instant) {
        if let Some(outcome) = self.handshake.elapsed(now) {
            self.settle(now, outcome);
        }
        while let Some((call, pending)) = self.pending.pop_expired(now) {
            self.assembler.abandon(call);
            self.write_cancel(call);
            self.events.push_back(Event::Answer { call, outcome: Err(CallError::TimedOut(pending.patience)) });
        }
    }

    /// The earliest instant at which [`handle_timeout`](Self::handle_timeout) has something to do.
    pub fn poll_timeout(&self) -> Option<Instant> {
        match (self.handshake.deadline(), self.pending.next_deadline()) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }

    /// The next thing that happened.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// Swaps the bytes to write into the empty `buffer`. `false`: there are none. Whole frames only; urgent ones first.
    pub fn poll_transmit(&mut self, buffer: &mut Vec<u8>) -> bool {
        debug_assert!(buffer.is_empty(), "the last bytes have not been written yet");
        if !self.urgent.is_empty() {
            std::mem::swap(buffer, &mut self.urgent);
        } else if !self.out.is_empty() {
            std::mem::swap(buffer, &mut self.out);
        }
        !buffer.is_empty()
    }

    fn handle_envelope(&mut self, now: Instant, envelope: Envelope) {
        let Envelope { msg: Some(message), request_id: id, .. } = envelope else { return };
        match Kind::of(self.side, &message) {
            Kind::Answer => self.handle_answer(id, message),
            Kind::Ask => self.events.push_back(Event::Asked { id, message }),
            Kind::Tell => self.handle_told(message),
            Kind::Handshake => self.handle_handshake(now, message),
            Kind::Piece => self.handle_piece(&id, message),
            Kind::Foreign => self.notice(Notice::Unexpected { kind: message_name(&message) }),
        }
    }

    fn handle_answer(&mut self, id: String, message: Msg) {
        let call = CallId::from_wire(&id).filter(|call| self.pending.contains(*call)).or_else(|| {
            // The bridge acknowledges a registration, and published runtimes answer list control, without an id.
            let wanted = |name: &'static str| answers(&message, name);
            if id.is_empty() { self.pending.oldest(wanted) } else { None }
        });
        let Some(call) = call else {
            return self.notice(Notice::LateAnswer { id, kind: message_name(&message) });
        };
        let answer = match (message, self.assembler.finish(call)) {
            (Msg::CallResult(rest), Some(raw)) => Answer::with_payload(rest, raw),
            (message, _) => Answer::whole(message),
        };
        self.answer(call, Ok(answer));
    }

    fn handle_told(&mut self, message: Msg) {
        let Msg::Progress(ProgressNotification { progress_token, progress, total, message }) = message else {
            return self.events.push_back(Event::Told(message));
        };
        // The token given to the process is the call's id, so tokens of two hosts never meet and a stale one is known.
        match CallId::from_wire(&progress_token).filter(|call| self.pending.contains(*call)) {
            Some(call) => {
                self.events.push_back(Event::Progress { call, progress: Progress { progress, total, message } });
            }
            None => self.notice(Notice::LateAnswer { id: progress_token, kind: "progress" }),
        }
    }

    fn handle_handshake(&mut self, now: Instant, message: Msg) {
        match message {
            Msg::ToolList(list) => {
                if let Some(unasked) = self.handshake.tool_list(now, list.tools) {
                    self.events.push_back(Event::Listed(unasked));
                }
            }
            Msg::RegisterMiddleware(request) => self.handle_registration(now, request),
            Msg::ReloadResponse(response) => {
                if let Some(outcome) = self.handshake.reload_response(now, response) {
                    self.settle(now, outcome);
                }
            }
            other => self.notice(Notice::Unexpected { kind: message_name(&other) }),
        }
    }

    /// Every registration is acknowledged at once, also a late one: the SDK blocks until it is (wire contract, rule R2).
    fn handle_registration(&mut self, now: Instant, request: RegisterMiddlewareRequest) {
        let RegisterMiddlewareRequest { name, priority } = request;
        if let Some(late) = self.handshake.register(now, Middleware { name, priority }) {
            self.events.push_back(Event::LateMiddleware(late));
        }
        self.reply("", RegisterMiddlewareResponse { success: true }.into());
    }

    fn handle_piece(&mut self, id: &str, message: Msg) {
        let Some(call) = CallId::from_wire(id).filter(|call| self.pending.contains(*call)) else {
            return self.notice(Notice::LateAnswer { id: id.into(), kind: message_name(&message) });
        };
        match message {
            Msg::StreamHeader(header) => self.assembler.header(call, &header),
            Msg::StreamChunk(chunk) => {
                if let Some(result) = self.assembler.chunk(call, &chunk) {
                    self.answer(call, result.map(|response| Answer::whole(Msg::CallResult(response))));
                }
            }
            other => self.notice(Notice::Unexpected { kind: message_name(&other) }),
        }
    }

    fn handle_raw(&mut self, raw: Raw) {
        let Some(call) = CallId::from_wire(&raw.header.request_id).filter(|call| self.pending.contains(*call)) else {
            return self.notice(Notice::LateAnswer { id: raw.header.request_id, kind: "raw_header" });
        };
        if raw.header.followed_by_result {
            if let Err(error) = self.assembler.keep(call, raw) {
                self.answer(call, Err(error));
            }
        } else {
            self.answer(call, Ok(Answer::with_payload(Default::default(), raw)));
        }
    }

    fn handle_too_large(&mut self, frame: TooLarge) {
        let TooLarge { size, request_id, kind } = frame;
        match CallId::from_wire(&request_id).filter(|call| self.pending.contains(*call)) {
            Some(call) => {
                let limit = match kind {
                    TooLargeKind::Envelope => self.config.limits.max_frame as u64,
                    TooLargeKind::Payload => self.config.limits.max_payload,
                };
                self.answer(call, Err(CallError::AnswerTooLarge { size, limit }));
            }
            None => self.notice(Notice::TooLarge { size }),
        }
    }

    fn settle(&mut self, now: Instant, outcome: Outcome) {
        let event = match outcome {
            Outcome::Ready(handshake) => Event::Ready(handshake),
            Outcome::Failed(error) => Event::HandshakeFailed(error),
            Outcome::ReloadFailed(error) => Event::ReloadFailed(error),
        };
        self.events.push_back(event);
        self.out.append(&mut self.deferred);
        while let Some((call, request, patience)) = self.held.pop_front() {
            self.write_call(now, call, request, patience);
        }
    }

    fn answer(&mut self, call: CallId, outcome: Result<Answer, CallError>) {
        self.pending.remove(call);
        self.assembler.abandon(call);
        self.events.push_back(Event::Answer { call, outcome });
    }

    fn write_call(&mut self, now: Instant, call: CallId, mut request: Msg, patience: Duration) {
        let name = message_name(&request);
        let request_id = call.to_string();
        if let Msg::CallTool(CallToolRequest { progress_token, .. }) = &mut request {
            // A caller that wants progress says so with any token; on the wire it is the call's own id.
            if !progress_token.is_empty() {
                progress_token.clone_from(&request_id);
            }
        }
        let envelope = Envelope { msg: Some(request), request_id, ..Default::default() };
        match self.encoder.encode_envelope(&envelope, &mut self.out) {
            Ok(()) => self.pending.insert(call, name, now, patience),
            Err(error) => {
                let outcome = Err(CallError::RequestTooLarge(error.size()));
                self.events.push_back(Event::Answer { call, outcome });
            }
        }
    }

    fn write_cancel(&mut self, call: CallId) {
        if self.side == Side::Bridge {
            // The envelope's own id stays empty; the target is named inside (wire contract §1.6).
            self.tell(CancelRequest { request_id: call.to_string() }.into());
        }
    }

    /// The handshake's own request: written at once, its answer known by its kind.
    fn request_in_handshake(&mut self, request: Msg) {
        let id = self.ids.next().to_string();
        self.write(Turn::Now, &id, request);
    }

    fn write(&mut self, turn: Turn, id: &str, message: Msg) {
        let envelope = Envelope { msg: Some(message), request_id: id.into(), ..Default::default() };
        let out = match turn {
            Turn::Next => &mut self.urgent,
            Turn::Now => &mut self.out,
            Turn::AfterHandshake => &mut self.deferred,
        };
        if let Err(error) = self.encoder.encode_envelope(&envelope, out) {
            self.notice(Notice::Malformed { reason: error.to_string() });
        }
    }

    fn notice(&mut self, notice: Notice) {
        self.events.push_back(Event::Noticed(notice));
    }
}

/// When a message may be written.
#[derive(Debug, Clone, Copy)]
enum Turn {
    /// Before anything that is queued.
    Next,
    /// In order.
    Now,
    /// Once the handshake that is open has ended.
    AfterHandshake,
}

/// Whether `answer` is the kind of message that a request called `name` is owed, for answers without an id.
fn answers(answer: &Msg, name: &'static str) -> bool {
    match answer {
        Msg::RegisterMiddlewareResponse(_) => name == "register_middleware",
        Msg::ActiveTools(_) => {
            matches!(
                name,
                "enable_tools" | "disable_tools" | "set_allowed" | "set_blocked" | "get_active_tools" | "batch"
            )
        }
        _ => false,
    }
}
