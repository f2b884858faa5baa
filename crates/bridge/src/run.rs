//! One loop that serves a bridge: the connections of clients, the start of the tool process, and commands from outside.

use std::fmt;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Notify, watch};

use crate::bridge::Bridge;
use crate::builder::Starting;
use crate::diagnostics::start_error::StartError;

/// The time for the process to fail after the last client has disconnected, and for connections to end after the
/// process has.
const LAST_WORD: Duration = Duration::from_secs(1);

/// Controls a [`Run`], before and while it serves. Cloning is cheap.
#[derive(Debug, Clone)]
pub struct RunHandle(Arc<Controls>);

/// Commands for the loop. Several waiting reloads are one; a stop is never lost among them.
#[derive(Debug, Default)]
struct Controls {
    reload: Notify,
    /// The number of stops so far.
    stops: watch::Sender<u32>,
}

impl RunHandle {
    /// Reloads now, as if a file had been saved.
    pub fn reload(&self) {
        self.0.reload.notify_one();
    }

    /// Drains: running calls finish, then the bridge ends. A second time it ends immediately.
    pub fn stop(&self) {
        self.0.stops.send_modify(|stops| *stops = stops.saturating_add(1));
    }

    /// Waits until there have been this many stops.
    async fn stopped(&self, times: u32) {
        let mut stops = self.0.stops.subscribe();
        // The sender is in the handle, so there is no error.
        drop(stops.wait_for(|stops| *stops >= times).await);
    }
}

/// The reason for which a bridge stopped serving.
#[derive(Debug)]
#[non_exhaustive]
pub enum RunError<E> {
    /// The tool process did not start.
    Start(StartError),
    /// The connections failed.
    Serve(E),
}

impl<E: fmt::Display> fmt::Display for RunError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Start(error) => write!(f, "failed to start tool process: {error}"),
            Self::Serve(error) => error.fmt(f),
        }
    }
}

impl<E: std::error::Error> std::error::Error for RunError<E> {}

/// A bridge and its first start, ready to be served. Made by [`Builder::launch`](crate::Builder::launch) and
/// [`Run::new`].
///
/// Clients are served from the beginning, because a client may time out sooner than a tool file compiles. Hooks run in
/// the order in which they were added.
pub struct Run {
    bridge: Bridge,
    starting: Option<Starting>,
    on_ready: Hook,
    on_drain: Hook,
    on_stopped: Hook,
    handle: RunHandle,
}

type Hook = Box<dyn FnOnce() + Send>;

impl Run {
    /// Serves this bridge; `None` if its process has started.
    #[must_use]
    pub fn new(bridge: Bridge, starting: impl Into<Option<Starting>>) -> Self {
        let nothing = || Box::new(|| {});
        Self {
            bridge,
            starting: starting.into(),
            on_ready: nothing(),
            on_drain: nothing(),
            on_stopped: nothing(),
            handle: RunHandle(Arc::default()),
        }
    }

    /// The handle that reloads and stops it.
    #[must_use]
    pub fn handle(&self) -> RunHandle {
        self.handle.clone()
    }

    /// Adds a hook that runs when the tool process takes calls.
    #[must_use]
    pub fn on_ready(mut self, hook: impl FnOnce() + Send + 'static) -> Self {
        self.on_ready = chain(self.on_ready, hook);
        self
    }

    /// Adds a hook that runs at the first [`RunHandle::stop`].
    #[must_use]
    pub fn on_drain(mut self, hook: impl FnOnce() + Send + 'static) -> Self {
        self.on_drain = chain(self.on_drain, hook);
        self
    }

    /// Adds a hook that runs when the tool process and every call have ended; answers may still be in transit.
    #[must_use]
    pub fn on_stopped(mut self, hook: impl FnOnce() + Send + 'static) -> Self {
        self.on_stopped = chain(self.on_stopped, hook);
        self
    }

