//! The URL of a server, and the references that the server sends relative to it.

use std::fmt;

use http::Uri;
use http::uri::{Authority, PathAndQuery, Scheme};

/// The URL of an MCP server: absolute, `http` or `https`, without credentials and fragment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ServerUrl(Uri);

/// The reason for which a text cannot be the URL of a server.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UrlError {
    /// Not of the form `https://name/path`.
    #[error("{0:?} is not a URL such as https://tools.example.com/mcp")]
    Malformed(String),
    /// Another scheme.
    #[error("{0:?} is neither http nor https")]
    Scheme(String),
    /// A name or password before the host. They would show up in logs; send them in a header instead.
    #[error("a URL must not contain credentials; send them in a header")]
    Credentials,
    /// A part after `#`, which HTTP does not send.
    #[error("{0:?} has a fragment")]
    Fragment(String),
    /// `https`, and the crate is compiled without the feature `tls`.
    #[error("https needs the feature `tls`")]
    NoTls,
}

/// The reason for which a reference of a server is not followed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ReferenceError {
    #[error("{0:?} is not a URL")]
    Malformed(String),
    #[error("{0:?} has another origin, to which nothing is sent")]
    OtherOrigin(String),
}

impl ServerUrl {
    pub(crate) fn parse(text: &str) -> Result<Self, UrlError> {
        let malformed = || UrlError::Malformed(text.to_owned());
        let (scheme, rest) = text.split_once("://").ok_or_else(malformed)?;
        if !["http", "https"].iter().any(|known| scheme.eq_ignore_ascii_case(known)) {
            return Err(UrlError::Scheme(text.to_owned()));
        }
        let authority = rest.split(['/', '?', '#', '\\']).next().unwrap_or_default();
        if authority.contains('@') {
            return Err(UrlError::Credentials);
        }
        // The parser would drop it without an error.
        if text.contains('#') {
            return Err(UrlError::Fragment(text.to_owned()));
        }
        let uri: Uri = text.parse().map_err(|_| malformed())?;
        if origin(&uri).is_none() || text.contains('\\') {
            return Err(malformed());
        }
        if !cfg!(feature = "tls") && is_https(&uri) {
            return Err(UrlError::NoTls);
        }
        Ok(Self(uri))
    }

    pub(crate) fn uri(&self) -> &Uri {
        &self.0
    }

    /// Resolves a reference that the response to a request for `base` contains (RFC 3986, section 5.2), if it is of the
    /// same origin.
    pub(crate) fn resolve(&self, base: &Uri, reference: &str) -> Result<Uri, ReferenceError> {
        let malformed = || ReferenceError::Malformed(shortened(reference));
        let reference_text = reference.split('#').next().unwrap_or_default();
        if reference_text.contains('\\') || reference_text.bytes().any(|byte| byte <= b' ') {
            return Err(malformed());
        }
        let has_scheme = reference_text.split(['/', '?']).next().and_then(|start| start.split_once(':')).is_some_and(
            |(scheme, _)| scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte)),
        );
        let target: Uri = if has_scheme {
            reference_text.parse().map_err(|_| malformed())?
        } else if let Some(rest) = reference_text.strip_prefix("//") {
            let scheme = if is_https(base) { "https" } else { "http" };
            format!("{scheme}://{rest}").parse().map_err(|_| malformed())?
        } else {
            let path: PathAndQuery = merged(base, reference_text).parse().map_err(|_| malformed())?;
            let mut parts = base.clone().into_parts();
            parts.path_and_query = Some(path);
            Uri::from_parts(parts).map_err(|_| malformed())?
        };
        if origin(&target).is_some() && origin(&target) == origin(&self.0) {
            return Ok(target);
        }
        Err(ReferenceError::OtherOrigin(shortened(reference)))
    }
}

/// Without the query, which may hold a secret.
impl fmt::Display for ServerUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if is_https(&self.0) { "https" } else { "http" };
        write!(f, "{scheme}://{}{}", self.0.authority().map_or("", Authority::as_str), self.0.path())
    }
}

pub(crate) fn is_https(uri: &Uri) -> bool {
    uri.scheme() == Some(&Scheme::HTTPS)
}

/// The port of a URL, or the default port of its scheme.
pub(crate) fn port(uri: &Uri) -> u16 {
    uri.port_u16().unwrap_or(if is_https(uri) { 443 } else { 80 })
}

