//! Runs a flow over the network, a store and a user.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use http::HeaderValue;
use tokio::time::timeout;

use crate::authorizer::AuthorizationError;
use crate::driver::token_store::{StoreError, StoreGuard, TokenStore};
use crate::driver::user_agent::{PendingRedirect, SubjectTokens, UserAgent};
use crate::exchange::{HttpExchange, HttpRequest};
use crate::oauth::{AuthorizationFlow, Credentials, FlowAction, FlowEvent, OAuthConfig, TokenDemand};

/// The longest time for one request, beside the limit of the exchange itself.
const MAX_REQUEST: Duration = Duration::from_secs(30);

/// The longest time for one flow, with the user's part.
const MAX_FLOW: Duration = Duration::from_secs(15 * 60);

/// The parts of a program that a flow uses.
pub(crate) struct Parts {
    pub(crate) config: Arc<OAuthConfig>,
    pub(crate) http: Arc<dyn HttpExchange>,
    pub(crate) store: Arc<dyn TokenStore>,
    pub(crate) user_agent: Arc<dyn UserAgent>,
    pub(crate) subjects: Option<Arc<dyn SubjectTokens>>,
}

/// The work of one flight.
#[derive(Debug)]
pub(crate) enum Job {
    /// Reads the stored credentials.
    Load,
    /// Refreshes these.
    Refresh(Box<Credentials>),
    /// Satisfies a challenge.
    Challenge {
        demand: TokenDemand,
        current: Option<Box<Credentials>>,
        rejected: Option<HeaderValue>,
        may_refresh: bool,
    },
}

/// The result of a flight.
#[derive(Debug, Default)]
pub(crate) struct Landed {
    pub(crate) credentials: Option<Credentials>,
    /// True if a grant has issued them, and not a refresh or another program.
    pub(crate) is_granted: bool,
}

impl Parts {
    pub(crate) async fn run(&self, job: Job) -> Result<Landed, AuthorizationError> {
        let run = async {
            match job {
                Job::Load => {
                    let known = self.list().await?;
                    Ok(Landed { credentials: known.into_iter().next(), is_granted: false })
                }
                Job::Refresh(credentials) => self.refresh(*credentials).await,
                Job::Challenge { demand, current, rejected, may_refresh } => {
                    self.authorize(demand, current.map(|current| *current), rejected, may_refresh).await
                }
            }
        };
        let late = || AuthorizationError::Unavailable(format!("it has taken more than {} s", MAX_FLOW.as_secs()));
        timeout(MAX_FLOW, run).await.unwrap_or_else(|_| Err(late()))
    }

    fn resource(&self) -> &str {
        self.config.resource()
    }

    /// The stored credentials that this configuration may use, the newest first.
    async fn list(&self) -> Result<Vec<Credentials>, AuthorizationError> {
        let mut known = self.store.list(self.resource()).await.map_err(failed)?;
        known.retain(|known| self.config.may_use(known));
        Ok(known)
    }

    /// Refreshes a token, unless another program has done so.
    async fn refresh(&self, mut credentials: Credentials) -> Result<Landed, AuthorizationError> {
        let guard = self.store.lock(self.resource()).await.map_err(failed)?;
        let stored = self.list().await?;
        let stored = stored.into_iter().find(|stored| stored.issuer() == credentials.issuer());
        let is_new = |stored: &Credentials| {
            stored.received() >= credentials.received() && stored.authorization() != credentials.authorization()
        };
        if let Some(stored) = stored.filter(is_new) {
            if !stored.is_due(SystemTime::now()) {
                return Ok(Landed { credentials: Some(stored), is_granted: false });
            }
            credentials = stored;
        }
        let (flow, action) = AuthorizationFlow::due(Arc::clone(&self.config), credentials, SystemTime::now());
        self.drive(flow, action, guard).await
    }

