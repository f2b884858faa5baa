//! The scopes to ask for (MCP 2025-11-25, "Scope Selection Strategy"; 2026-07-28 adds the union and `offline_access`).

use protomcp_auth::Scopes;

/// The scope by which a client asks for a refresh token (OpenID Connect Core, section 11).
pub(crate) const OFFLINE: &str = "offline_access";

/// The most bytes of the scopes that are asked for. Servers name them, each step-up adds some, and they are part of a URL.
const MAX_SCOPES: usize = 4096;

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
    /// The scopes to ask for, at most [`MAX_SCOPES`]: those that are needed now before the scopes of the past. None:
    /// the parameter is left out, and the authorization server chooses.
    pub(crate) fn choose(&self) -> Option<Scopes> {
        let mut chosen = Scopes::default();
        let needed = self.challenge.or(self.configured).or(self.published);
        let room = MAX_SCOPES - OFFLINE.len() - 1;
        let left_out: usize =
            [needed, self.previous].into_iter().flatten().map(|all| chosen.add_within(all, room)).sum();
        if left_out > 0 {
            tracing::warn!(left_out, "the servers name more scopes than can be asked for");
        }
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
    fn scopes_are_bounded_in_all() {
        // Each takes 100 bytes, with the blank.
        let many = |letter: char, count: usize| {
            let text: Vec<_> = (0..count).map(|number| format!("{letter}{number:0>98}")).collect();
            Scopes::lenient([&*text.join(" ")])
        };
        let offline = [OFFLINE.to_owned()];
        for (challenge, previous, issuer, of_challenge, in_all) in [
            (many('a', 30), many('b', 5), None, 30, 35),
            (many('a', 30), many('b', 30), None, 30, 40),
            (many('a', 30), many('b', 30), Some(&offline[..]), 30, 41),
            (many('a', 100), many('b', 30), Some(&offline[..]), 40, 41),
            (many('a', 100), many('a', 100), None, 40, 40),
        ] {
            let (challenge, previous) = (Some(&challenge), Some(&previous));
            let sources = ScopeSources { challenge, previous, issuer, wants_refresh: true, ..ScopeSources::default() };
            let chosen = sources.choose().unwrap();
            assert_eq!(chosen.iter().filter(|scope| scope.starts_with('a')).count(), of_challenge);
            assert_eq!(chosen.iter().count(), in_all);
            assert!(chosen.to_string().len() <= MAX_SCOPES);
        }
        let long = Scopes::lenient([&*"x".repeat(5000)]);
        assert_eq!(ScopeSources { published: Some(&long), ..ScopeSources::default() }.choose(), None);
    }

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
