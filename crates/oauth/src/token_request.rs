//! A request to a token endpoint, repeated once with the nonce that the endpoint asks for, and its response.

use std::time::{Duration, SystemTime};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use serde_json::{Map, Value, json};

use crate::authorizer::AuthorizationError;
use crate::credentials::{Token, TokenKind, seconds};
use crate::dpop::{Proof, accepted_nonce};
use crate::exchange::{HttpRequest, HttpResponse};
use crate::form::{encode, encode_pairs};
use crate::metadata::{brief, json_object, untrusted};
use crate::signing::{Es256Key, random_text};
use crate::step::Step;
use protomcp_auth::MAX_TOKEN;
use protomcp_auth::Url;

/// The life of a client's assertion: long enough for clocks that differ by some minutes.
const ASSERTION_LIFE: Duration = Duration::from_secs(300);

/// The type of a client's assertion (RFC 7523, section 2.2).
const ASSERTION_TYPE: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

const DPOP: HeaderName = HeaderName::from_static("dpop");
const DPOP_NONCE: HeaderName = HeaderName::from_static("dpop-nonce");

/// The authentication of the client, with its secret.
#[derive(Clone)]
pub(crate) enum ClientAuth {
    None {
        id: String,
    },
    Basic {
        id: String,
        secret: String,
    },
    Post {
        id: String,
        secret: String,
    },
    /// `audience` is the issuer.
    PrivateKeyJwt {
        id: String,
        key: Es256Key,
        audience: String,
    },
}

