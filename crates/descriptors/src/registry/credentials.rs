//! Tokens for registries, from the places where the tools of the registry look for them.
//!
//! `BUF_TOKEN` is one token for every registry, or a list `token@host,token@host`. Behind it comes the password of a
//! machine in a netrc file. A token is shown by no `Debug`, and is sent to its own host only.

use std::collections::BTreeMap;
use std::fmt;

use crate::reference::Host;

/// A secret that proves an identity to a registry.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

/// The tokens by registry.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Credentials {
    by_host: BTreeMap<String, Token>,
    otherwise: Option<Token>,
    netrc: BTreeMap<String, Token>,
}

impl Token {
    /// A token. `None` if the text is empty or contains characters that a header cannot.
    #[must_use]
    pub fn new(text: &str) -> Option<Self> {
        let text = text.trim();
        let fits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic());
        fits.then(|| Self(text.to_owned()))
    }

    /// The secret itself, for the header of a request.
    #[must_use]
    pub fn secret(&self) -> &str {
        &self.0
    }
}

impl Credentials {
    /// No tokens: requests are anonymous.
    #[must_use]
    pub fn anonymous() -> Self {
        Self::default()
    }

    /// Adds the value of `BUF_TOKEN`. With a `@` or a comma it is a list of tokens with their hosts.
    #[must_use]
    pub fn buf_token(mut self, value: &str) -> Self {
        if !value.contains(['@', ',']) {
            self.otherwise = Token::new(value);
            return self;
        }
        for pair in value.split(',').map(str::trim).filter(|pair| !pair.is_empty()) {
            let token = pair.rsplit_once('@').and_then(|(token, host)| Some((host, Token::new(token)?)));
            match token {
                Some((host, token)) => drop(self.by_host.insert(host.to_ascii_lowercase(), token)),
                None => unusable_entry(),
            }
        }
        self
    }

    /// Adds the passwords of a netrc file.
    #[must_use]
    pub fn netrc(mut self, text: &str) -> Self {
        let mut machine: Option<String> = None;
        // A comment begins with a word that begins with `#`; a password may contain one.
        let mut words = text.lines().flat_map(|line| line.split_whitespace().take_while(|word| !word.starts_with('#')));
        while let Some(word) = words.next() {
            match word {
                "machine" => machine = words.next().map(str::to_ascii_lowercase),
                "default" => machine = None,
                "login" | "account" => drop(words.next()),
                "password" => {
                    if let (Some(host), Some(token)) = (&machine, words.next().and_then(Token::new)) {
                        self.netrc.entry(host.clone()).or_insert(token);
                    }
                }
                _ => {}
            }
        }
        self
    }

    /// Adds the token of one registry.
    #[must_use]
    pub fn token(mut self, host: &Host, token: Token) -> Self {
        self.by_host.insert(host.as_str().to_owned(), token);
        self
    }

    /// The token for a registry: of `BUF_TOKEN`, then of netrc.
    #[must_use]
    pub fn for_host(&self, host: &Host) -> Option<&Token> {
        let name = host.as_str();
        self.by_host.get(name).or(self.otherwise.as_ref()).or_else(|| self.netrc.get(name))
    }
}

/// Says that an entry of a list is not used, without its text: it may be a secret.
fn unusable_entry() {
    #[cfg(feature = "client")]
    tracing::warn!("an entry of BUF_TOKEN is not of the form token@host and is not used");
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_may_contain_the_sign_of_a_comment() {
        let text = "# machine a.test password no\nmachine registry.test login me password se#cret # a comment\n";
        let credentials = Credentials::anonymous().netrc(text);
        let token = |host: &str| credentials.for_host(&host.parse().expect("a host")).map(Token::secret);
        assert_eq!((token("registry.test"), token("a.test")), (Some("se#cret"), None));
    }
}
