//! The handle of a client's conversation.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{mpsc, oneshot, watch};

use crate::client::config::BinaryClientConfig;
use crate::client::driver::{Command, Driver};
use crate::client::error::{BinaryCallError, BinaryCloseReason};
use crate::client::session::BinaryServerView;
use crate::client::status::{Changed, Status};
use crate::message::{
    CallToolRequest, CallToolResponse, ListResourcesRequest, ListResourcesResponse, ListToolsRequest,
    ListToolsResponse, Payload, ReadResourceRequest, ReadResourceResponse, Resource, Tool,
};

/// A conversation with a server of proto-mcp. Cloning is cheap; the conversation ends with the last clone.
#[derive(Clone)]
pub struct BinaryClient {
    server: Arc<BinaryServerView>,
    commands: mpsc::UnboundedSender<Command>,
    /// Of a call that has no other.
    timeout: Duration,
    status: watch::Receiver<Status>,
    changes: watch::Receiver<Changed>,
}

impl BinaryClient {
    /// Opens a conversation over a stream. Must be called inside a tokio runtime with timers.
    ///
    /// # Errors
    /// If the server refuses, does not answer in time, or does not speak proto-mcp.
    pub async fn connect<R, W>(reader: R, writer: W, config: BinaryClientConfig) -> Result<Self, BinaryCloseReason>
    where
        R: AsyncRead + Unpin + Send + 'static,
        W: AsyncWrite + Unpin + Send + 'static,
    {
        // As many commands as callers wait: the driver takes them at once.
        let (commands, receiver) = mpsc::unbounded_channel();
        let (status, mut opened) = watch::channel(Status::Opening);
        let (changed, changes) = watch::channel(Changed::default());
        let timeout = config.timeout;
        let driver = Driver::new(config, receiver, status, changed);
        tokio::spawn(driver.run(reader, writer));
        let status = opened.clone();
        let reached = opened.wait_for(|status| !matches!(status, Status::Opening)).await;
        match reached.as_deref() {
            Ok(Status::Open(server)) => Ok(Self { server: Arc::clone(server), commands, timeout, status, changes }),
            Ok(Status::Closed(reason)) => Err(reason.clone()),
            Ok(Status::Opening) | Err(_) => Err(BinaryCloseReason::Requested),
        }
    }

    /// The server, as it has described itself.
    #[must_use]
    pub fn server(&self) -> &Arc<BinaryServerView> {
        &self.server
    }

    /// The changes of lists that the server has announced. Servers announce them if their capabilities say so.
    #[must_use]
    pub fn changes(&self) -> watch::Receiver<Changed> {
        self.changes.clone()
    }

    /// One page of the tools.
    ///
    /// # Errors
    /// If the server refuses or does not answer.
    pub async fn list_tools(&self, request: ListToolsRequest) -> Result<ListToolsResponse, BinaryCallError> {
        match self.send(Payload::ListToolsRequest(request), None).await? {
            Payload::ListToolsResponse(response) => Ok(response),
            _ => Err(mismatch()),
        }
    }

    /// All tools with their schemas. A list that changes on the way is asked for again.
    ///
    /// # Errors
    /// If the server refuses or does not answer, or the list has no end.
    pub async fn all_tools(&self) -> Result<Vec<Tool>, BinaryCallError> {
        let mut tools: Vec<Tool> = Vec::new();
        let (mut request, mut restarts) = (ListToolsRequest { include_schemas: true, ..Default::default() }, 0);
        for _ in 0..MAX_PAGES {
            match self.list_tools(request.clone()).await {
                Ok(page) => {
                    tools.extend(page.tools);
                    request.cursor = page.next_cursor;
                    if request.cursor.is_empty() {
                        return Ok(tools);
                    }
                }
                Err(error) if is_stale(&error) && restarts < MAX_RESTARTS => {
                    restarts += 1;
                    tools.clear();
                    request.cursor.clear();
                }
                Err(error) => return Err(error),
            }
        }
        Err(endless())
    }