    /// Serves `connections` until they end, then stops the tool process.
    ///
    /// # Errors
    /// If the tool process did not start, or the connections failed.
    pub async fn serve<E>(self, connections: impl Future<Output = Result<(), E>>) -> Result<(), RunError<E>> {
        let Self { bridge, starting, on_ready, on_drain, on_stopped, handle } = self;
        let mut connections = pin!(connections);
        let (mut on_ready, mut on_drain) = (Some(on_ready), Some(on_drain));
        let (mut is_starting, mut is_draining, mut failed) = (starting.is_some(), false, None);
        let outcome = {
            let mut starting = pin!(started(starting));
            loop {
                tokio::select! {
                    outcome = &mut connections => {
                        // The clients have disconnected, but the caller wants the error of a broken file.
                        if is_starting && !is_draining {
                            failed = tokio::time::timeout(LAST_WORD, &mut starting).await.ok().and_then(Result::err);
                        }
                        break Some(outcome);
                    }
                    outcome = &mut starting, if is_starting => {
                        is_starting = false;
                        match outcome {
                            Ok(()) => call(&mut on_ready),
                            Err(error) => {
                                failed = Some(error);
                                bridge.drain();
                            }
                        }
                    },
                    () = handle.0.reload.notified() => bridge.reload().await,
                    () = handle.stopped(1), if !is_draining => {
                        is_draining = true;
                        call(&mut on_drain);
                        bridge.drain();
                    }
                    () = handle.stopped(2) => break None,
                }
            }
        };
        let outcome = match outcome {
            Some(outcome) => {
                tokio::select! {
                    () = bridge.shutdown() => {}
                    () = handle.stopped(1 + u32::from(is_draining)) => {}
                }
                on_stopped();
                outcome
            }
            None => {
                abort(bridge, connections, on_stopped).await;
                Ok(())
            }
        };
        match failed {
            Some(error) => Err(RunError::Start(error)),
            None => outcome.map_err(RunError::Serve),
        }
    }
}

/// Ends the bridge while clients are connected: their calls fail with the process, and clients that read fast enough
/// get the errors.
async fn abort(bridge: Bridge, mut connections: Pin<&mut impl Future>, on_stopped: Hook) {
    let mut are_over = false;
    {
        let mut shutdown = pin!(bridge.shutdown());
        loop {
            tokio::select! {
                () = &mut shutdown => break,
                _ = &mut connections, if !are_over => are_over = true,
            }
        }
    }
    on_stopped();
    if !are_over {
        let _late = tokio::time::timeout(LAST_WORD, connections).await;
    }
}

impl Bridge {
    /// Serves `connections` until they end. When `stop` completes, the bridge accepts no new work, lets running calls
    /// finish within the drain timeout, and stops the tool process.
    ///
    /// ```no_run
    /// use protomcp_bridge::{Bridge, ToolFile};
    /// use protomcp_transport::stdio;
    ///
    /// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// let bridge = Bridge::tool_file(&ToolFile::new("tools.py")).start().await?;
    /// let server = bridge.server();
    /// bridge.run_until(server.serve(stdio()?), async { drop(tokio::signal::ctrl_c().await) }).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// If the connections failed.
    pub async fn run_until<E>(
        self,
        connections: impl Future<Output = Result<(), E>>,
        stop: impl Future<Output = ()>,
    ) -> Result<(), E> {
        let run = Run::new(self, None);
        let handle = run.handle();
        let (mut serving, mut stop) = (pin!(run.serve(connections)), pin!(stop));
        let outcome = tokio::select! {
            outcome = &mut serving => outcome,
            () = &mut stop => {
                handle.stop();
                serving.await
            }
        };
        match outcome {
            Ok(()) => Ok(()),
            Err(RunError::Serve(error)) => Err(error),
            Err(RunError::Start(_)) => unreachable!("the process has started"),
        }
    }
}

async fn started(starting: Option<Starting>) -> Result<(), StartError> {
    match starting {
        Some(starting) => starting.wait().await,
        None => Ok(()),
    }
}

fn chain(first: Hook, second: impl FnOnce() + Send + 'static) -> Hook {
    Box::new(move || {
        first();
        second();
    })
}

fn call(hook: &mut Option<Hook>) {
    if let Some(hook) = hook.take() {
        hook();
    }
}

impl fmt::Debug for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Run").field("bridge", &self.bridge).finish_non_exhaustive()
    }
}
