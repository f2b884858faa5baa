//! The frames of a conversation as calls of gRPC, and their answers as frames.
//!
//! Payloads are passed on as they are: the conversation encodes, decodes and bounds them. A server may retire a connection
//! that has calls (RFC 9113, section 6.8): they end there, and later ones get another connection.

use std::error::Error;
use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use bytes::{Buf, Bytes, BytesMut};
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, OptionFuture};
use http::uri::PathAndQuery;
use http::{HeaderValue, Uri};
use prost::Message;
use protomcp_bufmcp::{Connect, RawMessage};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, WriteHalf, join, split};
use tokio::sync::{Mutex, mpsc};
use tokio::time::{Instant, sleep_until};
use tonic::client::Grpc;
use tonic::metadata::{MetadataMap, MetadataValue};
use tonic::{Request, Status};

use crate::client::calls::{Attempt, Calls, Ended, LISTENER};
use crate::client::channel::Channel;
use crate::client::listener::{Heard, Listener};
use crate::client::numbers;
use crate::client::raw_codec::RawCodec;
use crate::status;

/// The calls of one conversation.
pub(super) struct Carrier<C> {
    /// The way to the server.
    pub(super) way: Arc<C>,
    pub(super) origin: Uri,
    pub(super) authorization: Option<HeaderValue>,
    /// The largest message, in bytes.
    pub(super) max_message: usize,
    /// The time of each call.
    pub(super) timeout: Option<Duration>,
    pub(super) listener: Mutex<Listener>,
    /// The server has no `CallToolStream`.
    pub(super) lacks_reports: AtomicBool,
    /// The server does not say what it logs in no call.
    pub(super) lacks_logs: AtomicBool,
}

/// The reason why a call has no answer of its kind.
pub(super) enum Failure {
    NotSent(Status),
    Status(Status),
}

impl Failure {
    /// The failure of a call with this status.
    pub(super) fn of(status: Status) -> Self {
        if is_unsent(&status) { Self::NotSent(status) } else { Self::Status(status) }
    }
}

/// Opens a connection.
pub(super) async fn connect<C>(way: &C) -> io::Result<Channel>
where
    C: Connect<Reader: Sync, Writer: Sync>,
{
    let (reader, writer) = way.connect().await?;
    Channel::open(join(reader, writer)).await
}

