//! The calls of a conversation that have more than one response: the ones of tools that report, and `Listen`.

use std::pin::pin;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use futures_util::future::{Either, select};
use http::uri::PathAndQuery;
use prost::Message;
use protomcp_bufmcp::message::{InitializeResponse, ListChanged, ListenRequest, SubscribeRequest};
use protomcp_bufmcp::{Connect, Fault, RawMessage, code};
use tokio::sync::mpsc;
use tonic::{Code, Request, Status, Streaming};

use crate::client::carrier::{Carrier, Failure, OPEN_TIMEOUT};
use crate::client::channel::Channel;
use crate::client::listener::{Followed, Heard, missing_of};
use crate::client::numbers;
use crate::client::raw_codec::RawCodec;
use crate::status;

/// The reports that a `CallToolRequest` asks for.
#[derive(Clone, Copy, PartialEq, Eq, Message)]
struct Wishes {
    #[prost(bool, tag = "16")]
    wants_progress: bool,
    #[prost(int32, tag = "18")]
    log_level: i32,
}

/// `CallEvent`, with the bytes of its messages as they are.
#[derive(Clone, PartialEq, Eq, Message)]
struct Event {
    #[prost(bytes = "bytes", optional, tag = "1")]
    progress: Option<Bytes>,
    #[prost(bytes = "bytes", optional, tag = "3")]
    log: Option<Bytes>,
    #[prost(bytes = "bytes", optional, tag = "15")]
    response: Option<Bytes>,
}

