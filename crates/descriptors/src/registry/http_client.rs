//! One request to a registry: TLS 1.3, with bounded time and size, and pinned keys if there are any.
//!
//! Each request has its own connection, because there are few: one for each version of a module. Redirects are not
//! followed, so that a token reaches its own host only.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE, ETAG, HeaderValue, RETRY_AFTER, USER_AGENT};
use http::{HeaderMap, Method, Request, Response, Uri};
use protomcp_web::{Connector, OneShot, Proxies, Tls};
use rustls::client::WebPkiServerVerifier;
use rustls::pki_types::CertificateDer;
use rustls::{ClientConfig, RootCertStore};

use crate::reference::Host;
use crate::registry::api::{HttpRequest, HttpResponse};
use crate::registry::credentials::Token;
use crate::registry::error::{Cause, ResolveError};
use crate::registry::pins::{Pin, PinnedVerifier};

/// The bounds of one answer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    pub(crate) timeout: Duration,
    pub(crate) max_bytes: usize,
}

/// The way to one registry.
#[derive(Debug, Clone, Default)]
pub struct Endpoint {
    address: Option<SocketAddr>,
    authorities: Vec<CertificateDer<'static>>,
    pins: Vec<Pin>,
    client: Arc<OnceLock<OneShot>>,
}

impl Endpoint {
    /// Port 443 of the registry's name, through the proxies of the environment, with the certificates that the system trusts.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Connects to an address instead of the registry's name, without a proxy. The certificate is still checked for the
    /// name.
    #[must_use]
    pub fn address(mut self, address: SocketAddr) -> Self {
        self.address = Some(address);
        self
    }

    /// Trusts this certificate authority, in place of the system's.
    #[must_use]
    pub fn authority(mut self, certificate: CertificateDer<'static>) -> Self {
        self.authorities.push(certificate);
        self
    }

    /// Refuses connections unless the registry's key is one of `pins`. Give two at least: a key is replaced some day.
    #[must_use]
    pub fn pins(mut self, pins: impl IntoIterator<Item = Pin>) -> Self {
        self.pins.extend(pins);
        self
    }

    /// Sends a request, and reads the answer within `bounds`.
    pub(crate) async fn exchange(
        &self,
        host: &Host,
        request: HttpRequest,
        token: Option<&Token>,
        bounds: Bounds,
    ) -> Result<HttpResponse, ResolveError> {
        let Bounds { timeout, max_bytes } = bounds;
        let request = prepare(host, request, token)?;
        let client = self.client.get_or_init(|| self.client());
        let unavailable = |why: String| ResolveError::new(Cause::Unavailable, format!("{host} {why}"));
        let response =
            client.send(request, timeout, max_bytes).await.map_err(|error| unavailable(error.to_string()))?;
        if response.body().len() > max_bytes {
            return Err(unavailable(format!("cannot be reached: the answer has more than {max_bytes} bytes")));
        }
        Ok(read(response))
    }

    fn client(&self) -> OneShot {
        let (authorities, pins) = (self.authorities.clone(), self.pins.clone());
        let connector = Connector::new(Arc::new(Proxies::from_environment()), Duration::MAX)
            .tls(Tls::made_by(move || configure(&authorities, &pins)));
        OneShot::new(match self.address {
            Some(address) => connector.address(address),
            None => connector,
        })
    }
}

fn configure(authorities: &[CertificateDer<'static>], pins: &[Pin]) -> io::Result<ClientConfig> {
    let mut roots = RootCertStore::empty();
    let certificates = match authorities {
        [] => rustls_native_certs::load_native_certs().certs,
        given => given.to_vec(),
    };
    if roots.add_parsable_certificates(certificates).0 == 0 {
        return Err(io::Error::other("no certificate authority is trusted"));
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(&[&rustls::version::TLS13])
        .map_err(io::Error::other)?;
    let verifier: Arc<WebPkiServerVerifier> =
        WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider).build().map_err(io::Error::other)?;
    if pins.is_empty() {
        return Ok(builder.with_webpki_verifier(verifier).with_no_client_auth());
    }
    let verifier = Arc::new(PinnedVerifier { inner: verifier, pins: pins.to_vec() });
    Ok(builder.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth())
}

fn prepare(host: &Host, request: HttpRequest, token: Option<&Token>) -> Result<Request<Bytes>, ResolveError> {
    let invalid = || ResolveError::new(Cause::InvalidRef, "the request cannot be written");
    let mut headers = HeaderMap::new();
    for (name, value) in request.headers {
        headers.insert(name, HeaderValue::from_str(&value).map_err(|_| invalid())?);
    }
    headers.insert(USER_AGENT, HeaderValue::from_static("protomcp"));
    if let Some(token) = token {
        let mut value = HeaderValue::from_str(&format!("Bearer {}", token.secret())).map_err(|_| invalid())?;
        value.set_sensitive(true);
        headers.insert(AUTHORIZATION, value);
    }
    let uri = Uri::builder().scheme("https").authority(host.as_str()).path_and_query(request.path).build();
    let mut prepared = Request::new(request.body);
    *prepared.method_mut() = Method::POST;
    *prepared.uri_mut() = uri.map_err(|_| invalid())?;
    *prepared.headers_mut() = headers;
    Ok(prepared)
}

fn read(response: Response<Bytes>) -> HttpResponse {
    let (head, body) = response.into_parts();
    let text = |name| head.headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
    HttpResponse {
        status: head.status.as_u16(),
        content_type: text(CONTENT_TYPE).unwrap_or_default(),
        retry_after: text(RETRY_AFTER).and_then(|seconds| seconds.parse().ok()).map(Duration::from_secs),
        etag: text(ETAG),
        body,
    }
}
