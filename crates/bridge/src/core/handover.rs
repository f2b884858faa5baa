//! The state of the process in service, for its successor.
//!
//! ```text
//!              prepared, both know of it            idle, or an end
//!   NotYet ──────────────────────────────▶ Awaited ─────────────────▶ Decided
//! ```
//!
//! Without a state it stays `NotYet`, and the next save may end a start that takes long.
//!
//! The successor has connected by then, and registers after it. Calls are held from then until the start has ended, so no
//! call comes between the state and the new process. A call that still runs may change the state: the successor starts
//! without it when the call lasts for long.

use std::time::{Duration, Instant};

use crate::core::facts::Facts;
use crate::core::io::{Effect, ReloadMode};
use crate::core::{Core, Step};
use crate::diagnostics::report::Report;
use crate::generation::Generation;

/// The time for which a reload may hold calls for the new process: then the old one takes them, or the new one starts
/// without the state of the old one.
pub(super) const HOLD_LIMIT: Duration = Duration::from_secs(5);

/// The progress of the process that was started last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Handover {
    /// It has not connected yet, or there is no state for it.
    NotYet,
    /// It has connected, and the calls on the process in service end.
    Awaited,
    /// It takes over the state, or starts without it.
    Decided,
}

impl Core {
    pub(super) fn prepared(&mut self, now: Instant, generation: Generation, facts: &impl Facts, fx: &mut Vec<Effect>) {
        let hands_over = |current: &Generation| facts.features(*current).is_some_and(|known| known.hands_over);
        let current = self.current.filter(hands_over).filter(|_| self.step == Step::Starting(generation));
        let Some(current) = current else {
            fx.push(Effect::HandOver { from: None });
            return;
        };
        self.newest.handover = Handover::Awaited;
        self.hold_until = Some(now + HOLD_LIMIT);
        fx.push(Effect::Hold);
        if self.mode == ReloadMode::Immediate {
            fx.push(Effect::Interrupt(current));
        }
        fx.push(Effect::AwaitIdle(current));
    }

    /// True if the end of the calls on this process is awaited, and then its state.
    pub(super) fn is_awaited(&self, generation: Generation) -> bool {
        let is_starting = matches!(self.step, Step::Starting(_));
        is_starting && self.newest.handover == Handover::Awaited && self.current == Some(generation)
    }

    pub(super) fn hand_over(&mut self, from: Option<Generation>, fx: &mut Vec<Effect>) {
        // Calls are held until the start has ended, which has its own limit from here on.
        if self.newest.handover == Handover::Awaited {
            self.hold_until = None;
        }
        self.newest.handover = Handover::Decided;
        fx.push(Effect::HandOver { from });
    }

    /// Calls were held for as long as they may be.
    pub(super) fn held_for_long(&mut self, fx: &mut Vec<Effect>) {
        let Some(current) = self.current else { return };
        if self.is_awaited(current) {
            fx.push(Effect::Report(Report::NotHandedOver { after: HOLD_LIMIT }));
            self.hand_over(None, fx);
        } else {
            fx.push(Effect::ReleaseTo(current));
        }
    }
}
