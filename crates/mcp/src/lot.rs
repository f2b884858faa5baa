//! Where calls wait whose host has been asked something and has not come back (MCP 2026-07-28, basic/patterns/mrtr).
//!
//! Such a call belongs to no connection: whoever brings its number takes it, once. Its number is unguessable and leaves
//! only under a signature. A call that nobody comes for leaves when its time is up.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use crate::context::Context;

/// The calls of one server that wait, by number.
#[derive(Debug)]
pub(crate) struct Lot {
    max: usize,
    parked: Mutex<HashMap<u128, Parked>>,
}

#[derive(Debug)]
struct Parked {
    call: Context,
    /// When its time is up.
    until: Instant,
}

impl Lot {
    pub(crate) fn new(max: usize) -> Self {
        Self { max, parked: Mutex::default() }
    }

    /// Takes a call in and returns its number; `None`: there is no room.
    pub(crate) fn park(&self, call: Context, now: Instant, until: Instant) -> Option<u128> {
        let mut parked = self.parked();
        parked.retain(|_, parked| parked.until > now);
        if parked.len() >= self.max {
            return None;
        }
        let mut number = [0; 16];
        getrandom::fill(&mut number).ok()?;
        let number = u128::from_be_bytes(number);
        parked.insert(number, Parked { call, until });
        Some(number)
    }

    /// The call with this number, without taking it.
    pub(crate) fn look(&self, number: u128, now: Instant) -> Option<Context> {
        self.parked().get(&number).filter(|parked| parked.until > now).map(|parked| parked.call.clone())
    }

    /// The call with this number; nobody else gets it.
    pub(crate) fn take(&self, number: u128, now: Instant) -> Option<Context> {
        self.parked().remove(&number).filter(|parked| parked.until > now).map(|parked| parked.call)
    }

    fn parked(&self) -> MutexGuard<'_, HashMap<u128, Parked>> {
        self.parked.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_call_is_taken_once_and_in_time() {
        let (lot, now) = (Lot::new(2), Instant::now());
        let (soon, later) = (now + Duration::from_secs(1), now + Duration::from_secs(2));
        let first = lot.park(Context::detached(), now, soon).unwrap();
        let second = lot.park(Context::detached(), now, later).unwrap();
        assert_ne!(first, second);
        assert!(lot.look(first, now).is_some() && lot.take(first, now).is_some());
        assert!(lot.look(first, now).is_none() && lot.take(first, now).is_none());
        assert!(lot.take(second, later).is_none(), "its time is up");
    }

    #[test]
    fn who_has_waited_too_long_makes_room() {
        let (lot, now) = (Lot::new(1), Instant::now());
        let soon = now + Duration::from_secs(1);
        let first = lot.park(Context::detached(), now, soon).unwrap();
        assert!(lot.park(Context::detached(), now, soon).is_none());
        let second = lot.park(Context::detached(), soon, soon + Duration::from_secs(1)).unwrap();
        assert!(lot.look(first, now).is_none() && lot.look(second, soon).is_some());
    }
}
