//! Decides what happens to generations of the tool process; does nothing itself.
//!
//! A closed set of inputs goes in, effects come out. The driver (`run`) carries them out in order.
//!
//! ```text
//!              change (graceful)        idle            not reloaded in place
//!   Settled ───────────────────▶ Draining ──▶ Asking ──────────────────────────▶ Starting
//!      │  ▲                                     │ reloaded in place                │ │ started: publish, release,
//!      │  └─────────────────────────────────────┘                                  │ │ retire the old one
//!      │  ▲                                                        failed: the old │ │
//!      │  └────────────────────────────────────────────────────── one serves on ───┴─┘
//!      └──────────── change (swap, immediate), restart after a crash ──────────────▶
//! ```
//!
//! Invariants: at most one old and one new process at a time; never two reloads at once (a change that arrives during
//! one is remembered, once); no input makes the list empty except a process that registers nothing.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use protomcp_mcp::{Audience, SessionId};
use protomcp_proto::ToolDefinition;
use protomcp_supervisor::{Exit, Next, Restart};
use protomcp_toollist::{Command, Rejected, Selection, ToolList};
use protomcp_types::ToolName;

use crate::generation::Generation;
use crate::registered::Registered;
use crate::report::Report;
use crate::snapshot::{Snapshot, View};
use crate::tool::{SchemaPolicy, Tool};

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
    policy: SchemaPolicy,
    step: Step,
    current: Option<Generation>,
    retiring: Option<Generation>,
    newest: Generation,
    /// A change came while a reload was under way.
    again: bool,
    hold_until: Option<Instant>,
    restart: Restart,
    tools: Arc<ToolList<ToolName, Arc<Tool>>>,
    definitions: Registered,
    base: Selection<ToolName>,
    overlays: HashMap<SessionId, Selection<ToolName>>,
    snapshot: Arc<Snapshot>,
}

impl Core {
    /// The state after the first process has started; the effects put it into service.
    pub(crate) fn new(mode: ReloadMode, policy: SchemaPolicy, first: Registered) -> (Self, Vec<Effect>) {
        let generation = Generation::FIRST;
        let mut core = Self {
            mode,
            policy,
            step: Step::Starting(generation),
            current: None,
            retiring: None,
            newest: generation,
            again: false,
            hold_until: None,
            restart: Restart::default(),
            tools: Arc::default(),
            definitions: Registered::default(),
            base: Selection::open(),
            overlays: HashMap::new(),
            snapshot: Arc::default(),
        };
        let mut effects = Vec::new();
        core.take_over(generation, first, &mut effects);
        effects.retain(|effect| !matches!(effect, Effect::Report(Report::Reloaded { .. })));
        (core, effects)
    }

    /// The list as it is now.
    pub(crate) fn snapshot(&self) -> &Arc<Snapshot> {
        &self.snapshot
    }

