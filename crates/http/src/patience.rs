//! The time in which a response waits for its answer, before it becomes a stream.
//!
//! One timer serves all responses: setting and clearing one in the runtime for each request would wake a thread each time.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

/// Times that all are equally long.
#[derive(Debug)]
pub(crate) struct Patience {
    time: Duration,
    shared: Arc<Shared>,
}

/// The time of one response, which ends early when this is dropped.
#[derive(Debug)]
pub(crate) struct Wait {
    end: Instant,
    /// Tells it from others with the same end; `None` until it waits.
    number: Option<u64>,
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// The responses that wait, by their ends and numbers: as many as there are open requests.
    waiting: BTreeMap<(Instant, u64), Waker>,
    last: u64,
    /// The task with the timer runs.
    is_timed: bool,
}

impl Patience {
    pub(crate) fn new(time: Duration) -> Self {
        Self { time, shared: Arc::default() }
    }

    /// Begins a time.
    pub(crate) fn begin(&self) -> Wait {
        Wait { end: Instant::now() + self.time, number: None, shared: Arc::clone(&self.shared) }
    }
}

impl Wait {
    /// Ready when the time is over. Must be called within a runtime with timers.
    pub(crate) fn poll(&mut self, cx: &Context<'_>) -> Poll<()> {
        if self.end <= Instant::now() {
            return Poll::Ready(());
        }
        let mut state = self.shared.state();
        let number = *self.number.get_or_insert_with(|| {
            state.last += 1;
            state.last
        });
        state.waiting.insert((self.end, number), cx.waker().clone());
        if !state.is_timed {
            state.is_timed = true;
            tokio::spawn(wake_in_time(Arc::downgrade(&self.shared)));
        }
        Poll::Pending
    }
}

impl Drop for Wait {
    fn drop(&mut self) {
        if let Some(number) = self.number {
            self.shared.state().waiting.remove(&(self.end, number));
        }
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The first end. Without one the timer stops.
    fn next(&self) -> Option<Instant> {
        let mut state = self.state();
        let first = state.waiting.first_key_value().map(|((end, _), _)| *end);
        state.is_timed = first.is_some();
        first
    }

    /// Takes those whose time is over.
    fn take_due(&self) -> Vec<Waker> {
        let (mut state, now) = (self.state(), Instant::now());
        let mut due = Vec::new();
        while let Some(entry) = state.waiting.first_entry()
            && entry.key().0 <= now
        {
            due.push(entry.remove());
        }
        due
    }
}

/// Wakes each response at its end, as long as any wait. Ends are in the order of beginnings, so none comes before the first.
async fn wake_in_time(shared: Weak<Shared>) {
    while let Some(end) = shared.upgrade().and_then(|shared| shared.next()) {
        sleep_until(end).await;
        let due = shared.upgrade().map(|shared| shared.take_due()).unwrap_or_default();
        due.into_iter().for_each(Waker::wake);
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use futures_util::FutureExt as _;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn each_response_waits_for_its_own_time() {
        let patience = Patience::new(Duration::from_secs(1));
        let start = Instant::now();
        let mut first = patience.begin();
        tokio::time::sleep(Duration::from_millis(400)).await;
        let mut second = patience.begin();
        assert!(poll_fn(|cx| second.poll(cx)).now_or_never().is_none());
        poll_fn(|cx| first.poll(cx)).await;
        assert_eq!(start.elapsed(), Duration::from_secs(1));
        poll_fn(|cx| second.poll(cx)).await;
        assert_eq!(start.elapsed(), Duration::from_millis(1400));
    }

    #[tokio::test(start_paused = true)]
    async fn a_response_that_is_over_leaves_nothing_behind() {
        let patience = Patience::new(Duration::from_secs(1));
        for _ in 0..3 {
            let mut waits: Vec<_> = (0..10).map(|_| patience.begin()).collect();
            waits.iter_mut().for_each(|wait| assert!(poll_fn(|cx| wait.poll(cx)).now_or_never().is_none()));
            assert_eq!(patience.shared.state().waiting.len(), 10);
            drop(waits);
            assert!(patience.shared.state().waiting.is_empty());
        }
        // The timer stops, and starts again for the next one.
        tokio::time::sleep(Duration::from_secs(2)).await;
        assert!(!patience.shared.state().is_timed);
        let mut next = patience.begin();
        poll_fn(|cx| next.poll(cx)).await;
    }
}
