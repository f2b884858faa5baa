//! An MCP server and an authorization server as a table of responses, and a user that agrees to everything.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use protomcp_oauth::{
    AuthorizationError, AuthorizationFlow, Challenge, Credentials, FlowAction, FlowEvent, HttpRequest, HttpResponse,
    OAuthConfig, TokenDemand,
};
use serde_json::{Value, json};

pub(crate) const SERVER: &str = "https://tools.example.com/mcp";
pub(crate) const PRM: &str = "https://tools.example.com/.well-known/oauth-protected-resource";
pub(crate) const ISSUER: &str = "https://login.example.com";
pub(crate) const METADATA: &str = "https://login.example.com/.well-known/oauth-authorization-server";
pub(crate) const REDIRECT: &str = "http://127.0.0.1:7777/callback";

/// The result of a flow.
pub(crate) type Outcome = Result<Credentials, AuthorizationError>;

pub(crate) struct World {
    routes: Vec<(String, VecDeque<HttpResponse>)>,
    /// All actions, one a line.
    pub(crate) transcript: Vec<String>,
    /// The last URL that was opened.
    pub(crate) opened: Vec<(String, String)>,
    /// The token requests as sent.
    pub(crate) sent: Vec<HttpRequest>,
    /// Writes the redirect from the state.
    pub(crate) redirect: Box<dyn Fn(&str) -> String>,
    pub(crate) subject: Result<String, AuthorizationError>,
    pub(crate) now: SystemTime,
}

pub(crate) fn reply(status: u16, body: &Value) -> HttpResponse {
    HttpResponse {
        status: StatusCode::from_u16(status).unwrap(),
        headers: HeaderMap::new(),
        body: body.to_string().into_bytes(),
    }
}

pub(crate) fn with_header(mut response: HttpResponse, name: &'static str, value: &str) -> HttpResponse {
    response.headers.insert(HeaderName::from_static(name), HeaderValue::try_from(value).unwrap());
    response
}

pub(crate) fn resource_metadata() -> Value {
    json!({"resource": SERVER, "authorization_servers": [ISSUER]})
}

pub(crate) fn server_metadata() -> Value {
    metadata_of(ISSUER)
}

pub(crate) fn metadata_of(issuer: &str) -> Value {
    json!({
        "issuer": issuer,
        "authorization_endpoint": format!("{issuer}/authorize"),
        "token_endpoint": format!("{issuer}/token"),
        "registration_endpoint": format!("{issuer}/register"),
        "response_types_supported": ["code"],
        "code_challenge_methods_supported": ["S256"],
        "token_endpoint_auth_methods_supported": ["none"],
        "authorization_response_iss_parameter_supported": true,
    })
}

pub(crate) fn token(name: &str) -> Value {
    json!({"access_token": name, "token_type": "Bearer", "expires_in": 3600})
}

/// A value with other members.
pub(crate) fn patched(mut value: Value, members: &Value) -> Value {
    for (name, member) in members.as_object().unwrap() {
        if member.is_null() {
            value.as_object_mut().unwrap().remove(name);
        } else {
            value[name] = member.clone();
        }
    }
    value
}

pub(crate) fn config() -> OAuthConfig {
    OAuthConfig::new(SERVER).unwrap()
}

/// The demand of a 401 or 403 with these values.
pub(crate) fn demand(status: u16, www_authenticate: &str) -> TokenDemand {
    TokenDemand::read(&Challenge {
        url: SERVER.to_owned(),
        status: StatusCode::from_u16(status).unwrap(),
        www_authenticate: vec![www_authenticate.to_owned()],
        dpop_nonce: None,
        authorization: None,
        attempt: 1,
    })
    .unwrap()
}

impl World {
    /// No server has anything.
    pub(crate) fn empty() -> Self {
        Self {
            routes: Vec::new(),
            transcript: Vec::new(),
            opened: Vec::new(),
            sent: Vec::new(),
            redirect: Box::new(|state| format!("code=c0de&state={state}&iss=https%3A%2F%2Flogin.example.com")),
            subject: Ok("subject-token".to_owned()),
            now: UNIX_EPOCH + Duration::from_secs(1_000_000),
        }
    }

