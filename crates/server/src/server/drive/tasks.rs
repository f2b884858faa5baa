//! Calls of this connection that continue as tasks, and the requests and notifications about tasks.

use std::sync::Arc;

use protomcp_types::{Message, TaskRequest};

use crate::server::drive::Driver;
use crate::server::stateless_tasks;
use crate::service::Service;
use protomcp_session::{RequestKey, ServerResult, TaskAnswer, TaskOptions, Topic};
use protomcp_transport::{Sink, TransportError};

impl<S: Service, Q, K: Sink> Driver<S, Q, K> {
    /// A call asks to continue as a task: its request is answered with the task. A call that cannot stays with its
    /// request.
    pub(super) fn detach(&mut self, key: &RequestKey, options: TaskOptions) -> Result<(), TransportError> {
        let Some(call) = self.calls.running.get(&key.number).cloned() else { return Ok(()) };
        let task = match self.session.is_pending(key) {
            true => stateless_tasks::detach(&self.server.sessions, &self.connection.peer, &call, options),
            false => None,
        };
        if let Some(task) = task {
            self.calls.running.remove(&key.number);
            let reply = self.session.reply_task(key, &task, TaskAnswer::Created);
            return self.answer(key, reply, None);
        }
        match call.mrtr().and_then(|mrtr| mrtr.stay(&self.queue)) {
            Some(ended) => self.done(key, ended),
            // It may have asked its client in between.
            None => self.park(key),
        }
    }

    /// Removes the ids of tasks that do not exist, or that the client did not begin.
    pub(super) fn known_tasks(&self, ids: &mut Vec<String>) {
        stateless_tasks::retain_known(&self.server.sessions, &self.connection.peer, ids);
    }

    /// A task has changed: notifies its listeners.
    pub(super) fn task_changed(&mut self, id: Arc<str>) -> Result<(), TransportError> {
        let Some(wanted) = self.session.subscriptions().sending(Topic::Task, &id) else { return Ok(()) };
        if let Some(task) = stateless_tasks::view(&self.server.sessions, &self.connection.peer, &id) {
            for (listener, notice) in self.session.task_notices(&task, &wanted.listeners) {
                self.send_unsolicited(notice, Some(&listener))?;
            }
        }
        self.unsent.updates.push((Topic::Task, id));
        Ok(())
    }

    /// Answers a request about a task.
    pub(super) fn task(&mut self, key: &RequestKey, request: TaskRequest) -> Option<Message> {
        match stateless_tasks::answer(&self.server.sessions, &self.connection.peer, request) {
            Ok(Some(task)) => self.session.reply_task(key, &task, TaskAnswer::Queried),
            Ok(None) => self.session.reply(key, Ok(ServerResult::Empty)),
            Err(error) => self.session.reply(key, Err(error)),
        }
    }
}
