//! The opening of a connection: discovery and handshake (MCP 2026-07-28, basic/lifecycle; 2025-11-25, basic/lifecycle).

use std::sync::Arc;
use std::time::Instant;

use protomcp_types::{
    Discover, ErrorObject, Initialize, InitializeResult, JsonBuf, JsonObject, Message, Method, Params, Ping,
    ProtocolVersion, RawJson, code, meta, method,
};

use crate::client::ClientConnection;
use crate::client::config::{Channel, Mode};
use crate::client::error::{CloseReason, OpenError, RequestError};
use crate::client::event::{ClientEvent, Transmit};
use crate::client::exchange::{Draft, Purpose};
use crate::client::failure::Failure;
use crate::client::listen_state::Listening;
use crate::client::phase::{Discovery, Handshake, Phase, Reopening};
use crate::client::server_view::ServerView;
use crate::no_answer::NoAnswer;

impl ClientConnection {
    pub(super) fn open(&mut self, now: Instant) {
        let open_until = now + self.config.limits.open_timeout;
        match self.config.mode {
            Mode::Auto | Mode::Stateless => {
                self.discover(now, ProtocolVersion::STATELESS[0], None, open_until);
            }
            Mode::Stateful | Mode::StatefulFirst => self.initialize(self.config.version, None, open_until),
        }
    }

    fn discover(&mut self, now: Instant, version: ProtocolVersion, before: Option<Discovery>, open_until: Instant) {
        let params = self.identity.describe(Params::Absent, version.as_str(), None);
        let request = self.send_as_is(Draft::new(Purpose::Open, Discover::NAME, params));
        let until = match (self.config.mode, self.config.channel, before) {
            (Mode::Auto, Channel::Shared, None) => open_until.min(now + self.config.limits.discover_timeout),
            // An old server is not asked twice.
            _ => open_until,
        };
        self.phase = Phase::Discovering(Discovery { request, version, is_retry: before.is_some(), until, open_until });
    }

    fn initialize(&mut self, version: ProtocolVersion, before: Option<Handshake>, until: Instant) {
        let params = Initialize {
            protocol_version: version.as_str().to_owned(),
            capabilities: self.config.capabilities.clone(),
            client_info: self.config.implementation.clone(),
        };
        let params = Params::of(&params).expect("a handshake is an object");
        let request = self.send_as_is(Draft::new(Purpose::Open, Initialize::NAME, params));
        let (is_retry, reopening) = (before.is_some(), before.and_then(|before| before.reopening));
        self.phase = Phase::Initializing(Handshake { request, version, is_retry, silent: None, reopening, until });
    }

    /// The server does not know the session in which this exchange began.
    pub(super) fn session_lost(&mut self, now: Instant, exchange: u64) {
        let Phase::Open(server) = &self.phase else { return };
        if !server.is_stateful() || exchange < self.session_since {
            return;
        }
        let version = server.version;
        self.heartbeat.stop();
        let withdrawn = self.incoming.drain();
        self.events.extend(withdrawn.into_iter().map(ClientEvent::Withdrawn));
        self.initialize_again(version, 0, now + self.config.limits.open_timeout);
    }

    /// Begins another session in place of one that was lost. It may take several attempts.
    fn initialize_again(&mut self, version: ProtocolVersion, failures: u32, until: Instant) {
        self.initialize(version, None, until);
        if let Phase::Initializing(handshake) = &mut self.phase {
            handshake.reopening = Some(Reopening { failures, retry: None });
        }
    }

    /// The stream of the session is gone. A ping shows the reason: an answer, or the loss of the session.
    pub(super) fn check_session(&mut self) {
        if self.phase.server().is_some_and(|server| server.is_stateful()) {
            self.send(Draft::new(Purpose::Ping, Ping::NAME, Params::Absent));
        }
    }

    /// The transport is lost, and another one will replace it: whatever was sent is lost with it, and fails. Calls that
    /// come until then wait.
    pub fn suspend(&mut self, reason: &CloseReason) {
        let version = match &self.phase {
            Phase::Closed(_) => return,
            Phase::Open(server) => Some(server.version),
            Phase::Suspended(version) => *version,
            Phase::Initializing(handshake) => Some(handshake.version),
            Phase::Discovering(_) => None,
        };
        self.phase = Phase::Suspended(version);
        self.heartbeat.stop();
        self.transmits.clear();
        self.exchanges.clear();
        self.incoming.drain();
        self.listening = Listening::default();
        for id in self.calls.ids() {
            self.finish(id, Err(RequestError::Closed(reason.clone())));
        }
    }

    /// The other transport is there: opens the connection again, in the era of before.
    pub fn resume(&mut self, now: Instant) {
        let Phase::Suspended(version) = self.phase else { return };
        match version.filter(|version| version.is_stateful()) {
            Some(version) => self.initialize_again(version, 0, now + self.config.limits.open_timeout),
            None => self.open(now),
        }
    }

