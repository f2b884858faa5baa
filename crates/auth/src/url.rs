//! The few kinds of URL that OAuth is made of: absolute, `https`, without fragment.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

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
    #[error("{:?} is not a URL such as https://login.example.com", brief_url(.0))]
    Malformed(String),
    /// The network would carry it unencrypted.
    #[error("{:?} is not https, which only a URL on this machine may be", brief_url(.0))]
    Plain(String),
}

/// The longest form of a URL in a message, in characters.
const MAX_BRIEF: usize = 200;

/// A short, printable form of a URL for messages: without the parts that may hold keys, which are the user, the query
/// and the fragment.
#[must_use]
pub fn brief_url(text: &str) -> String {
    let text = text.split(['?', '#']).next().unwrap_or_default();
    let start = text.find("://").map_or(0, |at| at + 3);
    let end = text[start..].find('/').map_or(text.len(), |at| start + at);
    let name = text[start..end].rfind('@').map_or(start, |at| start + at + 1);
    let brief: String = text[..start].chars().chain(text[name..].chars()).filter(|letter| is_shown(*letter)).collect();
    match brief.char_indices().nth(MAX_BRIEF) {
        Some((end, _)) => format!("{}…", &brief[..end]),
        None => brief,
    }
}

/// False for the characters that a terminal does not show, or that change the direction of the others.
#[must_use]
pub fn is_shown(letter: char) -> bool {
    !letter.is_control()
        && !matches!(letter, '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}')
        && !matches!(letter, '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
}

impl Url {
    /// Reads a URL.
    ///
    /// # Errors
    /// If the text is not a URL, or would be sent unencrypted over a network.
    pub fn parse(text: &str) -> Result<Self, UrlError> {
        let malformed = || UrlError::Malformed(text.to_owned());
        // A URI of HTTP has no fragment: the parser would drop it without an error.
        if text.contains(['#', '"', '\\']) || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(malformed());
        }
        let uri: Uri = text.parse().map_err(|_| malformed())?;
        let (scheme, authority) = (uri.scheme_str(), uri.authority());
        let is_named =
            authority.is_some_and(|authority| !authority.host().is_empty() && !authority.as_str().contains('@'));
        match scheme {
            _ if !is_named || is_odd_address(uri.host().unwrap_or_default()) => Err(malformed()),
            Some("https") => Ok(Self { text: text.into(), uri }),
            Some("http") if is_local(uri.host().unwrap_or_default()) => Ok(Self { text: text.into(), uri }),
            Some("http") => Err(UrlError::Plain(text.to_owned())),
            _ => Err(malformed()),
        }
    }

    /// Reads the URL of a resource, which may also be a server of proto-mcp over TCP: `protos`, or `proto` on this machine.
    ///
    /// # Errors
    /// See [`parse`](Self::parse).
    pub fn parse_resource(text: &str) -> Result<Self, UrlError> {
        let alike = match text.split_once("://") {
            Some(("protos", rest)) => format!("https://{rest}"),
            Some(("proto", rest)) => format!("http://{rest}"),
            _ => return Self::parse(text),
        };
        let checked = Self::parse(&alike).map_err(|error| match error {
            UrlError::Malformed(_) => UrlError::Malformed(text.to_owned()),
            UrlError::Plain(_) => UrlError::Plain(text.to_owned()),
        })?;
        Ok(Self { text: text.into(), uri: checked.uri })
    }

    /// The URL as it was written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// A short form for messages, without the query, which may hold a key.
    #[must_use]
    pub fn brief(&self) -> String {
        brief_url(&self.text)
    }

    /// Scheme, name and port.
    #[must_use]
    pub fn origin(&self) -> &str {
        let start = self.text.find("://").map_or(0, |at| at + 3);
        let end = self.text[start..].find(['/', '?']).map_or(self.text.len(), |at| start + at);
        &self.text[..end]
    }

    /// The path, empty when there is none.
    #[must_use]
    pub fn path(&self) -> &str {
        self.uri.path().trim_end_matches('/')
    }

    /// The URL in its parts.
    #[must_use]
    pub fn uri(&self) -> &Uri {
        &self.uri
    }

    /// True if the URL may name this machine, in any spelling.
    #[must_use]
    pub fn is_on_this_machine(&self) -> bool {
        is_on_this_machine(self.uri.host().unwrap_or_default())
    }

    /// True if the URL has an address that no machine of the Internet has: private, shared, unique-local, link-local, or
    /// for tests and protocols.
    #[must_use]
    pub fn is_on_private_network(&self) -> bool {
        address(self.uri.host().unwrap_or_default()).is_some_and(is_private)
    }

    /// True if both have the same scheme, name and port.
    #[must_use]
    pub fn is_same_origin(&self, other: &Self) -> bool {
        let port = |url: &Self| {
            let default = if url.uri.scheme_str() == Some("https") { 443 } else { 80 };
            url.uri.port_u16().unwrap_or(default)
        };
        let (host, other_host) = (self.uri.host().unwrap_or_default(), other.uri.host().unwrap_or_default());
        self.uri.scheme() == other.uri.scheme() && host.eq_ignore_ascii_case(other_host) && port(self) == port(other)
    }

    /// True if `other` has the same origin, and a path that begins with the segments of this one.
    #[must_use]
    pub fn contains(&self, other: &Self) -> bool {
        let rest = other.uri.path().strip_prefix(self.path());
        self.is_same_origin(other) && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }
}

impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// True for the names and addresses that always belong to this machine.
fn is_local(host: &str) -> bool {
    host.eq_ignore_ascii_case("localhost") || address(host).is_some_and(|address| address.is_loopback())
}

fn address(host: &str) -> Option<IpAddr> {
    host.trim_start_matches('[').trim_end_matches(']').parse().ok()
}

/// True for a host that ends in a number and is not an address in its usual form. Some libraries read `127.1` and
/// `0x7f000001` as addresses, and no domain ends in a number.
fn is_odd_address(host: &str) -> bool {
    let last = host.strip_suffix('.').unwrap_or(host).rsplit('.').next().unwrap_or_default();
    let is_number = last.starts_with(|first: char| first.is_ascii_digit())
        && (last.bytes().all(|byte| byte.is_ascii_digit()) || last.starts_with("0x") || last.starts_with("0X"));
    is_number && address(host).is_none()
}

/// True for the names and addresses that a system may take for this machine (RFC 6761, section 6.3; RFC 1122, section
/// 3.2.1.3).
fn is_on_this_machine(host: &str) -> bool {
    let name = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
    let is_own = |address: Ipv4Addr| address.is_loopback() || address.octets()[0] == 0;
    name == "localhost"
        || name.ends_with(".localhost")
        || match address(host) {
            Some(IpAddr::V4(address)) => is_own(address),
            // `::` and `::1` are among those that contain an address of version 4.
            Some(IpAddr::V6(address)) => address.is_loopback() || embedded(address).is_some_and(is_own),
            None => false,
        }
}

/// RFC 1918; RFC 3927; RFC 4193; RFC 4291, section 2.5.6; RFC 6598; RFC 6890, section 2.2.2; RFC 2544; RFC 8215.
fn is_private(address: IpAddr) -> bool {
    let is_private = |address: Ipv4Addr| {
        let is_special = matches!(address.octets(), [100, 64..=127, ..] | [192, 0, 0, _] | [198, 18 | 19, ..]);
        is_special || address.is_private() || address.is_link_local()
    };
    match address {
        IpAddr::V4(address) => is_private(address),
        IpAddr::V6(address) => {
            // Only a translator in the own network knows the place of the address inside of a local prefix.
            let is_translated = matches!(address.segments(), [0x64, 0xff9b, 1, ..]);
            let is_local = is_translated || address.is_unique_local() || address.is_unicast_link_local();
            is_local || embedded(address).is_some_and(is_private)
        }
    }
}

