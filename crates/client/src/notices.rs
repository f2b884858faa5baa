//! Notifications of a server on their way to the handlers of the client: one queue for each handler, in order.
//!
//! A handler may wait; its queue then fills, and further log messages are dropped and counted. A change that is in the
//! queue already is not queued twice, so changes always fit.

use std::collections::HashSet;
use std::hash::Hash;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::FutureExt;
use protomcp_types::{MAX_SUBSCRIBED_URI, Notification, method};
use tokio::sync::mpsc;

use crate::handlers::{Handler, Handlers, ListChanged, LogMessage};
use crate::session::ServerContext;

/// The notifications that a handler may leave unread. Further ones are dropped and counted.
const MAX_NOTICES: usize = 1024;

/// Bytes of the parameters of notifications that a handler may leave unread. One that does not fit is dropped and
/// counted.
const MAX_NOTICE_BYTES: usize = 16 << 20;

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
            match (&self.resource_updated, uri) {
                // A longer one cannot be subscribed to.
                (Some(changes), Some(uri)) if uri.len() <= MAX_SUBSCRIBED_URI => changes.push(&uri),
                (Some(_), _) => tracing::debug!("an update of a resource cannot be read"),
                (None, _) => {}
            }
        } else if notification.method == method::LOG {
            match (&mut self.log, LogMessage::read(&notification)) {
                (Some(queue), Some(message)) => queue.push(message, notification.params.weight()),
                (Some(_), None) => tracing::debug!("a log message of the server cannot be read"),
                (None, _) => {}
            }
        } else if let Some(queue) = &mut self.notification {
            let weight = notification.params.weight();
            queue.push(notification, weight);
        }
    }
}

/// Notifications that all count.
#[derive(Debug)]
struct Queue<T> {
    name: &'static str,
    sender: mpsc::Sender<(T, usize)>,
    /// Bytes of the queued ones.
    bytes: Arc<AtomicUsize>,
    dropped: u64,
}

impl<T: Send + 'static> Queue<T> {
    fn start(name: &'static str, handler: Handler<T, ()>, context: ServerContext) -> Self {
        let (sender, mut receiver) = mpsc::channel(MAX_NOTICES);
        let bytes = Arc::new(AtomicUsize::new(0));
        let queued = Arc::clone(&bytes);
        tokio::spawn(async move {
            while let Some((notice, weight)) = receiver.recv().await {
                run(&handler, notice, &context).await;
                queued.fetch_sub(weight, Ordering::Relaxed);
            }
        });
        Self { name, sender, bytes, dropped: 0 }
    }

    fn push(&mut self, notice: T, weight: usize) {
        let has_room = self.bytes.load(Ordering::Relaxed).saturating_add(weight) <= MAX_NOTICE_BYTES;
        if !has_room || self.sender.try_send((notice, weight)).is_err() {
            self.dropped += 1;
            return;
        }
        self.bytes.fetch_add(weight, Ordering::Relaxed);
        if self.dropped > 0 {
            tracing::warn!(handler = self.name, dropped = self.dropped, "notifications were dropped");
            self.dropped = 0;
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
    let handled = AssertUnwindSafe(async { handler.call(notice, context.clone()).await });
    if handled.catch_unwind().await.is_err() {
        tracing::error!("a notification handler panicked");
    }
}
