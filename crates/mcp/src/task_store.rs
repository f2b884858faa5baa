//! Stateless calls that go on as tasks: answered with an id, asked about again and again (MCP 2026-07-28, extension
//! `io.modelcontextprotocol/tasks`).
//!
//! A task belongs to no connection. Whoever has its id, and is who began it, may ask for it until its time is up.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::context::Context;

/// How a task is kept, as a handler wishes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TaskTerms {
    /// For how long after its beginning. What has not ended by then is cancelled.
    pub ttl: Duration,
    /// How long hosts should wait before they ask again.
    pub poll_interval: Duration,
}

impl Default for TaskTerms {
    /// An hour, asked for once a second.
    fn default() -> Self {
        Self { ttl: Duration::from_secs(3600), poll_interval: Duration::from_secs(1) }
    }
}

/// The tasks of one server, by id.
#[derive(Debug)]
pub(crate) struct TaskStore {
    max: usize,
    tasks: Mutex<HashMap<String, Kept>>,
}

#[derive(Debug)]
struct Kept {
    call: Context,
    principal: Option<Arc<str>>,
    until: Instant,
}

impl TaskStore {
    pub(crate) fn new(max: usize) -> Self {
        Self { max, tasks: Mutex::default() }
    }

    /// Takes a call in and returns its id; `None`: there is no room.
    pub(crate) fn keep(
        &self,
        call: Context,
        principal: Option<Arc<str>>,
        now: Instant,
        until: Instant,
    ) -> Option<String> {
        let mut tasks = self.tasks();
        tasks.retain(|_, kept| kept.until > now);
        if tasks.len() >= self.max {
            return None;
        }
        let mut number = [0; 16];
        getrandom::fill(&mut number).ok()?;
        let id = format!("{:032x}", u128::from_be_bytes(number));
        tasks.insert(id.clone(), Kept { call, principal, until });
        Some(id)
    }

    /// The task with this id, if it is still kept and this is who began it.
    pub(crate) fn find(&self, id: &str, principal: Option<&str>, now: Instant) -> Option<Context> {
        let tasks = self.tasks();
        let kept = tasks.get(id).filter(|kept| kept.until > now && kept.principal.as_deref() == principal);
        kept.map(|kept| kept.call.clone())
    }

    /// It was no task after all.
    pub(crate) fn forget(&self, id: &str) {
        self.tasks().remove(id);
    }

    fn tasks(&self) -> MutexGuard<'_, HashMap<String, Kept>> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_is_found_by_who_began_it_until_its_time_is_up() {
        let (store, now) = (TaskStore::new(2), Instant::now());
        let (soon, me) = (now + Duration::from_secs(1), Some(Arc::from("me")));
        let mine = store.keep(Context::detached(), me, now, soon).unwrap();
        let open = store.keep(Context::detached(), None, now, soon).unwrap();
        assert_ne!(mine, open);
        assert!(store.keep(Context::detached(), None, now, soon).is_none(), "there is no room");
        let found = |id: &str, who, now| store.find(id, who, now).is_some();
        assert!(found(&mine, Some("me"), now) && !found(&mine, Some("you"), now) && !found(&mine, None, now));
        assert!(found(&open, None, now) && !found(&open, Some("me"), now) && !found("0", None, now));
        assert!(!found(&mine, Some("me"), soon));
        store.forget(&open);
        assert!(!found(&open, None, now));
        assert!(store.keep(Context::detached(), None, soon, soon).is_some(), "those whose time is up make room");
    }
}
