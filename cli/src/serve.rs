//! `pmcp dev` and `pmcp run`: one bridge, one host on stdio, and the signals.

use std::time::Duration;

use protomcp_bridge::{Bridge, Starting, ToolFile, Watch};
use protomcp_mcp::ServeError;
use protomcp_mcp::transport::TransportError;
use protomcp_mcp::transport::stdio::stdio;
use tokio::runtime;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::args::{Options, Transport};
use crate::exit::Failure;
use crate::log;

/// How long a tool process that is still starting when the host has left may take to fail.
const LAST_WORD: Duration = Duration::from_secs(1);

/// Serves until the host leaves or a signal ends it.
pub(crate) fn run(options: Options) -> Result<(), Failure> {
    let Transport::Stdio = options.transport;
    // One host and one process need one thread: every hop between threads costs more than the work of a call.
    let runtime = runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::failed(format!("cannot start: {error}")))?;
    let outcome = runtime.block_on(serve(options));
    // A read of a standard input that never ends must not keep the program.
    runtime.shutdown_background();
    outcome
}

async fn serve(options: Options) -> Result<(), Failure> {
    // Before anything else can write to descriptor 1.
    let host = stdio().map_err(|error| Failure::failed(format!("cannot use standard input and output: {error}")))?;
    log::start(options.log_level);
    let mut signals = Signals::new().map_err(|error| Failure::failed(format!("cannot listen for signals: {error}")))?;
    let file = options.file.display().to_string();
    let (bridge, starting) = launch(options);

    let (mut ending, mut failed) = (false, None);
    let outcome = {
        // The host is served from the start: it may time out sooner than a tool file compiles.
        let (serving, starting) = (bridge.serve(host), starting.wait());
        tokio::pin!(serving, starting);
        let mut started = false;
        loop {
            tokio::select! {
                outcome = &mut serving => {
                    // Nobody is there any more, but whoever looks at the exit status wants to know that the file is broken.
                    if !started
                        && !ending
                        && let Ok(Err(error)) = tokio::time::timeout(LAST_WORD, &mut starting).await
                    {
                        failed = Some(error);
                    }
                    break outcome;
                }
                outcome = &mut starting, if !started => {
                    started = true;
                    match outcome {
                        Ok(()) => tracing::info!("serving {file} on stdio"),
                        Err(error) => {
                            failed = Some(error);
                            bridge.drain();
                        }
                    }
                },
                wish = signals.next() => match wish {
                    Wish::Reload => bridge.reload().await,
                    // The second one means it.
                    Wish::End if ending => break Ok(()),
                    Wish::End => {
                        ending = true;
                        tracing::info!("draining: running calls may finish; once more to end at once");
                        bridge.drain();
                    }
                },
            }
        }
    };
    tokio::select! {
        () = bridge.shutdown() => {}
        () = signals.end(), if !ending => {}
    }
    if let Some(error) = failed {
        return Err(Failure::failed(format!("failed to start tool process: {error}")));
    }
    match outcome {
        // A host that was killed took both ends of the pipes with it.
        Ok(()) | Err(ServeError::Transport(TransportError::Closed)) => Ok(()),
        Err(error) => Err(Failure::failed(error.to_string())),
    }
}

fn launch(options: Options) -> (Bridge, Starting) {
    let mut file = ToolFile::new(&options.file);
    if let Some(runtime) = options.runtime {
        file = file.runtime(runtime);
    }
    let mut builder = Bridge::tool_file(&file)
        .reload_mode(options.reload)
        .call_timeout(options.call_timeout)
        .drain_timeout(options.drain_timeout)
        .validate_arguments(options.arguments)
        .output_schemas(options.output_schemas)
        .max_frame(options.max_frame)
        .max_result(options.max_result);
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
    if let Some(calls) = options.max_concurrent_calls {
        builder = builder.max_concurrent_calls(calls);
    }
    if let Some(socket) = options.socket {
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
    fn new() -> std::io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: signal(SignalKind::hangup())?,
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