impl<C> Carrier<C>
where
    C: Connect<Reader: Sync, Writer: Sync>,
{
    /// True for a call that asks for reports, unless the server has none.
    pub(super) fn wants_reports(&self, call: &Bytes) -> bool {
        let wishes = Wishes::decode(call.clone()).unwrap_or_default();
        let wants = wishes.wants_progress || wishes.log_level != 0;
        wants && !self.lacks_reports.load(Ordering::Relaxed)
    }

    /// Calls a tool, and passes its reports on. A server without `MCPStreams` is not asked for reports again.
    pub(super) async fn call_with_reports(
        &self,
        channel: Channel,
        call: &RawMessage,
        heard: &mpsc::Sender<Heard>,
    ) -> Result<(u32, Bytes), Failure> {
        let hearing = self.hear_logs(channel.clone(), call, heard);
        let called = async {
            let request = self.request(call.body.clone(), self.timeout);
            let opened = self.open(channel.clone(), CALL_TOOL_STREAM, request).await;
            let mut events = match opened {
                // A status after the head may be one of a call that has run.
                Err(Failure::Status(status)) if is_missing(&status) => return Ok(None),
                opened => opened?,
            };
            while let Some(event) = events.message().await.map_err(Failure::Status)? {
                let event = Event::decode(event);
                let unreadable = |error| Failure::Status(Status::internal(format!("an event cannot be read: {error}")));
                let Event { progress, log, response } = event.map_err(unreadable)?;
                if let Some(response) = response {
                    return Ok(Some(response));
                }
                let progress = progress.map(|body| (numbers::CALL_PROGRESS, body));
                if let Some((payload, body)) = progress.or_else(|| log.map(|body| (numbers::CALL_LOG, body))) {
                    let report = RawMessage { id: call.id, payload, body };
                    // Without a receiver the conversation is over.
                    drop(heard.send(Heard::Message(report)).await);
                }
            }
            Err(Failure::Status(Status::internal("the call has ended without a response")))
        };
        // The call does not wait for `Listen`.
        let called = pin!(self.in_time(called));
        let response = match select(called, pin!(hearing)).await {
            Either::Left((response, _)) => response?,
            Either::Right(((), called)) => called.await?,
        };
        match response {
            Some(response) => Ok((numbers::CALL_TOOL_RESPONSE, response)),
            None => {
                self.lacks_reports.store(true, Ordering::Relaxed);
                tracing::warn!("the server over gRPC has no progress and no log messages of calls");
                self.send(channel.clone(), numbers::CALL_TOOL_REQUEST, call.body.clone()).await
            }
        }
    }

    /// Initializes, and begins to listen to the lists of which the server announces changes.
    pub(super) async fn initialize(
        &self,
        channel: Channel,
        body: Bytes,
        heard: &mpsc::Sender<Heard>,
    ) -> Result<(u32, Bytes), Failure> {
        let answer = self.send(channel.clone(), numbers::INITIALIZE_REQUEST, body).await?;
        let announced = announced(&InitializeResponse::decode(answer.1.clone()).unwrap_or_default());
        let announces = self.listener.lock().await.announce(announced);
        if announces && let Err(failure) = self.listen(channel, numbers::LISTEN, &Bytes::new(), heard).await {
            let (Failure::NotSent(status) | Failure::Status(status)) = failure;
            tracing::warn!("changes of the lists of a server over gRPC are not heard of: {status}");
            self.listener.lock().await.announce(ListChanged::default());
        }
        Ok(answer)
    }

    /// Listens to log messages of no call from the level on that a call asks for: handlers have the level then. A server that
    /// refuses is not asked again.
    pub(super) async fn hear_logs(&self, channel: Channel, call: &RawMessage, heard: &mpsc::Sender<Heard>) {
        let log_level = Wishes::decode(call.body.clone()).unwrap_or_default().log_level;
        if log_level == 0 || self.lacks_logs.load(Ordering::Relaxed) {
            return;
        }
        let request = Bytes::from(ListenRequest { uris: Vec::new(), log_level }.encode_to_vec());
        let Err(Failure::Status(status)) = self.listen(channel, numbers::LISTEN, &request, heard).await else { return };
        if is_passing(&status) {
            tracing::debug!("log messages of a server over gRPC that belong to no call are not heard of yet: {status}");
        } else if !self.lacks_logs.swap(true, Ordering::Relaxed) {
            tracing::warn!("log messages of a server over gRPC that belong to no call are not heard of: {status}");
        }
    }

    /// Begins or ends a subscription, or listens again ([`numbers::LISTEN`], with the level that a call asks for). The call of
    /// `Listen` before goes on until the next one has begun. Changes of the subscriptions wait for each other.
    #[expect(
        clippy::await_holding_invalid_type,
        reason = "a server has OPEN_TIMEOUT to begin, and others wait as long"
    )]
    pub(super) async fn listen(
        &self,
        channel: Channel,
        payload: u32,
        body: &Bytes,
        heard: &mpsc::Sender<Heard>,
    ) -> Result<(u32, Bytes), Failure> {
        let done = (numbers::SUBSCRIBE_RESPONSE, Bytes::new());
        // An UnsubscribeRequest has the same field, and a request to listen again has no URI.
        let unreadable = |error| Failure::Status(Status::internal(format!("no request: {error}")));
        let SubscribeRequest { uri } = SubscribeRequest::decode(body.clone()).map_err(unreadable)?;
        let is_wanted = payload == numbers::SUBSCRIBE_REQUEST;
        let mut listener = self.listener.lock().await;
        let mut log_level = listener.log_level();
        let uris = match payload {
            numbers::LISTEN => {
                let ListenRequest { log_level: wanted, .. } = ListenRequest::decode(body.clone()).unwrap_or_default();
                if listener.lacks(wanted) {
                    log_level = wanted;
                } else if wanted != 0 {
                    // Another call has asked for it.
                    return Ok(done);
                }
                listener.uris()
            }
            _ => match listener.changed(&uri, is_wanted) {
                Some(uris) => uris,
                None => return Ok(done),
            },
        };
        if listener.is_idle(&uris, log_level) {
            listener.stop();
            return Ok(done);
        }
        let request = ListenRequest { uris: uris.iter().cloned().collect(), log_level }.encode_to_vec();
        let late = |_| Err(Failure::Status(Status::deadline_exceeded("the server does not begin to listen")));
        let begun = tokio::time::timeout(OPEN_TIMEOUT, self.begin(channel, request.into())).await;
        let (missing, notices) = begun.unwrap_or_else(late)?;
        if is_wanted && missing.contains(&uri) {
            // The call before goes on.
            let fault = Fault::new(code::RESOURCE_NOT_FOUND, "the resource is not there").with("uri", uri);
            return Err(Failure::Status(status::of_fault(&fault)));
        }
        listener.follow(Followed { uris, missing, notices }, heard.clone());
        listener.set_log_level(log_level);
        Ok(done)
    }

    /// Begins a call of `Listen`. Returns the resources that are not there, and its notices.
    async fn begin(&self, channel: Channel, request: Bytes) -> Result<(Vec<String>, Streaming<Bytes>), Failure> {
        // It has no deadline: it ends with the conversation.
        let mut notices = self.open(channel, LISTEN, self.request(request, None)).await?;
        let first = notices.message().await.map_err(Failure::Status)?;
        let other = || Failure::Status(Status::internal("the first notice of the server is another one"));
        Ok((first.and_then(missing_of).ok_or_else(other)?, notices))
    }

    /// Begins a call with a stream of responses.
    async fn open(
        &self,
        channel: Channel,
        path: &'static str,
        request: Request<Bytes>,
    ) -> Result<Streaming<Bytes>, Failure> {
        let mut grpc = self.ready(channel).await?;
        let opened = grpc.server_streaming(request, PathAndQuery::from_static(path), RawCodec).await;
        opened.map(tonic::Response::into_inner).map_err(Failure::of)
    }
}

/// The lists of which a server announces changes.
fn announced(response: &InitializeResponse) -> ListChanged {
    let capabilities = response.capabilities.unwrap_or_default();
    ListChanged {
        tools: capabilities.tools.is_some_and(|tools| tools.supports_list_changed),
        resources: capabilities.resources.is_some_and(|resources| resources.supports_list_changed),
        prompts: capabilities.prompts.is_some_and(|prompts| prompts.supports_list_changed),
    }
}

/// True if the server does not have the method; a status of proto-mcp has details.
fn is_missing(status: &Status) -> bool {
    status.code() == Code::Unimplemented && status.details().is_empty()
}

/// True for a failure that another call may not have.
fn is_passing(status: &Status) -> bool {
    let passing = [Code::Unavailable, Code::DeadlineExceeded, Code::ResourceExhausted, Code::Aborted, Code::Cancelled];
    passing.contains(&status.code())
}

const CALL_TOOL_STREAM: &str = "/buf.mcp.v1.MCPStreams/CallToolStream";
const LISTEN: &str = "/buf.mcp.v1.MCPStreams/Listen";