    pub(super) fn opened(&mut self, now: Instant, exchange: u64, outcome: Result<JsonBuf, Failure>) {
        match (self.phase.clone(), outcome) {
            (Phase::Discovering(discovery), Ok(body)) => self.discovered(now, discovery, body),
            (Phase::Discovering(discovery), Err(failure)) => self.not_discovered(now, discovery, failure),
            (Phase::Initializing(handshake), Ok(body)) => {
                self.session_since = exchange;
                self.initialized(now, handshake, body);
            }
            (Phase::Initializing(handshake), Err(failure)) => self.not_initialized(now, handshake, failure),
            (Phase::Open(_) | Phase::Suspended(_) | Phase::Closed(_), _) => {}
        }
    }

    fn discovered(&mut self, now: Instant, discovery: Discovery, body: JsonBuf) {
        let Some((supported, server)) = read_discovery(discovery.version, body) else {
            let error = OpenError::InvalidAnswer("the result of server/discover cannot be read".into());
            return self.without_discovery(discovery, error);
        };
        match newest(&supported, ProtocolVersion::is_stateful) {
            _ if supported.iter().any(|version| version == discovery.version.as_str()) => self.enter(now, server),
            Some(version) if self.config.mode == Mode::Auto => self.initialize(version, None, discovery.open_until),
            _ => self.fail_opening(OpenError::UnsupportedVersion(supported)),
        }
    }

    fn not_discovered(&mut self, now: Instant, discovery: Discovery, failure: Failure) {
        if failure.facts.no_answer.is_none() && failure.error.code == code::UNSUPPORTED_PROTOCOL_VERSION {
            let supported = supported(&failure.error);
            let again = newest(&supported, |version| !version.is_stateful()).filter(|_| !discovery.is_retry);
            let stateful = newest(&supported, ProtocolVersion::is_stateful);
            return match (again, stateful) {
                (Some(version), _) => self.discover(now, version, Some(discovery), discovery.open_until),
                (None, Some(version)) if self.config.mode == Mode::Auto => {
                    self.initialize(version, None, discovery.open_until);
                }
                _ => self.fail_opening(OpenError::UnsupportedVersion(supported)),
            };
        }
        match failure.facts.no_answer {
            // MCP 2026-07-28, basic/versioning: the error of a server of this era.
            None if is_modern(&failure) || self.config.mode == Mode::Stateless => {
                self.enter(now, unknown_server(discovery.version));
            }
            None | Some(NoAnswer::Status(400..500) | NoAnswer::SessionLost) => {
                self.without_discovery(discovery, failure.into());
            }
            Some(_) => self.fail_opening(failure.into()),
        }
    }

    /// Falls back to a handshake where that is allowed.
    fn without_discovery(&mut self, discovery: Discovery, error: OpenError) {
        match self.config.mode {
            Mode::Auto => self.initialize(self.config.version, None, discovery.open_until),
            Mode::Stateless | Mode::Stateful | Mode::StatefulFirst => self.fail_opening(error),
        }
    }

    fn initialized(&mut self, now: Instant, handshake: Handshake, body: JsonBuf) {
        let result = match body.into_raw().to::<InitializeResult>() {
            Ok(result) => result,
            Err(error) => return self.fail_opening(OpenError::InvalidAnswer(format!("initialize: {error}"))),
        };
        // MCP 2025-11-25, basic/lifecycle: a client that does not support the server's revision disconnects.
        let known = ProtocolVersion::parse(&result.protocol_version).filter(|version| version.is_stateful());
        let Some(version) = known else {
            let stateless = ProtocolVersion::parse(&result.protocol_version);
            return match stateless.filter(|_| self.config.mode == Mode::StatefulFirst) {
                Some(version) => self.discover(now, version, None, handshake.until),
                None => self.fail_opening(OpenError::UnsupportedVersion(vec![result.protocol_version])),
            };
        };
        self.transmits.push_back(Transmit::BeginSession(version));
        self.transmits.push_back(Transmit::Send(Message::notification(method::INITIALIZED, Params::Absent)));
        let server = ServerView {
            version,
            implementation: Some(result.server_info),
            capabilities: Some(result.capabilities),
            instructions: result.instructions,
        };
        self.enter(now, server);
    }

