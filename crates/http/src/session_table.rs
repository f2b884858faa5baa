//! The sessions of a server, by the id that their clients know.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use protomcp_fair::{LeftOut, LogRate};
use tokio::time::Instant;

use crate::claim_slots::ClaimSlots;
use crate::http_session::HttpSession;
use crate::limited_table::{Admission, LimitedTable};

/// All open sessions. Their number is limited, and owners share it.
#[derive(Debug)]
pub(crate) struct SessionTable {
    open: Mutex<Open>,
    /// The sessions that are taken over from other processes.
    pub(crate) claims: ClaimSlots,
    evictions: LogRate,
}

#[derive(Debug)]
struct Open {
    numbers: HashMap<Box<str>, u64>,
    sessions: LimitedTable<Arc<HttpSession>>,
}

impl SessionTable {
    pub(crate) fn new(limit: usize) -> Self {
        let open = Open { numbers: HashMap::new(), sessions: LimitedTable::new(limit) };
        Self { open: Mutex::new(open), claims: ClaimSlots::default(), evictions: LogRate::default() }
    }

    pub(crate) fn find(&self, key: &str) -> Option<Arc<HttpSession>> {
        let open = self.open();
        open.sessions.get(*open.numbers.get(key)?).cloned()
    }

    /// Inserts a session. `false`: there are too many, and none of them yields to one of this owner.
    pub(crate) fn insert(&self, session: &Arc<HttpSession>) -> bool {
        let now = Instant::now();
        let admission = {
            let mut open = self.open();
            let Open { numbers, sessions } = &mut *open;
            let owner = session.owner();
            let (admission, number) = sessions.insert(Arc::clone(session), &owner, now, |other| other.last_use(now));
            if let Admission::InsteadOf(other) = &admission {
                numbers.remove(other.key());
            }
            numbers.extend(number.map(|number| (session.key().into(), number)));
            admission
        };
        match admission {
            Admission::Free => true,
            Admission::InsteadOf(other) => {
                if let Some(LeftOut(left_out)) = self.evictions.permit(now.into_std()) {
                    tracing::warn!(left_out, "too many sessions: closed one of the owner that has most");
                }
                other.end();
                true
            }
            Admission::Refused => false,
        }
    }

    /// Forgets a session, and returns it if it was there.
    pub(crate) fn remove(&self, key: &str) -> Option<Arc<HttpSession>> {
        let mut open = self.open();
        let number = open.numbers.remove(key)?;
        open.sessions.remove(number)
    }

    /// Forgets this session, and no other one with its key.
    pub(crate) fn remove_session(&self, session: &Arc<HttpSession>) {
        let mut open = self.open();
        let Some(number) = open.numbers.get(session.key()).copied() else { return };
        if open.sessions.get(number).is_some_and(|found| Arc::ptr_eq(found, session)) {
            open.numbers.remove(session.key());
            open.sessions.remove(number);
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.open().sessions.len()
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The length of a key.
const KEY_LENGTH: usize = 32;

/// An id that cannot be guessed: 192 random bits, as visible ASCII.
///
/// # Errors
/// When the system has no randomness.
pub(crate) fn new_key() -> Result<Box<str>, getrandom::Error> {
    let mut bits = [0; 24];
    getrandom::fill(&mut bits)?;
    Ok(URL_SAFE_NO_PAD.encode(bits).into())
}

/// True if the text may be a key that a process of this server has made.
pub(crate) fn is_key(text: &str) -> bool {
    text.len() == KEY_LENGTH && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use protomcp_types::ProtocolVersion;

    use super::*;
    use crate::caller::{Caller, Principal};
    use crate::config::Config;
    use crate::http_session::SessionKind;
    use crate::http_session::transport::SessionTransport;
    use crate::limited_table::{ESTABLISHED_WITHIN, REPLACEABLE};
    use protomcp_transport::{Delivery, Transport};

    fn stranger(key: &str, who: &str) -> Arc<HttpSession> {
        let config = Config::default().without_event_store();
        let caller = Caller { principal: Some(Principal(who.into())), ..Caller::default() };
        HttpSession::new(SessionKind::Stateful, key.into(), &caller, &config)
    }

    fn session(key: &str, who: &str) -> Arc<HttpSession> {
        let session = stranger(key, who);
        let (_, mut sink) = SessionTransport(Arc::clone(&session)).split();
        sink.negotiated(ProtocolVersion::V2025_11_25);
        std::mem::forget(sink);
        session
    }

    #[tokio::test(start_paused = true)]
    async fn a_full_table_evicts_the_session_that_was_unused_for_longest() {
        let table = SessionTable::new(2);
        let (busy, idle) = (session("busy", "ann"), session("idle", "ann"));
        assert!(table.insert(&busy) && table.insert(&idle));
        let (stream, _) = busy.listen().unwrap();
        tokio::time::advance(REPLACEABLE - Duration::from_secs(1)).await;
        assert!(!table.insert(&session("early", "ann")), "both may be needed");
        tokio::time::advance(Duration::from_secs(1)).await;
        assert!(table.insert(&session("new", "ann")));
        assert!(table.find("idle").is_none() && idle.is_over());
        assert!(table.find("busy").is_some() && !busy.is_over());
        assert_eq!(table.len(), 2);
        busy.detach(stream);
        assert!(!table.insert(&session("other", "ann")), "one was used just now, the other is new");
    }

    #[tokio::test(start_paused = true)]
    async fn an_owner_who_holds_all_sessions_yields() {
        let table = SessionTable::new(3);
        let hoard = ["a", "b", "c"].map(|key| session(key, "ann"));
        let listening = hoard.each_ref().map(|session| (table.insert(session), session.listen()));
        assert!(listening.iter().all(|(is_in, stream)| *is_in && stream.is_some()));
        assert!(table.insert(&session("bob's", "bob")));
        assert_eq!(hoard.iter().filter(|session| session.is_over()).count(), 1);
        assert!(!table.insert(&session("d", "ann")));
        assert!(table.find("bob's").is_some() && table.len() == 3);
    }

    #[tokio::test(start_paused = true)]
    async fn a_session_without_a_handshake_is_evicted_first() {
        let table = SessionTable::new(2);
        let (idle, mute) = (session("idle", "ann"), stranger("mute", "ann"));
        assert!(table.insert(&idle) && table.insert(&mute));
        let _listening = mute.listen().unwrap();
        tokio::time::advance(ESTABLISHED_WITHIN).await;
        assert!(table.insert(&session("new", "ann")));
        assert!(mute.is_over() && table.find("mute").is_none() && table.find("idle").is_some());
    }

    #[test]
    fn keys_are_long_and_never_the_same() {
        let keys: std::collections::HashSet<_> = (0..1000).map(|_| new_key().unwrap()).collect();
        assert_eq!(keys.len(), 1000);
        assert!(keys.iter().all(|key| is_key(key) && key.bytes().all(|byte| byte.is_ascii_graphic())));
        for text in ["", "x", "0123456789012345678901234567890", "012345678901234567890123456789012"] {
            assert!(!is_key(text), "{text}");
        }
        assert!(!is_key("0123456789012345678901234567890/"));
    }
}
