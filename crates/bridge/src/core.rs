//! Decides what happens to generations of the tool process; does nothing itself.
//!
//! A closed set of inputs goes in, effects come out. The driver (`run`) carries them out in order.
//!
//! ```text
//!              change (graceful)        idle            not reloaded in place
//!   Settled ───────────────────▶ Draining ──▶ Asking ──────────────────────────▶ Starting
//!      │  ▲                                     │ reloaded in place                │ │ started: publish, release,
//!      │  └─────────────────────────────────────┘      (also: not idle in time)    │ │ retire the old one
//!      │  ▲                                                        failed: the old │ │
//!      │  └────────────────────────────────────────────────────── one serves on ───┴─┘
//!      └──────────── change (swap, immediate), restart after a crash ──────────────▶
//! ```
//!
//! Invariants: at most one old and one new process at a time; never two reloads at once (a change that arrives during
//! one is remembered, once); no input makes the list empty except a process that registers nothing.

mod catalog;
mod list;

use std::mem;
use std::sync::Arc;
use std::time::{Duration, Instant};

use protomcp_mcp::{Audience, SessionId};
use protomcp_proto::ToolDefinition;
use protomcp_supervisor::{Exit, Next, Restart};
use protomcp_toollist::{Command, Rejected};
use protomcp_types::ToolName;

use crate::catalog::{Kind, Listed};
use crate::core::catalog::Catalogs;
use crate::core::list::{Keep, List};
use crate::generation::Generation;
use crate::registered::Registered;
use crate::report::Report;
use crate::snapshot::Snapshot;
use crate::tool::SchemaPolicy;

/// How a changed file takes effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ReloadMode {
    /// Calls in flight finish; calls that arrive meanwhile wait for the new code.
    #[default]
    Graceful,
    /// The new process starts at once beside the old one, which finishes its calls and leaves.
    Swap,
    /// Calls in flight fail at once, as retryable, and the new process starts.
    Immediate,
}

/// How long a graceful reload may keep calls waiting for the new process before the old one takes them after all.
const HOLD_LIMIT: Duration = Duration::from_secs(5);

