//! Detects that a tool process has finished registering.
//!
//! ```text
//!            begin(Start)            tool_list               reload_response, or quiet for 500 ms
//!  Settled ───────────────▶ Listing ───────────▶ Registering ─────────────────────────▶ Settled + Ready
//!            begin(Reload)     │ ▲                  │ ▲
//!                              └─┘ reload_response  └─┘ register_middleware (acknowledged; quiet starts over)
//! ```
//!
//! A reload may arrive in the order of the published SDKs (reload_response, tool_list, middleware, reload_response) or
//! in the order of the specification (tool_list, middleware, reload_response). The same three states read both, because
//! a `reload_response` ends the handshake only after a list. One with `success: false` ends it at any point.
//!
//! A process that never stops registering blocks nothing: [`Config::handshake_timeout`] after its list, the
//! registrations so far count.

use std::time::{Duration, Instant};

use protomcp_envelope::{ReloadResponse, ToolDefinition};

use crate::config::Config;
use crate::error::{HandshakeError, ReloadError};
use crate::event::{Handshake, Middleware, Phase};

/// The fate of a registration.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Registration {
    /// The registration belongs to the handshake.
    Noted,
    /// No handshake is open: the registration joins the registrations of the last one.
    Late(Middleware),
    /// There are too many registrations, or the name is too long.
    Refused,
}

/// The longest name of a middleware that is kept, in bytes.
pub(crate) const MIDDLEWARE_NAME_MAX: usize = 1024;

/// The outcome of a handshake.
#[derive(Debug, PartialEq)]
pub(crate) enum Outcome {
    Ready(Handshake),
    Failed(HandshakeError),
    ReloadFailed(ReloadError),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Settled,
    Listing { answered: bool },
    Registering,
}

/// The handshake of one tool process, first and later ones.
#[derive(Debug)]
pub(crate) struct Handshaker {
    stage: Stage,
    phase: Phase,
    tools: Option<Vec<ToolDefinition>>,
    middleware: Vec<Middleware>,
    /// The registrations since the last handshake began, late ones included.
    registered: usize,
    deadline: Option<Instant>,
    /// The time at which registering ends even if more arrives; set by the first list. `None` means never.
    registering_until: Option<Instant>,
    max_middleware: usize,
    timeout: Duration,
    quiet: Duration,
    reload_timeout: Duration,
}

impl Handshaker {
    pub(crate) fn new(config: &Config) -> Self {
        Self {
            stage: Stage::Settled,
            phase: Phase::Start,
            tools: None,
            middleware: Vec::new(),
            registered: 0,
            deadline: None,
            registering_until: None,
            max_middleware: config.max_middleware,
            timeout: config.handshake_timeout,
            quiet: config.handshake_quiet,
            reload_timeout: config.reload_timeout,
        }
    }

    /// True if the process may read the next frame as an acknowledgement.
    pub(crate) fn is_open(&self) -> bool {
        self.stage != Stage::Settled
    }

    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// The request for the list, or for a reload, is written.
    pub(crate) fn begin(&mut self, now: Instant, phase: Phase) {
        self.stage = Stage::Listing { answered: false };
        self.phase = phase;
        self.tools = None;
        self.middleware.clear();
        self.registered = 0;
        let timeout = match phase {
            Phase::Start => self.timeout,
            Phase::Reload => self.reload_timeout,
        };
        self.deadline = now.checked_add(timeout);
    }

    /// Handles a list. Returns it when no handshake is open: then it is a change notification.
    pub(crate) fn tool_list(&mut self, now: Instant, tools: Vec<ToolDefinition>) -> Option<Vec<ToolDefinition>> {
        if self.stage == Stage::Settled {
            return Some(tools);
        }
        self.tools = Some(tools);
        if self.stage != Stage::Registering {
            self.stage = Stage::Registering;
            self.registering_until = now.checked_add(self.timeout);
        }
        self.wait_for_more(now);
        None
    }

