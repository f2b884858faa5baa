//! The choice of the next call for the tool process: a value, driven by `dispatcher`.
//!
//! Published Python and TypeScript SDKs run one handler at a time, and a second call written meanwhile can be lost
//! inside them (wire contract, rule R4), so calls wait here, where they are safe, and take turns (`fair_queue`). While a
//! reload holds the lane everything waits, and goes to the new process afterwards.
//!
//! A call has one of the process's places from its turn to its end. Two things come apart from that: a call that the
//! process has made a task of is in flight and has no place, since its handler has answered; one that was given up while
//! its handler goes on is in flight no more and still has its place.

use std::collections::HashMap;

use protomcp_server::{CallerKey, Owner};

use crate::diagnostics::cause::Cause;
use crate::dispatcher::fair_queue::{FairQueue, Pushed, Ticket};
use crate::generation::Generation;

/// Where calls go.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Target {
    /// Nowhere for now.
    Held,
    /// To this process, so many at once.
    Open(Generation, usize),
    /// Nowhere.
    Down(Cause),
}

/// The slot of a call in flight, or of one that was given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Slot {
    /// It has a place.
    Held,
    /// It goes on as a task and needs none.
    Detached,
}

/// The calls of one process.
#[derive(Debug, Clone, Copy, Default)]
struct Load {
    taken: usize,
    beside: usize,
    /// Calls that nobody waits for any more, and whose handlers may still run.
    given_up: usize,
}

impl Load {
    fn in_flight(self) -> usize {
        self.taken + self.beside
    }
}

/// Tasks of one process that have no place. One more keeps its place, so that a process cannot collect any number.
const MAX_DETACHED: usize = 1024;

/// The outcome for a call that is to go.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Entry<W> {
    /// It may go to this process now.
    Go(Generation, W),
    /// It waits.
    Wait(Ticket),
    /// It waits in the place of another one, whose owner had this many calls waiting.
    WaitInPlaceOf(Ticket, W, usize),
    /// It must not go.
    Down(W, Cause),
    /// Too many are waiting.
    Full(W, usize),
}

/// A waiting call that may go now.
pub(crate) type Grant<W> = (Generation, W);

/// The lane. `W` is what the driver needs to wake a waiting call.
#[derive(Debug)]
pub(crate) struct Scheduler<W> {
    target: Target,
    queue: FairQueue<W>,
    loads: HashMap<Generation, Load>,
}

impl<W> Scheduler<W> {
    /// A held lane in which at most `capacity` calls wait.
    pub(crate) fn new(capacity: usize) -> Self {
        Self { target: Target::Held, queue: FairQueue::new(capacity), loads: HashMap::new() }
    }

    /// A call of this caller wants to go.
    pub(crate) fn enter(&mut self, caller: &CallerKey, waiter: W) -> Entry<W> {
        match &self.target {
            Target::Down(why) => Entry::Down(waiter, why.clone()),
            Target::Open(generation, limit) if self.queue.len() == 0 && self.occupied(*generation) < *limit => {
                let generation = *generation;
                self.begin(generation);
                Entry::Go(generation, waiter)
            }
            Target::Open(..) | Target::Held => match self.queue.push(caller, waiter) {
                Pushed::QueueLimits(ticket) => Entry::Wait(ticket),
                Pushed::InPlaceOf(ticket, displaced, held) => Entry::WaitInPlaceOf(ticket, displaced, held),
                Pushed::Full(waiter) => Entry::Full(waiter, self.queue.len()),
            },
        }
    }

    /// A waiting call is given up.
    pub(crate) fn abandon(&mut self, owner: &Owner, ticket: Ticket) {
        // Its turn may have come.
        let _gone = self.queue.remove(owner, ticket);
    }

    /// A call on this process has ended. Says whether it was the last one there.
    pub(crate) fn leave(&mut self, generation: Generation, place: Slot) -> bool {
        self.end(generation, place, false)
    }

    /// Nobody waits for a call any more, but its handler may go on: it is not in flight and keeps its place until
    /// [`free`](Self::free). Says whether it was the last one in flight.
    pub(crate) fn give_up(&mut self, generation: Generation) -> bool {
        self.end(generation, Slot::Held, true)
    }

