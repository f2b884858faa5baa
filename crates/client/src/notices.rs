//! Notifications of a server on their way to the handlers of the client: one queue for each handler, in order.
//!
//! A handler may wait; its queue then fills, and further log messages are dropped and counted. A change that is in the
//! queue already is not queued twice, so changes always fit.

use std::collections::HashSet;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError};

use protomcp_types::{Notification, method};
use tokio::sync::mpsc;

use crate::catch_unwind::catch_unwind;
use crate::handlers::{Handler, Handlers, ListChanged, LogMessage};
use crate::server_context::ServerContext;

/// The notifications that a handler may leave unread. Further ones are dropped and counted.
pub(crate) const MAX_NOTICES: usize = 1024;

/// The queues of one session.
#[derive(Debug)]
pub(crate) struct Notices {
    log: Option<Queue<LogMessage>>,
    list_changed: Option<Changes<ListChanged>>,
    resource_updated: Option<Changes<String>>,
    notification: Option<Queue<Notification>>,
}

impl Notices {
    /// Starts a task for each handler. The tasks end with the queues.
    pub(crate) fn start(handlers: &Handlers, context: &ServerContext) -> Self {
        Self {
            log: handlers.log.clone().map(|handler| Queue::start("log", handler, context.clone())),
            list_changed: handlers.list_changed.clone().map(|handler| Changes::start(handler, context.clone())),
            resource_updated: handlers.resource_updated.clone().map(|handler| Changes::start(handler, context.clone())),
            notification: handlers
                .notification
                .clone()
                .map(|handler| Queue::start("notification", handler, context.clone())),
        }
    }

    /// Passes a notification to the handler for it.
    pub(crate) fn tell(&mut self, notification: Notification) {
        let list = match notification.method.as_ref() {
            method::TOOLS_CHANGED => Some(ListChanged::Tools),
            method::PROMPTS_CHANGED => Some(ListChanged::Prompts),
            method::RESOURCES_CHANGED => Some(ListChanged::Resources),
            _ => None,
        };
        if let Some(list) = list {
            if let Some(changes) = &self.list_changed {
                changes.push(&list);
            }
        } else if notification.method == method::RESOURCE_UPDATED {
            let uri = notification.params.member("uri").and_then(|uri| uri.to::<String>().ok());
            if let (Some(changes), Some(uri)) = (&self.resource_updated, uri) {
                changes.push(&uri);
            }
        } else if notification.method == method::LOG {
            match (&mut self.log, LogMessage::read(&notification)) {
                (Some(queue), Some(message)) => queue.push(message),
                (Some(_), None) => tracing::debug!("a log message of the server cannot be read"),
                (None, _) => {}
            }
        } else if let Some(queue) = &mut self.notification {
            queue.push(notification);
        }
    }
}

/// Notifications that all count.
#[derive(Debug)]
struct Queue<T> {
    name: &'static str,
    sender: mpsc::Sender<T>,
    dropped: u64,
}

impl<T: Send + 'static> Queue<T> {
    fn start(name: &'static str, handler: Handler<T, ()>, context: ServerContext) -> Self {
        let (sender, mut receiver) = mpsc::channel(MAX_NOTICES);
        tokio::spawn(async move {
            while let Some(notice) = receiver.recv().await {
                run(&handler, notice, &context).await;
            }
        });
        Self { name, sender, dropped: 0 }
    }

    fn push(&mut self, notice: T) {
        match self.sender.try_send(notice) {
            Ok(()) if self.dropped > 0 => {
                tracing::warn!(handler = self.name, dropped = self.dropped, "notifications were dropped");
                self.dropped = 0;
            }
            Ok(()) => {}
            Err(_) => self.dropped += 1,
        }
    }
}

/// Notifications of which one is as good as several.
#[derive(Debug)]
struct Changes<T> {
    /// Queued, and not passed on yet.
    queued: Arc<Mutex<HashSet<T>>>,
    sender: mpsc::Sender<T>,
}

impl<T: Clone + Eq + Hash + Send + std::fmt::Debug + 'static> Changes<T> {
    fn start(handler: Handler<T, ()>, context: ServerContext) -> Self {
        let (sender, mut receiver) = mpsc::channel(MAX_NOTICES);
        let queued = Arc::new(Mutex::new(HashSet::new()));
        let changes = Self { queued: Arc::clone(&queued), sender };
        tokio::spawn(async move {
            while let Some(notice) = receiver.recv().await {
                // A change while the handler runs is a further one.
                queued.lock().unwrap_or_else(PoisonError::into_inner).remove(&notice);
                run(&handler, notice, &context).await;
            }
        });
        changes
    }

    fn push(&self, notice: &T) {
        let mut queued = self.queued.lock().unwrap_or_else(PoisonError::into_inner);
        if !queued.insert(notice.clone()) {
            return;
        }
        if self.sender.try_send(notice.clone()).is_err() {
            queued.remove(notice);
            tracing::warn!(?notice, "a change was dropped: too many different ones are queued");
        }
    }
}

async fn run<T>(handler: &Handler<T, ()>, notice: T, context: &ServerContext) {
    if catch_unwind(|| handler.call(notice, context.clone())).await.is_none() {
        tracing::error!("a notification handler panicked");
    }
}
