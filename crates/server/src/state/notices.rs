//! The notices of a server to its open sessions, and to the sessions of other processes.

use protomcp_types::{Level, Progress, ProgressToken, RawJson, Task};

use crate::records::notice_bus::NoticeReceiver;
use crate::records::session_notice::{Audience, SessionNotice};
use crate::state::handle::{ServerHandle, ServerState};
use protomcp_session::{List, SessionId};

impl ServerHandle {
    /// Tells clients that the tool list has changed: once for changes in quick succession, after the answers of calls
    /// that may have caused it: those whose handshake is complete, and, when it has changed for everyone, those that
    /// listen without one. Without `list_changed` among the capabilities no client was promised anything, and none is
    /// told.
    pub fn tools_changed(&self, audience: Audience) {
        self.notify(audience, SessionNotice::ListChanged(List::Tools));
    }

    /// Like [`ServerHandle::tools_changed`], for resources and their templates.
    pub fn resources_changed(&self, audience: Audience) {
        self.notify(audience, SessionNotice::ListChanged(List::Resources));
    }

    /// Like [`ServerHandle::tools_changed`], for prompts.
    pub fn prompts_changed(&self, audience: Audience) {
        self.notify(audience, SessionNotice::ListChanged(List::Prompts));
    }

    /// Tells the clients that have subscribed to a resource, or listen for it, that it has changed. The changes of one
    /// in quick succession are told together when a client does not keep up.
    pub fn resource_updated(&self, uri: &str) {
        self.notify(Audience::Everyone, SessionNotice::ResourceUpdated(uri));
    }

    /// Tells the client that began a task how far it is. Nothing relies on this: a client asks (MCP 2025-11-25,
    /// basic/utilities/tasks).
    pub fn task_status(&self, session: SessionId, task: &Task) {
        self.notify(Audience::Session(session), SessionNotice::TaskStatus(task));
    }

    /// Reports the progress of a task, after the answer to the call that began it; before, that is for
    /// [`Context::progress`](crate::Context::progress). `token` is the one of that call. The caller sees to it that
    /// progress grows, and that none comes after the end of the task.
    pub fn task_progress(&self, session: SessionId, token: &ProgressToken, progress: &Progress) {
        self.notify(Audience::Session(session), SessionNotice::TaskProgress { token, progress });
    }

    /// Tells a client that what its user did on a web page is done; `elicitation_id` is the one of the question.
    pub fn elicitation_complete(&self, session: SessionId, elicitation_id: &str) {
        self.notify(Audience::Session(session), SessionNotice::ElicitationComplete(elicitation_id));
    }

    /// Sends clients a log message, if they want messages of this level.
    pub fn log(&self, audience: Audience, level: Level, logger: Option<&str>, data: &RawJson) {
        self.notify(audience, SessionNotice::Log { level, logger, data });
    }

    /// Sends a notice to the sessions of its audience, the sessions of other processes included
    /// ([`NoticeBus`](crate::NoticeBus)).
    fn notify(&self, audience: Audience, notice: SessionNotice<'_>) {
        self.deliver(&audience, notice);
        if !matches!(audience, Audience::Session(_)) {
            self.0.stores.notices.notify(audience, notice);
        }
    }

    /// Sends a notice to the sessions of this process alone.
    pub fn deliver(&self, audience: &Audience, notice: SessionNotice<'_>) {
        self.0.deliver(audience, notice);
    }

    /// Notifies the clients that listen for a task.
    pub(crate) fn task_changed(&self, id: &str) {
        self.notify(Audience::Everyone, SessionNotice::TaskChanged(id));
    }
}

/// Notices of other processes.
impl NoticeReceiver for ServerState {
    fn deliver(&self, audience: &Audience, notice: SessionNotice<'_>) {
        // Sessions get nothing of it, and anyone can cause many.
        if !matches!(notice, SessionNotice::TokenRefused(_)) {
            self.open().each(audience, |queue| queue.notify(audience, notice));
        }
    }
}
