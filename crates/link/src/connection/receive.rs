//! Handles the messages of the peer.

use std::time::Instant;

use bytes::BytesMut;
use protomcp_codec::{Frame, Raw};
use protomcp_envelope::{
    CreateTaskResponse, Envelope, ListToolsRequest, Msg, Pong, ProgressNotification, RegisterMiddlewareRequest,
    RegisterMiddlewareResponse, Rpc, message_name,
};

use crate::answer::Answer;
use crate::assemble::Chunk;
use crate::connection::Connection;
use crate::error::{CallError, LinkError};
use crate::event::{Event, Middleware, Notice, Progress, QuestionFields};
use crate::handshake::{Outcome, Registration};
use crate::id::CallId;
use crate::kind::{Kind, is_list_control};

/// The bytes of a foreign id that are kept for the log.
const NOTED_ID_MAX: usize = 256;

impl Connection {
    pub(super) fn receive(&mut self, now: Instant, src: &mut BytesMut, most: usize) -> Result<usize, LinkError> {
        if self.closed.is_some() {
            src.clear();
            return Ok(0);
        }
        for taken in 0..most {
            let decoded = self.decoder.decode(src);
            if let (Some(tap), Ok(Some(frame))) = (&self.config.tap, &decoded) {
                match frame {
                    Frame::Envelope(envelope) => tap.envelope(self.side.other(), envelope),
                    Frame::Raw(raw) => tap.raw(self.side.other(), raw),
                    Frame::TooLarge(_) => {}
                }
            }
            match decoded {
                Ok(None) => return Ok(taken),
                Ok(Some(Frame::Envelope(envelope))) => self.handle_envelope(now, envelope),
                Ok(Some(Frame::Raw(raw))) => self.handle_raw(raw),
                Ok(Some(Frame::TooLarge(frame))) => self.handle_too_large(frame),
                Err(error) if error.is_fatal() => return Err(error.into()),
                Err(error) => self.handle_undecoded(error),
            }
        }
        Ok(most)
    }

    fn handle_envelope(&mut self, now: Instant, envelope: Envelope) {
        // Empty and unknown envelopes are ignored (docs/envelope.md, "Frames").
        let Envelope { msg: Some(message), request_id: id, for_call, question_key, more_questions, .. } = envelope
        else {
            return;
        };
        match Kind::of(self.side, &message) {
            Kind::Answer if matches!(message, Msg::Pong(_)) && self.pending.find(&id).is_none() => {}
            Kind::Answer => self.handle_answer(id, message),
            // The end that drives a link has no part in it.
            Kind::Request if matches!(message, Msg::Ping(_)) => self.reply(&id, Pong {}.into()),
            Kind::Request => {
                let question = QuestionFields { key: question_key, more: more_questions };
                self.events.push_back(Event::Request { id, message, for_call, question });
            }
            Kind::Notification => self.handle_notification(message, for_call),
            // An owner may request the list with an ordinary call; then this is its answer.
            Kind::Handshake
                if matches!(message, Msg::ToolList(_))
                    && self.pending.find_named(&id, ListToolsRequest::NAME).is_some() =>
            {
                self.handle_answer(id, message);
            }
            Kind::Handshake => self.handle_handshake(now, id, message),
            Kind::Piece => self.handle_piece(id, message),
            Kind::Foreign => self.notice(Notice::Unexpected { kind: message_name(&message) }),
        }
    }

    fn handle_answer(&mut self, id: String, message: Msg) {
        let call = self.pending.find(&id).or_else(|| {
            // The bridge acknowledges a registration without an id, and published runtimes answer list control without
            // one.
            let wanted = |name: &'static str| answers(&message, name);
            if id.is_empty() { self.pending.oldest(wanted) } else { None }
        });
        let Some(call) = call else {
            let kind = message_name(&message);
            // The task has no owner: its call was given up, or has an answer already.
            if let Msg::CreateTask(CreateTaskResponse { task_id }) = message
                && CallId::from_wire(&id).is_some()
            {
                self.cancel_task(task_id);
            }
            return self.late(id, kind);
        };
        let answer = match message {
            Msg::CallResult(rest) => Answer::with_payloads(rest, self.assembler.finish(call)),
            other => Answer::whole(other),
        };
        self.answer(call, Ok(answer));
    }

    fn handle_notification(&mut self, message: Msg, for_call: String) {
        let Msg::Progress(ProgressNotification { progress_token, progress, total, message }) = message else {
            return self.events.push_back(Event::Notification { message, for_call });
        };
        // The token sent to the process is the call's id, so tokens of two clients never collide and a stale token is
        // recognised.
        match self.pending.find(&progress_token).filter(|call| self.pending.reports(*call)) {
            Some(call) => {
                self.events.push_back(Event::Progress { call, progress: Progress { progress, total, message } });
            }
            None => self.late(progress_token, "progress"),
        }
    }

