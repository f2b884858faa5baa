//! Lets calls through to the process in service, one permit each.
//!
//! A driver of `scheduler`: a mutex, held for a few instructions and never across an await, and a channel per call.

mod announced;
pub(crate) mod attribution;
mod busy_probe;
mod kept_slot;
pub(crate) mod load_event;
mod open_question;
mod open_questions;
pub(crate) mod permit;
mod probes;
mod probing;
pub(crate) mod queue_limits;
mod running_request;
mod scheduler;
pub(crate) mod serving;
mod state;
mod window;

use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use protomcp_link::Middleware;
use protomcp_server::{Owner, ServerHandle, SessionId};
use tokio::runtime::Handle;
use tokio::sync::{Notify, mpsc, oneshot, watch};
use tokio::time::timeout;

use crate::clock::now;
use crate::diagnostics::cause::Cause;
use crate::diagnostics::failure::Failure;
use crate::dispatcher::attribution::{Caller, Recipient};
use crate::dispatcher::load_event::LoadEvent;
use crate::dispatcher::permit::{Permit, Queued};
use crate::dispatcher::probes::GivenUp;
use crate::dispatcher::scheduler::{Entry, Slot};
use crate::dispatcher::serving::Serving;
use crate::dispatcher::state::State;
use crate::generation::Generation;
use crate::metrics::Metrics;
use crate::process::tool_process::ToolProcess;

use crate::dispatcher::queue_limits::QueueLimits;

/// A waiting call, and the channel that wakes it.
type Waiter = (Caller, oneshot::Sender<Result<Permit, Refusal>>);

/// The reason for which a waiting call fails.
#[derive(Debug)]
enum Refusal {
    Down(Cause),
    /// It was displaced by a call of an owner with fewer; its own had this many waiting.
    Displaced(usize),
}

/// The access to the tool process.
#[derive(Debug)]
pub(crate) struct Dispatcher {
    state: Mutex<State<Waiter>>,
    sessions: ServerHandle,
    waits: QueueLimits,
    metrics: Arc<Metrics>,
    /// Notified whenever a call has ended.
    left: Notify,
    events: mpsc::UnboundedSender<LoadEvent>,
    /// Changed only with the state locked.
    serving: watch::Sender<Serving>,
    /// The bridge ends: no process will follow.
    closed: AtomicBool,
}

impl Dispatcher {
    /// A dispatcher that holds calls, and its events: [`LoadEvent::Idle`] after [`await_idle`](Self::await_idle).
    pub(crate) fn new(
        waits: QueueLimits,
        metrics: Arc<Metrics>,
        sessions: ServerHandle,
    ) -> (Arc<Self>, mpsc::UnboundedReceiver<LoadEvent>) {
        let (events, receiver) = mpsc::unbounded_channel();
        let state = State::new(waits.capacity);
        let serving = watch::Sender::new(Serving::Soon);
        let (left, closed) = (Notify::new(), AtomicBool::new(false));
        (Arc::new(Self { state: Mutex::new(state), sessions, waits, metrics, left, events, serving, closed }), receiver)
    }

    /// Waits for the turn of a call, no longer than [`QueueLimits::turn`]. Dropping the future gives up the turn.
    pub(crate) async fn acquire(self: &Arc<Self>, caller: Caller, tool: &str) -> Result<Permit, Failure> {
        let owner = caller.key.owner.clone();
        let (waiter, mut turn) = oneshot::channel();
        let (entry, queue) = {
            let mut state = self.lock();
            self.lose_ended(&mut state);
            state.resize();
            let owners = state.scheduler.owners();
            let entry = state.scheduler.enter(&caller.key.clone(), (caller, waiter));
            if state.scheduler.owners() > owners {
                state.notify_next_questions();
            }
            match entry {
                Entry::Go(generation, (caller, _)) => {
                    self.metrics.waits.observe(Duration::ZERO);
                    return Ok(self.permit(&mut state, generation, caller));
                }
                entry => (entry, state.long_queue()),
            }
        };
        if let Some(queue) = queue {
            queue.log();
        }
        let ticket = match entry {
            Entry::Wait(ticket) => ticket,
            Entry::WaitInPlaceOf(ticket, (_, displaced), held) => {
                // A caller that has given up needs no answer.
                let _gone = displaced.send(Err(Refusal::Displaced(held)));
                ticket
            }
            Entry::Down(_, why) => return Err(self.down(&why)),
            Entry::Full(_, waiting) => return Err(Failure::Overloaded { tool: tool.into(), waiting }),
            Entry::Go(..) => unreachable!("returned above"),
        };
        let since = Instant::now();
        let _queued = Queued::new(self, owner, ticket);
        let outcome = timeout(self.waits.turn, &mut turn).await;
        self.metrics.waits.observe(since.elapsed());
        tracing::debug!(tool, waited_ms = since.elapsed().as_millis(), "a call waited for its turn");
        let Ok(outcome) = outcome else {
            return Err(Failure::Waited { tool: tool.into(), after: self.waits.turn });
        };
        match outcome {
            Ok(Ok(permit)) => Ok(permit),
            Ok(Err(Refusal::Down(why))) => Err(self.down(&why)),
            Ok(Err(Refusal::Displaced(waiting))) => Err(Failure::Displaced { tool: tool.into(), waiting }),
            Err(_) => Err(Failure::ShuttingDown),
        }
    }

