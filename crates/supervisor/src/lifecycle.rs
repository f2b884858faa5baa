//! The life of a process as a value: inputs go in, effects come out.
//!
//! ```text
//!  New ─Start→ Starting ─Spawned→ Running ─Stop→ Closing ─Elapsed→ Terminating ─Elapsed→ Killing ─Elapsed→ Ended
//!                 │ SpawnFailed      │ Stop{now} ──────────────────────────────────────────↗            │
//!                 ↓                  ↓ Exited (from any state that has a process)                       ↓
//!               Ended              Ended                                                              Ended
//! ```
//!
//! Each of the three steps (close the link, SIGTERM, SIGKILL) is less friendly than the one before. If a process ever
//! ran, [`Effect::Kill`] is requested at least once before the end, because its descendants must be killed too.

use std::io;
use std::time::Instant;

use crate::exit::Status;
use crate::policy::StopPolicy;

/// An input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Input {
    /// Start the process.
    Start,
    /// The process runs.
    Spawned,
    /// The process could not be started.
    SpawnFailed(io::ErrorKind),
    /// Stop the process: gracefully, or `now`.
    Stop {
        /// Kill without waiting.
        now: bool,
    },
    /// The process has ended.
    Exited(Status),
    /// The time of [`Lifecycle::deadline`] has passed.
    Elapsed,
}

/// An effect. The driver carries these out in order and makes no decisions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Start the process; answer with [`Input::Spawned`] or [`Input::SpawnFailed`].
    Spawn,
    /// Ask the owner to close the link: the most graceful way to stop a tool process.
    CloseLink,
    /// Send SIGTERM to the process group.
    Terminate,
    /// Send SIGKILL to the process and to all that came from it.
    Kill,
    /// Notify the owner.
    Announce(Notice),
}

/// A notification for the owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notice {
    /// The process runs.
    Started,
    /// The process could not be started. Nothing follows.
    SpawnFailed(io::ErrorKind),
    /// The process has ended. Nothing follows.
    Exited(Status),
}

/// The life of one process. A restart is a new value.
#[derive(Debug, Clone)]
pub struct Lifecycle {
    policy: StopPolicy,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    New,
    /// The process is being started; a stop is remembered until then.
    Starting {
        stop: Option<Stop>,
    },
    Running,
    /// The link was closed; SIGTERM is next.
    Closing {
        until: Instant,
    },
    /// SIGTERM was sent; SIGKILL is next.
    Terminating {
        until: Instant,
    },
    /// SIGKILL was sent; the end without confirmation is next.
    Killing {
        until: Instant,
    },
    Ended,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stop {
    Politely,
    Now,
}

impl Lifecycle {
    /// A life that has not begun.
    pub fn new(policy: StopPolicy) -> Self {
        Self { policy: policy.bounded(), state: State::New }
    }

    /// Handles an input and returns its effects, in order. Inputs that do not apply to the current state are ignored,
    /// because inputs can cross each other.
    pub fn handle(&mut self, now: Instant, input: Input) -> Vec<Effect> {
        match (self.state, input) {
            (State::New, Input::Start) => {
                self.state = State::Starting { stop: None };
                vec![Effect::Spawn]
            }
            (State::New, Input::Stop { .. }) => {
                self.state = State::Ended;
                vec![]
            }

            (State::Starting { stop }, Input::Spawned) => {
                self.state = State::Running;
                let mut effects = vec![Effect::Announce(Notice::Started)];
                match stop {
                    None => {}
                    Some(Stop::Politely) => effects.push(self.close(now)),
                    Some(Stop::Now) => effects.push(self.kill(now)),
                }
                effects
            }
            (State::Starting { .. }, Input::SpawnFailed(kind)) => {
                self.state = State::Ended;
                vec![Effect::Announce(Notice::SpawnFailed(kind))]
            }
            (State::Starting { stop }, Input::Stop { now }) => {
                let stop = if now || stop == Some(Stop::Now) { Stop::Now } else { Stop::Politely };
                self.state = State::Starting { stop: Some(stop) };
                vec![]
            }

            (State::Running, Input::Stop { now: false }) => vec![self.close(now)],
            (State::Running | State::Closing { .. } | State::Terminating { .. }, Input::Stop { now: true }) => {
                vec![self.kill(now)]
            }

            (State::Closing { until }, Input::Elapsed) if now >= until => {
                self.state = State::Terminating { until: now + self.policy.terminate };
                vec![Effect::Terminate]
            }
            (State::Terminating { until }, Input::Elapsed) if now >= until => vec![self.kill(now)],
            (State::Killing { until }, Input::Elapsed) if now >= until => self.end(Status::Unknown, false),

            (State::Running | State::Closing { .. } | State::Terminating { .. }, Input::Exited(status)) => {
                self.end(status, true)
            }
            (State::Killing { .. }, Input::Exited(status)) => self.end(status, false),

            (
                State::New
                | State::Starting { .. }
                | State::Running
                | State::Closing { .. }
                | State::Terminating { .. }
                | State::Killing { .. }
                | State::Ended,
                _,
            ) => vec![],
        }
    }

    /// The time at which [`Input::Elapsed`] is due.
    pub fn deadline(&self) -> Option<Instant> {
        match self.state {
            State::Closing { until } | State::Terminating { until } | State::Killing { until } => Some(until),
            State::New | State::Starting { .. } | State::Running | State::Ended => None,
        }
    }

    /// True if this life is over: every further input is ignored.
    pub fn is_over(&self) -> bool {
        self.state == State::Ended
    }

    fn close(&mut self, now: Instant) -> Effect {
        self.state = State::Closing { until: now + self.policy.close };
        Effect::CloseLink
    }

    fn kill(&mut self, now: Instant) -> Effect {
        self.state = State::Killing { until: now + self.policy.kill };
        Effect::Kill
    }

    /// Ends this life; `survivors` means that nothing was killed yet, so descendants may still run.
    fn end(&mut self, status: Status, survivors: bool) -> Vec<Effect> {
        self.state = State::Ended;
        let announce = Effect::Announce(Notice::Exited(status));
        if survivors { vec![Effect::Kill, announce] } else { vec![announce] }
    }
}
