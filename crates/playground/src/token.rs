//! The secret in the URL of the page.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

/// The secret that each request of the page carries. It is the fragment of the page's URL, which browsers send neither to
/// servers nor to other pages.
#[derive(Clone)]
pub struct Token(String);

/// The system has no random bytes.
#[derive(Debug)]
pub struct NoToken(getrandom::Error);

impl Token {
    /// A new one, of 192 random bits.
    ///
    /// # Errors
    /// If the system has no random bytes.
    pub fn random() -> Result<Self, NoToken> {
        let mut bytes = [0; 24];
        getrandom::fill(&mut bytes).map_err(NoToken)?;
        Ok(Self(URL_SAFE_NO_PAD.encode(bytes)))
    }

    /// The text, for a bearer token of HTTP.
    #[must_use]
    pub fn secret(&self) -> &str {
        &self.0
    }

    /// The URL of the page on a server, such as `http://localhost:8080`.
    #[must_use]
    pub fn url(&self, origin: &str) -> String {
        format!("{origin}/#token={}", self.0)
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(..)")
    }
}

impl fmt::Display for NoToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no random bytes for the token of the page: {}", self.0)
    }
}

impl std::error::Error for NoToken {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_only_in_the_fragment() {
        let token = Token::random().unwrap();
        assert_eq!(token.secret().len(), 32);
        assert_eq!(token.url("http://localhost:1"), format!("http://localhost:1/#token={}", token.secret()));
        assert_ne!(token.secret(), Token::random().unwrap().secret());
        assert_eq!(format!("{token:?}"), "Token(..)");
    }
}
