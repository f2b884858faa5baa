//! POST: the host says something.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use http::request::Parts;
use http::{HeaderName, HeaderValue, Response, StatusCode};
use protomcp_server::Limits;
use protomcp_types::{
    ErrorObject, Incoming, Initialize, Listen, Malformed, Message, Method, ProtocolVersion, Request, RequestId,
    RequestMeta, Response as Answer,
};

use crate::auth::{needed_by_tasks, permit_reading, permit_tasks, valid_until};
use crate::body::Origin;
use crate::caller::{Caller, Principal};
use crate::delivery::Delivery;
use crate::endpoint::{Endpoint, unavailable};
use crate::era::{self, Era};
use crate::events::{Seat, event_id};
use crate::exchange::{Exchange, Kind};
use crate::headers::{SESSION, VERSION, repeated, text};
use crate::modern;
use crate::reply::{self, Body, NO_SESSION, Refusal};
use crate::reserved::{Reserved, hold};
use crate::sse;
use crate::streams::{First, Refused};

pub(crate) async fn post(endpoint: &Arc<Endpoint>, mut origin: Origin, body: Bytes) -> Response<Body> {
    let parts = Arc::clone(&origin.head);
    let parts = &parts;
    let is_ambiguous = repeated(&parts.headers).is_some();
    match Incoming::parse(&body) {
        Ok(Incoming::One(Message::Request(request))) => match endpoint.permit(parts, &request) {
            Ok(()) => request_of(endpoint, &origin, request).await,
            Err(refusal) => *refusal,
        },
        Ok(_) if is_ambiguous => ambiguous(parts, None),
        Ok(Incoming::One(message)) => told(endpoint, &origin, message).await,
        Ok(Incoming::Batch(messages)) => {
            // Many small messages take more than their text, whatever they are.
            let room = Arc::get_mut(&mut origin.room).expect("nothing else has it yet");
            match room.grow((messages.len() - 1) * Limits::REQUEST_OVERHEAD) {
                Ok(()) => batch(endpoint, &origin, messages).await,
                Err(_) => *endpoint.no_room(),
            }
        }
        Err(malformed) => reply::refuse(StatusCode::BAD_REQUEST, malformed.id, malformed.error),
    }
}

/// Which of several values of a header counts is nobody's guess.
fn ambiguous(parts: &Parts, id: Option<RequestId>) -> Response<Body> {
    let name = repeated(&parts.headers).map_or("", HeaderName::as_str);
    reply::bad_request(id, format!("there are several headers {name}"))
}

/// The session that a request belongs to.
pub(crate) fn session(endpoint: &Endpoint, parts: &Parts) -> Result<Arc<Exchange>, Refusal> {
    if repeated(&parts.headers).is_some() {
        return Err(Box::new(ambiguous(parts, None)));
    }
    let Some(key) = parts.headers.get(SESSION) else {
        return Err(Box::new(reply::bad_request(None, "header Mcp-Session-Id is missing: initialize first")));
    };
    if let Some(version) = text(&parts.headers, &VERSION).filter(|version| !era::is_stateful(version)) {
        return Err(Box::new(reply::bad_request(None, format!("unsupported protocol version {version:?}"))));
    }
    let principal = parts.extensions.get::<Principal>();
    let found = key.to_str().ok().and_then(|key| endpoint.table.find(key));
    found
        .filter(|exchange| exchange.kind() == Kind::Session && exchange.belongs_to(principal))
        .ok_or_else(|| Box::new(reply::error(StatusCode::NOT_FOUND, NO_SESSION, "there is no such session")))
}

