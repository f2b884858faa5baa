//! Futures of one task, polled in the order in which they were woken.

use std::collections::VecDeque;
use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

/// The most polls in one turn of the task.
const MOST: usize = 64;

/// The most entries that an empty set keeps for futures to come.
const KEPT: usize = 16;

/// Any number of futures that one task polls, each when it was woken, and the first one that was woken first.
///
/// A turn of the task polls at most 64 of them. The task is woken when one of them is, and not by a poll that leaves all of
/// them pending, as a task with a `FuturesUnordered` of futures-util is: over a runtime with several threads such a wake costs
/// a second thread.
///
/// ```
/// use std::future::ready;
/// use std::task::{Context, Poll, Waker};
///
/// use protomcp_fair::FutureSet;
///
/// let mut set = FutureSet::default();
/// set.push(ready(1));
/// let mut context = Context::from_waker(Waker::noop());
/// assert_eq!(set.poll_next(&mut context), Poll::Ready(Some(1)));
/// assert_eq!(set.poll_next(&mut context), Poll::Ready(None));
/// ```
pub struct FutureSet<F> {
    entries: Vec<Entry<F>>,
    /// The entries without a future.
    free: Vec<usize>,
    woken: Arc<Woken>,
}

struct Entry<F> {
    future: Option<F>,
    mark: Arc<Mark>,
    waker: Waker,
}

/// Wakes one entry. A waker of an earlier future in the same entry may wake a later one, which is polled once too often.
struct Mark {
    entry: usize,
    /// It is among the woken ones.
    is_woken: AtomicBool,
    woken: Arc<Woken>,
}

#[derive(Default)]
struct Woken(Mutex<State>);

#[derive(Default)]
struct State {
    /// The entries that were woken, the first one first.
    entries: VecDeque<usize>,
    /// The task, while it waits.
    task: Option<Waker>,
}

impl State {
    fn wait(&mut self, task: &Waker) {
        if !self.task.as_ref().is_some_and(|known| known.will_wake(task)) {
            self.task = Some(task.clone());
        }
    }
}

impl<F: Future + Unpin> FutureSet<F> {
    /// Adds a future, which is polled for the first time by the next [`next`](Self::next) or
    /// [`poll_next`](Self::poll_next). This wakes no task: the one that adds futures polls the set afterwards.
    pub fn push(&mut self, future: F) {
        let position = self.free.pop().unwrap_or_else(|| {
            let (entry, woken) = (self.entries.len(), Arc::clone(&self.woken));
            let mark = Arc::new(Mark { entry, is_woken: AtomicBool::new(false), woken });
            self.entries.push(Entry { future: None, waker: Arc::clone(&mark).into(), mark });
            entry
        });
        let entry = &mut self.entries[position];
        entry.future = Some(future);
        drop(entry.mark.set());
    }

    /// The number of futures that have not ended.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len() - self.free.len()
    }

    /// True without futures.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The output of the next future that ends; `None` without futures.
    pub async fn next(&mut self) -> Option<F::Output> {
        poll_fn(|cx| self.poll_next(cx)).await
    }

    /// Polls the futures that were woken, until one of them ends. `None` without futures.
    pub fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<F::Output>> {
        if self.is_empty() {
            return Poll::Ready(None);
        }
        for _ in 0..MOST {
            let Some(position) = self.woken.next(cx.waker()) else { return Poll::Pending };
            let Some(entry) = self.entries.get_mut(position) else { continue };
            // From here on it may be woken again. A swap, not a store: what was written before the wake-up is read after it.
            entry.mark.is_woken.swap(false, Ordering::SeqCst);
            let Some(future) = &mut entry.future else { continue };
            if let Poll::Ready(output) = Pin::new(future).poll(&mut Context::from_waker(&entry.waker)) {
                entry.future = None;
                self.free.push(position);
                self.shrink();
                return Poll::Ready(Some(output));
            }
        }
        if self.woken.has_more(cx.waker()) {
            cx.waker().wake_by_ref();
        }
        Poll::Pending
    }

    /// After a burst an empty set is small again.
    fn shrink(&mut self) {
        if self.is_empty() && self.entries.len() > KEPT {
            *self = Self::default();
        }
    }
}

impl Woken {
    /// The entry that was woken first. Without one the task is woken by the next.
    fn next(&self, task: &Waker) -> Option<usize> {
        let mut state = self.state();
        let first = state.entries.pop_front();
        if first.is_none() {
            state.wait(task);
        }
        first
    }

    /// True if an entry was woken. Otherwise the task is woken by the next.
    fn has_more(&self, task: &Waker) -> bool {
        let mut state = self.state();
        if state.entries.is_empty() {
            state.wait(task);
        }
        !state.entries.is_empty()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Mark {
    /// Puts the entry at the end of the woken ones, unless it is among them. The state, if it was not.
    fn set(&self) -> Option<MutexGuard<'_, State>> {
        if self.is_woken.swap(true, Ordering::SeqCst) {
            return None;
        }
        let mut state = self.woken.state();
        state.entries.push_back(self.entry);
        Some(state)
    }
}

impl Wake for Mark {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        // The task is woken outside the lock.
        let task = self.set().and_then(|mut state| state.task.take());
        if let Some(task) = task {
            task.wake();
        }
    }
}

impl<F> Default for FutureSet<F> {
    fn default() -> Self {
        Self { entries: Vec::new(), free: Vec::new(), woken: Arc::default() }
    }
}

