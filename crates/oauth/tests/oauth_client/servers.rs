//! An MCP server, an authorization server and a server that must get nothing, each on its own port.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Bytes, to_bytes};
use axum::extract::Request;
use axum::response::{IntoResponse, Response};
use http::header::{HeaderMap, LOCATION};
use http::{HeaderValue, StatusCode, Uri};
use protomcp_oauth::{
    AuthorizationError, Authorizer, Browser, Challenge, HttpClient, LoopbackUserAgent, OAuthClient, OAuthClientBuilder,
    OAuthConfig,
};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

/// A request as it has arrived.
#[derive(Debug, Clone)]
pub(crate) struct Recorded {
    /// With the query.
    pub(crate) target: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
}

impl Recorded {
    pub(crate) fn authorization(&self) -> Option<&str> {
        self.headers.get("authorization").map(|value| value.to_str().unwrap())
    }
}

type Script = Box<dyn FnMut(&Recorded) -> Response + Send>;

/// A server with a script.
#[derive(Clone)]
pub(crate) struct Server {
    pub(crate) url: String,
    log: Arc<Mutex<Vec<Recorded>>>,
    script: Arc<Mutex<Script>>,
}

impl Server {
    /// A server that answers everything with 404.
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://127.0.0.1:{}", listener.local_addr().unwrap().port());
        let script: Script = Box::new(|_| StatusCode::NOT_FOUND.into_response());
        let server = Self { url, log: Arc::default(), script: Arc::new(Mutex::new(script)) };
        let shared = server.clone();
        let app = Router::new().fallback(move |request: Request| async move {
            let (head, body) = request.into_parts();
            let body: Bytes = to_bytes(body, 1 << 20).await.unwrap();
            let recorded = Recorded {
                target: head.uri.to_string(),
                headers: head.headers,
                body: String::from_utf8(body.to_vec()).unwrap(),
            };
            shared.log.lock().unwrap().push(recorded.clone());
            (shared.script.lock().unwrap())(&recorded)
        });
        tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
        server
    }

    pub(crate) fn on(&self, script: impl FnMut(&Recorded) -> Response + Send + 'static) {
        *self.script.lock().unwrap() = Box::new(script);
    }

    pub(crate) fn log(&self) -> Vec<Recorded> {
        self.log.lock().unwrap().clone()
    }

    /// The number of requests with this in their target or body.
    pub(crate) fn count(&self, part: &str) -> usize {
        self.log().iter().filter(|request| request.target.contains(part) || request.body.contains(part)).count()
    }
}

pub(crate) fn json_reply(status: u16, body: &Value) -> Response {
    (StatusCode::from_u16(status).unwrap(), body.to_string()).into_response()
}

pub(crate) fn challenge(status: u16, value: &str) -> Response {
    let status = StatusCode::from_u16(status).unwrap();
    (status, [("www-authenticate", value.to_owned())]).into_response()
}

pub(crate) fn redirect(target: &str) -> Response {
    (StatusCode::TEMPORARY_REDIRECT, [(LOCATION, target.to_owned())]).into_response()
}

/// A browser whose user agrees immediately: it goes straight to the redirect URI.
#[derive(Clone, Default)]
pub(crate) struct EagerBrowser {
    pub(crate) opened: Arc<Mutex<Vec<HashMap<String, String>>>>,
    pub(crate) issuer: Arc<Mutex<String>>,
}

impl Browser for EagerBrowser {
    fn open(&self, url: &str) -> std::io::Result<()> {
        let uri: Uri = url.parse().unwrap();
        let decode = |text: &str| text.replace("%3A", ":").replace("%2F", "/").replace('+', " ");
        let pairs: HashMap<_, _> = uri
            .query()
            .unwrap()
            .split('&')
            .filter_map(|pair| pair.split_once('='))
            .map(|(name, value)| (name.to_owned(), decode(value)))
            .collect();
        let target =
            format!("{}?code=c&state={}&iss={}", pairs["redirect_uri"], pairs["state"], self.issuer.lock().unwrap());
        self.opened.lock().unwrap().push(pairs);
        get(&target);
        Ok(())
    }
}

