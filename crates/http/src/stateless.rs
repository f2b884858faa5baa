//! A request of 2026-07-28, which belongs to no session.
//!
//! The future of the HTTP request drives the call. Dropping it, or the body of a stream, cancels the call: MCP
//! 2026-07-28, basic/transports.

use std::sync::Arc;

use http::{Response, StatusCode};
use protomcp_server::{Replies, Reserved, StatelessMeta};
use protomcp_types::{Listen, Message, Method, Request};

use crate::access_log::Answered;
use crate::auth::{authorize_reading, needed_by_tasks, valid_until};
use crate::body::SourceRequest;
use crate::endpoint::Endpoint;
use crate::events::EventSource;
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

async fn first(replies: &mut Replies) -> Option<Reserved> {
    std::future::poll_fn(|cx| replies.poll_next(cx)).await
}

fn stream(endpoint: &Endpoint, events: RequestEvents) -> Response<Body> {
    reply::events(endpoint.events(EventSource::Request(events)))
}
