//! Events of the machine on their way to callers and handlers.

use protomcp_session::{ClientEvent, CloseReason, ServerView};
use protomcp_transport::{Sink, Source};
use protomcp_types::{Notification, method};
use std::sync::Arc;

use crate::cache::Kind;
use crate::command::{CallOutcome, Status};
use crate::driver::{Driver, Question};

impl<Q: Source, K: Sink> Driver<Q, K> {
    pub(super) fn deliver(&mut self, event: ClientEvent) {
        match event {
            ClientEvent::Opened(server) => self.opened(&server),
            ClientEvent::Answer { call, outcome, rounds } => {
                self.stop_answering(Question::Round(call));
                match self.callers.remove(&call) {
                    Some(caller) => caller.end(CallOutcome { outcome, rounds }),
                    None => self.renewed(call, outcome.err()),
                }
            }
            ClientEvent::Progress { call, progress } => {
                if let Some(report) = self.callers.get(&call).and_then(|caller| caller.progress.as_ref()) {
                    report.call(progress);
                }
            }
            ClientEvent::Task { call, task } => {
                if let Some(report) = self.callers.get(&call).and_then(|caller| caller.task.as_ref()) {
                    report.call(task);
                }
            }
            ClientEvent::Input { call, questions } => {
                let handler = self.callers.get(&call).and_then(|caller| caller.input.clone());
                let task = self.answerer.answer_all(call, questions, handler);
                self.answering.insert(Question::Round(call), task);
            }
            ClientEvent::Question(key, question) => {
                let number = key.number;
                let task = self.answerer.answer(key, question);
                self.answering.insert(Question::Request(number), task);
            }
            ClientEvent::Refused(method) => self.refused(&method),
            ClientEvent::Withdrawn(key) => self.stop_answering(Question::Request(key.number)),
            ClientEvent::Notification(notification) => self.notification(notification),
            ClientEvent::Listening(outcome) => self.listening(&outcome),
            // Answers that were kept because changes are notified.
            ClientEvent::ListeningLost => self.shared.cache().invalidate(&Kind::ALL),
            ClientEvent::Ignored(why) => tracing::debug!(why, "message ignored"),
            ClientEvent::Closed(reason) => self.closed(&reason),
        }
    }

    fn opened(&mut self, server: &Arc<ServerView>) {
        let is_first = *self.status.borrow() == Status::Opening;
        tracing::debug!(version = %server.version, is_first, "connection opened");
        self.shared.opened(Arc::clone(server));
        self.watch_lists(server);
        if is_first {
            self.status.send_replace(Status::Open);
            self.listen(server);
        } else {
            self.restore(server);
        }
    }

    pub(super) fn notification(&mut self, notification: Notification) {
        let stale: &[Kind] = match notification.method.as_ref() {
            method::TOOLS_CHANGED => &[Kind::Tools],
            method::PROMPTS_CHANGED => &[Kind::Prompts],
            method::RESOURCES_CHANGED => &[Kind::Resources, Kind::Templates, Kind::Reads],
            method::RESOURCE_UPDATED => &[Kind::Reads],
            _ => &[],
        };
        if !stale.is_empty() {
            self.shared.cache().invalidate(stale);
        }
        if let Some(observe) = &self.answerer.settings.handlers.observe {
            observe.call(&notification, &self.answerer.context);
        }
        self.notices.tell(notification);
    }

    fn refused(&self, method: &str) {
        tracing::debug!(method, "the server asks for something that this client does not declare");
        if let Some(observe) = &self.answerer.settings.handlers.refused {
            observe.call(method);
        }
    }

    fn closed(&mut self, reason: &CloseReason) {
        tracing::debug!(%reason, "connection closed");
        self.stop_watching(reason);
        self.shared.cache().invalidate(&Kind::ALL);
    }
}
