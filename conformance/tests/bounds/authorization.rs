//! The rows about the authorization of a client.

/// Bounds on documents, attempts and credentials.
pub(crate) const AUTHORIZATION: &[(&str, &str, &str)] = &[
    ("**Authorization of a client**", "", ""),
    ("a document of an authorization server", "{crates/oauth/src/exchange.rs MAX_DOCUMENT bytes}", ""),
    ("a URL or an id in it", "{crates/oauth/src/metadata.rs MAX_TEXT bytes}", ""),
    (
        "scopes that a client asks for",
        "{crates/oauth/src/scope_choice.rs MAX_SCOPES bytes} in all; the scopes of the past are left out first",
        "",
    ),
    (
        "redirects of a metadata document",
        "{crates/oauth/src/discovery.rs MAX_REDIRECTS count}, within its origin; none of any other request",
        "",
    ),
    (
        "addresses in a metadata document",
        "none of this machine, unless the server is on it; none of a private network, unless the server is on one or on this machine; names are not looked up",
        "",
    ),
    (
        "authorizations that an MCP server can cause",
        "{crates/oauth/src/driver/round_limit.rs BURST count} immediately, then one each {crates/oauth/src/driver/round_limit.rs INTERVAL time}",
        "",
    ),
    ("challenges of one request", "{crates/oauth/src/driver/session.rs MAX_ATTEMPTS count}", ""),
    (
        "time for an authorization",
        "{crates/oauth/src/driver/flight.rs MAX_FLOW time}, of which the user has {crates/oauth/src/driver/loopback.rs TIMEOUT time}",
        "",
    ),
    (
        "connections to the redirect listener",
        "{crates/oauth/src/driver/redirect_listener.rs MAX_CONNECTIONS count} at a time, each {crates/oauth/src/driver/redirect_listener.rs REQUEST_TIMEOUT time}",
        "",
    ),
    ("credentials in memory", "{crates/oauth/src/driver/token_store.rs MAX_CREDENTIALS count}", ""),
    (
        "credentials of one MCP server in a keyring",
        "{crates/oauth/src/driver/keyring_store.rs MAX_ISSUERS count}, of as many issuers",
        "",
    ),
    (
        "time for a keyring to answer",
        "{crates/oauth/src/driver/keyring_store.rs MAX_WAIT time}; then files are used",
        "",
    ),
    ("a file of credentials", "{crates/oauth/src/driver/file_store.rs MAX_FILE bytes}", ""),
    (
        "drafts of a killed program in the folder of credentials",
        "removed when they are {crates/oauth/src/driver/file_store.rs OLD_DRAFT time} old, at the next look into the folder",
        "",
    ),
    ("time that a refresh waits for another program", "{crates/oauth/src/driver/file_store.rs MAX_WAIT time}", ""),
];
