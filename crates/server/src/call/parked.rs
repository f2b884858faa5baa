//! Calls whose client has been asked something and has not come back (MCP 2026-07-28, basic/patterns/mrtr).
//!
//! A parked call belongs to no connection: the request that brings its number takes it, once. The number is unguessable
//! and leaves only under a signature. A call that is not taken is cancelled when its time is up.
//!
//! Callers share the slots. When all are taken, the oldest call of the holder of most gives way, so that a caller who
//! holds little can always ask; the holder of most cannot.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use crate::records::cancel::Cancel;
use protomcp_fair::{Owner, holder_of_most};

/// The parked calls of one server, by number.
#[derive(Debug)]
pub(crate) struct ParkedCalls<T: Cancel> {
    max: usize,
    table: Mutex<Table<T>>,
}

#[derive(Debug)]
struct Table<T> {
    calls: HashMap<u128, Parked<T>>,
    /// Orders calls by the time at which they were parked.
    last: u64,
}

#[derive(Debug)]
struct Parked<T> {
    call: T,
    owner: Owner,
    order: u64,
    /// When its time is up.
    until: Instant,
}

impl<T: Cancel + Clone> ParkedCalls<T> {
    pub(crate) fn new(max: usize) -> Self {
        Self { max, table: Mutex::new(Table { calls: HashMap::new(), last: 0 }) }
    }

    /// Parks a call and returns its number; `None`: no slot is free.
    pub(crate) fn park(&self, call: T, owner: Owner, now: Instant, until: Instant) -> Option<u128> {
        self.expire(now);
        let mut number = [0; 16];
        getrandom::fill(&mut number).ok()?;
        let number = u128::from_be_bytes(number);
        let mut table = self.table();
        let oldest = if table.calls.len() < self.max { None } else { Some(table.gives_way(&owner)?) };
        let oldest = oldest.and_then(|number| table.calls.remove(&number));
        table.last += 1;
        let order = table.last;
        table.calls.insert(number, Parked { call, owner, order, until });
        drop(table);
        if let Some(Parked { call, .. }) = oldest {
            tracing::debug!(?call, "a parked call gives way to another caller's: cancelled");
            call.cancel();
        }
        Some(number)
    }

    /// The call with this number, without taking it.
    pub(crate) fn peek(&self, number: u128, now: Instant) -> Option<T> {
        self.table().calls.get(&number).filter(|parked| parked.until > now).map(|parked| parked.call.clone())
    }

    /// The call with this number, which has no other taker then.
    pub(crate) fn take(&self, number: u128, now: Instant) -> Option<T> {
        let mut table = self.table();
        table.calls.get(&number).filter(|parked| parked.until > now)?;
        table.calls.remove(&number).map(|parked| parked.call)
    }

    /// Cancels the calls whose time is up.
    pub(crate) fn expire(&self, now: Instant) {
        let late: Vec<_> = self.table().calls.extract_if(|_, parked| parked.until <= now).collect();
        for (_, Parked { call, .. }) in late {
            tracing::debug!(?call, "the client has not come back in time: cancelled");
            call.cancel();
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.table().calls.is_empty()
    }
}

impl<T: Cancel> ParkedCalls<T> {
    /// Cancels all calls.
    pub(crate) fn cancel_all(&self) {
        let calls = std::mem::take(&mut self.table().calls);
        calls.values().for_each(|parked| parked.call.cancel());
    }

