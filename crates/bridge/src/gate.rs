//! Lets calls through to the living process, one permit each.
//!
//! A thin driver of `lane`: a mutex held for a few instructions, never across an await, and a channel per waiting call.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use protomcp_mcp::SessionId;
use tokio::sync::{mpsc, oneshot};

use crate::failure::Failure;
use crate::generation::Generation;
use crate::lane::{Entry, Lane, Ticket};
use crate::live::Live;

type Waiter = oneshot::Sender<Result<Permit, String>>;

/// The way to the tool process.
#[derive(Debug)]
pub(crate) struct Gate {
    state: Mutex<State>,
    idle: mpsc::UnboundedSender<Generation>,
}

#[derive(Debug)]
struct State {
    lane: Lane<Waiter>,
    live: HashMap<Generation, Arc<Live>>,
    /// Generations whose owner wants to know when they are idle; at most the two that live.
    awaited: Vec<Generation>,
}

/// The right to have one call in flight; dropping it lets the next one go.
#[derive(Debug)]
pub(crate) struct Permit {
    gate: Arc<Gate>,
    session: SessionId,
    live: Arc<Live>,
}

impl Permit {
    /// The process the call goes to.
    pub(crate) fn live(&self) -> &Live {
        &self.live
    }
}

impl Gate {
    /// A closed gate before which at most `capacity` calls wait, and the generations that became idle after
    /// [`await_idle`](Self::await_idle).
    pub(crate) fn new(capacity: usize) -> (Arc<Self>, mpsc::UnboundedReceiver<Generation>) {
        let (idle, receiver) = mpsc::unbounded_channel();
        let state = State { lane: Lane::new(capacity), live: HashMap::new(), awaited: Vec::new() };
        (Arc::new(Self { state: Mutex::new(state), idle }), receiver)
    }

    /// Waits for the turn of a call. Dropping the future gives the turn up.
    pub(crate) async fn enter(self: &Arc<Self>, session: SessionId, tool: &str) -> Result<Permit, Failure> {
        let (waiter, mut turn) = oneshot::channel();
        let entry = {
            let mut state = self.lock();
            match state.lane.enter(session, waiter) {
                Entry::Go(generation, _) => return Ok(self.permit(&state, generation, session)),
                entry => entry,
            }
        };
        let ticket = match entry {
            Entry::Wait(ticket) => ticket,
            Entry::Down(_, why) => return Err(Failure::Down { why }),
            Entry::Full(_, waiting) => return Err(Failure::Overloaded { tool: tool.into(), waiting }),
            Entry::Go(..) => unreachable!("returned above"),
        };
        let since = Instant::now();
        let _place = Place { gate: self, session, ticket };
        let outcome = (&mut turn).await;
        tracing::debug!(tool, waited_ms = since.elapsed().as_millis(), "a call waited for its turn");
        match outcome {
            Ok(Ok(permit)) => Ok(permit),
            Ok(Err(why)) => Err(Failure::Down { why }),
            Err(_) => Err(Failure::ShuttingDown),
        }
    }

    /// Lets calls wait.
    pub(crate) fn hold(&self) {
        self.lock().lane.hold();
    }

    /// Makes a process known; calls do not go there yet.
    pub(crate) fn add(&self, live: Arc<Live>) {
        self.lock().live.insert(live.generation(), live);
    }

    /// Forgets a process that has ended.
    pub(crate) fn remove(&self, generation: Generation) {
        self.lock().live.remove(&generation);
    }

    /// Lets calls go to this process, waiting ones first.
    pub(crate) fn release_to(self: &Arc<Self>, generation: Generation) {
        let mut state = self.lock();
        let Some(limit) = state.live.get(&generation).map(|live| live.concurrency()) else { return };
        state.lane.open(generation, limit);
        self.grant(state);
    }

    /// Fails calls, waiting ones too, until the next release.
    pub(crate) fn refuse(&self, why: &str) {
        let refused = self.lock().lane.refuse(why.into());
        for waiter in refused {
            // A host that gave up meanwhile needs no answer.
            let _gone = waiter.send(Err(why.into()));
        }
    }

    /// Says when this process has no call in flight; at once when it has none.
    pub(crate) fn await_idle(&self, generation: Generation) {
        let mut state = self.lock();
        if state.lane.in_flight(generation) == 0 {
            self.say_idle(generation);
        } else {
            state.awaited.push(generation);
        }
    }

    /// The session whose calls are in flight on this process, when it is only one.
    pub(crate) fn sole_session(&self, generation: Generation) -> Option<SessionId> {
        self.lock().lane.sole_session(generation)
    }

    /// Calls in flight on this process.
    pub(crate) fn in_flight(&self, generation: Generation) -> usize {
        self.lock().lane.in_flight(generation)
    }

    fn leave(self: &Arc<Self>, generation: Generation, session: SessionId) {
        let mut state = self.lock();
        if state.lane.leave(generation, session) && state.awaited.contains(&generation) {
            state.awaited.retain(|awaited| *awaited != generation);
            self.say_idle(generation);
        }
        self.grant(state);
    }

    /// Wakes the calls whose turn it is. A permit that nobody takes any more comes back through its drop, which must
    /// not find the lock taken, so the waiters are woken after it is released.
    fn grant(self: &Arc<Self>, mut state: MutexGuard<'_, State>) {
        let mut woken = Vec::new();
        while let Some((generation, session, waiter)) = state.lane.grant() {
            let permit = self.permit(&state, generation, session);
            woken.push((waiter, permit));
        }
        drop(state);
        for (waiter, permit) in woken {
            drop(waiter.send(Ok(permit)));
        }
    }

    fn permit(self: &Arc<Self>, state: &State, generation: Generation, session: SessionId) -> Permit {
        let live = Arc::clone(state.live.get(&generation).expect("an open lane leads to a known process"));
        Permit { gate: Arc::clone(self), session, live }
    }

    fn say_idle(&self, generation: Generation) {
        // The owner has gone when the bridge has ended.
        let _ended = self.idle.send(generation);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing in here can panic half-way through a change.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.gate.leave(self.live.generation(), self.session);
    }
}

/// A place in the queue, given up when its call is.
struct Place<'a> {
    gate: &'a Arc<Gate>,
    session: SessionId,
    ticket: Ticket,
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.gate.lock().lane.abandon(self.session, self.ticket);
    }
}
