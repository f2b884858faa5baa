//! The scopes to ask for (MCP 2025-11-25, "Scope Selection Strategy"; 2026-07-28 adds the union and `offline_access`).

use crate::scopes::Scopes;

/// The scope by which a client asks for a refresh token (OpenID Connect Core, section 11).
pub(crate) const OFFLINE: &str = "offline_access";

/// The places that name scopes.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ScopeSources<'a> {
    pub(crate) challenge: Option<&'a Scopes>,
    pub(crate) configured: Option<&'a Scopes>,
    /// Of the MCP server's metadata.
    pub(crate) published: Option<&'a Scopes>,
    /// Those that were asked for before.
    pub(crate) previous: Option<&'a Scopes>,
    /// Of the authorization server's metadata.
    pub(crate) issuer: Option<&'a [String]>,
    /// True if a refresh token is of use.
    pub(crate) wants_refresh: bool,
}

impl ScopeSources<'_> {
    /// The scopes to ask for. None: the parameter is left out, and the authorization server chooses.
    pub(crate) fn choose(&self) -> Option<Scopes> {
        let mut chosen = self.challenge.or(self.configured).or(self.published).cloned().unwrap_or_default();
        chosen.add(self.previous.unwrap_or(&Scopes::default()));
        let has_offline = self.issuer.is_some_and(|scopes| scopes.iter().any(|scope| scope == OFFLINE));
        if !has_offline {
            chosen = chosen.without(OFFLINE);
        }
        // Alone it would replace the scopes that the server chooses.
        if chosen.is_empty() {
            return None;
        }
        if has_offline && self.wants_refresh {
            chosen.add(&Scopes::lenient([OFFLINE]));
        }
        Some(chosen)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_challenge_counts_before_metadata_and_adds_to_the_past() {
        let scopes = |text: &str| (!text.is_empty()).then(|| text.parse::<Scopes>().unwrap());
        for (challenge, configured, published, previous, issuer, expected) in [
            ("", "", "", "", None, ""),
            ("a", "b", "c", "", None, "a"),
            ("", "b", "c", "", None, "b"),
            ("", "", "c d", "", None, "c d"),
            ("w", "", "c", "r", None, "r w"),
            ("", "", "", "r", None, "r"),
            ("a", "", "", "", Some("a offline_access"), "a offline_access"),
            ("a", "", "", "", Some("a"), "a"),
            ("a offline_access", "", "", "", Some("a"), "a"),
            ("", "", "a offline_access", "", None, "a"),
            ("", "", "", "", Some("offline_access"), ""),
        ] {
            let (challenge, configured, published) = (scopes(challenge), scopes(configured), scopes(published));
            let issuer: Option<Vec<String>> = issuer.map(|text: &str| text.split(' ').map(str::to_owned).collect());
            let previous = scopes(previous);
            let sources = ScopeSources {
                challenge: challenge.as_ref(),
                configured: configured.as_ref(),
                published: published.as_ref(),
                previous: previous.as_ref(),
                issuer: issuer.as_deref(),
                wants_refresh: true,
            };
            assert_eq!(sources.choose(), scopes(expected), "{sources:?}");
        }
    }
}
