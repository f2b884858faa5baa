//! The names of the keys in a store.
//!
//! | key | type | content |
//! |---|---|---|
//! | `{leases}` | sorted set | names of leases by their end in milliseconds since 1970 |
//! | `{leases}:urls` | hash | the sealed addresses of processes, by the names of their leases |
//! | `s:{S}` | hash | the session: `h` its holder, `k` its token, `v` the version of its state, `d` its sealed state |
//! | `l:{S}` | hash | its log: `k` the latest token that wrote, `b` bytes of events, `sN` and `nN` |
//! | `e:{S}` | hash | its sealed events by stream and number, so that a client's stream is read without the others |
//! | `o:{S}` | list | the streams and numbers of its events, oldest first |
//! | `q:{S}` | hash | requests without an answer: stream and tag, the sealed id |
//! | `t:{T}` | string | the sealed record of a task |
//!
//! `sN` is the number of the last event of stream N, which has no end, and `nN` the number of the last one kept.
//!
//! A session that was closed has `x` alone, for a minute.
//!
//! Notices are sent on the channel `bus:D`. Channels do not belong to a database, so D is the number of the database.
//!
//! Each is preceded by the prefix of the store. S stands for the name of a session, T for the one of a task. The braces
//! keep the keys of a session in one slot of a cluster, and the keys of the leases.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use protomcp_server::NodeId;
use ring::digest::{SHA256, digest};

/// The bytes of a digest that name a session or a process.
pub(crate) const NAME: usize = 16;

/// A session by the first half of the SHA-256 of its id: the id is a secret, which a store does not show.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct SessionName([u8; NAME]);

/// A process that sends notices, by the first half of the SHA-256 of its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SenderName(pub(crate) [u8; NAME]);

impl SessionName {
    pub(crate) fn of(session: &str) -> Self {
        Self(half_digest(session))
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl SenderName {
    pub(crate) fn of(node: &NodeId) -> Self {
        Self(half_digest(node.as_str()))
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

fn half_digest(text: &str) -> [u8; NAME] {
    let digest = digest(&SHA256, text.as_bytes());
    *digest.as_ref().first_chunk().expect("a digest has 32 bytes")
}

/// The prefix of all keys.
#[derive(Debug, Clone)]
pub(crate) struct KeyNames {
    prefix: String,
}

/// The keys of a session.
#[derive(Debug, Clone)]
pub(crate) struct SessionKeys {
    pub(crate) session: String,
    pub(crate) log: String,
    pub(crate) events: String,
    pub(crate) requests: String,
    pub(crate) order: String,
}

impl KeyNames {
    pub(crate) fn new(prefix: String) -> Self {
        Self { prefix }
    }

    pub(crate) fn leases(&self) -> String {
        format!("{}{{leases}}", self.prefix)
    }

    /// The leases, and the addresses of their processes, in one slot of a cluster.
    pub(crate) fn leases_and_addresses(&self) -> Vec<String> {
        let leases = self.leases();
        let addresses = format!("{leases}:urls");
        vec![leases, addresses]
    }

    /// The channel of notices.
    pub(crate) fn bus(&self, database: u16) -> String {
        format!("{}bus:{database}", self.prefix)
    }

    pub(crate) fn task(&self, task: &SessionName) -> String {
        format!("{}t:{{{}}}", self.prefix, URL_SAFE_NO_PAD.encode(task.0))
    }

    pub(crate) fn of(&self, session: &SessionName) -> SessionKeys {
        let (prefix, name) = (&self.prefix, URL_SAFE_NO_PAD.encode(session.0));
        let key = |kind: char| format!("{prefix}{kind}:{{{name}}}");
        SessionKeys { session: key('s'), log: key('l'), events: key('e'), requests: key('q'), order: key('o') }
    }
}

impl SessionKeys {
    /// All of them, in the order of the scripts.
    pub(crate) fn all(self) -> Vec<String> {
        vec![self.session, self.log, self.events, self.requests, self.order]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_name_a_session_by_its_digest() {
        // The SHA-256 of `abc` begins with ba7816bf8f01cfea414140de5dae2223 (FIPS 180-2, B.1).
        let keys = KeyNames::new("pmcp:".to_owned()).of(&SessionName::of("abc"));
        assert_eq!(keys.all(), ["s", "l", "e", "q", "o"].map(|kind| format!("pmcp:{kind}:{{ungWv48Bz-pBQUDeXa4iIw}}")));
        let leases = KeyNames::new("pmcp:".to_owned()).leases_and_addresses();
        assert_eq!(leases, ["pmcp:{leases}", "pmcp:{leases}:urls"]);
        assert_eq!(KeyNames::new("tools:".to_owned()).bus(2), "tools:bus:2");
        let task = KeyNames::new("pmcp:".to_owned()).task(&SessionName::of("abc"));
        assert_eq!(task, "pmcp:t:{ungWv48Bz-pBQUDeXa4iIw}");
        assert_ne!(SessionName::of("abc"), SessionName::of("abd"));
    }
}
