//! URLs in messages.

/// A URL without its credentials, which may be in its query: a name that clients and logs may have.
pub(crate) fn shown(url: &str) -> String {
    let end = url.find(['?', '#']).unwrap_or(url.len());
    let (scheme, rest) = url[..end].split_once("://").unwrap_or(("", &url[..end]));
    let path = rest.find('/').unwrap_or(rest.len());
    let host = rest[..path].rsplit_once('@').map_or(&rest[..path], |(_, host)| host);
    let separator = if scheme.is_empty() { "" } else { "://" };
    format!("{scheme}{separator}{host}{}", &rest[path..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_shown_without_credentials() {
        for (url, text) in [
            ("https://a.example/mcp", "https://a.example/mcp"),
            ("https://a.example:8443/mcp?key=secret", "https://a.example:8443/mcp"),
            ("https://a.example?key=secret", "https://a.example"),
            ("https://ann:secret@a.example/x@y#secret", "https://a.example/x@y"),
            ("a.example/?secret", "a.example/"),
        ] {
            assert_eq!(shown(url), text);
        }
    }
}
