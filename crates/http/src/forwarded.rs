//! The address of a client behind proxies.
//!
//! A proxy adds the address that a request came from to `X-Forwarded-For`, or to `Forwarded` (RFC 7239). Clients can
//! send these headers too, so only entries of trusted proxies count: from the right, up to the first address that is
//! not a proxy's own. A proxy writes one of the two headers and may pass the other on as it came. If both are present
//! and disagree, neither counts, and the request counts for the proxy.

use std::net::IpAddr;

use http::HeaderMap;
use http::HeaderName;
use http::header::FORWARDED;

use crate::network::IpNetwork;

const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// The address that a request from `peer` counts for.
pub(crate) fn client(peer: IpAddr, headers: &HeaderMap, proxies: &[IpNetwork]) -> IpAddr {
    let is_proxy = |address: IpAddr| proxies.iter().any(|network| network.contains(address));
    if !is_proxy(peer) {
        return peer;
    }
    let listed = hops(headers, &X_FORWARDED_FOR, |hop| address(hop.trim()));
    let forwarded = hops(headers, &FORWARDED, |hop| address(&parameter_for(hop)?));
    let client = |hops: Vec<Option<IpAddr>>| {
        let mut client = peer;
        // An invalid entry was written by a proxy too, and the entries to its left prove nothing.
        for hop in hops.into_iter().rev().map_while(|hop| hop) {
            client = hop;
            if !is_proxy(hop) {
                break;
            }
        }
        client
    };
    if forwarded.is_empty() {
        return client(listed);
    }
    if listed.is_empty() {
        return client(forwarded);
    }
    let (listed, forwarded) = (client(listed), client(forwarded));
    if listed == forwarded { listed } else { peer }
}

/// The entries of a list header, from left to right; `None`: an invalid entry.
fn hops(headers: &HeaderMap, name: &HeaderName, read: impl Fn(&str) -> Option<IpAddr>) -> Vec<Option<IpAddr>> {
    let mut hops = Vec::new();
    for value in headers.get_all(name) {
        match value.to_str() {
            Ok(value) => hops.extend(split(value, ',').map(&read)),
            Err(_) => hops.push(None),
        }
    }
    hops
}

/// The parts of a text between separators outside of quotes.
fn split(text: &str, mark: char) -> impl Iterator<Item = &str> {
    let (mut is_quoted, mut is_escaped) = (false, false);
    text.split(move |letter| {
        let is_mark = letter == mark && !is_quoted;
        is_quoted ^= letter == '"' && !is_escaped;
        is_escaped = is_quoted && letter == '\\' && !is_escaped;
        is_mark
    })
}

/// The value of `for` in an element of `Forwarded`, without its quotes.
fn parameter_for(element: &str) -> Option<String> {
    let value = split(element, ';').find_map(|pair| {
        let (name, value) = pair.split_once('=')?;
        name.trim().eq_ignore_ascii_case("for").then(|| value.trim())
    })?;
    match value.strip_prefix('"') {
        Some(quoted) => Some(quoted.strip_suffix('"')?.replace('\\', "")),
        None => Some(value.to_owned()),
    }
}

