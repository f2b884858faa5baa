//! `pmcp dev` and `pmcp run`: one bridge, its hosts, and the signals.

mod http;
mod listeners;
mod metrics;
mod stdio;

use std::fmt::Display;
use std::time::Duration;

use protomcp_bridge::{Bridge, EndpointError, Run, RunError, RunHandle, StartError, Starting};
use tokio::runtime;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::args::{Endpoint, Options};
use crate::exit::Failure;

/// The time in which aborted tasks must release their resources.
const LAST_TASKS: Duration = Duration::from_secs(1);

/// Serves until the host leaves or a signal ends it.
pub(crate) fn run(options: Options) -> Result<(), Failure> {
    let Options { watch, tool, endpoint } = options;
    let over_http = matches!(endpoint, Endpoint::Http(_));
    // One client and one process need one thread: every hop between threads costs more than the work of a call.
    let mut builder =
        if over_http { runtime::Builder::new_multi_thread() } else { runtime::Builder::new_current_thread() };
    let runtime = builder.enable_all().build().map_err(|error| Failure::failed(format!("cannot start: {error}")))?;
    let outcome = runtime.block_on(async {
        match endpoint {
            Endpoint::Stdio(options) => stdio::serve(&tool, watch, options).await,
            // In the future of `block_on`, I/O is twice as slow.
            Endpoint::Http(options) => match tokio::spawn(http::serve(tool, watch, *options)).await {
                Ok(outcome) => outcome,
                Err(error) => Err(Failure::failed(format!("the server failed: {error}"))),
            },
        }
    });
    if over_http {
        // Resources of aborted tasks, such as sockets, must be released before the exit.
        runtime.shutdown_timeout(LAST_TASKS);
    } else {
        // A read of a standard input that never ends must not keep the program. There is no other thread to wait for.
        runtime.shutdown_background();
    }
    outcome
}

/// The bridge, ready to be served, under the control of signals.
fn prepare((bridge, starting): (Bridge, Starting), signals: Signals, served: String) -> Run {
    let run = Run::new(bridge, starting)
        .on_ready(move || tracing::info!("serving {served}"))
        .on_drain(|| tracing::info!("draining; press Ctrl-C again to exit now"));
    signals.forward(run.handle());
    run
}

/// The error of a run, with the flag that mends it.
fn failure<E: Display>(error: &RunError<E>) -> Failure {
    let hint = match error {
        RunError::Start(StartError::Socket(
            EndpointError::PathTooLong { .. } | EndpointError::ForeignDirectory(_) | EndpointError::InUse(_),
        )) => "; choose another path with --socket",
        _ => "",
    };
    Failure::failed(format!("{error}{hint}"))
}

/// The signals of the system and the user.
struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hangup: Signal,
}

impl Signals {
    fn new() -> Result<Self, Failure> {
        let listen =
            |kind| signal(kind).map_err(|error| Failure::failed(format!("cannot listen for signals: {error}")));
        Ok(Self {
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
            hangup: listen(SignalKind::hangup())?,
        })
    }

    /// Passes them on to the bridge, as long as it runs.
    fn forward(mut self, to: RunHandle) {
        tokio::spawn(async move {
            loop {
                tokio::select! {
                    _ = self.interrupt.recv() => to.stop(),
                    _ = self.terminate.recv() => to.stop(),
                    _ = self.hangup.recv() => to.reload(),
                }
            }
        });
    }
}
