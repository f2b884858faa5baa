//! Processes that are started again when they end by themselves.

use std::time::Instant;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use protomcp_supervisor::{Backoff, Next, Restart};
use protomcp_transport::Transport;

use crate::command_transport::CommandTransport;
use crate::command_transport::halves::{CommandSink, CommandSource};
use crate::reconnection::{Reconnect, Replacement};

/// Starts the processes of one session.
#[derive(Debug)]
pub(crate) struct Restarting {
    transport: CommandTransport,
    restart: Restart,
    /// The start of the process that runs.
    since: Instant,
}

impl Restarting {
    /// The first process was just started.
    pub(crate) fn new(transport: CommandTransport, backoff: Backoff) -> Self {
        Self { transport, restart: Restart::new(backoff), since: Instant::now() }
    }

    async fn start(mut self) -> Option<Replacement<CommandSource, CommandSink>> {
        let mut uptime = self.since.elapsed();
        loop {
            match self.restart.failed(Instant::now(), uptime) {
                Next::After(pause) => tokio::time::sleep(pause).await,
                Next::GiveUp => return None,
            }
            match self.transport.spawn().await {
                Ok(running) => {
                    let (source, sink) = running.split();
                    self.since = Instant::now();
                    return Some(Replacement { source, sink, next: Box::new(self) });
                }
                Err(error) => {
                    tracing::warn!(%error, "the server cannot be started again");
                    uptime = std::time::Duration::ZERO;
                }
            }
        }
    }
}

impl Reconnect<CommandSource, CommandSink> for Restarting {
    fn reconnect(self: Box<Self>) -> BoxFuture<'static, Option<Replacement<CommandSource, CommandSink>>> {
        self.start().boxed()
    }
}
