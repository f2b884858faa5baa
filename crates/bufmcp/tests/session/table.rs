//! A session, the time, and messages for it.

use std::sync::Arc;
use std::time::Instant;

use bytes::BytesMut;
use protomcp_bufmcp::message::{
    CallToolRequest, CallToolResponse, ClientCapabilities, Error, ErrorResponse, InitializeRequest, InitializeResponse,
    ListToolsRequest, McpMessage, Payload, ToolResult, call_tool_response,
};
use protomcp_bufmcp::{
    BinaryCall, BinaryInbound, BinarySession, Changes, Decoder, Features, FrameLimits, SessionConfig,
};

/// A session, and the time.
pub(crate) struct Table {
    pub(crate) session: BinarySession,
    pub(crate) now: Instant,
}

pub(crate) fn config() -> SessionConfig {
    let mut config = SessionConfig::new("tests", "1.0");
    config.features = Features {
        bsr_refs: true,
        tools: Some(Changes::Announced),
        resources: Some(Changes::Silent),
        ..Features::default()
    };
    config
}

pub(crate) fn initialize(change: impl FnOnce(&mut InitializeRequest)) -> Payload {
    let capabilities = ClientCapabilities { supports_bsr_refs: true, ..ClientCapabilities::default() };
    let mut request = InitializeRequest {
        protocol_version: "1.0.0".into(),
        capabilities: Some(capabilities),
        ..InitializeRequest::default()
    };
    change(&mut request);
    Payload::InitializeRequest(request)
}

pub(crate) fn call(change: impl FnOnce(&mut CallToolRequest)) -> Payload {
    let mut request = CallToolRequest { name: "t".into(), ..CallToolRequest::default() };
    change(&mut request);
    Payload::CallToolRequest(request)
}

pub(crate) fn done() -> Payload {
    let result = Some(call_tool_response::Result::Success(ToolResult::default()));
    Payload::CallToolResponse(CallToolResponse { result, ..CallToolResponse::default() })
}

pub(crate) fn tools() -> Payload {
    Payload::ListToolsRequest(ListToolsRequest::default())
}

impl Table {
    pub(crate) fn new(config: SessionConfig) -> Self {
        Self { session: BinarySession::new(Arc::new(config), None), now: Instant::now() }
    }

    /// A session that is initialized.
    pub(crate) fn open(config: SessionConfig) -> Self {
        let mut table = Self::new(config);
        assert!(matches!(table.send(1, initialize(|_| {})), Some(BinaryInbound::Initialized(_))));
        table.answers();
        table
    }

    pub(crate) fn send(&mut self, id: u64, payload: Payload) -> Option<BinaryInbound> {
        self.session.receive(self.now, Ok(McpMessage { id, payload: Some(payload) }))
    }

    pub(crate) fn request(&mut self, id: u64, payload: Payload) -> BinaryCall {
        match self.send(id, payload) {
            Some(BinaryInbound::Request(request)) => {
                assert_eq!(request.id, id);
                request.call
            }
            other => panic!("not a request: {other:?}, {:?}", self.answers()),
        }
    }

    pub(crate) fn answers(&mut self) -> Vec<McpMessage> {
        let mut decoder = Decoder::new(FrameLimits::default());
        std::iter::from_fn(|| self.session.poll_transmit())
            .map(|frame| decoder.decode(&mut BytesMut::from(&frame[..])).unwrap().unwrap().unwrap())
            .collect()
    }

    pub(crate) fn answer(&mut self) -> (u64, Payload) {
        let mut answers = self.answers();
        assert_eq!(answers.len(), 1, "{answers:?}");
        let answer = answers.remove(0);
        (answer.id, answer.payload.unwrap())
    }

    /// The id and code of the one answer, which is an `ErrorResponse`.
    pub(crate) fn refusal(&mut self) -> (u64, i32) {
        match self.answer() {
            (id, Payload::ErrorResponse(ErrorResponse { code, .. })) => (id, code),
            other => panic!("not a refusal: {other:?}"),
        }
    }

    /// The id and code of the one answer, which is the failure of a tool call.
    pub(crate) fn failure(&mut self) -> (u64, Error) {
        match self.answer() {
            (
                id,
                Payload::CallToolResponse(CallToolResponse {
                    result: Some(call_tool_response::Result::Error(error)),
                    ..
                }),
            ) => (id, error),
            other => panic!("not a failed call: {other:?}"),
        }
    }
}

pub(crate) fn opened(config: SessionConfig, request: Payload) -> Result<InitializeResponse, i32> {
    let mut table = Table::new(config);
    table.send(9, request);
    match table.answer() {
        (9, Payload::InitializeResponse(response)) => Ok(response),
        (9, Payload::ErrorResponse(error)) => Err(error.code),
        other => panic!("{other:?}"),
    }
}