impl<F> fmt::Debug for FutureSet<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FutureSet").field("len", &(self.entries.len() - self.free.len())).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use super::*;

    #[derive(Default)]
    struct Count(AtomicUsize);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// A future that ends when it is told so.
    #[derive(Clone, Default)]
    struct Signal(Arc<Mutex<(bool, Option<Waker>, usize)>>);

    impl Signal {
        fn fire(&self) {
            let mut state = self.0.lock().unwrap();
            state.0 = true;
            let waker = state.1.take();
            drop(state);
            waker.into_iter().for_each(Waker::wake);
        }

        fn polls(&self) -> usize {
            self.0.lock().unwrap().2
        }
    }

    struct Waits(Signal, usize);

    impl Future for Waits {
        type Output = usize;

        fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<usize> {
            let mut state = self.0.0.lock().unwrap();
            state.1 = Some(cx.waker().clone());
            state.2 += 1;
            if state.0 { Poll::Ready(self.1) } else { Poll::Pending }
        }
    }

    struct Task {
        set: FutureSet<Waits>,
        wakes: Arc<Count>,
    }

    impl Task {
        fn with(count: usize) -> (Self, Vec<Signal>) {
            let signals: Vec<Signal> = (0..count).map(|_| Signal::default()).collect();
            let mut set = FutureSet::default();
            signals.iter().enumerate().for_each(|(number, signal)| set.push(Waits(signal.clone(), number)));
            (Self { set, wakes: Arc::default() }, signals)
        }

        fn poll(&mut self) -> Poll<Option<usize>> {
            self.set.poll_next(&mut Context::from_waker(&Arc::clone(&self.wakes).into()))
        }

        fn wakes(&self) -> usize {
            self.wakes.0.load(Ordering::SeqCst)
        }
    }

    #[test]
    fn a_pending_future_does_not_wake_the_task() {
        let (mut task, signals) = Task::with(3);
        assert_eq!((task.poll(), task.wakes()), (Poll::Pending, 0));
        assert_eq!(signals.iter().map(Signal::polls).collect::<Vec<_>>(), [1, 1, 1]);
        signals[1].fire();
        assert_eq!(task.wakes(), 1);
        assert_eq!(task.poll(), Poll::Ready(Some(1)));
        assert_eq!((task.poll(), task.set.len()), (Poll::Pending, 2));
        assert_eq!(signals[0].polls(), 1, "only what was woken is polled");
    }

    #[test]
    fn the_first_to_be_woken_is_the_first_to_end() {
        let (mut task, signals) = Task::with(3);
        assert_eq!(task.poll(), Poll::Pending);
        [2, 0, 1].into_iter().for_each(|number| signals[number].fire());
        assert_eq!(task.wakes(), 1, "the task is woken once");
        let ended: Vec<_> = (0..3).map(|_| task.poll()).collect();
        assert_eq!(ended, [2, 0, 1].map(|number| Poll::Ready(Some(number))));
        assert_eq!((task.poll(), task.set.is_empty()), (Poll::Ready(None), true));
    }

    #[test]
    fn a_late_wake_of_an_ended_future_harms_nothing() {
        let (mut task, signals) = Task::with(1);
        assert_eq!(task.poll(), Poll::Pending);
        let late = signals[0].0.lock().unwrap().1.clone().unwrap();
        signals[0].fire();
        assert_eq!(task.poll(), Poll::Ready(Some(0)));
        let next = Signal::default();
        task.set.push(Waits(next.clone(), 7));
        assert_eq!(task.poll(), Poll::Pending);
        late.wake();
        assert_eq!((task.poll(), next.polls()), (Poll::Pending, 2));
        next.fire();
        assert_eq!(task.poll(), Poll::Ready(Some(7)));
    }

    #[test]
    fn a_turn_is_bounded_and_a_burst_leaves_no_memory() {
        let (mut task, signals) = Task::with(MOST + 1);
        assert_eq!((task.poll(), task.wakes()), (Poll::Pending, 1));
        assert_eq!(signals[MOST].polls(), 0);
        assert_eq!(task.poll(), Poll::Pending);
        assert_eq!(signals[MOST].polls(), 1);
        signals.iter().for_each(Signal::fire);
        for number in 0..=MOST {
            assert_eq!(task.poll(), Poll::Ready(Some(number)));
        }
        assert_eq!(task.set.entries.len(), 0);
    }

    #[test]
    fn a_turn_that_polls_the_last_one_does_not_wake_the_task() {
        let (mut task, signals) = Task::with(MOST);
        assert_eq!((task.poll(), task.wakes()), (Poll::Pending, 0));
        signals[0].fire();
        assert_eq!((task.wakes(), task.poll()), (1, Poll::Ready(Some(0))));
    }

    #[test]
    fn a_future_that_wakes_itself_is_polled_again_in_the_same_turn() {
        let mut polls = 0;
        let mut set = FutureSet::default();
        set.push(Box::pin(poll_fn(|cx| {
            polls += 1;
            cx.waker().wake_by_ref();
            if polls == 3 { Poll::Ready(()) } else { Poll::Pending }
        })));
        assert_eq!(set.poll_next(&mut Context::from_waker(Waker::noop())), Poll::Ready(Some(())));
    }

    #[test]
    fn another_thread_wakes_the_task() {
        let (mut task, signals) = Task::with(1);
        assert_eq!(task.poll(), Poll::Pending);
        let signal = signals[0].clone();
        std::thread::spawn(move || signal.fire()).join().unwrap();
        assert_eq!((task.wakes(), task.poll()), (1, Poll::Ready(Some(0))));
    }
}
