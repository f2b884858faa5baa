//! The documents by which a client finds its authorization server: RFC 9728 and RFC 8414.

use http::StatusCode;
use http::header::CONTENT_TYPE;
use serde_json::{Map, Value};

use crate::authorizer::AuthorizationError;
use crate::exchange::{HttpResponse, MAX_DOCUMENT};
use protomcp_auth::Scopes;
use protomcp_auth::{Url, UrlError, brief_url, is_shown};

/// The most entries of a list that are read.
const MAX_ENTRIES: usize = 256;

/// The longest text that is taken from a document, in bytes.
pub(crate) const MAX_TEXT: usize = 2048;

/// The description of a protected resource (RFC 9728, section 2).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ResourceMetadata {
    /// The text that was published: it is sent back without a change.
    pub(crate) resource: String,
    /// The text that was published: issuers are compared as texts, see [`is_same_issuer`].
    pub(crate) issuers: Vec<String>,
    pub(crate) scopes: Option<Scopes>,
    /// True if only tokens that are bound to a key are accepted.
    pub(crate) requires_dpop: bool,
    pub(crate) supports_dpop: bool,
}

/// The description of an authorization server (RFC 8414, section 2).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ServerMetadata {
    /// The text that was published.
    pub(crate) issuer: String,
    /// The same as the MCP server spells it, if that differs.
    pub(crate) named: Option<String>,
    pub(crate) authorization_endpoint: Option<Url>,
    pub(crate) token_endpoint: Url,
    pub(crate) registration_endpoint: Option<Url>,
    pub(crate) scopes: Option<Vec<String>>,
    pub(crate) grant_types: Option<Vec<String>>,
    pub(crate) auth_methods: Option<Vec<String>>,
    pub(crate) dpop_algorithms: Option<Vec<String>>,
    pub(crate) has_s256: bool,
    /// RFC 9207: each redirect names the issuer.
    pub(crate) sends_iss: bool,
    /// True if a client may be a URL (Client ID Metadata Documents).
    pub(crate) takes_client_urls: bool,
    pub(crate) source: Source,
}

/// True for two spellings of one issuer. RFC 8414, section 3.3, compares texts; many issuers are named with a slash at the
/// end in one document and without in another, and no two parties share an origin and a path.
pub(crate) fn is_same_issuer(one: &str, other: &str) -> bool {
    one.strip_suffix('/').unwrap_or(one) == other.strip_suffix('/').unwrap_or(other)
}

/// The source of a description.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    /// A document.
    Published,
    /// There is none: the endpoints are those that MCP 2025-03-26 assumes.
    Assumed,
}

/// The JSON object of a response; none if it is something else, such as a web page.
pub(crate) fn json_object(response: &HttpResponse) -> Option<Map<String, Value>> {
    if response.body.len() > MAX_DOCUMENT {
        return None;
    }
    // A document may begin with a byte order mark (RFC 8259, section 8.1).
    let document = response.body.strip_prefix("\u{feff}".as_bytes()).unwrap_or(&response.body);
    serde_json::from_slice(document).ok()
}

/// The meaning of the response to a request for a document.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Document {
    Found(Map<String, Value>),
    /// There is none at this URL.
    Absent,
    /// A page of HTML. Sites that consist of one page have it at every URL.
    Page,
    /// Something else in place of a JSON object, or more than [`MAX_DOCUMENT`].
    Broken,
    /// There may be one, but not for this client.
    Withheld,
    /// There may be one later.
    Failing,
}

impl Document {
    pub(crate) fn read(response: &HttpResponse) -> Self {
        match response.status {
            StatusCode::OK => match json_object(response) {
                Some(document) => Self::Found(document),
                None if is_page(response) => Self::Page,
                None => Self::Broken,
            },
            // Servers that know a few paths and methods answer everything else with 400 or 405.
            StatusCode::NOT_FOUND | StatusCode::GONE | StatusCode::BAD_REQUEST | StatusCode::METHOD_NOT_ALLOWED => {
                Self::Absent
            }
            StatusCode::REQUEST_TIMEOUT
            | StatusCode::MISDIRECTED_REQUEST
            | StatusCode::TOO_EARLY
            | StatusCode::TOO_MANY_REQUESTS => Self::Failing,
            status if status.is_client_error() => Self::Withheld,
            _ => Self::Failing,
        }
    }
}

fn is_page(response: &HttpResponse) -> bool {
    let kind = response.headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let media = kind.split(';').next().unwrap_or_default().trim();
    media.eq_ignore_ascii_case("text/html") || response.body.trim_ascii_start().starts_with(b"<")
}

impl ResourceMetadata {
    /// True if a document names a resource at all.
    pub(crate) fn names_resource(document: &Map<String, Value>) -> bool {
        text(document, "resource").is_some()
    }

    /// Reads the description of `server`.
    pub(crate) fn read(document: &Map<String, Value>, server: &Url) -> Result<Self, AuthorizationError> {
        let resource = text(document, "resource")
            .ok_or_else(|| untrusted(format!("the metadata of {} names no resource", server.brief())))?;
        let is_of_server = Url::parse(resource).is_ok_and(|resource| resource.contains(server));
        if !is_of_server {
            return Err(untrusted(format!(
                "the metadata of {} belongs to another resource, {}",
                server.brief(),
                brief_url(resource)
            )));
        }
        Ok(Self {
            resource: resource.to_owned(),
            issuers: texts(document, "authorization_servers").unwrap_or_default(),
            scopes: scopes(document),
            requires_dpop: flag(document, "dpop_bound_access_tokens_required"),
            supports_dpop: has(document, "dpop_signing_alg_values_supported", "ES256"),
        })
    }
}

