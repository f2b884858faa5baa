//! `pmcp dev` and `pmcp run`: one bridge, its hosts, and the signals.

mod doors;
mod http;
mod metrics;
mod stdio;

use std::time::Duration;

use protomcp_bridge::{Bridge, Starting, ToolFile, Watch};
use tokio::runtime;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::args::{Door, Options};
use crate::exit::Failure;

/// How long tasks that were aborted may take to let go of what they hold.
const LAST_TASKS: Duration = Duration::from_secs(1);

/// Serves until the host leaves or a signal ends it.
pub(crate) fn run(options: Options) -> Result<(), Failure> {
    let over_http = matches!(options.door, Door::Http(_));
    // One host and one process need one thread: every hop between threads costs more than the work of a call.
    let mut builder = match options.door {
        Door::Stdio { .. } => runtime::Builder::new_current_thread(),
        Door::Http(_) => runtime::Builder::new_multi_thread(),
    };
    let runtime = builder.enable_all().build().map_err(|error| Failure::failed(format!("cannot start: {error}")))?;
    let outcome = runtime.block_on(async {
        match options.door {
            Door::Stdio { .. } => stdio::serve(options).await,
            // In the future of `block_on`, I/O is twice as slow.
            Door::Http(_) => match tokio::spawn(http::serve(options)).await {
                Ok(outcome) => outcome,
                Err(error) => Err(Failure::failed(format!("the server failed: {error}"))),
            },
        }
    });
    if over_http {
        // What was dropped in a hurry is to be gone, sockets and all, before the program is.
        runtime.shutdown_timeout(LAST_TASKS);
    } else {
        // A read of a standard input that never ends must not keep the program. There is no other thread to wait for.
        runtime.shutdown_background();
    }
    outcome
}

/// Ends the tool process, politely unless a signal says that it should be quick.
async fn shut_down(bridge: Bridge, signals: &mut Signals, ending: bool) {
    tokio::select! {
        () = bridge.shutdown() => {}
        () = signals.end(), if !ending => {}
    }
}

fn launch(options: &Options) -> (Bridge, Starting) {
    let mut file = ToolFile::new(&options.file);
    if let Some(runtime) = &options.runtime {
        file = file.runtime(runtime);
    }
    let mut builder = Bridge::tool_file(&file)
        .reload_mode(options.reload)
        .call_timeout(options.call_timeout)
        .queue_timeout(options.queue_timeout)
        .drain_timeout(options.drain_timeout)
        .validate_arguments(options.arguments)
        .output_schemas(options.output_schemas)
        .tool_lists(options.tool_lists)
        .max_frame(options.max_frame)
        .max_result(options.max_result)
        .max_pending(options.max_pending)
        .max_retiring(options.max_retiring);
    if options.watch {
        let watch = Watch::file(&options.file);
        builder = builder.watch(match options.poll {
            Some(pause) => watch.poll_every(pause),
            None => watch,
        });
    }
    if let Some(timeout) = options.connect_timeout {
        builder = builder.connect_timeout(timeout);
    }
    if let Some(interval) = options.ping_interval {
        builder = builder.ping_interval(interval);
    }
    if let Some(calls) = options.max_concurrent_calls {
        builder = builder.max_concurrent_calls(calls);
    }
    if let Some(socket) = &options.socket {
        builder = builder.socket(socket);
    }
    builder.launch()
}

/// What a signal asks for.
enum Wish {
    End,
    Reload,
}

/// What the system and the user have to say.
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

    async fn next(&mut self) -> Wish {
        tokio::select! {
            _ = self.interrupt.recv() => Wish::End,
            _ = self.terminate.recv() => Wish::End,
            _ = self.hangup.recv() => Wish::Reload,
        }
    }

    async fn end(&mut self) {
        while let Wish::Reload = self.next().await {}
    }
}
