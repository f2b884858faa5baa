//! Batches: the answers to the messages of one array, kept until the array of answers is complete (MCP 2025-03-26,
//! basic).

use std::collections::HashMap;

/// The batches that are not answered yet.
#[derive(Debug)]
pub struct Batches<A> {
    open: HashMap<u64, Batch<A>>,
    /// The batch of each request, by request number.
    member_of: HashMap<u64, u64>,
    next: u64,
    /// The number of answers kept in all batches together.
    held: usize,
}

#[derive(Debug)]
struct Batch<A> {
    waiting: usize,
    answers: Vec<A>,
}

impl<A> Default for Batches<A> {
    fn default() -> Self {
        Self { open: HashMap::default(), member_of: HashMap::default(), next: 0, held: 0 }
    }
}

impl<A> Batches<A> {
    /// Opens a batch with the answers so far and the requests that are running. Returns all answers if none is running;
    /// an empty list means that nothing is sent.
    pub fn open(&mut self, answers: Vec<A>, running: &[u64]) -> Option<Vec<A>> {
        if running.is_empty() {
            return Some(answers);
        }
        let key = self.next;
        self.next += 1;
        self.member_of.extend(running.iter().map(|number| (*number, key)));
        self.held += answers.len();
        self.open.insert(key, Batch { waiting: running.len(), answers });
        None
    }

    /// True if a request belongs to a batch.
    pub fn contains(&self, number: u64) -> bool {
        !self.member_of.is_empty() && self.member_of.contains_key(&number)
    }

    /// A request has ended; without an answer when it was cancelled. Returns the batch's answer when it was the last.
    pub fn ended(&mut self, number: u64, answer: Option<A>) -> Option<Vec<A>> {
        let key = self.member_of.remove(&number)?;
        let batch = self.open.get_mut(&key)?;
        self.held += usize::from(answer.is_some());
        batch.answers.extend(answer);
        batch.waiting -= 1;
        if batch.waiting > 0 {
            return None;
        }
        let answers = self.open.remove(&key)?.answers;
        self.held -= answers.len();
        Some(answers)
    }

    /// The number of answers that wait for others of their batch.
    pub fn held(&self) -> usize {
        self.held
    }
}
