//! The state that a process hands over to the next version of itself.

use std::any::Any;
use std::fmt;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use bytes::Bytes;
use protomcp_envelope::{HandOverResponse, TakeOverResponse};
use protomcp_types::RawJson;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::watch;

/// The largest state, in bytes of JSON (`docs/envelope.md`, Handing over).
const STATE_MAX: usize = 1 << 20;

/// State that survives a reload; see [`Config::handover`](crate::Config::handover).
///
/// When the files were saved and the next version runs, new calls wait, the calls that run end, and the first closure
/// returns the state of this process. It goes to the second closure in the next one as JSON, before its tools are
/// listed. A closure is called while no handler of a tool runs, so that a lock which only tools hold is free. The process
/// in service continues with its state if the next version fails.
///
/// No state is handed over after a crash, when it has more than 1 MiB of JSON, and when a call still runs five seconds
/// after the next version has connected. The next version then starts without it, and the log of `pmcp` has the reason.
/// So it does if it cannot read the state, since a type has changed: types with `#[serde(default)]` can be read for
/// longer.
///
/// ```
/// use std::sync::Arc;
/// use std::sync::atomic::{AtomicU64, Ordering};
///
/// use protomcp_sdk::{Config, Handover};
///
/// let visits = Arc::new(AtomicU64::new(0));
/// let (before, after) = (Arc::clone(&visits), visits);
/// let handover = Handover::new(
///     move || before.load(Ordering::SeqCst),
///     move |count: u64| after.store(count, Ordering::SeqCst),
/// );
/// let config = Config { handover: Some(handover), ..Config::default() };
/// ```
#[derive(Clone)]
pub struct Handover {
    state: Arc<dyn Fn() -> Result<RawJson, String> + Send + Sync>,
    take: Arc<dyn Fn(RawJson) -> Result<(), String> + Send + Sync>,
}

impl Handover {
    /// `state` returns the state of this process, and `take` receives the state of the process before. Both must return
    /// soon: each has five seconds, and if `take` takes longer, the process before goes on.
    #[must_use]
    pub fn new<S, G, T>(state: G, take: T) -> Self
    where
        S: Serialize + DeserializeOwned,
        G: Fn() -> S + Send + Sync + 'static,
        T: Fn(S) + Send + Sync + 'static,
    {
        let state = move || RawJson::of(&state()).map_err(|error| format!("the state is not JSON: {error}"));
        let take = move |json: RawJson| {
            let read = json.to().map_err(|error| format!("the state cannot be read: {error}"))?;
            take(read);
            Ok(())
        };
        Self { state: Arc::new(state), take: Arc::new(take) }
    }

    fn state(&self) -> Result<Bytes, String> {
        let state = contained(|| (self.state)())?.into_bytes();
        if state.len() > STATE_MAX {
            return Err(format!("the state has {} bytes, more than the limit of {STATE_MAX}", state.len()));
        }
        Ok(state)
    }

    /// The state, when no call of a tool runs.
    pub(crate) fn hand_over(&self, running: &Running) -> impl Future<Output = HandOverResponse> + Send + 'static {
        let (handover, idle) = (self.clone(), running.none());
        async move {
            idle.await;
            match handover.state() {
                Ok(state) => HandOverResponse { state, ..HandOverResponse::default() },
                Err(error) => HandOverResponse { error, ..HandOverResponse::default() },
            }
        }
    }

    pub(crate) fn take_over(&self, state: Bytes) -> impl Future<Output = TakeOverResponse> + Send + 'static {
        let handover = self.clone();
        async move {
            let taken = RawJson::parse(state).map_err(|error| format!("the state is not JSON: {error}"));
            let taken = taken.and_then(|state| contained(|| (handover.take)(state)));
            TakeOverResponse { error: taken.err().unwrap_or_default() }
        }
    }
}

/// The outcome of a closure, or the message of its panic.
fn contained<T>(run: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| Err(format!("it panicked: {}", message(&*panic))))
}

fn message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("without a message")
}

impl fmt::Debug for Handover {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handover").finish_non_exhaustive()
    }
}

/// The calls of tools whose handlers run, also after they were cancelled. Clones count together.
#[derive(Debug, Clone, Default)]
pub(crate) struct Running(Arc<watch::Sender<usize>>);

/// One run of a handler, until it is dropped.
#[derive(Debug)]
pub(crate) struct ToolRun(Running);

impl Running {
    pub(crate) fn begin(&self) -> ToolRun {
        self.0.send_modify(|calls| *calls += 1);
        ToolRun(self.clone())
    }

    /// Completes when no call runs.
    fn none(&self) -> impl Future<Output = ()> + Send + 'static {
        let mut calls = self.0.subscribe();
        async move {
            // Without the machine no call runs.
            let _gone = calls.wait_for(|calls| *calls == 0).await.is_err();
        }
    }
}

impl Drop for ToolRun {
    fn drop(&mut self) {
        self.0.0.send_modify(|calls| *calls -= 1);
    }
}