impl<C> Carrier<C>
where
    C: Connect<Reader: Sync, Writer: Sync>,
{
    /// Carries the conversation until it, or its last connection without calls, ends. One that can no longer hear of
    /// changes ends when no call runs, and asks for them again until then. The conversation bounds its requests in flight.
    pub(super) async fn run(self, mut channel: Channel, stream: DuplexStream) {
        let (mut reader, mut writer) = split(stream);
        let (mut input, mut calls) = (BytesMut::new(), Calls::default());
        let (hears, mut heard) = mpsc::channel(MAX_HEARD);
        let mut opening: OptionFuture<BoxFuture<'_, io::Result<Channel>>> = None.into();
        let (mut is_opening, mut is_deaf, mut again) = (false, false, None);
        let mut ended = channel.ended();
        loop {
            while let Some(message) = take(&mut input) {
                calls.take(&message);
            }
            if is_deaf && calls.is_empty() {
                return;
            }
            again = is_deaf.then(|| again.unwrap_or_else(|| Instant::now() + AGAIN));
            if !channel.is_over() {
                calls.begin(|request, attempt| self.call(channel.clone(), request, attempt, hears.clone()));
            } else if calls.are_waiting() && !is_opening {
                opening = Some(self.another().boxed()).into();
                is_opening = true;
            }
            let mut messages = Vec::new();
            tokio::select! {
                read = reader.read_buf(&mut input) => if !matches!(read, Ok(1..)) {
                    // The conversation has ended.
                    return;
                },
                Some(one) = heard.recv() => messages.extend(calls.hear(one)),
                Some(end) = calls.next() => match end {
                    Ended::Answer(answer) => {
                        // The reports of a call are in front of its answer.
                        while let Ok(one) = heard.try_recv() {
                            messages.extend(calls.hear(one));
                        }
                        messages.push(answer);
                    }
                    Ended::NotSent(request) => calls.retry(request),
                },
                Some(opened) = &mut opening, if is_opening => {
                    is_opening = false;
                    match opened {
                        Ok(another) => {
                            (ended, channel) = (another.ended(), another);
                            // Another server may say what changes.
                            again = is_deaf.then(Instant::now);
                        }
                        Err(error) => {
                            let status = Status::unavailable(format!("the connection is over, and another fails: {error}"));
                            messages.extend(calls.give_up().map(|request| failed(request.id, &status)));
                        }
                    }
                }
                () = sleep_until(again.unwrap_or_else(Instant::now)), if again.is_some() && !calls.has(LISTENER) => {
                    again = None;
                    messages.extend(calls.hear(Heard::Ended));
                }
                // Running calls have failed with the connection or end on it, and are answered first.
                _ = ended.changed(), if calls.is_empty() => return,
            }
            if !write(&mut writer, messages, &mut is_deaf).await {
                return;
            }
        }
    }

    /// Opens the next connection.
    async fn another(&self) -> io::Result<Channel> {
        tracing::debug!("the server has retired a connection over gRPC; opening another");
        let opened = tokio::time::timeout(OPEN_TIMEOUT, connect(&*self.way)).await;
        opened.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
    }

    /// Makes a call, and returns the message that answers it.
    async fn call(&self, channel: Channel, request: RawMessage, attempt: Attempt, heard: mpsc::Sender<Heard>) -> Ended {
        let RawMessage { id, payload, body } = request.clone();
        let answer = match payload {
            numbers::INITIALIZE_REQUEST => self.initialize(channel, body, &heard).await,
            numbers::CALL_TOOL_REQUEST if self.wants_reports(&body) => {
                self.call_with_reports(channel, &request, &heard).await
            }
            numbers::SUBSCRIBE_REQUEST | numbers::UNSUBSCRIBE_REQUEST | numbers::LISTEN => {
                self.listen(channel, payload, &body, &heard).await
            }
            _ => self.send(channel, payload, body).await,
        };
        match answer {
            Ok((payload, body)) => Ended::Answer(RawMessage { id, payload, body }),
            Err(Failure::NotSent(_)) if attempt == Attempt::First => Ended::NotSent(request),
            Err(Failure::NotSent(status) | Failure::Status(status)) => Ended::Answer(failed(id, &status)),
        }
    }

    /// Makes a call that has one response.
    pub(super) async fn send(&self, channel: Channel, payload: u32, body: Bytes) -> Result<(u32, Bytes), Failure> {
        let method = METHODS.iter().find(|(request, ..)| *request == payload);
        let unknown = || Failure::Status(Status::unimplemented("the service has no such method"));
        let (_, path, response) = method.ok_or_else(unknown)?;
        let request = self.request(body, self.timeout);
        let called = async {
            let mut grpc = self.ready(channel).await?;
            grpc.unary(request, PathAndQuery::from_static(path), RawCodec).await.map_err(Failure::of)
        };
        Ok((*response, self.in_time(called).await?.into_inner()))
    }

    /// A request with this time, and with the token.
    pub(super) fn request(&self, body: Bytes, timeout: Option<Duration>) -> Request<Bytes> {
        let mut request = Request::new(body);
        if let Some(timeout) = timeout {
            request.set_timeout(timeout.min(LONGEST));
        }
        self.authorize(request.metadata_mut());
        request
    }

    /// A connection that is ready for a call.
    pub(super) async fn ready(&self, channel: Channel) -> Result<Grpc<Channel>, Failure> {
        let max = self.max_message.saturating_add(ENVELOPE);
        let mut grpc = Grpc::with_origin(channel, self.origin.clone())
            .max_decoding_message_size(max)
            .max_encoding_message_size(self.max_message);
        let over = |error| Failure::NotSent(Status::unavailable(format!("the connection is over: {error}")));
        grpc.ready().await.map_err(over)?;
        Ok(grpc)
    }

    /// Waits for the outcome of a call. The answer of the server, that the time is over, says more than silence.
    pub(super) async fn in_time<T>(&self, called: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
        let Some(timeout) = self.timeout else { return called.await };
        let late = |_| Err(Failure::Status(Status::deadline_exceeded("the server has not answered in time")));
        tokio::time::timeout(timeout.saturating_add(MARGIN), called).await.unwrap_or_else(late)
    }

    fn authorize(&self, metadata: &mut MetadataMap) {
        if let Some(value) = &self.authorization
            && let Ok(mut token) = MetadataValue::try_from(value.as_bytes())
        {
            token.set_sensitive(true);
            metadata.insert("authorization", token);
        }
    }
}

