//! Single HTTP requests to one origin: connections, authorization, redirects and deadlines.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{AUTHORIZATION, LOCATION, PROXY_AUTHORIZATION, USER_AGENT, WWW_AUTHENTICATE};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode, Uri};
use hyper::body::Incoming;
use hyper_util::client::legacy::{Client, Error};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use protomcp_oauth::{Authorizer, Challenge};
use protomcp_transport::NoAnswer;
use protomcp_web::{Connector, chain};
use tokio_util::sync::CancellationToken;

use crate::body::RequestBody;
use crate::failure::Failure;
use crate::limits::Limits;
use crate::pending::Turn;
use crate::server_url::ServerUrl;

/// The most challenges of one request that are passed to the authorizer.
const MAX_CHALLENGES: u32 = 3;

/// The most redirects of one request.
const MAX_REDIRECTS: u32 = 5;

/// The time after which an idle connection is closed. Servers on Node and on uvicorn close theirs after five seconds; a
/// request that is sent in that moment gets no answer, and cannot be repeated if it calls a tool.
const POOL_IDLE: Duration = Duration::from_secs(4);

/// The most idle connections.
const MAX_IDLE: usize = 16;

/// The interval of pings on HTTP/2 connections, which shows that the other end is gone, or does not read. A connection
/// without a request has them as well: its end waits to be written if the server does not read.
const H2_KEEP_ALIVE: Duration = Duration::from_secs(30);

const DPOP_NONCE: HeaderName = HeaderName::from_static("dpop-nonce");

/// Sends requests to one origin.
pub(crate) struct HttpClient {
    pool: Client<Connector, RequestBody>,
    connector: Connector,
    pub(crate) server: ServerUrl,
    /// Fields of every request.
    headers: HeaderMap,
    pub(crate) authorizer: Option<Arc<dyn Authorizer>>,
}

/// One request.
#[derive(Debug, Clone)]
pub(crate) struct Outgoing {
    pub(crate) method: Method,
    pub(crate) target: Uri,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<Bytes>,
    /// Cancelled when a connection has taken the request.
    pub(crate) taken: Option<CancellationToken>,
    /// The beginning of its time for an answer.
    pub(crate) turn: Option<Turn>,
    /// The time until the head of the response. An authorization takes as long as it takes.
    pub(crate) deadline: Duration,
}

impl Outgoing {
    /// The output of an authorization, during which the time for an answer does not pass.
    async fn untimed<T>(&self, authorization: impl Future<Output = T>) -> T {
        match &self.turn {
            Some(turn) => turn.paused(authorization).await,
            None => authorization.await,
        }
    }
}

impl HttpClient {
    pub(crate) fn new(
        server: ServerUrl,
        connector: Connector,
        headers: HeaderMap,
        authorizer: Option<Arc<dyn Authorizer>>,
        limits: &Limits,
    ) -> Self {
        let pool = Client::builder(TokioExecutor::new())
            .timer(TokioTimer::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(POOL_IDLE)
            .pool_max_idle_per_host(MAX_IDLE)
            .http1_max_buf_size(limits.max_head)
            .http2_max_header_list_size(u32::try_from(limits.max_head).unwrap_or(u32::MAX))
            .http2_keep_alive_interval(H2_KEEP_ALIVE)
            .http2_keep_alive_while_idle(true)
            .build(connector.clone());
        Self { pool, connector, server, headers, authorizer }
    }

    /// Sends a request, with authorization, and follows redirects within the origin. The response can have any status.
    pub(crate) async fn send(&self, mut outgoing: Outgoing) -> Result<Response<Incoming>, Failure> {
        let (mut challenges, mut redirects) = (0, 0);
        loop {
            let url = outgoing.target.to_string();
            let request = self.request(&outgoing, &url).await?;
            let authorization = request.headers().get(AUTHORIZATION).cloned();
            let response = tokio::time::timeout(outgoing.deadline, self.pool.request(request))
                .await
                .map_err(|_| Failure::connection(format!("no response within {:?}", outgoing.deadline)))?
                .map_err(|error| unreachable(&self.server, &error))?;
            match response.status() {
                StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT => {
                    redirects += 1;
                    outgoing.target = self.redirected(&outgoing.target, &response, redirects)?;
                }
                StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
                    challenges += 1;
                    let challenged = self.challenged(url, authorization, &response, challenges);
                    if !outgoing.untimed(challenged).await? {
                        return Ok(response);
                    }
                }
                _ => {
                    if let (Some(authorizer), Some(nonce)) = (&self.authorizer, text(response.headers(), &DPOP_NONCE)) {
                        authorizer.nonce(&url, nonce);
                    }
                    return Ok(response);
                }
            }
        }
    }

