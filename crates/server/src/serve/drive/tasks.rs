//! Calls of this connection that continue as tasks, and the requests and notifications about tasks.

use std::sync::Arc;

use futures_util::FutureExt;
use protomcp_types::{Message, TaskRequest};

use crate::serve::drive::Driver;
use crate::serve::stateless_tasks::{self, TaskReply};
use crate::service::Service;
use protomcp_session::{RequestKey, ServerResult, TaskAnswer, TaskOptions, TaskView, Topic};
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

    /// A task has changed: notifies its listeners.
    pub(super) fn task_changed(&mut self, id: Arc<str>) -> Result<(), TransportError> {
        let mut task = stateless_tasks::view(&self.server.sessions, &self.connection.peer, &id);
        if let Some(task) = (&mut task).now_or_never() {
            return self.task_found(id, task.as_ref());
        }
        let queue = Arc::clone(&self.queue);
        tokio::spawn(async move { queue.task_found(id, task.await) });
        Ok(())
    }

    /// A task that has changed was looked up.
    pub(super) fn task_found(&mut self, id: Arc<str>, task: Option<&TaskView>) -> Result<(), TransportError> {
        let Some(wanted) = self.session.subscriptions().sending(Topic::Task, &id) else { return Ok(()) };
        if let Some(task) = task {
            for (listener, notice) in self.session.task_notices(task, &wanted.listeners) {
                self.send_unsolicited(notice, Some(&listener))?;
            }
        }
        self.unsent.updates.push((Topic::Task, id));
        Ok(())
    }

    /// Carries out a request about a task. Returns the answer if it is ready.
    pub(super) fn task(&mut self, key: &RequestKey, request: TaskRequest) -> Option<Message> {
        let mut reply = stateless_tasks::answer(&self.server.sessions, &self.connection.peer, request);
        if let Some(reply) = (&mut reply).now_or_never() {
            return self.task_reply(key, reply);
        }
        self.calls.queries.insert(key.number);
        let (queue, key) = (Arc::clone(&self.queue), key.clone());
        tokio::spawn(async move { queue.task_answered(key, reply.await) });
        None
    }

    /// A request about a task was carried out.
    pub(super) fn task_answered(&mut self, key: &RequestKey, reply: TaskReply) -> Result<(), TransportError> {
        self.calls.queries.remove(&key.number);
        let reply = self.task_reply(key, reply);
        self.answer(key, reply, None)
    }

    fn task_reply(&mut self, key: &RequestKey, reply: TaskReply) -> Option<Message> {
        match reply {
            Ok(Some(task)) => self.session.reply_task(key, &task, TaskAnswer::Queried),
            Ok(None) => self.session.reply(key, Ok(ServerResult::Empty)),
            Err(error) => self.session.reply(key, Err(error)),
        }
    }
}