    fn table(&self) -> MutexGuard<'_, Table<T>> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> Table<T> {
    /// The number of the call that gives way to one of this caller.
    fn gives_way(&self, caller: &Owner) -> Option<u128> {
        let most = holder_of_most(self.calls.values().map(|parked| (parked.owner.clone(), 1)), caller)?;
        let of_most = self.calls.iter().filter(|(_, parked)| parked.owner == most);
        of_most.min_by_key(|(_, parked)| parked.order).map(|(number, _)| *number)
    }
}

/// No client can come back to a server that is gone.
impl<T: Cancel> Drop for ParkedCalls<T> {
    fn drop(&mut self) {
        self.cancel_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::Duration;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[derive(Debug, Clone, Default)]
    struct Call(Arc<AtomicBool>);

    impl Call {
        fn is_cancelled(&self) -> bool {
            self.0.load(Ordering::Relaxed)
        }
    }

    impl Cancel for Call {
        fn cancel(&self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }

    fn parked(max: usize) -> ParkedCalls<Call> {
        ParkedCalls::new(max)
    }

    impl ParkedCalls<Call> {
        fn park_of(&self, owner: &str, now: Instant, until: Instant) -> (Call, Option<u128>) {
            let call = Call::default();
            let number = self.park(call.clone(), Owner::Principal(owner.into()), now, until);
            (call, number)
        }
    }

    #[test]
    fn a_call_is_taken_once_and_in_time() {
        let (calls, now) = (parked(3), Instant::now());
        let first = calls.park_of("ann", now, now + SECOND).1.unwrap();
        let second = calls.park_of("ann", now, now + 2 * SECOND).1.unwrap();
        assert_ne!(first, second);
        assert!(calls.peek(first, now).is_some() && calls.take(first, now).is_some());
        assert!(calls.peek(first, now).is_none() && calls.take(first, now).is_none());
        let late = now + 2 * SECOND;
        assert!(calls.peek(second, late).is_none() && calls.take(second, late).is_none(), "its time is up");
    }

    #[test]
    fn a_call_is_cancelled_when_its_time_is_up() {
        let (calls, now) = (parked(2), Instant::now());
        let (soon, _) = calls.park_of("ann", now, now + SECOND);
        let (later, _) = calls.park_of("ann", now, now + 2 * SECOND);
        calls.expire(now + SECOND - Duration::from_nanos(1));
        assert!(!soon.is_cancelled());
        calls.expire(now + SECOND);
        assert!(soon.is_cancelled() && !later.is_cancelled() && !calls.is_empty());
        calls.expire(now + 2 * SECOND);
        assert!(later.is_cancelled() && calls.is_empty());
    }

    #[test]
    fn calls_whose_time_is_up_make_room() {
        let (calls, now) = (parked(1), Instant::now());
        assert!(calls.park_of("ann", now, now + SECOND).1.is_some());
        assert!(calls.park_of("ann", now, now + SECOND).1.is_none());
        assert!(calls.park_of("ann", now + SECOND, now + 2 * SECOND).1.is_some());
    }

    #[test]
    fn the_oldest_call_of_the_holder_of_most_gives_way() {
        let (calls, now) = (parked(4), Instant::now());
        let park = |owner: &str| calls.park_of(owner, now, now + SECOND);
        let (parked, numbers): (Vec<_>, Vec<_>) = ["ann", "bob", "ann", "ann"].map(park).into_iter().unzip();
        let is_cancelled = || parked.iter().map(Call::is_cancelled).collect::<Vec<_>>();
        assert!(numbers.iter().all(Option::is_some));
        assert_eq!(park("ann").1, None, "the holder of most gets no more");
        assert!(park("bob").1.is_some());
        assert_eq!(is_cancelled(), [true, false, false, false]);
        assert_eq!(park("bob").1, None, "both hold two");
        assert!(park("cid").1.is_some());
        assert_eq!(is_cancelled().into_iter().filter(|is_cancelled| *is_cancelled).count(), 2);
        // The largest share that all can have.
        assert!(["cid", "dan"].map(park).iter().all(|(_, number)| number.is_some()));
    }

    #[test]
    fn a_server_that_is_gone_has_no_parked_calls() {
        let (calls, now) = (parked(1), Instant::now());
        let (call, _) = calls.park_of("ann", now, now + SECOND);
        drop(calls);
        assert!(call.is_cancelled());
    }
}