    async fn authorize(
        &self,
        demand: TokenDemand,
        current: Option<Credentials>,
        rejected: Option<HeaderValue>,
        may_refresh: bool,
    ) -> Result<Landed, AuthorizationError> {
        let guard = self.store.lock(self.resource()).await.map_err(failed)?;
        let mut known = self.list().await?;
        let since = current.as_ref().map_or(0, Credentials::received);
        let is_new = |stored: &&Credentials| {
            Some(stored.authorization()) != rejected
                && stored.received() >= since
                && !stored.has_expired(SystemTime::now())
        };
        if let Some(stored) = known.first().filter(is_new) {
            // Another program has obtained a token.
            return Ok(Landed { credentials: Some(stored.clone()), is_granted: false });
        }
        if let Some(current) = current {
            // The store may lack it, if it could not be written.
            known.retain(|known| known.issuer() != current.issuer());
            known.insert(0, current);
        }
        let (mut flow, action) = AuthorizationFlow::challenged(Arc::clone(&self.config), demand, known);
        if !may_refresh {
            flow = flow.without_refresh();
        }
        self.drive(flow, action, guard).await
    }

    /// Carries out the actions of a flow. The guard keeps other programs from using the refresh token; a user may take
    /// longer than they can wait.
    async fn drive(
        &self,
        mut flow: AuthorizationFlow,
        mut action: FlowAction,
        guard: StoreGuard,
    ) -> Result<Landed, AuthorizationError> {
        let mut guard = Some(guard);
        let mut pending: Option<Box<dyn PendingRedirect>> = None;
        let mut is_granted = self.config.is_for_machine();
        loop {
            let event = match action {
                FlowAction::Send(request) => self.send(request).await,
                FlowAction::PrepareRedirect => {
                    (guard, is_granted) = (None, true);
                    self.user_agent.prepare().await.map(|prepared| {
                        let uri = prepared.redirect_uri().to_owned();
                        pending = Some(prepared);
                        FlowEvent::RedirectUri(uri)
                    })
                }
                FlowAction::OpenBrowser { url, state } => match pending.take() {
                    Some(pending) => pending.complete(url.as_str().to_owned(), state).await.map(FlowEvent::Redirect),
                    None => Err(AuthorizationError::SignInRequired("no redirect is listened for".to_owned())),
                },
                FlowAction::GetSubjectToken { issuer } => self.subject_token(&issuer).await,
                FlowAction::Store(credentials) => stored(self.store.store(&credentials).await),
                FlowAction::Remove(credentials) => stored(self.store.remove(&credentials).await),
                FlowAction::Done(credentials) => {
                    drop(guard);
                    return Ok(Landed { credentials: Some(*credentials), is_granted });
                }
                FlowAction::Fail(error) => return Err(error),
            };
            action = flow.handle(event.unwrap_or_else(FlowEvent::Failed), SystemTime::now());
        }
    }

    async fn send(&self, request: HttpRequest) -> Result<FlowEvent, AuthorizationError> {
        let url = request.url.clone();
        tracing::debug!(?request, "authorization");
        match timeout(MAX_REQUEST, self.http.send(request)).await {
            Ok(Ok(response)) => Ok(FlowEvent::Response(response)),
            Ok(Err(error)) => Err(AuthorizationError::Unavailable(error.to_string())),
            Err(_) => Err(AuthorizationError::Unavailable(format!("{url} does not answer"))),
        }
    }

    async fn subject_token(&self, issuer: &str) -> Result<FlowEvent, AuthorizationError> {
        let Some(subjects) = &self.subjects else {
            let reason = "the grant needs a source of subject tokens".to_owned();
            return Err(AuthorizationError::Unsupported(reason));
        };
        subjects.subject_token(issuer).await.map(FlowEvent::SubjectToken)
    }
}

/// The answer of a store that was changed. A failure is logged here, since a flow goes on with a token that is not stored.
fn stored(outcome: Result<(), StoreError>) -> Result<FlowEvent, AuthorizationError> {
    outcome.map(|()| FlowEvent::Stored).map_err(|error| {
        tracing::warn!(%error, "the credentials cannot be stored; they are lost when the program ends");
        failed(error)
    })
}

fn failed(error: StoreError) -> AuthorizationError {
    AuthorizationError::Store(error.0)
}
