//! Selects the next call for the tool process: a value, driven by `dispatcher`.
//!
//! Published Python and TypeScript SDKs run one handler at a time and can lose a second call (docs/envelope.md,
//! "Concurrency"), so calls wait here and take turns (`FairQueue`). During a reload all of them are held, and go to the
//! new process afterwards.
//!
//! A call has one of the process's slots from its turn to its end, with two exceptions: a call that became a task is in
//! flight without a slot, since its handler has answered; one that was given up while its handler continues is not in
//! flight and keeps its slot. Where handlers run one at a time, the handler of a task keeps a slot, too.

use std::collections::HashMap;

use protomcp_fair::{FairQueue, Pushed, Ticket};
use protomcp_server::{CallerKey, Conversation, Owner};

use crate::diagnostics::cause::Cause;
use crate::generation::Generation;

/// The destination of calls.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Target {
    /// Calls wait.
    Paused,
    /// This process, with this many concurrent calls.
    Open(Generation, usize),
    /// Calls are refused.
    Down(Cause),
}

/// The slot of a call in flight, or of one that was given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Slot {
    /// It has a slot.
    Occupied,
    /// It continues as a task and needs no slot.
    Detached,
}

/// The calls of one process.
#[derive(Debug, Clone, Copy, Default)]
struct Load {
    taken: usize,
    detached: usize,
    /// Slots of handlers that may still run, and whose calls were given up or have become tasks.
    kept: usize,
}

impl Load {
    fn in_flight(self) -> usize {
        self.taken + self.detached
    }
}

/// The most tasks of one process without a slot. A further one keeps its slot, so that their number is bounded.
const MAX_DETACHED: usize = 1024;

/// The outcome for a new call.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Entry<W> {
    /// It goes to this process now.
    Go(Generation, W),
    /// It waits.
    Wait(Ticket),
    /// It waits instead of another one, whose owner had this many calls waiting.
    WaitInPlaceOf(Ticket, W, usize),
    /// It is refused.
    Down(W, Cause),
    /// Too many are waiting.
    Full(W, usize),
}

/// A waiting call that may go now.
pub(crate) type Grant<W> = (Generation, W);

/// The scheduler. `W` wakes a waiting call.
#[derive(Debug)]
pub(crate) struct Scheduler<W> {
    target: Target,
    queue: FairQueue<Conversation, W>,
    loads: HashMap<Generation, Load>,
}

impl<W> Scheduler<W> {
    /// A scheduler that holds calls, at most `capacity` of them.
    pub(crate) fn new(capacity: usize) -> Self {
        Self { target: Target::Paused, queue: FairQueue::new(capacity), loads: HashMap::new() }
    }

