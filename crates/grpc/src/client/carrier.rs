//! The frames of a conversation as calls of gRPC, and their answers as frames.
//!
//! Payloads are passed on as they are: the conversation encodes, decodes and bounds them.

use std::time::Duration;

use bytes::{Buf, Bytes, BytesMut};
use futures_util::stream::{FuturesUnordered, StreamExt};
use http::uri::PathAndQuery;
use http::{HeaderValue, Uri};
use prost::Message;
use protomcp_binary::RawMessage;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, split};
use tonic::client::Grpc;
use tonic::metadata::{MetadataMap, MetadataValue};
use tonic::{Request, Status};

use crate::client::channel::Channel;
use crate::client::raw_codec::RawCodec;
use crate::status;

/// The calls of one conversation.
pub(super) struct Carrier {
    pub(super) channel: Channel,
    pub(super) origin: Uri,
    pub(super) authorization: Option<HeaderValue>,
    /// The largest message, in bytes.
    pub(super) max_message: usize,
    /// The time of each call.
    pub(super) timeout: Option<Duration>,
}

impl Carrier {
    /// Carries the conversation until it or the connection ends. The conversation bounds its requests in flight.
    pub(super) async fn run(self, stream: DuplexStream) {
        let (mut reader, mut writer) = split(stream);
        let (mut input, mut calls) = (BytesMut::new(), FuturesUnordered::new());
        let mut ended = self.channel.ended();
        loop {
            while let Some(message) = take(&mut input) {
                calls.extend(RawMessage::split(&message).map(|request| self.call(request)));
            }
            tokio::select! {
                read = reader.read_buf(&mut input) => if !matches!(read, Ok(1..)) {
                    // The conversation has ended.
                    return;
                },
                Some(answer) = calls.next() => {
                    let frame = answer.to_frame().unwrap_or_default();
                    if writer.write_all(&frame).await.is_err() {
                        return;
                    }
                }
                // Running calls have failed with the connection, and are answered first.
                _ = ended.changed(), if calls.is_empty() => return,
            }
        }
    }

    /// Makes a call, and returns the message that answers it.
    async fn call(&self, request: RawMessage) -> RawMessage {
        let RawMessage { id, payload, body } = request;
        match self.send(payload, body).await {
            Ok((payload, body)) => RawMessage { id, payload, body },
            Err(status) => {
                let error = status::to_fault(&status).to_response().encode_to_vec();
                RawMessage { id, payload: ERROR_RESPONSE, body: error.into() }
            }
        }
    }

    async fn send(&self, payload: u32, body: Bytes) -> Result<(u32, Bytes), Status> {
        let method = METHODS.iter().find(|(request, ..)| *request == payload);
        let (_, path, response) = method.ok_or_else(|| Status::unimplemented("the service has no such method"))?;
        let mut request = Request::new(body);
        if let Some(timeout) = self.timeout {
            request.set_timeout(timeout);
        }
        self.authorize(request.metadata_mut());
        let mut grpc = Grpc::with_origin(self.channel.clone(), self.origin.clone());
        grpc = grpc.max_decoding_message_size(self.max_message).max_encoding_message_size(self.max_message);
        let called = async {
            grpc.ready().await.map_err(|error| Status::unavailable(format!("the connection is over: {error}")))?;
            grpc.unary(request, PathAndQuery::from_static(path), RawCodec).await
        };
        let answer = match self.timeout {
            // The answer of the server, that the time is over, says more than silence.
            Some(timeout) => tokio::time::timeout(timeout.saturating_add(MARGIN), called)
                .await
                .unwrap_or_else(|_| Err(Status::deadline_exceeded("the server has not answered in time"))),
            None => called.await,
        };
        Ok((*response, answer?.into_inner()))
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
const METHODS: [(u32, &str, u32); 5] = [
    (2, "/buf.mcp.v1.MCPService/Initialize", 3),
    (4, "/buf.mcp.v1.MCPService/ListTools", 5),
    (6, "/buf.mcp.v1.MCPService/CallTool", 7),
    (8, "/buf.mcp.v1.MCPService/ListResources", 9),
    (10, "/buf.mcp.v1.MCPService/ReadResource", 11),
];

/// The number of `error_response` in `MCPMessage`.
const ERROR_RESPONSE: u32 = 12;

/// The time by which the answer of the server may be later than the deadline.
const MARGIN: Duration = Duration::from_secs(1);
