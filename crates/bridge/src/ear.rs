//! Hears what a tool process says in the moment it is read.
//!
//! Everything else about a process is understood one after the other by `run`, which may be behind: the answer of a call goes
//! a shorter way. What belongs to a call must not come after its answer, and what changes calls must count for the next
//! one, so it is dealt with here, on the link's own task.

use std::sync::Arc;

use protomcp_link::Event;
use protomcp_mcp::{Audience, SessionId, Sessions};
use protomcp_proto::{LogMessage, Msg};

use crate::callers::{Caller, Meant};
use crate::convert::log::LogLine;
use crate::gate::Gate;
use crate::generation::Generation;

/// Who listens.
#[derive(Debug, Clone)]
pub(crate) struct Ear {
    gate: Arc<Gate>,
    sessions: Sessions,
}

impl Ear {
    pub(crate) fn new(gate: Arc<Gate>, sessions: Sessions) -> Self {
        Self { gate, sessions }
    }

    /// What is left of an event for those who come later.
    pub(crate) fn hear(&self, generation: Generation, event: Event) -> Option<Event> {
        match event {
            // A process that is not in service yet speaks to its author alone.
            Event::Told { message: Msg::Log(message), for_call } if self.gate.knows(generation) => {
                self.log(generation, &message, &for_call);
                None
            }
            Event::LateMiddleware(middleware) => {
                self.gate.intercept(generation, &middleware);
                Some(Event::LateMiddleware(middleware))
            }
            other => Some(other),
        }
    }

    /// A log message of the tool process: to the log and to the hosts it is for.
    pub(crate) fn log(&self, generation: Generation, message: &LogMessage, for_call: &str) {
        let line = LogLine::of(message);
        line.write_down();
        let LogLine { level, logger, data } = line;
        let named = !for_call.is_empty();
        let audience = match self.gate.meant(generation, for_call) {
            Meant::One(Caller::Request(context)) if named => return context.log(level, logger, &data),
            // Published SDKs name no call: a request that runs alone is meant, and so is everyone else.
            Meant::One(Caller::Request(context)) if context.is_stateless() => {
                context.log(level, logger, &data);
                Audience::Everyone
            }
            Meant::One(Caller::Session(session)) if named => Audience::Session(session),
            // It may have been said right after the result. Nobody else hears it.
            Meant::Over => match self.gate.session_of_ended(generation, for_call) {
                Some(SessionId::STATELESS) | None => return tracing::debug!(for_call, "a message of no running call"),
                Some(session) => Audience::Session(session),
            },
            Meant::One(_) | Meant::Anyone => Audience::Everyone,
        };
        self.sessions.log(audience, level, logger, &data);
    }
}
