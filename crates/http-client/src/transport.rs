//! The transport and its receiving half.

use std::fmt;
use std::sync::Arc;

use http::{HeaderMap, HeaderName, HeaderValue};
use protomcp_oauth::Authorizer;
use protomcp_session::Extensions;
use protomcp_transport::{Received, Source, Transport, TransportError};
#[cfg(feature = "tls")]
use protomcp_web::Tls;
use protomcp_web::{Connector, Proxies, ProxyError};
use tokio::sync::mpsc;

use crate::authorization::AuthorizationHttp;
use crate::conversation::{Conversation, Delivered};
use crate::http_client::HttpClient;
use crate::limits::Limits;
use crate::message_budget::Taken;
use crate::request::is_reserved;
use crate::server_url::{ServerUrl, UrlError};
use crate::sink::HttpSink;

/// A connection to an MCP server over Streamable HTTP, or over the older HTTP+SSE if the server speaks nothing newer.
///
/// Nothing is sent before the first [`Sink::flush`](protomcp_transport::Sink::flush), which must run in a tokio runtime.
pub struct HttpTransport {
    server: ServerUrl,
    headers: HeaderMap,
    authorizer: Option<Arc<dyn Authorizer>>,
    limits: Limits,
    /// `None`: the proxies of the environment.
    proxies: Option<Arc<Proxies>>,
    #[cfg(feature = "tls")]
    tls: Tls,
}

/// A header field that cannot be sent with each request.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HeaderError {
    /// Not the name of a header field.
    #[error("{0:?} is not the name of a header field")]
    Name(String),
    /// The value has characters that no header field can carry. It may be a secret, so it is not repeated here.
    #[error("the value of the header field {0:?} cannot be sent")]
    Value(String),
    /// The transport sets this field itself.
    #[error("the header field {0:?} is set by the transport")]
    Reserved(String),
}

impl HttpTransport {
    /// Will connect to the server at this URL: `http` or `https`, without credentials and fragment.
    ///
    /// # Errors
    /// If the text is not such a URL.
    pub fn new(url: &str) -> Result<Self, UrlError> {
        Ok(Self {
            server: ServerUrl::parse(url)?,
            headers: HeaderMap::new(),
            authorizer: None,
            limits: Limits::default(),
            proxies: None,
            #[cfg(feature = "tls")]
            tls: Tls::default(),
        })
    }

    /// Sends this field with every request, such as an API key. It goes to the origin of the URL only.
    ///
    /// # Errors
    /// If it is not a valid field, or one that the transport sets itself.
    pub fn header(mut self, name: &str, value: &str) -> Result<Self, HeaderError> {
        let field = HeaderName::try_from(name).map_err(|_| HeaderError::Name(name.to_owned()))?;
        if is_reserved(&field) {
            return Err(HeaderError::Reserved(name.to_owned()));
        }
        let mut value = HeaderValue::try_from(value).map_err(|_| HeaderError::Value(name.to_owned()))?;
        value.set_sensitive(true);
        self.headers.insert(field, value);
        Ok(self)
    }

    /// Authorizes every request; see [`Authorizer`]. Its fields replace the fields of [`header`](Self::header).
    #[must_use]
    pub fn authorizer(mut self, authorizer: Arc<dyn Authorizer>) -> Self {
        self.authorizer = Some(authorizer);
        self
    }

    /// Replaces the limits.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Reaches the server through this proxy, instead of the proxies of `HTTPS_PROXY`, `HTTP_PROXY` and `ALL_PROXY`: an
    /// `http` or `https` URL, with credentials if the proxy wants some. Plain `http` to this machine has no proxy.
    ///
    /// # Errors
    /// If the text is not such a URL.
    pub fn proxy(mut self, url: &str) -> Result<Self, ProxyError> {
        self.proxies = Some(Arc::new(Proxies::one(url)?));
        Ok(self)
    }

    /// Reaches the server directly, whatever the environment says.
    #[must_use]
    pub fn without_proxy(mut self) -> Self {
        self.proxies = Some(Arc::new(Proxies::off()));
        self
    }

    /// Replaces the certificates that are trusted, and the certificate of the client.
    #[cfg(feature = "tls")]
    #[must_use]
    pub fn tls(mut self, tls: impl Into<Tls>) -> Self {
        self.tls = tls.into();
        self
    }

    /// Carries the requests of an OAuth client for this server: through the same proxies, trusting the same certificates,
    /// and without the certificate of the client (`Tls::with_identity_pem`; one in a configuration that was made
    /// elsewhere is presented). Set both before.
    #[must_use]
    pub fn authorization(&self) -> AuthorizationHttp {
        let connector = Connector::new(self.proxies(), self.limits.clone().bounded().connect_timeout);
        #[cfg(feature = "tls")]
        let connector = connector.tls(self.tls.without_identity());
        AuthorizationHttp::new(connector)
    }

    fn proxies(&self) -> Arc<Proxies> {
        self.proxies.clone().unwrap_or_else(|| Arc::new(Proxies::from_environment()))
    }
}

impl Transport for HttpTransport {
    type Source = HttpSource;
    type Sink = HttpSink;

    fn split(self) -> (HttpSource, HttpSink) {
        let proxies = self.proxies();
        let limits = self.limits.bounded();
        let connector = Connector::new(proxies, limits.connect_timeout);
        #[cfg(feature = "tls")]
        let connector = connector.tls(self.tls);
        let client = HttpClient::new(self.server, connector, self.headers, self.authorizer, &limits);
        let (conversation, messages) = Conversation::new(client, limits);
        (HttpSource { messages, last: None, taken: Taken::default() }, HttpSink::new(conversation))
    }
}

impl fmt::Debug for HttpTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpTransport")
            .field("server", &format_args!("{}", self.server))
            .field("limits", &self.limits)
            .field("has_authorizer", &self.authorizer.is_some())
            .finish_non_exhaustive()
    }
}

/// The receiving half of an [`HttpTransport`]. It ends when the [`HttpSink`] is dropped.
#[derive(Debug)]
pub struct HttpSource {
    messages: mpsc::Receiver<Delivered>,
    /// The facts about the last message, and the length of its text.
    last: Option<(Extensions, usize)>,
    /// The room of the last message, until the next is asked for.
    taken: Taken,
}

impl Source for HttpSource {
    async fn next(&mut self) -> Result<Option<Received>, TransportError> {
        // The client has handled the last message: its room must not wait for another one.
        self.taken = Taken::default();
        let Some(Delivered { received, extensions, text_len, taken }) = self.messages.recv().await else {
            return Ok(None);
        };
        self.last = Some((extensions, text_len));
        self.taken = taken;
        Ok(Some(received))
    }

    fn extensions(&mut self) -> Extensions {
        self.last.as_mut().map(|(extensions, _)| std::mem::take(extensions)).unwrap_or_default()
    }

    fn text_len(&self) -> usize {
        self.last.as_ref().map_or(0, |(_, length)| *length)
    }
}