    /// The process in service, as soon as there is one, for a request of this owner.
    pub(crate) async fn serving(&self, owner: &Owner) -> Result<Arc<ToolProcess>, Failure> {
        let mut serving = self.serving.subscribe();
        // A process whose link is closed has ended, which the core will notice in a moment.
        let is_known = |serving: &Serving| match serving {
            Serving::This(process) => !process.link().is_closed(),
            Serving::Down(_) => true,
            Serving::Soon => false,
        };
        let known = serving.wait_for(is_known).await;
        match known.as_deref() {
            Ok(Serving::This(process)) => {
                process.served().add(owner);
                Ok(Arc::clone(process))
            }
            Ok(Serving::Down(why)) => Err(self.down(why)),
            Ok(Serving::Soon) | Err(_) => Err(Failure::ShuttingDown),
        }
    }

    /// The process in service, if it is another than this one.
    pub(crate) fn successor(&self, of: &ToolProcess, owner: &Owner) -> Option<Arc<ToolProcess>> {
        match &*self.serving.borrow() {
            Serving::This(process) if process.generation() != of.generation() => {
                process.served().add(owner);
                Some(Arc::clone(process))
            }
            Serving::This(_) | Serving::Soon | Serving::Down(_) => None,
        }
    }

    pub(crate) fn availability(&self) -> watch::Receiver<Serving> {
        self.serving.subscribe()
    }

    /// The numbers of waiting and of running calls.
    pub(crate) fn load(&self) -> (usize, usize) {
        let state = self.lock();
        let scheduler = &state.scheduler;
        (scheduler.waiting(), state.processes.keys().map(|generation| scheduler.in_flight(*generation)).sum())
    }

    /// Holds calls.
    pub(crate) fn hold(&self) {
        let mut state = self.lock();
        state.scheduler.hold();
        state.notify_next_questions();
    }

    /// Adds a process; calls do not go there yet.
    pub(crate) fn add(&self, process: Arc<ToolProcess>) {
        self.lock().processes.insert(process.generation(), process);
    }

    /// True if calls go to this process, or will.
    pub(crate) fn knows(&self, generation: Generation) -> bool {
        self.lock().processes.contains_key(&generation)
    }

    /// Removes a process that has ended.
    pub(crate) fn remove(&self, generation: Generation) {
        let mut state = self.lock();
        state.processes.remove(&generation);
        state.attribution.forget(generation);
        state.probes.forget(generation);
        let left = |serving: &Serving| matches!(serving, Serving::This(process) if process.generation() == generation);
        self.serving.send_if_modified(|serving| {
            let left = left(serving);
            if left {
                *serving = Serving::Soon;
            }
            left
        });
    }

    /// Sends calls to this process, waiting ones first.
    pub(crate) fn release_to(self: &Arc<Self>, generation: Generation) {
        let mut state = self.lock();
        let Some(process) = state.processes.get(&generation).cloned() else { return };
        state.open(&process);
        self.serving.send_replace(Serving::This(process));
        state.notify_next_questions();
        self.grant(state);
    }

    /// Fails calls, including waiting ones, until the next release.
    pub(crate) fn refuse(&self, why: &Cause) {
        let refused = {
            let mut state = self.lock();
            self.serving.send_replace(Serving::Down(why.clone()));
            state.scheduler.refuse(why.clone())
        };
        for (_, waiter) in refused {
            // A caller that has given up needs no answer.
            let _gone = waiter.send(Err(Refusal::Down(why.clone())));
        }
    }

