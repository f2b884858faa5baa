//! The handle of a client's conversation.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use prost::Message;
use protomcp_session::{CallerKey, MAX_PAGES};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{mpsc, oneshot, watch};

use crate::client::config::BinaryClientConfig;
use crate::client::driver::{Command, Driver, NewRequest, OnReport};
use crate::client::error::{BinaryCallError, BinaryCloseReason};
use crate::client::session::{BinaryServerView, own_caller};
use crate::client::status::{Changed, Status};
use crate::message::mcp_message::Payload;
use crate::message::tool::SchemaSource;
use crate::message::{
    CallLog, CallToolRequest, CallToolResponse, ListResourcesRequest, ListResourcesResponse, ListToolsRequest,
    ListToolsResponse, ReadResourceRequest, ReadResourceResponse, Resource, Tool,
};
use crate::report::CallReport;
use crate::session::config::SessionLimits;

/// A conversation with a server of proto-mcp. Cloning is cheap; the conversation ends with the last clone.
#[derive(Clone)]
pub struct BinaryClient {
    conversation: Arc<OpenConversation>,
    caller: Arc<CallerKey>,
}

/// The part of a conversation that its handles share.
struct OpenConversation {
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
        // At most one command of each caller waits: the driver takes them immediately.
        let (commands, receiver) = mpsc::unbounded_channel();
        let (status, mut opened) = watch::channel(Status::Opening);
        let (changed, changes) = watch::channel(Changed::default());
        let timeout = config.timeout;
        let driver = Driver::new(config, receiver, status, changed);
        tokio::spawn(driver.run(reader, writer));
        let status = opened.clone();
        let reached = opened.wait_for(|status| !matches!(status, Status::Opening)).await;
        match reached.as_deref() {
            Ok(Status::Open(server)) => {
                let server = Arc::clone(server);
                let conversation = Arc::new(OpenConversation { server, commands, timeout, status, changes });
                Ok(Self { conversation, caller: Arc::new(own_caller()) })
            }
            Ok(Status::Closed(reason)) => Err(reason.clone()),
            Ok(Status::Opening) | Err(_) => Err(BinaryCloseReason::Requested),
        }
    }

    /// This conversation for one of several callers, such as the users of a gateway: where requests wait for their turn,
    /// the owners of their callers take turns. The server learns nothing of it.
    #[must_use]
    pub fn for_caller(&self, caller: CallerKey) -> Self {
        Self { conversation: Arc::clone(&self.conversation), caller: Arc::new(caller) }
    }

    /// The server, as it has described itself.
    #[must_use]
    pub fn server(&self) -> &Arc<BinaryServerView> {
        &self.conversation.server
    }

    /// The changes of lists that the server has announced. Servers announce them if their capabilities say so.
    #[must_use]
    pub fn changes(&self) -> watch::Receiver<Changed> {
        self.conversation.changes.clone()
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
    /// If the server refuses or does not answer, or the list has more than 1,000 pages, 20,000 entries or 64 MiB.
    pub async fn all_tools(&self) -> Result<Vec<Tool>, BinaryCallError> {
        self.tools_of(ListToolsRequest { include_schemas: true, ..Default::default() }).await
    }

    /// All tools that this request for a first page selects.
    pub(super) async fn tools_of(&self, request: ListToolsRequest) -> Result<Vec<Tool>, BinaryCallError> {
        all_pages(|cursor| {
            let request = ListToolsRequest { cursor, ..request.clone() };
            async move {
                let page = self.list_tools(request).await?;
                Ok((page.tools.into_iter().map(detached).collect(), page.next_cursor))
            }
        })
        .await
    }

    /// Calls a tool. A failure that the tool reports itself is a result with `is_error`. Without `timeout` the call has
    /// [`BinaryClientConfig::timeout`]; the server is told of it either way. Dropping the future gives the answer up and
    /// cancels the call, if the server has set
    /// [`supports_streaming`](crate::message::ServerCapabilities::supports_streaming) or its
    /// [carrier can](BinaryClientConfig::cancels).
    ///
    /// # Errors
    /// If the tool did not run, or its outcome is lost.
    pub fn call_tool(
        &self,
        request: CallToolRequest,
        timeout: Option<Duration>,
    ) -> impl Future<Output = Result<CallToolResponse, BinaryCallError>> + Send {
        self.call(request, timeout, None)
    }

    /// Like [`BinaryClient::call_tool`], with the reports of the call while it runs. The request says which are wanted:
    /// `wants_progress` and `log_level`. A server sends them if it has set
    /// [`supports_streaming`](crate::message::ServerCapabilities::supports_streaming).
    ///
    /// `on_report` runs in the task of the conversation, so it must not block. If it panics, the log has it, and the
    /// call goes on. It is dropped with the answer.
    ///
    /// # Errors
    /// See [`BinaryClient::call_tool`].
    pub fn call_tool_with_reports(
        &self,
        request: CallToolRequest,
        timeout: Option<Duration>,
        on_report: impl FnMut(CallReport) + Send + 'static,
    ) -> impl Future<Output = Result<CallToolResponse, BinaryCallError>> + Send {
        self.call(request, timeout, Some(Box::new(on_report)))
    }

    /// Calls a tool, with a function for its reports.
    pub(super) async fn call(
        &self,
        mut request: CallToolRequest,
        timeout: Option<Duration>,
        on_report: Option<OnReport>,
    ) -> Result<CallToolResponse, BinaryCallError> {
        // A server reads the milliseconds as 64 bits.
        let timeout = timeout.unwrap_or(self.conversation.timeout).min(SessionLimits::LONGEST);
        request.metadata.insert("timeout_ms".to_owned(), timeout.as_millis().to_string());
        // The server's own answer to a late tool says more than silence.
        let patience = timeout.saturating_add(MARGIN);
        match self.send_with(Payload::CallToolRequest(request), Some(patience), on_report).await? {
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
    /// See [`BinaryClient::all_tools`].
    pub async fn all_resources(&self) -> Result<Vec<Resource>, BinaryCallError> {
        all_pages(|cursor| async move {
            let page = self.list_resources(ListResourcesRequest { cursor }).await?;
            Ok((page.resources, page.next_cursor))
        })
        .await
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

    /// Passes the log messages of the server that belong to no call to this function, in place of the one before. A server
    /// sends them after a call that [asks for log messages](BinaryClient::call_tool_with_reports), from the level of that
    /// call on. The function runs in the task of the conversation, so it must not block. If it panics, the log has it.
    pub fn on_log(&self, on_log: impl FnMut(CallLog) + Send + 'static) {
        self.command(Command::OnLog(Box::new(on_log)));
    }

    /// Ends the conversation: requests without an answer fail.
    pub fn close(&self) {
        self.command(Command::Close);
    }

    pub(super) fn command(&self, command: Command) {
        // Without a receiver it is over already.
        drop(self.conversation.commands.send(command));
    }

    /// Waits until the conversation is over.
    pub async fn closed(&self) -> BinaryCloseReason {
        let mut status = self.conversation.status.clone();
        let ended = status.wait_for(|status| matches!(status, Status::Closed(_))).await;
        match ended.as_deref() {
            Ok(Status::Closed(reason)) => reason.clone(),
            _ => BinaryCloseReason::Requested,
        }
    }

    pub(super) fn send(
        &self,
        request: Payload,
        timeout: Option<Duration>,
    ) -> impl Future<Output = Result<Payload, BinaryCallError>> + Send {
        self.send_with(request, timeout, None)
    }

    async fn send_with(
        &self,
        request: Payload,
        timeout: Option<Duration>,
        on_report: Option<OnReport>,
    ) -> Result<Payload, BinaryCallError> {
        let OpenConversation { commands, status, .. } = &*self.conversation;
        let mut waiter = Waiter { commands, is_waiting: true };
        let (done, answer) = oneshot::channel();
        let closed = || match &*status.borrow() {
            Status::Closed(reason) => BinaryCallError::Closed(reason.clone()),
            Status::Opening | Status::Open(_) => BinaryCallError::Closed(BinaryCloseReason::Requested),
        };
        let call = NewRequest { request, timeout, caller: Arc::clone(&self.caller), on_report, done };
        commands.send(Command::Call(Box::new(call))).map_err(|_| closed())?;
        let outcome = answer.await;
        waiter.is_waiting = false;
        outcome.unwrap_or_else(|_| Err(closed()))
    }
}

/// The task that waits for an answer, which outlives its end of the channel for it.
struct Waiter<'a> {
    commands: &'a mpsc::UnboundedSender<Command>,
    is_waiting: bool,
}

impl Drop for Waiter<'_> {
    fn drop(&mut self) {
        if self.is_waiting {
            // Without a receiver the conversation is over.
            drop(self.commands.send(Command::Forget));
        }
    }
}

impl fmt::Debug for BinaryClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BinaryClient").field("server", &self.conversation.server).finish_non_exhaustive()
    }
}

