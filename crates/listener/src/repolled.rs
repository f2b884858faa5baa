//! A connection that is polled again when it wakes itself.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

/// The most polls in one turn of the task.
const MOST: usize = 8;

/// A future that is polled again when it has woken its task during a poll. A task that wakes itself goes to the end of the
/// runtime's queue otherwise, and another thread is woken to look there; hyper does so for each body that is read.
#[derive(Debug)]
pub(crate) struct Repolled<F> {
    pub(crate) future: F,
    wakes: Arc<Wakes>,
    waker: Waker,
}

#[derive(Debug, Default)]
struct Wakes(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// The task, until it is woken.
    task: Option<Waker>,
    is_polling: bool,
    /// It was woken during the poll.
    is_woken: bool,
}

impl<F: Future + Unpin> Repolled<F> {
    pub(crate) fn new(future: F) -> Self {
        let wakes = Arc::<Wakes>::default();
        Self { future, waker: Arc::clone(&wakes).into(), wakes }
    }
}

impl<F: Future + Unpin> Future for Repolled<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let this = &mut *self;
        for _ in 0..MOST {
            this.wakes.begin(cx.waker());
            let polled = Pin::new(&mut this.future).poll(&mut Context::from_waker(&this.waker));
            let is_woken = this.wakes.end();
            if polled.is_ready() || !is_woken {
                return polled;
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

impl Wakes {
    fn begin(&self, task: &Waker) {
        let mut state = self.state();
        if !state.task.as_ref().is_some_and(|known| known.will_wake(task)) {
            state.task = Some(task.clone());
        }
        (state.is_polling, state.is_woken) = (true, false);
    }

    /// Ends a poll. True if there was a wake during it.
    fn end(&self) -> bool {
        let mut state = self.state();
        state.is_polling = false;
        state.is_woken
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let task = {
            let mut state = self.state();
            state.is_woken = true;
            if state.is_polling { None } else { state.task.take() }
        };
        if let Some(task) = task {
            task.wake();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[derive(Default)]
    struct Count(AtomicUsize);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// Polls a future that wakes itself this often. Returns the polls and the wakes of its task.
    fn polled(times: usize) -> (usize, usize) {
        let (mut polls, task) = (0, Arc::<Count>::default());
        let mut future = Repolled::new(Box::pin(poll_fn(|cx| {
            polls += 1;
            if polls <= times {
                cx.waker().wake_by_ref();
            }
            Poll::<()>::Pending
        })));
        assert!(Pin::new(&mut future).poll(&mut Context::from_waker(&Arc::clone(&task).into())).is_pending());
        drop(future);
        (polls, task.0.load(Ordering::SeqCst))
    }

    #[test]
    fn a_future_that_wakes_itself_is_polled_again() {
        for (times, expected) in [(0, (1, 0)), (1, (2, 0)), (3, (4, 0)), (100, (MOST, 1))] {
            assert_eq!(polled(times), expected, "{times}");
        }
    }

    #[test]
    fn a_wake_between_two_polls_wakes_the_task() {
        let (task, mut inner) = (Arc::<Count>::default(), None);
        let mut future = Repolled::new(Box::pin(poll_fn(|cx| {
            inner = Some(cx.waker().clone());
            Poll::<()>::Pending
        })));
        let waker = Arc::clone(&task).into();
        assert!(Pin::new(&mut future).poll(&mut Context::from_waker(&waker)).is_pending());
        drop(future);
        let inner = inner.expect("it was polled");
        inner.wake_by_ref();
        // The task is awake until it polls.
        inner.wake();
        assert_eq!(task.0.load(Ordering::SeqCst), 1);
    }
}
