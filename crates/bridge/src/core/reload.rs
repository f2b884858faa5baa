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

impl Core {
    pub(super) fn changed(&mut self, now: Instant, fx: &mut Vec<Effect>) {
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
        self.start_next(fx);
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