    /// Handles a list that was rejected. Ends a handshake that waits for its first one.
    pub(crate) fn list_refused(&mut self, why: String) -> Option<Outcome> {
        match (self.stage, self.phase) {
            (Stage::Settled | Stage::Registering, _) => None,
            (Stage::Listing { .. }, Phase::Start) => Some(self.fail(HandshakeError::Undecoded(why))),
            (Stage::Listing { .. }, Phase::Reload) => {
                self.settle();
                Some(Outcome::ReloadFailed(ReloadError::Undecoded(why)))
            }
        }
    }

    /// Handles a registration.
    pub(crate) fn register(&mut self, now: Instant, middleware: Middleware) -> Registration {
        let room = self.registered < self.max_middleware && middleware.name.len() <= MIDDLEWARE_NAME_MAX;
        if self.stage == Stage::Registering {
            self.wait_for_more(now);
        }
        self.registered += usize::from(room);
        match (self.stage, room) {
            (_, false) => Registration::Refused,
            (Stage::Settled, true) => Registration::Late(middleware),
            (Stage::Listing { .. } | Stage::Registering, true) => {
                self.middleware.push(middleware);
                Registration::Noted
            }
        }
    }

    /// Handles a `reload_response`: the answer to a reload request, or the signal that registering is done.
    pub(crate) fn reload_response(&mut self, now: Instant, response: ReloadResponse) -> Option<Outcome> {
        match (self.stage, self.phase) {
            (Stage::Settled, _) => None,
            (_, Phase::Start) if !response.success => Some(self.fail(HandshakeError::Refused(response.error))),
            (_, Phase::Reload) if !response.success => {
                self.settle();
                Some(Outcome::ReloadFailed(ReloadError::Refused(response.error)))
            }
            (Stage::Registering, _) => Some(self.ready()),
            (Stage::Listing { .. }, Phase::Start) => None,
            (Stage::Listing { .. }, Phase::Reload) => {
                self.stage = Stage::Listing { answered: true };
                self.deadline = now.checked_add(self.quiet);
                None
            }
        }
    }

    /// Handles a deadline.
    pub(crate) fn elapsed(&mut self, now: Instant) -> Option<Outcome> {
        if self.deadline.is_none_or(|deadline| deadline > now) {
            return None;
        }
        match (self.stage, self.phase) {
            (Stage::Settled, _) => None,
            // The 500 ms rule: SDKs of the first generation send no signal.
            (Stage::Registering, _) => Some(self.ready()),
            (Stage::Listing { .. }, Phase::Start) => Some(self.fail(HandshakeError::TimedOut(self.timeout))),
            // The reload was acknowledged and no list followed: the process registered nothing.
            (Stage::Listing { answered: true }, Phase::Reload) => Some(self.ready()),
            (Stage::Listing { answered: false }, Phase::Reload) => {
                self.settle();
                Some(Outcome::ReloadFailed(ReloadError::Unanswered(self.reload_timeout)))
            }
        }
    }

    /// From now on silence ends the handshake.
    fn wait_for_more(&mut self, now: Instant) {
        let quiet = now.checked_add(self.quiet);
        self.deadline = match (quiet, self.registering_until) {
            (Some(quiet), Some(until)) => Some(quiet.min(until)),
            (one, other) => one.or(other),
        };
    }

    fn ready(&mut self) -> Outcome {
        self.settle();
        Outcome::Ready(Handshake {
            tools: self.tools.take(),
            middleware: std::mem::take(&mut self.middleware),
            phase: self.phase,
        })
    }

    fn fail(&mut self, error: HandshakeError) -> Outcome {
        self.settle();
        Outcome::Failed(error)
    }

    fn settle(&mut self) {
        self.stage = Stage::Settled;
        self.deadline = None;
        self.registering_until = None;
    }
}

#[cfg(test)]
mod tests;
