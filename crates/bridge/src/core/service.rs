//! Starts and ends of processes in service.

use std::mem;
use std::time::{Duration, Instant};

use protomcp_server::Audience;
use protomcp_supervisor::{Exit, Next};
use protomcp_types::ToolName;

use crate::catalog::registration::Registration;
use crate::core::handover::Handover;
use crate::core::io::{Effect, ReloadMode};
use crate::core::list::Keep;
use crate::core::{Core, FirstVersion, Step};
use crate::diagnostics::cause::Cause;
use crate::diagnostics::report::Report;
use crate::generation::Generation;

impl Core {
    /// Starts the next process, which reads the files as they are now.
    pub(super) fn start_next(&mut self, now: Instant, fx: &mut Vec<Effect>) {
        self.clear_waiting_change();
        self.newest.generation = self.newest.generation.next();
        self.newest.started_at = now;
        self.newest.handover = Handover::NotYet;
        self.newest.replaces_stuck = false;
        self.step = Step::Starting(self.newest.generation);
        fx.push(Effect::Start(self.newest.generation));
    }

    pub(super) fn started(
        &mut self,
        now: Instant,
        generation: Generation,
        registered: Registration,
        fx: &mut Vec<Effect>,
    ) {
        // A start that was being given up may succeed first; the change is then handled after it.
        if self.step != Step::Starting(generation) && !self.has_given_up(generation) {
            // Another one has replaced it.
            fx.push(Effect::Stop(generation));
            return;
        }
        self.take_over(now, generation, registered, fx);
    }

    pub(super) fn take_over(
        &mut self,
        now: Instant,
        generation: Generation,
        mut registered: Registration,
        fx: &mut Vec<Effect>,
    ) {
        self.step = Step::Settled;
        self.hold_until = None;
        let old = self.current.replace(generation);
        let listed = mem::take(&mut registered.catalog);
        let changed = self.catalogs.take_over(generation, listed, &registered.renewed, fx);
        self.list.set_catalog(self.catalogs.current());
        let differs = self.list.register(registered, Keep::Nothing, fx);
        fx.push(Effect::ReleaseTo(generation));
        // After the first start there is nothing to report: no client has seen a list before.
        let before = mem::replace(&mut self.first, FirstVersion::Served);
        let is_listed = matches!(before, FirstVersion::Missing | FirstVersion::Served);
        if old.is_some() || (differs && is_listed) {
            fx.push(Effect::ToolsChanged(Audience::Everyone));
        }
        if is_listed {
            changed.announce(fx);
        }
        if old.is_some() {
            self.catalogs.announce_apps(fx);
        }
        if old.is_some() || before == FirstVersion::Missing {
            fx.push(Effect::Report(Report::Reloaded { generation, in_place: false }));
        } else if before == FirstVersion::Served {
            fx.push(Effect::Report(Report::Restarted { generation }));
        }
        if let Some(old) = old {
            // An instant beyond the range of the clock counts as none.
            self.retiring.add(old, now.checked_add(self.call_timeout));
            if self.mode == ReloadMode::Immediate && !self.newest.replaces_stuck {
                self.retiring.stop(old);
                fx.push(Effect::Abort(old));
            } else {
                fx.push(Effect::AwaitIdle(old));
            }
        }
    }

    /// Another process takes the calls that wait for this one, whose handler does not end, in each mode of reloads without
    /// an interruption of others. A reload under way does the same. Without a slot, an overdue process of an earlier
    /// version ends, and the next event tries again.
    pub(super) fn stuck(&mut self, now: Instant, generation: Generation, tool: Option<ToolName>, fx: &mut Vec<Effect>) {
        if self.current != Some(generation) || self.step != Step::Settled {
            return;
        }
        if self.retiring.has_slot() {
            fx.push(Effect::Report(Report::Stuck { tool }));
            self.start_next(now, fx);
            self.newest.replaces_stuck = true;
        } else {
            self.free_slot(now, fx);
        }
    }

    pub(super) fn start_failed(&mut self, now: Instant, generation: Generation, why: Cause, fx: &mut Vec<Effect>) {
        if self.has_given_up(generation) {
            // The reason does not matter: the files have changed since.
            self.pace.begin(now);
            self.start_next(now, fx);
            return;
        }
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
            None if self.first != FirstVersion::Served => {
                self.first = FirstVersion::Missing;
                fx.push(Effect::Report(Report::NotStarted { why }));
            }
            None => {
                fx.push(Effect::Report(Report::RestartFailed { why: why.clone() }));
                self.schedule_restart(now, Duration::ZERO, why, fx);
            }
        }
    }

    pub(super) fn exited(&mut self, now: Instant, generation: Generation, exit: Exit, fx: &mut Vec<Effect>) {
        if self.retiring.remove(generation) {
            return;
        }
        if self.current != Some(generation) {
            return;
        }
        let had_to_hand_over = self.is_awaited(generation);
        self.current = None;
        self.hold_until = None;
        self.drain_until = None;
        self.change.name_calls_at = None;
        fx.push(Effect::Hold);
        // Its last lines may be about any of its calls.
        let (uptime, why) = (exit.uptime, Cause::from(Cause::exited(&exit, "").summary()));
        fx.push(Effect::Report(Report::Crashed { exit }));
        match self.step {
            // The next process is on its way already.
            Step::Starting(_) if had_to_hand_over => self.hand_over(None, fx),
            Step::Starting(_) | Step::GivingUp(_) => {}
            // The next process reads the file with the waiting change.
            Step::Draining | Step::Asking => self.start_next(now, fx),
            Step::Settled => self.schedule_restart(now, uptime, why, fx),
        }
    }

    pub(super) fn schedule_restart(&mut self, now: Instant, uptime: Duration, why: Cause, fx: &mut Vec<Effect>) {
        match self.restart.failed(now, uptime) {
            Next::After(pause) => fx.push(Effect::Report(Report::RestartIn { pause })),
            Next::GiveUp => {
                fx.push(Effect::Refuse(why));
                self.catalogs.await_nothing();
                self.list.show(self.catalogs.current(), fx);
                fx.push(Effect::Report(Report::GaveUp { failures: self.restart.failures() }));
            }
        }
    }
}
