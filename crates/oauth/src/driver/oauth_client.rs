//! The OAuth client of one MCP server: an [`Authorizer`] for its transport.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use http::{HeaderName, HeaderValue};
use tokio::sync::watch;
use tokio::time::Instant;

use crate::authorizer::{AuthorizationError, Authorizer, BoxFuture, Challenge};
use crate::config::OAuthConfig;
use crate::credentials::Credentials;
use crate::demand::TokenDemand;
use crate::driver::flight::{Job, Parts};
use crate::driver::session::{ChallengeStep, RequestStep, Session};
use crate::driver::token_store::{MemoryTokenStore, TokenStore};
use crate::driver::user_agent::{NoUserAgent, SubjectTokens, UserAgent};
use crate::exchange::HttpExchange;
use protomcp_auth::HttpClient;
use protomcp_auth::Url;

/// The most flights that one request waits for.
const MAX_FLIGHTS: usize = 4;

/// Obtains, stores, refreshes and presents the tokens for one MCP server. Cloning is cheap; clones share the token.
///
/// At most one flow runs at a time, in its own task: requests that need a token wait for it together, and the end of a
/// request does not end the flow. Its token is sent to the origin of the MCP server and nowhere else.
#[derive(Clone)]
pub struct OAuthClient(Arc<Inner>);

struct Inner {
    parts: Parts,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    session: Session,
    running: Option<Answer>,
}

type Outcome = Result<(), AuthorizationError>;

/// Receives the outcome of a flight.
type Answer = watch::Receiver<Option<Outcome>>;

/// The parts of an [`OAuthClient`].
pub struct OAuthClientBuilder(Parts);

impl OAuthClient {
    /// A client with these settings. By default it keeps tokens in memory, uses its own HTTP client, and cannot ask
    /// a user.
    #[must_use]
    pub fn builder(config: OAuthConfig) -> OAuthClientBuilder {
        OAuthClientBuilder(Parts {
            config: Arc::new(config),
            http: Arc::new(HttpClient::default()),
            store: Arc::new(MemoryTokenStore::default()),
            user_agent: Arc::new(NoUserAgent),
            subjects: None,
        })
    }

    async fn present(&self, method: &str, url: &str) -> Result<Vec<(HeaderName, HeaderValue)>, AuthorizationError> {
        if !self.0.is_of_server(url) {
            return Ok(Vec::new());
        }
        for _ in 0..MAX_FLIGHTS {
            let awaited = {
                let mut state = self.0.state();
                match (state.session.request(SystemTime::now(), Instant::now()), &state.running) {
                    (RequestStep::Present(Some(credentials)), _) => {
                        return Ok(credentials.headers(method, url, state.session.nonce(), SystemTime::now()));
                    }
                    (RequestStep::Present(None), None) => return Ok(Vec::new()),
                    // The flight may belong to a user who signs in.
                    (step, Some(running)) => match state.valid_headers(method, url) {
                        Some(headers) if step == RequestStep::Refresh => return Ok(headers),
                        _ => Awaited::of(running),
                    },
                    (RequestStep::Load, None) => self.0.prepare(&mut state, Job::Load),
                    (RequestStep::Refresh, None) => match state.session.held().cloned() {
                        Some(held) => self.0.prepare(&mut state, Job::Refresh(Box::new(held))),
                        None => return Ok(Vec::new()),
                    },
                }
            };
            if let Err(error) = awaited.landed().await {
                return self.0.state().valid_headers(method, url).ok_or(error);
            }
        }
        Ok(Vec::new())
    }

    async fn satisfy(&self, challenge: Challenge) -> Result<bool, AuthorizationError> {
        let Some(demand) = TokenDemand::read(&challenge).filter(|_| self.0.is_of_server(&challenge.url)) else {
            return Ok(false);
        };
        for _ in 0..MAX_FLIGHTS {
            let awaited = {
                let mut state = self.0.state();
                let step = state.session.challenge(&challenge, &demand, SystemTime::now())?;
                match (step, &state.running) {
                    (ChallengeStep::Repeat, _) => return Ok(true),
                    (_, Some(running)) => Awaited::of(running),
                    (ChallengeStep::Load, None) => self.0.prepare(&mut state, Job::Load),
                    (ChallengeStep::Authorize { may_refresh }, None) => {
                        state.session.begin_round(&challenge, Instant::now())?;
                        let current = state.session.held().cloned().map(Box::new);
                        let (demand, rejected) = (demand.clone(), challenge.authorization.clone());
                        self.0.prepare(&mut state, Job::Challenge { demand, current, rejected, may_refresh })
                    }
                }
            };
            awaited.landed().await?;
        }
        Ok(true)
    }
}

impl State {
    /// The header fields with a token that has not expired.
    fn valid_headers(&self, method: &str, url: &str) -> Option<Vec<(HeaderName, HeaderValue)>> {
        let now = SystemTime::now();
        Some(self.session.valid(now)?.headers(method, url, self.session.nonce(), now))
    }
}