async fn request_of(endpoint: &Arc<Endpoint>, origin: &Origin, request: Request) -> Response<Body> {
    let parts = &*origin.head;
    let meta = RequestMeta::of(&request.params);
    match era::of(&request.method, &meta, text(&parts.headers, &VERSION)) {
        Era::Modern => single(endpoint, origin, &meta, request).await,
        Era::Handshake | Era::Session if repeated(&parts.headers).is_some() => ambiguous(parts, Some(request.id)),
        // Somebody who has a session does not get another one under its name.
        Era::Handshake if session(endpoint, parts).is_err() => handshake(endpoint, origin, request).await,
        Era::Handshake | Era::Session => match session(endpoint, parts) {
            Ok(exchange) if let Err(refusal) = permit_tasks(&endpoint.config, parts, &request, &exchange.needed()) => {
                *refusal
            }
            Ok(exchange) => match ask(exchange, origin, request).await {
                Ok(seat) => respond(endpoint, seat, Some(endpoint.config.stream_after), false).await,
                Err(refusal) => *refusal,
            },
            Err(refusal) => *refusal,
        },
    }
}

/// Begins a session, which stays if its host and the server agree.
async fn handshake(endpoint: &Arc<Endpoint>, origin: &Origin, request: Request) -> Response<Body> {
    let exchange = match endpoint.begin(Kind::Session, &origin.head) {
        Ok(exchange) => exchange,
        Err(refusal) => return *refusal,
    };
    let mut response = match ask(Arc::clone(&exchange), origin, request).await {
        Ok(seat) => respond(endpoint, seat, None, false).await,
        Err(refusal) => *refusal,
    };
    match exchange.version() {
        Some(_) => {
            let key = HeaderValue::from_str(exchange.key()).expect("a key is visible ASCII");
            response.headers_mut().insert(SESSION, key);
        }
        None => {
            endpoint.table.remove(exchange.key());
            exchange.end();
        }
    }
    response
}

/// Serves one request of the stateless revision.
async fn single(endpoint: &Arc<Endpoint>, origin: &Origin, meta: &RequestMeta, request: Request) -> Response<Body> {
    let parts = &*origin.head;
    if let Err(error) = modern::check(&request, meta, &parts.headers, &endpoint.definitions) {
        return reply::refuse(modern::status(&error), Some(request.id), error);
    }
    let needed = needed_by_tasks(&endpoint.sessions, &request);
    if let Err(refusal) = permit_reading(&endpoint.config, parts, &needed, Some(&request.id)) {
        return *refusal;
    }
    let exchange = Exchange::new(Kind::Single, Box::default(), &Caller::of(parts), &endpoint.config);
    match ask(exchange, origin, request).await {
        Ok(seat) => {
            // A task that finds no request has nothing to wait for, and ends.
            endpoint.spawn(&seat.exchange, parts);
            respond(endpoint, seat, Some(endpoint.config.keep_alive), false).await
        }
        Err(refusal) => *refusal,
    }
}

/// Hands a request to its session, and returns where the answer will be.
async fn ask(exchange: Arc<Exchange>, origin: &Origin, request: Request) -> Result<Seat, Refusal> {
    let place = exchange.open(&[&request.id], Vec::new()).map_err(|refused| Box::new(refuse(refused)))?;
    // A call that ends with its response ends by itself; who only listens does not.
    let is_bounded = exchange.kind() == Kind::Single && request.method != Listen::NAME;
    let seat = Seat { exchange, place, until: valid_until(&origin.head).filter(|_| !is_bounded) };
    let requests = [request.id.clone()];
    if !Delivery::new(&seat.exchange, &requests, origin).hand_over(request.into()).await {
        return Err(Box::new(over()));
    }
    Ok(seat)
}

/// Takes what needs no answer.
async fn told(endpoint: &Endpoint, origin: &Origin, message: Message) -> Response<Body> {
    let parts = &*origin.head;
    // MCP 2026-07-28 has no session that a notification could be for. Answers to questions it does not know at all.
    if era::is_sessionless(&parts.headers)
        && let Message::Notification(notice) = &message
    {
        return match modern::check_notice(notice, &parts.headers) {
            Ok(()) => reply::empty(StatusCode::ACCEPTED),
            Err(error) => reply::refuse(modern::status(&error), None, error),
        };
    }
    match session(endpoint, parts) {
        Ok(exchange) => match exchange.deliver(Ok(Incoming::One(message)), Some(origin.clone())).await {
            true => reply::empty(StatusCode::ACCEPTED),
            false => over(),
        },
        Err(refusal) => *refusal,
    }
}