impl EagerBrowser {
    pub(crate) fn count(&self) -> usize {
        self.opened.lock().unwrap().len()
    }
}

/// Gets a page as a browser would, and returns its text.
pub(crate) fn get(url: &str) -> String {
    let uri: Uri = url.parse().unwrap();
    let mut stream = TcpStream::connect(uri.authority().unwrap().as_str()).unwrap();
    let target = uri.path_and_query().unwrap();
    write!(stream, "GET {target} HTTP/1.1\r\nhost: {}\r\n\r\n", uri.authority().unwrap()).unwrap();
    let mut page = String::new();
    stream.read_to_string(&mut page).unwrap();
    page
}

/// The three servers and the browser.
pub(crate) struct World {
    pub(crate) mcp: Server,
    pub(crate) issuer: Server,
    pub(crate) stranger: Server,
    pub(crate) browser: EagerBrowser,
    /// The tokens that the MCP server accepts.
    pub(crate) valid: Arc<Mutex<Vec<String>>>,
}

impl World {
    /// An MCP server that accepts the newest token, and an authorization server that rotates refresh tokens.
    pub(crate) async fn start() -> Self {
        let (mcp, issuer, stranger) = (Server::start().await, Server::start().await, Server::start().await);
        let browser = EagerBrowser::default();
        browser.issuer.lock().unwrap().clone_from(&issuer.url);
        let valid: Arc<Mutex<Vec<String>>> = Arc::default();
        let world = Self { mcp, issuer, stranger, browser, valid };
        world.mcp.on(world.mcp_script());
        world.issuer.on(world.issuer_script());
        world
    }

    pub(crate) fn server_url(&self) -> String {
        format!("{}/mcp", self.mcp.url)
    }