/// What the core is told.
#[derive(Debug)]
pub(crate) enum Input {
    /// Files changed, or someone asked for a reload.
    Changed,
    /// A process that was to be started takes calls.
    Started(Generation, Registered),
    /// A process that was to be started will not take calls. It is gone, or on its way.
    StartFailed(Generation, String),
    /// A process answered the reload request and registered (perhaps the same again).
    Reloaded(Generation, Registered),
    /// A process failed to reload: it said so (`Some`), or did not answer.
    NotReloaded(Generation, Option<String>),
    /// A process sent a new list unasked.
    Listed(Generation, Vec<ToolDefinition>),
    /// A process says that these of its other lists have changed.
    Renewed(Generation, &'static [Kind]),
    /// A process has answered what it has beside tools, or will not (`None`).
    Catalogued(Generation, Kind, Option<Listed>),
    /// A process that took calls has ended.
    Exited(Generation, Exit),
    /// The last call in flight on this process has ended.
    Idle(Generation),
    /// The tool list is changed, for one session or for all.
    Control {
        generation: Generation,
        session: Option<SessionId>,
        command: Result<Command<ToolName>, Rejected>,
        reply: Option<String>,
    },
    /// A tool sent a result that its output schema promises.
    Proven(Generation, ToolName),
    /// A session has ended.
    SessionClosed(SessionId),
    /// The deadline has passed.
    Elapsed,
}

/// What is to be done, in this order.
#[derive(Debug)]
pub(crate) enum Effect {
    /// Start this process; `Started` or `StartFailed` follows.
    Start(Generation),
    /// Send the reload request; `Reloaded` or `NotReloaded` follows.
    AskReload(Generation),
    /// Say `Idle` as soon as this process has no call in flight.
    AwaitIdle(Generation),
    /// Let calls wait.
    Hold,
    /// Let calls, waiting ones first, go to this process.
    ReleaseTo(Generation),
    /// Fail calls, waiting ones too, with this text until the next release.
    Refuse(String),
    /// Fail the calls in flight on this process, as retryable.
    Interrupt(Generation),
    /// Have this process leave politely, then less politely; `Exited` follows.
    Stop(Generation),
    /// Show this list from now on.
    Publish(Arc<Snapshot>),
    /// Tell sessions that their list has changed.
    ToolsChanged(Audience),
    /// Tell sessions that resources or their templates have changed.
    ResourcesChanged(Audience),
    /// Tell sessions that prompts have changed.
    PromptsChanged(Audience),
    /// Ask this process for one of its lists; `Catalogued` follows.
    AskCatalog(Generation, Kind),
    /// Answer a tool list control request with the active tools.
    Reply { generation: Generation, id: String, active: Vec<String> },
    /// Write it to the log and tell the sessions.
    Report(Report),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Settled,
    /// A reload waits for the calls in flight.
    Draining,
    /// The reload request has been sent.
    Asking,
    /// The next process is starting.
    Starting(Generation),
}

/// The state of one bridge.
#[derive(Debug)]
pub(crate) struct Core {
    mode: ReloadMode,
    step: Step,
    current: Option<Generation>,
    retiring: Option<Generation>,
    newest: Generation,
    /// A change came while a reload was under way.
    again: bool,
    hold_until: Option<Instant>,
    /// How long a reload may wait for the calls in flight.
    drain_limit: Duration,
    drain_until: Option<Instant>,
    restart: Restart,
    list: List,
    catalogs: Catalogs,
}

impl Core {
    /// The state before the first process has started; the effects start it. `drain_limit`: how long a graceful reload
    /// waits for the calls in flight before it goes on like a swap.
    pub(crate) fn new(mode: ReloadMode, policy: SchemaPolicy, drain_limit: Duration) -> (Self, Vec<Effect>) {
        let first = Generation::FIRST;
        let core = Self {
            mode,
            step: Step::Starting(first),
            current: None,
            retiring: None,
            newest: first,
            again: false,
            hold_until: None,
            drain_limit,
            drain_until: None,
            restart: Restart::default(),
            list: List::new(policy),
            catalogs: Catalogs::default(),
        };
        (core, vec![Effect::Start(first)])
    }

    /// When `Elapsed` is due.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        let restart = if self.current.is_none() && self.step == Step::Settled { self.restart.deadline() } else { None };
        [restart, self.hold_until, self.drain_until].into_iter().flatten().min()
    }

    /// Takes one input and says what to do about it.
    pub(crate) fn handle(&mut self, now: Instant, input: Input) -> Vec<Effect> {
        let mut effects = Vec::new();
        let fx = &mut effects;
        match input {
            Input::Changed => self.changed(now, fx),
            Input::Started(generation, registered) => self.started(generation, registered, fx),
            Input::StartFailed(generation, why) => self.start_failed(now, generation, why, fx),
            Input::Reloaded(generation, registered) => self.reloaded(now, generation, registered, fx),
            Input::NotReloaded(generation, why) => self.not_reloaded(now, generation, why, fx),
            Input::Listed(generation, tools) if self.current == Some(generation) => self.list.listed(tools, fx),
            Input::Renewed(generation, kinds) if self.current == Some(generation) => {
                self.catalogs.ask(generation, kinds, fx);
            }
            Input::Catalogued(generation, kind, listed) if self.current == Some(generation) => {
                let changed = self.catalogs.answered(generation, kind, listed, fx);
                if changed.is_any() {
                    self.list.show(self.catalogs.current(), fx);
                }
                changed.announce(fx);
            }
            Input::Exited(generation, exit) => self.exited(now, generation, exit, fx),
            Input::Idle(generation) => self.idle(generation, fx),
            Input::Control { generation, session, command, reply } => {
                if self.counts(generation) {
                    self.list.control(session, command, fx);
                }
                if let Some(id) = reply {
                    fx.push(Effect::Reply { generation, id, active: self.list.active_names(session) });
                }
            }
            Input::Proven(generation, name) if self.current == Some(generation) => self.list.proven(&name, fx),
            Input::SessionClosed(session) => self.list.forget(session, fx),
            // A process that is no longer current has no say in the list.
            Input::Listed(..) | Input::Proven(..) | Input::Renewed(..) | Input::Catalogued(..) => {}
            Input::Elapsed => self.elapsed(now, fx),
        }
        self.take_up_waiting_change(now, fx);
        effects
    }

