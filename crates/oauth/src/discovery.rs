//! Finds the authorization server of an MCP server: the resource's metadata, then the issuer's.

use std::collections::VecDeque;

use http::header::{ACCEPT, LOCATION};
use http::{HeaderMap, HeaderValue, Method};
use serde_json::{Map, Value};

use crate::authorizer::AuthorizationError;
use crate::exchange::{HttpRequest, HttpResponse};
use crate::metadata::{Document, ResourceMetadata, ServerMetadata, foreign_url, is_same_issuer, untrusted};
use crate::step::Step;
use crate::well_known;
use protomcp_auth::{Url, brief_url};

/// The most redirects that one document is followed through.
const MAX_REDIRECTS: u8 = 3;

/// The issuers that this client may use.
#[derive(Debug, Default)]
pub(crate) struct Issuers {
    /// The only one, if the client is configured for it.
    pub(crate) only: Option<Url>,
    /// Those that credentials are known of: preferred.
    pub(crate) known: Vec<String>,
    /// True if the metadata of the MCP server has named one of the known issuers.
    pub(crate) had_metadata: bool,
}

/// The outcome of a discovery.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Discovered {
    /// None if the MCP server publishes no metadata, as servers of 2025-03-26.
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
    /// True if the challenge has named a URL.
    is_named: bool,
    /// True while that URL is asked.
    is_at_named: bool,
    /// The reason for which the first document of this stage that may be there is of no use.
    withheld: Option<AuthorizationError>,
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
    /// This text, up to a slash at its end.
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
        let is_named = named.is_some();
        let mut candidates = VecDeque::from(well_known::of_resource(server));
        if let Some(named) = named {
            candidates.retain(|url| *url != named);
            candidates.push_front(named);
        }
        let current = candidates.pop_front().unwrap_or_else(|| server.clone());
        let request = get(&current);
        let server = server.clone();
        let discovery = Self {
            server,
            issuers,
            stage: Stage::Resource,
            candidates,
            current,
            redirects: 0,
            is_named,
            is_at_named: is_named,
            withheld: None,
        };
        Ok((discovery, request))
    }

    /// Continues after a response.
    pub(crate) fn response(&mut self, response: &HttpResponse) -> Result<Step<Discovered>, AuthorizationError> {
        if response.status.is_redirection() {
            return self.follow(response);
        }
        let (url, status) = (self.current.brief(), response.status);
        match Document::read(response) {
            Document::Found(document) => self.found(&document),
            Document::Absent => self.next(),
            // The URL of the challenge is asked first, and the other URLs are guesses.
            Document::Page if !self.is_at_named => self.next(),
            Document::Page | Document::Broken => {
                self.unusable(untrusted(format!("the document at {url} cannot be read")))
            }
            Document::Withheld => {
                let reason = || AuthorizationError::Unavailable(format!("{url} answers with {status}"));
                self.withheld.get_or_insert_with(reason);
                self.next()
            }
            Document::Failing => Err(AuthorizationError::Unavailable(format!("{url} answers with {status}"))),
        }
    }

    fn found(&mut self, document: &Map<String, Value>) -> Result<Step<Discovered>, AuthorizationError> {
        match &mut self.stage {
            Stage::Resource => {
                let server = self.server.brief();
                if !ResourceMetadata::names_resource(document) {
                    return self.unusable(untrusted(format!("the metadata of {server} names no resource")));
                }
                // The document of another resource stops the flow wherever it is.
                let resource = ResourceMetadata::read(document, &self.server)?;
                if resource.issuers.is_empty() {
                    return self.unusable(untrusted(format!("the metadata of {server} names no authorization server")));
                }
                self.choose(resource)
            }
            Stage::Server { issuer, resource } => {
                let server = ServerMetadata::read(document, &self.server);
                issuer.check(document.get("issuer").and_then(|issuer| issuer.as_str()))?;
                let mut server = server?;
                server.named = issuer.other_spelling(&server.issuer);
                Ok(Step::Done(Discovered { resource: resource.take(), server }))
            }
        }
    }

    /// Handles a document that says nothing. At a URL that was guessed for the MCP server it may belong to something
    /// else, and another URL may have the right one.
    fn unusable(&mut self, error: AuthorizationError) -> Result<Step<Discovered>, AuthorizationError> {
        let is_guess = matches!(self.stage, Stage::Resource) && !self.is_at_named;
        if !is_guess {
            return Err(error);
        }
        self.withheld.get_or_insert(error);
        self.next()
    }

    /// Follows a redirect within the origin of the document: a document from elsewhere proves nothing about its issuer.
    /// A guess that redirects elsewhere counts as withheld. A URL that a challenge has named, and a chain without an end,
    /// end discovery.
    fn follow(&mut self, response: &HttpResponse) -> Result<Step<Discovered>, AuthorizationError> {
        let location = response.headers.get(LOCATION).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let target = if location.starts_with('/') && !location.starts_with("//") {
            foreign_url(&format!("{}{location}", self.current.origin()), &self.server)
        } else {
            foreign_url(location, &self.server)
        };
        self.redirects += 1;
        let from = self.current.brief();
        let refusal = match target {
            Ok(target) if target.is_same_origin(&self.current) && self.redirects <= MAX_REDIRECTS => {
                self.current = target;
                return Ok(Step::Send(get(&self.current)));
            }
            Ok(target) => untrusted(format!("{from} redirects to {}", target.brief())),
            Err(error) => error,
        };
        if self.is_at_named || self.redirects > MAX_REDIRECTS {
            return Err(refusal);
        }
        let reason = || AuthorizationError::Unavailable(format!("{from} redirects elsewhere"));
        self.withheld.get_or_insert_with(reason);
        self.next()
    }

    /// Chooses the issuer of a resource: one with known credentials, or else the first.
    fn choose(&mut self, resource: ResourceMetadata) -> Result<Step<Discovered>, AuthorizationError> {
        let is_known = |issuer: &&String| self.issuers.known.iter().any(|known| is_same_issuer(known, issuer));
        let known = resource.issuers.iter().find(is_known);
        let issuer = match &self.issuers.only {
            Some(only) => {
                resource.issuers.iter().find(|issuer| is_same_issuer(issuer, only.as_str())).ok_or_else(|| {
                    let (server, only) = (self.server.brief(), only.brief());
                    untrusted(format!("{server} does not use the issuer {only} that this client is configured for"))
                })?
            }
            None => known.or(resource.issuers.first()).ok_or_else(|| {
                untrusted(format!("the metadata of {} names no authorization server", self.server.brief()))
            })?,
        };
        let url = match &self.issuers.only {
            Some(only) => only.clone(),
            None => foreign_url(issuer, &self.server)?,
        };
        let issuer = Issuer::Named(issuer.clone());
        self.ask_issuer(&url, Stage::Server { issuer, resource: Some(resource) })
    }

    fn ask_issuer(&mut self, url: &Url, stage: Stage) -> Result<Step<Discovered>, AuthorizationError> {
        (self.stage, self.withheld) = (stage, None);
        self.candidates = well_known::of_issuer(url).into();
        self.next()
    }

    /// Asks the next URL, or goes on without the document.
    fn next(&mut self) -> Result<Step<Discovered>, AuthorizationError> {
        (self.redirects, self.is_at_named) = (0, false);
        if let Some(url) = self.candidates.pop_front() {
            self.current = url;
            return Ok(Step::Send(get(&self.current)));
        }
        match &self.stage {
            Stage::Resource => {
                let (issuer, url) = match &self.issuers.only {
                    Some(only) => (Issuer::Named(only.as_str().to_owned()), only.clone()),
                    None => {
                        self.check_is_old()?;
                        let origin = self.server.origin().to_owned();
                        let url = foreign_url(&origin, &self.server)?;
                        (Issuer::Origin(origin), url)
                    }
                };
                self.ask_issuer(&url, Stage::Server { issuer, resource: None })
            }
            Stage::Server { issuer: Issuer::Origin(_), resource: None } => {
                self.check_nothing_withheld()?;
                let server = ServerMetadata::without_document(&self.server)?;
                Ok(Step::Done(Discovered { resource: None, server }))
            }
            Stage::Server { issuer, .. } => {
                self.check_nothing_withheld()?;
                Err(untrusted(format!("the authorization server {} publishes no metadata", brief_url(issuer.text()))))
            }
        }
    }

    /// Checks that an MCP server without metadata can be one of MCP 2025-03-26, whose rules are weaker.
    fn check_is_old(&self) -> Result<(), AuthorizationError> {
        self.check_nothing_withheld()?;
        let server = self.server.brief();
        if self.is_named {
            return Err(untrusted(format!("{server} names its metadata in the challenge and does not publish it")));
        }
        if self.issuers.had_metadata {
            return Err(AuthorizationError::Unavailable(format!(
                "{server} does not publish the metadata that it had before; if it never will, remove its stored credentials"
            )));
        }
        Ok(())
    }

    fn check_nothing_withheld(&self) -> Result<(), AuthorizationError> {
        self.withheld.clone().map_or(Ok(()), Err)
    }
}