impl ServerMetadata {
    /// Reads the description of the authorization server for `resource`. Its issuer is not compared here.
    pub(crate) fn read(document: &Map<String, Value>, resource: &Url) -> Result<Self, AuthorizationError> {
        let issuer = text(document, "issuer").unwrap_or_default().to_owned();
        let endpoint = |name: &str| text(document, name).map(|url| foreign_url(url, resource)).transpose();
        let token_endpoint = endpoint("token_endpoint")?;
        let token_endpoint = token_endpoint
            .ok_or_else(|| untrusted(format!("the metadata of {} names no token endpoint", brief_url(&issuer))))?;
        Ok(Self {
            authorization_endpoint: endpoint("authorization_endpoint")?,
            token_endpoint,
            registration_endpoint: endpoint("registration_endpoint")?,
            scopes: texts(document, "scopes_supported"),
            grant_types: texts(document, "grant_types_supported"),
            auth_methods: texts(document, "token_endpoint_auth_methods_supported"),
            dpop_algorithms: texts(document, "dpop_signing_alg_values_supported"),
            has_s256: has(document, "code_challenge_methods_supported", "S256"),
            sends_iss: flag(document, "authorization_response_iss_parameter_supported"),
            takes_client_urls: flag(document, "client_id_metadata_document_supported"),
            source: Source::Published,
            issuer,
            named: None,
        })
    }

    /// The endpoints of a server without metadata (MCP 2025-03-26, "Fallbacks for Servers without Metadata Discovery").
    pub(crate) fn without_document(resource: &Url) -> Result<Self, AuthorizationError> {
        let origin = resource.origin();
        let endpoint = |name: &str| foreign_url(&format!("{origin}/{name}"), resource);
        Ok(Self {
            issuer: origin.to_owned(),
            named: None,
            authorization_endpoint: Some(endpoint("authorize")?),
            token_endpoint: endpoint("token")?,
            registration_endpoint: Some(endpoint("register")?),
            scopes: None,
            grant_types: None,
            auth_methods: None,
            dpop_algorithms: None,
            // The revision requires PKCE of its servers.
            has_s256: true,
            sends_iss: false,
            takes_client_urls: false,
            source: Source::Assumed,
        })
    }

    /// All endpoints that a client uses.
    pub(crate) fn endpoints(&self) -> impl Iterator<Item = &Url> {
        let optional = [&self.authorization_endpoint, &self.registration_endpoint];
        std::iter::once(&self.token_endpoint).chain(optional.into_iter().flatten())
    }

    /// True unless the server lists its grant types without this one.
    pub(crate) fn may_grant(&self, grant_type: &str) -> bool {
        self.grant_types.as_ref().is_none_or(|known| known.iter().any(|known| known == grant_type))
    }
}

/// A URL that `resource` or its authorization server has sent. It may be on this machine only if the resource is, and at an
/// address of a private network only if the resource is at one or on this machine, so that a server elsewhere cannot send
/// requests to services that it does not reach itself. Names are not looked up: at those, TLS asks for their certificate.
pub(crate) fn foreign_url(text: &str, resource: &Url) -> Result<Url, AuthorizationError> {
    if text.len() > MAX_TEXT {
        return Err(untrusted(format!("the URL {} is too long", brief_url(text))));
    }
    let url = Url::parse(text).map_err(|error| {
        let text = brief_url(text);
        untrusted(match error {
            UrlError::Malformed(_) => format!("{text:?} is not a URL of an authorization server"),
            UrlError::Plain(_) => format!("{text:?} is not https"),
        })
    })?;
    if url.is_on_this_machine() && !resource.is_on_this_machine() {
        return Err(untrusted(format!("{} refers to {}, on this machine", resource.brief(), url.brief())));
    }
    if url.is_on_private_network() && !resource.is_on_private_network() && !resource.is_on_this_machine() {
        return Err(untrusted(format!("{} refers to {}, in a private network", resource.brief(), url.brief())));
    }
    Ok(url)
}

pub(crate) fn untrusted(reason: String) -> AuthorizationError {
    AuthorizationError::Untrusted(reason)
}

/// A text of a peer, for a message: its first 200 characters, without those that a terminal does not show as themselves.
pub(crate) fn brief(text: &str) -> String {
    text.chars().filter(|letter| is_shown(*letter)).take(200).collect()
}

/// A text of at most [`MAX_TEXT`] bytes.
fn text<'a>(document: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
    document.get(name)?.as_str().filter(|text| !text.is_empty() && text.len() <= MAX_TEXT)
}

fn texts(document: &Map<String, Value>, name: &str) -> Option<Vec<String>> {
    let entries = document.get(name)?.as_array()?.iter().take(MAX_ENTRIES);
    let texts = entries.filter_map(Value::as_str).filter(|text| text.len() <= MAX_TEXT);
    Some(texts.map(str::to_owned).collect())
}

fn has(document: &Map<String, Value>, name: &str, value: &str) -> bool {
    document.get(name).and_then(Value::as_array).is_some_and(|list| list.iter().any(|entry| entry == value))
}

fn flag(document: &Map<String, Value>, name: &str) -> bool {
    document.get(name) == Some(&Value::Bool(true))
}

/// The scopes of a document, if it lists any.
fn scopes(document: &Map<String, Value>) -> Option<Scopes> {
    let texts = texts(document, "scopes_supported")?;
    let scopes = Scopes::lenient(texts.iter().map(String::as_str));
    (!scopes.is_empty()).then_some(scopes)
}
