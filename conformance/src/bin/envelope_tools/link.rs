//! The writing end of the socket, and the requests that wait for answers.

use std::collections::HashMap;
use std::io::Write;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use protomcp_conformance::{frame, patience};
use protomcp_envelope::{ElicitationResponse, Envelope, Msg, SamplingResponse};

use crate::task_table::Tasks;

/// The timeout of a request on the published link, where a request does not name its call: a host that never replies must not
/// leave the bridge in doubt for longer.
const PATIENCE_WITHOUT_NAMES: Duration = Duration::from_secs(5);

/// A question, and its name.
pub(crate) type Question = (&'static str, Msg);

#[derive(Clone)]
pub(crate) struct Link(Arc<Shared>);

struct Shared {
    extended: bool,
    writer: Mutex<UnixStream>,
    waiting: Mutex<HashMap<String, Sender<Msg>>>,
    changes: AtomicU32,
    questions: AtomicU32,
    tasks: Tasks,
}

impl Link {
    pub(crate) fn new(writer: UnixStream, extended: bool) -> Self {
        let (writer, waiting, tasks) = (Mutex::new(writer), Mutex::default(), Tasks::default());
        let (changes, questions) = (AtomicU32::new(0), AtomicU32::new(0));
        Self(Arc::new(Shared { extended, writer, waiting, changes, questions, tasks }))
    }

    /// True if the extensions of the envelope may be used.
    pub(crate) fn is_extended(&self) -> bool {
        self.0.extended
    }

    /// The tasks of the process.
    pub(crate) fn tasks(&self) -> &Tasks {
        &self.0.tasks
    }

    /// The number of changes so far.
    pub(crate) fn changes(&self) -> u32 {
        self.0.changes.load(Ordering::Relaxed)
    }

    /// Counts a change.
    pub(crate) fn change(&self) {
        self.0.changes.fetch_add(1, Ordering::Relaxed);
    }

    /// Sends several requests for a call to the host together, and waits for all answers.
    pub(crate) fn ask(&self, call: &str, questions: Vec<Question>) -> Result<Vec<Msg>, String> {
        let patience = if self.0.extended { patience() } else { PATIENCE_WITHOUT_NAMES };
        let last = questions.len().saturating_sub(1);
        let ask = |(place, question)| self.put(call, question, place < last);
        let asked: Vec<_> = questions.into_iter().enumerate().map(ask).collect();
        let answers = asked.into_iter().map(|answer| answer.recv_timeout(patience).map_err(|error| error.to_string()));
        answers.map(|answer| answer.and_then(refused)).collect()
    }

    /// Sends a question. `more_questions`: the next one belongs to it.
    fn put(&self, call: &str, question: Question, more_questions: bool) -> Receiver<Msg> {
        let (sender, answer) = channel();
        let id = format!("{call}/{}", self.0.questions.fetch_add(1, Ordering::Relaxed));
        self.waiting().insert(id.clone(), sender);
        let (question_key, message) = question;
        let envelope = self.envelope(&id, call, message);
        self.write(Envelope { question_key: question_key.into(), more_questions, ..envelope });
        answer
    }

    /// Delivers an answer. The call that sent the request may have been cancelled.
    pub(crate) fn answered(&self, id: &str, answer: Msg) {
        if let Some(waiting) = self.waiting().remove(id) {
            drop(waiting.send(answer));
        }
    }

    /// Drops the requests of a cancelled call.
    pub(crate) fn give_up(&self, call: &str) {
        self.waiting().retain(|id, _| id.split_once('/').is_none_or(|(of, _)| of != call));
    }

    pub(crate) fn send(&self, id: &str, for_call: &str, msg: impl Into<Msg>) {
        self.write(self.envelope(id, for_call, msg));
    }

    fn envelope(&self, id: &str, for_call: &str, msg: impl Into<Msg>) -> Envelope {
        let for_call = if self.0.extended { for_call } else { "" }.to_owned();
        Envelope { for_call, ..Envelope::new(id, msg) }
    }

    fn write(&self, mut envelope: Envelope) {
        if !self.0.extended {
            envelope.question_key.clear();
            envelope.more_questions = false;
        }
        // If the bridge has closed the socket, the reader notices.
        let _ = self.0.writer.lock().unwrap_or_else(PoisonError::into_inner).write_all(&frame(&envelope));
    }

    fn waiting(&self) -> MutexGuard<'_, HashMap<String, Sender<Msg>>> {
        self.0.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An answer may be an error instead.
fn refused(answer: Msg) -> Result<Msg, String> {
    match &answer {
        Msg::SamplingResponse(SamplingResponse { error, .. })
        | Msg::ElicitationResponse(ElicitationResponse { error, .. })
            if !error.is_empty() =>
        {
            Err(error.to_string())
        }
        _ => Ok(answer),
    }
}