    /// The handler of a call that was given up has ended, or has had time enough.
    pub(crate) fn free(&mut self, generation: Generation) {
        if let Some(load) = self.loads.get_mut(&generation) {
            load.given_up = load.given_up.saturating_sub(1);
        }
        self.tidy(generation);
    }

    /// A call on this process goes on as a task. Says what it is from now on.
    pub(crate) fn detach(&mut self, generation: Generation) -> Slot {
        match self.loads.get_mut(&generation) {
            Some(load) if load.taken > 0 && load.beside < MAX_DETACHED => {
                load.taken -= 1;
                load.beside += 1;
                Slot::Detached
            }
            Some(_) | None => Slot::Held,
        }
    }

    /// Waiting calls that may go now, in turn. Call it after each change.
    pub(crate) fn grant(&mut self) -> Option<Grant<W>> {
        let Target::Open(generation, limit) = self.target else { return None };
        if self.occupied(generation) >= limit {
            return None;
        }
        let waiter = self.queue.pop()?;
        self.begin(generation);
        Some((generation, waiter))
    }

    /// Lets every call wait.
    pub(crate) fn hold(&mut self) {
        self.target = Target::Held;
    }

    /// Lets every call wait if they go to this process, which has ended.
    pub(crate) fn lose(&mut self, generation: Generation) {
        if matches!(self.target, Target::Open(open, _) if open == generation) {
            self.hold();
        }
    }

    /// Lets calls go to this process, at most `limit` at once.
    pub(crate) fn open(&mut self, generation: Generation, limit: usize) {
        self.target = Target::Open(generation, limit.max(1));
    }

    /// Lets no call go, and gives back those that wait, so that they can fail.
    pub(crate) fn refuse(&mut self, why: Cause) -> Vec<W> {
        self.target = Target::Down(why);
        self.queue.drain()
    }

    /// Calls in flight on this process.
    pub(crate) fn in_flight(&self, generation: Generation) -> usize {
        self.load(generation).in_flight()
    }

    /// A handler of this process may be running.
    pub(crate) fn is_busy(&self, generation: Generation) -> bool {
        let load = self.load(generation);
        load.in_flight() + load.given_up > 0
    }

    /// Owners with calls that wait.
    pub(crate) fn owners(&self) -> usize {
        self.queue.owners()
    }

    /// Whether a call of another owner waits for what calls of this process hold: for one of its places, or, while the lane
    /// is held, for their end. Returns how many places there are.
    pub(crate) fn others_want(&self, generation: Generation, owner: &Owner) -> Option<usize> {
        let places = match self.target {
            Target::Open(open, limit) if open == generation && self.occupied(generation) >= limit => limit,
            // A place for each: no owner holds most of them.
            Target::Held => usize::MAX,
            Target::Open(..) | Target::Down(_) => return None,
        };
        self.queue.others_wait(owner).then_some(places)
    }

    /// Calls that wait.
    pub(crate) fn waiting(&self) -> usize {
        self.queue.len()
    }

    fn begin(&mut self, generation: Generation) {
        self.loads.entry(generation).or_default().taken += 1;
    }

    fn end(&mut self, generation: Generation, place: Slot, given_up: bool) -> bool {
        let Some(load) = self.loads.get_mut(&generation) else { return false };
        let count = match place {
            Slot::Held => &mut load.taken,
            Slot::Detached => &mut load.beside,
        };
        *count = count.saturating_sub(1);
        load.given_up += usize::from(given_up);
        let idle = load.in_flight() == 0;
        self.tidy(generation);
        idle
    }

    fn tidy(&mut self, generation: Generation) {
        let load = self.load(generation);
        if load.in_flight() + load.given_up == 0 {
            self.loads.remove(&generation);
        }
    }

    fn load(&self, generation: Generation) -> Load {
        self.loads.get(&generation).copied().unwrap_or_default()
    }

    /// Places that are not free.
    fn occupied(&self, generation: Generation) -> usize {
        let load = self.load(generation);
        load.taken + load.given_up
    }
}

#[cfg(test)]
mod tests;