    /// Calls a tool. A failure that the tool reports itself is a result with `is_error`. Without `timeout` the call has
    /// [`BinaryClientConfig::timeout`]; the server is told of it either way. Dropping the future gives the answer up; the
    /// server is not told.
    ///
    /// # Errors
    /// If the tool did not run, or its outcome is lost.
    pub async fn call_tool(
        &self,
        mut request: CallToolRequest,
        timeout: Option<Duration>,
    ) -> Result<CallToolResponse, BinaryCallError> {
        let timeout = timeout.unwrap_or(self.timeout);
        request.metadata.insert("timeout_ms".to_owned(), timeout.as_millis().to_string());
        // The server's own answer to a late tool says more than silence.
        let patience = timeout.saturating_add(MARGIN);
        match self.send(Payload::CallToolRequest(request), Some(patience)).await? {
            Payload::CallToolResponse(response) => Ok(response),
            _ => Err(mismatch()),
        }
    }

    /// One page of the resources.
    ///
    /// # Errors
    /// If the server refuses or does not answer.
    pub async fn list_resources(
        &self,
        request: ListResourcesRequest,
    ) -> Result<ListResourcesResponse, BinaryCallError> {
        match self.send(Payload::ListResourcesRequest(request), None).await? {
            Payload::ListResourcesResponse(response) => Ok(response),
            _ => Err(mismatch()),
        }
    }

    /// All resources.
    ///
    /// # Errors
    /// As [`BinaryClient::all_tools`].
    pub async fn all_resources(&self) -> Result<Vec<Resource>, BinaryCallError> {
        let (mut resources, mut request, mut restarts) = (Vec::new(), ListResourcesRequest::default(), 0);
        for _ in 0..MAX_PAGES {
            match self.list_resources(request.clone()).await {
                Ok(page) => {
                    resources.extend(page.resources);
                    request.cursor = page.next_cursor;
                    if request.cursor.is_empty() {
                        return Ok(resources);
                    }
                }
                Err(error) if is_stale(&error) && restarts < MAX_RESTARTS => {
                    restarts += 1;
                    resources.clear();
                    request.cursor.clear();
                }
                Err(error) => return Err(error),
            }
        }
        Err(endless())
    }

    /// The contents of a resource.
    ///
    /// # Errors
    /// If the server refuses or does not answer.
    pub async fn read_resource(&self, uri: impl Into<String>) -> Result<ReadResourceResponse, BinaryCallError> {
        match self.send(Payload::ReadResourceRequest(ReadResourceRequest { uri: uri.into() }), None).await? {
            Payload::ReadResourceResponse(response) => Ok(response),
            _ => Err(mismatch()),
        }
    }

    /// Ends the conversation: requests without an answer fail.
    pub fn close(&self) {
        // Without a receiver it is over already.
        drop(self.commands.send(Command::Close));
    }

    /// Waits until the conversation is over.
    pub async fn closed(&self) -> BinaryCloseReason {
        let mut status = self.status.clone();
        let ended = status.wait_for(|status| matches!(status, Status::Closed(_))).await;
        match ended.as_deref() {
            Ok(Status::Closed(reason)) => reason.clone(),
            _ => BinaryCloseReason::Requested,
        }
    }

    async fn send(&self, request: Payload, timeout: Option<Duration>) -> Result<Payload, BinaryCallError> {
        let (done, answer) = oneshot::channel();
        let closed = || match &*self.status.borrow() {
            Status::Closed(reason) => BinaryCallError::Closed(reason.clone()),
            Status::Opening | Status::Open(_) => BinaryCallError::Closed(BinaryCloseReason::Requested),
        };
        self.commands.send(Command::Call(Box::new(request), timeout, done)).map_err(|_| closed())?;
        answer.await.unwrap_or_else(|_| Err(closed()))
    }
}

impl fmt::Debug for BinaryClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BinaryClient").field("server", &self.server).finish_non_exhaustive()
    }
}

/// The list has changed since its first page.
fn is_stale(error: &BinaryCallError) -> bool {
    matches!(error, BinaryCallError::Refused(fault) if fault.data.get("reason").is_some_and(|why| why == "stale_cursor"))
}

// The machine compares kinds, so this does not happen.
fn mismatch() -> BinaryCallError {
    BinaryCallError::InvalidAnswer("another kind of message".into())
}

fn endless() -> BinaryCallError {
    BinaryCallError::InvalidAnswer(format!("the list has more than {MAX_PAGES} pages"))
}

/// The most pages of one list.
const MAX_PAGES: usize = 1000;

/// The most new beginnings of a list that changes.
const MAX_RESTARTS: usize = 5;

/// The time in which a server may answer that a tool is late.
const MARGIN: Duration = Duration::from_secs(5);