    /// When `Elapsed` is due.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        let restart = if self.current.is_none() && self.step == Step::Settled { self.restart.deadline() } else { None };
        match (restart, self.hold_until) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
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
            Input::Listed(generation, tools) => self.listed(generation, tools, fx),
            Input::Exited(generation, exit) => self.exited(now, generation, exit, fx),
            Input::Idle(generation) => self.idle(generation, fx),
            Input::Control { generation, session, command, reply } => {
                self.control(generation, session, command, fx);
                if let Some(id) = reply {
                    fx.push(Effect::Reply { generation, id, active: self.active_names(session) });
                }
            }
            Input::Proven(generation, name) => self.proven(generation, &name, fx),
            Input::SessionClosed(session) => {
                if self.overlays.remove(&session).is_some() {
                    self.publish(fx);
                }
            }
            Input::Elapsed => self.elapsed(now, fx),
        }
        self.take_up_waiting_change(now, fx);
        effects
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
            fx.push(Effect::AskReload(generation));
        } else if self.retiring == Some(generation) {
            fx.push(Effect::Stop(generation));
        }
    }

    fn reloaded(&mut self, now: Instant, generation: Generation, registered: Registered, fx: &mut Vec<Effect>) {
        if self.step != Step::Asking || self.current != Some(generation) {
            return;
        }
        if registered.in_place || registered.differs_from(&self.definitions) {
            self.step = Step::Settled;
            self.register(registered, Keep::Selection, fx);
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

    fn take_over(&mut self, generation: Generation, registered: Registered, fx: &mut Vec<Effect>) {
        self.step = Step::Settled;
        self.hold_until = None;
        let before = Arc::clone(&self.snapshot);
        let old = self.current.replace(generation);
        self.register(registered, Keep::Nothing, fx);
        fx.push(Effect::ReleaseTo(generation));
        if old.is_some() || !before.looks_like(&self.snapshot) {
            fx.push(Effect::ToolsChanged(Audience::Everyone));
        }
        let report = match old {
            Some(_) => Report::Reloaded { generation, in_place: false },
            None => Report::Restarted { generation },
        };
        fx.push(Effect::Report(report));
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

    fn listed(&mut self, generation: Generation, tools: Vec<ToolDefinition>, fx: &mut Vec<Effect>) {
        if self.current != Some(generation) {
            return;
        }
        let before = Arc::clone(&self.snapshot);
        let registered = Registered { tools: Some(tools), ..self.definitions.clone() };
        self.register(registered, Keep::Selection, fx);
        if !before.looks_like(&self.snapshot) {
            fx.push(Effect::ToolsChanged(Audience::Everyone));
        }
    }

    fn proven(&mut self, generation: Generation, name: &ToolName, fx: &mut Vec<Effect>) {
        if self.current != Some(generation) {
            return;
        }
        let Some(proven) =
            self.tools.registered().find(|(known, _)| *known == name).and_then(|(_, tool)| tool.proven())
        else {
            return;
        };
        let tools = self
            .tools
            .registered()
            .map(|(known, tool)| {
                (known.clone(), if known == name { Arc::new(proven.clone()) } else { Arc::clone(tool) })
            })
            .collect();
        Arc::make_mut(&mut self.tools).register(tools);
        self.publish(fx);
        fx.push(Effect::ToolsChanged(Audience::Everyone));
    }

    fn control(
        &mut self,
        generation: Generation,
        session: Option<SessionId>,
        command: Result<Command<ToolName>, Rejected>,
        fx: &mut Vec<Effect>,
    ) {
        if self.current != Some(generation) {
            return;
        }
        let command = match command {
            Ok(command) => command,
            Err(rejected) => return fx.push(Effect::Report(Report::ControlRejected { why: rejected.to_string() })),
        };
        let rejected = match session {
            Some(session) => self.control_one(session, &command, fx),
            None => self.control_all(&command, fx),
        };
        if let Err(rejected) = rejected {
            fx.push(Effect::Report(Report::ControlRejected { why: rejected.to_string() }));
        }
    }

    fn control_one(
        &mut self,
        session: SessionId,
        command: &Command<ToolName>,
        fx: &mut Vec<Effect>,
    ) -> Result<(), Rejected> {
        let mut selection = self.overlays.get(&session).unwrap_or(&self.base).clone();
        let change = self.tools.apply_to(&mut selection, command)?;
        if self.overlays.get(&session).unwrap_or(&self.base) != &selection {
            self.overlays.insert(session, selection);
            self.publish(fx);
        }
        if !change.is_empty() {
            fx.push(Effect::ToolsChanged(Audience::Session(session)));
        }
        Ok(())
    }

    fn control_all(&mut self, command: &Command<ToolName>, fx: &mut Vec<Effect>) -> Result<(), Rejected> {
        let mut base = self.base.clone();
        let mut changed = !self.tools.apply_to(&mut base, command)?.is_empty();
        for selection in self.overlays.values_mut() {
            changed |= !self.tools.apply_to(selection, command)?.is_empty();
        }
        self.base = base;
        self.publish(fx);
        if changed {
            fx.push(Effect::ToolsChanged(Audience::Everyone));
        }
        Ok(())
    }

    /// Replaces the tools. A new process starts with an open list and hides its hidden tools itself; a process that
    /// reloads in place keeps what was selected.
    fn register(&mut self, registered: Registered, keep: Keep, fx: &mut Vec<Effect>) {
        if let Some(definitions) = &registered.tools {
            let proven = |name: &ToolName| self.tools.find(&Selection::open(), name).map(|tool| tool.as_ref());
            let (tools, faults) = Tool::all(definitions, self.policy, proven);
            fx.extend(faults.into_iter().map(|fault| Effect::Report(Report::Definition(fault))));
            let mut list = ToolList::new();
            list.register(tools);
            self.tools = Arc::new(list);
        }
        if matches!(keep, Keep::Nothing) {
            self.base = Selection::open();
            self.overlays.clear();
        }
        for command in &registered.early {
            if let Err(rejected) = self.base.apply(command) {
                fx.push(Effect::Report(Report::ControlRejected { why: rejected.to_string() }));
            }
        }
        let tools = registered.tools.or_else(|| self.definitions.tools.take());
        self.definitions =
            Registered { tools, middleware: registered.middleware, early: Vec::new(), in_place: registered.in_place };
        self.publish(fx);
    }

    fn publish(&mut self, fx: &mut Vec<Effect>) {
        let view = |selection: &Selection<ToolName>| Arc::new(View::new(Arc::clone(&self.tools), selection.clone()));
        let overlays = self.overlays.iter().map(|(session, selection)| (*session, view(selection))).collect();
        self.snapshot = Arc::new(Snapshot::new(view(&self.base), overlays));
        fx.push(Effect::Publish(Arc::clone(&self.snapshot)));
    }

    fn active_names(&self, session: Option<SessionId>) -> Vec<String> {
        let selection = session.and_then(|session| self.overlays.get(&session)).unwrap_or(&self.base);
        self.tools.view(selection).map(|(name, _)| name.to_string()).collect()
    }
}

/// What of the selection survives a registration.
#[derive(Debug, Clone, Copy)]
enum Keep {
    Selection,
    Nothing,
}

#[cfg(test)]
mod tests;
