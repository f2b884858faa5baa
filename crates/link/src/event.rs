//! Events of a connection for its owner.

use std::time::Duration;

use protomcp_envelope::{Msg, ToolDefinition};

use crate::answer::Answer;
use crate::error::{CallError, Closed, HandshakeError, ReloadError};
use crate::id::CallId;

/// An event. Drain them with [`Connection::poll_event`](crate::Connection::poll_event) after each change.
#[derive(Debug)]
#[non_exhaustive]
pub enum Event {
    /// The tool process has finished registering (again, after a reload) and accepts calls.
    Ready(Handshake),
    /// The handshake failed; the owner closes the link.
    HandshakeFailed(HandshakeError),
    /// The process did not reload in place; its earlier registrations stay valid.
    ReloadFailed(ReloadError),
    /// The one outcome of a call.
    Answer {
        /// The call it belongs to.
        call: CallId,
        /// The answer, or the reason why there is none.
        outcome: Result<Answer, CallError>,
    },
    /// Progress of a running call. Never follows its answer.
    Progress {
        /// The call it belongs to.
        call: CallId,
        /// The progress.
        progress: Progress,
    },
    /// The peer sends a request; answer with [`Connection::reply`](crate::Connection::reply).
    Request {
        /// The id that the reply must echo; may be empty.
        id: String,
        /// The request.
        message: Msg,
        /// The request that this one belongs to, as the peer names it; see [`CallId::from_wire`]. Empty if unknown.
        for_call: String,
        /// Its name and group, if it is a question.
        question: QuestionFields,
    },
    /// The peer sends a message that expects no answer.
    Notification {
        /// The message.
        message: Msg,
        /// The request that the message belongs to, as in [`Event::Request`].
        for_call: String,
    },
    /// The process registered middleware after its handshake. It has been acknowledged, and joins the registrations of
    /// that handshake.
    LateMiddleware(Middleware),
    /// The process sent a new tool list without a request.
    Listed(Vec<ToolDefinition>),
    /// A message was received and ignored.
    Noticed(Notice),
    /// The link has ended and every pending call has failed. Only the failures of later calls follow.
    Closed(Closed),
}

/// The fields of an envelope that belong to questions; an extension.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct QuestionFields {
    /// The name of the question; empty if it has none.
    pub key: String,
    /// True if it is asked together with the next one for the same request.
    pub more: bool,
}

/// The registrations of one handshake.
#[derive(Debug, Clone, PartialEq)]
pub struct Handshake {
    /// Its tools in the order received, or `None` when a reload was acknowledged without a new list.
    pub tools: Option<Vec<ToolDefinition>>,
    /// Its middleware in the order of registration.
    pub middleware: Vec<Middleware>,
    /// The kind of handshake.
    pub phase: Phase,
}

/// The kind of a completed handshake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// The first one of this process.
    Start,
    /// One after a reload request.
    Reload,
}

/// A middleware of the tool process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Middleware {
    /// Its name, echoed in each interception.
    pub name: String,
    /// Lower runs earlier before the call and later after it.
    pub priority: i32,
}

/// The progress of a call, in the tool process's units.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Progress {
    /// Completed steps.
    pub progress: i64,
    /// Total steps; 0 if unknown.
    pub total: i64,
    /// A description of the current step; may be empty.
    pub message: String,
}

/// A message that was received and ignored, for the log.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Notice {
    /// An answer for a call that has ended (cancelled, timed out) or never existed.
    LateAnswer {
        /// The id it carried, cut to 256 bytes.
        id: String,
        /// Its kind.
        kind: &'static str,
    },
    /// A message that this side never expects.
    Unexpected {
        /// Its kind.
        kind: &'static str,
    },
    /// A rejected registration of middleware: there are too many, or its name is too long.
    Refused {
        /// Its kind.
        kind: &'static str,
    },
    /// A message of this side that does not fit a frame and was not sent.
    Unsendable {
        /// Its kind.
        kind: &'static str,
        /// Its size in bytes.
        size: usize,
    },
    /// A process that answers pings has sent nothing for a while, but works on requests, whose deadlines hold. Reported
    /// once for each silence.
    Silent {
        /// The time without a frame.
        time: Duration,
        /// The number of requests without an answer.
        requests: usize,
    },
    /// A rejected frame that belongs to no known call: it is too large, has too many entries, or is not an envelope. It
    /// was skipped. Of each kind of message, the first, tenth, hundredth and so on is reported.
    Undecoded {
        /// The reason.
        reason: String,
        /// The number of such frames of this kind so far.
        count: u64,
    },
}
