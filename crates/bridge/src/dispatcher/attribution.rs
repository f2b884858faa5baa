//! The caller of each running call: a value, kept by `dispatcher`.
//!
//! A message or question of a process during a call concerns the caller of that call, and no other. A process with our
//! extension of the envelope names the call. Published SDKs do not, so the bridge goes by the running calls: a single
//! call, or several of a single session, are unambiguous, unless a request of another owner, such as a read, runs as well.
//! The handler of a call or request that was given up may continue, so it counts until it has answered or has had the time
//! of a call: its later messages must not reach another owner.

use std::collections::{HashMap, VecDeque};
use std::time::Instant;

use protomcp_link::CallId;
use protomcp_server::{CallerKey, Context, Owner, SessionId};

use crate::generation::Generation;

/// The caller of a call that is running.
#[derive(Debug, Clone)]
pub(crate) struct Caller {
    /// The other calls with which the call takes turns.
    pub(crate) key: CallerKey,
    session: SessionId,
    context: Context,
    /// The call has become a task that others may overlap.
    is_task: bool,
}

impl Caller {
    pub(crate) fn of(context: &Context) -> Self {
        Self { key: context.caller().clone(), session: context.session(), context: context.clone(), is_task: false }
    }
}

/// The recipient of a question or message of a process.
#[derive(Debug, Clone)]
pub(crate) enum Recipient {
    /// The caller of this call.
    Call(CallId, Context),
    /// The client of this request, which is not a call.
    Request(Context),
    /// A session with several running calls, and its owner.
    Session(SessionId, Owner),
    /// A call or request that has ended.
    Over,
    /// No call is named, and none is running, or calls of several sessions are.
    Anyone,
}

/// The most ended calls whose session is still known. A message right before a result is often read right after it.
const REMEMBERED: usize = 64;

/// The most given-up calls and requests of one process that are remembered. With one more, its messages without a call are
/// attributed to none until the time of that one is over.
const MAX_GIVEN_UP: usize = 1024;

/// The callers of all calls that are running.
#[derive(Debug, Default)]
pub(crate) struct Attribution {
    running: HashMap<(Generation, CallId), Caller>,
    /// Requests other than calls. Only messages that name them concern them; others may come from their handlers.
    requests: HashMap<(Generation, CallId), Context>,
    /// The last ended calls and requests, oldest first.
    ended: VecDeque<(Generation, CallId, SessionId)>,
    /// Calls and requests whose handlers may continue, with the time until which that counts.
    given_up: HashMap<(Generation, CallId), (Owner, Instant)>,
    /// The processes with more of these than are remembered, and the times until which they have them.
    crowded: HashMap<Generation, Instant>,
}

impl Attribution {
    pub(crate) fn begin(&mut self, generation: Generation, call: CallId, caller: Caller) {
        self.running.insert((generation, call), caller);
    }

    pub(crate) fn end(&mut self, generation: Generation, call: CallId) {
        let Some(caller) = self.running.remove(&(generation, call)) else { return };
        self.remember(generation, call, caller.session);
    }

    /// A call continues as a task, which others may overlap.
    pub(crate) fn detach(&mut self, generation: Generation, call: CallId) {
        if let Some(caller) = self.running.get_mut(&(generation, call)) {
            caller.is_task = true;
        }
    }

    /// A request other than a call was sent to the process.
    pub(crate) fn begin_request(&mut self, generation: Generation, request: CallId, context: Context) {
        self.requests.insert((generation, request), context);
    }

    /// It was answered.
    pub(crate) fn end_request(&mut self, generation: Generation, request: CallId) {
        let Some(context) = self.requests.remove(&(generation, request)) else { return };
        self.remember(generation, request, context.session());
    }

    /// A call or request was given up. Its handler may continue until [`handler_ended`](Self::handler_ended), but counts
    /// no longer than `until`.
    pub(crate) fn give_up(&mut self, generation: Generation, call: CallId, now: Instant, until: Instant) {
        let call_of = |caller: Caller| (caller.session, caller.key.owner);
        let request_of = |context: Context| (context.session(), context.caller().owner.clone());
        let running = self.running.remove(&(generation, call)).map(call_of);
        let given_up = running.or_else(|| self.requests.remove(&(generation, call)).map(request_of));
        let Some((session, owner)) = given_up else { return };
        self.remember(generation, call, session);
        if self.given_up_by(generation) >= MAX_GIVEN_UP {
            self.given_up.retain(|_, (_, until)| *until > now);
        }
        if self.given_up_by(generation) < MAX_GIVEN_UP {
            self.given_up.insert((generation, call), (owner, until));
        } else {
            let latest = self.crowded.entry(generation).or_insert(until);
            *latest = until.max(*latest);
        }
    }

    /// The handler of a call or request that was given up has ended.
    pub(crate) fn handler_ended(&mut self, generation: Generation, call: CallId) {
        self.given_up.remove(&(generation, call));
    }

    /// A process has ended, and with it all its handlers.
    pub(crate) fn forget(&mut self, generation: Generation) {
        self.given_up.retain(|(of, _), _| *of != generation);
        self.crowded.remove(&generation);
    }