    fn not_initialized(&mut self, now: Instant, handshake: Handshake, failure: Failure) {
        if let Some(retry) = handshake.reopening.filter(|_| failure.is_passing()).map(|before| before.next(now))
            && retry.retry.is_some_and(|at| at < handshake.until)
        {
            self.phase = Phase::Initializing(Handshake { reopening: Some(retry), ..handshake });
            return;
        }
        // Some servers refuse a revision that they do not know, and name those that they do.
        let offered = newest(&supported(&failure.error), ProtocolVersion::is_stateful);
        let offered = offered.filter(|version| !handshake.is_retry && *version != handshake.version);
        // A server that was slow to start reads `server/discover` first, and then takes no handshake.
        let is_stateless =
            failure.facts.no_answer.is_none() && failure.error.code == code::UNSUPPORTED_PROTOCOL_VERSION;
        match (offered, handshake.silent.filter(|_| is_stateless)) {
            (Some(version), _) => self.initialize(version, Some(handshake), handshake.until),
            (None, Some(before)) => self.discover(now, before.version, Some(before), handshake.until),
            (None, None) if self.config.mode == Mode::StatefulFirst && is_refusal(&failure, handshake) => {
                self.discover(now, ProtocolVersion::STATELESS[0], None, handshake.until);
            }
            (None, None) => self.fail_opening(failure.into()),
        }
    }

    /// The answer that opens the connection has not come in time.
    pub(super) fn opening_timed_out(&mut self, now: Instant) {
        if let Some(request) = self.phase.request() {
            self.exchanges.forget(request);
        }
        match self.phase.clone() {
            Phase::Discovering(discovery) if discovery.open_until > now => {
                self.without_discovery(discovery, OpenError::TimedOut(self.config.limits.discover_timeout));
                if let Phase::Initializing(handshake) = &mut self.phase {
                    handshake.silent = Some(discovery);
                }
            }
            Phase::Initializing(Handshake { version, reopening: Some(Reopening { failures, .. }), until, .. })
                if until > now =>
            {
                self.initialize_again(version, failures, until);
            }
            Phase::Discovering(_) | Phase::Initializing(_) => {
                self.fail_opening(OpenError::TimedOut(self.config.limits.open_timeout));
            }
            Phase::Open(_) | Phase::Suspended(_) | Phase::Closed(_) => {}
        }
    }

    fn enter(&mut self, now: Instant, server: ServerView) {
        let server = Arc::new(server);
        if server.is_stateful() {
            self.heartbeat.start(now);
        }
        self.phase = Phase::Open(Arc::clone(&server));
        self.events.push_back(ClientEvent::Opened(server));
        for id in self.calls.waiting() {
            self.dispatch(now, id);
        }
    }

    fn fail_opening(&mut self, error: OpenError) {
        self.close(CloseReason::NotOpened(error));
    }
}

/// True for the errors that only servers of the stateless revision send.
fn is_modern(failure: &Failure) -> bool {
    let is_not_found = failure.facts.status.is_some_and(|status| status.0 == 404);
    match failure.error.code {
        code::HEADER_MISMATCH | code::MISSING_CLIENT_CAPABILITY => true,
        code::METHOD_NOT_FOUND => is_not_found,
        _ => false,
    }
}

/// True if a server of the stateless revision may refuse its first handshake so.
fn is_refusal(failure: &Failure, handshake: Handshake) -> bool {
    handshake.reopening.is_none() && matches!(failure.facts.no_answer, None | Some(NoAnswer::Status(400..500)))
}

/// The revisions that an error names.
fn supported(error: &ErrorObject) -> Vec<String> {
    let data = error.data.as_ref().and_then(|data| JsonObject::from_raw(data).ok());
    data.and_then(|data| data.member("supported")?.to().ok()).unwrap_or_default()
}

fn newest(versions: &[String], allowed: impl Fn(ProtocolVersion) -> bool) -> Option<ProtocolVersion> {
    versions.iter().filter_map(|version| ProtocolVersion::parse(version)).filter(|version| allowed(*version)).max()
}

/// A stateless server that has not described itself.
fn unknown_server(version: ProtocolVersion) -> ServerView {
    ServerView { version, implementation: None, capabilities: None, instructions: None }
}

/// Reads the members that a connection needs. Caching hints do not matter here, so their faults do not either.
fn read_discovery(version: ProtocolVersion, body: JsonBuf) -> Option<(Vec<String>, ServerView)> {
    let members = JsonObject::from_raw(&body.into_raw()).ok()?;
    let supported = members.member("supportedVersions")?.to().ok()?;
    let meta = members.member("_meta").and_then(|meta| JsonObject::from_raw(meta).ok());
    let implementation = meta.as_ref().and_then(|meta| meta.member(meta::SERVER_INFO)).and_then(|raw| raw.to().ok());
    let instructions = members.member("instructions").and_then(|raw: &RawJson| raw.to().ok());
    let capabilities = Some(members.member("capabilities")?.to::<Option<_>>().ok()?.unwrap_or_default());
    Some((supported, ServerView { version, implementation, capabilities, instructions }))
}