    /// Adds a call of this caller.
    pub(crate) fn enter(&mut self, caller: &CallerKey, waiter: W) -> Entry<W> {
        match &self.target {
            Target::Down(why) => Entry::Down(waiter, why.clone()),
            Target::Open(generation, limit) if self.queue.is_empty() && self.occupied(*generation) < *limit => {
                let generation = *generation;
                self.begin(generation);
                Entry::Go(generation, waiter)
            }
            Target::Open(..) | Target::Paused => match self.queue.push(&caller.owner, caller.conversation, waiter) {
                Pushed::Waiting(ticket) => Entry::Wait(ticket),
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

    /// A call on this process has ended. Returns true if it was the last one in flight there.
    pub(crate) fn leave(&mut self, generation: Generation, slot: Slot) -> bool {
        self.end(generation, slot, false)
    }

    /// A call was given up, but its handler may continue: it is not in flight and keeps its slot until
    /// [`free`](Self::free). Returns true if it was the last one in flight.
    pub(crate) fn give_up(&mut self, generation: Generation) -> bool {
        self.end(generation, Slot::Occupied, true)
    }

    /// The handler of a call that has become a task keeps a slot until [`free`](Self::free).
    pub(crate) fn keep(&mut self, generation: Generation) {
        self.loads.entry(generation).or_default().kept += 1;
    }

    /// A handler that has kept a slot has ended.
    pub(crate) fn free(&mut self, generation: Generation) {
        if let Some(load) = self.loads.get_mut(&generation) {
            load.kept = load.kept.saturating_sub(1);
        }
        self.tidy(generation);
    }

    /// A call on this process continues as a task. Returns its slot from now on.
    pub(crate) fn detach(&mut self, generation: Generation) -> Slot {
        match self.loads.get_mut(&generation) {
            Some(load) if load.taken > 0 && load.detached < MAX_DETACHED => {
                load.taken -= 1;
                load.detached += 1;
                Slot::Detached
            }
            Some(_) | None => Slot::Occupied,
        }
    }

    /// The next waiting call that may go now. Call it repeatedly after each change.
    pub(crate) fn grant(&mut self) -> Option<Grant<W>> {
        let Target::Open(generation, limit) = self.target else { return None };
        if self.occupied(generation) >= limit {
            return None;
        }
        let waiter = self.queue.pop()?;
        self.begin(generation);
        Some((generation, waiter))
    }

    /// Holds all calls.
    pub(crate) fn hold(&mut self) {
        self.target = Target::Paused;
    }

    /// Holds all calls if they go to this process, which has ended.
    pub(crate) fn lose(&mut self, generation: Generation) {
        if matches!(self.target, Target::Open(open, _) if open == generation) {
            self.hold();
        }
    }

    /// Sends calls to this process, at most `limit` concurrently.
    pub(crate) fn open(&mut self, generation: Generation, limit: usize) {
        self.target = Target::Open(generation, limit.max(1));
    }

    /// Changes the number of concurrent calls, if calls go to this process; with 0, they wait.
    pub(crate) fn resize(&mut self, generation: Generation, limit: usize) {
        if let Target::Open(open, slots) = &mut self.target
            && *open == generation
        {
            *slots = limit;
        }
    }

    /// True if calls go to a process.
    pub(crate) fn is_open(&self) -> bool {
        matches!(self.target, Target::Open(..))
    }

    /// Refuses calls, and returns those that wait, so that they can fail.
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
        load.in_flight() + load.kept > 0
    }

    /// The number of owners with waiting calls.
    pub(crate) fn owners(&self) -> usize {
        self.queue.owners()
    }

    /// The number of slots of this process, if a call of another owner waits for one of them, or, while calls are held,
    /// for their end.
    pub(crate) fn others_want(&self, generation: Generation, owner: &Owner) -> Option<usize> {
        let slots = match self.target {
            Target::Open(open, limit @ 1..) if open == generation && self.occupied(generation) >= limit => limit,
            // One slot for each: no owner holds most of them.
            Target::Paused => usize::MAX,
            Target::Open(..) | Target::Down(_) => return None,
        };
        self.queue.others_wait(owner).then_some(slots)
    }

    /// True if calls wait for a slot of this process.
    pub(crate) fn waits_for(&self, generation: Generation) -> bool {
        matches!(self.target, Target::Open(open, _) if open == generation) && !self.queue.is_empty()
    }

    /// The number of waiting calls.
    pub(crate) fn waiting(&self) -> usize {
        self.queue.len()
    }

    fn begin(&mut self, generation: Generation) {
        self.loads.entry(generation).or_default().taken += 1;
    }

    fn end(&mut self, generation: Generation, slot: Slot, given_up: bool) -> bool {
        let Some(load) = self.loads.get_mut(&generation) else { return false };
        let count = match slot {
            Slot::Occupied => &mut load.taken,
            Slot::Detached => &mut load.detached,
        };
        *count = count.saturating_sub(1);
        load.kept += usize::from(given_up);
        let idle = load.in_flight() == 0;
        self.tidy(generation);
        idle
    }

    fn tidy(&mut self, generation: Generation) {
        let load = self.load(generation);
        if load.in_flight() + load.kept == 0 {
            self.loads.remove(&generation);
        }
    }

    fn load(&self, generation: Generation) -> Load {
        self.loads.get(&generation).copied().unwrap_or_default()
    }

    /// The number of slots in use.
    pub(crate) fn occupied(&self, generation: Generation) -> usize {
        let load = self.load(generation);
        load.taken + load.kept
    }
}

#[cfg(test)]
mod tests;
