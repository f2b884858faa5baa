//! Handles events of a tool process when they are read.
//!
//! All other events of a process are handled one after the other by `driver`, which may be behind, while the answer of
//! a call takes a shorter path. A message of a call must not come after its answer, and a change for later calls must
//! apply to the next one, so these are handled here, on the link's own task.

use std::sync::Arc;

use protomcp_envelope::{LogMessage, Msg};
use protomcp_link::Event;
use protomcp_server::{Audience, ServerHandle, SessionId};
use protomcp_wire::log::LogLine;

use crate::dispatcher::Dispatcher;
use crate::dispatcher::attribution::Recipient;
use crate::from_tool::log_rate::LogLimit;
use crate::from_tool::tool_log;
use crate::generation::Generation;

/// The first handler of each event of a link.
#[derive(Debug, Clone)]
pub(crate) struct EventTap {
    dispatcher: Arc<Dispatcher>,
    sessions: ServerHandle,
    logs: LogLimit,
}

impl EventTap {
    pub(crate) fn new(dispatcher: Arc<Dispatcher>, sessions: ServerHandle) -> Self {
        Self { dispatcher, sessions, logs: LogLimit::new() }
    }

    /// Handles an event, or returns it to be handled in order.
    pub(crate) fn filter(&self, generation: Generation, event: Event) -> Option<Event> {
        match event {
            Event::Notification { message: Msg::Log(message), .. } if !self.logs.takes(&message) => None,
            // Messages of a process that is not in service yet are for its author alone.
            Event::Notification { message: Msg::Log(message), for_call } if self.dispatcher.knows(generation) => {
                self.log(generation, &message, &for_call);
                None
            }
            Event::LateMiddleware(middleware) => {
                self.dispatcher.intercept(generation, &middleware);
                Some(Event::LateMiddleware(middleware))
            }
            other => Some(other),
        }
    }

    /// A log message of the tool process: to the log, and to the client that it concerns.
    pub(crate) fn log(&self, generation: Generation, message: &LogMessage, for_call: &str) {
        let line = LogLine::to_mcp(message);
        tool_log::write(&line);
        let LogLine { level, logger, data } = line;
        let audience = match self.dispatcher.recipient(generation, for_call) {
            Recipient::Call(_, context) | Recipient::Request(context) => return context.log(level, logger, &data),
            Recipient::Session(session, _) => Some(Audience::Session(session)),
            // It may have been sent right before the result.
            Recipient::Over => self.dispatcher.session_of_ended(generation, for_call).map(Audience::Session),
            Recipient::Anyone => self.dispatcher.sole_owner(generation).map(Audience::Owner),
        };
        match audience {
            None | Some(Audience::Session(SessionId::STATELESS)) => {
                tracing::debug!(for_call, "a log message that concerns no open session");
            }
            Some(audience) => self.sessions.log(audience, level, logger, &data),
        }
    }
}
