//! The URLs at which metadata may be, in the order in which they are asked.

use protomcp_auth::Url;

/// The URLs of a resource's description (RFC 9728, section 3.1): below its path, then at the root, where servers of
/// MCP 2025-11-25 may have it.
pub(crate) fn of_resource(resource: &Url) -> Vec<Url> {
    let (origin, path) = (resource.origin(), resource.path());
    let rooted = format!("{origin}/.well-known/oauth-protected-resource");
    let below = (!path.is_empty()).then(|| format!("{rooted}{path}"));
    parse(below.into_iter().chain([rooted]))
}

/// The URLs of an issuer's description (RFC 8414, section 3.1; MCP 2025-11-25, "Authorization Server Metadata
/// Discovery"). The root is not among them for an issuer with a path: it belongs to another issuer.
pub(crate) fn of_issuer(issuer: &Url) -> Vec<Url> {
    let (origin, path) = (issuer.origin(), issuer.path());
    let rooted = ["oauth-authorization-server", "openid-configuration"];
    let rooted = rooted.into_iter().map(|name| format!("{origin}/.well-known/{name}{path}"));
    let below = (!path.is_empty()).then(|| format!("{origin}{path}/.well-known/openid-configuration"));
    parse(rooted.chain(below))
}

fn parse(urls: impl IntoIterator<Item = String>) -> Vec<Url> {
    urls.into_iter().filter_map(|url| Url::parse(&url).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(urls: &[Url], expected: &[&str]) {
        assert_eq!(urls.iter().map(Url::as_str).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn a_resource_is_described_below_its_path_or_at_the_root() {
        let of = |url: &str| of_resource(&Url::parse(url).unwrap());
        let root = "https://a:1/.well-known/oauth-protected-resource";
        check(&of("https://a:1"), &[root]);
        check(&of("https://a:1/"), &[root]);
        check(&of("https://a:1/mcp/x?y"), &[&format!("{root}/mcp/x"), root]);
    }

    #[test]
    fn an_issuer_with_a_path_is_never_described_at_the_root() {
        let of = |url: &str| of_issuer(&Url::parse(url).unwrap());
        check(
            &of("https://a"),
            &["https://a/.well-known/oauth-authorization-server", "https://a/.well-known/openid-configuration"],
        );
        check(
            &of("https://a/tenant/"),
            &[
                "https://a/.well-known/oauth-authorization-server/tenant",
                "https://a/.well-known/openid-configuration/tenant",
                "https://a/tenant/.well-known/openid-configuration",
            ],
        );
    }
}
