//! The run of a bridge under the control of signals, and its errors.

use std::fmt::Display;
use std::pin::Pin;
use std::time::Duration;

use protomcp_bridge::{Bridge, Run, RunError, RunHandle, StartError, Starting};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;
use tokio::time::{Sleep, sleep};

use crate::exit::{self, Failure};
use crate::serve::service_manager;

/// The bridge, ready to be served, under the control of signals. `on_ready` runs before systemd is told that the service
/// is ready.
pub(super) fn prepare(
    bridge: Bridge,
    starting: Starting,
    signals: Signals,
    served: String,
    on_ready: impl FnOnce() + Send + 'static,
) -> Run {
    let run = Run::new(bridge, starting)
        .on_ready(on_ready)
        .on_ready(move || tracing::info!("serving {served}"))
        .on_ready(service_manager::ready)
        .on_drain(|| tracing::info!("draining; press Ctrl-C again to exit now"))
        .on_drain(service_manager::stopping);
    signals.forward(run.handle());
    run
}

/// The error of a run, with the flag that avoids it.
pub(super) fn failure<E: Display>(error: &RunError<E>) -> Failure {
    if let RunError::Start(start @ StartError::Spawn(_)) = error {
        return start.into();
    }
    match error {
        RunError::Start(StartError::Socket(socket)) => {
            Failure::usage(format!("{socket}; choose another path with --socket"))
        }
        // Like a folder that the command line names.
        RunError::Start(StartError::Skills(why)) => Failure::usage(why.as_str()),
        RunError::Start(start) => Failure::failed(format!("failed to start tool process: {}", exit::reason(start))),
        error => Failure::failed(error.to_string()),
    }
}

/// The meaning of a signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wish {
    /// Drain, or end immediately if this is the second time.
    Stop,
    /// Reload the tools.
    Reload,
}

/// The signals of the system and the user.
pub(super) struct Signals {
    sources: Sources,
    /// `None`: a stop is not delayed, or is already.
    departure: Option<Departure>,
    /// The end of the delay of a stop.
    leaving: Option<Pin<Box<Sleep>>>,
}

/// The time between the wish to stop and the stop.
struct Departure {
    delay: Duration,
    /// Returns false if there is nothing to wait for.
    begins: Box<dyn FnOnce() -> bool + Send>,
}

struct Sources {
    interrupt: Signal,
    terminate: Signal,
    hangup: Signal,
    /// It was started in a terminal.
    in_terminal: bool,
    /// The commands of its user.
    typed: Option<mpsc::Receiver<Wish>>,
}

/// True if the process has a controlling terminal now.
fn has_terminal() -> bool {
    std::fs::File::open("/dev/tty").is_ok()
}

/// The next typed command. Without a terminal there is none.
async fn next_of(typed: &mut Option<mpsc::Receiver<Wish>>) -> Wish {
    if let Some(receiver) = typed
        && let Some(wish) = receiver.recv().await
    {
        return wish;
    }
    std::future::pending().await
}

impl Signals {
    pub(super) fn new() -> Result<Self, Failure> {
        let listen =
            |kind| signal(kind).map_err(|error| Failure::failed(format!("cannot listen for signals: {error}")));
        let sources = Sources {
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
            hangup: listen(SignalKind::hangup())?,
            in_terminal: has_terminal(),
            typed: None,
        };
        Ok(Self { sources, departure: None, leaving: None })
    }

    /// Typed commands count as well.
    pub(super) fn listen_to(&mut self, typed: mpsc::Receiver<Wish>) {
        self.sources.typed = Some(typed);
    }

    /// Lets this time pass between the first wish to stop and the stop. `begins` is called with the wish, and returns
    /// false if there is nothing to wait for; the second wish ends the time.
    #[cfg(feature = "http")]
    pub(super) fn delay_stop(&mut self, delay: Duration, begins: impl FnOnce() -> bool + Send + 'static) {
        self.departure = (!delay.is_zero()).then(|| Departure { delay, begins: Box::new(begins) });
    }

    /// Waits for the next one. It may be dropped at any time.
    pub(super) async fn next(&mut self) -> Wish {
        loop {
            let wish = match &mut self.leaving {
                Some(over) => tokio::select! {
                    () = over => Wish::Stop,
                    wish = self.sources.next() => wish,
                },
                None => self.sources.next().await,
            };
            if wish == Wish::Reload {
                return wish;
            }
            self.leaving = None;
            let Some(Departure { delay, begins }) = self.departure.take() else { return wish };
            if !begins() {
                return wish;
            }
            tracing::info!("not ready, and serving for another {delay:?}; press Ctrl-C again to drain now");
            self.leaving = Some(Box::pin(sleep(delay)));
        }
    }

    /// Passes them on to the bridge, as long as it runs.
    fn forward(mut self, to: RunHandle) {
        tokio::spawn(async move {
            loop {
                match self.next().await {
                    Wish::Stop => to.stop(),
                    Wish::Reload => to.reload(),
                }
            }
        });
    }
}

impl Sources {
    async fn next(&mut self) -> Wish {
        tokio::select! {
            wish = next_of(&mut self.typed) => wish,
            _ = self.interrupt.recv() => Wish::Stop,
            _ = self.terminate.recv() => Wish::Stop,
            // A terminal that was closed sends the same signal.
            _ = self.hangup.recv() => if self.in_terminal && !has_terminal() { Wish::Stop } else { Wish::Reload },
        }
    }
}