    /// Whether this process has a say in the list. One that is about to be replaced because it did not reload has not:
    /// its answer to the reload request ends with hiding its hidden tools once more.
    fn counts(&self, generation: Generation) -> bool {
        let replaced = matches!(self.step, Step::Starting(_)) && self.hold_until.is_some();
        self.current == Some(generation) && !replaced
    }

    fn changed(&mut self, now: Instant, fx: &mut Vec<Effect>) {
        let Some(current) = self.current else {
            // Crashed: a save is the user's "try again".
            return match self.step {
                Step::Starting(_) => self.again = true,
                _ => {
                    self.restart.retry();
                    self.start_next(fx);
                }
            };
        };
        if self.step != Step::Settled || self.retiring.is_some() {
            if !self.again {
                fx.push(Effect::Report(Report::ReloadWaits));
            }
            self.again = true;
            return;
        }
        match self.mode {
            ReloadMode::Graceful => {
                self.step = Step::Draining;
                // A limit that no clock reaches is none.
                self.drain_until = now.checked_add(self.drain_limit);
                fx.push(Effect::Hold);
                fx.push(Effect::AwaitIdle(current));
            }
            ReloadMode::Swap => self.start_next(fx),
            ReloadMode::Immediate => {
                fx.push(Effect::Hold);
                self.hold_until = Some(now + HOLD_LIMIT);
                fx.push(Effect::Interrupt(current));
                self.start_next(fx);
            }
        }
    }

    fn idle(&mut self, generation: Generation, fx: &mut Vec<Effect>) {
        if self.step == Step::Draining && self.current == Some(generation) {
            self.step = Step::Asking;
            self.drain_until = None;
            fx.push(Effect::AskReload(generation));
        } else if self.retiring == Some(generation) {
            fx.push(Effect::Stop(generation));
        }
    }

    fn reloaded(&mut self, now: Instant, generation: Generation, registered: Registered, fx: &mut Vec<Effect>) {
        if self.step != Step::Asking || self.current != Some(generation) {
            return;
        }
        if registered.in_place || self.list.differs_from(&registered) {
            self.step = Step::Settled;
            self.list.register(registered, Keep::Selection, fx);
            // Asked before calls reach it: published SDKs answer nothing while a tool runs.
            self.catalogs.ask(generation, &Kind::ALL, fx);
            fx.push(Effect::ReleaseTo(generation));
            fx.push(Effect::ToolsChanged(Audience::Everyone));
            fx.push(Effect::Report(Report::Reloaded { generation, in_place: true }));
        } else {
            self.replace_held(now, fx);
        }
    }

    fn not_reloaded(&mut self, now: Instant, generation: Generation, why: Option<String>, fx: &mut Vec<Effect>) {
        if self.step != Step::Asking || self.current != Some(generation) {
            return;
        }
        match why {
            Some(why) => {
                self.step = Step::Settled;
                fx.push(Effect::Report(Report::ReloadFailed { why }));
                fx.push(Effect::ReleaseTo(generation));
            }
            None => self.replace_held(now, fx),
        }
    }

    /// The process reads the file only when it starts: a new one takes its place, and calls wait a little for it.
    fn replace_held(&mut self, now: Instant, fx: &mut Vec<Effect>) {
        self.hold_until = Some(now + HOLD_LIMIT);
        self.start_next(fx);
    }

    fn start_next(&mut self, fx: &mut Vec<Effect>) {
        self.newest = self.newest.next();
        self.step = Step::Starting(self.newest);
        fx.push(Effect::Start(self.newest));
    }

    fn started(&mut self, generation: Generation, registered: Registered, fx: &mut Vec<Effect>) {
        if self.step != Step::Starting(generation) {
            // Nobody waits for it any more.
            fx.push(Effect::Stop(generation));
            return;
        }
        self.take_over(generation, registered, fx);
    }

