//! The authenticated caller of a request.

/// The authenticated caller of a request, as the transport knows it: among the [`Extensions`](crate::Extensions) of the
/// request, for services that need nothing else of the transport.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CallerIdentity {
    /// The user, or the client itself; unique for one issuer. Empty if only the client is known.
    pub subject: String,
    /// The client that the token was issued to; may be empty.
    pub client_id: String,
    /// The issuer of the token; empty if the server itself knows the caller.
    pub issuer: String,
    /// The scopes that the token grants.
    pub scopes: Vec<String>,
}
