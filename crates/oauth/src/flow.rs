//! One authorization as a value: from a challenge, or from a token that is about to expire, to new credentials.
//!
//! ```text
//! challenge → Discovering → Removing → Refreshing ─────────────────────────────────────┐
//!                                    ↘ AwaitingRedirectUri → Registering → SigningIn ─┐ │
//!                                    ↘ AwaitingSubject → (Exchanging) ────────────────┤ │
//!                                    ↘ ────────────────────────────── RequestingToken ─┤ │
//! due token → Refreshing ─────────────────────────────────────────────────────────────┴─┴→ Storing → done
//! ```

use std::sync::Arc;
use std::time::SystemTime;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::authorizer::AuthorizationError;
use crate::client_choice::{ClientChoice, authentication, choose, registered};
use crate::config::{Grant, OAuthConfig};
use crate::credentials::{ClientRegistration, ClientSource, Credentials, Token};
use crate::demand::TokenDemand;
use crate::discovery::{Discovered, Discovery, Issuers};
use crate::exchange::HttpResponse;
use crate::flow_event::{FlowAction, FlowEvent};
use crate::grants;
use crate::metadata::is_same_issuer;
use crate::sign_in::{SignIn, SignInParams};
use crate::signing::Es256Key;
use crate::step::Step;
use crate::target::Target;
use crate::token_request::TokenRequest;
use protomcp_auth::{Url, brief_url};

/// One authorization: a state machine without I/O. Time is an argument.
#[derive(Debug)]
pub struct AuthorizationFlow {
    config: Arc<OAuthConfig>,
    demand: TokenDemand,
    known: Vec<Credentials>,
    state: State,
    may_refresh: bool,
    /// True if the rejected token came from the last grant.
    is_after_grant: bool,
    /// True once the authorization server has rejected the client that it had registered.
    is_client_rejected: bool,
}

enum State {
    Discovering(Box<Discovery>),
    Removing { stale: Vec<Credentials>, target: Box<Target> },
    Refreshing(Refresh),
    AwaitingRedirectUri(Box<Target>),
    Registering { target: Box<Target>, redirect_uri: String },
    SigningIn { target: Box<Target>, client: ClientRegistration, sign_in: SignIn },
    AwaitingSubject { target: Box<Target>, client: ClientRegistration },
    Exchanging { target: Box<Target>, client: ClientRegistration, request: TokenRequest },
    RequestingToken(GrantRequest),
    Storing(Box<Credentials>),
    Finished,
}

/// A request for new tokens by a refresh token.
struct Refresh {
    request: TokenRequest,
    previous: Box<Credentials>,
    /// The aim of the authorization; `None` if the token is only about to expire.
    target: Option<Box<Target>>,
}

/// The request of a grant.
struct GrantRequest {
    request: TokenRequest,
    target: Box<Target>,
    client: ClientRegistration,
}

impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Discovering(_) => "Discovering",
            Self::Removing { .. } => "Removing",
            Self::Refreshing(_) => "Refreshing",
            Self::AwaitingRedirectUri(_) => "AwaitingRedirectUri",
            Self::Registering { .. } => "Registering",
            Self::SigningIn { .. } => "SigningIn",
            Self::AwaitingSubject { .. } => "AwaitingSubject",
            Self::Exchanging { .. } => "Exchanging",
            Self::RequestingToken(_) => "RequestingToken",
            Self::Storing(_) => "Storing",
            Self::Finished => "Finished",
        })
    }
}

impl AuthorizationFlow {
    fn new(config: Arc<OAuthConfig>, demand: TokenDemand, known: Vec<Credentials>) -> Self {
        let (state, may_refresh, is_after_grant, is_client_rejected) = (State::Finished, true, false, false);
        Self { config, demand, known, state, may_refresh, is_after_grant, is_client_rejected }
    }

    /// Begins with a challenge. `known` are the stored credentials of the MCP server, of all issuers. Credentials of
    /// another issuer or client than the configured ones are not used.
    #[must_use]
    pub fn challenged(
        config: Arc<OAuthConfig>,
        demand: TokenDemand,
        mut known: Vec<Credentials>,
    ) -> (Self, FlowAction) {
        known.retain(|known| config.may_use(known));
        let issuers = Issuers {
            only: config.issuer.clone(),
            known: known.iter().map(|credentials| credentials.issuer.clone()).collect(),
            had_metadata: known.iter().any(|known| {
                let is_elsewhere = |issuer: &Url| !issuer.is_same_origin(&config.resource);
                known.indicator.is_some() && Url::parse(&known.issuer).as_ref().is_ok_and(is_elsewhere)
            }),
        };
        let started = Discovery::start(&config.resource, demand.metadata.as_deref(), issuers);
        let mut flow = Self::new(config, demand, known);
        match started {
            Ok((discovery, request)) => {
                flow.state = State::Discovering(Box::new(discovery));
                (flow, FlowAction::Send(request))
            }
            Err(error) => (flow, FlowAction::Fail(error)),
        }
    }