impl Inner {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// True for a URL with the origin of the MCP server.
    fn is_of_server(&self, url: &str) -> bool {
        Url::parse(url).is_ok_and(|url| self.parts.config.is_same_origin(&url))
    }

    /// Makes a flight known to all requests. The first of them starts it.
    fn prepare(self: &Arc<Self>, state: &mut State, job: Job) -> Awaited {
        let (sender, answer) = watch::channel(None);
        state.running = Some(answer.clone());
        let flight = Flight { inner: Arc::clone(self), outcome: None, answer: sender };
        Awaited { answer, new: Some((flight, job)) }
    }
}

/// A flight that a request waits for.
struct Awaited {
    answer: Answer,
    /// The flight, if this request starts it.
    new: Option<(Flight, Job)>,
}

impl Awaited {
    fn of(running: &Answer) -> Self {
        Self { answer: running.clone(), new: None }
    }

    async fn landed(mut self) -> Outcome {
        // Without the lock: a runtime that ends drops the task immediately, and the flight takes the lock.
        if let Some((flight, job)) = self.new {
            tokio::spawn(flight.run(job));
        }
        let outcome = self.answer.wait_for(Option::is_some).await.ok().and_then(|outcome| outcome.clone());
        outcome.unwrap_or_else(broken_off)
    }
}

/// A flow in its own task. It always has an outcome, even if its task is dropped.
struct Flight {
    inner: Arc<Inner>,
    outcome: Option<Outcome>,
    answer: watch::Sender<Option<Outcome>>,
}

impl Flight {
    async fn run(mut self, job: Job) {
        let is_refresh = matches!(job, Job::Refresh(_));
        let landed = self.inner.parts.run(job).await;
        let mut state = self.inner.state();
        let session = &mut state.session;
        let outcome = match landed {
            Ok(held) => {
                session.replace(held);
                Ok(())
            }
            Err(error) if is_refresh && session.refresh_failed(&error, Instant::now()) => {
                tracing::warn!(%error, "the token cannot be refreshed");
                Ok(())
            }
            Err(error) => {
                session.flow_failed(&error, Instant::now());
                Err(error)
            }
        };
        drop(state);
        self.outcome = Some(outcome);
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        self.inner.state().running = None;
        let outcome = self.outcome.take().unwrap_or_else(broken_off);
        self.answer.send_replace(Some(outcome));
    }
}

fn broken_off() -> Outcome {
    Err(AuthorizationError::Unavailable("the authorization was broken off".to_owned()))
}

impl Authorizer for OAuthClient {
    fn headers<'a>(
        &'a self,
        method: &'a str,
        url: &'a str,
    ) -> BoxFuture<'a, Result<Vec<(HeaderName, HeaderValue)>, AuthorizationError>> {
        Box::pin(self.present(method, url))
    }

    fn challenged<'a>(&'a self, challenge: Challenge) -> BoxFuture<'a, Result<bool, AuthorizationError>> {
        Box::pin(self.satisfy(challenge))
    }

    fn nonce(&self, url: &str, nonce: &str) {
        if self.0.is_of_server(url) {
            self.0.state().session.record_nonce(Some(nonce));
        }
    }

    fn context(&self) -> u64 {
        self.0.state().session.context()
    }
}

impl OAuthClientBuilder {
    /// The HTTP client for requests to authorization servers. Default: [`HttpClient`] with its time limit of 10 seconds,
    /// which uses no proxy. `HttpTransport::authorization` of `protomcp-http-client` has the proxies and certificates of a
    /// transport.
    #[must_use]
    pub fn http(mut self, http: impl HttpExchange) -> Self {
        self.0.http = Arc::new(http);
        self
    }

    /// The store. Default: [`MemoryTokenStore`].
    #[must_use]
    pub fn store(mut self, store: impl TokenStore) -> Self {
        self.0.store = Arc::new(store);
        self
    }

    /// Lets a user sign in. Default: a challenge that needs a user is an error.
    #[must_use]
    pub fn user_agent(mut self, user_agent: impl UserAgent) -> Self {
        self.0.user_agent = Arc::new(user_agent);
        self
    }

    /// The source of assertions or ID tokens, for the grants that need them.
    #[must_use]
    pub fn subject_tokens(mut self, subjects: impl SubjectTokens) -> Self {
        self.0.subjects = Some(Arc::new(subjects));
        self
    }

    /// The client.
    #[must_use]
    pub fn build(self) -> OAuthClient {
        OAuthClient(Arc::new(Inner { parts: self.0, state: Mutex::default() }))
    }
}

impl fmt::Debug for OAuthClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let credentials: Option<Credentials> = self.0.state().session.credentials().cloned();
        f.debug_struct("OAuthClient").field("credentials", &credentials).finish_non_exhaustive()
    }
}

impl fmt::Debug for OAuthClientBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OAuthClientBuilder").field("config", &self.0.config).finish_non_exhaustive()
    }
}