/// True for a request that the connection has given back: it has not begun to send it.
fn is_unsent(status: &Status) -> bool {
    let mut cause = status.source();
    while let Some(error) = cause {
        if error.downcast_ref::<hyper::Error>().is_some_and(hyper::Error::is_canceled) {
            return true;
        }
        cause = error.source();
    }
    false
}

/// Writes messages to the conversation. Returns false if it has no reader. The answer to the request to listen again is
/// not written, and says if the conversation misses notices from now on.
async fn write(writer: &mut WriteHalf<DuplexStream>, messages: Vec<RawMessage>, is_deaf: &mut bool) -> bool {
    for message in messages {
        if message.id == LISTENER {
            let was_deaf = std::mem::replace(is_deaf, message.payload == numbers::ERROR_RESPONSE);
            if *is_deaf && !was_deaf {
                tracing::warn!(
                    "a server over gRPC no longer says what changes; its conversation ends with its calls, or hears again"
                );
            }
            continue;
        }
        if writer.write_all(&message.to_frame().unwrap_or_default()).await.is_err() {
            return false;
        }
    }
    true
}

/// The answer to a request that has failed.
fn failed(id: u64, status: &Status) -> RawMessage {
    let error = status::to_fault(status).to_response().encode_to_vec();
    RawMessage { id, payload: numbers::ERROR_RESPONSE, body: error.into() }
}

/// The next message of the conversation, without its prefix; `None` while it is not complete.
fn take(input: &mut BytesMut) -> Option<Bytes> {
    let prefix = input.first_chunk::<PREFIX>()?;
    let end = PREFIX + u32::from_be_bytes(*prefix) as usize;
    if input.len() < end {
        return None;
    }
    let mut frame = input.split_to(end).freeze();
    frame.advance(PREFIX);
    Some(frame)
}

/// The bytes of a length prefix.
const PREFIX: usize = 4;

/// The numbers of requests in `MCPMessage`, their methods, and the numbers of their responses.
const METHODS: [(u32, &str, u32); 9] = [
    (2, "/buf.mcp.v1.MCPService/Initialize", 3),
    (4, "/buf.mcp.v1.MCPService/ListTools", 5),
    (6, "/buf.mcp.v1.MCPService/CallTool", 7),
    (8, "/buf.mcp.v1.MCPService/ListResources", 9),
    (10, "/buf.mcp.v1.MCPService/ReadResource", 11),
    (110, "/buf.mcp.v1.MCPPrompts/ListPrompts", 111),
    (112, "/buf.mcp.v1.MCPPrompts/GetPrompt", 113),
    (114, "/buf.mcp.v1.MCPPrompts/Complete", 115),
    (116, "/buf.mcp.v1.MCPPrompts/ListTemplates", 117),
];

/// The most messages of the server that answer no request, and wait for the conversation.
const MAX_HEARD: usize = 8;

/// The bytes of a `CallEvent` around its message.
const ENVELOPE: usize = 16;

/// The time after which a conversation that hears of no changes asks for them again.
const AGAIN: Duration = Duration::from_secs(30);

/// The time by which the answer of the server may be later than the deadline.
const MARGIN: Duration = Duration::from_secs(1);

/// Longer times of a call are cut: `grpc-timeout` has eight digits. Ten years.
const LONGEST: Duration = Duration::from_secs(10 * 366 * 24 * 3600);

/// The time for another connection.
pub(super) const OPEN_TIMEOUT: Duration = Duration::from_secs(30);

#[cfg(test)]
mod tests;
