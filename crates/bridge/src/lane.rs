//! Which call may go to the tool process next: a value, driven by `gate`.
//!
//! Published Python and TypeScript SDKs run one handler at a time, and a second call written meanwhile can be lost
//! inside them (wire contract, rule R4), so calls wait here, where they are safe. Sessions take turns, however many calls
//! each has waiting. While a reload holds the lane everything waits, and goes to the new process afterwards.

use std::collections::{HashMap, VecDeque};

use protomcp_mcp::SessionId;

use crate::generation::Generation;

/// Names a waiting call, so that it can be taken out when its host gives up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Ticket(u64);

/// Where calls go.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Target {
    /// Nowhere for now.
    Held,
    /// To this process, so many at once.
    Open(Generation, usize),
    /// Nowhere; the text says why.
    Down(String),
}

/// What became of a call that wants to go.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Entry<W> {
    /// It may go to this process now.
    Go(Generation, W),
    /// It waits.
    Wait(Ticket),
    /// It must not go.
    Down(W, String),
    /// Too many are waiting.
    Full(W, usize),
}

/// A waiting call that may go now.
pub(crate) type Grant<W> = (Generation, SessionId, W);

/// The lane. `W` is what the driver needs to wake a waiting call.
#[derive(Debug)]
pub(crate) struct Lane<W> {
    target: Target,
    waiting: HashMap<SessionId, VecDeque<(Ticket, W)>>,
    /// Sessions with waiting calls, in the order of their turns.
    turns: VecDeque<SessionId>,
    count: usize,
    capacity: usize,
    running: HashMap<Generation, HashMap<SessionId, usize>>,
    next_ticket: u64,
}

impl<W> Lane<W> {
    /// A held lane in which at most `capacity` calls wait.
    pub(crate) fn new(capacity: usize) -> Self {
        Self {
            target: Target::Held,
            waiting: HashMap::new(),
            turns: VecDeque::new(),
            count: 0,
            capacity,
            running: HashMap::new(),
            next_ticket: 0,
        }
    }

    /// A call of this session wants to go.
    pub(crate) fn enter(&mut self, session: SessionId, waiter: W) -> Entry<W> {
        match &self.target {
            Target::Down(why) => Entry::Down(waiter, why.clone()),
            Target::Open(generation, limit) if self.count == 0 && self.in_flight(*generation) < *limit => {
                let generation = *generation;
                self.begin(generation, session);
                Entry::Go(generation, waiter)
            }
            Target::Open(..) | Target::Held if self.count >= self.capacity => Entry::Full(waiter, self.count),
            Target::Open(..) | Target::Held => {
                let ticket = Ticket(self.next_ticket);
                self.next_ticket += 1;
                let queue = self.waiting.entry(session).or_default();
                if queue.is_empty() {
                    self.turns.push_back(session);
                }
                queue.push_back((ticket, waiter));
                self.count += 1;
                Entry::Wait(ticket)
            }
        }
    }

    /// A waiting call is given up.
    pub(crate) fn abandon(&mut self, session: SessionId, ticket: Ticket) {
        let Some(queue) = self.waiting.get_mut(&session) else { return };
        let before = queue.len();
        queue.retain(|(waiting, _)| *waiting != ticket);
        self.count -= before - queue.len();
        if queue.is_empty() {
            self.waiting.remove(&session);
            self.turns.retain(|turn| *turn != session);
        }
    }

    /// A call on this process has ended. Says whether it was the last one there.
    pub(crate) fn leave(&mut self, generation: Generation, session: SessionId) -> bool {
        let Some(sessions) = self.running.get_mut(&generation) else { return false };
        if let Some(count) = sessions.get_mut(&session) {
            *count -= 1;
            if *count == 0 {
                sessions.remove(&session);
            }
        }
        let idle = sessions.is_empty();
        if idle {
            self.running.remove(&generation);
        }
        idle
    }

    /// Waiting calls that may go now, in turn. Call it after each change.
    pub(crate) fn grant(&mut self) -> Option<Grant<W>> {
        let Target::Open(generation, limit) = self.target else { return None };
        if self.in_flight(generation) >= limit {
            return None;
        }
        let session = self.turns.pop_front()?;
        let queue = self.waiting.get_mut(&session).expect("a session with a turn has a queue");
        let (_, waiter) = queue.pop_front().expect("a session with a turn has a waiting call");
        self.count -= 1;
        if queue.is_empty() {
            self.waiting.remove(&session);
        } else {
            self.turns.push_back(session);
        }
        self.begin(generation, session);
        Some((generation, session, waiter))
    }

    /// Lets every call wait.
    pub(crate) fn hold(&mut self) {
        self.target = Target::Held;
    }

    /// Lets calls go to this process, at most `limit` at once.
    pub(crate) fn open(&mut self, generation: Generation, limit: usize) {
        self.target = Target::Open(generation, limit.max(1));
    }

    /// Lets no call go, and gives back those that wait, so that they can fail.
    pub(crate) fn refuse(&mut self, why: String) -> Vec<W> {
        self.target = Target::Down(why);
        self.turns.clear();
        self.count = 0;
        self.waiting.drain().flat_map(|(_, queue)| queue).map(|(_, waiter)| waiter).collect()
    }

    /// Calls in flight on this process.
    pub(crate) fn in_flight(&self, generation: Generation) -> usize {
        self.running.get(&generation).map_or(0, |sessions| sessions.values().sum())
    }

    /// Calls that wait.
    #[cfg(test)]
    pub(crate) fn waiting(&self) -> usize {
        self.count
    }

    fn begin(&mut self, generation: Generation, session: SessionId) {
        *self.running.entry(generation).or_default().entry(session).or_default() += 1;
    }
}

#[cfg(test)]
mod tests;
