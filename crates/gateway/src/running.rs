//! The calls that run in one session with a server, to find the client that a message of the server concerns.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use protomcp_server::{Context, SessionId};

/// The running calls, in the order in which they began.
#[derive(Debug, Default)]
pub(crate) struct Running(Mutex<Calls>);

#[derive(Debug, Default)]
struct Calls {
    last: u64,
    calls: BTreeMap<u64, Context>,
}

/// A running call. Dropping it ends the call.
#[derive(Debug)]
pub(crate) struct RunningCall {
    number: u64,
    all: Arc<Running>,
}

/// The call that a message of the server is taken for, which names none.
#[derive(Debug)]
pub(crate) enum Caller {
    /// The only call, or the newest one of the only session with calls.
    Of(Context),
    /// Calls of several callers are running.
    Ambiguous,
    /// No call is running.
    None,
}

impl Running {
    /// A call begins.
    pub(crate) fn begin(self: &Arc<Self>, context: Context) -> RunningCall {
        let mut running = self.lock();
        running.last += 1;
        let number = running.last;
        running.calls.insert(number, context);
        RunningCall { number, all: Arc::clone(self) }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.lock().calls.is_empty()
    }

    /// The call that a message of the server is taken for.
    pub(crate) fn caller(&self) -> Caller {
        let running = self.lock();
        let mut calls = running.calls.values().filter(|call| !call.is_cancelled());
        let Some(first) = calls.next() else { return Caller::None };
        let mut newest = first;
        for call in calls {
            if call.session() != first.session() || call.session() == SessionId::STATELESS {
                return Caller::Ambiguous;
            }
            newest = call;
        }
        Caller::Of(newest.clone())
    }

    fn lock(&self) -> MutexGuard<'_, Calls> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for RunningCall {
    fn drop(&mut self) {
        self.all.lock().calls.remove(&self.number);
    }
}
