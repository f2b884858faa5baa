//! The questions that the bridge has not answered.

use std::collections::HashMap;

use protomcp_server::MemberQuestion;
use protomcp_types::{ErrorObject, RawJson};
use tokio::sync::oneshot;

/// The answer of a client, or the reason for which there is none.
pub(crate) type Answer = Result<RawJson, ErrorObject>;

/// The part of the process that has asked.
#[derive(Debug)]
pub(crate) enum Asker {
    /// A call waits for the answer.
    Call(oneshot::Sender<Answer>),
    /// The server has asked outside any call.
    Server(Box<MemberQuestion>),
    /// A call waits for the names of the tools that its client sees.
    Tools(oneshot::Sender<Vec<String>>),
}

/// The questions that the bridge has not answered, by their ids.
#[derive(Debug)]
pub(crate) struct Questions {
    open: HashMap<String, Asker>,
    max: usize,
    last: u64,
}

impl Questions {
    pub(crate) fn new(max: usize) -> Self {
        Self { open: HashMap::new(), max, last: 0 }
    }

    /// True if this many more may be asked.
    pub(crate) fn has_room(&self, count: usize) -> bool {
        self.open.len() + count <= self.max
    }

    /// Adds a question, and returns its id.
    pub(crate) fn add(&mut self, asker: Asker) -> String {
        self.last += 1;
        let id = format!("ask-{}", self.last);
        self.open.insert(id.clone(), asker);
        id
    }

    /// Removes a question.
    pub(crate) fn take(&mut self, id: &str) -> Option<Asker> {
        self.open.remove(id)
    }

    /// Removes the question with this number that the server has asked outside any call.
    pub(crate) fn withdraw(&mut self, number: u64) {
        self.open.retain(|_, asker| !matches!(asker, Asker::Server(question) if question.number == number));
    }
}
