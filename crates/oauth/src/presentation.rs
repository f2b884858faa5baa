//! The header fields by which a token is presented to the MCP server (RFC 6750, section 2.1; RFC 9449, section 7.1).

use std::time::SystemTime;

use http::header::AUTHORIZATION;
use http::{HeaderName, HeaderValue};

use crate::credentials::{Credentials, TokenKind};
use crate::dpop::Proof;
use crate::target::dpop_key;

impl Credentials {
    /// The value of `authorization`.
    #[must_use]
    pub fn authorization(&self) -> HeaderValue {
        let scheme = match self.token.kind {
            TokenKind::Bearer => "Bearer",
            TokenKind::Dpop => "DPoP",
        };
        let value = HeaderValue::try_from(format!("{scheme} {}", self.token.access_token));
        // A token of a store that was edited by hand may be anything.
        let mut value = value.unwrap_or_else(|_| HeaderValue::from_static("Bearer"));
        value.set_sensitive(true);
        value
    }

    /// The header fields for one request to the MCP server: `authorization`, and `dpop` if the token is bound to a key.
    /// `url` is absolute; `nonce` is the last `DPoP-Nonce` of the server.
    #[must_use]
    pub fn headers(
        &self,
        method: &str,
        url: &str,
        nonce: Option<&str>,
        now: SystemTime,
    ) -> Vec<(HeaderName, HeaderValue)> {
        let mut headers = vec![(AUTHORIZATION, self.authorization())];
        if let Some(key) = dpop_key(self) {
            let proof = Proof { method, url, nonce, access_token: Some(&self.token.access_token) };
            let proof = HeaderValue::try_from(proof.sign(&key, now));
            headers.extend(proof.ok().map(|proof| (HeaderName::from_static("dpop"), proof)));
        }
        headers
    }
}
