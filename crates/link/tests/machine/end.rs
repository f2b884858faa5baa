//! One end of a link with a naive record of what may happen to it.
//!
//! * A call has exactly one outcome, or none if it was cancelled, and it has it when its time is over.
//! * Progress is heard only by who listens, and only before the answer.
//! * An answer's text belongs to its call.
//! * After the end the only events are the failures of later calls.
//! * What is kept in memory is bounded.

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

use bytes::BytesMut;
use protomcp_codec::Limits;
use protomcp_envelope::Msg;
use protomcp_link::{CallError, CallId, CallIds, Closed, Config, Connection, Event, Side};

/// Small limits, so that a short life meets all of them.
fn config() -> Config {
    Config {
        limits: Limits { max_frame: 2000, max_payload: 4000, max_skip: 100_000, max_entries: 20 },
        max_pending: 8,
        max_unwritten: 3000,
        max_assembling: 5000,
        max_middleware: 3,
        handshake_timeout: Duration::from_secs(30),
        handshake_quiet: Duration::from_millis(500),
        reload_timeout: Duration::from_secs(3),
        ..Config::default()
    }
}

/// More than this must never be kept: calls, replies and pieces up to their limits, with one frame over each.
const MOST_KEPT: usize = 3000 + 3000 + 5000 + 3 * 2004;

/// The state of a call.
#[expect(clippy::struct_excessive_bools, reason = "a model of a call: each fact by itself")]
#[derive(Debug)]
pub(crate) struct Call {
    listens: bool,
    timeout: Duration,
    /// Set when it is written.
    deadline: Option<Instant>,
    pub(crate) given_up: bool,
    pub(crate) outcome: bool,
    after_the_end: bool,
    /// It may still be held by a silence.
    worked_around: bool,
}

/// One machine and the record of it.
pub(crate) struct End {
    pub(crate) side: Side,
    pub(crate) connection: Connection,
    ids: CallIds,
    pub(crate) calls: BTreeMap<CallId, Call>,
    /// On the way here.
    pub(crate) wire: VecDeque<u8>,
    input: BytesMut,
    pub(crate) closed: bool,
    /// A handshake is open.
    pub(crate) registering: bool,
    /// A silence lasts until then at most.
    worked_around_until: Instant,
}

/// The longest silence.
const SILENCE: Duration = Duration::from_secs(2);

impl End {
    pub(crate) fn new(side: Side, now: Instant) -> Self {
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
            worked_around_until: now,
        }
    }

    pub(crate) fn call(&mut self, now: Instant, request: Msg, listens: bool, timeout: Duration) {
        let id = self.ids.next();
        let deadline = (!self.registering).then(|| now.max(self.worked_around_until) + timeout);
        let worked_around = now <= self.worked_around_until;
        let after_the_end = self.closed;
        let call = Call { listens, timeout, deadline, given_up: false, outcome: false, after_the_end, worked_around };
        self.calls.insert(id, call);
        self.connection.call(now, id, request, timeout);
    }

    pub(crate) fn cancel(&mut self, which: usize) {
        if self.calls.is_empty() {
            return;
        }
        let which = which % self.calls.len();
        let (id, call) = self.calls.iter_mut().nth(which).expect("there are calls");
        call.given_up |= !call.outcome;
        self.connection.cancel(*id);
    }

    /// Up to this many bytes of the wire are read.
    pub(crate) fn carry(&mut self, now: Instant, bytes: usize) {
        if !self.connection.may_read() {
            return;
        }
        let bytes = bytes.min(self.wire.len());
        self.input.extend(self.wire.drain(..bytes));
        if let Err(error) = self.connection.handle_bytes(now, &mut self.input) {
            self.connection.close(Closed::Broken(error.to_string()));
        }
        assert!(self.connection.bytes_needed() > 0);
    }

    /// Checks what happened; gives back what the peer asked.
    pub(crate) fn drain(&mut self, now: Instant) -> Vec<(String, Msg)> {
        let mut questions = Vec::new();
        while let Some(event) = self.connection.poll_event() {
            let refusal = matches!(&event, Event::Answer { call, .. } if self.calls[call].after_the_end);
            assert!(!self.closed || refusal, "after the end: {event:?}");
            match event {
                Event::Answer { call, outcome } => {
                    self.outcome(call, outcome.and_then(|it| it.finish(&config().limits)));
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
                Event::Request { id, message, .. } => questions.push((id, message)),
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
            call.worked_around |= now <= self.worked_around_until;
            call.deadline = Some(now.max(self.worked_around_until) + call.timeout);
        }
    }

    pub(crate) fn reload(&mut self, now: Instant) {
        self.connection.reload(now);
        if self.closed {
            return;
        }
        self.registering = true;
        let still = now <= self.worked_around_until;
        for call in self.calls.values_mut().filter(|call| call.worked_around && still) {
            // The handshake now defers the messages that the workaround deferred before.
            call.deadline = None;
        }
    }

    /// Nothing may be written for a while.
    pub(crate) fn work_around_two_readers(&mut self, now: Instant) {
        self.connection.work_around_two_readers(now);
        let still = now <= self.worked_around_until;
        self.worked_around_until = now + SILENCE;
        for call in self.calls.values_mut() {
            call.worked_around &= still;
            if let (true, Some(deadline)) = (call.worked_around, &mut call.deadline) {
                *deadline = self.worked_around_until + call.timeout;
            }
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

    pub(crate) fn check(&self, now: Instant) {
        assert!(self.side == Side::Tool || self.connection.buffered() <= MOST_KEPT, "{}", self.connection.buffered());
        assert!(!self.is_overdue(now), "{:?}", self.calls);
    }

    /// True if a call is pending although its deadline has passed and was handled.
    fn is_overdue(&self, now: Instant) -> bool {
        let waits = |call: &&Call| !call.outcome && !call.given_up;
        self.calls.values().filter(waits).any(|call| call.deadline.is_some_and(|deadline| deadline < now))
    }
}

/// The byte that all texts about a call are made of.
pub(crate) fn mark(id: &str) -> u8 {
    let number: u64 = id.strip_prefix("req-").and_then(|digits| digits.parse().ok()).unwrap_or_default();
    b'0' + u8::try_from(number % 64).expect("below 64")
}