    /// Goes to the grant without a refresh, since the token of the last one was rejected.
    #[must_use]
    pub fn without_refresh(mut self) -> Self {
        self.may_refresh = false;
        self
    }

    /// Does not ask for the same scopes once more, since the token of the last grant was rejected: an authorization server
    /// that has granted less does so again.
    #[must_use]
    pub fn after_grant(mut self) -> Self {
        self.is_after_grant = true;
        self
    }

    /// Begins with a token that is about to expire. If the authorization server rejects the refresh token, the outcome
    /// is the old token without it. Fails if the credentials belong to another issuer or client than the configured
    /// ones.
    #[must_use]
    pub fn due(config: Arc<OAuthConfig>, credentials: Credentials, now: SystemTime) -> (Self, FlowAction) {
        let (demand, known) = (TokenDemand::default(), Vec::new());
        let request = grants::refresh(&config, &credentials);
        let mut flow = Self::new(config, demand, known);
        match request {
            Ok(request) => {
                let action = FlowAction::Send(request.to_http(now));
                flow.state = State::Refreshing(Refresh { request, previous: Box::new(credentials), target: None });
                (flow, action)
            }
            Err(error) => (flow, FlowAction::Fail(error)),
        }
    }

    /// Continues with the answer to the last action.
    pub fn handle(&mut self, event: FlowEvent, now: SystemTime) -> FlowAction {
        let state = std::mem::replace(&mut self.state, State::Finished);
        self.advance(state, event, now).unwrap_or_else(FlowAction::Fail)
    }

    fn advance(&mut self, state: State, event: FlowEvent, now: SystemTime) -> Result<FlowAction, AuthorizationError> {
        use FlowEvent as Event;
        match (state, event) {
            // The token is as good as a stored one until the program ends.
            (State::Storing(credentials), Event::Stored | Event::Failed(_)) => Ok(FlowAction::Done(credentials)),
            (_, Event::Failed(error)) => Err(error),
            (State::Discovering(mut discovery), Event::Response(response)) => match discovery.response(&response)? {
                Step::Send(request) => {
                    self.state = State::Discovering(discovery);
                    Ok(FlowAction::Send(request))
                }
                Step::Done(discovered) => self.discovered(discovered, now),
            },
            (State::Removing { stale, target }, Event::Stored) => self.remove(stale, target, now),
            (State::Refreshing(refresh), Event::Response(response)) => self.refreshing(refresh, &response, now),
            (State::AwaitingRedirectUri(target), Event::RedirectUri(uri)) => self.listening(target, uri, now),
            (State::Registering { target, redirect_uri }, Event::Response(response)) => {
                let client = registered(&response, &target.server, &redirect_uri)?;
                self.sign_in(target, client)
            }
            (State::SigningIn { target, client, sign_in }, Event::Redirect(query)) => {
                let code = sign_in.code(&query)?;
                let form = target.code_form(code, sign_in.verifier(), &client.redirect_uri);
                self.request_token(target, client, form, now)
            }
            (State::AwaitingSubject { target, client }, Event::SubjectToken(subject)) => {
                self.identified(target, client, subject, now)
            }
            (State::Exchanging { target, client, request }, Event::Response(response)) => {
                let assertion = request.exchanged(&response, grants::ID_JAG)?;
                let form = target.assertion_form(assertion);
                self.request_token(target, client, form, now)
            }
            (State::RequestingToken(request), Event::Response(response)) => {
                self.token_response(request, &response, now)
            }
            (state, _) => {
                let reason = format!("the flow was {state:?} and did not expect this event");
                Err(AuthorizationError::Unsupported(reason))
            }
        }
    }