    /// The remembered ones of a process.
    fn given_up_by(&self, generation: Generation) -> usize {
        self.given_up.keys().filter(|(of, _)| *of == generation).count()
    }

    /// The recipient of a message that names this call, or none.
    pub(crate) fn recipient(&self, generation: Generation, for_call: &str, now: Instant) -> Recipient {
        if !for_call.is_empty() {
            let Some(call) = CallId::from_wire(for_call) else { return Recipient::Over };
            let call_of = |caller: &Caller| Recipient::Call(call, caller.context.clone());
            let named = self.running.get(&(generation, call)).map(call_of);
            let request = || Some(Recipient::Request(self.requests.get(&(generation, call))?.clone()));
            return named.or_else(request).unwrap_or(Recipient::Over);
        }
        let mut running = self.calls(generation);
        let Some((call, one)) = running.next() else { return Recipient::Anyone };
        if self.may_be_of_another(generation, &one.key.owner, now) {
            return Recipient::Anyone;
        }
        match running.next() {
            None => Recipient::Call(call, one.context.clone()),
            // Requests without a session may come from different clients.
            Some(_) if one.session == SessionId::STATELESS => Recipient::Anyone,
            Some((_, other))
                if other.session == one.session && running.all(|(_, caller)| caller.session == one.session) =>
            {
                Recipient::Session(one.session, one.key.owner.clone())
            }
            Some(_) => Recipient::Anyone,
        }
    }

    /// The session whose tool list is changed by a message for this call, or for no call; `None`: the list of all.
    /// [`SessionId::STATELESS`], which has no list, if the call has ended or if the running calls belong to no session:
    /// then no list changes (MCP 2026-07-28, server/tools).
    pub(crate) fn list_scope(&self, generation: Generation, for_call: &str) -> Option<SessionId> {
        if !for_call.is_empty() {
            let call = CallId::from_wire(for_call);
            let session = |call| match self.running.get(&(generation, call)) {
                Some(caller) => Some(caller.session),
                None => self.requests.get(&(generation, call)).map(Context::session),
            };
            return Some(call.and_then(session).unwrap_or(SessionId::STATELESS));
        }
        let mut sessions = self.calls(generation).map(|(_, caller)| caller.session);
        let one = sessions.next()?;
        sessions.all(|session| session == one).then_some(one)
    }

    /// The session of a call that has ended a short while ago.
    pub(crate) fn session_of_ended(&self, generation: Generation, call: &str) -> Option<SessionId> {
        let call = CallId::from_wire(call)?;
        let mut ended = self.ended.iter().rev();
        ended.find(|(of, ended, _)| (*of, *ended) == (generation, call)).map(|(_, _, session)| *session)
    }

    /// True if a call of this session is running, or the call or request of this name.
    pub(crate) fn is_running(&self, generation: Generation, session: SessionId, for_call: &str) -> bool {
        if !for_call.is_empty() {
            let is_named = |call| {
                self.running.contains_key(&(generation, call)) || self.requests.contains_key(&(generation, call))
            };
            return CallId::from_wire(for_call).is_some_and(is_named);
        }
        self.calls(generation).any(|(_, caller)| caller.session == session)
    }

    /// True if this call is running, or a call or request that was made before it.
    pub(crate) fn runs_until(&self, generation: Generation, call: CallId) -> bool {
        self.running.keys().chain(self.requests.keys()).any(|(of, running)| *of == generation && *running <= call)
    }

    /// True if a request is running that was made before this one, or with `None` any; tasks do not count.
    pub(crate) fn runs_before(&self, generation: Generation, last: Option<CallId>) -> bool {
        let calls = self.running.iter().filter(|(_, caller)| !caller.is_task).map(|(key, _)| key);
        let is_before = |name: CallId| last.is_none_or(|last| name <= last);
        calls.chain(self.requests.keys()).any(|(of, name)| *of == generation && is_before(*name))
    }

    /// True if a call of another owner than this one is running.
    pub(crate) fn runs_for_others(&self, generation: Generation, owner: &Owner) -> bool {
        self.calls(generation).any(|(_, caller)| caller.key.owner != *owner)
    }

    fn calls(&self, generation: Generation) -> impl Iterator<Item = (CallId, &Caller)> {
        let running = self.running.iter().filter(move |((of, _), _)| *of == generation);
        running.map(|((_, call), caller)| (*call, caller))
    }

    /// True if the handler of another owner's request may be running, or of a call or request that another owner has given
    /// up.
    fn may_be_of_another(&self, generation: Generation, owner: &Owner, now: Instant) -> bool {
        let mut requests = self.requests.iter().filter(|((of, _), _)| *of == generation);
        let mut given_up = self.given_up.iter().filter(|((of, _), (_, until))| *of == generation && *until > now);
        self.crowded.get(&generation).is_some_and(|until| *until > now)
            || requests.any(|(_, context)| context.caller().owner != *owner)
            || given_up.any(|(_, (other, _))| other != owner)
    }

    fn remember(&mut self, generation: Generation, call: CallId, session: SessionId) {
        if self.ended.len() == REMEMBERED {
            self.ended.pop_front();
        }
        self.ended.push_back((generation, call, session));
    }
}

#[cfg(test)]
mod tests;
