//! The calls of a conversation that have more than one response: the ones of tools that report, and `Listen`.

use std::pin::pin;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use futures_util::future::{Either, select};
use http::uri::PathAndQuery;
use prost::Message;
use protomcp_bufmcp::code::RESOURCE_NOT_FOUND;
use protomcp_bufmcp::message::{InitializeResponse, ListChanged, ListenRequest, SubscribeRequest};
use protomcp_bufmcp::{Connect, RawMessage};
use tokio::sync::mpsc;
use tonic::{Code, Request, Status, Streaming};

use crate::client::carrier::{Carrier, Failure, OPEN_TIMEOUT};
use crate::client::channel::Channel;
use crate::client::listener::{Heard, has_begun};
use crate::client::numbers;
use crate::client::raw_codec::RawCodec;
use crate::status::to_fault;

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
            let mut events = match self.open(channel.clone(), CALL_TOOL_STREAM, request).await {
                Err(Failure::Status(status)) if is_missing(&status) => return Ok(None),
                opened => opened?,
            };
            let mut has_begun = false;
            loop {
                let event = match events.message().await {
                    Ok(Some(event)) => event,
                    Ok(None) => break,
                    // A call that has begun is not made again.
                    Err(status) if !has_begun && is_missing(&status) => return Ok(None),
                    Err(status) => return Err(Failure::Status(status)),
                };
                has_begun = true;
                let event = Event::decode(event);
                let unreadable = |error| Failure::Status(Status::internal(format!("an event cannot be read: {error}")));
                let Event { progress, log, response } = event.map_err(unreadable)?;
                if response.is_some() {
                    return Ok(response);
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
        if let Some(response) = response {
            return Ok((numbers::CALL_TOOL_RESPONSE, response));
        }
        self.lacks_reports.store(true, Ordering::Relaxed);
        tracing::warn!("the server over gRPC has no progress and no log messages of calls");
        self.send(channel.clone(), numbers::CALL_TOOL_REQUEST, call.body.clone()).await
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

    /// Listens to log messages of no call from the level on that a call asks for: handlers have the level then.
    async fn hear_logs(&self, channel: Channel, call: &RawMessage, heard: &mpsc::Sender<Heard>) {
        let level = Wishes::decode(call.body.clone()).unwrap_or_default().log_level;
        if !self.listener.lock().await.lacks(level) {
            return;
        }
        let wish = ListenRequest { log_level: level, ..ListenRequest::default() }.encode_to_vec().into();
        if let Err(failure) = self.listen(channel, numbers::LISTEN, &wish, heard).await {
            let (Failure::NotSent(status) | Failure::Status(status)) = failure;
            tracing::warn!("log messages of a server over gRPC that belong to no call are not heard of: {status}");
            self.listener.lock().await.refuse_logs();
        }
    }

    /// Begins or ends a subscription, or listens again ([`numbers::LISTEN`]). The call of `Listen` before goes on until
    /// the next one has begun. Changes of the subscriptions wait for each other. A resource that the server no longer has
    /// leaves the call; only a new one fails its subscription.
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
        let mut listener = self.listener.lock().await;
        let (mut uris, mut new) = (listener.uris().clone(), None);
        let mut log_level = listener.log_level();
        if payload == numbers::LISTEN {
            let wish = ListenRequest::decode(body.clone()).unwrap_or_default().log_level;
            log_level = if listener.lacks(wish) { wish } else { log_level };
        } else {
            // An UnsubscribeRequest has the same field.
            let unreadable = |error| Failure::Status(Status::internal(format!("no request: {error}")));
            let SubscribeRequest { uri } = SubscribeRequest::decode(body.clone()).map_err(unreadable)?;
            let is_wanted = payload == numbers::SUBSCRIBE_REQUEST;
            let Some(changed) = listener.changed(&uri, is_wanted) else { return Ok(done) };
            (uris, new) = (changed, is_wanted.then_some(uri));
        }
        loop {
            if listener.is_idle(&uris, log_level) {
                listener.stop();
                return Ok(done);
            }
            let request = ListenRequest { uris: uris.iter().cloned().collect(), log_level };
            let failure = match self.begin(channel.clone(), &request).await {
                Ok(notices) => {
                    listener.follow(uris, notices, heard.clone());
                    listener.set_log_level(log_level);
                    return Ok(done);
                }
                Err(failure) => failure,
            };
            match gone(&failure) {
                Some(uri) if new.as_ref() != Some(&uri) && uris.remove(&uri) => {
                    tracing::warn!(uri, "a server over gRPC no longer has a resource, and its subscription has ended");
                }
                _ => return Err(failure),
            }
        }
    }

    /// Begins a call of `Listen`.
    async fn begin(&self, channel: Channel, request: &ListenRequest) -> Result<Streaming<Bytes>, Failure> {
        let opened = async {
            // It has no deadline: it ends with the conversation.
            let request = self.request(request.encode_to_vec().into(), None);
            let mut notices = self.open(channel, LISTEN, request).await?;
            match notices.message().await.map_err(Failure::Status)? {
                Some(first) if has_begun(first.clone()) => Ok(notices),
                _ => Err(Failure::Status(Status::internal("the first notice of the server is another one"))),
            }
        };
        let late = |_| Err(Failure::Status(Status::deadline_exceeded("the server does not begin to listen")));
        tokio::time::timeout(OPEN_TIMEOUT, opened).await.unwrap_or_else(late)
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

/// The resource that the server does not have, if that is the failure.
fn gone(failure: &Failure) -> Option<String> {
    let (Failure::NotSent(status) | Failure::Status(status)) = failure;
    let fault = to_fault(status);
    let uri = fault.data.get("uri")?.as_str()?.to_owned();
    (fault.code == RESOURCE_NOT_FOUND).then_some(uri)
}

const CALL_TOOL_STREAM: &str = "/buf.mcp.v1.MCPStreams/CallToolStream";
const LISTEN: &str = "/buf.mcp.v1.MCPStreams/Listen";
