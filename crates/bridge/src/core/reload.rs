//! A change of the files, until the new code is in service or the old one goes on.

use std::time::{Duration, Instant};

use protomcp_mcp::Audience;

use crate::catalog::Kind;
use crate::core::list::Keep;
use crate::core::signal::{Effect, ReloadMode};
use crate::core::{Core, Retiring, Step};
use crate::generation::Generation;
use crate::registered::Registered;
use crate::report::Report;

/// How long a graceful reload may keep calls waiting for the new process before the old one takes them after all.
const HOLD_LIMIT: Duration = Duration::from_secs(5);
/// How long a process may be starting before a change of the files ends it. A healthy start takes less, so that saves in
/// quick succession do not keep every version from getting into service; and a version that hangs keeps the one that
/// mends it waiting no longer than this.
const START_LIMIT: Duration = Duration::from_secs(2);

impl Core {
    pub(super) fn changed(&mut self, now: Instant, fx: &mut Vec<Effect>) {
        let under_way = self.step != Step::Settled || self.retiring.is_some() && self.current.is_some();
        if under_way {
            let known = std::mem::replace(&mut self.again, true);
            let waits = !self.give_up_slow_start(now, fx);
            if waits && !known && self.current.is_some() {
                fx.push(Effect::Report(Report::ReloadWaits));
            }
            return;
        }
        let Some(current) = self.current else {
            // Crashed: a save is the user's "try again".
            self.restart.retry();
            self.start_next(now, fx);
            return;
        };
        match self.mode {
            ReloadMode::Graceful => {
                self.step = Step::Draining;
                // A limit that no clock reaches is none.
                self.drain_until = now.checked_add(self.drain_limit);
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
        (self.again && matches!(self.step, Step::Starting(_))).then(|| self.started_at + START_LIMIT)
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

    /// Whether this one does not count any more, however its start ends: a newer one follows.
    pub(crate) fn has_given_up(&self, generation: Generation) -> bool {
        self.step == Step::GivingUp(generation)
    }

    pub(super) fn idle(&mut self, generation: Generation, fx: &mut Vec<Effect>) {
        if self.step == Step::Draining && self.current == Some(generation) {
            self.step = Step::Asking;
            self.drain_until = None;
            fx.push(Effect::AskReload(generation));
        } else if let Some(retiring) = self.retiring.as_mut().filter(|retiring| retiring.generation == generation) {
            retiring.leaves = true;
            retiring.until = None;
            fx.push(Effect::Stop(generation));
        }
    }

    pub(super) fn reloaded(
        &mut self,
        now: Instant,
        generation: Generation,
        registered: Registered,
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

    /// A change that arrived during a reload is taken up when nothing of that reload is left. Calls that the process before
    /// still works on may keep it waiting for a while, and not for as long as they like.
    pub(super) fn take_up_waiting_change(&mut self, now: Instant, fx: &mut Vec<Effect>) {
        if !self.again || self.step != Step::Settled {
            return;
        }
        match &mut self.retiring {
            None => {
                self.again = false;
                self.changed(now, fx);
            }
            Some(Retiring { leaves: false, until: until @ None, .. }) => *until = now.checked_add(self.retire_limit),
            Some(_) => {}
        }
    }

    /// What the process before still does has kept a change waiting for long enough.
    pub(super) fn end_retirement(&mut self, now: Instant, fx: &mut Vec<Effect>) {
        if let Some(Retiring { generation, leaves, until }) = &mut self.retiring
            && until.is_some_and(|at| at <= now)
        {
            *until = None;
            *leaves = true;
            fx.push(Effect::Report(Report::CutShort { after: self.retire_limit }));
            fx.push(Effect::CutShort(*generation));
        }
    }
}