    /// An MCP server that publishes its metadata, and an authorization server that registers clients.
    pub(crate) fn new() -> Self {
        Self::with(&resource_metadata(), &server_metadata())
    }

    pub(crate) fn with(resource: &Value, server: &Value) -> Self {
        let mut world = Self::empty();
        world.on(&format!("GET {PRM}/mcp"), reply(200, resource));
        world.on(&format!("GET {METADATA}"), reply(200, server));
        world.authorization_server(ISSUER);
        world
    }

    /// The POST endpoints of an issuer.
    pub(crate) fn authorization_server(&mut self, issuer: &str) {
        self.on(&format!("POST {issuer}/register"), reply(201, &json!({"client_id": "registered"})));
        self.on(&format!("POST {issuer}/token"), reply(200, &token("t1")));
    }

    /// Sets the response to a request.
    pub(crate) fn on(&mut self, request: &str, response: HttpResponse) {
        self.on_each(request, [response]);
    }

    /// Sets the responses to a request, the last of which is repeated.
    pub(crate) fn on_each(&mut self, request: &str, responses: impl IntoIterator<Item = HttpResponse>) {
        self.routes.retain(|(known, _)| known != request);
        self.routes.push((request.to_owned(), responses.into_iter().collect()));
    }

    /// Runs a flow for a challenge.
    pub(crate) fn challenge(&mut self, config: OAuthConfig, demand: TokenDemand, known: &[&Credentials]) -> Outcome {
        let known = known.iter().map(|&known| known.clone()).collect();
        let (flow, action) = AuthorizationFlow::challenged(Arc::new(config), demand, known);
        self.run(flow, action)
    }

    /// Runs the usual flow.
    pub(crate) fn authorize(&mut self) -> Outcome {
        self.challenge(config(), demand(401, "Bearer"), &[])
    }

    pub(crate) fn run(&mut self, mut flow: AuthorizationFlow, mut action: FlowAction) -> Outcome {
        for _ in 0..30 {
            let event = match action {
                FlowAction::Send(request) => self.answer(request),
                FlowAction::PrepareRedirect => FlowEvent::RedirectUri(REDIRECT.to_owned()),
                FlowAction::OpenBrowser { url, state } => self.open(url.as_str(), &state),
                FlowAction::GetSubjectToken { issuer } => {
                    self.log(format!("identify for {issuer}"));
                    match self.subject.clone() {
                        Ok(subject) => FlowEvent::SubjectToken(subject),
                        Err(error) => FlowEvent::Failed(error),
                    }
                }
                FlowAction::Store(credentials) => {
                    self.log(format!("store for {}", credentials.issuer()));
                    FlowEvent::Stored
                }
                FlowAction::Remove(credentials) => {
                    self.log(format!("remove of {}", credentials.issuer()));
                    FlowEvent::Stored
                }
                FlowAction::Done(credentials) => return Ok(*credentials),
                FlowAction::Fail(error) => return Err(error),
            };
            action = flow.handle(event, self.now);
        }
        panic!("the flow does not end: {:#?}", self.transcript)
    }

    fn log(&mut self, line: String) {
        self.transcript.push(line);
    }

    fn answer(&mut self, request: HttpRequest) -> FlowEvent {
        let name = format!("{} {}", request.method, request.url);
        let form = if request.url.as_str().ends_with("/token") { shown_form(&request) } else { String::new() };
        self.log(format!("{name}{form}"));
        if !form.is_empty() {
            self.check_verifier(&request);
            self.sent.push(request);
        }
        let responses = self.routes.iter_mut().find(|(known, _)| *known == name).map(|(_, responses)| responses);
        FlowEvent::Response(match responses {
            Some(responses) if responses.len() > 1 => responses.pop_front().unwrap(),
            Some(responses) => responses[0].clone(),
            None => reply(404, &json!({})),
        })
    }

