//! Calls that go on as tasks, and what hosts ask about them (MCP 2026-07-28, extension `io.modelcontextprotocol/tasks`).

use std::sync::Arc;

use protomcp_types::{ErrorObject, Message, TaskRequest};

use crate::context::Context;
use crate::mrtr::{MultiRoundTrip, StatelessTask};
use crate::server::drive::{Driver, now};
use crate::service::Service;
use crate::task_store::Belongs;
use protomcp_session::{RequestKey, Reservation, ServerResult, TaskOptions, TaskView, Topic};
use protomcp_transport::{Sink, TransportError};

impl<S: Service, Q, K: Sink> Driver<S, Q, K> {
    /// A call wants to go on as a task: its request is answered with the task, and it leaves. One that cannot stays.
    pub(super) fn detach(&mut self, key: &RequestKey, options: TaskOptions) -> Result<(), TransportError> {
        let Some(call) = self.calls.running.get(&key.number).cloned() else { return Ok(()) };
        let Some(mrtr) = call.mrtr() else { return Ok(()) };
        match self.keep(key, options, &call, mrtr) {
            Some(task) => {
                self.calls.running.remove(&key.number);
                let reply = self.session.reply_task(key, &task, true);
                self.answer(key, reply, None)
            }
            None => match mrtr.stay(&self.queue) {
                Some(ended) => self.done(key, ended),
                // It may have asked something in between.
                None => self.park(key),
            },
        }
    }

    fn keep(
        &self,
        key: &RequestKey,
        options: TaskOptions,
        call: &Context,
        mrtr: &Arc<MultiRoundTrip>,
    ) -> Option<TaskView> {
        if !self.session.is_pending(key) || self.server.sessions.is_shut_down() {
            return None;
        }
        let now = now();
        let options = TaskOptions { ttl: options.ttl.min(self.server.sessions.limits().max_task_ttl), ..options };
        let until = now + options.ttl;
        let belongs =
            Belongs { key: self.connection.peer.principal.clone(), owner: self.connection.peer.owner.clone() };
        // The bytes of the request are given back when the call has ended.
        let known = call.extensions().without::<Reservation>();
        let task = StatelessTask::new(mrtr, Arc::downgrade(&call.canceller()), known);
        let Some(id) = self.server.sessions.keep_task(belongs, now, until, task) else {
            tracing::warn!(session = %self.id, "too many tasks: a call goes on without being one");
            return None;
        };
        let task = mrtr.detach(&id, options, self.server.sessions.task_notifier());
        if task.is_none() {
            self.server.sessions.task_store().forget(&id);
        }
        task
    }

    /// Leaves only tasks that there are, and that the host began.
    pub(super) fn known_tasks(&self, ids: &mut Vec<String>) {
        let now = now();
        ids.retain(|id| self.server.sessions.task_store().find(id, &self.connection.peer.principal, now).is_some());
    }

    /// A task has changed: notifies its listeners.
    pub(super) fn task_changed(&mut self, id: Arc<str>) -> Result<(), TransportError> {
        let Some(wanted) = self.session.subscriptions().sending(Topic::Task, &id) else { return Ok(()) };
        let task = self.server.sessions.task_store().find(&id, &self.connection.peer.principal, now());
        if let Some(task) = task.and_then(|task| task.mrtr().view()) {
            for (listener, notice) in self.session.task_notices(&task, &wanted.listeners) {
                self.tell(notice, Some(&listener))?;
            }
        }
        self.unsent.updates.push((Topic::Task, id));
        Ok(())
    }

    /// Answers a request about a task.
    pub(super) fn task(&mut self, key: &RequestKey, request: TaskRequest) -> Option<Message> {
        let Some(task) =
            self.server.sessions.task_store().find(request.task_id(), &self.connection.peer.principal, now())
        else {
            let why = format!("unknown task {:?}", request.task_id());
            return self.session.reply(key, Err(ErrorObject::invalid_params(why)));
        };
        let outcome = match request {
            TaskRequest::Get { .. } => match task.mrtr().view() {
                Some(view) => return self.session.reply_task(key, &view, false),
                None => Err(ErrorObject::internal("the task is gone")),
            },
            TaskRequest::Update { responses, .. } => {
                let responses = responses.into_iter().collect();
                task.mrtr().check(&responses).map(|()| task.mrtr().answer(responses))
            }
            TaskRequest::Cancel { .. } => {
                if task.mrtr().cancel() {
                    task.cancel();
                }
                Ok(())
            }
        };
        self.session.reply(key, outcome.map(|()| ServerResult::Empty))
    }
}