/// The address of version 4 that one of version 6 leads to: mapped and compatible addresses (RFC 4291, section 2.5.5),
/// NAT64 (RFC 6052, section 2.1; RFC 8215), 6to4 (RFC 3056, section 2) and Teredo (RFC 4380, section 4).
fn embedded(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let joined = |high: u16, low: u16| Some(Ipv4Addr::from((u32::from(high) << 16) | u32::from(low)));
    match address.segments() {
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] | [0x64, 0xff9b, 1, _, _, _, high, low] | [0x2002, high, low, ..] => {
            joined(high, low)
        }
        // The bits are inverted.
        [0x2001, 0, .., high, low] => joined(!high, !low),
        _ => address.to_ipv4(),
    }
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
        for text in [
            "",
            "login.example.com",
            "ftp://a/",
            "https://",
            "https://a/#b",
            "https://u@a/",
            "/mcp",
            "https://a/\"b",
            // A terminal may show them as something else.
            "https://a/\u{202e}b",
            "https://\u{430}/",
            "https://a/\u{7f}",
            "https://a/b c",
            // System libraries read these as addresses, of this machine.
            "http://127.1/",
            "https://2130706433/",
            "https://0x7f.1/",
            "https://0177.0.0.1/",
            "https://127.0.0.1./",
            "https://a.1/",
        ] {
            assert!(matches!(Url::parse(text), Err(UrlError::Malformed(_))), "{text}");
        }
    }

    #[test]
    fn a_message_has_a_short_form_without_keys() {
        let long = format!("https://a/{}", "x".repeat(5000));
        let cut = format!("{}…", &long[..MAX_BRIEF]);
        for (text, brief) in [
            ("https://a/mcp", "https://a/mcp"),
            ("https://a/mcp?key=s3cret", "https://a/mcp"),
            ("https://a?key=s3cret", "https://a"),
            ("https://a/#s3cret", "https://a/"),
            ("https://u:s3cret@a/b@c", "https://a/b@c"),
            ("https://u:s3@cret@a", "https://a"),
            ("u:s3cret@a", "a"),
            ("", ""),
            (&long, &cut),
        ] {
            assert_eq!(brief_url(text), brief, "{text}");
        }
        for text in
            ["http://u:s3cret@a/", "http://a/?key=s3cret", "https://u:s3cret@a/", "ftp://a/?s3cret", "s3cret@a\u{202e}"]
        {
            let error = Url::parse(text).unwrap_err().to_string();
            assert!(!error.contains("s3cret") && !error.contains('\u{202e}'), "{error}");
        }
        assert!(Url::parse(&format!("ftp:{long}")).unwrap_err().to_string().len() < 2 * MAX_BRIEF);
    }

    #[test]
    fn names_and_addresses_of_this_machine_are_known() {
        for host in [
            "localhost",
            "LocalHost.",
            "a.localhost",
            "a.b.LOCALHOST.",
            "127.0.0.1",
            "127.255.0.1",
            "0.0.0.0",
            "0.1.2.3",
            "[::1]",
            "[::]",
            "[::ffff:127.0.0.1]",
            "[::ffff:0.0.0.0]",
            "[::127.0.0.1]",
            "[0:0:0:0:0:ffff:7f00:1]",
            "[64:ff9b::127.0.0.1]",
            "[64:ff9b::]",
            "[64:ff9b:1::127.0.0.1]",
            "[2002:7f00:1::]",
            "[2002:7fff:1:2:3:4:5:6]",
            "[2001::80ff:fffe]",
            "[2001:0:1:2:3:4:ffff:ffff]",
        ] {
            assert!(Url::parse(&format!("https://{host}:1/")).unwrap().is_on_this_machine(), "{host}");
        }
        for host in ["localhost.evil.com", "notlocalhost", "10.0.0.1", "128.0.0.1", "[fe80::1]", "[::ffff:10.0.0.1]"]
            .into_iter()
            .chain(["[64:ff9b::8.8.8.8]", "[2002:808:808::7f00:1]", "[2001::7f00:1]", "[2001:1::80ff:fffe]"])
        {
            assert!(!Url::parse(&format!("https://{host}:1/")).unwrap().is_on_this_machine(), "{host}");
        }
        // Only names that cannot mean another machine are reached without encryption.
        for host in ["0.0.0.0", "[::]", "a.localhost", "localhost.", "[::ffff:127.0.0.1]"] {
            assert!(matches!(Url::parse(&format!("http://{host}/")), Err(UrlError::Plain(_))), "{host}");
        }
    }

    #[test]
    fn addresses_of_private_networks_are_known() {
        let is_private = |host: &str| Url::parse(&format!("https://{host}/")).unwrap().is_on_private_network();
        for host in ["10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1:8443", "169.254.169.254"] {
            assert!(is_private(host), "{host}");
        }
        for host in ["[fd00::1]", "[fc00::1]:1", "[fe80::1]", "[febf::1]", "[::ffff:10.0.0.1]", "[::192.168.0.1]"] {
            assert!(is_private(host), "{host}");
        }
        // Shared by the customers of a network, for protocols, for tests of speed.
        for host in ["100.64.0.1", "100.127.255.255", "192.0.0.1", "192.0.0.255", "198.18.0.1", "198.19.255.255"] {
            assert!(is_private(host), "{host}");
        }
        // An address of version 4 in one of version 6.
        for host in [
            "[64:ff9b::10.0.0.1]",
            "[64:ff9b::169.254.169.254]",
            "[64:ff9b:1::10.0.0.1]",
            "[64:ff9b:1:a00::1]",
            "[64:ff9b:1:ffff::8.8.8.8]",
            "[2002:a00:1::]",
            "[2002:a9fe:a9fe:1:2:3:4:5]",
            "[2002:6440:1::1]",
            "[2001::f5ff:fffe]",
            "[2001:0:808:808:1:2:5601:5601]",
            "[::ffff:100.64.0.1]",
        ] {
            assert!(is_private(host), "{host}");
        }
        for host in
            ["172.32.0.1", "192.169.0.1", "8.8.8.8", "[2001:db8::1]", "[fec0::1]", "10.example.com", "localhost"]
        {
            assert!(!is_private(host), "{host}");
        }
        for host in ["100.63.255.255", "100.128.0.1", "192.0.1.1", "192.1.0.1", "198.17.255.255", "198.20.0.1"] {
            assert!(!is_private(host), "{host}");
        }
        for host in [
            "[64:ff9b::8.8.8.8]",
            "[64:ff9b:2::10.0.0.1]",
            "[64:ff9b::1:10.0.0.1]",
            "[2002:808:808::a00:1]",
            "[2001::a00:1]",
            "[2001:1::f5ff:fffe]",
        ] {
            assert!(!is_private(host), "{host}");
        }
    }

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
