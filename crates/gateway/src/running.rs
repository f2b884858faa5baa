//! The calls that run in one session with a server, to find the client that a message of the server concerns.
//!
//! A message of a session names no call. It is never passed to a client of another owner than the one that it may be for.
//! That includes clients whose calls have ended: a server may work on a call that was cancelled or answered, and send late
//! messages. Such calls are remembered in sessions that clients share.

mod answered;
mod ended;
pub(crate) mod origin;

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use protomcp_client::ClientSession;
use protomcp_fair::may_take_slot;
use protomcp_server::{Context, Owner, SessionId};

use crate::limits::GatewayLimits;
use crate::reach::now;
use crate::running::answered::Answered;
use crate::running::ended::EndedCalls;
pub(crate) use crate::running::origin::Origin;
use crate::running::origin::is_user;

/// The time after an answer for which late messages of its call are expected.
const LATE: Duration = Duration::from_secs(10);

/// The running calls, in the order in which they began.
#[derive(Debug, Default)]
pub(crate) struct Running {
    calls: Mutex<Calls>,
    /// The time for which calls without an answer are remembered. `None`: the session has one client.
    memory: Option<Duration>,
}

#[derive(Debug, Default)]
struct Calls {
    last: u64,
    calls: BTreeMap<u64, Call>,
    /// The number of them of each owner.
    shares: HashMap<Owner, usize>,
    ended: EndedCalls,
    answered: Answered,
    /// The session with the server that is open, by its number.
    connection: u64,
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
    /// The session with a stateful server, which may send late messages of the call.
    connection: Option<u64>,
    is_answered: bool,
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
    /// A call that has ended.
    Ended,
    /// It may be for any of several callers.
    Ambiguous,
    /// No call is running.
    None,
}

/// The state of a call that a message may concern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Progress {
    Working,
    /// It waits for an answer of its client.
    Asking,
    /// It has ended without an answer of the server.
    Ended,
}

/// A call that a message may concern.
type Candidate = (Origin, Progress);

/// The index of the call that a message is taken for; `None`: it could be for several callers.
///
/// Calls of one session are one caller, and the newest one is taken. Among calls of one user, a call that waits for an
/// answer of its client sends nothing, so the only other one is taken: one that works rather than one that has ended. An
/// address is not one user.
fn choose(calls: &[Candidate]) -> Option<usize> {
    let (first, _) = calls.first()?;
    let names_session = ![SessionId::STATELESS, SessionId::DETACHED].contains(&first.session);
    if calls.len() == 1 || (names_session && calls.iter().all(|(origin, _)| origin == first)) {
        let newest = |wanted| calls.iter().rposition(|(_, progress)| *progress == wanted);
        return newest(Progress::Working).or_else(|| newest(Progress::Asking)).or_else(|| newest(Progress::Ended));
    }
    if !is_user(&first.owner) || calls.iter().any(|(origin, _)| origin.owner != first.owner) {
        return None;
    }
    let all = |wanted| calls.iter().enumerate().filter(move |(_, (_, progress))| *progress == wanted);
    let mut others = all(Progress::Working).chain(all(Progress::Ended));
    let (index, _) = others.next()?;
    match others.next() {
        Some((_, (_, Progress::Working))) => None,
        Some(_) | None => Some(index),
    }
}

impl Running {
    /// The calls of a session that clients share. A call without an answer is remembered for as long as a call may take.
    pub(crate) fn of_several(limits: &GatewayLimits) -> Self {
        Self { memory: Some(limits.total_timeout), ..Self::default() }
    }

    /// A session with the server is open, which knows no earlier call.
    pub(crate) fn opened(&self, session: &ClientSession) {
        let mut running = self.lock();
        running.connection = session.id();
        running.ended = EndedCalls::default();
        running.answered = Answered::default();
    }

    /// A call begins in this session with the server, which has room for `max` of them. `None`: its owner has its share.
    pub(crate) fn begin(
        self: &Arc<Self>,
        context: Context,
        session: &ClientSession,
        max: usize,
    ) -> Option<RunningCall> {
        let mut running = self.lock();
        let owner = context.caller().owner.clone();
        let own = running.shares.get(&owner).copied().unwrap_or_default();
        if !may_take_slot(own, running.calls.len(), max) {
            return None;
        }
        running.shares.insert(owner, own + 1);
        running.last += 1;
        let number = running.last;
        running.calls.insert(number, Call { context, questions: 0 });
        let connection = session.server().is_stateful().then(|| session.id());
        Some(RunningCall { number, all: Arc::clone(self), connection, is_answered: false })
    }

    /// The client of a call is asked.
    pub(crate) fn ask(self: &Arc<Self>, number: u64) -> OpenQuestion {
        if let Some(call) = self.lock().calls.get_mut(&number) {
            call.questions += 1;
        }
        OpenQuestion { number, all: Arc::clone(self) }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.lock().calls.is_empty()
    }

    /// The call that a question about all clients is taken for: the answer is the same for the calls with an answer.
    pub(crate) fn caller_of_all(&self) -> Caller {
        self.chosen(&mut self.lock(), now())
    }

