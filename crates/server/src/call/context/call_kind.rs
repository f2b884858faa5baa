//! The ways in which a call is answered: by its request, by a task of its session, or after round trips.

use std::sync::Arc;

use protomcp_types::Progress;

use crate::call::call_info::CallInfo;
use crate::call::mrtr::{MultiRoundTrip, ReplyTarget};
use crate::call::relay::Relay;
use crate::call::session_queue::SessionQueue;
use crate::call::session_task::SessionTask;

/// The way in which a call is answered.
#[derive(Debug, Clone)]
pub(crate) enum CallKind {
    /// Its request waits for the answer all the while.
    Plain,
    /// Its request was answered with a task of its session.
    SessionTask(Arc<SessionTask>),
    /// It is stateless and may ask its client, or continue as a task.
    Stateless(Arc<MultiRoundTrip>),
    /// It belongs to a session, whose transport asks its client and makes a task of it.
    Relayed(Arc<dyn Relay>),
}

impl CallKind {
    pub(super) fn mrtr(&self) -> Option<&Arc<MultiRoundTrip>> {
        match self {
            Self::Stateless(mrtr) => Some(mrtr),
            Self::Plain | Self::SessionTask(_) | Self::Relayed(_) => None,
        }
    }

    pub(super) fn relay(&self) -> Option<&Arc<dyn Relay>> {
        match self {
            Self::Relayed(relay) => Some(relay),
            Self::Plain | Self::SessionTask(_) | Self::Stateless(_) => None,
        }
    }

    pub(super) fn can_be_task(&self) -> bool {
        match self {
            Self::Plain => false,
            Self::SessionTask(_) => true,
            Self::Stateless(mrtr) => mrtr.may_be_task(),
            Self::Relayed(relay) => relay.can_be_task(),
        }
    }

    pub(super) fn is_task(&self) -> bool {
        match self {
            Self::Plain => false,
            Self::SessionTask(_) => true,
            Self::Stateless(mrtr) => mrtr.is_task(),
            Self::Relayed(relay) => relay.is_task(),
        }
    }

    /// Sets the status message of the task, if the call is one.
    pub(super) fn set_task_message(&self, message: &str) {
        match self {
            Self::Plain => {}
            Self::SessionTask(task) => task.set_message(message),
            Self::Stateless(mrtr) => mrtr.set_task_message(message),
            Self::Relayed(relay) => relay.set_task_message(message),
        }
    }

    /// Sends progress beside the request, or beside the task. Returns true if it was sent, or waits for the next round.
    pub(super) fn send_progress(&self, queue: &SessionQueue, info: &CallInfo, progress: &Progress) -> bool {
        let task = match self {
            Self::Stateless(mrtr) => return mrtr.progress(progress),
            Self::Plain | Self::Relayed(_) => None,
            Self::SessionTask(task) => Some(task),
        };
        let Some(notification) = info.progress(progress) else { return false };
        match task {
            None => queue.progress(&info.key, notification),
            Some(task) if task.is_running() => queue.notice(task.notice(notification)),
            Some(_) => {}
        }
        true
    }

    /// Reports something beside the request of the call, if one waits for it.
    pub(super) fn with_target(
        &self,
        queue: &SessionQueue,
        info: &CallInfo,
        report: impl FnOnce(&SessionQueue, &CallInfo),
    ) {
        match self {
            Self::Plain | Self::SessionTask(_) | Self::Relayed(_) => report(queue, info),
            Self::Stateless(mrtr) => mrtr.with_reply_target(|ReplyTarget { queue, info }| report(queue, info)),
        }
    }
}
