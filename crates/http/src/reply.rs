//! HTTP responses.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderName, HeaderValue, Response, StatusCode};
use http_body::{Frame, SizeHint};
use protomcp_types::{ErrorObject, Message, RequestId, code};

use crate::box_body::{BoxBody, BoxError};
use crate::events::Events;
use crate::headers::{EVENTS, JSON};
use crate::sse;
use crate::store::StoredEvent;

/// The content type of metrics (OpenMetrics 1.0).
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Makes nginx pass events on without buffering.
const BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

/// A failure before a message was parsed; JSON-RPC leaves these codes to servers.
pub(crate) const TRANSPORT_ERROR: i64 = -32000;
/// The session does not exist.
pub(crate) const NO_SESSION: i64 = -32001;

/// The body of a response.
#[derive(Debug, Default)]
pub struct Body(Content);

impl Body {
    /// The body of a response of another protocol.
    pub fn new<B>(body: B) -> Self
    where
        B: http_body::Body<Error: Into<BoxError>> + Send + 'static,
    {
        Self(Content::Foreign(BoxBody::new(body)))
    }
}

#[derive(Debug, Default)]
enum Content {
    #[default]
    Nothing,
    Whole(VecDeque<Bytes>),
    Events(Box<Events>),
    Foreign(BoxBody),
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        match &mut self.0 {
            Content::Nothing => Poll::Ready(None),
            Content::Whole(pieces) => Poll::Ready(pieces.pop_front().map(|piece| Ok(Frame::data(piece)))),
            Content::Events(events) => events.poll(cx).map(|piece| piece.map(|piece| Ok(Frame::data(piece)))),
            Content::Foreign(body) => Pin::new(body).poll_frame(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.0 {
            Content::Nothing => true,
            Content::Whole(pieces) => pieces.is_empty(),
            Content::Events(_) => false,
            Content::Foreign(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            Content::Nothing => SizeHint::with_exact(0),
            Content::Whole(pieces) => SizeHint::with_exact(pieces.iter().map(|piece| piece.len() as u64).sum()),
            Content::Events(_) => SizeHint::default(),
            Content::Foreign(body) => body.size_hint(),
        }
    }
}

/// The text of an error, in the extensions of its response.
#[derive(Debug, Clone)]
pub(crate) struct Reason(pub(crate) Cow<'static, str>);

/// The response to a rejected request.
pub(crate) type Refusal = Box<Response<Body>>;

/// A response without a body.
pub(crate) fn empty(status: StatusCode) -> Response<Body> {
    let mut response = Response::new(Body::default());
    *response.status_mut() = status;
    response
}

/// A response of plain text.
pub(crate) fn text(status: StatusCode, text: impl Into<Bytes>) -> Response<Body> {
    whole(status, "text/plain; charset=utf-8", [text.into()])
}

/// A page of metrics.
pub(crate) fn metrics(text: String) -> Response<Body> {
    whole(StatusCode::OK, OPEN_METRICS, [text.into()])
}

/// JSON in pieces.
pub(crate) fn json(status: StatusCode, pieces: Vec<Bytes>) -> Response<Body> {
    whole(status, JSON, pieces)
}

/// One message.
pub(crate) fn message(status: StatusCode, message: &Message) -> Response<Body> {
    json(status, sse::json(message))
}

/// An error of the transport: the request did not reach a session.
pub(crate) fn error(status: StatusCode, code: i64, why: impl Into<String>) -> Response<Body> {
    refuse(status, None, ErrorObject::new(code, why.into()))
}

/// 405, with the allowed methods.
pub(crate) fn not_allowed(methods: &'static str) -> Response<Body> {
    let mut response = error(StatusCode::METHOD_NOT_ALLOWED, TRANSPORT_ERROR, "method not allowed");
    response.headers_mut().insert(ALLOW, HeaderValue::from_static(methods));
    response
}

/// −32600 with 400.
pub(crate) fn bad_request(id: Option<RequestId>, why: impl Into<String>) -> Response<Body> {
    refuse(StatusCode::BAD_REQUEST, id, ErrorObject::new(code::INVALID_REQUEST, why.into()))
}

/// Any error in answer to a request.
pub(crate) fn refuse(status: StatusCode, id: Option<RequestId>, error: ErrorObject) -> Response<Body> {
    let reason = Reason(error.message.clone());
    let mut response = message(status, &Message::error(id, error));
    response.extensions_mut().insert(reason);
    response
}

/// A stream of events.
pub(crate) fn events(events: Events) -> Response<Body> {
    let mut response = Response::new(Body(Content::Events(Box::new(events))));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(EVENTS));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache, no-transform"));
    headers.insert(BUFFERING, HeaderValue::from_static("no"));
    response
}

/// A stream of past events only, or of none.
pub(crate) fn past_events(events: Vec<StoredEvent>) -> Response<Body> {
    whole(StatusCode::OK, EVENTS, events.into_iter().flatten())
}

fn whole(status: StatusCode, kind: &'static str, pieces: impl IntoIterator<Item = Bytes>) -> Response<Body> {
    let mut response = Response::new(Body(Content::Whole(pieces.into_iter().collect())));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}