    fn discovered(&mut self, discovered: Discovered, now: SystemTime) -> Result<FlowAction, AuthorizationError> {
        let Discovered { resource, server } = discovered;
        self.config.check_issuer(&server.issuer)?;
        let (known, others): (Vec<_>, _) = std::mem::take(&mut self.known)
            .into_iter()
            .partition(|known| is_same_issuer(&known.issuer, &server.issuer));
        self.check_client_moves(&others, &server.issuer)?;
        // Credentials of an issuer that the MCP server no longer names are of no use there, and must not be sent
        // anywhere else.
        let stale = match &resource {
            Some(resource) => {
                let is_named =
                    |other: &Credentials| resource.issuers.iter().any(|issuer| is_same_issuer(issuer, &other.issuer));
                others.into_iter().filter(|other| !is_named(other)).collect()
            }
            None => Vec::new(),
        };
        let target = Target::new(&self.config, &self.demand, resource, server, known.into_iter().next())?;
        if self.demand.is_step_up() {
            target.check_step_up(self.is_after_grant)?;
        }
        self.remove(stale, Box::new(target), now)
    }

    /// A configured client belongs to one issuer, and its id and secret must not be sent to another.
    fn check_client_moves(&self, others: &[Credentials], issuer: &str) -> Result<(), AuthorizationError> {
        let (None, Some(client)) = (&self.config.issuer, &self.config.client) else { return Ok(()) };
        let is_same =
            |other: &&Credentials| other.client.source == ClientSource::Configured && other.client.id == client.id;
        others.iter().find(is_same).map_or(Ok(()), |other| {
            Err(AuthorizationError::Unsupported(format!(
                "the MCP server now uses {}, and the configured client belongs to {}; configure a client of the \
                 new issuer",
                brief_url(issuer),
                brief_url(&other.issuer)
            )))
        })
    }

    fn remove(
        &mut self,
        mut stale: Vec<Credentials>,
        target: Box<Target>,
        now: SystemTime,
    ) -> Result<FlowAction, AuthorizationError> {
        if let Some(credentials) = stale.pop() {
            self.state = State::Removing { stale, target };
            return Ok(FlowAction::Remove(Box::new(credentials)));
        }
        let previous = target.previous.as_ref();
        let refreshable =
            previous.filter(|previous| self.may_refresh && target.is_refreshed_by(previous, &self.demand));
        // A client that is no longer configured cannot refresh, and may well sign in.
        if let Some((previous, Ok(mut request))) =
            refreshable.map(|known| (known, grants::refresh(&self.config, known)))
        {
            request.endpoint = target.server.token_endpoint.clone();
            let (action, mut previous) = (FlowAction::Send(request.to_http(now)), Box::new(previous.clone()));
            // The new credentials name the endpoint that has issued them.
            target.server.token_endpoint.as_str().clone_into(&mut previous.token_endpoint);
            self.state = State::Refreshing(Refresh { request, previous, target: Some(target) });
            return Ok(action);
        }
        self.grant(target, now)
    }

    fn refreshing(
        &mut self,
        refresh: Refresh,
        response: &HttpResponse,
        now: SystemTime,
    ) -> Result<FlowAction, AuthorizationError> {
        let Refresh { mut request, mut previous, target } = refresh;
        match (request.response(response, now), target) {
            (Ok(Step::Send(again)), target) => {
                self.state = State::Refreshing(Refresh { request, previous, target });
                Ok(FlowAction::Send(again))
            }
            (Ok(Step::Done(token)), _) => {
                // A response without a refresh token, or without scopes, leaves them as they are (RFC 6749, section 6).
                let Token { refresh_token, scope, .. } = std::mem::replace(&mut previous.token, token);
                let token = &mut previous.token;
                token.refresh_token = token.refresh_token.take().or(refresh_token);
                token.scope = token.scope.take().or(scope);
                self.store(previous)
            }
            // The stored credentials stay until there are new ones.
            (Err(AuthorizationError::Refused { code, .. }), Some(target)) => {
                self.is_client_rejected = code == "invalid_client";
                self.grant(target, now)
            }
            // RFC 6749, section 5.2: no other code speaks of the refresh token.
            (Err(AuthorizationError::Refused { code, .. }), None) if code == "invalid_grant" => {
                previous.token.refresh_token = None;
                self.store(previous)
            }
            (Err(error), _) => Err(error),
        }
    }