    async fn request(&self, outgoing: &Outgoing, url: &str) -> Result<Request<RequestBody>, Failure> {
        let mut request = Request::new(RequestBody::new(&outgoing.body, outgoing.taken.clone()));
        *request.method_mut() = outgoing.method.clone();
        *request.uri_mut() = outgoing.target.clone();
        let headers = request.headers_mut();
        headers.clone_from(&outgoing.headers);
        headers.insert(USER_AGENT, HeaderValue::from_static(concat!("protomcp/", env!("CARGO_PKG_VERSION"))));
        for (name, value) in &self.headers {
            headers.insert(name, value.clone());
        }
        if let Some(authorizer) = &self.authorizer {
            let fields = outgoing.untimed(authorizer.headers(outgoing.method.as_str(), url)).await;
            for (name, value) in fields.map_err(|error| Failure::new(NoAnswer::Unauthorized, chain(&error)))? {
                headers.insert(name, value);
            }
        }
        headers.extend(self.connector.proxy_authorization(&outgoing.target).map(|value| (PROXY_AUTHORIZATION, value)));
        Ok(request)
    }

    /// The target of a redirect.
    fn redirected(&self, from: &Uri, response: &Response<Incoming>, count: u32) -> Result<Uri, Failure> {
        let status = response.status();
        let refused = |why: &dyn fmt::Display| {
            Failure::new(NoAnswer::Status(status.as_u16()), format!("the redirect is not followed: {why}"))
        };
        if count > MAX_REDIRECTS {
            return Err(refused(&format_args!("there were {MAX_REDIRECTS} before")));
        }
        let location = text(response.headers(), &LOCATION).ok_or_else(|| refused(&"it names no target"))?;
        self.server.resolve(from, location).map_err(|error| refused(&error))
    }

    /// Passes a challenge to the authorizer. `true`: the request is repeated.
    async fn challenged(
        &self,
        url: String,
        authorization: Option<HeaderValue>,
        response: &Response<Incoming>,
        attempt: u32,
    ) -> Result<bool, Failure> {
        let Some(authorizer) = &self.authorizer else { return Ok(false) };
        if attempt > MAX_CHALLENGES {
            return Ok(false);
        }
        let values = response.headers().get_all(WWW_AUTHENTICATE).iter();
        let challenge = Challenge {
            url,
            status: response.status(),
            www_authenticate: values.filter_map(|value| value.to_str().ok()).map(str::to_owned).collect(),
            dpop_nonce: text(response.headers(), &DPOP_NONCE).map(str::to_owned),
            authorization,
            attempt,
        };
        authorizer.challenged(challenge).await.map_err(|error| Failure::new(NoAnswer::Unauthorized, chain(&error)))
    }
}

/// The text of a field.
pub(crate) fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim)
}

fn unreachable(server: &ServerUrl, error: &Error) -> Failure {
    let causes = chain(error);
    if error.is_connect() {
        return Failure::new(NoAnswer::NotSent, format!("{server} cannot be reached: {causes}"));
    }
    Failure::connection(format!("{server} closed the connection before it replied: {causes}"))
}

impl fmt::Debug for HttpClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpClient")
            .field("server", &self.server)
            .field("connector", &self.connector)
            .field("has_authorizer", &self.authorizer.is_some())
            .finish_non_exhaustive()
    }
}
