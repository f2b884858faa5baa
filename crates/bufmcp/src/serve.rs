//! Serves an MCP server to clients of proto-mcp, over any stream of bytes.
//!
//! Each conversation is a member of the server, so everything behind the server works as it does for clients of
//! JSON-RPC: layers, limits, lists by session, cancellation. `serve/driver.rs` owns the stream, its machine, which is a
//! [`BinarySession`](crate::BinarySession), and the membership.

mod account;
mod answers;
mod any_protocol;
mod call_events;
mod call_reports;
mod catalog;
mod driver;
mod dropped_reports;
mod endpoint;
mod error;
mod large_values;
mod line_budget;
mod listening;
mod log_frames;
mod mcp;
mod peer;
mod peer_transport;
mod running;
mod shared;
mod turn;

use std::fmt;
use std::io;
use std::sync::{Arc, Mutex};

use protomcp_server::{LargeWork, Server, ServerHandle, Service};
use protomcp_types::ListCapability;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::JoinSet;

use crate::cursor::CursorKey;
use crate::rate_limit::{RateLimiter, RateLimits};
use crate::schemas::ToolSchemas;
use crate::selection::PageLimits;
use crate::serve::driver::Driver;
use crate::serve::shared::Shared;
use crate::session::config::{Changes, Features, SessionConfig, Streaming};
use crate::struct_schemas::StructSchemas;

pub use crate::serve::any_protocol::{AnyServer, DetectOptions, JsonLines, ServeAnyError};
pub use crate::serve::call_events::{BinaryCallEvent, BinaryCallEvents};
pub use crate::serve::endpoint::{BinaryAnswer, BinaryCaller, BinaryEndpoint};
pub use crate::serve::error::BinaryServeError;
pub use crate::serve::listening::BinaryListening;
pub use crate::serve::peer::BinaryPeer;

/// Serves an MCP server to clients of proto-mcp. Cloning is cheap; all clones share their limits.
pub struct BinaryServer<S> {
    server: Server<S>,
    shared: Shared,
}

impl<S: Service> BinaryServer<S> {
    /// Serves this server, with the schemas of [`StructSchemas`]. Name, version and features are the server's.
    #[must_use]
    pub fn new(server: Server<S>) -> Self {
        let info = server.handle().info();
        let changes = |list: ListCapability| if list.list_changed { Changes::Announced } else { Changes::Silent };
        let capabilities = &info.capabilities;
        let mut session = SessionConfig::new(&info.implementation.name, &info.implementation.version);
        session.features = Features {
            bsr_refs: StructSchemas.has_references(),
            tools: capabilities.tools.map(changes),
            resources: capabilities.resources.map(changes),
            prompts: capabilities.prompts.map(changes),
            completion: capabilities.completions.is_some(),
            subscriptions: capabilities.resources.is_some_and(|resources| resources.subscribe),
            streaming: match capabilities.logging {
                Some(_) => Streaming::ProgressAndLogs,
                None => Streaming::Progress,
            },
        };
        let shared = Shared {
            announces_tools: session.features.tools == Some(Changes::Announced),
            session: Arc::new(session),
            schemas: Arc::new(StructSchemas),
            pages: PageLimits::default(),
            cursors: CursorKey::random(),
            rates: None,
            large_work: LargeWork::default(),
            logs: Arc::default(),
        };
        Self { server, shared }
    }

    /// Changes the settings of conversations.
    #[must_use]
    pub fn configure(mut self, change: impl FnOnce(&mut SessionConfig)) -> Self {
        change(Arc::make_mut(&mut self.shared.session));
        self
    }

    /// Converts with these schemas.
    #[must_use]
    pub fn schemas(mut self, schemas: Arc<dyn ToolSchemas>) -> Self {
        let has_references = schemas.has_references();
        self.shared.schemas = schemas;
        self.configure(|session| session.features.bsr_refs = has_references)
    }

    /// Limits the calls of each principal; without one, of each address; without either, of each connection.
    #[must_use]
    pub fn rate_limits(mut self, limits: RateLimits) -> Self {
        self.shared.rates = Some(Arc::new(Mutex::new(RateLimiter::new(limits))));
        self
    }

    /// Sets the size of pages.
    #[must_use]
    pub fn pages(mut self, pages: PageLimits) -> Self {
        self.shared.pages = pages;
        self
    }

    /// Signs cursors with a key that other processes have as well.
    #[must_use]
    pub fn cursor_key(mut self, key: CursorKey) -> Self {
        self.shared.cursors = key;
        self
    }

    /// The MCP server: its limits, and its shutdown.
    #[must_use]
    pub fn handle(&self) -> &ServerHandle {
        self.server.handle()
    }

    /// The settings of conversations.
    #[must_use]
    pub fn config(&self) -> &SessionConfig {
        &self.shared.session
    }

    /// Serves one client until it closes its end, the server shuts down, or the connection breaks. At the end requests
    /// in flight have [`SessionLimits::drain_timeout`](crate::SessionLimits::drain_timeout). Must be called inside a
    /// tokio runtime with timers. Dropping the future cancels everything immediately.
    ///
    /// # Errors
    /// If the stream fails or ends inside a frame, or the client does not keep to the protocol.
    pub async fn serve<R, W>(&self, reader: R, writer: W, peer: BinaryPeer) -> Result<(), BinaryServeError>
    where
        R: AsyncRead + Unpin + Send + 'static,
        W: AsyncWrite + Unpin + Send + 'static,
    {
        // The work happens in its own task: in the future of `block_on`, I/O is twice as slow.
        let driver = Driver::new(self.server.clone(), Arc::new(self.shared.clone()), peer);
        let mut task = JoinSet::new();
        task.spawn(driver.run(reader, writer));
        match task.join_next().await {
            Some(Ok(outcome)) => outcome,
            Some(Err(error)) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
            // The runtime is shutting down.
            Some(Err(_)) | None => Err(BinaryServeError::Io(io::ErrorKind::Interrupted.into())),
        }
    }
}

impl<S> Clone for BinaryServer<S> {
    fn clone(&self) -> Self {
        Self { server: self.server.clone(), shared: self.shared.clone() }
    }
}

impl<S> fmt::Debug for BinaryServer<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BinaryServer").field("shared", &self.shared).finish_non_exhaustive()
    }
}
