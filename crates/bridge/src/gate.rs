//! Lets calls through to the living process, one permit each.
//!
//! A thin driver of `lane`: a mutex held for a few instructions, never across an await, and a channel per waiting call.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use protomcp_link::CallId;
use protomcp_mcp::SessionId;
use tokio::sync::{Notify, mpsc, oneshot, watch};

use crate::callers::{Caller, Callers, Meant};
use crate::failure::Failure;
use crate::generation::Generation;
use crate::lane::{Entry, Lane, Ticket};
use crate::live::Live;

/// A call that waits, and who is told when it may go.
type Waiter = (Caller, oneshot::Sender<Result<Permit, String>>);

/// The way to the tool process.
#[derive(Debug)]
pub(crate) struct Gate {
    state: Mutex<State>,
    /// Rings whenever a call has ended.
    left: Notify,
    idle: mpsc::UnboundedSender<Generation>,
    /// Changed only with the state locked.
    serving: watch::Sender<Serving>,
}

/// Who answers what is no call of a tool. It goes on while calls are held.
#[derive(Debug, Clone)]
enum Serving {
    /// Nobody yet, or nobody for the moment.
    Soon,
    This(Arc<Live>),
    /// Nobody; the text says why.
    Down(String),
}

#[derive(Debug)]
struct State {
    lane: Lane<Waiter>,
    live: HashMap<Generation, Arc<Live>>,
    callers: Callers,
    /// Generations whose owner wants to know when they are idle; at most the two that live.
    awaited: Vec<Generation>,
}

/// The right to have one call in flight; dropping it lets the next one go.
#[derive(Debug)]
pub(crate) struct Permit {
    gate: Arc<Gate>,
    session: SessionId,
    live: Arc<Live>,
    call: CallId,
}

impl Permit {
    /// The name under which the call is to be made.
    pub(crate) fn call(&self) -> CallId {
        self.call
    }

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
        let lane = Lane::new(capacity);
        let state = State { lane, live: HashMap::new(), callers: Callers::default(), awaited: Vec::new() };
        let serving = watch::Sender::new(Serving::Soon);
        (Arc::new(Self { state: Mutex::new(state), left: Notify::new(), idle, serving }), receiver)
    }

    /// Waits for the turn of a call. Dropping the future gives the turn up.
    pub(crate) async fn enter(self: &Arc<Self>, caller: Caller, tool: &str) -> Result<Permit, Failure> {
        let session = caller.session();
        let (waiter, mut turn) = oneshot::channel();
        let entry = {
            let mut state = self.lock();
            match state.lane.enter(session, (caller, waiter)) {
                Entry::Go(generation, (caller, _)) => return Ok(self.permit(&mut state, generation, caller)),
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

    /// The process that serves, as soon as there is one.
    pub(crate) async fn serving(&self) -> Result<Arc<Live>, Failure> {
        let mut serving = self.serving.subscribe();
        let known = serving.wait_for(|serving| !matches!(serving, Serving::Soon)).await;
        match known.as_deref() {
            Ok(Serving::This(live)) => Ok(Arc::clone(live)),
            Ok(Serving::Down(why)) => Err(Failure::Down { why: why.clone() }),
            Ok(Serving::Soon) | Err(_) => Err(Failure::ShuttingDown),
        }
    }

    /// The process that serves, if it is another than this one.
    pub(crate) fn successor(&self, of: &Live) -> Option<Arc<Live>> {
        match &*self.serving.borrow() {
            Serving::This(live) if live.generation() != of.generation() => Some(Arc::clone(live)),
            Serving::This(_) | Serving::Soon | Serving::Down(_) => None,
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
        let mut state = self.lock();
        state.live.remove(&generation);
        let left = |serving: &Serving| matches!(serving, Serving::This(live) if live.generation() == generation);
        self.serving.send_if_modified(|serving| {
            let left = left(serving);
            if left {
                *serving = Serving::Soon;
            }
            left
        });
    }

    /// Lets calls go to this process, waiting ones first.
    pub(crate) fn release_to(self: &Arc<Self>, generation: Generation) {
        let mut state = self.lock();
        let Some(live) = state.live.get(&generation).cloned() else { return };
        state.lane.open(generation, live.concurrency());
        self.serving.send_replace(Serving::This(live));
        self.grant(state);
    }

    /// Fails calls, waiting ones too, until the next release.
    pub(crate) fn refuse(&self, why: &str) {
        let refused = {
            let mut state = self.lock();
            self.serving.send_replace(Serving::Down(why.into()));
            state.lane.refuse(why.into())
        };
        for (_, waiter) in refused {
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

    /// Whose tool list is meant by a process that names this call, or none; see [`Callers::list_meant`].
    pub(crate) fn list_meant(&self, generation: Generation, for_call: &str) -> Option<SessionId> {
        self.lock().callers.list_meant(generation, for_call)
    }

    /// The session of a call that has ended a short while ago.
    pub(crate) fn session_of_ended(&self, generation: Generation, call: &str) -> Option<SessionId> {
        self.lock().callers.session_of_ended(generation, call)
    }

    /// Who is meant by a process that names this call, or none.
    pub(crate) fn meant(&self, generation: Generation, for_call: &str) -> Meant {
        self.lock().callers.meant(generation, for_call)
    }

    /// Waits until the call of this name has ended, or without a name until no call of this session is running.
    pub(crate) async fn served(&self, generation: Generation, session: SessionId, for_call: &str) {
        loop {
            let mut left = std::pin::pin!(self.left.notified());
            left.as_mut().enable();
            if !self.lock().callers.is_served(generation, session, for_call) {
                return;
            }
            left.await;
        }
    }

    /// Calls in flight on this process.
    pub(crate) fn in_flight(&self, generation: Generation) -> usize {
        self.lock().lane.in_flight(generation)
    }

    fn leave(self: &Arc<Self>, generation: Generation, session: SessionId, call: CallId) {
        let mut state = self.lock();
        state.callers.end(generation, call);
        if state.lane.leave(generation, session) && state.awaited.contains(&generation) {
            state.awaited.retain(|awaited| *awaited != generation);
            self.say_idle(generation);
        }
        self.grant(state);
        self.left.notify_waiters();
    }

    /// Wakes the calls whose turn it is. A permit that nobody takes any more comes back through its drop, which must
    /// not find the lock taken, so the waiters are woken after it is released.
    fn grant(self: &Arc<Self>, mut state: MutexGuard<'_, State>) {
        let mut woken = Vec::new();
        while let Some((generation, _, (caller, waiter))) = state.lane.grant() {
            let permit = self.permit(&mut state, generation, caller);
            woken.push((waiter, permit));
        }
        drop(state);
        for (waiter, permit) in woken {
            drop(waiter.send(Ok(permit)));
        }
    }

    fn permit(self: &Arc<Self>, state: &mut State, generation: Generation, caller: Caller) -> Permit {
        let live = Arc::clone(state.live.get(&generation).expect("an open lane leads to a known process"));
        let (session, call) = (caller.session(), live.link().new_call());
        state.callers.begin(generation, call, caller);
        Permit { gate: Arc::clone(self), session, live, call }
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
        self.gate.leave(self.live.generation(), self.session, self.call);
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
