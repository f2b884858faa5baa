//! A change of the files, until the new code is in service or the old one goes on.

use std::time::{Duration, Instant};

use protomcp_server::Audience;

use crate::catalog::registration::Registration;
use crate::catalog::resources_and_prompts::Kind;
use crate::core::io::{Effect, ReloadMode};
use crate::core::list::Keep;
use crate::core::{Core, Step};
use crate::diagnostics::cause::Cause;
use crate::diagnostics::report::Report;
use crate::generation::Generation;

/// How long a graceful reload may keep calls waiting for the new process before the old one takes them after all.
const HOLD_LIMIT: Duration = Duration::from_secs(5);
/// How long a process may be starting before a change of the files ends it. A healthy start takes less, so that saves in
/// quick succession do not keep every version from getting into service; and a version that hangs keeps the one that
/// mends it waiting no longer than this.
const START_LIMIT: Duration = Duration::from_secs(2);

impl Core {
    pub(super) fn changed(&mut self, now: Instant, fx: &mut Vec<Effect>) {
        let known = std::mem::replace(&mut self.change.waits, true);
        match (self.step, self.current) {
            (Step::Settled, _) => {}
            // The files are read when the calls have ended, so this change is in time.
            (Step::Draining, Some(current)) => {
                self.change.waits = false;
                self.name_calls(vec![current], fx);
            }
            (_, current) => {
                let waits = !self.give_up_slow_start(now, fx);
                if waits && !known && current.is_some() {
                    fx.push(Effect::Report(Report::ReloadWaits));
                }
            }
        }
    }

    fn begin_reload(&mut self, now: Instant, fx: &mut Vec<Effect>) {
        let Some(current) = self.current else {
            // Crashed: a save is the user's "try again".
            self.restart.retry();
            self.start_next(now, fx);
            return;
        };
        match self.mode {
            ReloadMode::Graceful => {
                self.step = Step::Draining;
                self.has_taken_up_change();
                // A limit that no clock reaches is none.
                self.drain_until = now.checked_add(self.call_timeout);
                fx.push(Effect::Hold);
                fx.push(Effect::AwaitIdle(current));
            }
            ReloadMode::Swap => self.start_next(now, fx),
            ReloadMode::Immediate => {
                fx.push(Effect::Hold);
                self.hold_until = Some(now + HOLD_LIMIT);
                fx.push(Effect::Interrupt(current));
                self.start_next(now, fx);
            }
        }
    }

    /// When the process that is starting has to make room for the change that waits for it.
    pub(super) fn give_up_at(&self) -> Option<Instant> {
        (self.change.waits && matches!(self.step, Step::Starting(_))).then(|| self.newest.started_at + START_LIMIT)
    }

    /// Ends a process that has been starting for long while newer files are there. The next one starts when nothing of it
    /// is left. Returns whether it did.
    pub(super) fn give_up_slow_start(&mut self, now: Instant, fx: &mut Vec<Effect>) -> bool {
        let Step::Starting(generation) = self.step else { return false };
        if self.give_up_at().is_none_or(|at| now < at) {
            return false;
        }
        self.step = Step::GivingUp(generation);
        fx.push(Effect::Report(Report::StartGivenUp { generation }));
        fx.push(Effect::GiveUp(generation));
        true
    }

    /// Whether this one does not count, however its start ends: a newer one follows.
    pub(crate) fn has_given_up(&self, generation: Generation) -> bool {
        self.step == Step::GivingUp(generation)
    }

    pub(super) fn idle(&mut self, generation: Generation, fx: &mut Vec<Effect>) {
        if self.step == Step::Draining && self.current == Some(generation) {
            self.step = Step::Asking;
            self.drain_until = None;
            fx.push(Effect::AskReload(generation));
        } else if self.retiring.leave(generation) {
            fx.push(Effect::Stop(generation));
        }
    }

    pub(super) fn reloaded(
        &mut self,
        now: Instant,
        generation: Generation,
        registered: Registration,
        fx: &mut Vec<Effect>,
    ) {
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

    pub(super) fn not_reloaded(
        &mut self,
        now: Instant,
        generation: Generation,
        why: Option<String>,
        fx: &mut Vec<Effect>,
    ) {
        if self.step != Step::Asking || self.current != Some(generation) {
            return;
        }
        match why {
            Some(why) => {
                self.step = Step::Settled;
                let why = Cause::reported("the tool process reported an error", &why);
                fx.push(Effect::Report(Report::ReloadFailed { why }));
                fx.push(Effect::ReleaseTo(generation));
            }
            None => self.replace_held(now, fx),
        }
    }

    /// The process reads the file only when it starts: a new one takes its place, and calls wait a little for it.
    pub(super) fn replace_held(&mut self, now: Instant, fx: &mut Vec<Effect>) {
        self.hold_until = Some(now + HOLD_LIMIT);
        self.start_next(now, fx);
    }

    /// Takes a change up when no reload is under way, one may begin, and the process that serves could retire.
    pub(super) fn take_up_waiting_change(&mut self, now: Instant, fx: &mut Vec<Effect>) {
        if !self.change.waits || self.step != Step::Settled {
            return;
        }
        if self.needs_place() {
            self.name_calls(self.retiring.busy(), fx);
            self.make_place(now, fx);
        } else if self.pace.try_begin(now) {
            self.begin_reload(now, fx);
        }
    }

    /// When a change that waits for nothing but time can be taken up, or can be made a place.
    pub(super) fn turn_of_waiting_change(&self) -> Option<Instant> {
        if !self.change.waits || self.step != Step::Settled {
            return None;
        }
        if self.needs_place() { self.retiring.next_end() } else { self.pace.ready_at() }
    }

    /// No change waits from now on.
    pub(super) fn has_taken_up_change(&mut self) {
        self.change.waits = false;
        self.change.calls_named = false;
    }

    /// Ends a process of an earlier version that has had the time of a call. Calls have ended by then; tasks may last
    /// longer.
    fn make_place(&mut self, now: Instant, fx: &mut Vec<Effect>) {
        if let Some(overdue) = self.retiring.overdue(now) {
            self.retiring.leave(overdue);
            fx.push(Effect::Report(Report::TasksAborted { after: self.call_timeout }));
            fx.push(Effect::Abort(overdue));
        }
    }

    fn needs_place(&self) -> bool {
        self.current.is_some() && !self.retiring.has_place()
    }

    /// Says once which calls a reload waits for.
    fn name_calls(&mut self, of: Vec<Generation>, fx: &mut Vec<Effect>) {
        if !std::mem::replace(&mut self.change.calls_named, true) {
            fx.push(Effect::NameCalls(of));
        }
    }
}