    fn take_over(&mut self, generation: Generation, mut registered: Registered, fx: &mut Vec<Effect>) {
        self.step = Step::Settled;
        self.hold_until = None;
        let old = self.current.replace(generation);
        let listed = mem::take(&mut registered.catalog);
        let changed = self.catalogs.take_over(generation, listed, &registered.renewed, fx);
        self.list.set_catalog(self.catalogs.current());
        let differs = self.list.register(registered, Keep::Nothing, fx);
        fx.push(Effect::ReleaseTo(generation));
        // A first start is no news: no host has seen a list before.
        let first = generation == Generation::FIRST;
        if old.is_some() || (differs && !first) {
            fx.push(Effect::ToolsChanged(Audience::Everyone));
        }
        if !first {
            changed.announce(fx);
        }
        if old.is_some() {
            fx.push(Effect::Report(Report::Reloaded { generation, in_place: false }));
        } else if !first {
            fx.push(Effect::Report(Report::Restarted { generation }));
        }
        if let Some(old) = old {
            self.retiring = Some(old);
            fx.push(match self.mode {
                ReloadMode::Immediate => Effect::Stop(old),
                ReloadMode::Graceful | ReloadMode::Swap => Effect::AwaitIdle(old),
            });
        }
    }

    fn start_failed(&mut self, now: Instant, generation: Generation, why: String, fx: &mut Vec<Effect>) {
        if self.step != Step::Starting(generation) {
            return;
        }
        self.step = Step::Settled;
        self.hold_until = None;
        match self.current {
            Some(current) => {
                fx.push(Effect::Report(Report::ReloadFailed { why }));
                fx.push(Effect::ReleaseTo(current));
            }
            None => {
                fx.push(Effect::Report(Report::RestartFailed { why: why.clone() }));
                self.schedule_restart(now, Duration::ZERO, &why, fx);
            }
        }
    }

    fn exited(&mut self, now: Instant, generation: Generation, exit: Exit, fx: &mut Vec<Effect>) {
        if self.retiring == Some(generation) {
            self.retiring = None;
            return;
        }
        if self.current != Some(generation) {
            return;
        }
        self.current = None;
        self.hold_until = None;
        self.drain_until = None;
        fx.push(Effect::Hold);
        let (uptime, why) = (exit.uptime, exit.to_string());
        fx.push(Effect::Report(Report::Crashed { exit }));
        match self.step {
            // The next process is on its way already.
            Step::Starting(_) => {}
            // The change that waited is in the file that the next process reads.
            Step::Draining | Step::Asking => self.start_next(fx),
            Step::Settled => self.schedule_restart(now, uptime, &why, fx),
        }
    }

    fn schedule_restart(&mut self, now: Instant, uptime: Duration, why: &str, fx: &mut Vec<Effect>) {
        match self.restart.failed(now, uptime) {
            Next::After(pause) => fx.push(Effect::Report(Report::RestartIn { pause })),
            Next::GiveUp => {
                fx.push(Effect::Refuse(why.to_owned()));
                fx.push(Effect::Report(Report::GaveUp { failures: self.restart.failures() }));
            }
        }
    }

    fn elapsed(&mut self, now: Instant, fx: &mut Vec<Effect>) {
        if self.hold_until.is_some_and(|at| at <= now) {
            self.hold_until = None;
            if let Some(current) = self.current {
                fx.push(Effect::ReleaseTo(current));
            }
        }
        if self.drain_until.is_some_and(|at| at <= now) {
            // As a swap: something never ends, and nobody else is to wait for it.
            self.drain_until = None;
            fx.push(Effect::Report(Report::NotDrained { after: self.drain_limit }));
            if let Some(current) = self.current {
                fx.push(Effect::ReleaseTo(current));
            }
            self.start_next(fx);
        }
        let due = self.current.is_none() && self.step == Step::Settled && self.restart.poll(now);
        if due {
            self.start_next(fx);
        }
    }

    /// A change that arrived during a reload is taken up when nothing of that reload is left.
    fn take_up_waiting_change(&mut self, now: Instant, fx: &mut Vec<Effect>) {
        if self.again && self.step == Step::Settled && self.retiring.is_none() {
            self.again = false;
            self.changed(now, fx);
        }
    }
}

#[cfg(test)]
mod tests;
