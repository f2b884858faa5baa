//! The page, its requests, and MCP, as one service.

use std::convert::Infallible;
use std::error::Error;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use http::{Method, Request, Response};
use protomcp_http::{Body, Routes, StreamableHttp};
use tower_service::Service;

use crate::api::Api;
use crate::assets;
use crate::calls::Calls;
use crate::host_views::HostViews;
use crate::journal::Journal;

/// Reloads the tools.
#[derive(Clone)]
pub struct Reload(Arc<Start>);

type Start = dyn Fn() + Send + Sync;

impl Reload {
    /// A reload that this function begins.
    pub fn new(reload: impl Fn() + Send + Sync + 'static) -> Self {
        Self(Arc::new(reload))
    }

    pub(crate) fn begin(&self) {
        (self.0)();
    }
}

impl fmt::Debug for Reload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Reload(..)")
    }
}

/// The page at `/`, requests below `/api/`, events at `/ws`, and MCP at `/mcp`, as a [`tower_service::Service`].
#[derive(Debug, Clone)]
pub struct Playground(Routes);

impl Playground {
    /// A page for a server, which `calls` reach as well. The configuration of `service` decides about the requests that are
    /// let in: it should require the [`Token`](crate::Token) of the page. The page shows the tools as `hosts` see them.
    #[must_use]
    pub fn new(service: StreamableHttp, calls: Calls, journal: Journal, reload: Reload, hosts: HostViews) -> Self {
        Self(Routes::new(service).with_protocol(Api::new(calls, journal, reload, hosts)))
    }

    /// Answers one request. The files of the page are the same for everyone and need no token; everything else is answered
    /// by [`Routes`], after the checks of the server.
    pub async fn handle<B>(&self, request: Request<B>) -> Response<Body>
    where
        B: http_body::Body<Error: Into<Box<dyn Error + Send + Sync>>> + Send + 'static,
    {
        let is_read = matches!(*request.method(), Method::GET | Method::HEAD);
        // A client of MCP may open its stream at `/`.
        let is_stream = request.headers().contains_key("mcp-session-id");
        match assets::find(request.uri().path()) {
            Some(asset) if is_read && !is_stream => asset.response(),
            _ => self.0.handle(request).await,
        }
    }
}

impl<B> Service<Request<B>> for Playground
where
    B: http_body::Body<Data: Send, Error: Into<Box<dyn Error + Send + Sync>> + Send> + Send + 'static,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let page = self.clone();
        Box::pin(async move { Ok(page.handle(request).await) })
    }
}
