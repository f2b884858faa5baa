//! The writes of the logs of sessions, each session's in their order.
//!
//! The writes of a session that wait are sent together, one round after the other, so a write never overtakes an
//! earlier one. Rounds of different sessions are under way at the same time, over the one connection.
//!
//! ```text
//!  entered ─▶ queue of its session ─▶ round: all that wait, as one pipeline ─▶ done
//!                                        │ no answer in the time of its first write
//!                                        ▼
//!                              all of the round have failed
//! ```

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use protomcp_fair::{LeftOut, LogRate};
use protomcp_server::{Budget, Owner, Reservation, StoreError};
use redis::Value;
use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::connection::Connection;
use crate::failed_openings::{FailedOpenings, Subject};
use crate::keys::SessionName;
use crate::script::Call;

/// The most bytes of the writes that wait or are under way, of all sessions. Owners share them ([`Budget`]).
const MAX_BYTES: usize = 64 << 20;

/// The bytes that each write counts in addition to its own: its keys and its places in queues.
const WRITE: usize = 1_024;

/// The most bytes of a sealed event: an owner has room for it while others have little.
pub(crate) const LARGEST: u64 = MAX_BYTES as u64 / 4;

/// The most writes of a round.
const ROUND: usize = 256;

/// The bytes after which a round has enough.
const ROUND_BYTES: usize = 1 << 20;

/// The answer of a script to a writer whose token is not the latest one.
const FENCED: i64 = 0;

/// The outcome of a write.
pub(crate) type Written = Result<(), StoreError>;

/// Writes that wait or are under way.
#[derive(Debug)]
pub(crate) struct Writes {
    connection: Arc<Connection>,
    budget: Budget,
    refusals: LogRate,
    queues: Mutex<Queues>,
}

#[derive(Debug, Default)]
struct Queues {
    /// The sessions with a round under way.
    sessions: HashMap<SessionName, VecDeque<Entered>>,
    failed: FailedOpenings,
}

#[derive(Debug)]
struct Entered {
    subject: Subject,
    /// `None`: nothing is written, and the outcome says that the earlier ones are over.
    call: Option<Call>,
    /// Its bytes count until its outcome is known.
    reserved: Option<Reservation>,
    deadline: Instant,
    done: oneshot::Sender<Written>,
}

impl Writes {
    pub(crate) fn new(connection: Arc<Connection>) -> Arc<Self> {
        let (budget, refusals) = (Budget::new(MAX_BYTES), LogRate::default());
        Arc::new(Self { connection, budget, refusals, queues: Mutex::default() })
    }

    /// Enters a write for an owner. Its outcome comes within the time of a request.
    ///
    /// # Errors
    /// The owner would have more than four times what is free.
    pub(crate) fn enter(
        self: &Arc<Self>,
        owner: &Owner,
        session: &SessionName,
        subject: Subject,
        call: Call,
    ) -> Result<oneshot::Receiver<Written>, StoreError> {
        let reserved = self.budget.reserve(owner, call.bytes() + WRITE);
        let mut queues = self.queues();
        let Ok(reserved) = reserved else {
            queues.failed.note(session, subject);
            if let Some(LeftOut(left_out)) = self.refusals.permit(Instant::now().into_std()) {
                tracing::warn!(left_out, "the store is too slow: an event is not stored");
            }
            return Err(StoreError::Unavailable);
        };
        Ok(self.push(&mut queues, session, subject, Some((call, reserved))))
    }

    /// True if the events of a stream fail, because its opening did.
    pub(crate) fn is_unopened(&self, session: &SessionName, stream: u64) -> bool {
        self.queues().failed.has(session, Subject::Event(stream))
    }

    /// The streams of a session are as the store has them: this process has taken the session over.
    pub(crate) fn taken_over(&self, session: &SessionName) {
        self.queues().failed.note(session, Subject::Log);
    }

    /// Waits until the writes that were entered before are over.
    pub(crate) async fn settled(self: &Arc<Self>, session: &SessionName) {
        let settled = {
            let mut queues = self.queues();
            let is_busy = queues.sessions.contains_key(session);
            is_busy.then(|| self.push(&mut queues, session, Subject::Log, None))
        };
        if let Some(settled) = settled {
            // Its sender is gone only together with the runtime.
            let _over = settled.await;
        }
    }