impl Issuer {
    fn text(&self) -> &str {
        match self {
            Self::Named(text) | Self::Origin(text) => text,
        }
    }

    /// The spelling of the MCP server, if it has another one.
    fn other_spelling(&self, found: &str) -> Option<String> {
        match self {
            Self::Named(text) => Some(text.clone()).filter(|text| text != found),
            Self::Origin(_) => None,
        }
    }

    /// RFC 8414, section 3.3: compared as texts, up to a slash. Anything else would accept the document of another issuer.
    fn check(&self, found: Option<&str>) -> Result<(), AuthorizationError> {
        let found = found.unwrap_or_default();
        if is_same_issuer(found, self.text()) {
            if let Some(named) = self.other_spelling(found) {
                let (issuer, named) = (brief_url(found), brief_url(&named));
                tracing::warn!(%issuer, %named, "the issuer is named with a slash at its end in one place, and without in another");
            }
            return Ok(());
        }
        let (expected, found) = (brief_url(self.text()), brief_url(found));
        Err(untrusted(format!("the metadata of the issuer {expected:?} names another issuer, {found:?}")))
    }
}

fn get(url: &Url) -> HttpRequest {
    let headers = HeaderMap::from_iter([(ACCEPT, HeaderValue::from_static("application/json"))]);
    HttpRequest { method: Method::GET, url: url.clone(), headers, body: String::new() }
}
