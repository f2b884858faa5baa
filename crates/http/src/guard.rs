//! Checks of `Host` and `Origin` (protection against DNS rebinding).
//!
//! A web page can make a browser send requests to this machine, and by DNS rebinding even read the responses. Two
//! headers reveal it, because a page cannot choose them: `Host`, the name that the browser connects to, and `Origin`,
//! the site of the page (MCP 2025-11-25, basic/transports, security warning).

use std::net::Ipv6Addr;

use http::header::{HOST, ORIGIN};
use http::{HeaderMap, HeaderValue, Uri};

use crate::config::Config;
use crate::config::access::{Disallowed, RejectionHint};

/// Names of the local machine, allowed with any port.
const LOCAL: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

/// The longest host or origin that is checked, and quoted in a rejection. Host names have at most 255 bytes.
const MAX_NAME: usize = 512;

/// The allowed hosts and origins.
#[derive(Debug, Clone)]
pub(crate) struct Guard {
    hosts: Vec<String>,
    origins: Vec<String>,
    hint: Option<RejectionHint>,
}

/// The reason of a rejection, with the hint of the program.
pub(crate) type Rejection = String;

/// The origin of a request that is allowed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Origin {
    /// No web page, or one of the local machine that was not configured: no CORS headers.
    None,
    /// A configured web page, which may read the responses.
    Allowed(HeaderValue),
}

impl Guard {
    pub(crate) fn new(config: &Config) -> Self {
        let allowed =
            |names: &[String]| names.iter().map(|name| normal(name.trim_end_matches('/'))).collect::<Vec<_>>();
        let (hosts, origins) = (allowed(&config.access.allowed_hosts), allowed(&config.access.allowed_origins));
        Self { hosts, origins, hint: config.access.rejection_hint.clone() }
    }

    /// Checks a request.
    pub(crate) fn check(&self, uri: &Uri, headers: &HeaderMap) -> Result<Origin, Rejection> {
        // HTTP/2 has the host in its request line; HTTP/1.1 may have it there, too.
        let line = uri.authority().map(|authority| authority.as_str().as_bytes());
        let names = || line.into_iter().chain(headers.get_all(HOST).iter().map(HeaderValue::as_bytes));
        if names().next().is_none() {
            return Err("the Host header is missing".to_owned());
        }
        for host in names() {
            if host.len() > MAX_NAME {
                return Err(format!("the Host header is longer than {MAX_NAME} bytes"));
            }
            let host = std::str::from_utf8(host).map_err(|_| "the Host header cannot be read".to_owned())?;
            if !self.allows_host(host) {
                return Err(self.reject(Disallowed::Host(host)));
            }
        }
        let mut origins = headers.get_all(ORIGIN).iter();
        let Some(origin) = origins.next() else { return Ok(Origin::None) };
        if origins.next().is_some() {
            return Err("there are several Origin headers".to_owned());
        }
        if origin.len() > MAX_NAME {
            return Err(format!("the Origin header is longer than {MAX_NAME} bytes"));
        }
        let text = origin.to_str().map_err(|_| "the Origin header cannot be read".to_owned())?;
        if self.names_origin(text) {
            Ok(Origin::Allowed(origin.clone()))
        } else if self.is_own(text) {
            Ok(Origin::None)
        } else {
            Err(if can_be_named(text) {
                self.reject(Disallowed::Origin(text))
            } else {
                format!("origin {text:?} is not allowed: only pages of http and https can be")
            })
        }
    }

    fn reject(&self, disallowed: Disallowed<'_>) -> Rejection {
        match &self.hint {
            Some(hint) => format!("{disallowed}; {}", hint.for_value(disallowed)),
            None => disallowed.to_string(),
        }
    }

    fn allows_host(&self, host: &str) -> bool {
        let host = normal(host);
        let Some(name) = without_port(&host) else { return false };
        LOCAL.contains(&name) || self.hosts.iter().any(|allowed| allowed == "*" || *allowed == host || allowed == name)
    }

    fn names_origin(&self, origin: &str) -> bool {
        // `null` stands for any page without an origin, such as files and sandboxes; `*` does not include it.
        let origin = normal(origin);
        origin != "null" && self.origins.iter().any(|allowed| allowed == "*" || *allowed == origin)
    }

    /// True if the origin of a page is a name of this server.
    fn is_own(&self, origin: &str) -> bool {
        let host = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
        // `*` allows any host name, not any page.
        host.is_some_and(|host| {
            let host = normal(host);
            without_port(&host).is_some_and(|name| {
                LOCAL.contains(&name) || self.hosts.iter().any(|allowed| *allowed == host || allowed == name)
            })
        })
    }
}

/// True if an origin can be allowed by name.
fn can_be_named(origin: &str) -> bool {
    let name = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
    name.is_some_and(|name| !name.is_empty() && !name.contains(['/', '?', '#', '@', ' ', '*']))
}

/// A host or an origin in small letters. An address of IPv6 has one form: browsers write `[::ffff:7f00:1]` for
/// `[::ffff:127.0.0.1]` (WHATWG URL, host serializing).
fn normal(host: &str) -> String {
    let host = host.to_ascii_lowercase();
    let address = || {
        let (scheme, rest) = host.split_once('[')?;
        let (address, port) = rest.split_once(']')?;
        Some(format!("{scheme}[{}]{port}", address.parse::<Ipv6Addr>().ok()?))
    };
    address().unwrap_or(host)
}

