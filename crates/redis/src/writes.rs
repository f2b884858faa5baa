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

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use protomcp_server::StoreError;
use redis::Value;
use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::connection::Connection;
use crate::failed_openings::{FailedOpenings, Subject};
use crate::keys::SessionName;
use crate::script::Call;

/// The most writes that wait or are under way, of all sessions.
const MAX_WRITES: usize = 65_536;

/// Their most bytes.
const MAX_BYTES: usize = 64 << 20;

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
    queues: Mutex<Queues>,
}

#[derive(Debug, Default)]
struct Queues {
    /// The sessions with a round under way.
    sessions: HashMap<SessionName, VecDeque<Entered>>,
    writes: usize,
    bytes: usize,
    failed: FailedOpenings,
}

#[derive(Debug)]
struct Entered {
    subject: Subject,
    /// `None`: nothing is written, and the outcome says that the earlier ones are over.
    call: Option<Call>,
    deadline: Instant,
    done: oneshot::Sender<Written>,
}

impl Writes {
    pub(crate) fn new(connection: Arc<Connection>) -> Arc<Self> {
        Arc::new(Self { connection, queues: Mutex::default() })
    }

    /// Enters a write. Its outcome comes within the time of a request.
    ///
    /// # Errors
    /// There is no room for it, or its stream was not opened.
    pub(crate) fn enter(
        self: &Arc<Self>,
        session: &SessionName,
        subject: Subject,
        call: Call,
    ) -> Result<oneshot::Receiver<Written>, StoreError> {
        let bytes = call.bytes();
        let mut queues = self.queues();
        if queues.writes >= MAX_WRITES || queues.bytes + bytes > MAX_BYTES {
            queues.failed.note(session, subject);
            tracing::warn!("the store is too slow: an event is not stored");
            return Err(StoreError::Unavailable);
        }
        queues.writes += 1;
        queues.bytes += bytes;
        Ok(self.push(&mut queues, session, subject, Some(call)))
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
        call: Option<Call>,
    ) -> oneshot::Receiver<Written> {
        let (done, outcome) = oneshot::channel();
        let entered = Entered { subject, call, deadline: self.connection.deadline(), done };
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
                // They count until here: rounds wait for each other.
                let bytes = calls.iter().map(Call::bytes).sum();
                self.finish(&session, writes, answers);
                self.release(calls.len(), bytes);
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
        let mut sent = Vec::with_capacity(round.len());
        for entered in round {
            if queues.failed.has(session, entered.subject) {
                queues.failed.note(session, entered.subject);
                if let Some(call) = &entered.call {
                    queues.writes -= 1;
                    queues.bytes -= call.bytes();
                }
                let _gone = entered.done.send(Err(StoreError::Unavailable));
            } else {
                sent.push(entered);
            }
        }
        Some(sent)
    }

    fn release(&self, writes: usize, bytes: usize) {
        let mut queues = self.queues();
        queues.writes -= writes;
        queues.bytes -= bytes;
    }

    fn finish(&self, session: &SessionName, round: Vec<Entered>, answers: Result<Vec<Value>, StoreError>) {
        let outcomes: Vec<Written> = match answers {
            Ok(answers) => answers.iter().map(|answer| self.outcome(answer)).collect(),
            Err(error) => vec![Err(error); round.len()],
        };
        let mut queues = self.queues();
        for (Entered { subject, done, .. }, mut outcome) in round.into_iter().zip(outcomes) {
            if outcome.is_ok() && queues.failed.has(session, subject) {
                outcome = Err(StoreError::Unavailable);
            }
            if outcome == Err(StoreError::Unavailable) || subject == Subject::Log {
                queues.failed.note(session, subject);
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
