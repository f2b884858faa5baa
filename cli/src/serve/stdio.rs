//! One host on standard input and output.

use std::time::Duration;

use protomcp_server::ServeError;
use protomcp_transport::TransportError;
use protomcp_transport::stdio;

use crate::args::{Door, Options};
use crate::exit::Failure;
use crate::log;
use crate::serve::{Signals, Wish, launch, shut_down};

/// How long a tool process that is still starting when the host has left may take to fail, and how long a host may take to
/// be told how its calls ended.
const LAST_WORD: Duration = Duration::from_secs(1);

pub(super) async fn serve(options: Options) -> Result<(), Failure> {
    // Before anything else can write to descriptor 1.
    let host = stdio().map_err(|error| Failure::failed(format!("cannot use standard input and output: {error}")))?;
    log::start(options.log_level);
    let Door::Stdio { max_line, idle } = &options.door else { unreachable!("this is the way of stdio") };
    let host = host.with_max_line(*max_line);
    for flag in idle {
        tracing::warn!("{flag} has no effect on stdio: there is one host, the one that started this program");
    }
    let mut signals = Signals::new()?;
    let file = options.file.display().to_string();
    let (bridge, starting) = launch(&options);

    let (mut ending, mut failed) = (false, None);
    // The host is served from the start: it may time out sooner than a tool file compiles.
    let server = bridge.server();
    let serving = server.serve(host);
    tokio::pin!(serving);
    let outcome = {
        let starting = starting.wait();
        tokio::pin!(starting);
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
                    break Some(outcome);
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
                    Wish::End if ending => break None,
                    Wish::End => {
                        ending = true;
                        tracing::info!("draining: running calls may finish; once more to end at once");
                        bridge.drain();
                    }
                },
            }
        }
    };
    let shutting = shut_down(bridge, &mut signals, ending);
    let outcome = if let Some(outcome) = outcome {
        shutting.await;
        outcome
    } else {
        // The calls that run fail with their process, and the host is told. It was asked to be quick, so it may fail.
        let _ended = tokio::join!(shutting, tokio::time::timeout(LAST_WORD, &mut serving));
        Ok(())
    };
    if let Some(error) = failed {
        return Err(Failure::failed(format!("failed to start tool process: {error}")));
    }
    match outcome {
        // A host that was killed took both ends of the pipes with it.
        Ok(()) | Err(ServeError::Transport(TransportError::Closed)) => Ok(()),
        Err(error) => Err(Failure::failed(error.to_string())),
    }
}
