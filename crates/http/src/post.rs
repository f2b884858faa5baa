//! POST: the client sends a message.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode};
use protomcp_server::{Limits, Reserved};
use protomcp_types::{
    ErrorObject, Incoming, Initialize, Malformed, Message, Method, ProtocolVersion, Request, RequestId,
    without_byte_order_mark,
};

use crate::auth::{authorize_tasks, valid_until};
use crate::body::SourceRequest;
use crate::endpoint::{Endpoint, retry_soon, unavailable};
use crate::events::{EventSource, StreamHandle};
use crate::headers::{SESSION, VERSION, repeated, text};
use crate::http_session::{HttpSession, SessionKind};
use crate::lookup::{NotHere, ambiguous, session};
use crate::patience::Patience;
use crate::pending_requests::PendingRequests;
use crate::protocol_era::{self, Era};
use crate::reply::{self, Body, NO_SESSION, Refusal};
use crate::reserved::hold;
use crate::session_log::{Outgoing, holder_gone};
use crate::sse;
use crate::stateless;
use crate::stateless_headers;
use crate::store::event_id;
use crate::streams::{First, Refused};
use crate::takeover;

pub(crate) async fn post(endpoint: &Arc<Endpoint>, mut source: SourceRequest, body: Bytes) -> Response<Body> {
    let parts = Arc::clone(&source.head);
    let parts = &parts;
    let is_ambiguous = repeated(&parts.headers).is_some();
    match Incoming::parse(&body.slice_ref(without_byte_order_mark(&body))) {
        Ok(Incoming::One(Message::Request(request))) => match endpoint.authorize(parts, &request) {
            Ok(()) => handle_request(endpoint, &source, request, &body).await,
            Err(refusal) => *refusal,
        },
        Ok(_) if is_ambiguous => ambiguous(parts, None),
        Ok(Incoming::One(message)) => notify(endpoint, &source, message, &body).await,
        Ok(Incoming::Batch(messages)) => {
            // Many small messages take more memory than their text.
            let reservation = Arc::get_mut(&mut source.reservation).expect("nothing else has it yet");
            match reservation.grow((messages.len() - 1) * Limits::REQUEST_OVERHEAD) {
                Ok(()) => batch(endpoint, &source, messages, &body).await,
                Err(_) => *endpoint.no_room(),
            }
        }
        Err(malformed) => reply::refuse(StatusCode::BAD_REQUEST, malformed.id, malformed.error),
    }
}

async fn handle_request(
    endpoint: &Arc<Endpoint>,
    source: &SourceRequest,
    request: Request,
    body: &Bytes,
) -> Response<Body> {
    let parts = &*source.head;
    let meta = endpoint.sessions.meta_of(&request.params);
    let era = protocol_era::of(&request.method, meta.members(), text(&parts.headers, &VERSION));
    if era == Era::Stateless {
        return stateless::serve(endpoint, source, &meta, request, body).await;
    }
    if repeated(&parts.headers).is_some() {
        return ambiguous(parts, Some(request.id));
    }
    match session(endpoint, parts, body).await {
        // A request that names an open session does not begin another one.
        Err(NotHere::Refused(_)) if era == Era::Handshake => handshake(endpoint, source, request).await,
        Ok(session) if let Err(refusal) = authorize_tasks(&endpoint.config, parts, &request, &session.needed()) => {
            *refusal
        }
        Ok(session) => {
            let id = request.id.clone();
            match ask(session, source, request).await {
                Ok(handle) => {
                    let response = respond(endpoint, handle, Some(&endpoint.patience), None).await;
                    response.unwrap_or_else(|session| request_ended(&session, id))
                }
                Err(refusal) => *refusal,
            }
        }
        Err(not_here) => not_here.into_answer(request.id),
    }
}

/// Begins a session, which is removed unless the handshake succeeds.
async fn handshake(endpoint: &Arc<Endpoint>, source: &SourceRequest, request: Request) -> Response<Body> {
    let begun = match &endpoint.config.leases {
        Some(keeper) => Box::pin(takeover::open(endpoint, keeper, &source.head)).await,
        None => endpoint.begin(SessionKind::Stateful, &source.head),
    };
    let session = match begun {
        Ok(session) => session,
        Err(refusal) => return *refusal,
    };
    let mut response = match ask(Arc::clone(&session), source, request).await {
        Ok(handle) => respond(endpoint, handle, None, None).await.unwrap_or_else(|session| session_ended(&session)),
        Err(refusal) => *refusal,
    };
    match session.version() {
        Some(_) if !session.is_lost() => {
            let key = HeaderValue::from_str(session.key()).expect("a key is visible ASCII");
            response.headers_mut().insert(SESSION, key);
        }
        Some(_) | None => {
            endpoint.table.remove_session(&session);
            session.end();
            session.forget();
        }
    }
    response
}