/// A request to a token endpoint.
pub(crate) struct TokenRequest {
    pub(crate) endpoint: Url,
    /// The parameters without the parameters of the client's authentication.
    pub(crate) form: Vec<(&'static str, String)>,
    pub(crate) auth: ClientAuth,
    /// The key that the token is to be bound to.
    pub(crate) dpop_key: Option<Es256Key>,
    nonce: Option<String>,
}

impl TokenRequest {
    pub(crate) fn new(endpoint: Url, form: Vec<(&'static str, String)>, auth: ClientAuth) -> Self {
        Self { endpoint, form, auth, dpop_key: None, nonce: None }
    }

    /// Asks for a token that is bound to this key.
    pub(crate) fn bound_to(mut self, key: Option<Es256Key>) -> Self {
        self.dpop_key = key;
        self
    }

    pub(crate) fn to_http(&self, now: SystemTime) -> HttpRequest {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/x-www-form-urlencoded"));
        let mut form: Vec<(&str, &str)> = self.form.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let assertion;
        match &self.auth {
            ClientAuth::None { id } => form.push(("client_id", id)),
            ClientAuth::Post { id, secret } => form.extend([("client_id", id.as_str()), ("client_secret", secret)]),
            ClientAuth::Basic { id, secret } => {
                let pair = STANDARD.encode(format!("{}:{}", encode(id), encode(secret)));
                insert_secret(&mut headers, AUTHORIZATION, &format!("Basic {pair}"));
            }
            ClientAuth::PrivateKeyJwt { id, key, audience } => {
                assertion = client_assertion(id, key, audience, now);
                form.extend([
                    ("client_id", id.as_str()),
                    ("client_assertion_type", ASSERTION_TYPE),
                    ("client_assertion", &assertion),
                ]);
            }
        }
        if let Some(key) = &self.dpop_key {
            let (url, nonce) = (self.endpoint.as_str(), self.nonce.as_deref());
            let proof = Proof { method: "POST", url, nonce, access_token: None };
            insert_secret(&mut headers, DPOP, &proof.sign(key, now));
        }
        HttpRequest { method: Method::POST, url: self.endpoint.clone(), headers, body: encode_pairs(form) }
    }

    /// The token of a response, or the request again with the nonce that it asks for.
    pub(crate) fn response(
        &mut self,
        response: &HttpResponse,
        now: SystemTime,
    ) -> Result<Step<Token>, AuthorizationError> {
        let error = match self.document(response).and_then(|document| self.token(&document, now)) {
            Ok(token) => return Ok(Step::Done(token)),
            Err(error) => error,
        };
        let asks_nonce = matches!(&error, AuthorizationError::Refused { code, .. } if code == "use_dpop_nonce");
        let nonce = response.headers.get(DPOP_NONCE).and_then(|nonce| accepted_nonce(nonce.to_str().ok()?));
        match nonce {
            Some(nonce) if asks_nonce && self.dpop_key.is_some() && self.nonce.is_none() => {
                self.nonce = Some(nonce.to_owned());
                Ok(Step::Send(self.to_http(now)))
            }
            _ => Err(error),
        }
    }

    /// The assertion that a token exchange returns in place of a token (RFC 8693, section 2.2.1).
    pub(crate) fn exchanged(&self, response: &HttpResponse, wanted: &str) -> Result<String, AuthorizationError> {
        let document = self.document(response)?;
        if document.get("issued_token_type").and_then(Value::as_str) != Some(wanted) {
            return Err(untrusted(format!("{} returns a token of another type than {wanted}", self.endpoint.brief())));
        }
        self.token_text(&document, "access_token")?.ok_or_else(|| self.lacks_token())
    }

    /// The document of a success.
    fn document(&self, response: &HttpResponse) -> Result<Map<String, Value>, AuthorizationError> {
        let (status, endpoint) = (response.status, self.endpoint.brief());
        if status.is_redirection() {
            return Err(untrusted(format!("{endpoint} redirects a request that holds credentials")));
        }
        let unavailable = || AuthorizationError::Unavailable(format!("{endpoint} answers with {status}"));
        if status.is_server_error() || status == http::StatusCode::TOO_MANY_REQUESTS {
            return Err(unavailable());
        }
        let Some(document) = json_object(response) else {
            // A page of something in front of the endpoint: it says nothing about the request.
            let reason = format!("{endpoint} answers with {status} and without a JSON object");
            return Err(if status.is_success() { untrusted(reason) } else { AuthorizationError::Unavailable(reason) });
        };
        match document.get("error").map(|code| code.as_str().unwrap_or("unknown")) {
            Some("temporarily_unavailable" | "server_error") => Err(unavailable()),
            // Some servers report errors with status 200.
            Some(code) if !document.contains_key("access_token") || !status.is_success() => {
                let description = document.get("error_description").and_then(Value::as_str).map(brief);
                Err(AuthorizationError::Refused { code: brief(code), description })
            }
            None if !status.is_success() => Err(unavailable()),
            _ => Ok(document),
        }
    }

    fn token(&self, document: &Map<String, Value>, now: SystemTime) -> Result<Token, AuthorizationError> {
        let access_token = self.token_text(document, "access_token")?.ok_or_else(|| self.lacks_token())?;
        let kind = document.get("token_type").and_then(Value::as_str).unwrap_or_default();
        let kind = match kind.to_ascii_lowercase().as_str() {
            "bearer" if self.dpop_key.is_none() => TokenKind::Bearer,
            "dpop" if self.dpop_key.is_some() => TokenKind::Dpop,
            // A token that is not bound although it should be could be used by a thief.
            _ => return Err(untrusted(format!("{} returns a token of type {:?}", self.endpoint.brief(), brief(kind)))),
        };
        let life = document.get("expires_in").and_then(|life| life.as_u64().or_else(|| life.as_str()?.parse().ok()));
        let received = seconds(now);
        let scope = document.get("scope").and_then(Value::as_str).filter(|scope| scope.len() <= MAX_TOKEN);
        Ok(Token {
            access_token,
            kind,
            received,
            expires: life.map(|life| received.saturating_add(life)),
            refresh_token: self.token_text(document, "refresh_token")?,
            scope: scope.map(str::to_owned),
        })
    }

    /// A token: visible ASCII that fits into a header.
    fn token_text(&self, document: &Map<String, Value>, name: &str) -> Result<Option<String>, AuthorizationError> {
        let Some(token) = document.get(name).and_then(Value::as_str).filter(|token| !token.is_empty()) else {
            return Ok(None);
        };
        if token.len() > MAX_TOKEN || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(untrusted(format!("{} returns an invalid {name}", self.endpoint.brief())));
        }
        Ok(Some(token.to_owned()))
    }

    fn lacks_token(&self) -> AuthorizationError {
        untrusted(format!("{} returns no token", self.endpoint.brief()))
    }
}

/// The assertion by which a client authenticates (RFC 7523, section 3).
fn client_assertion(id: &str, key: &Es256Key, audience: &str, now: SystemTime) -> String {
    let now = seconds(now);
    let expires = now + ASSERTION_LIFE.as_secs();
    let claims = json!({
        "iss": id, "sub": id, "aud": audience, "iat": now, "exp": expires, "jti": random_text(),
    });
    key.sign(json!({"typ": "JWT"}), &claims)
}

fn insert_secret(headers: &mut HeaderMap, name: HeaderName, value: &str) {
    if let Ok(mut value) = HeaderValue::from_str(value) {
        value.set_sensitive(true);
        headers.insert(name, value);
    }
}
