//! The token of one MCP server as it is known now, and the decisions that requests and challenges lead to.

use std::time::{Duration, SystemTime};

use tokio::time::Instant;

use crate::authorizer::{AuthorizationError, Challenge};
use crate::credentials::Credentials;
use crate::demand::TokenDemand;
use crate::dpop::accepted_nonce;
use crate::driver::round_limit::RoundLimit;
use crate::driver::session_credentials::{Origin, SessionCredentials};

/// The most challenges of one request that are answered.
const MAX_ATTEMPTS: u32 = 5;

/// The most of them that are answered with a nonce.
const MAX_NONCES: u32 = 3;

/// The time after a failed refresh in which a token that is still valid is used without another attempt.
const REFRESH_PAUSE: Duration = Duration::from_secs(30);

/// The time in which the answer of a user holds for requests that were sent before it.
const DECLINED: Duration = Duration::from_secs(2);

/// The token of one MCP server.
#[derive(Debug, Default)]
pub(crate) struct Session {
    held: Option<SessionCredentials>,
    usage: Usage,
    /// The number of times that the credentials were replaced by others.
    context: u64,
    is_loaded: bool,
    /// The last nonce of the MCP server.
    nonce: Option<String>,
    rounds: RoundLimit,
    refresh_failed: Option<FailedRefresh>,
    /// The last answer of a user who did not sign in.
    declined: Option<(Instant, AuthorizationError)>,
}

/// The use of a token so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Usage {
    /// It is known from the store, or was presented during its life.
    #[default]
    Usual,
    /// It was issued in this session and not presented yet.
    New,
    /// It was over when it was presented for the first time.
    Late,
}

/// The last refresh, if it has failed.
#[derive(Debug)]
struct FailedRefresh {
    since: Instant,
    /// True if a later attempt has the same result: only a challenge leads to another token.
    is_final: bool,
}

/// The decision about a request.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum RequestStep {
    /// The stored credentials have to be read first.
    Load,
    /// The token has to be refreshed first.
    Refresh,
    /// Is sent with these credentials, or without any.
    Present(Option<Box<Credentials>>),
}

/// The decision about a challenge.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ChallengeStep {
    /// The stored credentials have to be read first.
    Load,
    /// The request is repeated with the current token.
    Repeat,
    /// A flow begins.
    Authorize { may_refresh: bool },
}

impl Session {
    pub(crate) fn request(&mut self, now: SystemTime, instant: Instant) -> RequestStep {
        if !self.is_loaded {
            return RequestStep::Load;
        }
        let Some(credentials) = self.credentials().cloned() else { return RequestStep::Present(None) };
        // Some servers issue tokens with a life of no length. If it is over, it is up to the MCP server to refuse them.
        if self.usage == Usage::New && self.is_usable(&credentials, now) {
            self.usage = if credentials.has_expired(now) { Usage::Late } else { Usage::Usual };
            if self.usage == Usage::Late {
                return RequestStep::Present(Some(Box::new(credentials)));
            }
        }
        let has_expired = credentials.has_expired(now);
        let may_refresh = match &self.refresh_failed {
            None => true,
            Some(failed) => !failed.is_final && (has_expired || instant >= failed.since + REFRESH_PAUSE),
        };
        if credentials.is_due(now) && credentials.has_refresh_token() && may_refresh {
            return RequestStep::Refresh;
        }
        RequestStep::Present(self.is_usable(&credentials, now).then(|| Box::new(credentials)))
    }

    pub(crate) fn challenge(
        &mut self,
        challenge: &Challenge,
        demand: &TokenDemand,
        now: SystemTime,
    ) -> Result<ChallengeStep, AuthorizationError> {
        if challenge.attempt > MAX_ATTEMPTS {
            return Err(refused(challenge, format!("{MAX_ATTEMPTS} attempts have not been enough")));
        }
        if !self.is_loaded {
            return Ok(ChallengeStep::Load);
        }
        let nonce = self.record_nonce(challenge.dpop_nonce.as_deref());
        let current = self.credentials().filter(|credentials| self.is_usable(credentials, now));
        let is_current = challenge.authorization == current.map(Credentials::authorization);
        if current.is_some() && !is_current {
            return Ok(ChallengeStep::Repeat);
        }
        if current.is_some() && demand.asks_nonce() {
            let reason = "it asks for a nonce that it has sent".to_owned();
            let is_answerable = nonce && challenge.attempt <= MAX_NONCES;
            return if is_answerable { Ok(ChallengeStep::Repeat) } else { Err(AuthorizationError::Rejected(reason)) };
        }
        // The token as it was issued: if it is rejected, another grant has no better one.
        let held = self.held.as_ref().filter(|held| challenge.authorization == Some(held.credentials.authorization()));
        let origin = held.map(|held| held.origin);
        if origin == Some(Origin::Granted) && challenge.attempt > 1 && !demand.is_step_up() {
            return Err(AuthorizationError::Rejected("it was issued for this request".to_owned()));
        }
        // The token of another program may have ended before its time.
        Ok(ChallengeStep::Authorize { may_refresh: challenge.attempt == 1 || origin == Some(Origin::Stored) })
    }