/// Takes several messages, which MCP 2025-03-26 allows.
async fn batch(endpoint: &Endpoint, origin: &Origin, messages: Vec<Result<Message, Malformed>>) -> Response<Body> {
    let parts = &*origin.head;
    let exchange = match session(endpoint, parts) {
        Ok(exchange) => exchange,
        Err(refusal) => return *refusal,
    };
    if !exchange.version().is_some_and(ProtocolVersion::allows_batches) {
        return reply::bad_request(None, "batches are for MCP 2025-03-26 only");
    }
    for message in &messages {
        if let Ok(Message::Request(request)) = message
            && let Err(refusal) = endpoint
                .permit(parts, request)
                .and_then(|()| permit_tasks(&endpoint.config, parts, request, &exchange.needed()))
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
    let seat = if requests.is_empty() && answers.is_empty() {
        None
    } else {
        match exchange.open(&requests.iter().collect::<Vec<_>>(), answers) {
            Ok(place) => Some(Seat { exchange: Arc::clone(&exchange), place, until: valid_until(parts) }),
            Err(refused) => return refuse(refused),
        }
    };
    let mut delivery = Delivery::new(&exchange, &requests, origin);
    for message in good {
        if !delivery.hand_over(message).await {
            return over();
        }
    }
    drop(delivery);
    match seat {
        Some(seat) => respond(endpoint, seat, Some(endpoint.config.stream_after), true).await,
        None => reply::empty(StatusCode::ACCEPTED),
    }
}

/// Waits for the answers. The response is JSON unless something comes before them or `patience` is at its end.
async fn respond(endpoint: &Endpoint, seat: Seat, patience: Option<Duration>, is_batch: bool) -> Response<Body> {
    let mut patience = pin!(patience.map(tokio::time::sleep));
    let first = poll_fn(|cx| match seat.exchange.first(seat.place, cx.waker()) {
        First::Pending => match patience.as_mut().as_pin_mut() {
            Some(patience) => patience.poll(cx).map(|()| First::Events),
            None => Poll::Pending,
        },
        first @ (First::Answers(_) | First::Events) => Poll::Ready(first),
    });
    let answers = match first.await {
        First::Answers(answers) => answers,
        First::Events | First::Pending => return stream(endpoint, seat),
    };
    let (answers, rooms): (Vec<_>, Vec<_>) =
        answers.into_iter().map(|Reserved { message, room }| (message, room)).unzip();
    let write = |status, pieces| reply::json(status, hold(pieces, rooms));
    match answers.first() {
        Some(_) if is_batch => write(StatusCode::OK, sse::json_array(&answers)),
        Some(answer @ Message::Response(Answer { outcome: Err(error), .. }))
            if seat.exchange.kind() == Kind::Single =>
        {
            write(modern::status(error), sse::json(answer))
        }
        Some(answer) => write(StatusCode::OK, sse::json(answer)),
        None if seat.exchange.is_over() => over(),
        // The request was cancelled: there is nothing to say, and the host does not listen.
        None => reply::past_events(Vec::new()),
    }
}

/// From here on the response is a stream of events.
fn stream(endpoint: &Endpoint, mut seat: Seat) -> Response<Body> {
    seat.exchange.stream(seat.place);
    let opens = seat.exchange.can_open_empty();
    // A host that cannot come back would lose the answer.
    seat.until = seat.until.filter(|_| opens || seat.exchange.kind() == Kind::Single);
    let id = event_id(seat.place.stream, 0);
    let events = endpoint.events(seat);
    reply::events(if opens { events.with(sse::opening(&id, endpoint.config.retry)) } else { events })
}

fn refuse(refused: Refused) -> Response<Body> {
    match refused {
        Refused::Duplicate(id) => {
            let why = format!("invalid request: id {id} is already in use");
            reply::bad_request(Some(id), why)
        }
        Refused::TooMany => unavailable("too many responses of this session are open"),
        Refused::Closed => over(),
    }
}

/// The session has ended meanwhile.
fn over() -> Response<Body> {
    reply::error(StatusCode::NOT_FOUND, NO_SESSION, "the session is over")
}