    /// Begins the configured grant.
    fn grant(&mut self, target: Box<Target>, now: SystemTime) -> Result<FlowAction, AuthorizationError> {
        if matches!(self.config.grant, Grant::AuthorizationCode) {
            target.check_sign_in()?;
            self.state = State::AwaitingRedirectUri(target);
            return Ok(FlowAction::PrepareRedirect);
        }
        let ClientChoice::Known(client) = choose(&self.config, &target.server, None, "", now)? else {
            let reason = "this grant needs a client that is registered by hand".to_owned();
            return Err(AuthorizationError::Unsupported(reason));
        };
        if matches!(self.config.grant, Grant::ClientCredentials) {
            let form = target.client_credentials_form();
            return self.request_token(target, client, form, now);
        }
        let issuer = target.server.issuer.clone();
        self.state = State::AwaitingSubject { target, client };
        Ok(FlowAction::GetSubjectToken { issuer })
    }

    fn listening(
        &mut self,
        target: Box<Target>,
        redirect_uri: String,
        now: SystemTime,
    ) -> Result<FlowAction, AuthorizationError> {
        Url::parse(&redirect_uri).map_err(|error| AuthorizationError::Unsupported(error.to_string()))?;
        let known = target.previous.as_ref().map(|previous| &previous.client).filter(|_| !self.is_client_rejected);
        match choose(&self.config, &target.server, known, &redirect_uri, now)? {
            ClientChoice::Known(client) => self.sign_in(target, client),
            ClientChoice::Register(request) => {
                self.state = State::Registering { target, redirect_uri };
                Ok(FlowAction::Send(request))
            }
        }
    }

    fn sign_in(&mut self, target: Box<Target>, client: ClientRegistration) -> Result<FlowAction, AuthorizationError> {
        let params = SignInParams {
            client_id: &client.id,
            redirect_uri: &client.redirect_uri,
            scopes: target.scopes.as_ref(),
            indicator: target.indicator.as_deref(),
        };
        let sign_in = SignIn::new(target.check_sign_in()?, &target.server, &params)?;
        let action = FlowAction::OpenBrowser { url: sign_in.url().clone(), state: sign_in.state().to_owned() };
        self.state = State::SigningIn { target, client, sign_in };
        Ok(action)
    }

    /// Continues with the token that identifies the client.
    fn identified(
        &mut self,
        target: Box<Target>,
        client: ClientRegistration,
        subject: String,
        now: SystemTime,
    ) -> Result<FlowAction, AuthorizationError> {
        let Grant::EnterpriseManaged(provider) = &self.config.grant else {
            let form = target.assertion_form(subject);
            return self.request_token(target, client, form, now);
        };
        let request = grants::exchange(provider, &target, subject);
        let action = FlowAction::Send(request.to_http(now));
        self.state = State::Exchanging { target, client, request };
        Ok(action)
    }

    fn request_token(
        &mut self,
        target: Box<Target>,
        client: ClientRegistration,
        form: Vec<(&'static str, String)>,
        now: SystemTime,
    ) -> Result<FlowAction, AuthorizationError> {
        let auth = authentication(&client, &self.config, &target.server.issuer)?;
        let request = TokenRequest::new(target.server.token_endpoint.clone(), form, auth);
        let request = request.bound_to(target.dpop_key.clone());
        let action = FlowAction::Send(request.to_http(now));
        self.state = State::RequestingToken(GrantRequest { request, target, client });
        Ok(action)
    }

    fn token_response(
        &mut self,
        request: GrantRequest,
        response: &HttpResponse,
        now: SystemTime,
    ) -> Result<FlowAction, AuthorizationError> {
        let GrantRequest { mut request, target, client } = request;
        let known = target.previous.as_ref().map(|previous| &previous.client);
        match request.response(response, now) {
            Ok(Step::Send(again)) => {
                self.state = State::RequestingToken(GrantRequest { request, target, client });
                Ok(FlowAction::Send(again))
            }
            Ok(Step::Done(token)) => {
                let dpop_key = target.dpop_key.as_ref().map(Es256Key::pkcs8).map(|key| STANDARD.encode(key));
                self.store(Box::new(target.credentials(&self.config, client, token, dpop_key)))
            }
            // The server has forgotten its registration: once more, with a new one.
            Err(AuthorizationError::Refused { code, .. })
                if code == "invalid_client"
                    && client.source == ClientSource::Registered
                    && known == Some(&client)
                    && !self.is_client_rejected =>
            {
                self.is_client_rejected = true;
                self.grant(target, now)
            }
            Err(error) => Err(error),
        }
    }

    #[expect(clippy::unnecessary_wraps, reason = "ends the methods that can fail")]
    fn store(&mut self, credentials: Box<Credentials>) -> Result<FlowAction, AuthorizationError> {
        self.state = State::Storing(credentials.clone());
        Ok(FlowAction::Store(credentials))
    }
}
