//! One request of the client and the response to it.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt;
use protomcp_transport::NoAnswer;

use crate::client_request::{ClientRequest, Kind, Lane};
use crate::conversation::{Conversation, Speaks};
use crate::failure::Failure;
use crate::old_sse;
use crate::reply;
use crate::request::SESSION;
use crate::response::{may_be_old, may_mean_lost_session};

/// Sends a request and delivers its answer, or an error in place of it. Ends early if the request is closed.
pub(crate) async fn run(conversation: Arc<Conversation>, request: ClientRequest) {
    let ended = request.pending.ended.clone();
    let exchange = AssertUnwindSafe(exchange(&conversation, &request)).catch_unwind();
    let failure = match ended.run_until_cancelled(exchange).await {
        None | Some(Ok(Ok(()))) => return,
        Some(Ok(Err(failure))) => failure,
        Some(Err(_)) => Failure::incomplete("the transport has failed; please report it"),
    };
    conversation.fail(request.id, failure).await;
}

async fn exchange(conversation: &Arc<Conversation>, request: &ClientRequest) -> Result<(), Failure> {
    if let Err(why) = &request.headers {
        return Err(Failure::new(NoAnswer::NotSent, why));
    }
    if let Some(gate) = &request.gate {
        gate.cancelled().await;
    }
    // The semaphores are never closed.
    let _slot = match request.lane {
        Lane::Calls => Some(conversation.slots.acquire().await),
        Lane::Upkeep => Some(conversation.upkeep_slots.acquire().await),
        Lane::Stream => None,
    };
    request.pending.turn.begin();
    match conversation.speaks() {
        Speaks::Streamable => streamable(conversation, request).await,
        Speaks::Old(connection) => {
            let connection = match request.kind {
                Kind::Handshake => old_sse::open(conversation).await?,
                Kind::Stateful | Kind::Stateless => connection,
            };
            old_sse::exchange(conversation, request, &connection).await
        }
    }
}

async fn streamable(conversation: &Arc<Conversation>, request: &ClientRequest) -> Result<(), Failure> {
    let response = conversation.client.send(request.outgoing(conversation)).await?;
    let status = response.status();
    if request.kind == Kind::Handshake && status.is_success() {
        conversation.offer(response.headers().get(SESSION).cloned());
    }
    if status.is_success() {
        return reply::accepted(conversation, request, response).await;
    }
    if may_mean_lost_session(status) && request.names_session() {
        return reply::session_lost(conversation, request, response).await;
    }
    let is_old = request.kind == Kind::Handshake && may_be_old(status);
    let refused = reply::refused(conversation, request, response).await;
    match refused {
        Err(failure) if is_old => fall_back(conversation, request, failure).await,
        other => other,
    }
}

/// Tries the transport of 2024-11-05, and returns the first failure if the server does not speak that either.
async fn fall_back(conversation: &Arc<Conversation>, request: &ClientRequest, failure: Failure) -> Result<(), Failure> {
    match old_sse::open(conversation).await {
        Ok(connection) => old_sse::exchange(conversation, request, &connection).await,
        Err(Failure { reason: NoAnswer::Unauthorized, text, .. }) => Err(Failure::new(NoAnswer::Unauthorized, text)),
        Err(second) => {
            let text = format!("{}; as a server of HTTP+SSE: {}", failure.text, second.text);
            Err(Failure::new(failure.reason, text))
        }
    }
}
