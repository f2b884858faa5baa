//! The events of one request without a session.
//!
//! A task drives the request, so that a client that does not read blocks no call; the body takes the messages from a
//! bounded queue.

use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::SystemTime;

use protomcp_server::{Replies, Reserved};
use tokio::task::AbortHandle;

use crate::streams::queue::{MAX_QUEUED, Queue};

/// The messages of one response that are not sent yet. Dropping it cancels the request.
#[derive(Debug)]
pub(crate) struct RequestEvents {
    shared: Arc<Shared>,
    driver: AbortHandle,
    /// The time at which the stream is closed.
    pub(crate) until: Option<SystemTime>,
}

#[derive(Debug)]
struct Shared(Mutex<State>);

#[derive(Debug)]
struct State {
    queue: Queue<Reserved>,
    /// No message will follow.
    is_over: bool,
    waker: Option<Waker>,
}

/// The driver's end. Dropping it ends the stream.
struct Producer(Arc<Shared>);

impl RequestEvents {
    /// Sends `first`, then the replies, until this time at most.
    pub(crate) fn new(first: Option<Reserved>, mut replies: Replies, until: Option<SystemTime>) -> Self {
        let mut queue = Queue::of(Vec::new(), MAX_QUEUED);
        if let Some(first) = first {
            queue.push(first);
        }
        let shared = Arc::new(Shared(Mutex::new(State { queue, is_over: false, waker: None })));
        let producer = Producer(Arc::clone(&shared));
        let driver = tokio::spawn(async move {
            while let Some(message) = poll_fn(|cx| replies.poll_next(cx)).await {
                producer.0.change(|state| {
                    state.queue.push(message);
                });
            }
        });
        Self { shared, driver: driver.abort_handle(), until }
    }

    /// The next message; `None` at the end.
    pub(crate) fn poll(&self, cx: &mut Context<'_>) -> Poll<Option<Reserved>> {
        let mut state = self.shared.state();
        if let Some(message) = state.queue.pop() {
            let dropped = state.queue.take_dropped();
            if dropped > 0 {
                tracing::warn!(dropped, "a stream is read too slowly: notifications were dropped");
            }
            return Poll::Ready(Some(message));
        }
        if state.is_over {
            return Poll::Ready(None);
        }
        state.waker = Some(cx.waker().clone());
        Poll::Pending
    }
}

impl Drop for RequestEvents {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

impl Drop for Producer {
    fn drop(&mut self) {
        self.0.change(|state| state.is_over = true);
    }
}

impl Shared {
    /// Changes the state, and wakes the body.
    fn change(&self, change: impl FnOnce(&mut State)) {
        let waker = {
            let mut state = self.state();
            change(&mut state);
            state.waker.take()
        };
        waker.into_iter().for_each(Waker::wake);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
