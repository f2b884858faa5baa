//! Notices for open sessions as values, so that they can be sent to the sessions of another process as well.

use protomcp_types::{Level, Progress, ProgressToken, RawJson, Task};

use protomcp_fair::Owner;
use protomcp_session::{List, SessionId};

/// The sessions to reach.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Audience {
    /// All open sessions.
    Everyone,
    /// All open sessions of one owner.
    Owner(Owner),
    /// One session, of this process.
    Session(SessionId),
}

/// A notice for open sessions. Each session decides if its client receives it, and in which form.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum SessionNotice<'a> {
    /// A list has changed.
    ListChanged(List),
    /// The resource with this URI has changed.
    ResourceUpdated(&'a str),
    /// The task with this id, of a client without a session, has changed.
    TaskChanged(&'a str),
    /// The status of a task, for the session that began it.
    TaskStatus(&'a Task),
    /// The progress of a task, for the session that began it.
    TaskProgress {
        /// The token of the call that began the task.
        token: &'a ProgressToken,
        /// The progress.
        progress: &'a Progress,
    },
    /// Notices of other processes may have been missed: all lists, resources and tasks of these processes count as changed.
    /// A [`NoticeBus`](crate::NoticeBus) delivers it to all sessions when it is connected again.
    Missed,
    /// The issuer refuses the token with this digest, so that each server asks again. Sessions get nothing of it.
    TokenRefused(&'a str),
    /// The elicitation with this id was completed on its web page.
    ElicitationComplete(&'a str),
    /// A log message.
    Log {
        /// Its level.
        level: Level,
        /// The part of the server that writes it.
        logger: Option<&'a str>,
        /// Its content.
        data: &'a RawJson,
    },
}
