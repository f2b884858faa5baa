//! Runs a flow over the network, a store and a user.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use http::HeaderValue;
use tokio::time::timeout;

use crate::authorizer::AuthorizationError;
use crate::config::OAuthConfig;
use crate::credentials::Credentials;
use crate::demand::TokenDemand;
use crate::driver::session_credentials::{Origin, SessionCredentials};
use crate::driver::token_store::{StoreError, StoreGuard, TokenStore};
use crate::driver::user_agent::{PendingRedirect, SubjectTokens, UserAgent};
use crate::exchange::{HttpExchange, HttpRequest};
use crate::flow::AuthorizationFlow;
use crate::flow_event::{FlowAction, FlowEvent};

/// The longest time for one request, in addition to the limit of the exchange itself.
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
    Refresh(Box<SessionCredentials>),
    /// Satisfies a challenge.
    Challenge {
        demand: TokenDemand,
        current: Option<Box<SessionCredentials>>,
        rejected: Option<HeaderValue>,
        may_refresh: bool,
    },
}

impl Parts {
    /// The credentials after a job.
    pub(crate) async fn run(&self, job: Job) -> Result<Option<SessionCredentials>, AuthorizationError> {
        let run = async {
            match job {
                Job::Load => {
                    let known = self.list().await?;
                    Ok(known.into_iter().next().map(SessionCredentials::stored))
                }
                Job::Refresh(held) => self.refresh(*held).await.map(Some),
                Job::Challenge { demand, current, rejected, may_refresh } => {
                    self.authorize(demand, current.map(|current| *current), rejected, may_refresh).await.map(Some)
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
    async fn refresh(&self, held: SessionCredentials) -> Result<SessionCredentials, AuthorizationError> {
        let guard = self.store.lock(self.resource()).await.map_err(failed)?;
        let mut stored = self.list().await?.into_iter();
        let stored = stored.find(|stored| stored.issuer() == held.credentials.issuer());
        let known = held.credentials.clone();
        let held = held.or_stored(stored);
        let now = SystemTime::now();
        let is_usable = !held.credentials.is_due(now)
            || !held.credentials.has_refresh_token() && !held.credentials.has_expired(now);
        if held.credentials != known && is_usable {
            return Ok(held);
        }
        let (flow, action) = AuthorizationFlow::due(Arc::clone(&self.config), held.credentials, now);
        self.drive(flow, action, guard).await
    }

    async fn authorize(
        &self,
        demand: TokenDemand,
        current: Option<SessionCredentials>,
        rejected: Option<HeaderValue>,
        may_refresh: bool,
    ) -> Result<SessionCredentials, AuthorizationError> {
        let guard = self.store.lock(self.resource()).await.map_err(failed)?;
        let known = merged(current, self.list().await?);
        let is_rejected = |credentials: &Credentials| Some(credentials.authorization()) == rejected;
        let is_usable = |held: &&SessionCredentials| {
            !is_rejected(&held.credentials) && !held.credentials.has_expired(SystemTime::now())
        };
        if let Some(held) = known.first().filter(is_usable) {
            // Another program has obtained a token.
            return Ok(held.clone());
        }
        let is_after_grant = known.iter().any(|held| held.origin == Origin::Granted && is_rejected(&held.credentials));
        let known: Vec<_> = known.into_iter().map(|held| held.credentials).collect();
        // The refresh token of another program has not been tried.
        let may_refresh = may_refresh || !known.iter().any(is_rejected);
        let (mut flow, action) = AuthorizationFlow::challenged(Arc::clone(&self.config), demand, known);
        if !may_refresh {
            flow = flow.without_refresh();
        }
        if is_after_grant {
            flow = flow.after_grant();
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
    ) -> Result<SessionCredentials, AuthorizationError> {
        let mut guard = Some(guard);
        let mut pending: Option<Box<dyn PendingRedirect>> = None;
        let mut origin = if self.config.is_for_machine() { Origin::Granted } else { Origin::Refreshed };
        let mut is_saved = true;
        loop {
            let event = match action {
                FlowAction::Send(request) => self.send(request).await,
                FlowAction::PrepareRedirect => {
                    (guard, origin) = (None, Origin::Granted);
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
                FlowAction::Store(credentials) => {
                    let outcome = self.save(&mut guard, &credentials).await;
                    is_saved = outcome.is_ok();
                    stored(outcome)
                }
                FlowAction::Remove(credentials) => stored(self.store.remove(&credentials).await),
                FlowAction::Done(credentials) => {
                    drop(guard);
                    return Ok(SessionCredentials { credentials: *credentials, origin, is_saved });
                }
                FlowAction::Fail(error) => return Err(error),
            };
            action = flow.handle(event.unwrap_or_else(FlowEvent::Failed), SystemTime::now());
        }
    }

    /// Stores credentials under the lock: between the reading and the writing of another program they would be lost.
    async fn save(&self, guard: &mut Option<StoreGuard>, credentials: &Credentials) -> Result<(), StoreError> {
        if guard.is_none() {
            *guard = Some(self.store.lock(self.resource()).await?);
        }
        self.store.store(credentials).await
    }

    async fn send(&self, request: HttpRequest) -> Result<FlowEvent, AuthorizationError> {
        let url = request.url.brief();
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

/// All known credentials, the newest first.
fn merged(current: Option<SessionCredentials>, mut stored: Vec<Credentials>) -> Vec<SessionCredentials> {
    let current = current.map(|current| {
        let same = stored.iter().position(|stored| stored.issuer() == current.credentials.issuer());
        current.or_stored(same.map(|same| stored.remove(same)))
    });
    let mut known: Vec<_> = current.into_iter().chain(stored.into_iter().map(SessionCredentials::stored)).collect();
    known.sort_by_key(|held| std::cmp::Reverse(held.credentials.received()));
    known
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
