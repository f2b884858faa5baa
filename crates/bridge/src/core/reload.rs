//! A reload: from a change of the files until the new code is in service, or the old one continues.

use std::time::{Duration, Instant};

use protomcp_server::Audience;

use crate::catalog::registration::Registration;
use crate::catalog::resources_and_prompts::Kind;
use crate::core::facts::Facts;
use crate::core::handover::{HOLD_LIMIT, Handover};
use crate::core::io::{Effect, ReloadMode};
use crate::core::list::Keep;
use crate::core::{Change, Core, Step};
use crate::diagnostics::cause::Cause;
use crate::diagnostics::report::Report;
use crate::generation::Generation;

/// The time after which a change of the files ends a process that is still starting. A healthy start takes less, so
/// that every version of quick saves gets into service; and a version that hangs does not delay its correction for
/// longer.
const START_LIMIT: Duration = Duration::from_secs(2);
/// The time after which the log names the calls that a reload waits for.
const NAME_CALLS_AFTER: Duration = Duration::from_secs(1);

impl Core {
    pub(super) fn changed(&mut self, now: Instant, fx: &mut Vec<Effect>) {
        let known = std::mem::replace(&mut self.change.waits, true);
        match (self.step, self.current) {
            (Step::Settled, _) => {}
            // The files are read after the calls have ended, so this change is in time.
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
            // After a crash, a save means "try again".
            self.restart.retry();
            self.start_next(now, fx);
            return;
        };
        match self.mode {
            ReloadMode::Graceful => {
                self.step = Step::Draining;
                self.clear_waiting_change();
                // A limit beyond the range of the clock is none.
                self.drain_until = now.checked_add(self.call_timeout);
                self.change.name_calls_at = Some(now + NAME_CALLS_AFTER);
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

    /// The time at which the starting process gives way to the change that waits for it.
    pub(super) fn give_up_at(&self) -> Option<Instant> {
        let is_starting = matches!(self.step, Step::Starting(_)) && self.newest.handover == Handover::NotYet;
        (self.change.waits && is_starting).then(|| self.newest.started_at + START_LIMIT)
    }

    /// Stops a process that has been starting for long while newer files exist. The next one starts when all of it is
    /// gone. Returns true if it did.
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

    /// True if the outcome of this start does not count, because a newer one follows.
    pub(crate) fn has_given_up(&self, generation: Generation) -> bool {
        self.step == Step::GivingUp(generation)
    }

    pub(super) fn idle(&mut self, now: Instant, generation: Generation, facts: &impl Facts, fx: &mut Vec<Effect>) {
        if self.step == Step::Draining && self.current == Some(generation) {
            self.drain_until = None;
            self.change.name_calls_at = None;
            let sdk = facts.features(generation).unwrap_or_default();
            if sdk.announced && !sdk.reloads_in_place {
                // It would answer without reading all its files.
                self.replace_held(now, fx);
            } else {
                self.step = Step::Asking;
                fx.push(Effect::RequestReload(generation));
            }
        } else if self.is_awaited(generation) {
            self.hand_over(Some(generation), fx);
        } else if self.retiring.stop(generation) {
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
            // Requested before calls reach it: published SDKs answer nothing while a tool runs.
            self.catalogs.ask(generation, &Kind::ALL, fx);
            fx.push(Effect::ReleaseTo(generation));
            fx.push(Effect::ToolsChanged(Audience::Everyone));
            self.catalogs.announce_apps(fx);
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

    /// The process reads the file only when it starts: a new one replaces it, and calls wait a little for it.
    pub(super) fn replace_held(&mut self, now: Instant, fx: &mut Vec<Effect>) {
        self.hold_until = Some(now + HOLD_LIMIT);
        self.start_next(now, fx);
    }

    /// Begins the waiting reload if no other is under way, the pace allows it, and the process in service can retire.
    pub(super) fn take_up_waiting_change(&mut self, now: Instant, fx: &mut Vec<Effect>) {
        if !self.change.waits || self.step != Step::Settled {
            return;
        }
        if self.needs_slot() {
            self.name_calls(self.retiring.busy(), fx);
            self.free_slot(now, fx);
        } else if self.pace.try_begin(now) {
            self.begin_reload(now, fx);
        }
    }

    /// The time at which a change that waits only for time can begin, or can be given a slot.
    pub(super) fn turn_of_waiting_change(&self) -> Option<Instant> {
        if !self.change.waits || self.step != Step::Settled {
            return None;
        }
        if self.needs_slot() { self.retiring.next_end() } else { self.pace.ready_at() }
    }

    /// Drops the waiting change.
    pub(super) fn clear_waiting_change(&mut self) {
        self.change = Change::default();
    }

    /// Stops a process of an earlier version that has had the time of a call. Its calls have ended by then; tasks may
    /// last longer.
    pub(super) fn free_slot(&mut self, now: Instant, fx: &mut Vec<Effect>) {
        if let Some(overdue) = self.retiring.overdue(now) {
            self.retiring.stop(overdue);
            fx.push(Effect::Report(Report::TasksAborted { after: self.call_timeout }));
            fx.push(Effect::Abort(overdue));
        }
    }

    fn needs_slot(&self) -> bool {
        self.current.is_some() && !self.retiring.has_slot()
    }

    /// Reports once the calls that a reload waits for.
    pub(super) fn name_calls(&mut self, of: Vec<Generation>, fx: &mut Vec<Effect>) {
        if !std::mem::replace(&mut self.change.calls_named, true) {
            fx.push(Effect::ReportCalls(of));
        }
    }
}
