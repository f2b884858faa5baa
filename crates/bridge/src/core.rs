//! Decides about the generations of the tool process, without I/O.
//!
//! A closed set of inputs goes in, effects come out. The driver applies them in order, and decides nothing.
//!
//! ```text
//!                                   idle, and it is not asked to reload
//!                                ┌───────────────────────────────────────────────┐
//!              change (graceful) │      idle            not reloaded in place      ▼
//!   Settled ───────────────────▶ Draining ──▶ Asking ──────────────────────────▶ Starting
//!      │  ▲                                     │ reloaded in place                │ │ started: publish, release,
//!      │  └─────────────────────────────────────┘      (also: not idle in time)    │ │ retire the old one
//!      │  ▲                                                        failed: the old │ │
//!      │  └────────────────────────────────────────────────────── one serves on ───┴─┘
//!      └──────────── change (swap, immediate), restart after a crash ──────────────▶
//!
//!            change, and it has been starting for long
//!   Starting ─────────────────────────────────────────▶ GivingUp ── it is gone ──▶ Starting (the next)
//! ```
//!
//! A process that is being started gets the state of the one in service before it registers, if both know of it
//! (`handover`).
//!
//! Processes that were replaced finish their calls side by side (`retiring`). At their limit the next reload waits, and
//! so does a third one within a second (`pace`).
//!
//! Invariants: one process serves, at most one starts, and at most [`Limits::max_retiring`] finish their calls; there
//! are never two concurrent reloads (a change that arrives during one is remembered, once; a start that takes long is
//! given up for it); a change of the files fails no call, except in immediate mode; the list becomes empty only if a
//! process registers nothing.

mod catalog;
pub(crate) mod facts;
mod handover;
pub(crate) mod io;
mod link_event;
pub(crate) mod list;
mod reload;
mod service;

use std::time::{Duration, Instant};

use protomcp_server::SessionId;
use protomcp_supervisor::Restart;
use protomcp_watch::{Pace, Retiring};

use crate::core::catalog::Catalogs;
use crate::core::facts::Facts;
use crate::core::handover::Handover;
use crate::core::io::{Effect, Input, ReloadMode};
use crate::core::list::List;
use crate::diagnostics::report::Report;
use crate::generation::Generation;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Settled,
    /// A reload waits for the calls in flight.
    Draining,
    /// The reload request has been sent.
    Asking,
    /// The next process is starting.
    Starting(Generation),
    /// It had been starting for long when the files changed again: it is stopped, and the next one starts then.
    GivingUp(Generation),
}

/// Limits of a reload.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// The time of a call: a graceful reload waits this long for the calls in flight and then continues like a swap.
    /// Calls that became tasks may last longer; when their process has been retired for this long and its slot is
    /// needed, they fail.
    pub(crate) call_timeout: Duration,
    /// The most processes of earlier versions that finish their calls at the same time.
    pub(crate) max_retiring: usize,
}

/// The first version of the tool file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FirstVersion {
    /// It is starting. If it cannot, the bridge ends.
    Required,
    /// It is starting. If it cannot, the next change starts it anew.
    Awaited,
    /// It did not start: the lists are empty until a change brings a version that does.
    Missing,
    /// A process has been in service.
    Served,
}

/// The process that was started last.
#[derive(Debug)]
struct Newest {
    generation: Generation,
    started_at: Instant,
    handover: Handover,
    /// It takes the calls of a process that does not answer, and interrupts none there.
    replaces_stuck: bool,
}

/// A change of the files without a reload.
#[derive(Debug, Default)]
struct Change {
    waits: bool,
    /// The log names the calls that the reload waits for.
    calls_named: bool,
    /// The time at which it does so, if they have not ended.
    name_calls_at: Option<Instant>,
}