    /// The call that a message of the server is taken for. After an answer for another client, that is none.
    pub(crate) fn caller(&self) -> Caller {
        let (mut running, now) = (self.lock(), now());
        match self.chosen(&mut running, now) {
            Caller::Of(_, ref context)
                if running.answered.are_others(|origin| origin.is_one_with(&Origin::of(context)), now) =>
            {
                Caller::Ambiguous
            }
            caller => caller,
        }
    }

    /// True if each message of the server is for callers of this kind.
    pub(crate) fn are_all(&self, is_own: impl Fn(&Origin) -> bool) -> bool {
        let (mut running, now) = (self.lock(), now());
        running.ended.forget(now);
        !running.ended.are_too_many()
            && running.ended.origins().all(&is_own)
            && running.calls.values().all(|call| is_own(&Origin::of(&call.context)))
            && !running.answered.are_others(is_own, now)
    }

    fn chosen(&self, running: &mut Calls, now: Instant) -> Caller {
        running.ended.forget(now);
        if running.ended.are_too_many() {
            return Caller::Ambiguous;
        }
        let ended = running.ended.origins().map(|origin| (None, (origin.clone(), Progress::Ended)));
        let open = running.calls.iter().filter_map(|(number, call)| {
            let is_over = call.context.is_cancelled();
            let progress = match call.questions {
                _ if is_over && self.memory.is_none() => return None,
                _ if is_over => Progress::Ended,
                0 => Progress::Working,
                _ => Progress::Asking,
            };
            Some((Some((*number, &call.context)), (Origin::of(&call.context), progress)))
        });
        let (calls, candidates): (Vec<_>, Vec<_>) = ended.chain(open).unzip();
        match choose(&candidates) {
            Some(index) if candidates[index].1 == Progress::Ended => Caller::Ended,
            Some(index) => calls[index].map_or(Caller::Ended, |(number, call)| Caller::Of(number, call.clone())),
            None if candidates.is_empty() => Caller::None,
            None => Caller::Ambiguous,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Calls> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RunningCall {
    /// The server has answered.
    pub(crate) fn answered(mut self) {
        self.is_answered = true;
    }
}

impl Drop for RunningCall {
    fn drop(&mut self) {
        let mut running = self.all.lock();
        let Some(call) = running.calls.remove(&self.number) else { return };
        let origin = Origin::of(&call.context);
        if let Entry::Occupied(mut share) = running.shares.entry(origin.owner.clone()) {
            *share.get_mut() -= 1;
            if *share.get() == 0 {
                share.remove();
            }
        }
        let Some(memory) = self.all.memory.filter(|_| self.connection == Some(running.connection)) else { return };
        if self.is_answered {
            running.answered.add(origin, now() + LATE);
        } else {
            running.ended.add(origin, now() + memory);
        }
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
        use Progress::{Asking, Ended, Working};
        let address = |last| Owner::of_address([10, 0, 0, last].into());
        let call = |session: u64, owner: &str, progress| {
            let session = if session == 0 { SessionId::STATELESS } else { SessionId::new(session) };
            (Origin { session, owner: Owner::Principal(owner.into()) }, progress)
        };
        let from = |session: u64, last, progress| {
            (Origin { session: SessionId::new(session), owner: address(last) }, progress)
        };
        for (calls, chosen) in [
            (vec![], None),
            (vec![call(0, "a", Working)], Some(0)),
            (vec![call(0, "a", Asking)], Some(0)),
            (vec![call(0, "a", Ended)], Some(0)),
            (vec![call(1, "a", Working), call(1, "a", Working)], Some(1)),
            (vec![call(1, "a", Working), call(1, "a", Asking)], Some(0)),
            (vec![call(1, "a", Asking), call(1, "a", Asking)], Some(1)),
            (vec![call(1, "a", Ended), call(1, "a", Asking)], Some(1)),
            (vec![call(1, "a", Working), call(2, "a", Working)], None),
            (vec![call(1, "a", Asking), call(2, "a", Working)], Some(1)),
            (vec![call(1, "a", Asking), call(2, "a", Asking)], None),
            (vec![call(1, "a", Asking), call(2, "b", Working)], None),
            (vec![call(0, "a", Asking), call(0, "a", Working)], Some(1)),
            (vec![call(0, "a", Working), call(0, "a", Working)], None),
            // A call that has ended may still ask.
            (vec![call(1, "a", Ended), call(2, "b", Working)], None),
            (vec![call(1, "a", Ended), call(2, "a", Working)], Some(1)),
            (vec![call(1, "a", Ended), call(2, "a", Working), call(3, "a", Working)], None),
            (vec![call(1, "a", Ended), call(2, "a", Asking)], Some(0)),
            (vec![call(0, "a", Ended), call(0, "b", Working)], None),
            // Several people can have one address.
            (vec![from(1, 1, Asking), from(2, 1, Working)], None),
            (vec![from(1, 1, Asking), from(1, 1, Working)], Some(1)),
        ] {
            assert_eq!(choose(&calls), chosen, "{calls:?}");
        }
    }
}
