//! Finds the authorization server of an MCP server: the resource's metadata, then the issuer's.

use std::collections::VecDeque;

use http::header::{ACCEPT, LOCATION};
use http::{HeaderMap, HeaderValue, Method, StatusCode};

use crate::authorizer::AuthorizationError;
use crate::exchange::{HttpRequest, HttpResponse};
use crate::oauth::metadata::{ResourceMetadata, ServerMetadata, brief, foreign_url, is_absent, json_object, untrusted};
use crate::oauth::step::Step;
use crate::oauth::well_known;
use crate::url::Url;

/// The most redirects that one document is followed through.
const MAX_REDIRECTS: u8 = 3;

/// The issuers that this client may use.
#[derive(Debug, Default)]
pub(crate) struct Issuers {
    /// The only one, if the client is configured for it.
    pub(crate) only: Option<Url>,
    /// Those that credentials are known of: preferred.
    pub(crate) known: Vec<String>,
}

/// The outcome of a discovery.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Discovered {
    /// None if the MCP server publishes no metadata, as those of 2025-03-26.
    pub(crate) resource: Option<ResourceMetadata>,
    pub(crate) server: ServerMetadata,
}

/// A discovery: one request at a time.
#[derive(Debug)]
pub(crate) struct Discovery {
    server: Url,
    issuers: Issuers,
    stage: Stage,
    /// The URLs that are still to be asked.
    candidates: VecDeque<Url>,
    /// The URL of the request under way.
    current: Url,
    redirects: u8,
}

#[derive(Debug)]
enum Stage {
    /// The description of the MCP server.
    Resource,
    /// The description of this issuer.
    Server { issuer: Issuer, resource: Option<ResourceMetadata> },
}

/// The issuer that a document must name.
#[derive(Debug)]
enum Issuer {
    /// Exactly this text.
    Named(String),
    /// The origin of an MCP server without metadata, which nothing spells: with or without a slash.
    Origin(String),
}

impl Discovery {
    /// Begins, with the URL that a challenge has named.
    pub(crate) fn start(
        server: &Url,
        named: Option<&str>,
        issuers: Issuers,
    ) -> Result<(Self, HttpRequest), AuthorizationError> {
        let named = named.map(|url| foreign_url(url, server)).transpose()?;
        let mut candidates = VecDeque::from(well_known::of_resource(server));
        if let Some(named) = named {
            candidates.retain(|url| *url != named);
            candidates.push_front(named);
        }
        let current = candidates.pop_front().unwrap_or_else(|| server.clone());
        let request = get(&current);
        let server = server.clone();
        Ok((Self { server, issuers, stage: Stage::Resource, candidates, current, redirects: 0 }, request))
    }

    /// Continues after a response.
    pub(crate) fn response(&mut self, response: &HttpResponse) -> Result<Step<Discovered>, AuthorizationError> {
        if response.status.is_redirection() {
            return self.follow(response);
        }
        let document = if response.status == StatusCode::OK {
            // A page of HTML in place of a document is an absent document.
            json_object(response)
        } else if is_absent(response) {
            None
        } else {
            let reason = format!("{} answers with {}", self.current, response.status);
            return Err(AuthorizationError::Unavailable(reason));
        };
        match (document, &mut self.stage) {
            (None, _) => self.next(),
            (Some(document), Stage::Resource) => {
                let resource = ResourceMetadata::read(&document, &self.server)?;
                self.choose(resource)
            }
            (Some(document), Stage::Server { issuer, resource }) => {
                let server = ServerMetadata::read(&document, &self.server);
                issuer.check(document.get("issuer").and_then(|issuer| issuer.as_str()))?;
                Ok(Step::Done(Discovered { resource: resource.take(), server: server? }))
            }
        }
    }

