//! The tool process's end of the link, one envelope at a time.

use std::time::Duration;

use bytes::BytesMut;
use protomcp_codec::{Decoder, Encoder, Frame, Limits};
use protomcp_envelope::{
    ActiveToolsResponse, CallToolRequest, CallToolResponse, Envelope, GetActiveToolsRequest, Msg, PromptListResponse,
    ReloadResponse, ResourceListResponse, ResourceTemplateListResponse, ToolDefinition, ToolListResponse, message_name,
};
use protomcp_testing::{in_time, patience};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::time::timeout;

pub(crate) struct Tool {
    stream: UnixStream,
    decoder: Decoder,
    input: BytesMut,
}

impl Tool {
    pub(crate) fn new(stream: UnixStream) -> Self {
        Self { stream, decoder: Decoder::new(Limits::default()), input: BytesMut::new() }
    }

    pub(crate) fn definition(name: &str) -> ToolDefinition {
        ToolDefinition {
            name: name.into(),
            input_schema_json: r#"{"type":"object"}"#.into(),
            ..ToolDefinition::default()
        }
    }

    /// Registers these tools.
    pub(crate) async fn handshake(&mut self, tools: Vec<ToolDefinition>) {
        let request = self.next().await;
        assert!(matches!(request.msg, Some(Msg::ListTools(_))), "{request:?}");
        self.registers(&request.request_id, tools).await;
    }

    /// Answers the request for the list, and ends the handshake.
    pub(crate) async fn registers(&mut self, request: &str, tools: Vec<ToolDefinition>) {
        self.send(request, ToolListResponse { tools }).await;
        self.send("", ReloadResponse { success: true, error: String::new() }).await;
    }

    /// The same after `SdkInfo`, which is answered in between.
    pub(crate) async fn handshake_after_info(&mut self, tools: Vec<ToolDefinition>) {
        let request = self.next().await;
        self.answer::<protomcp_envelope::BridgeInfo>("").await;
        self.registers(&request.request_id, tools).await;
    }

    /// Answers the requests after the handshake: it has nothing but tools.
    pub(crate) async fn has_nothing_else(&mut self) {
        for _ in 0..3 {
            let envelope = self.next().await;
            let answer: Msg = match &envelope.msg {
                Some(Msg::ListResourcesRequest(_)) => ResourceListResponse::default().into(),
                Some(Msg::ListResourceTemplatesRequest(_)) => ResourceTemplateListResponse::default().into(),
                Some(Msg::ListPromptsRequest(_)) => PromptListResponse::default().into(),
                other => panic!("a question about a list was expected, not {other:?}"),
            };
            self.send(&envelope.request_id, answer).await;
        }
    }

    /// The bridge closes the link, after any other messages.
    pub(crate) async fn is_left(&mut self) {
        let read = async {
            let mut rest = [0; 4096];
            while self.stream.read(&mut rest).await.unwrap_or(0) > 0 {}
        };
        in_time(read).await.expect("the bridge closes the link");
    }

    pub(crate) async fn bytes(&mut self, bytes: &[u8]) {
        in_time(self.stream.write_all(bytes)).await.expect("the bridge does not read").unwrap();
    }

    pub(crate) async fn envelope(&mut self, envelope: &Envelope) {
        let mut bytes = Vec::new();
        Encoder::new(Limits::default()).encode_envelope(envelope, &mut bytes).unwrap();
        self.bytes(&bytes).await;
    }

    pub(crate) async fn send(&mut self, id: &str, msg: impl Into<Msg>) {
        self.envelope(&Envelope::new(id, msg)).await;
    }

    /// Names the call that the envelope is for.
    pub(crate) async fn send_for(&mut self, call: &str, id: &str, msg: impl Into<Msg>) {
        self.envelope(&Envelope { for_call: call.into(), ..Envelope::new(id, msg) }).await;
    }

    /// Waits until the bridge, which has to be serving, has read all sent envelopes.
    pub(crate) async fn is_heard(&mut self) {
        self.send("fence", GetActiveToolsRequest {}).await;
        self.answer::<ActiveToolsResponse>("fence").await;
    }

    /// Answers a call with a text.
    pub(crate) async fn result(&mut self, id: &str, text: &str) {
        let result_json = serde_json::json!([{"type": "text", "text": text}]).to_string().into();
        self.send(id, CallToolResponse { result_json, ..CallToolResponse::default() }).await;
    }

    /// The next envelope of any kind.
    pub(crate) async fn next(&mut self) -> Envelope {
        self.next_within(patience()).await.expect("the bridge sends something")
    }

    async fn next_within(&mut self, time: Duration) -> Option<Envelope> {
        let read = async {
            loop {
                match self.decoder.decode(&mut self.input).unwrap() {
                    Some(Frame::Envelope(envelope)) if envelope.msg.is_none() => {}
                    Some(Frame::Envelope(envelope)) => return envelope,
                    Some(other) => panic!("the bridge sends envelopes only, not {other:?}"),
                    None => {
                        self.input.reserve(256 << 10);
                        let read = self.stream.read_buf(&mut self.input).await.unwrap();
                        assert!(read > 0, "the bridge has closed the link");
                    }
                }
            }
        };
        timeout(time, read).await.ok()
    }

    /// The next envelope other than requests for resources or prompts, which are answered with empty lists.
    pub(crate) async fn request(&mut self) -> Envelope {
        loop {
            let envelope = self.next().await;
            let answer: Msg = match &envelope.msg {
                Some(Msg::ListResourcesRequest(_)) => ResourceListResponse::default().into(),
                Some(Msg::ListResourceTemplatesRequest(_)) => ResourceTemplateListResponse::default().into(),
                Some(Msg::ListPromptsRequest(_)) => PromptListResponse::default().into(),
                _ => return envelope,
            };
            self.send(&envelope.request_id, answer).await;
        }
    }

    /// The next call: its id and its request.
    pub(crate) async fn call(&mut self) -> (String, CallToolRequest) {
        let envelope = self.request().await;
        match envelope.msg {
            Some(Msg::CallTool(call)) => (envelope.request_id, call),
            other => panic!("a call was expected, not {:?}", other.as_ref().map(message_name)),
        }
    }

    /// The next envelope, which must hold the answer to this question.
    pub(crate) async fn answer<M: TryFrom<Msg>>(&mut self, id: &str) -> M {
        let envelope = self.request().await;
        assert_eq!(envelope.request_id, id, "{envelope:?}");
        let name = envelope.name();
        M::try_from(envelope.msg.unwrap()).unwrap_or_else(|_| panic!("{name} answers {id}"))
    }

    /// All sent envelopes have been read: one in transit would come before the answer to a question.
    pub(crate) async fn hears_nothing(&mut self) {
        let sent = self.sent_so_far().await;
        assert!(sent.is_empty(), "expected silence, got {sent:?}");
    }

    /// Everything that was sent and has not been read.
    pub(crate) async fn sent_so_far(&mut self) -> Vec<Envelope> {
        self.send("quiet", GetActiveToolsRequest {}).await;
        let mut sent = Vec::new();
        loop {
            let envelope = self.next().await;
            if envelope.request_id == "quiet" && matches!(envelope.msg, Some(Msg::ActiveTools(_))) {
                return sent;
            }
            sent.push(envelope);
        }
    }
}
