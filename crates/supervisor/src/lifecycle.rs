//! One life of one process as a value: what happened goes in, what to do comes out.
//!
//! ```text
//!  New ─Start→ Starting ─Spawned→ Running ─Stop→ Closing ─Elapsed→ Terminating ─Elapsed→ Killing ─Elapsed→ Ended
//!                 │ SpawnFailed      │ Stop{now} ──────────────────────────────────────────↗            │
//!                 ↓                  ↓ Exited (from any state that has a process)                       ↓
//!               Ended              Ended                                                              Ended
//! ```
//!
//! The ladder (close the link, SIGTERM, SIGKILL) gives the tool process three chances, each less friendly. Whatever
//! happens, [`Effect::Kill`] is asked for at least once before the end if a process ever ran, because what the
//! process itself started is still to be ended after it.

use std::io;
use std::time::Instant;

use crate::exit::Status;
use crate::policy::StopPolicy;

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Input {
    /// Someone wants the process to run.
    Start,
    /// The process runs.
    Spawned,
    /// The process could not be started.
    SpawnFailed(io::ErrorKind),
    /// Someone wants the process to end: politely, or `now`.
    Stop {
        /// Skip the waiting and kill.
        now: bool,
    },
    /// The process has ended.
    Exited(Status),
    /// The time of [`Lifecycle::deadline`] has come.
    Elapsed,
}

/// What to do. The driver does these in order and decides nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Start the process; answer with [`Input::Spawned`] or [`Input::SpawnFailed`].
    Spawn,
    /// DesiredState whoever owns the link to close it: the friendliest way to end a tool process.
    CloseLink,
    /// Send SIGTERM to the process group.
    Terminate,
    /// Send SIGKILL to the process and to all that came from it.
    Kill,
    /// Tell the owner.
    Announce(Notice),
}

/// What the owner is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notice {
    /// The process runs.
    Started,
    /// The process could not be started. Nothing follows.
    SpawnFailed(io::ErrorKind),
    /// The process has ended. Nothing follows.
    Exited(Status),
}

/// One life of one process. A restart is a new value.
#[derive(Debug, Clone)]
pub struct Lifecycle {
    policy: StopPolicy,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    New,
    /// Being started; a stop that comes meanwhile is remembered.
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
    /// SIGKILL was sent; giving up on a confirmation is next.
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
        Self { policy, state: State::New }
    }

    /// Takes one input and answers with what to do, in order. What makes no sense in the present state is ignored:
    /// inputs cross each other on their way.
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

    /// When [`Input::Elapsed`] is due, if nothing else happens before.
    pub fn deadline(&self) -> Option<Instant> {
        match self.state {
            State::Closing { until } | State::Terminating { until } | State::Killing { until } => Some(until),
            State::New | State::Starting { .. } | State::Running | State::Ended => None,
        }
    }

    /// Whether this life is over: every further input is ignored.
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

    /// Ends this life; `survivors` says that nothing was killed yet, so what the process started may still run.
    fn end(&mut self, status: Status, survivors: bool) -> Vec<Effect> {
        self.state = State::Ended;
        let announce = Effect::Announce(Notice::Exited(status));
        if survivors { vec![Effect::Kill, announce] } else { vec![announce] }
    }
}
