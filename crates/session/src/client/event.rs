//! The output of a client's machine: messages for the transport, and events for the program.

use std::sync::Arc;

use protomcp_types::{
    JsonBuf, Message, Notification, Params, Progress, ProtocolVersion, RequestId, SubscriptionFilter, TaskStatus,
};

use crate::caller::CallerKey;
use crate::client::error::{CloseReason, RequestError};
use crate::client::server_view::ServerView;
use crate::no_answer::{HttpStatus, NoAnswer};
use crate::outgoing::CallId;
use crate::pending::RequestKey;

/// An action of the transport, in the order in which they come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Transmit {
    /// Send this message.
    Send(Message),
    /// Send this request, of which the transport needs to know more.
    SendWith(Message, RequestFacts),
    /// Close the response stream of this request, which cancels it.
    CloseStream(RequestId),
    /// A handshake has agreed on this revision.
    BeginSession(ProtocolVersion),
    /// End the session at the server.
    EndSession,
}

/// The facts about a request that its message does not have.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RequestFacts {
    /// Header fields in addition to those that follow from the message, for transports that have them.
    pub fields: Vec<(String, String)>,
    /// The caller that the request is sent for, for transports on which callers take turns.
    pub caller: Option<Arc<CallerKey>>,
}

/// An event of a client's connection.
#[derive(Debug, Clone, PartialEq)]
pub enum ClientEvent {
    /// The connection is open: for the first time, or again with a new session after the old one was lost.
    Opened(Arc<ServerView>),
    /// A call has ended.
    Answer {
        /// The call.
        call: CallId,
        /// The `result` of the server, or the reason why there is none.
        outcome: Result<JsonBuf, RequestError>,
        /// The rounds of questions before it. An answer after a round must not be cached.
        rounds: u32,
    },
    /// A call reports progress; never after its answer.
    Progress {
        /// The call.
        call: CallId,
        /// The report, greater than the one before.
        progress: Progress,
    },
    /// The server has made a task of a call, or the task has changed.
    Task {
        /// The call.
        call: CallId,
        /// The state of the task.
        task: TaskNotice,
    },
    /// The server needs input before it can answer a call. Continue with
    /// [`ClientConnection::answer_inputs`](crate::ClientConnection::answer_inputs).
    Input {
        /// The call.
        call: CallId,
        /// The questions; possibly none.
        questions: Vec<ServerQuestion>,
    },
    /// The server asks; answer with [`ClientConnection::reply`](crate::ClientConnection::reply).
    Question(RequestKey, ServerQuestion),
    /// The server has asked with this method in a session, and got an error: the client does not declare the capability.
    Refused(String),
    /// The server has cancelled its request; an answer has no effect.
    Withdrawn(RequestKey),
    /// Any other notification.
    Notification(Notification),
    /// The server has acknowledged a subscription, with the part that it honours, or has refused it.
    Listening(Result<SubscriptionFilter, RequestError>),
    /// The stream of a subscription has ended, and changes are not notified until the next [`ClientEvent::Listening`].
    /// Another stream is asked for.
    ListeningLost,
    /// A message has no effect. The text says why, for the log.
    Ignored(&'static str),
    /// The connection is over; the last event.
    Closed(CloseReason),
}

/// A request of the server to the client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerQuestion {
    /// The key of the answer in a round of questions; empty with a session.
    pub key: String,
    /// `elicitation/create`, `sampling/createMessage` or `roots/list`; the client declares the capability for it.
    pub method: String,
    /// Its parameters.
    pub params: Params,
}

/// The state of the task that a call has become.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskNotice {
    /// The id of the task.
    pub id: String,
    /// The status.
    pub status: TaskStatus,
    /// A description for people.
    pub message: Option<String>,
}

/// The facts of a transport about a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AnswerFacts {
    /// The transport has made this answer, because the server has given none.
    pub no_answer: Option<NoAnswer>,
    /// The HTTP status of an error.
    pub status: Option<HttpStatus>,
}
