//! The proxy for a request.

use std::net::IpAddr;

use http::Uri;
use hyper_util::client::proxy::matcher::{Intercept, Matcher};

/// The proxies of a client.
#[derive(Debug)]
pub struct Proxies(Source);

#[derive(Debug)]
enum Source {
    /// The proxies of the environment, as with curl, except for the local machine.
    Environment(Matcher),
    /// This one for everything.
    One(Matcher),
    /// None.
    Off,
}

/// A text that is not the URL of a proxy. It may contain a password, so it is not repeated here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the URL of a proxy looks like http://name:8080")]
pub struct ProxyError;

impl Proxies {
    /// The proxies of `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY` and `NO_PROXY`, as with curl; none for this machine.
    #[must_use]
    pub fn from_environment() -> Self {
        Self(Source::Environment(Matcher::from_env()))
    }

    /// None.
    #[must_use]
    pub fn off() -> Self {
        Self(Source::Off)
    }

    /// This one for all requests but plain ones to this machine: an `http` or `https` URL, with credentials if it wants some.
    ///
    /// # Errors
    /// If the text is not such a URL.
    pub fn one(url: &str) -> Result<Self, ProxyError> {
        let uri: Uri = url.parse().map_err(|_| ProxyError)?;
        let is_known = matches!(uri.scheme_str(), Some("http" | "https"));
        if !is_known || uri.host().is_none_or(str::is_empty) {
            return Err(ProxyError);
        }
        Ok(Self(Source::One(Matcher::builder().all(url).build())))
    }

    /// The proxy for a request to this target.
    pub(crate) fn find(&self, target: &Uri) -> Option<Intercept> {
        match &self.0 {
            Source::Environment(_) if is_local(target.host().unwrap_or_default()) => None,
            // Without a tunnel the proxy reads the request, also the secrets of OAuth.
            Source::One(_) if target.scheme_str() == Some("http") && is_local(target.host().unwrap_or_default()) => {
                None
            }
            Source::Environment(matcher) | Source::One(matcher) => matcher.intercept(target),
            Source::Off => None,
        }
    }
}

/// True for the names and addresses of this machine.
fn is_local(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let is_loopback = |address: IpAddr| address.to_canonical().is_loopback();
    host.eq_ignore_ascii_case("localhost") || bare.parse::<IpAddr>().is_ok_and(is_loopback)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_is_local() {
        for host in ["localhost", "LOCALHOST", "127.0.0.1", "127.1.2.3", "[::1]", "::1", "[::ffff:127.0.0.1]"] {
            assert!(is_local(host), "{host}");
        }
        for host in ["localhost.evil.com", "10.0.0.1", "[fe80::1]", "[::ffff:10.0.0.1]", "example.com", ""] {
            assert!(!is_local(host), "{host}");
        }
    }

    #[test]
    fn the_environment_is_not_used_for_the_local_machine() {
        let matcher = Matcher::builder().all("http://proxy:8080").no("intern.example").build();
        let proxies = Proxies(Source::Environment(matcher));
        for (target, is_proxied) in [
            ("http://tools.example/", true),
            ("https://tools.example/", true),
            ("https://a.intern.example/", false),
            ("http://localhost:3000/", false),
            ("http://[::1]:3000/", false),
        ] {
            assert_eq!(proxies.find(&target.parse().unwrap()).is_some(), is_proxied, "{target}");
        }
    }

    #[test]
    fn the_url_of_a_proxy_is_checked() {
        for good in ["http://proxy:8080", "https://proxy", "http://ann:s3cret@proxy:8080/"] {
            assert!(Proxies::one(good).is_ok(), "{good}");
        }
        for bad in ["", "proxy", "proxy:8080", "socks5://proxy", "http://"] {
            assert!(Proxies::one(bad).is_err(), "{bad}");
        }
    }
}
