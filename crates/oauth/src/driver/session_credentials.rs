//! The credentials of one MCP server in memory, next to those that other programs put into the store.

use crate::credentials::Credentials;

/// The origin of credentials.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    /// The store: this program or another has obtained them before.
    Stored,
    /// A refresh in this session.
    Refreshed,
    /// A grant in this session.
    Granted,
}

/// The credentials in memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SessionCredentials {
    pub(crate) credentials: Credentials,
    pub(crate) origin: Origin,
    /// False if the store could not be written.
    pub(crate) is_saved: bool,
}

impl SessionCredentials {
    pub(crate) fn stored(credentials: Credentials) -> Self {
        Self { credentials, origin: Origin::Stored, is_saved: true }
    }

    /// The credentials to go on with, given those that the store has for the same issuer. The store counts: a refresh
    /// token works once, and another program may have used the one in memory. Only if the store could not be written does
    /// it lack the newest.
    pub(crate) fn or_stored(self, stored: Option<Credentials>) -> Self {
        let is_newest = |stored: &Credentials| self.is_saved || stored.received() >= self.credentials.received();
        match stored.filter(|stored| *stored != self.credentials && is_newest(stored)) {
            Some(stored) => Self::stored(stored),
            None => self,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn credentials(received: u64, access_token: &str, refresh_token: &str) -> Credentials {
        serde_json::from_value(json!({
            "issuer": "https://login.example.com",
            "resource": "https://tools.example.com/mcp",
            "client": {"id": "c", "source": "registered", "auth_method": "none"},
            "token_endpoint": "https://login.example.com/token",
            "token": {
                "access_token": access_token, "kind": "bearer", "received": received, "refresh_token": refresh_token,
            },
        }))
        .unwrap()
    }

    #[test]
    fn the_store_counts_unless_it_could_not_be_written() {
        let memory = || credentials(1000, "t1", "r1");
        for (stored, from_saved, from_unsaved) in [
            // The same.
            (memory(), false, false),
            // An issuer may return the same access token with another refresh token, within the same second.
            (credentials(1000, "t1", "r2"), true, true),
            (credentials(1001, "t2", "r2"), true, true),
            // The clock of another program may be behind.
            (credentials(999, "t2", "r2"), true, false),
        ] {
            for (is_saved, expected) in [(true, from_saved), (false, from_unsaved)] {
                let held = SessionCredentials { credentials: memory(), origin: Origin::Granted, is_saved };
                let result = held.clone().or_stored(Some(stored.clone()));
                let expected = if expected { SessionCredentials::stored(stored.clone()) } else { held };
                assert_eq!(result, expected);
            }
        }
        let held = SessionCredentials { credentials: memory(), origin: Origin::Refreshed, is_saved: true };
        assert_eq!(held.clone().or_stored(None), held);
    }
}