/// Delivers a request to its session, and returns the stream of the answer.
async fn ask(session: Arc<HttpSession>, source: &SourceRequest, request: Request) -> Result<StreamHandle, Refusal> {
    let stream_ref = session.open(&[&request.id], Vec::new()).map_err(|refused| Box::new(refuse(&session, refused)))?;
    let handle = StreamHandle::new(session, stream_ref, valid_until(&source.head));
    let requests = [request.id.clone()];
    if !PendingRequests::new(&handle.session, &requests, source).deliver(request.into()).await {
        return Err(Box::new(session_ended(&handle.session)));
    }
    Ok(handle)
}

/// Accepts a message that needs no answer.
async fn notify(endpoint: &Arc<Endpoint>, source: &SourceRequest, message: Message, body: &Bytes) -> Response<Body> {
    let parts = &*source.head;
    // MCP 2026-07-28 has neither a session that a notification could belong to, nor answers to questions.
    if protocol_era::is_sessionless(&parts.headers)
        && let Message::Notification(notice) = &message
    {
        return match stateless_headers::check_notice(notice, &parts.headers) {
            Ok(()) => reply::empty(StatusCode::ACCEPTED),
            Err(error) => reply::refuse(stateless_headers::status(&error), None, error),
        };
    }
    match session(endpoint, parts, body).await {
        Ok(session) => {
            if session.deliver(Ok(Incoming::One(message)), Some(source.clone())).await {
                reply::empty(StatusCode::ACCEPTED)
            } else {
                session_ended(&session)
            }
        }
        Err(not_here) => not_here.into_response(),
    }
}

/// Accepts several messages, which MCP 2025-03-26 allows.
async fn batch(
    endpoint: &Arc<Endpoint>,
    source: &SourceRequest,
    messages: Vec<Result<Message, Malformed>>,
    body: &Bytes,
) -> Response<Body> {
    let parts = &*source.head;
    let session = match session(endpoint, parts, body).await {
        Ok(session) => session,
        Err(NotHere::Lost) => return lost(messages),
        Err(not_here) => return not_here.into_response(),
    };
    if !session.version().is_some_and(ProtocolVersion::allows_batches) {
        return reply::bad_request(None, "batches are for MCP 2025-03-26 only");
    }
    for message in &messages {
        if let Ok(Message::Request(request)) = message
            && let Err(refusal) = endpoint
                .authorize(parts, request)
                .and_then(|()| authorize_tasks(&endpoint.config, parts, request, &session.needed()))
        {
            return *refusal;
        }
    }
    let (mut answers, mut good) = (Vec::new(), Vec::new());
    for message in messages {
        match message {
            Ok(Message::Request(request)) if request.method == Initialize::NAME => {
                let why = ErrorObject::invalid_request("initialize must not be part of a batch");
                answers.push(Message::error(Some(request.id), why));
            }
            Ok(message) => good.push(message),
            Err(malformed) => answers.push(malformed.into()),
        }
    }
    let ids = |message| match message {
        Message::Request(request) => Some(request.id),
        Message::Notification(_) | Message::Response(_) => None,
    };
    let requests: Vec<_> = good.iter().cloned().filter_map(ids).collect();
    let handle = if requests.is_empty() && answers.is_empty() {
        None
    } else {
        match session.open(&requests.iter().collect::<Vec<_>>(), answers) {
            Ok(stream_ref) => Some(StreamHandle::new(Arc::clone(&session), stream_ref, valid_until(parts))),
            Err(refused) => return refuse(&session, refused),
        }
    };
    let mut delivery = PendingRequests::new(&session, &requests, source);
    for message in good {
        if !delivery.deliver(message).await {
            return batch_ended(&session, requests.clone());
        }
    }
    drop(delivery);
    match handle {
        Some(handle) => {
            let response = respond(endpoint, handle, Some(&endpoint.patience), Some(&requests)).await;
            response.unwrap_or_else(|session| batch_ended(&session, requests))
        }
        None => reply::empty(StatusCode::ACCEPTED),
    }
}

/// The session has ended while this request ran.
fn request_ended(session: &HttpSession, id: RequestId) -> Response<Body> {
    if session.is_lost() {
        return reply::refuse(StatusCode::OK, Some(id), holder_gone());
    }
    session_ended(session)
}

/// The session has ended while these requests of a batch waited or ran.
fn batch_ended(session: &HttpSession, requests: Vec<RequestId>) -> Response<Body> {
    if requests.is_empty() || !session.is_lost() {
        return session_ended(session);
    }
    let answers: Vec<_> = requests.into_iter().map(|id| Message::error(Some(id), holder_gone())).collect();
    reply::json(StatusCode::OK, sse::json_array(&answers))
}

