//! The sessions of a server, by the id that their hosts know.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::exchange::Exchange;

/// How long a session must not have been used before it makes room for another.
const REPLACEABLE: Duration = Duration::from_secs(60);

/// All sessions that are open.
#[derive(Debug)]
pub(crate) struct Table {
    open: Mutex<HashMap<Box<str>, Arc<Exchange>>>,
    limit: usize,
}

impl Table {
    pub(crate) fn new(limit: usize) -> Self {
        Self { open: Mutex::default(), limit }
    }

    pub(crate) fn find(&self, key: &str) -> Option<Arc<Exchange>> {
        self.open().get(key).cloned()
    }

    /// Takes a session in. `false`: there are too many, and all are in use.
    pub(crate) fn insert(&self, exchange: &Arc<Exchange>) -> bool {
        let unused = {
            let mut open = self.open();
            let unused = if open.len() < self.limit {
                None
            } else {
                let idle = |exchange: &Arc<Exchange>| Some((exchange.idle_for()?, Arc::clone(exchange)));
                let oldest = open.values().filter_map(idle).max_by_key(|(time, _)| *time);
                let Some((_, oldest)) = oldest.filter(|(time, _)| *time >= REPLACEABLE) else { return false };
                open.remove(oldest.key());
                Some(oldest)
            };
            open.insert(exchange.key().into(), Arc::clone(exchange));
            unused
        };
        if let Some(unused) = unused {
            tracing::info!("too many sessions: closed the one that was not used for longest");
            unused.end();
        }
        true
    }

    /// Forgets a session, and returns it if it was there.
    pub(crate) fn remove(&self, key: &str) -> Option<Arc<Exchange>> {
        self.open().remove(key)
    }

    pub(crate) fn len(&self) -> usize {
        self.open().len()
    }

    fn open(&self) -> MutexGuard<'_, HashMap<Box<str>, Arc<Exchange>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An id that nobody can guess: 192 random bits, as visible ASCII.
///
/// # Errors
/// When the system has no randomness.
pub(crate) fn new_key() -> Result<Box<str>, getrandom::Error> {
    let mut bits = [0; 24];
    getrandom::fill(&mut bits)?;
    Ok(URL_SAFE_NO_PAD.encode(bits).into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::caller::Caller;
    use crate::config::Config;
    use crate::exchange::Kind;

    fn session(key: &str) -> Arc<Exchange> {
        let config = Config { event_store: None, ..Config::default() };
        Exchange::new(Kind::Session, key.into(), &Caller::default(), &config)
    }

    #[tokio::test(start_paused = true)]
    async fn a_full_table_gives_the_place_of_whom_nobody_needs() {
        let table = Table::new(2);
        let (busy, idle) = (session("busy"), session("idle"));
        assert!(table.insert(&busy) && table.insert(&idle));
        let (place, _) = busy.listen().unwrap();
        tokio::time::advance(REPLACEABLE - Duration::from_secs(1)).await;
        assert!(!table.insert(&session("early")), "both may be needed");
        tokio::time::advance(Duration::from_secs(1)).await;
        assert!(table.insert(&session("new")));
        assert!(table.find("idle").is_none() && idle.is_over());
        assert!(table.find("busy").is_some() && !busy.is_over());
        assert_eq!(table.len(), 2);
        busy.detach(place);
        assert!(!table.insert(&session("other")), "one was used just now, the other is new");
    }

    #[test]
    fn keys_are_long_and_never_the_same() {
        let keys: std::collections::HashSet<_> = (0..1000).map(|_| new_key().unwrap()).collect();
        assert_eq!(keys.len(), 1000);
        assert!(keys.iter().all(|key| key.len() == 32 && key.bytes().all(|byte| byte.is_ascii_graphic())));
    }
}