    fn handle_handshake(&mut self, now: Instant, id: String, message: Msg) {
        match message {
            Msg::ToolList(list) => {
                if let Some(unasked) = self.handshake.tool_list(now, list.tools) {
                    self.events.push_back(Event::Listed(unasked));
                }
            }
            Msg::RegisterMiddleware(request) => self.handle_registration(now, &id, request),
            Msg::ReloadResponse(_) if !self.handshake.is_open() => self.late(id, "reload_response"),
            Msg::ReloadResponse(response) => {
                if let Some(outcome) = self.handshake.reload_response(now, response) {
                    self.settle(outcome);
                }
            }
            other => self.notice(Notice::Unexpected { kind: message_name(&other) }),
        }
    }

    /// Every registration is acknowledged immediately, a late one too: the SDK blocks until then.
    fn handle_registration(&mut self, now: Instant, id: &str, request: RegisterMiddlewareRequest) {
        let RegisterMiddlewareRequest { name, priority } = request;
        let success = match self.handshake.register(now, Middleware { name, priority }) {
            Registration::Noted => true,
            Registration::Late(late) => {
                self.events.push_back(Event::LateMiddleware(late));
                true
            }
            Registration::Refused => {
                self.notice(Notice::Refused { kind: "register_middleware" });
                false
            }
        };
        // Published SDKs leave the id empty; an SDK that sets it receives it back.
        self.reply(id, RegisterMiddlewareResponse { success }.into());
    }

    fn handle_piece(&mut self, id: String, message: Msg) {
        let Some(call) = self.pending.find(&id) else { return self.late(id, message_name(&message)) };
        match message {
            Msg::StreamHeader(header) => {
                if let Err(error) = self.assembler.header(call, &header) {
                    self.answer(call, Err(error));
                }
            }
            Msg::StreamChunk(chunk) => match self.assembler.chunk(call, &chunk) {
                Chunk::More => {}
                // A large field on its own is a successful result that changes no tool list (docs/envelope.md, "Chunks").
                Chunk::Complete(raw) => {
                    self.answer(call, Ok(Answer::with_payloads(Default::default(), vec![raw])));
                }
                Chunk::Failed(error) => self.answer(call, Err(error)),
                Chunk::Headless => self.notice(Notice::Unexpected { kind: "stream_chunk" }),
            },
            other => self.notice(Notice::Unexpected { kind: message_name(&other) }),
        }
    }

    fn handle_raw(&mut self, raw: Raw) {
        let Some(call) = self.pending.find(&raw.header.request_id) else {
            return self.late(raw.header.request_id, "raw_header");
        };
        if raw.header.followed_by_result {
            if let Err(error) = self.assembler.keep(call, raw) {
                self.answer(call, Err(error));
            }
        } else {
            let mut payloads = self.assembler.finish(call);
            payloads.push(raw);
            self.answer(call, Ok(Answer::with_payloads(Default::default(), payloads)));
        }
    }

    /// Ends a handshake. Deferred messages are released at the end of this turn.
    pub(super) fn settle(&mut self, outcome: Outcome) {
        let event = match outcome {
            Outcome::Ready(handshake) => Event::Ready(handshake),
            Outcome::Failed(error) => {
                self.rejected = Some(error.clone());
                Event::HandshakeFailed(error)
            }
            Outcome::ReloadFailed(error) => Event::ReloadFailed(error),
        };
        self.events.push_back(event);
    }

    /// Writes deferred messages, or fails them if the process was rejected.
    pub(super) fn release(&mut self, now: Instant) {
        self.outbox.release_deferred();
        while let Some(deferred) = self.deferred_calls.pop() {
            match &self.rejected {
                Some(reason) => self.fail(deferred.call, CallError::NotInService(reason.clone())),
                None => {
                    self.outbox.request_bytes(&deferred.frame);
                    self.pending.insert(deferred.call, deferred.request, now);
                }
            }
        }
    }

    /// Reports an answer without a call.
    fn late(&mut self, mut id: String, kind: &'static str) {
        id.truncate(id.floor_char_boundary(NOTED_ID_MAX));
        id.shrink_to_fit();
        self.notice(Notice::LateAnswer { id, kind });
    }
}

/// True if `answer` is the kind of message that answers a request called `name`, for answers without an id.
fn answers(answer: &Msg, name: &'static str) -> bool {
    match answer {
        Msg::RegisterMiddlewareResponse(_) => name == "register_middleware",
        Msg::ActiveTools(_) => is_list_control(name),
        _ => false,
    }
}