/// The errors for the requests of a batch that have no answer, and get none here.
fn without_answer(requests: &[RequestId], answers: &[Message]) -> Vec<Message> {
    let is_answer = |message: &Message, to: &RequestId| matches!(message, Message::Response(answer) if answer.id.as_ref() == Some(to));
    let missing = requests.iter().filter(|id| !answers.iter().any(|answer| is_answer(answer, id)));
    missing.map(|id| Message::error(Some(id.clone()), holder_gone())).collect()
}

/// The response to messages that another process may have carried out without answering.
fn lost(messages: Vec<Result<Message, Malformed>>) -> Response<Body> {
    let lost = messages.into_iter().filter_map(|message| match message {
        Ok(Message::Request(request)) => Some(Message::error(Some(request.id), holder_gone())),
        Ok(Message::Notification(_) | Message::Response(_)) => None,
        Err(malformed) => Some(malformed.into()),
    });
    let answers: Vec<_> = lost.collect();
    if answers.is_empty() {
        NotHere::Lost.into_response()
    } else {
        reply::json(StatusCode::OK, sse::json_array(&answers))
    }
}

/// Waits for the answers. The response is JSON unless another message comes first or `patience` ends. `batch`: the requests of
/// a batch.
///
/// # Errors
/// The session, if it has ended before the answers. The requests may have been carried out.
async fn respond(
    endpoint: &Endpoint,
    handle: StreamHandle,
    patience: Option<&Patience>,
    batch: Option<&[RequestId]>,
) -> Result<Response<Body>, Arc<HttpSession>> {
    let mut patience = patience.map(Patience::begin);
    let first = poll_fn(|cx| match handle.session.first(handle.stream_ref, cx.waker()) {
        First::Pending => match &mut patience {
            Some(patience) => patience.poll(cx).map(|()| First::Events),
            None => Poll::Pending,
        },
        first @ (First::Answers(_) | First::Events) => Poll::Ready(first),
    });
    let answers = match first.await {
        First::Answers(answers) => answers,
        First::Events | First::Pending => return Ok(stream(endpoint, handle)),
    };
    // The client may rely on the change that an answer confirms, in another process as well.
    if handle.session.saved().await.is_err() {
        handle.session.lose();
        return Err(Arc::clone(&handle.session));
    }
    let answers = answers.into_iter().map(Outgoing::into_reserved);
    let (mut answers, reservations): (Vec<_>, Vec<_>) =
        answers.map(|Reserved { message, reservation }| (message, reservation)).unzip();
    let pieces = match answers.first() {
        Some(_) if let Some(requests) = batch => {
            if handle.session.is_lost() {
                answers.extend(without_answer(requests, &answers));
            }
            sse::json_array(&answers)
        }
        Some(answer) => sse::json(answer),
        None if handle.session.is_over() => return Err(Arc::clone(&handle.session)),
        // The request was cancelled: the client does not wait for an answer.
        None => return Ok(reply::past_events(Vec::new())),
    };
    let reservations: Vec<_> = reservations.into_iter().flatten().collect();
    let pieces = hold(pieces, Some(reservations).filter(|reservations| !reservations.is_empty()));
    Ok(reply::json(StatusCode::OK, pieces))
}

/// Turns the response into a stream of events.
fn stream(endpoint: &Endpoint, mut handle: StreamHandle) -> Response<Body> {
    handle.session.stream(handle.stream_ref);
    let opens = handle.session.can_open_empty();
    // A client that cannot reconnect would lose the answer.
    handle.until = handle.until.filter(|_| opens);
    let id = event_id(handle.stream_ref.stream, 0);
    let events = endpoint.events(EventSource::Session(handle));
    reply::events(if opens { events.with(sse::opening(&id, endpoint.config.streams.retry)) } else { events })
}

fn refuse(session: &HttpSession, refused: Refused) -> Response<Body> {
    match refused {
        Refused::Duplicate(id) => {
            let why = format!("invalid request: id {id} is already in use");
            reply::bad_request(Some(id), why)
        }
        Refused::TooMany => unavailable("too many responses of this session are open"),
        Refused::Closed => session_ended(session),
    }
}

/// The session has ended before the request was delivered to it.
fn session_ended(session: &HttpSession) -> Response<Body> {
    if session.is_lost() {
        return retry_soon(
            "another process of this server may serve the session now: send the request again in a moment",
        );
    }
    reply::error(StatusCode::NOT_FOUND, NO_SESSION, "the session is over: initialize again")
}
