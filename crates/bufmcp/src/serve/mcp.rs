//! Requests to the MCP server: of a member, or each for itself.

pub(super) mod any_server;
pub(super) mod served_method;

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use protomcp_fair::Reservation;
use protomcp_server::{CallFacts, Peer, RunningCall, ServerResult, SingleAnswer};
use protomcp_session::Extensions;
use protomcp_types::{ErrorObject, RequestId, Tool};
use tokio::sync::oneshot;

use crate::code;
use crate::fault::Fault;
use crate::serve::account::FREE;
use crate::serve::call_reports::CallReports;
use crate::serve::large_values::Values;
use crate::serve::mcp::any_server::AnyMcpServer;
use crate::serve::mcp::served_method::ServedMethod;

/// Makes requests to the MCP server.
pub(super) struct Mcp {
    pub(super) server: Arc<dyn AnyMcpServer>,
    pub(super) client: Client,
    /// Reads and writes large messages.
    pub(super) worker: Values,
    /// An empty reservation for results of a member, where they count. Other results bring their own.
    pub(super) outbound: Option<Reservation>,
}

/// The result of a request.
#[derive(Debug)]
pub(super) struct Outcome<T> {
    pub(super) result: T,
    /// The bytes that it takes until the answer to the client is made.
    pub(super) reservation: Option<Reservation>,
}

/// The client of requests, as the MCP server knows it.
pub(super) enum Client {
    /// A conversation, as a member.
    Member {
        facts: CallFacts,
        /// The number of the last request.
        last: Arc<AtomicU64>,
    },
    /// The sender of a request without a conversation.
    Sender {
        peer: Peer,
        known: Extensions,
        /// The bytes that results have reserved in the outbound budget.
        reservations: Mutex<Vec<Reservation>>,
    },
}

impl Mcp {
    /// The same for requests of this bearer of a token; `None`: there is no conversation.
    pub(super) fn for_bearer(&self, known: Extensions) -> Option<Self> {
        let Client::Member { facts, last } = &self.client else { return None };
        let mut facts = facts.clone();
        facts.known = known;
        Some(Self {
            server: Arc::clone(&self.server),
            client: Client::Member { facts, last: Arc::clone(last) },
            worker: self.worker.clone(),
            outbound: self.outbound.as_ref().map(Reservation::sibling),
        })
    }

    /// Makes a request. Dropping the future cancels it.
    pub(super) fn request<M: ServedMethod>(
        &self,
        params: M::Params,
    ) -> impl Future<Output = Result<Outcome<M::Result>, Fault>> {
        self.request_with::<M>(params, None)
    }

    /// Like [`Mcp::request`], with a way for the reports of the work on it.
    pub(super) async fn request_with<M: ServedMethod>(
        &self,
        params: M::Params,
        reports: Option<Arc<CallReports>>,
    ) -> Result<Outcome<M::Result>, Fault> {
        let request = M::request(params);
        let result = match &self.client {
            Client::Member { facts, last } => {
                let number = last.fetch_add(1, Ordering::Relaxed) + 1;
                let mut facts = facts.for_request(RequestId::from(number));
                facts.progress_token = reports.as_ref().and_then(|reports| reports.progress_token());
                let call = self.server.call(request, facts, reports);
                if self.server.has_inline_calls() {
                    call.await?
                } else {
                    in_own_task(call).await.ok_or_else(closed)??
                }
            }
            Client::Sender { peer, known, reservations } => {
                let SingleAnswer { outcome, reservation } =
                    self.server.call_once(request, peer.clone(), known.clone(), reports).await;
                reservations.lock().unwrap_or_else(PoisonError::into_inner).extend(reservation);
                outcome?
            }
        };
        let reservation = self.reserve(result.weight())?;
        let fault = |why: &dyn fmt::Display| Fault::new(code::INTERNAL_ERROR, format!("{}: {why}", M::NAME));
        let result = match result {
            // A service may answer with any object.
            ServerResult::Body(body) => {
                let raw = body.into_raw();
                let read = self.worker.run(raw.len(), move || raw.to()).await;
                read.map_err(|error: serde_json::Error| fault(&error))?
            }
            result => M::result(result).ok_or_else(|| fault(&"the result is one of another method"))?,
        };
        Ok(Outcome { result, reservation })
    }

    /// Takes the bytes of a result, which may have to wait for its turn. A small one is free.
    fn reserve(&self, bytes: usize) -> Result<Option<Reservation>, Fault> {
        let Some(outbound) = self.outbound.as_ref().filter(|_| bytes > FREE) else { return Ok(None) };
        let mut reservation = outbound.sibling();
        let no_room = |_| Fault::new(code::INTERNAL_ERROR, "there is no room for the result until others are read");
        reservation.grow(bytes).map_err(no_room)?;
        Ok(Some(reservation))
    }

    /// The reservations of all results. Hold them until the client has read the answer.
    pub(super) fn take_reservations(&self) -> Vec<Reservation> {
        match &self.client {
            Client::Member { .. } => Vec::new(),
            Client::Sender { reservations, .. } => {
                std::mem::take(&mut reservations.lock().unwrap_or_else(PoisonError::into_inner))
            }
        }
    }

    /// The definition of a tool, if it is the same for every client and known without a request.
    pub(super) fn tool_definition(&self, name: &str) -> Option<Tool> {
        match &self.client {
            Client::Member { .. } => None,
            Client::Sender { .. } => self.server.tool_definition(name)?.to().ok(),
        }
    }
}

/// Drives a call in its own task. Dropping the future cancels the call. `None`: the runtime shuts down.
async fn in_own_task(mut call: RunningCall) -> Option<Result<ServerResult, ErrorObject>> {
    let (mut done, answer) = oneshot::channel();
    tokio::spawn(async move {
        tokio::select! {
            // The request may be cancelled at this moment.
            outcome = &mut call => drop(done.send(outcome)),
            () = done.closed() => {}
        }
    });
    answer.await.ok()
}

/// The fault of a request that the end of the server has overtaken.
fn closed() -> Fault {
    Fault::new(code::INTERNAL_ERROR, "the server is shutting down").with("reason", "shutdown")
}

impl fmt::Debug for Mcp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mcp").field("worker", &self.worker).finish_non_exhaustive()
    }
}