    /// Allows a flow that an MCP server has caused, or rejects it.
    pub(crate) fn begin_round(&mut self, challenge: &Challenge, now: Instant) -> Result<(), AuthorizationError> {
        match &self.declined {
            Some((since, error)) if now < *since + DECLINED => return Err(error.clone()),
            _ => self.declined = None,
        }
        if self.rounds.take(now) {
            return Ok(());
        }
        Err(refused(challenge, "it has caused too many authorizations; try again in a minute".to_owned()))
    }

    /// Records the nonce of a response. True if it is one.
    pub(crate) fn record_nonce(&mut self, nonce: Option<&str>) -> bool {
        let nonce = nonce.and_then(accepted_nonce);
        if let Some(nonce) = nonce {
            self.nonce = Some(nonce.to_owned());
        }
        nonce.is_some()
    }

    pub(crate) fn nonce(&self) -> Option<&str> {
        self.nonce.as_deref()
    }

    /// The credentials, also if their token has expired.
    pub(crate) fn held(&self) -> Option<&SessionCredentials> {
        self.held.as_ref()
    }

    /// Tells the tokens apart. Another one may belong to another user: also a refresh may go on with the credentials
    /// that another program has stored.
    pub(crate) fn context(&self) -> u64 {
        self.context
    }

    pub(crate) fn credentials(&self) -> Option<&Credentials> {
        self.held.as_ref().map(|held| &held.credentials)
    }

    /// The credentials with a token that has not expired.
    pub(crate) fn valid(&self, now: SystemTime) -> Option<&Credentials> {
        self.credentials().filter(|credentials| !credentials.has_expired(now))
    }

    /// True for a token to present: one that has not expired, or that was over before it could be used.
    fn is_usable(&self, credentials: &Credentials, now: SystemTime) -> bool {
        !credentials.has_expired(now) || self.usage != Usage::Usual && credentials.is_short_lived()
    }

    /// Replaces the credentials.
    pub(crate) fn replace(&mut self, held: Option<SessionCredentials>) {
        self.is_loaded = true;
        self.refresh_failed = None;
        if self.credentials() != held.as_ref().map(|held| &held.credentials) {
            self.context += 1;
        }
        let is_new = held.as_ref().is_some_and(|held| held.origin != Origin::Stored);
        self.usage = if is_new { Usage::New } else { Usage::Usual };
        self.held = held;
    }

    /// Records the failure of a flow, if it was the decision of a user.
    pub(crate) fn flow_failed(&mut self, error: &AuthorizationError, now: Instant) {
        if matches!(
            error,
            AuthorizationError::Refused { .. } | AuthorizationError::NoIssuer | AuthorizationError::SignInRequired(_)
        ) {
            self.declined = Some((now, error.clone()));
        }
    }

    /// Handles a refresh that has failed. True if the token can be obtained in another way: by a challenge. The
    /// credentials stay: the token is presented until it expires, and a challenge tries its refresh token once more.
    pub(crate) fn refresh_failed(&mut self, error: &AuthorizationError, now: Instant) -> bool {
        let is_final = !matches!(error, AuthorizationError::Unavailable(_) | AuthorizationError::Store(_));
        self.refresh_failed = Some(FailedRefresh { since: now, is_final });
        is_final
    }
}

/// The end of the attempts to satisfy a challenge. Only a token that was sent can be rejected.
fn refused(challenge: &Challenge, reason: String) -> AuthorizationError {
    match challenge.authorization {
        Some(_) => AuthorizationError::Rejected(reason),
        None => AuthorizationError::Unavailable(reason),
    }
}

#[cfg(test)]
mod tests;