    fn open(&mut self, url: &str, state: &str) -> FlowEvent {
        let (endpoint, query) = url.split_once('?').unwrap();
        self.opened = pairs(query);
        assert_eq!(self.param("code_challenge_method"), Some("S256"));
        assert_eq!(self.param("response_type"), Some("code"));
        assert_eq!(self.param("state"), Some(state));
        let hidden = ["response_type", "code_challenge_method", "code_challenge", "state", "redirect_uri"];
        let shown = self.opened.iter().filter(|(name, _)| !hidden.contains(&name.as_str()));
        let shown: String = shown.map(|(name, value)| format!(" {name}={value}")).collect();
        self.log(format!("open {endpoint}{shown}"));
        FlowEvent::Redirect((self.redirect)(state))
    }

    /// A parameter of the URL that was opened.
    pub(crate) fn param(&self, name: &str) -> Option<&str> {
        self.opened.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    fn check_verifier(&self, request: &HttpRequest) {
        let form = pairs(&request.body);
        let verifier = form.iter().find(|(name, _)| name == "code_verifier").map(|(_, value)| value);
        if let Some(verifier) = verifier {
            let hash = ring::digest::digest(&ring::digest::SHA256, verifier.as_bytes());
            assert_eq!(self.param("code_challenge"), Some(URL_SAFE_NO_PAD.encode(hash).as_str()));
        }
    }

    /// The lines of the transcript that contain this.
    pub(crate) fn lines(&self, part: &str) -> Vec<&str> {
        self.transcript.iter().map(String::as_str).filter(|line| line.contains(part)).collect()
    }
}

/// The form of a token request, and its authentication.
fn shown_form(request: &HttpRequest) -> String {
    let hidden = ["code_verifier", "client_assertion", "redirect_uri"];
    let shown = pairs(&request.body).into_iter().filter(|(name, _)| !hidden.contains(&name.as_str()));
    let mut shown: String = shown.map(|(name, value)| format!(" {name}={value}")).collect();
    if let Some(authorization) = request.headers.get("authorization") {
        let pair = authorization.to_str().unwrap().strip_prefix("Basic ").unwrap();
        shown += &format!(" [{}]", String::from_utf8(STANDARD.decode(pair).unwrap()).unwrap());
    }
    shown
}

/// The pairs of a form.
pub(crate) fn pairs(form: &str) -> Vec<(String, String)> {
    let decode = |text: &str| {
        let mut bytes = Vec::new();
        let mut rest = text.bytes();
        while let Some(byte) = rest.next() {
            bytes.push(match byte {
                b'+' => b' ',
                b'%' => {
                    let digits = [rest.next().unwrap(), rest.next().unwrap()];
                    u8::from_str_radix(std::str::from_utf8(&digits).unwrap(), 16).unwrap()
                }
                byte => byte,
            });
        }
        String::from_utf8(bytes).unwrap()
    };
    form.split('&').filter_map(|pair| pair.split_once('=')).map(|(name, value)| (decode(name), decode(value))).collect()
}

/// The claims of a signed token.
pub(crate) fn claims(token: &str) -> (Value, Value) {
    let mut parts = token.split('.').map(|part| URL_SAFE_NO_PAD.decode(part).unwrap());
    let mut part = || serde_json::from_slice(&parts.next().unwrap()).unwrap();
    (part(), part())
}

#[track_caller]
pub(crate) fn unavailable(outcome: &Outcome) {
    assert!(matches!(outcome, Err(AuthorizationError::Unavailable(_))), "{outcome:?}");
}

#[track_caller]
pub(crate) fn untrusted(outcome: Outcome, part: &str) {
    match outcome {
        Err(AuthorizationError::Untrusted(reason)) => assert!(reason.contains(part), "{reason}"),
        other => panic!("{other:?}"),
    }
}

#[track_caller]
pub(crate) fn unsupported(outcome: Outcome, part: &str) {
    match outcome {
        Err(AuthorizationError::Unsupported(reason)) => assert!(reason.contains(part), "{reason}"),
        other => panic!("{other:?}"),
    }
}
