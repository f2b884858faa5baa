//! What a connection has to say to its owner.

use protomcp_proto::{Msg, ToolDefinition};

use crate::answer::Answer;
use crate::error::{CallError, Closed, HandshakeError, ReloadError};
use crate::id::CallId;

/// One thing that happened. Drain them with [`Connection::poll_event`](crate::Connection::poll_event) after each change.
#[derive(Debug)]
#[non_exhaustive]
pub enum Event {
    /// The tool process has registered everything (again, after a reload) and takes calls.
    Ready(Handshake),
    /// It could not be taken into service; the owner ends the link.
    HandshakeFailed(HandshakeError),
    /// It did not reload in place; what it had registered before stays.
    ReloadFailed(ReloadError),
    /// The one outcome of a call.
    Answer {
        /// The call it belongs to.
        call: CallId,
        /// The answer, or why there is none.
        outcome: Result<Answer, CallError>,
    },
    /// The peer reports how far a running call is. Never after its answer.
    Progress {
        /// The call it belongs to.
        call: CallId,
        /// How far it is.
        progress: Progress,
    },
    /// The peer asks for something and waits; answer with [`Connection::reply`](crate::Connection::reply).
    Request {
        /// What the reply must echo; may be empty.
        id: String,
        /// The request.
        message: Msg,
        /// The call for which it asks, in the peer's words; see [`CallId::from_wire`]. Empty when it does not say.
        for_call: String,
    },
    /// The peer says something and expects no answer.
    Notification {
        /// What it says.
        message: Msg,
        /// The call to which that belongs, as in [`Event::Request`].
        for_call: String,
    },
    /// The process registered middleware after its handshake. It has been acknowledged, and joins what that handshake has
    /// registered.
    LateMiddleware(Middleware),
    /// The process sent a new tool list unasked.
    Listed(Vec<ToolDefinition>),
    /// Something was read and not acted upon.
    Noticed(Notice),
    /// The link has ended and every pending call has failed. Nothing comes after it but the failures of calls that are
    /// made all the same.
    Closed(Closed),
}

/// What a process registered in one handshake.
#[derive(Debug, Clone, PartialEq)]
pub struct Handshake {
    /// Its tools in the order it sent them, or `None` when a reload was acknowledged without a new list.
    pub tools: Option<Vec<ToolDefinition>>,
    /// Its middleware in the order of registration.
    pub middleware: Vec<Middleware>,
    /// Whether this was its start or a reload.
    pub phase: Phase,
}

/// Which handshake completed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// The first one of this process.
    Start,
    /// One after a reload request.
    Reload,
}

/// One middleware of the tool process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Middleware {
    /// Its name, echoed in each interception.
    pub name: String,
    /// Lower runs earlier before the call and later after it.
    pub priority: i32,
}

/// How far a call is, as the tool process counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Progress {
    /// Steps done.
    pub progress: i64,
    /// Steps in all; 0 when unknown.
    pub total: i64,
    /// What it is doing; may be empty.
    pub message: String,
}

/// Something that was read and not acted upon, for the log.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Notice {
    /// An answer for a call that is over (cancelled, timed out) or never was.
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
    /// A registration of middleware that was refused: there are too many, or its name is too long.
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
    /// A frame that could not be taken, for no call that is known: it is too large, has too many entries, or its bytes are
    /// not an envelope. It was skipped. Of each kind of message the first, the tenth, the hundredth and so on is told.
    Undecoded {
        /// What is wrong with it.
        reason: String,
        /// How many there have been of this kind.
        count: u64,
    },
}