/// Scheme, host and port; `None` for URLs of other schemes, with credentials, or with a port that is not a number.
fn origin(uri: &Uri) -> Option<(bool, String, u16)> {
    if ![Some(&Scheme::HTTP), Some(&Scheme::HTTPS)].contains(&uri.scheme()) {
        return None;
    }
    let authority: &Authority = uri.authority().filter(|authority| !authority.as_str().contains('@'))?;
    let host = authority.host();
    let has_port = authority.as_str() != host;
    let is_valid = !host.is_empty() && (!has_port || authority.port_u16().is_some());
    is_valid.then(|| (is_https(uri), host.to_ascii_lowercase(), port(uri)))
}

/// The beginning of a text of the server, for an error.
fn shortened(text: &str) -> String {
    text.chars().take(200).collect()
}

/// The path and query of a relative reference.
fn merged(base: &Uri, reference: &str) -> String {
    if reference.is_empty() {
        return base.path_and_query().map_or("/", PathAndQuery::as_str).to_owned();
    }
    let (path, query) = match reference.split_once('?') {
        Some((path, query)) => (path, format!("?{query}")),
        None => (reference, String::new()),
    };
    let path = match path {
        "" => base.path().to_owned(),
        absolute if absolute.starts_with('/') => without_dots(absolute),
        relative => {
            let folder = base.path().rsplit_once('/').map_or("", |(folder, _)| folder);
            without_dots(&format!("{folder}/{relative}"))
        }
    };
    path + &query
}

/// Removes `.` and `..` (RFC 3986, section 5.2.4).
fn without_dots(path: &str) -> String {
    let mut kept: Vec<&str> = Vec::new();
    let segments: Vec<&str> = path.split('/').skip(1).collect();
    for (index, segment) in segments.iter().enumerate() {
        let is_last = index + 1 == segments.len();
        match *segment {
            "." | ".." => {
                if *segment == ".." {
                    kept.pop();
                }
                if is_last {
                    kept.push("");
                }
            }
            segment => kept.push(segment),
        }
    }
    format!("/{}", kept.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_of_a_server_is_plain() {
        for good in [
            "http://localhost",
            "http://127.0.0.1:3000/mcp",
            "http://[::1]:3000/mcp?x=y",
            "https://tools.example.com/a/b@c",
            "HTTPS://Tools.example.com",
        ] {
            assert!(ServerUrl::parse(good).is_ok(), "{good}");
        }
        for bad in ["", "localhost:3000", "/mcp", "http://", "http:///mcp", "http://a b/", "http://a\\b", "http://a:x/"]
        {
            assert!(matches!(ServerUrl::parse(bad), Err(UrlError::Malformed(_))), "{bad}");
        }
        for bad in ["ftp://a/", "ws://a/", "file:///etc"] {
            assert!(matches!(ServerUrl::parse(bad), Err(UrlError::Scheme(_))), "{bad}");
        }
        assert_eq!(ServerUrl::parse("http://ann:s3cret@a/"), Err(UrlError::Credentials));
        assert_eq!(ServerUrl::parse("http://ann@a#"), Err(UrlError::Credentials));
        assert!(matches!(ServerUrl::parse("http://a/#x"), Err(UrlError::Fragment(_))));
    }

    #[test]
    fn references_are_resolved_against_the_request() {
        let url = ServerUrl::parse("http://a:80/x/sse?k=v").unwrap();
        for (reference, target) in [
            ("/messages?sessionId=1", "http://a:80/messages?sessionId=1"),
            ("?sessionId=1", "http://a:80/x/sse?sessionId=1"),
            ("messages", "http://a:80/x/messages"),
            ("./messages/", "http://a:80/x/messages/"),
            ("../messages", "http://a:80/messages"),
            ("../../../messages/..", "http://a:80/"),
            ("", "http://a:80/x/sse?k=v"),
            ("#x", "http://a:80/x/sse?k=v"),
            ("http://a/m", "http://a/m"),
            ("http://A:80/m#x", "http://A:80/m"),
            ("//a/m", "http://a/m"),
            ("/m:1", "http://a:80/m:1"),
        ] {
            assert_eq!(
                url.resolve(url.uri(), reference).map(|uri| uri.to_string()).as_deref(),
                Ok(target),
                "{reference}"
            );
        }
    }

    #[test]
    fn nothing_of_another_origin_is_followed() {
        let url = ServerUrl::parse("http://a/x").unwrap();
        for reference in
            ["http://b/", "https://a/", "http://a:81/", "//b/", "http://a@b/", "http://u@a/", "http://a.b/", "ftp://a/"]
        {
            let error = url.resolve(url.uri(), reference).unwrap_err();
            assert_eq!(error, ReferenceError::OtherOrigin(reference.to_owned()));
        }
        for reference in ["http://", "a b", "\\\\b\\", "http:/\\b", "/\n", "javascript:alert(1)"] {
            assert!(url.resolve(url.uri(), reference).is_err(), "{reference:?}");
        }
    }
}
