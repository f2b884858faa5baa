//! The services that can be served.

use std::error::Error;
use std::future::Future;
use std::task::{Context, Poll};

use http::{Request, Response};
use hyper::body::Incoming;
use tower_service::Service;

/// A tower service for HTTP requests. Implemented for every [`Service`] with these bounds; it saves repeating them.
pub trait HttpService: Clone + Send + 'static {
    /// The body of responses.
    type Body: http_body::Body<Data: Send, Error: Into<Box<dyn Error + Send + Sync>>> + Send + 'static;
    /// An error, which closes the connection.
    type Error: Into<Box<dyn Error + Send + Sync>>;
    /// Resolves to the response. Dropped when the client goes away.
    type Future: Future<Output = Result<Response<Self::Body>, Self::Error>> + Send + 'static;

    /// [`Service::poll_ready`].
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>>;

    /// [`Service::call`].
    fn respond(&mut self, request: Request<Incoming>) -> Self::Future;
}

impl<S, B> HttpService for S
where
    S: Service<Request<Incoming>, Response = Response<B>> + Clone + Send + 'static,
    S::Future: Send + 'static,
    S::Error: Into<Box<dyn Error + Send + Sync>>,
    B: http_body::Body<Data: Send, Error: Into<Box<dyn Error + Send + Sync>>> + Send + 'static,
{
    type Body = B;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        Service::poll_ready(self, cx)
    }

    fn respond(&mut self, request: Request<Incoming>) -> S::Future {
        self.call(request)
    }
}