/// All entries of a list. `page` gets the entries of the page at a cursor, and the cursor of the next one. A list that
/// changes on the way is asked for again.
pub(super) async fn all_pages<T: Message, F>(page: impl Fn(String) -> F) -> Result<Vec<T>, BinaryCallError>
where
    F: Future<Output = Result<(Vec<T>, String), BinaryCallError>>,
{
    let (mut all, mut budget) = (Vec::new(), ListBudget::default());
    let (mut cursor, mut restarts) = (String::new(), 0);
    for _ in 0..MAX_PAGES {
        match page(std::mem::take(&mut cursor)).await {
            Ok((entries, next)) => {
                budget.take(&entries)?;
                all.extend(entries);
                if next.is_empty() {
                    return Ok(all);
                }
                cursor = next;
            }
            Err(error) if is_stale(&error) && restarts < MAX_RESTARTS => {
                restarts += 1;
                (all, budget) = (Vec::new(), ListBudget::default());
            }
            Err(error) => return Err(error),
        }
    }
    Err(endless())
}

/// The list has changed since its first page.
fn is_stale(error: &BinaryCallError) -> bool {
    matches!(error, BinaryCallError::Refused(fault) if fault.data.get("reason").is_some_and(|why| why == "stale_cursor"))
}

/// The bytes and the entries that a list may still have.
struct ListBudget {
    bytes: usize,
    entries: usize,
}

