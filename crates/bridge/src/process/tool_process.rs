//! A registered tool process: the parts that calls need.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use arc_swap::ArcSwap;
use protomcp_link::{Link, Middleware};
use protomcp_server::Owner;
use protomcp_supervisor::{Exit, Process};
use tokio::sync::watch;

use crate::compat::socket_readers::SocketReaders;
use crate::diagnostics::cause::Cause;
use crate::generation::Generation;
use crate::process::middleware::MiddlewareChain;
use crate::process::running_calls::RunningCalls;
use crate::process::sdk::SdkFeatures;
use crate::process::served_owners::ServedOwners;

/// The time for the exit of a process whose link broke, which is reported within milliseconds.
const EXIT_WAIT: Duration = Duration::from_millis(800);

/// The reason for which a healthy process was stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StopReason {
    /// Other code replaces it.
    Reload,
    /// The bridge ends.
    Shutdown,
}

/// The process itself, and its exit once it has ended.
#[derive(Debug)]
pub(crate) struct Child {
    pub(crate) process: Process,
    pub(crate) exit: watch::Receiver<Option<Exit>>,
}

/// The link to a process, and the properties of the other end.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) link: Link,
    pub(crate) readers: SocketReaders,
    pub(crate) sdk: SdkFeatures,
}

/// One running process. Dropping it kills the process with all its descendants.
#[derive(Debug)]
pub(crate) struct ToolProcess {
    generation: Generation,
    child: Child,
    connection: Connection,
    concurrency: usize,
    /// Set if it was stopped while it may have been at work.
    stop_reason: OnceLock<StopReason>,
    /// Replaced as a whole when the process registers again.
    chain: ArcSwap<MiddlewareChain>,
    running: RunningCalls,
    served: ServedOwners,
}

impl ToolProcess {
    pub(crate) fn new(
        generation: Generation,
        child: Child,
        connection: Connection,
        concurrency: usize,
        chain: MiddlewareChain,
    ) -> Self {
        let (stop_reason, chain) = (OnceLock::new(), ArcSwap::from_pointee(chain));
        let (running, served) = (RunningCalls::default(), ServedOwners::default());
        Self { generation, child, connection, concurrency, stop_reason, chain, running, served }
    }

    pub(crate) fn generation(&self) -> Generation {
        self.generation
    }

    pub(crate) fn link(&self) -> &Link {
        &self.connection.link
    }

    /// The number of calls that it takes concurrently.
    pub(crate) fn concurrency(&self) -> usize {
        self.concurrency
    }

    /// True if its handlers run one at a time: it takes one call, or has said so.
    pub(crate) fn is_serial(&self) -> bool {
        self.concurrency == 1 || self.connection.sdk.runs_in_turn
    }

    /// The threads that read its socket.
    pub(crate) fn readers(&self) -> SocketReaders {
        self.connection.readers
    }

    /// Its announced features.
    pub(crate) fn sdk(&self) -> SdkFeatures {
        self.connection.sdk
    }

    /// The middleware around each of its calls.
    pub(crate) fn chain(&self) -> MiddlewareChain {
        self.chain.load().as_ref().clone()
    }

    /// Adds one middleware. Adding it twice has no further effect.
    pub(crate) fn intercept(&self, middleware: &Middleware) {
        self.chain.rcu(|chain| chain.with(middleware));
    }

    /// Replaces the middleware.
    pub(crate) fn set_chain(&self, chain: MiddlewareChain) {
        self.chain.store(Arc::new(chain));
    }

    /// Its running calls.
    pub(crate) fn running(&self) -> &RunningCalls {
        &self.running
    }

    /// The owners that it has worked for.
    pub(crate) fn served(&self) -> &ServedOwners {
        &self.served
    }

    /// Begins to stop it: the link closes, then signals follow.
    pub(crate) fn stop(&self) {
        self.connection.link.close();
        self.child.process.stop();
    }

    /// The same while it is at work: its unfinished calls fail.
    pub(crate) fn abort(&self) {
        // The first reason is kept.
        let _known = self.stop_reason.set(StopReason::Reload);
        self.connection.link.interrupt();
        self.stop();
    }

    /// The same at the end of the bridge.
    pub(crate) fn shut_down(&self) {
        let _known = self.stop_reason.set(StopReason::Shutdown);
        self.stop();
    }

    /// Kills it, because the bridge is gone. Does nothing once it has ended.
    pub(crate) fn kill(&self) {
        self.shut_down();
        self.child.process.kill();
    }

    /// The reason for which it was stopped while it may have been at work, if it was.
    pub(crate) fn stop_reason(&self) -> Option<StopReason> {
        self.stop_reason.get().copied()
    }

    /// Its exit, if it is known, or becomes known very soon.
    pub(crate) async fn exit(&self) -> Option<Exit> {
        let mut exit = self.child.exit.clone();
        let ended = tokio::time::timeout(EXIT_WAIT, exit.wait_for(Option::is_some)).await;
        ended.ok()?.ok()?.clone()
    }

    /// The reason of its end, if it is known now or very soon, for a call of this owner: with the last lines of the
    /// process while they cannot be about another owner.
    pub(crate) async fn end_for(&self, owner: &Owner) -> Option<String> {
        let exit = self.exit().await?;
        Some(Cause::exited(&exit, "").text(self.served.only(owner)))
    }

    /// Waits for its end, without a limit.
    pub(crate) async fn ended(&self) -> Option<Exit> {
        let mut exit = self.child.exit.clone();
        exit.wait_for(Option::is_some).await.ok()?.clone()
    }
}