/// The state of one bridge.
#[derive(Debug)]
pub(crate) struct Core {
    mode: ReloadMode,
    step: Step,
    current: Option<Generation>,
    retiring: Retiring<Generation>,
    pace: Pace,
    newest: Newest,
    first: FirstVersion,
    change: Change,
    /// The author has been warned that handlers of this SDK do not receive the list.
    warned_of_two_readers: bool,
    hold_until: Option<Instant>,
    call_timeout: Duration,
    drain_until: Option<Instant>,
    restart: Restart,
    list: List,
    catalogs: Catalogs,
}

impl Core {
    /// The state before the first process has started; the effects start it.
    pub(crate) fn new(
        now: Instant,
        mode: ReloadMode,
        list: List,
        limits: Limits,
        first: FirstVersion,
    ) -> (Self, Vec<Effect>) {
        let generation = Generation::FIRST;
        let core = Self {
            mode,
            step: Step::Starting(generation),
            current: None,
            retiring: Retiring::new(limits.max_retiring),
            pace: Pace::default(),
            newest: Newest { generation, started_at: now, handover: Handover::NotYet, replaces_stuck: false },
            first,
            change: Change::default(),
            warned_of_two_readers: false,
            hold_until: None,
            call_timeout: limits.call_timeout,
            drain_until: None,
            restart: Restart::default(),
            list,
            catalogs: Catalogs::default(),
        };
        (core, vec![Effect::Start(generation)])
    }