    fn push(
        self: &Arc<Self>,
        queues: &mut Queues,
        session: &SessionName,
        subject: Subject,
        write: Option<(Call, Reservation)>,
    ) -> oneshot::Receiver<Written> {
        let (done, outcome) = oneshot::channel();
        let (call, reserved) = write.unzip();
        let entered = Entered { subject, call, reserved, deadline: self.connection.deadline(), done };
        match queues.sessions.get_mut(session) {
            Some(queue) => queue.push_back(entered),
            None => {
                queues.sessions.insert(session.clone(), VecDeque::from([entered]));
                self.connection.runtime().spawn(Arc::clone(self).rounds(session.clone()));
            }
        }
        outcome
    }

    /// Sends the writes of a session until none is left.
    async fn rounds(self: Arc<Self>, session: SessionName) {
        while let Some(round) = self.next_round(&session) {
            let (writes, others): (Vec<_>, Vec<_>) = round.into_iter().partition(|entered| entered.call.is_some());
            if let Some(first) = writes.first() {
                let deadline = first.deadline;
                let calls: Vec<_> = writes.iter().filter_map(|entered| entered.call.clone()).collect();
                let answers = self.connection.calls(&calls, deadline).await;
                self.finish(&session, writes, answers);
            }
            for entered in others {
                // The one who waited may have gone.
                let _gone = entered.done.send(Ok(()));
            }
        }
    }

    /// The writes that are sent together; `None`: none is left, and the session has no queue from now on.
    fn next_round(&self, session: &SessionName) -> Option<Vec<Entered>> {
        let mut queues = self.queues();
        let queue = queues.sessions.get_mut(session)?;
        let (mut round, mut bytes) = (Vec::new(), 0);
        while round.len() < ROUND
            && bytes < ROUND_BYTES
            && let Some(entered) = queue.pop_front()
        {
            bytes += entered.call.as_ref().map_or(0, Call::bytes);
            round.push(entered);
        }
        if round.is_empty() {
            queues.sessions.remove(session);
            return None;
        }
        let (mut sent, mut openings) = (Vec::with_capacity(round.len()), HashSet::new());
        for entered in round {
            let subject = entered.subject;
            if let Subject::Opening(stream) = subject {
                openings.insert(stream);
            }
            // The outcome of its opening is not known yet.
            let follows =
                matches!(subject, Subject::Event(stream) | Subject::End(stream) if openings.contains(&stream));
            if !follows && queues.failed.has(session, subject) {
                queues.failed.note(session, subject);
                let _gone = entered.done.send(Err(StoreError::Unavailable));
            } else {
                sent.push(entered);
            }
        }
        Some(sent)
    }

    fn finish(&self, session: &SessionName, round: Vec<Entered>, answers: Result<Vec<Value>, StoreError>) {
        let outcomes: Vec<Written> = match answers {
            Ok(answers) => answers.iter().map(|answer| self.outcome(answer)).collect(),
            Err(error) => vec![Err(error); round.len()],
        };
        let mut queues = self.queues();
        for (Entered { subject, reserved, done, .. }, mut outcome) in round.into_iter().zip(outcomes) {
            drop(reserved);
            if outcome.is_ok() && queues.failed.has(session, subject) {
                outcome = Err(StoreError::Unavailable);
            }
            if outcome == Err(StoreError::Unavailable) || subject == Subject::Log {
                queues.failed.note(session, subject);
            }
            if let (Ok(()), Subject::Opening(stream)) = (outcome, subject) {
                queues.failed.opened(session, stream);
            }
            // A writer may have gone: nothing awaits the openings and the ends.
            let _gone = done.send(outcome);
        }
    }

    fn outcome(&self, answer: &Value) -> Written {
        match self.connection.read::<i64>(answer)? {
            FENCED => Err(StoreError::Fenced),
            _ => Ok(()),
        }
    }

    fn queues(&self) -> MutexGuard<'_, Queues> {
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