impl Default for ListBudget {
    fn default() -> Self {
        Self { bytes: MAX_LIST_BYTES, entries: MAX_LIST_ENTRIES }
    }
}

impl ListBudget {
    fn take(&mut self, page: &[impl Message]) -> Result<(), BinaryCallError> {
        let bytes = page.iter().map(Message::encoded_len).sum();
        let left = self.bytes.checked_sub(bytes).zip(self.entries.checked_sub(page.len()));
        let too_long = || {
            let most = format!("{MAX_LIST_ENTRIES} entries or {} MiB", MAX_LIST_BYTES >> 20);
            BinaryCallError::InvalidAnswer(format!("the list has more than {most}"))
        };
        (self.bytes, self.entries) = left.ok_or_else(too_long)?;
        Ok(())
    }
}

/// A tool whose schema does not hold the frame in which it came.
fn detached(mut tool: Tool) -> Tool {
    if let Some(SchemaSource::InlineSchema(set)) = &mut tool.schema_source {
        *set = Bytes::copy_from_slice(set);
    }
    tool
}

/// The error of an answer of another kind. The machine compares kinds, so this does not happen.
pub(super) fn mismatch() -> BinaryCallError {
    BinaryCallError::InvalidAnswer("another kind of message".into())
}

fn endless() -> BinaryCallError {
    BinaryCallError::InvalidAnswer(format!("the list has more than {MAX_PAGES} pages"))
}

/// The most bytes of one list, as it is encoded.
const MAX_LIST_BYTES: usize = 64 << 20;

/// The most entries of one list.
const MAX_LIST_ENTRIES: usize = 20_000;

/// The most new beginnings of a list that changes.
const MAX_RESTARTS: usize = 5;

/// The time in which a server may answer that a tool is late.
const MARGIN: Duration = Duration::from_secs(5);

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use bytes::BytesMut;
    use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex, split};

    use super::*;
    use crate::frame::{Decoder, encode};
    use crate::limits::FrameLimits;
    use crate::message::{InitializeResponse, McpMessage};

    /// Answers each page with these entries and a cursor.
    async fn endless(mut stream: DuplexStream, tools: Vec<Tool>, resources: Vec<Resource>, pages: Arc<AtomicUsize>) {
        let (mut decoder, mut input) = (Decoder::new(FrameLimits::default()), BytesMut::new());
        let next_cursor = "more".to_owned();
        while !matches!(stream.read_buf(&mut input).await, Ok(0) | Err(_)) {
            while let Some(request) = decoder.decode(&mut input).unwrap() {
                let McpMessage { id, payload } = request.unwrap();
                let (tools, resources, next_cursor) = (tools.clone(), resources.clone(), next_cursor.clone());
                let answer = match payload.unwrap() {
                    Payload::InitializeRequest(request) => {
                        let protocol_version = request.protocol_version;
                        let response = InitializeResponse { protocol_version, ..InitializeResponse::default() };
                        Payload::InitializeResponse(response)
                    }
                    Payload::ListToolsRequest(_) => {
                        Payload::ListToolsResponse(ListToolsResponse { tools, next_cursor })
                    }
                    _ => Payload::ListResourcesResponse(ListResourcesResponse { resources, next_cursor }),
                };
                pages.fetch_add(1, Ordering::SeqCst);
                let mut frame = Vec::new();
                encode(&McpMessage { id, payload: Some(answer) }, &FrameLimits::default(), &mut frame).unwrap();
                stream.write_all(&frame).await.unwrap();
            }
        }
    }

    #[tokio::test]
    async fn lists_are_bounded_in_bytes_and_entries() {
        let pages = Arc::new(AtomicUsize::new(0));
        let large = Tool { description: "x".repeat(8 << 20), ..Tool::default() };
        let small = vec![Resource::default(); 3_000];
        let (ours, theirs) = duplex(64 << 10);
        tokio::spawn(endless(theirs, vec![large], small, Arc::clone(&pages)));
        let (reader, writer) = split(ours);
        let config = BinaryClientConfig::new("tests", "1.0");
        let client = BinaryClient::connect(reader, writer, config).await.unwrap();
        let tools = client.all_tools().await.unwrap_err();
        assert!(tools.to_string().contains("64 MiB"), "{tools}");
        assert!(client.all_resources().await.is_err());
        // The first answer, eight pages of tools and seven of resources.
        assert_eq!(pages.load(Ordering::SeqCst), 1 + 8 + 7);
    }
}
