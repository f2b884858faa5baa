//! Shows the messages of Streamable HTTP to an observer, such as a trace.

use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use bytes::{Buf, Bytes};
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderValue, Request, Response, request, response};
use http_body::{Frame, SizeHint};

use crate::box_body::BoxError;
use crate::event_text::EventText;
use crate::headers::{EVENTS, is_json};
use crate::reply::Body;
use crate::service::StreamableHttp;

/// Sees the requests of Streamable HTTP and their responses on the way ([`Routes::observed_by`](crate::Routes::observed_by)).
pub trait Observer: Send + Sync + 'static {
    /// A request with this head has come; it is not authenticated yet. `None`: its messages are not shown.
    fn begin(&self, head: &request::Parts) -> Option<Box<dyn Exchange>>;
}

/// One request with its response. The methods run on the tasks of the server, so they must neither wait nor panic.
pub trait Exchange: Send {
    /// The body of the request, when the server has read all of it: for a request that it lets in, before it is handled.
    fn request(&mut self, body: &[u8]);

    /// The head of the response.
    fn respond(&mut self, head: &response::Parts);

    /// A message of the response: its body if that is JSON, or the data of a server-sent event with its id.
    fn message(&mut self, event: Option<&str>, text: &[u8]);
}

/// Answers a request, and shows its messages.
pub(crate) async fn answer<B: http_body::Body>(
    service: &StreamableHttp,
    observer: Option<&dyn Observer>,
    request: Request<B>,
) -> Response<Body> {
    let (head, body) = request.into_parts();
    let Some(exchange) = observer.and_then(|observer| observer.begin(&head)) else {
        return service.answer(Request::from_parts(head, body)).await;
    };
    let shared = Shared(Arc::new(Mutex::new(exchange)));
    let body = RequestBody { inner: Box::pin(body), kept: Some(Vec::new()), shared: shared.clone() };
    let (head, body) = service.answer(Request::from_parts(head, body)).await.into_parts();
    shared.lock().respond(&head);
    let reading = Reading::of(&head.headers);
    Response::from_parts(head, Body::new(ResponseBody { inner: body, reading, shared }))
}

/// The exchange of a request body and a response body.
#[derive(Clone)]
struct Shared(Arc<Mutex<Box<dyn Exchange>>>);

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Box<dyn Exchange>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request body of which a copy is kept. The server stops reading at its own limit.
struct RequestBody<B> {
    inner: Pin<Box<B>>,
    /// `None` when it was shown.
    kept: Option<Vec<u8>>,
    shared: Shared,
}

impl<B> RequestBody<B> {
    fn show(&mut self) {
        if let Some(body) = self.kept.take() {
            self.shared.lock().request(&body);
        }
    }
}

impl<B: http_body::Body> http_body::Body for RequestBody<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        let this = self.get_mut();
        // Copies nothing if the piece is `Bytes` already.
        let in_bytes = |frame: Frame<B::Data>| frame.map_data(|mut data| data.copy_to_bytes(data.remaining()));
        let polled = this.inner.as_mut().poll_frame(cx).map(|frame| frame.map(|frame| frame.map(in_bytes)));
        match &polled {
            Poll::Ready(Some(Ok(frame))) => {
                if let (Some(kept), Some(data)) = (&mut this.kept, frame.data_ref()) {
                    kept.extend_from_slice(data);
                }
                if this.inner.is_end_stream() {
                    this.show();
                }
            }
            Poll::Ready(Some(Err(_))) => this.kept = None,
            Poll::Ready(None) => this.show(),
            Poll::Pending => {}
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

/// A response body that is shown on its way to the client.
struct ResponseBody {
    inner: Body,
    reading: Reading,
    shared: Shared,
}

/// The part of a response that was not shown yet.
enum Reading {
    Json(Vec<u8>),
    Events(EventText),
    /// It has no messages, or no more.
    Nothing,
}

impl Reading {
    fn of(headers: &HeaderMap) -> Self {
        let kind = headers.get(CONTENT_TYPE).map(HeaderValue::as_bytes).unwrap_or_default();
        if is_json(headers) {
            Self::Json(Vec::new())
        } else if kind.starts_with(EVENTS.as_bytes()) {
            Self::Events(EventText::default())
        } else {
            Self::Nothing
        }
    }
}

impl ResponseBody {
    fn take(&mut self, piece: &[u8]) {
        match &mut self.reading {
            Reading::Json(body) => body.extend_from_slice(piece),
            Reading::Events(text) => text.take(piece, |id, data| self.shared.lock().message(id, data)),
            Reading::Nothing => {}
        }
    }

    /// Shows a whole body when the last piece of it is under way.
    fn end(&mut self) {
        if let Reading::Json(body) = std::mem::replace(&mut self.reading, Reading::Nothing)
            && !body.is_empty()
        {
            self.shared.lock().message(None, &body);
        }
    }
}

impl http_body::Body for ResponseBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let this = self.get_mut();
        let polled = Pin::new(&mut this.inner).poll_frame(cx);
        match &polled {
            Poll::Ready(Some(Ok(frame))) => {
                if let Some(data) = frame.data_ref() {
                    this.take(data);
                }
                if this.inner.is_end_stream() {
                    this.end();
                }
            }
            Poll::Ready(None) => this.end(),
            Poll::Ready(Some(Err(_))) | Poll::Pending => {}
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

/// An observer among the fields of a value that can be debugged.
#[derive(Clone, Default)]
pub(crate) struct Observed(Option<Arc<dyn Observer>>);

impl Observed {
    pub(crate) fn by(observer: impl Observer) -> Self {
        Self(Some(Arc::new(observer)))
    }

    pub(crate) fn get(&self) -> Option<&dyn Observer> {
        self.0.as_deref()
    }
}

impl fmt::Debug for Observed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "observed" } else { "not observed" })
    }
}
