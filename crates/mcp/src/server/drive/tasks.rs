//! Calls that go on as tasks, and what hosts ask about them (MCP 2026-07-28, extension `io.modelcontextprotocol/tasks`).

use std::sync::Arc;

use protomcp_types::{ErrorObject, Message, TaskRequest};

use crate::context::Context;
use crate::request::ServerResult;
use crate::rounds::{Rounds, TaskView};
use crate::server::drive::{Driver, now};
use crate::service::Service;
use crate::session::Ticket;
use crate::session::subscriptions::Topic;
use crate::task_store::TaskTerms;
use crate::transport::{Sink, TransportError};

impl<S: Service, Q, K: Sink> Driver<S, Q, K> {
    /// A call wants to go on as a task: its request is answered with the task, and it leaves. One that cannot stays.
    pub(super) fn detach(&mut self, ticket: &Ticket, terms: TaskTerms) -> Result<(), TransportError> {
        let Some(call) = self.running.get(&ticket.number).cloned() else { return Ok(()) };
        let Some(rounds) = call.rounds() else { return Ok(()) };
        match self.keep(ticket, terms, &call, rounds) {
            Some(task) => {
                self.running.remove(&ticket.number);
                let reply = self.session.reply_task(ticket, &task, true);
                self.answer(ticket, reply, None)
            }
            None => match rounds.stay() {
                Some(ended) => self.done(ticket, ended),
                // It may have asked something in between.
                None => self.park(ticket),
            },
        }
    }

    fn keep(&self, ticket: &Ticket, terms: TaskTerms, call: &Context, rounds: &Rounds) -> Option<TaskView> {
        if !self.session.is_pending(ticket) || self.sessions.is_shut_down() {
            return None;
        }
        let (store, now) = (self.sessions.task_store(), now());
        let terms = TaskTerms { ttl: terms.ttl.min(self.sessions.limits().max_task_ttl), ..terms };
        let until = now + terms.ttl;
        let mut id = String::new();
        let make = |chosen: &str| {
            chosen.clone_into(&mut id);
            call.clone()
        };
        if store.keep(self.peer.principal.clone(), now, until, make).is_none() {
            tracing::warn!(session = %self.id, "too many tasks: a call goes on without being one");
            return None;
        }
        let task = rounds.detach(id.clone(), terms, until, self.sessions.task_news());
        match task {
            // Nobody needs to ask for it to be forgotten.
            Some(_) => drop(tokio::spawn(self.sessions.task_news().forget(id, until))),
            None => drop(store.forget(&id)),
        }
        task
    }

    /// Leaves only tasks that there are, and that the host began.
    pub(super) fn known_tasks(&self, ids: &mut Vec<String>) {
        let now = now();
        ids.retain(|id| self.sessions.task_store().find(id, &self.peer.principal, now).is_some());
    }

    /// A task has changed; whoever listens for it has it still to hear.
    pub(super) fn task_changed(&mut self, id: Arc<str>) -> Result<(), TransportError> {
        let Some(wanted) = self.session.subscriptions().sending(Topic::Task, &id) else { return Ok(()) };
        let call = self.sessions.task_store().find(&id, &self.peer.principal, now());
        if let Some(task) = call.as_ref().and_then(Context::rounds).and_then(Rounds::view) {
            for (listener, notice) in self.session.task_notices(&task, &wanted.listeners) {
                self.tell(notice, Some(&listener))?;
            }
        }
        self.unsent_updates.push((Topic::Task, id));
        Ok(())
    }

    /// Answers a request about a task.
    pub(super) fn task(&mut self, ticket: &Ticket, request: TaskRequest) -> Option<Message> {
        let call = self.sessions.task_store().find(request.task_id(), &self.peer.principal, now());
        let task = call.as_ref().and_then(|call| Some((call, call.rounds()?)));
        let Some((call, rounds)) = task else {
            let why = format!("unknown task {:?}", request.task_id());
            return self.session.reply(ticket, Err(ErrorObject::invalid_params(why)));
        };
        let outcome = match request {
            TaskRequest::Get { .. } => match rounds.view() {
                Some(task) => return self.session.reply_task(ticket, &task, false),
                None => Err(ErrorObject::internal("the task is gone")),
            },
            TaskRequest::Update { responses, .. } => {
                let responses = responses.into_iter().collect();
                rounds.check(&responses).map(|()| rounds.answer(responses))
            }
            TaskRequest::Cancel { .. } => {
                if rounds.cancel() {
                    call.cancel();
                }
                Ok(())
            }
        };
        self.session.reply(ticket, outcome.map(|()| ServerResult::Empty))
    }
}