    /// Fails calls from now on, because the bridge ends.
    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::Relaxed);
        self.refuse(&Cause::from("the bridge is shutting down"));
    }

    fn down(&self, why: &Cause) -> Failure {
        if self.closed.load(Ordering::Relaxed) {
            return Failure::ShuttingDown;
        }
        Failure::Down { why: why.text(self.sessions.sole_owner().is_some()) }
    }

    /// Reports when this process has no call in flight; immediately if it has none.
    pub(crate) fn await_idle(&self, generation: Generation) {
        let mut state = self.lock();
        if state.scheduler.in_flight(generation) == 0 {
            self.send(LoadEvent::Idle(generation));
        } else {
            state.awaited.push(generation);
        }
    }

    /// True if no call is in flight on this process. Final once calls go to another one.
    pub(crate) fn is_idle(&self, generation: Generation) -> bool {
        self.lock().scheduler.in_flight(generation) == 0
    }

    /// See [`Attribution::list_scope`].
    pub(crate) fn list_scope(&self, generation: Generation, for_call: &str) -> Option<SessionId> {
        self.lock().attribution.list_scope(generation, for_call)
    }

    /// The session of a call that has ended a short while ago.
    pub(crate) fn session_of_ended(&self, generation: Generation, call: &str) -> Option<SessionId> {
        self.lock().attribution.session_of_ended(generation, call)
    }

    /// Adds middleware for calls whose turn comes later.
    pub(crate) fn intercept(&self, generation: Generation, middleware: &Middleware) {
        if let Some(process) = self.lock().processes.get(&generation) {
            process.intercept(middleware);
        }
    }

    /// The recipient of a message of this process that names this call, or none.
    pub(crate) fn recipient(&self, generation: Generation, for_call: &str) -> Recipient {
        self.lock().attribution.recipient(generation, for_call, now())
    }

    /// The recipient of messages without a call: the owner of all sessions, if the process has worked for no other.
    pub(crate) fn sole_owner(&self, generation: Generation) -> Option<Owner> {
        let owner = self.sessions.sole_owner()?;
        self.lock().processes.get(&generation).filter(|process| process.served().only(&owner)).map(|_| owner)
    }

    /// Waits until the call of this name has ended, or without a name until no call of this session is running.
    pub(crate) async fn served(&self, generation: Generation, session: SessionId, for_call: &str) {
        loop {
            let mut left = pin!(self.left.notified());
            left.as_mut().enable();
            if !self.lock().attribution.is_running(generation, session, for_call) {
                return;
            }
            left.await;
        }
    }

    /// A handler of this process may be running.
    pub(crate) fn is_busy(&self, generation: Generation) -> bool {
        self.lock().scheduler.is_busy(generation)
    }

    /// A call has ended or was given up.
    pub(crate) fn release(self: &Arc<Self>, permit: &Permit) {
        let (generation, call) = (permit.process().generation(), permit.call());
        let stuck = permit.leaves_busy().zip(Handle::try_current().ok());
        let mut state = self.lock();
        let queue = permit.tool().and_then(|tool| state.long_queue_behind(generation, tool));
        state.open_questions.call_ended(generation, call);
        if permit.handler_goes_on() {
            let now = now();
            state.attribution.give_up(generation, call, now, self.waits.handler_until(now));
        } else {
            state.attribution.end(generation, call);
        }
        let idle = match stuck {
            Some(_) => state.scheduler.give_up(generation),
            None => state.scheduler.leave(generation, permit.slot()),
        };
        if stuck.is_some() {
            state.stall(generation);
        } else if permit.slot() == Slot::Occupied {
            state.ended(generation);
        }
        if idle && state.awaited.contains(&generation) {
            state.awaited.retain(|awaited| *awaited != generation);
            self.send(LoadEvent::Idle(generation));
        }
        if let Some((tool, runtime)) = stuck {
            let (answered, late) = oneshot::channel();
            state.given_up.insert((generation, call), answered);
            let process = Arc::clone(permit.process());
            runtime.spawn(Arc::clone(self).keep_slot(process, call, tool.clone(), late));
        }
        if let Some(tool) = permit.may_block() {
            self.probe(&mut state, generation, GivenUp { name: call, tool: Some(tool.clone()) });
        }
        self.grant(state);
        self.left.notify_waiters();
        if let Some(queue) = queue {
            queue.log();
        }
    }

    /// Holds calls if the process that they go to has ended, which the core may not have noticed yet: they wait for the
    /// next one.
    fn lose_ended(&self, state: &mut State<Waiter>) {
        if let Serving::This(process) = &*self.serving.borrow()
            && process.link().is_closed()
        {
            state.scheduler.lose(process.generation());
        }
    }

    /// Wakes the calls whose turn it is. A permit without a receiver is released by its drop, which needs the lock,
    /// so the waiters are woken after it is released.
    fn grant(self: &Arc<Self>, mut state: MutexGuard<'_, State<Waiter>>) {
        self.lose_ended(&mut state);
        state.resize();
        let mut woken = Vec::new();
        while let Some((generation, (caller, waiter))) = state.scheduler.grant() {
            let permit = self.permit(&mut state, generation, caller);
            woken.push((waiter, permit));
        }
        drop(state);
        for (waiter, permit) in woken {
            drop(waiter.send(Ok(permit)));
        }
    }

    fn permit(self: &Arc<Self>, state: &mut State<Waiter>, generation: Generation, caller: Caller) -> Permit {
        let process = Arc::clone(state.processes.get(&generation).expect("calls are granted to a known process"));
        let call = process.link().new_call();
        process.served().add(&caller.key.owner);
        state.began(generation);
        state.attribution.begin(generation, call, caller);
        Permit::new(Arc::clone(self), process, call)
    }

    fn send(&self, event: LoadEvent) {
        // The receiver is gone when the bridge has ended.
        let _ended = self.events.send(event);
    }

    fn lock(&self) -> MutexGuard<'_, State<Waiter>> {
        // No panic can happen half-way through a change.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
