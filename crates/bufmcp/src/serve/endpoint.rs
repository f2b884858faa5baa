//! Answers requests of proto-mcp of which none knows of another, as over gRPC.

use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use prost::Message;
use protomcp_fair::{Budget, Reservation};
use protomcp_server::{Peer, Server, ServerHandle, Service};
use tokio::sync::Semaphore;

use crate::fault::Fault;
use crate::frame::FrameTooLarge;
use crate::message::mcp_message::Payload;
use crate::message::{InitializeRequest, InitializeResponse, McpMessage};
use crate::schemas::Imports;
use crate::serve::BinaryServer;
use crate::serve::answers::Answers;
use crate::serve::call_reports::CallReports;
use crate::serve::catalog::Catalog;
use crate::serve::large_values::Values;
use crate::serve::mcp::any_server::AnyMcpServer;
use crate::serve::mcp::{Client, Mcp};
use crate::serve::peer::BinaryPeer;
use crate::serve::shared::Shared;
use crate::session::admission::{admit, agree};
use crate::session::config::SessionConfig;
use crate::session::inbound::BinaryCall;
use crate::session::request_kind::RequestKind;
use crate::stream::now;

/// Answers requests without a conversation: each stands for itself, and is one of MCP 2026-07-28 for the server behind.
/// Cloning is cheap.
#[derive(Clone)]
pub struct BinaryEndpoint {
    pub(super) server: Arc<dyn AnyMcpServer>,
    pub(super) shared: Arc<Shared>,
    /// A slot for each client that listens.
    pub(super) listeners: Budget,
}

/// The sender of a request without a conversation.
#[derive(Debug, Clone, Default)]
pub struct BinaryCaller {
    /// Its principal, its address, and the facts about the request that handlers see.
    pub peer: BinaryPeer,
    /// The number of its connection, by which requests take turns; unique in this process.
    pub connection: Option<u64>,
}

/// The answer to a request without a conversation.
#[derive(Debug)]
pub struct BinaryAnswer {
    /// The response, which for a tool call may carry a failure; or the failure of another request.
    pub outcome: Result<Payload, Fault>,
    /// Bytes of the outbound budget, to be held until the client has read the answer.
    pub reservations: Vec<Reservation>,
}

impl<S: Service> BinaryServer<S> {
    /// The same server for requests without a conversation. Changes of lists and resources are announced to those who
    /// [listen](BinaryEndpoint::listen), and a [stream](BinaryEndpoint::call_tool) has the reports of its call.
    #[must_use]
    pub fn endpoint(&self) -> BinaryEndpoint {
        let server: Server<S> = self.server.clone();
        // A budget keeps its last byte.
        let listeners = Budget::new(MAX_LISTENERS + 1);
        BinaryEndpoint { server: Arc::new(server), shared: Arc::new(self.shared.clone()), listeners }
    }
}

impl BinaryEndpoint {
    /// The settings of all requests.
    #[must_use]
    pub fn config(&self) -> &SessionConfig {
        &self.shared.session
    }

    /// The server behind.
    #[must_use]
    pub fn handle(&self) -> &ServerHandle {
        self.server.handle()
    }

    /// Answers an `Initialize`, which changes nothing.
    ///
    /// # Errors
    /// If client and server have no version or no encoding in common, or the token is not accepted.
    pub fn initialize(&self, request: InitializeRequest) -> Result<InitializeResponse, Fault> {
        let mut principal = None;
        agree(self.config(), &mut principal, request).map(|(_, response)| response)
    }

    /// Answers a request within its time. Dropping the future cancels it. Must be called inside a tokio runtime with
    /// timers.
    pub async fn answer(&self, call: BinaryCall, caller: BinaryCaller) -> BinaryAnswer {
        self.answer_with(call, caller, None).await
    }

    /// Like [`BinaryEndpoint::answer`], with a way for the reports of a tool call.
    pub(super) async fn answer_with(
        &self,
        mut call: BinaryCall,
        caller: BinaryCaller,
        reports: Option<Arc<CallReports>>,
    ) -> BinaryAnswer {
        let started = now();
        let kind = RequestKind::of(&call);
        let BinaryCaller { mut peer, connection } = caller;
        let timeout = match admit(self.config(), &mut peer.principal, true, &mut call) {
            Ok(timeout) => timeout,
            Err(fault) => return BinaryAnswer { outcome: kind.carry(fault), reservations: Vec::new() },
        };
        let sender = Peer::new(peer.principal.clone(), peer.address, connection);
        let client = Client::Sender { peer: sender, known: peer.known.clone(), reservations: Mutex::default() };
        let answers = self.answers(client, peer, connection);
        let outcome = self.within(timeout, kind, answers.answer(call, reports)).await;
        let mut outcome = outcome.or_else(|fault| kind.carry(fault));
        if let Ok(payload) = &mut outcome {
            payload.note_time(now().saturating_duration_since(started));
        }
        BinaryAnswer { outcome, reservations: answers.mcp.take_reservations() }
    }

    /// The answers for a client.
    pub(super) fn answers(&self, client: Client, peer: BinaryPeer, connection: Option<u64>) -> Answers {
        let worker = Values::new(self.shared.large_work.worker(peer.owner()));
        Answers {
            shared: Arc::clone(&self.shared),
            mcp: Mcp { server: Arc::clone(&self.server), client, worker, outbound: None },
            catalog: Arc::new(Catalog::default()),
            caller: peer.rate_key(|| connection.unwrap_or_default()),
            permission: peer.permission,
            // A call has nothing to declare it with.
            imports: Imports::Complete,
            lists: Arc::new(Semaphore::new(1)),
        }
    }

    /// Waits for an answer that is not too large.
    async fn within(
        &self,
        timeout: Duration,
        kind: RequestKind,
        answer: impl Future<Output = Result<Payload, Fault>>,
    ) -> Result<Payload, Fault> {
        let answer = tokio::time::timeout(timeout, answer).await;
        let payload = answer.unwrap_or_else(|_| Err(kind.late(timeout)))?;
        let message = McpMessage { id: 0, payload: Some(payload) };
        let (size, frames) = (message.encoded_len(), &self.config().frames);
        match message.payload {
            Some(payload) if size <= frames.frame() => Ok(payload),
            _ => Err(Fault::too_large(FrameTooLarge::of(size, frames))),
        }
    }
}

impl RequestKind {
    /// The failure of a tool call has its own response.
    fn carry(self, fault: Fault) -> Result<Payload, Fault> {
        match self {
            Self::CallTool => Ok(self.failure(&fault)),
            Self::Other => Err(fault),
        }
    }
}

impl fmt::Debug for BinaryEndpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BinaryEndpoint").field("shared", &self.shared).finish_non_exhaustive()
    }
}

/// The most clients that listen to the changes of one endpoint.
const MAX_LISTENERS: usize = 10_000;