    /// The time at which `Elapsed` is due.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        let restart = if self.current.is_none() && self.step == Step::Settled { self.restart.deadline() } else { None };
        let naming = self.change.name_calls_at;
        [restart, self.hold_until, self.drain_until, naming, self.give_up_at(), self.turn_of_waiting_change()]
            .into_iter()
            .flatten()
            .min()
    }

    /// True if no start and no reload is under way, or waits.
    pub(crate) fn is_settled(&self) -> bool {
        self.step == Step::Settled && !self.change.waits
    }

    /// Takes one input and returns the effects, in their order.
    pub(crate) fn handle(&mut self, now: Instant, input: Input, facts: &impl Facts) -> Vec<Effect> {
        let mut effects = Vec::new();
        let fx = &mut effects;
        let input = match input {
            Input::Link(generation, event) => link_event::translate(generation, event, facts, fx),
            input => Some(input),
        };
        let Some(input) = input else { return effects };
        if self.is_fatal(&input) {
            return vec![Effect::FirstStartFailed];
        }
        // Calls went to it until the effects are applied.
        let ended = if let Input::Exited(generation, _) = &input { Some(*generation) } else { None };
        let before = self.first;
        self.handle_input(now, input, facts, fx);
        self.take_up_waiting_change(now, fx);
        fx.extend(ended.map(Effect::Remove));
        match self.first {
            FirstVersion::Missing if before == FirstVersion::Awaited => fx.push(Effect::FirstMissing),
            FirstVersion::Served if before != FirstVersion::Served => fx.push(Effect::FirstStarted),
            _ => {}
        }
        effects
    }

    /// True if the bridge ends with this input.
    fn is_fatal(&self, input: &Input) -> bool {
        match input {
            Input::StartFailed(generation, _) => {
                self.first == FirstVersion::Required && !self.has_given_up(*generation)
            }
            Input::CannotStart(..) => matches!(self.first, FirstVersion::Required | FirstVersion::Awaited),
            _ => false,
        }
    }

    fn handle_input(&mut self, now: Instant, input: Input, facts: &impl Facts, fx: &mut Vec<Effect>) {
        match input {
            Input::Changed => self.changed(now, fx),
            Input::PagesChanged => self.catalogs.announce_apps(fx),
            Input::Prepared(generation) => self.prepared(now, generation, facts, fx),
            Input::Started(generation, registered) => self.started(now, generation, registered, fx),
            Input::StartFailed(generation, why) | Input::CannotStart(generation, why) => {
                self.start_failed(now, generation, why, fx);
            }
            Input::Reloaded(generation, registered) => self.reloaded(now, generation, registered, fx),
            Input::NotReloaded(generation, why) => self.not_reloaded(now, generation, why, fx),
            Input::Listed(generation, tools) if self.current == Some(generation) => self.list.listed(tools, fx),
            Input::Renewed(generation, kinds) if self.current == Some(generation) => {
                self.catalogs.ask(generation, kinds, fx);
            }
            Input::Catalogued(generation, kind, listed) if self.current == Some(generation) => {
                let changed = self.catalogs.answered(generation, kind, listed, fx);
                self.list.show(self.catalogs.current(), fx);
                changed.announce(fx);
            }
            Input::Exited(generation, exit) => self.exited(now, generation, exit, fx),
            // Until the release, calls may have been sent to it; another input follows when they have ended.
            Input::Idle(generation) if facts.is_idle(generation) => self.idle(now, generation, facts, fx),
            Input::Stuck(generation, tool) => self.stuck(now, generation, tool, fx),
            Input::Control { generation, session, command, reply } => {
                let has_ended = |session| session != SessionId::STATELESS && !facts.is_open(session);
                if self.counts(generation) && !session.is_some_and(has_ended) {
                    self.list.control(session, command, fx);
                }
                match reply {
                    None => {}
                    Some(_) if facts.is_busy(generation) && facts.has_two_readers(generation) => {
                        self.reply_to_two_readers(generation, fx);
                    }
                    Some(id) => fx.push(Effect::Reply { generation, id, active: self.list.active_names(session) }),
                }
            }
            Input::Proven(generation, name) if self.current == Some(generation) => self.list.proven(&name, fx),
            Input::SessionClosed(session) => self.list.forget(session, fx),
            Input::Intercepts(generation, middleware) if self.current == Some(generation) => {
                self.list.intercepts(middleware);
            }
            // A process that is no longer current does not change the list.
            Input::Idle(_)
            | Input::Link(..)
            | Input::Intercepts(..)
            | Input::Listed(..)
            | Input::Proven(..)
            | Input::Renewed(..)
            | Input::Catalogued(..) => {}
            Input::Elapsed => self.elapsed(now, fx),
        }
    }

    /// Tool list control from a process that cannot read the active tools now.
    fn reply_to_two_readers(&mut self, generation: Generation, fx: &mut Vec<Effect>) {
        fx.push(Effect::ReplyToTwoReaders(generation));
        if !std::mem::replace(&mut self.warned_of_two_readers, true) {
            fx.push(Effect::Report(Report::ListNotReceived));
        }
    }

    /// True if this process may change the list. A process that is about to be replaced may not while calls wait for its
    /// successor: if it was asked to reload, its answer ends with hiding its hidden tools once more.
    fn counts(&self, generation: Generation) -> bool {
        let replaced = matches!(self.step, Step::Starting(_) | Step::GivingUp(_)) && self.hold_until.is_some();
        self.current == Some(generation) && !replaced
    }

    fn elapsed(&mut self, now: Instant, fx: &mut Vec<Effect>) {
        if self.hold_until.is_some_and(|at| at <= now) {
            self.hold_until = None;
            self.held_for_long(fx);
        }
        if self.change.name_calls_at.is_some_and(|at| at <= now) {
            self.change.name_calls_at = None;
            self.name_calls(self.current.into_iter().collect(), fx);
        }
        if self.drain_until.is_some_and(|at| at <= now) {
            // Like a swap: a task continues, and other calls need not wait for it.
            self.drain_until = None;
            fx.push(Effect::Report(Report::NotDrained { after: self.call_timeout }));
            if let Some(current) = self.current {
                fx.push(Effect::ReleaseTo(current));
            }
            self.start_next(now, fx);
        }
        self.give_up_slow_start(now, fx);
        let due = self.current.is_none() && self.step == Step::Settled && self.restart.poll(now);
        if due {
            self.start_next(now, fx);
        }
    }
}

#[cfg(test)]
mod tests;
