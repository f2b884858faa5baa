//! The few kinds of URL that OAuth is made of: absolute, `https`, without fragment.

use std::fmt;

use http::Uri;

/// The URL of a resource, an issuer or an endpoint: `https`, or `http` on this machine. Kept as written, because OAuth
/// compares URLs as texts (RFC 8414, section 3.3).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Url {
    text: Box<str>,
    uri: Uri,
}

/// The reason for which a text is not such a URL.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UrlError {
    /// Not of the form `https://name/path`.
    #[error("{0:?} is not a URL such as https://login.example.com")]
    Malformed(String),
    /// The network would carry it unencrypted.
    #[error("{0:?} is not https, which only a URL on this machine may be")]
    Plain(String),
}

impl Url {
    /// Reads a URL.
    ///
    /// # Errors
    /// If the text is not a URL, or would be sent unencrypted over a network.
    pub fn parse(text: &str) -> Result<Self, UrlError> {
        let malformed = || UrlError::Malformed(text.to_owned());
        // A URI of HTTP has no fragment: the parser would drop it without an error.
        if text.contains(['#', '"', '\\']) {
            return Err(malformed());
        }
        let uri: Uri = text.parse().map_err(|_| malformed())?;
        let (scheme, authority) = (uri.scheme_str(), uri.authority());
        let is_named =
            authority.is_some_and(|authority| !authority.host().is_empty() && !authority.as_str().contains('@'));
        match scheme {
            _ if !is_named => Err(malformed()),
            Some("https") => Ok(Self { text: text.into(), uri }),
            Some("http") if is_local(uri.host().unwrap_or_default()) => Ok(Self { text: text.into(), uri }),
            Some("http") => Err(UrlError::Plain(text.to_owned())),
            _ => Err(malformed()),
        }
    }

    /// The URL as it was written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Scheme, name and port.
    pub(crate) fn origin(&self) -> &str {
        let start = self.text.find("://").map_or(0, |at| at + 3);
        let end = self.text[start..].find(['/', '?']).map_or(self.text.len(), |at| start + at);
        &self.text[..end]
    }

    /// The path, empty when there is none.
    pub(crate) fn path(&self) -> &str {
        self.uri.path().trim_end_matches('/')
    }

    #[cfg(feature = "client")]
    pub(crate) fn uri(&self) -> &Uri {
        &self.uri
    }

    /// True if the URL names this machine.
    #[cfg(feature = "oauth")]
    pub(crate) fn is_local(&self) -> bool {
        is_local(self.uri.host().unwrap_or_default())
    }

    /// True if both have the same scheme, name and port.
    #[cfg(feature = "oauth")]
    pub(crate) fn is_same_origin(&self, other: &Self) -> bool {
        let port = |url: &Self| {
            let default = if url.uri.scheme_str() == Some("https") { 443 } else { 80 };
            url.uri.port_u16().unwrap_or(default)
        };
        let (host, other_host) = (self.uri.host().unwrap_or_default(), other.uri.host().unwrap_or_default());
        self.uri.scheme() == other.uri.scheme() && host.eq_ignore_ascii_case(other_host) && port(self) == port(other)
    }

    /// True if `other` has the same origin, and a path that begins with the segments of this one.
    #[cfg(feature = "oauth")]
    pub(crate) fn contains(&self, other: &Self) -> bool {
        let rest = other.uri.path().strip_prefix(self.path());
        self.is_same_origin(other) && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }
}

impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// True for the names and addresses of this machine.
fn is_local(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    host.eq_ignore_ascii_case("localhost")
        || bare.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_https_or_on_this_machine() {
        for (text, origin, path) in [
            ("https://login.example.com", "https://login.example.com", ""),
            ("https://login.example.com/", "https://login.example.com", ""),
            ("https://login.example.com:8443/a/b", "https://login.example.com:8443", "/a/b"),
            ("http://localhost:9000/x?y=z", "http://localhost:9000", "/x"),
            ("http://127.0.0.1:9000", "http://127.0.0.1:9000", ""),
            ("http://[::1]:9000/mcp/", "http://[::1]:9000", "/mcp"),
        ] {
            let url = Url::parse(text).unwrap();
            assert_eq!((url.as_str(), url.origin(), url.path()), (text, origin, path));
        }
        for text in ["http://login.example.com", "http://10.0.0.1/", "http://localhost.evil.com/"] {
            assert!(matches!(Url::parse(text), Err(UrlError::Plain(_))), "{text}");
        }
        for text in
            ["", "login.example.com", "ftp://a/", "https://", "https://a/#b", "https://u@a/", "/mcp", "https://a/\"b"]
        {
            assert!(matches!(Url::parse(text), Err(UrlError::Malformed(_))), "{text}");
        }
    }

    #[cfg(feature = "oauth")]
    #[test]
    fn a_resource_contains_the_paths_below_it() {
        let contains = |outer: &str, inner: &str| Url::parse(outer).unwrap().contains(&Url::parse(inner).unwrap());
        for (outer, inner) in [
            ("https://a", "https://a/mcp"),
            ("https://a/", "https://A:443/mcp?x=y"),
            ("https://a/mcp", "https://a/mcp"),
            ("https://a/mcp/", "https://a/mcp"),
            ("https://a/mcp", "https://a/mcp/"),
            ("https://a/mcp", "https://a/mcp/x"),
            ("http://[::1]:80/", "http://[::1]/"),
        ] {
            assert!(contains(outer, inner), "{outer} {inner}");
        }
        for (outer, inner) in [
            ("https://a/mcp", "https://a/mcpx"),
            ("https://a/mcp", "https://a/"),
            ("https://a", "https://b"),
            ("https://a", "https://a.evil"),
            ("https://a:8443", "https://a"),
            ("https://localhost", "http://localhost"),
        ] {
            assert!(!contains(outer, inner), "{outer} {inner}");
        }
    }
}