/// The name in `name:port`; `None` if the port is invalid.
fn without_port(host: &str) -> Option<&str> {
    let colon = match host.rfind(':') {
        Some(colon) if !host[colon..].contains(']') => colon,
        Some(_) | None => return Some(host),
    };
    let (name, port) = host.split_at(colon);
    let is_port = port.len() <= 6 && port[1..].bytes().all(|byte| byte.is_ascii_digit());
    (is_port && !name.is_empty()).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::access::Access;

    #[track_caller]
    fn check(hosts: &[&str], origins: &[&str], host: &str, origin: Option<&str>, expected: Result<bool, &str>) {
        let own = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
        let access = Access { allowed_hosts: own(hosts), allowed_origins: own(origins), ..Access::default() };
        let config = Config { access, ..Config::default() };
        let guard = Guard::new(&config.with_rejection_hint(|disallowed| match disallowed {
            Disallowed::Host(host) => format!("allow the host {host}"),
            Disallowed::Origin(origin) => format!("allow the origin {origin}!"),
        }));
        let mut headers = HeaderMap::new();
        headers.insert(HOST, host.parse().unwrap());
        if let Some(origin) = origin {
            headers.insert(ORIGIN, origin.parse().unwrap());
        }
        let page = guard.check(&Uri::from_static("/mcp"), &headers);
        match (page, expected) {
            (Ok(page), Ok(named)) => assert_eq!(matches!(page, Origin::Allowed(_)), named),
            (Err(why), Err(part)) => assert!(why.contains(part), "{why}"),
            (page, expected) => panic!("{page:?} instead of {expected:?} for {host} {origin:?}"),
        }
    }

    #[test]
    fn names_of_this_machine_are_allowed_with_any_port() {
        for host in ["localhost", "localhost:8080", "LOCALHOST:1", "127.0.0.1:3000", "[::1]", "[::1]:8080"] {
            check(&[], &[], host, None, Ok(false));
        }
        for host in
            ["evil.example.com", "localhost.evil.com", "127.0.0.1.evil.com", "localhost:x", "127.0.0.2", ":80", ""]
        {
            check(&[], &[], host, None, Err("is not allowed; allow the host "));
        }
    }

    #[test]
    fn other_names_are_allowed_when_named() {
        check(&["Tools.example.com"], &[], "tools.example.com:9", None, Ok(false));
        check(&["tools.example.com:9"], &[], "tools.example.com:9", None, Ok(false));
        check(&["tools.example.com:9"], &[], "tools.example.com:8", None, Err("is not allowed; allow the host "));
        check(&["*"], &[], "anything:1", None, Ok(false));
        for host in ["[::ffff:127.0.0.1]:9", "[::FFFF:7f00:1]:9"] {
            check(&["[::ffff:127.0.0.1]"], &[], host, Some("http://[::ffff:7f00:1]:9"), Ok(false));
            check(&["*"], &["http://[::ffff:10.0.0.1]:5"], host, Some("http://[::ffff:a00:1]:5"), Ok(true));
        }
    }

    #[test]
    fn a_page_is_refused_unless_it_is_of_this_machine_or_named() {
        for origin in ["http://localhost:8080", "https://127.0.0.1", "http://[::1]:6274"] {
            check(&[], &[], "localhost", Some(origin), Ok(false));
        }
        for origin in ["http://evil.example.com", "https://localhost.evil.com"] {
            check(&[], &[], "localhost", Some(origin), Err(&format!("is not allowed; allow the origin {origin}!")));
            check(&["*"], &[], "localhost", Some(origin), Err("; allow the origin "));
        }
        // No hint for an origin that cannot be allowed.
        for origin in ["null", "file://", "chrome-extension://x", "http://", "http://a/b", ""] {
            check(&[], &[], "localhost", Some(origin), Err("not allowed: only pages of http and https"));
            check(&["*"], &[], "localhost", Some(origin), Err("not allowed: only pages of http and https"));
        }
        let app = "https://app.example.com";
        check(&[], &[app], "localhost", Some(app), Ok(true));
        check(&[], &["https://APP.example.com/"], "localhost", Some(app), Ok(true));
        check(&[], &[app], "localhost", Some("http://app.example.com"), Err("; allow the origin "));
        check(&[], &[app], "evil.com", Some(app), Err("is not allowed; allow the host "));
        check(&["app.example.com"], &[], "localhost", Some(app), Ok(false));
        check(&[], &["*"], "localhost", Some("https://any.com"), Ok(true));
        check(&[], &["*"], "localhost", Some("null"), Err("only pages of http and https"));
    }

    #[test]
    fn each_of_several_names_is_checked() {
        let guard = Guard::new(&Config::default().allow_origin("https://app.example.com"));
        let check = |name: http::HeaderName, values: [&'static str; 2]| {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(&name, HeaderValue::from_static(value));
            }
            headers.entry(HOST).or_insert(HeaderValue::from_static("localhost"));
            guard.check(&Uri::from_static("/mcp"), &headers).is_ok()
        };
        assert!(check(HOST, ["localhost", "127.0.0.1"]));
        assert!(!check(HOST, ["localhost", "evil.com"]) && !check(HOST, ["evil.com", "localhost"]));
        let (app, evil) = ("https://app.example.com", "https://evil.com");
        assert!(!check(ORIGIN, [app, evil]) && !check(ORIGIN, [evil, app]) && !check(ORIGIN, [app, app]));
        // The line of the request counts like the header.
        let headers = HeaderMap::from_iter([(HOST, HeaderValue::from_static("localhost"))]);
        assert!(guard.check(&Uri::from_static("http://evil.com/mcp"), &headers).is_err());
    }

    #[test]
    fn http_2_has_the_host_in_its_request_line() {
        let guard = Guard::new(&Config::default());
        let check = |uri| guard.check(&Uri::from_static(uri), &HeaderMap::new()).is_ok();
        assert!(check("http://localhost:1/mcp"));
        assert!(!check("http://evil.com/mcp"));
        assert!(!check("/mcp"));
    }
}