/// An address, with or without a port.
fn address(text: &str) -> Option<IpAddr> {
    let bare = match text.strip_prefix('[') {
        Some(rest) => rest.split_once(']')?.0,
        None => match text.split_once(':') {
            Some((address, port)) if !port.contains(':') => address,
            Some(_) | None => text,
        },
    };
    bare.parse::<IpAddr>().ok().map(|address| address.to_canonical())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(peer: &str, headers: &[(HeaderName, &str)], expected: &str) {
        let proxies = ["10.0.0.0/8", "::1"].map(|network| network.parse().unwrap());
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(name, value.parse().unwrap());
        }
        let found = client(peer.parse().unwrap(), &map, &proxies);
        assert_eq!(found, expected.parse::<IpAddr>().unwrap(), "{peer} {headers:?}");
    }

    #[test]
    fn the_last_address_that_is_not_a_proxy_counts() {
        let list = |value| [(X_FORWARDED_FOR, value)];
        check("10.0.0.1", &[], "10.0.0.1");
        check("10.0.0.1", &list("192.0.2.1"), "192.0.2.1");
        check("10.0.0.1", &list("192.0.2.1:1234"), "192.0.2.1");
        check("10.0.0.1", &list("6.6.6.6, 192.0.2.1, 10.0.0.2"), "192.0.2.1");
        check("10.0.0.1", &list("10.0.0.3, 10.0.0.2"), "10.0.0.3");
        check("::1", &list("[2001:db8::1]:80"), "2001:db8::1");
        check("::1", &list("2001:db8::1"), "2001:db8::1");
        check("::ffff:10.0.0.1", &list("::ffff:192.0.2.1"), "192.0.2.1");
        let twice = [(X_FORWARDED_FOR, "6.6.6.6"), (X_FORWARDED_FOR, "192.0.2.1")];
        check("10.0.0.1", &twice, "192.0.2.1");
    }

    #[test]
    fn a_client_that_is_not_a_proxy_is_not_believed() {
        check("192.0.2.9", &[(X_FORWARDED_FOR, "6.6.6.6")], "192.0.2.9");
        check("192.0.2.9", &[(FORWARDED, "for=6.6.6.6")], "192.0.2.9");
    }

    #[test]
    fn entries_that_cannot_be_read_end_the_search() {
        for entry in ["unknown", "_hidden", "", "192.0.2.1 192.0.2.2", "[2001:db8::1", "\"192.0.2.1\""] {
            let value = format!("6.6.6.6, {entry}, 10.0.0.2");
            check("10.0.0.1", &[(X_FORWARDED_FOR, &value)], "10.0.0.2");
        }
        let mut headers = HeaderMap::new();
        headers.append(X_FORWARDED_FOR, "6.6.6.6".parse().unwrap());
        headers.append(X_FORWARDED_FOR, http::HeaderValue::from_bytes(b"\xff").unwrap());
        let peer = "10.0.0.1".parse().unwrap();
        assert_eq!(client(peer, &headers, &[peer.into()]), peer);
    }

    #[test]
    fn forwarded_has_its_own_grammar() {
        for (value, expected) in [
            ("for=192.0.2.1", "192.0.2.1"),
            ("For=\"192.0.2.1:80\";proto=http;by=10.0.0.1", "192.0.2.1"),
            ("by=10.0.0.1; FOR=192.0.2.1", "192.0.2.1"),
            ("for=\"[2001:db8::1]:4711\"", "2001:db8::1"),
            ("for=6.6.6.6, for=192.0.2.1, for=10.0.0.2", "192.0.2.1"),
            ("for=\"6.6.6.6, for=7.7.7.7\", for=192.0.2.1", "192.0.2.1"),
            ("for=\"\\\"\", for=192.0.2.1", "192.0.2.1"),
            ("for=6.6.6.6, proto=http, for=10.0.0.2", "10.0.0.2"),
            ("for=\"6.6.6.6, for=192.0.2.1", "10.0.0.1"),
            ("for=unknown", "10.0.0.1"),
        ] {
            check("10.0.0.1", &[(FORWARDED, value)], expected);
        }
        // A quote that a client leaves open does not hide the entry of the proxy.
        check("10.0.0.1", &[(FORWARDED, "for=\""), (FORWARDED, "for=192.0.2.1")], "192.0.2.1");
    }

    #[test]
    fn headers_that_disagree_are_not_believed() {
        let both = |list, forwarded| [(X_FORWARDED_FOR, list), (FORWARDED, forwarded)];
        check("10.0.0.1", &both("192.0.2.1", "for=192.0.2.1"), "192.0.2.1");
        check("10.0.0.1", &both("192.0.2.1", "for=6.6.6.6"), "10.0.0.1");
        check("10.0.0.1", &both("6.6.6.6", "for=192.0.2.1"), "10.0.0.1");
    }
}
