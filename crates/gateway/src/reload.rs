//! Decides about the versions of a server whose files change, without I/O.
//!
//! ```text
//!             change                    ready: switch, the earlier version finishes its calls
//!   Settled ──────────▶ Starting(n) ───────────────────────────────────────────────────────────▶ Settled
//!                          │  │ failed: the earlier version serves on
//!                          │  └────────────────────────────────────────────────────────────────▶ Settled
//!                          └─ change, and it has been starting for long: given up ─▶ Starting(n + 1)
//! ```
//!
//! Invariants: one version serves, at most one starts, and at most [`GatewayLimits::max_retiring`] finish their calls;
//! changes during a start become one more reload; a reload fails no call, except those that hold the place of a version
//! for longer than a call may take.
//!
//! [`GatewayLimits::max_retiring`]: crate::GatewayLimits::max_retiring

use std::fmt;
use std::time::{Duration, Instant};

use protomcp_watch::{Pace, Retiring};

/// The time after which a change of the files ends a version that is still starting, as in the bridge.
const START_LIMIT: Duration = Duration::from_secs(2);

/// One version of a server: 1, 2, 3 …
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Generation(u64);

/// An input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Input {
    /// Files have changed, or a reload was requested.
    Changed,
    /// The version that was to be started is connected.
    Ready(Generation),
    /// It could not be connected.
    Failed(Generation, Failure),
    /// The last process of an earlier version has ended.
    Ended(Generation),
    /// The deadline has passed.
    Elapsed,
}

/// A version that could not be connected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) why: String,
    /// The earlier version is up.
    pub(crate) has_fallback: bool,
}

/// An effect. Effects are applied in their order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Effect {
    /// Start this version; `Ready` or `Failed` follows.
    Start(Generation),
    /// Stop this version, which is still starting. Nothing follows.
    GiveUp(Generation),
    /// Send requests to this version from here on. `Ended` follows for the one before, when its calls have ended.
    Switch { to: Generation, from: Generation },
    /// End this version, whose calls fail. `Ended` follows.
    Abort(Generation),
    /// Log it, and send it to clients.
    Report(Report),
}

/// A report on a reload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Report {
    Reloaded(Generation),
    Failed(Failure),
    /// A change waits for the end of the reload under way.
    Waits,
    /// A change waits for calls of earlier versions.
    WaitsForCalls,
    StartGivenUp(Generation),
    CallsAborted {
        after: Duration,
    },
}

/// The versions of one server.
#[derive(Debug)]
pub(crate) struct Reloads {
    current: Generation,
    newest: Generation,
    /// The start of the newest version, while it starts.
    starting: Option<Instant>,
    change: Option<Change>,
    pace: Pace,
    retiring: Retiring<Generation>,
    call_timeout: Duration,
}

/// A change of the files without a reload.
#[derive(Debug, Default)]
struct Change {
    is_reported: bool,
}

impl Reloads {
    /// The first version serves. `call_timeout`: the time for which the calls of an earlier version may delay a reload.
    pub(crate) fn new(max_retiring: usize, call_timeout: Duration) -> Self {
        let first = Generation(1);
        Self {
            current: first,
            newest: first,
            starting: None,
            change: None,
            pace: Pace::default(),
            retiring: Retiring::new(max_retiring),
            call_timeout,
        }
    }

    /// The time at which `Elapsed` is due.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.change.as_ref()?;
        match self.starting {
            Some(since) => Some(since + START_LIMIT),
            None if self.retiring.has_slot() => self.pace.ready_at(),
            None => self.retiring.next_end(),
        }
    }

    /// Takes one input and returns the effects, in their order.
    pub(crate) fn handle(&mut self, now: Instant, input: Input) -> Vec<Effect> {
        let mut effects = Vec::new();
        match input {
            Input::Changed => {
                self.change.get_or_insert_default();
            }
            Input::Ready(generation) if self.ends_start(generation) => {
                let from = std::mem::replace(&mut self.current, generation);
                // An instant beyond the range of the clock counts as none.
                self.retiring.add(from, now.checked_add(self.call_timeout));
                effects.push(Effect::Switch { to: generation, from });
                effects.push(Effect::Report(Report::Reloaded(generation)));
            }
            Input::Failed(generation, failure) if self.ends_start(generation) => {
                effects.push(Effect::Report(Report::Failed(failure)));
            }
            Input::Ended(generation) => {
                self.retiring.remove(generation);
            }
            // Given up before.
            Input::Ready(_) | Input::Failed(..) | Input::Elapsed => {}
        }
        self.take_up_change(now, &mut effects);
        effects
    }

    /// True if this version was starting.
    fn ends_start(&mut self, generation: Generation) -> bool {
        generation == self.newest && self.starting.take().is_some()
    }

    /// Begins the reload that waits, if nothing is in its way.
    fn take_up_change(&mut self, now: Instant, effects: &mut Vec<Effect>) {
        let Some(change) = &mut self.change else { return };
        let has_waited = std::mem::replace(&mut change.is_reported, true);
        match self.starting {
            Some(since) if now >= since + START_LIMIT => {
                effects.push(Effect::Report(Report::StartGivenUp(self.newest)));
                effects.push(Effect::GiveUp(self.newest));
                self.pace.begin(now);
                self.start(now, effects);
            }
            Some(_) if !has_waited => effects.push(Effect::Report(Report::Waits)),
            Some(_) => {}
            None if !self.retiring.has_slot() => {
                if !has_waited {
                    effects.push(Effect::Report(Report::WaitsForCalls));
                }
                if let Some(overdue) = self.retiring.overdue(now) {
                    self.retiring.stop(overdue);
                    effects.push(Effect::Report(Report::CallsAborted { after: self.call_timeout }));
                    effects.push(Effect::Abort(overdue));
                }
            }
            None if self.pace.try_begin(now) => self.start(now, effects),
            None => change.is_reported = has_waited,
        }
    }

    fn start(&mut self, now: Instant, effects: &mut Vec<Effect>) {
        self.change = None;
        self.newest = Generation(self.newest.0 + 1);
        self.starting = Some(now);
        effects.push(Effect::Start(self.newest));
    }
}

impl fmt::Display for Generation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "generation {}", self.0)
    }
}

impl Report {
    /// The text for clients: the reason of a failure may quote the server, and is not for each of its clients.
    pub(crate) fn for_clients(&self) -> String {
        match self {
            Self::Failed(failure) => failure.consequence().into(),
            other => other.to_string(),
        }
    }

    /// True if the author has to do something.
    pub(crate) fn is_failure(&self) -> bool {
        matches!(self, Self::Failed(_))
    }
}

impl Failure {
    fn consequence(&self) -> &'static str {
        if self.has_fallback {
            "reload failed, still serving the previous version"
        } else {
            "reload failed, and the previous version is down"
        }
    }
}

/// The text for the author's log, in full.
impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Reloaded(generation) => write!(f, "reloaded ({generation})"),
            Self::Failed(failure) => write!(f, "{}: {}", failure.consequence(), failure.why),
            Self::Waits => f.write_str("the files changed again; the reload waits for the one under way"),
            Self::WaitsForCalls => f.write_str("the files changed; the reload waits for calls of earlier versions"),
            Self::StartGivenUp(generation) => write!(
                f,
                "the files changed again while the version before was still starting; it is ended, and the new one starts \
                 ({generation} never took calls)"
            ),
            Self::CallsAborted { after } => write!(
                f,
                "cancelled calls still running on an earlier version {after:?} after it was replaced, so the reload can \
                 proceed"
            ),
        }
    }
}

#[cfg(test)]
mod tests;