    /// Follows a redirect within the origin of the document: a document from elsewhere proves nothing about its issuer.
    fn follow(&mut self, response: &HttpResponse) -> Result<Step<Discovered>, AuthorizationError> {
        let location = response.headers.get(LOCATION).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let target = if location.starts_with('/') && !location.starts_with("//") {
            foreign_url(&format!("{}{location}", self.current.origin()), &self.server)
        } else {
            foreign_url(location, &self.server)
        };
        self.redirects += 1;
        let target = target?;
        if !target.is_same_origin(&self.current) || self.redirects > MAX_REDIRECTS {
            return Err(untrusted(format!("{} redirects to {target}", self.current)));
        }
        self.current = target;
        Ok(Step::Send(get(&self.current)))
    }

    /// Chooses the issuer of a resource: one with known credentials, or else the first.
    fn choose(&mut self, resource: ResourceMetadata) -> Result<Step<Discovered>, AuthorizationError> {
        let known = resource.issuers.iter().find(|issuer| self.issuers.known.contains(issuer));
        let issuer = match &self.issuers.only {
            Some(only) => resource.issuers.iter().find(|issuer| *issuer == only.as_str()).ok_or_else(|| {
                untrusted(format!("{} does not use the issuer {only} that this client is configured for", self.server))
            })?,
            None => known
                .or(resource.issuers.first())
                .ok_or_else(|| untrusted(format!("the metadata of {} names no authorization server", self.server)))?,
        };
        let url = match &self.issuers.only {
            Some(only) => only.clone(),
            None => foreign_url(issuer, &self.server)?,
        };
        let issuer = Issuer::Named(issuer.clone());
        self.ask_issuer(&url, Stage::Server { issuer, resource: Some(resource) })
    }

    fn ask_issuer(&mut self, url: &Url, stage: Stage) -> Result<Step<Discovered>, AuthorizationError> {
        self.stage = stage;
        self.candidates = well_known::of_issuer(url).into();
        self.next()
    }

    /// Asks the next URL, or goes on without the document.
    fn next(&mut self) -> Result<Step<Discovered>, AuthorizationError> {
        self.redirects = 0;
        if let Some(url) = self.candidates.pop_front() {
            self.current = url;
            return Ok(Step::Send(get(&self.current)));
        }
        match &self.stage {
            Stage::Resource => {
                let (issuer, url) = match &self.issuers.only {
                    Some(only) => (Issuer::Named(only.as_str().to_owned()), only.clone()),
                    None => {
                        let origin = self.server.origin().to_owned();
                        let url = foreign_url(&origin, &self.server)?;
                        (Issuer::Origin(origin), url)
                    }
                };
                self.ask_issuer(&url, Stage::Server { issuer, resource: None })
            }
            Stage::Server { issuer: Issuer::Origin(_), resource: None } => {
                let server = ServerMetadata::without_document(&self.server)?;
                Ok(Step::Done(Discovered { resource: None, server }))
            }
            Stage::Server { issuer, .. } => {
                Err(untrusted(format!("the authorization server {} publishes no metadata", brief(issuer.text()))))
            }
        }
    }
}

impl Issuer {
    fn text(&self) -> &str {
        match self {
            Self::Named(text) | Self::Origin(text) => text,
        }
    }

    /// RFC 8414, section 3.3: compared as texts. Anything else would accept the document of another issuer.
    fn check(&self, found: Option<&str>) -> Result<(), AuthorizationError> {
        let found = found.unwrap_or_default();
        let is_same = match self {
            Self::Named(text) => found == text,
            Self::Origin(text) => found.strip_suffix('/').unwrap_or(found) == text,
        };
        if is_same {
            return Ok(());
        }
        let (expected, found) = (brief(self.text()), brief(found));
        Err(untrusted(format!("the metadata of the issuer {expected:?} names another issuer, {found:?}")))
    }
}

fn get(url: &Url) -> HttpRequest {
    let headers = HeaderMap::from_iter([(ACCEPT, HeaderValue::from_static("application/json"))]);
    HttpRequest { method: Method::GET, url: url.clone(), headers, body: String::new() }
}
