//! A request of 2026-07-28, which belongs to no session.
//!
//! The future of the HTTP request drives the call. Dropping it, or the body of a stream, cancels the call: MCP
//! 2026-07-28, basic/transports.

use std::sync::Arc;

use bytes::Bytes;
use http::request::Parts;
use http::{Response, StatusCode};
use protomcp_server::{LeaseName, Replies, Reserved, StatelessMeta, StoreFuture};
use protomcp_types::{Listen, Message, Method, Request};

use crate::access_log::Answered;
use crate::auth::{authorize_reading, needed_by_tasks, valid_until};
use crate::body::SourceRequest;
use crate::caller::Principal;
use crate::endpoint::{Endpoint, is_taken, retry_soon};
use crate::events::EventSource;
use crate::lookup::{ATTEMPTS, NotHere};
use crate::passed_on::pass_on;
use crate::replicas::HandedOn;
use crate::reply::{self, Body};
use crate::request_events::RequestEvents;
use crate::reserved::hold;
use crate::sse;
use crate::stateless_headers;

/// Serves one request.
pub(crate) async fn serve(
    endpoint: &Arc<Endpoint>,
    source: &SourceRequest,
    meta: &StatelessMeta,
    request: Request,
    body: &Bytes,
) -> Response<Body> {
    let parts = &*source.head;
    let definition = |tool: &str| endpoint.tool_definition(tool);
    if let Err(error) = stateless_headers::check(&request, meta.members(), &parts.headers, definition) {
        return reply::refuse(stateless_headers::status(&error), Some(request.id), error);
    }
    let needed = needed_by_tasks(&endpoint.sessions, &request);
    if let Err(refusal) = authorize_reading(&endpoint.config, parts, &needed, Some(&request.id)) {
        return *refusal;
    }
    if let Some(holder) = holder_of(endpoint, parts, &request)
        // Boxed: it is rare, and larger than the rest of the request.
        && let Some(response) = Box::pin(elsewhere(endpoint, parts, &request, body, holder)).await
    {
        return response;
    }
    // A call ends with its response; a listen request ends with its token.
    let until = valid_until(parts).filter(|_| request.method == Listen::NAME);
    let mut replies = endpoint.answer(request, meta, source);
    match tokio::time::timeout(endpoint.config.streams.keep_alive, first(&mut replies)).await {
        Ok(Some(Reserved { message: Message::Response(answer), reservation })) => {
            let status = answer.outcome.as_ref().err().map_or(StatusCode::OK, stateless_headers::status);
            let mut response = reply::json(status, hold(sse::json(&answer.into()), reservation));
            response.extensions_mut().insert(Answered);
            response
        }
        // It was cancelled.
        Ok(None) => reply::past_events(Vec::new()),
        Ok(first @ Some(_)) => stream(endpoint, RequestEvents::new(first, replies, until)),
        Err(_) => stream(endpoint, RequestEvents::new(None, replies, until)),
    }
}

/// A lookup of the process that a request is for.
type Holder = StoreFuture<'static, Option<LeaseName>>;

/// The process that a request may be for in place of this one, if requests are handed on. A request is handed on once.
fn holder_of(endpoint: &Endpoint, parts: &Parts, request: &Request) -> Option<Holder> {
    endpoint.config.replicas.as_ref().filter(|_| !is_taken(parts))?;
    let principal = parts.extensions.get().map(|Principal(who)| Arc::clone(who));
    endpoint.sessions.holder_of(request, principal)
}

/// The answer of the process that a request is for; `None`: this process answers it.
async fn elsewhere(
    endpoint: &Endpoint,
    parts: &Parts,
    request: &Request,
    body: &Bytes,
    holder: Holder,
) -> Option<Response<Body>> {
    let (replicas, keeper) = (endpoint.config.replicas.as_ref()?, endpoint.config.leases.as_ref()?);
    let serving = endpoint.request_token();
    let mut holder = Some(holder);
    for _ in 0..ATTEMPTS {
        let lease = holder?.await?;
        match replicas.hand_on(keeper, &lease, parts, body).await {
            HandedOn::Answered(response, slot) => {
                return Some(pass_on(endpoint, &parts.method, response, slot, serving));
            }
            HandedOn::NotSent | HandedOn::Leaving => holder = holder_of(endpoint, parts, request),
            HandedOn::Lost => return Some(NotHere::Lost.into_answer(request.id.clone())),
        }
    }
    Some(retry_soon(
        "the process of this server that has the call shuts down or cannot be reached: send the request again in a moment",
    ))
}

async fn first(replies: &mut Replies) -> Option<Reserved> {
    std::future::poll_fn(|cx| replies.poll_next(cx)).await
}

fn stream(endpoint: &Endpoint, events: RequestEvents) -> Response<Body> {
    reply::events(endpoint.events(EventSource::Request(events)))
}