    pub(crate) fn mcp_script(&self) -> impl FnMut(&Recorded) -> Response + Send + 'static {
        let (resource, issuer, valid) = (self.server_url(), self.issuer.url.clone(), Arc::clone(&self.valid));
        move |request| {
            if request.target == "/.well-known/oauth-protected-resource/mcp" {
                return json_reply(200, &json!({"resource": resource, "authorization_servers": [issuer]}));
            }
            if request.target != "/mcp" {
                return StatusCode::NOT_FOUND.into_response();
            }
            let valid = valid.lock().unwrap();
            let is_valid = |header: &str| valid.iter().any(|token| header == format!("Bearer {token}"));
            if request.authorization().is_some_and(is_valid) {
                return StatusCode::OK.into_response();
            }
            challenge(401, "Bearer")
        }
    }

    pub(crate) fn metadata(&self) -> Value {
        let url = &self.issuer.url;
        json!({
            "issuer": url,
            "authorization_endpoint": format!("{url}/authorize"),
            "token_endpoint": format!("{url}/token"),
            "registration_endpoint": format!("{url}/register"),
            "code_challenge_methods_supported": ["S256"],
            "token_endpoint_auth_methods_supported": ["none", "client_secret_basic"],
            "authorization_response_iss_parameter_supported": true,
        })
    }

    /// Each token is `tN` with the refresh token `rN`; each refresh token works once.
    pub(crate) fn issuer_script(&self) -> impl FnMut(&Recorded) -> Response + Send + 'static {
        let (metadata, valid, mut issued) = (self.metadata(), Arc::clone(&self.valid), 0);
        move |request| match request.target.as_str() {
            "/.well-known/oauth-authorization-server" => json_reply(200, &metadata),
            "/register" => json_reply(201, &json!({"client_id": "registered"})),
            "/token" => {
                let is_refresh = request.body.contains("grant_type=refresh_token");
                if is_refresh && !request.body.contains(&format!("refresh_token=r{issued}&")) {
                    return json_reply(400, &json!({"error": "invalid_grant"}));
                }
                issued += 1;
                *valid.lock().unwrap() = vec![format!("t{issued}")];
                let token = json!({
                    "access_token": format!("t{issued}"), "token_type": "Bearer", "expires_in": 3600,
                    "refresh_token": format!("r{issued}"),
                });
                json_reply(200, &token)
            }
            _ => StatusCode::NOT_FOUND.into_response(),
        }
    }

    pub(crate) fn builder(&self) -> OAuthClientBuilder {
        OAuthClient::builder(OAuthConfig::new(&self.server_url()).unwrap())
            .user_agent(LoopbackUserAgent::default().browser(self.browser.clone()))
            .http(HttpClient::default())
    }

    pub(crate) fn client(&self) -> OAuthClient {
        self.builder().build()
    }

    /// One request of a transport, repeated as the client says. Returns the last status.
    pub(crate) async fn call(&self, client: &OAuthClient) -> Result<u16, AuthorizationError> {
        let url = self.server_url();
        for attempt in 1..20 {
            let headers = client.headers("POST", &url).await?;
            let (status, answer) = post(&url, &headers).await;
            if let Some(nonce) = answer.get("dpop-nonce").filter(|_| status == 200) {
                client.nonce(&url, nonce.to_str().unwrap());
            }
            if status != 401 && status != 403 {
                return Ok(status);
            }
            let values = answer.get_all("www-authenticate").iter().map(|value| value.to_str().unwrap().to_owned());
            let challenge = Challenge {
                url: url.clone(),
                status: StatusCode::from_u16(status).unwrap(),
                www_authenticate: values.collect(),
                dpop_nonce: answer.get("dpop-nonce").map(|nonce| nonce.to_str().unwrap().to_owned()),
                authorization: headers.iter().find(|(name, _)| name == "authorization").map(|(_, value)| value.clone()),
                attempt,
            };
            if !client.challenged(challenge).await? {
                return Ok(status);
            }
        }
        panic!("the client repeats for ever");
    }

    /// Fails if a secret has gone anywhere but to its owner.
    #[track_caller]
    pub(crate) fn check_destinations(&self) {
        assert!(self.stranger.log().is_empty(), "{:?}", self.stranger.log());
        for request in self.issuer.log() {
            let is_bearer = request.authorization().is_some_and(|value| value.starts_with("Bearer"));
            assert!(!is_bearer, "an access token went to the issuer: {request:?}");
        }
        for request in self.mcp.log() {
            let all = format!("{} {} {:?}", request.target, request.body, request.headers);
            assert!(!all.contains("refresh_token") && !all.contains("code_verifier"), "{request:?}");
            let is_described = request.target.starts_with("/.well-known");
            assert!(!is_described || request.authorization().is_none(), "{request:?}");
        }
    }
}

async fn post(url: &str, headers: &[(http::HeaderName, HeaderValue)]) -> (u16, HeaderMap) {
    let uri: Uri = url.parse().unwrap();
    let authority = uri.authority().unwrap();
    let mut stream = tokio::net::TcpStream::connect(authority.as_str()).await.unwrap();
    let mut head =
        format!("POST {} HTTP/1.1\r\nhost: {authority}\r\nconnection: close\r\ncontent-length: 0\r\n", uri.path());
    for (name, value) in headers {
        head += &format!("{name}: {}\r\n", value.to_str().unwrap());
    }
    stream.write_all(format!("{head}\r\n").as_bytes()).await.unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).await.unwrap();
    let mut lines = text.split("\r\n");
    let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
    let mut fields = HeaderMap::new();
    for (name, value) in lines.map_while(|line| line.split_once(": ")) {
        fields.append(http::HeaderName::try_from(name).unwrap(), value.parse().unwrap());
    }
    (status, fields)
}
