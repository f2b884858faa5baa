//! The calls of a client that have no answer yet, in the order of their deadlines.
//!
//! ```text
//!              session opened                answer
//!   Waiting ───────────────────▶ Sent ────────────────────▶ (gone)
//!      ▲                        │ ▲ │ ▲
//!      └──── session lost ──────┘ │ │ └───── poll is due ─────┐
//!                    inputs given │ │ input_required           │
//!                               Asking ◀──────── a task ──▶ Polling
//! ```

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use protomcp_types::{Amount, JsonObject, Params, RawJson};

use crate::caller::CallerKey;
use crate::outgoing::CallId;

/// The times that a request is sent again after a reply that may mean a lost session, and may concern the request: in the
/// new session it shows.
pub(super) const MAX_GUESSES: u32 = 1;

/// A request for the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutgoingCall {
    /// The method.
    pub method: Cow<'static, str>,
    /// The parameters. Members of `_meta` that the revision requires are added.
    pub params: Params,
    /// Header fields, for transports that have them.
    pub fields: Vec<(String, String)>,
    /// Ask for reports of progress.
    pub wants_progress: bool,
    /// The time without answer and progress, if not the one of the limits.
    pub timeout: Option<Duration>,
    /// The time in all, if not the one of the limits.
    pub total_timeout: Option<Duration>,
    /// Ask for a task, where the server can make one; 2025-11-25 only.
    pub task: Option<TaskWish>,
    /// The part of the time in all that has passed already, in an earlier attempt.
    pub elapsed: Duration,
    /// The caller that the request is sent for, if the program has several.
    pub caller: Option<Arc<CallerKey>>,
}

/// The wish that a call becomes a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TaskWish {
    /// The time for which the server shall keep the task.
    pub ttl: Option<Duration>,
}

impl OutgoingCall {
    /// A request without progress.
    #[must_use]
    pub fn new(method: impl Into<Cow<'static, str>>, params: Params) -> Self {
        Self {
            method: method.into(),
            params,
            fields: Vec::new(),
            wants_progress: false,
            timeout: None,
            total_timeout: None,
            task: None,
            elapsed: Duration::ZERO,
            caller: None,
        }
    }
}

/// The state of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum CallState {
    /// There is no session at the moment.
    Waiting,
    /// The server owes the answer to the exchange with this id, until this time.
    Sent(u64, Instant),
    /// The client answers questions.
    Asking,
    /// The state of the task is asked for at this time.
    Polling(Instant),
}

/// One call.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) request: OutgoingCall,
    pub(super) state: CallState,
    /// The end of its time in all.
    pub(super) until: Instant,
    pub(super) total: Duration,
    pub(super) token: Option<u64>,
    pub(super) last_progress: Option<Amount>,
    pub(super) rounds: u32,
    /// The number of times it was sent again to a new session.
    pub(super) repeats: u32,
    pub(super) round: Round,
    pub(super) task: Option<TaskRef>,
}

/// The members that the next round brings: its answers and the state of the server.
#[derive(Debug, Clone, Default)]
pub(super) struct Round {
    pub(super) responses: Option<JsonObject>,
    /// The text that was written, so that it goes back without a change.
    pub(super) state: Option<RawJson>,
}

/// The task that a call has become.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TaskRef {
    pub(super) id: String,
    pub(super) interval: Duration,
    /// The keys of the questions that were passed on; a server asks again until it has the answers.
    pub(super) asked: BTreeSet<String>,
    /// Answers that the server has not confirmed.
    pub(super) answers: Option<JsonObject>,
}

impl Call {
    pub(super) fn new(request: OutgoingCall, now: Instant, total: Duration) -> Self {
        Self {
            until: now + total.saturating_sub(request.elapsed),
            request,
            state: CallState::Waiting,
            total,
            token: None,
            last_progress: None,
            rounds: 0,
            repeats: 0,
            round: Round::default(),
            task: None,
        }
    }

    fn due(&self) -> Instant {
        match self.state {
            CallState::Waiting | CallState::Asking => self.until,
            CallState::Sent(_, at) | CallState::Polling(at) => at.min(self.until),
        }
    }
}

/// All calls without an answer.
#[derive(Debug, Default)]
pub(super) struct Calls {
    open: HashMap<CallId, Call>,
    due: BTreeSet<(Instant, CallId)>,
}

impl Calls {
    pub(super) fn len(&self) -> usize {
        self.open.len()
    }

    pub(super) fn insert(&mut self, id: CallId, call: Call) {
        self.due.insert((call.due(), id));
        self.open.insert(id, call);
    }

    pub(super) fn get(&self, id: CallId) -> Option<&Call> {
        self.open.get(&id)
    }

    /// Changes a call, and files it under its new deadline.
    pub(super) fn change<T>(&mut self, id: CallId, change: impl FnOnce(&mut Call) -> T) -> Option<T> {
        let call = self.open.get_mut(&id)?;
        let before = call.due();
        let changed = change(call);
        let after = call.due();
        if before != after {
            self.due.remove(&(before, id));
            self.due.insert((after, id));
        }
        Some(changed)
    }

    pub(super) fn remove(&mut self, id: CallId) -> Option<Call> {
        let call = self.open.remove(&id)?;
        self.due.remove(&(call.due(), id));
        Some(call)
    }

    /// The first deadline.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.due.first().map(|(at, _)| *at)
    }

    /// A call whose deadline has passed.
    pub(super) fn overdue(&self, now: Instant) -> Option<CallId> {
        self.due.first().filter(|(at, _)| *at <= now).map(|(_, id)| *id)
    }

    /// The exchanges whose time is over although their calls have time left.
    pub(super) fn late(&self, now: Instant) -> Vec<u64> {
        let due = self.due.iter().take_while(|(at, _)| *at <= now);
        let number = |(_, id): &(Instant, CallId)| match self.open.get(id) {
            Some(Call { state: CallState::Sent(number, _), until, .. }) if *until > now => Some(*number),
            _ => None,
        };
        due.filter_map(number).collect()
    }

    /// All calls, oldest first.
    pub(super) fn ids(&self) -> Vec<CallId> {
        let mut ids: Vec<_> = self.open.keys().copied().collect();
        ids.sort_unstable();
        ids
    }

    /// The calls that wait for a session, oldest first.
    pub(super) fn waiting(&self) -> Vec<CallId> {
        let mut ids = self.ids();
        ids.retain(|id| self.open[id].state == CallState::Waiting);
        ids
    }

    /// The call that waits for the state of this task.
    pub(super) fn polling(&self, task: &str) -> Option<CallId> {
        let is_polling = |call: &Call| {
            matches!(call.state, CallState::Polling(_)) && call.task.as_ref().is_some_and(|own| own.id == task)
        };
        self.open.iter().find(|(_, call)| is_polling(call)).map(|(id, _)| *id)
    }
}
