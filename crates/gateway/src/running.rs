//! The calls that run in one session with a server, to find the client that a message of the server concerns.
//!
//! A message of a session names no call. It is never passed to a client of another owner than the one that it may be for.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use protomcp_server::{Context, Owner, SessionId};

/// The running calls, in the order in which they began.
#[derive(Debug, Default)]
pub(crate) struct Running(Mutex<Calls>);

#[derive(Debug, Default)]
struct Calls {
    last: u64,
    calls: BTreeMap<u64, Call>,
}

#[derive(Debug)]
struct Call {
    context: Context,
    /// Its questions without an answer.
    questions: usize,
}

/// A running call. Dropping it ends the call.
#[derive(Debug)]
pub(crate) struct RunningCall {
    number: u64,
    all: Arc<Running>,
}

/// A question of a call. Dropping it ends the question.
#[derive(Debug)]
pub(crate) struct OpenQuestion {
    number: u64,
    all: Arc<Running>,
}

/// The call that a message of the server is taken for.
#[derive(Debug)]
pub(crate) enum Caller {
    /// This call, with its number.
    Of(u64, Context),
    /// Calls of several callers are running.
    Ambiguous,
    /// No call is running.
    None,
}

/// A call that a message may concern.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Candidate {
    session: SessionId,
    owner: Owner,
    is_asking: bool,
}

/// The index of the call that a message is taken for; `None`: it could be for several callers.
///
/// Calls of one session are one caller, and the newest one is taken. Among calls of one owner, a call that waits for an
/// answer of its client sends nothing, so the only other one is taken.
fn choose(calls: &[Candidate]) -> Option<usize> {
    let first = calls.first()?;
    let is_session = first.session != SessionId::STATELESS && calls.iter().all(|call| call.session == first.session);
    let newest = || calls.iter().rposition(|call| !call.is_asking).or_else(|| calls.len().checked_sub(1));
    if calls.len() == 1 || is_session {
        return newest();
    }
    let working = calls.iter().filter(|call| !call.is_asking).count();
    (working == 1 && calls.iter().all(|call| call.owner == first.owner)).then(newest).flatten()
}

impl Running {
    /// A call begins.
    pub(crate) fn begin(self: &Arc<Self>, context: Context) -> RunningCall {
        let mut running = self.lock();
        running.last += 1;
        let number = running.last;
        running.calls.insert(number, Call { context, questions: 0 });
        RunningCall { number, all: Arc::clone(self) }
    }

    /// The client of a call is asked.
    pub(crate) fn ask(self: &Arc<Self>, number: u64) -> OpenQuestion {
        if let Some(call) = self.lock().calls.get_mut(&number) {
            call.questions += 1;
        }
        OpenQuestion { number, all: Arc::clone(self) }
    }

    /// True if the call has not ended.
    pub(crate) fn has(&self, number: u64) -> bool {
        self.lock().calls.contains_key(&number)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.lock().calls.is_empty()
    }

    /// The call that a message of the server is taken for.
    pub(crate) fn caller(&self) -> Caller {
        let running = self.lock();
        let calls: Vec<_> = running.calls.iter().filter(|(_, call)| !call.context.is_cancelled()).collect();
        let candidate = |(_, call): &(&u64, &Call)| Candidate {
            session: call.context.session(),
            owner: call.context.caller().owner.clone(),
            is_asking: call.questions > 0,
        };
        let candidates: Vec<_> = calls.iter().map(candidate).collect();
        match choose(&candidates).and_then(|index| calls.get(index)) {
            Some((number, call)) => Caller::Of(**number, call.context.clone()),
            None if calls.is_empty() => Caller::None,
            None => Caller::Ambiguous,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Calls> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for RunningCall {
    fn drop(&mut self) {
        self.all.lock().calls.remove(&self.number);
    }
}

impl Drop for OpenQuestion {
    fn drop(&mut self) {
        if let Some(call) = self.all.lock().calls.get_mut(&self.number) {
            call.questions = call.questions.saturating_sub(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_taken_for_the_only_caller() {
        let call = |session: u64, owner: &str, is_asking| Candidate {
            session: if session == 0 { SessionId::STATELESS } else { SessionId::new(session) },
            owner: Owner::Principal(owner.into()),
            is_asking,
        };
        for (calls, chosen) in [
            (vec![], None),
            (vec![call(0, "a", false)], Some(0)),
            (vec![call(0, "a", true)], Some(0)),
            (vec![call(1, "a", false), call(1, "a", false)], Some(1)),
            (vec![call(1, "a", false), call(1, "a", true)], Some(0)),
            (vec![call(1, "a", true), call(1, "a", true)], Some(1)),
            (vec![call(1, "a", false), call(2, "a", false)], None),
            (vec![call(1, "a", true), call(2, "a", false)], Some(1)),
            (vec![call(1, "a", true), call(2, "a", true)], None),
            (vec![call(1, "a", true), call(2, "b", false)], None),
            (vec![call(0, "a", true), call(0, "a", false)], Some(1)),
            (vec![call(0, "a", false), call(0, "a", false)], None),
        ] {
            assert_eq!(choose(&calls), chosen, "{calls:?}");
        }
    }
}
