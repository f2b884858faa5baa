//! Tasks by id: calls that were answered before they have ended, and ended ones until their time is up.
//!
//! The store knows nothing of what it keeps but whose it is, since when, until when, and how many bytes its result has.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How a task is kept, as a handler wishes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TaskTerms {
    /// For how long after its beginning. What has not ended by then is cancelled. A host with a session may wish for
    /// another time; [`Limits::max_task_ttl`](crate::Limits::max_task_ttl) bounds both.
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

/// What there is room for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Room {
    pub(crate) tasks: usize,
    /// Bytes of results.
    pub(crate) bytes: usize,
    /// Whether each owner has so much, or all together.
    pub(crate) each: bool,
}

/// Tasks of owners `O`, as whatever `T` is needed to look after them.
#[derive(Debug)]
pub(crate) struct TaskStore<O, T> {
    room: Room,
    open: Mutex<Open<O, T>>,
}

#[derive(Debug)]
struct Open<O, T> {
    tasks: HashMap<String, Kept<O, T>>,
    /// Orders tasks by their beginning.
    last: u64,
}

#[derive(Debug)]
struct Kept<O, T> {
    number: u64,
    owner: O,
    task: T,
    until: Instant,
    /// Bytes of its result; `None`: it has not ended.
    size: Option<usize>,
}

impl<O: Eq, T: Clone> TaskStore<O, T> {
    pub(crate) fn new(room: Room) -> Self {
        Self { room, open: Mutex::new(Open { tasks: HashMap::new(), last: 0 }) }
    }

    /// Takes in a task that is made for its id, which nobody guesses; `None`: there is no room.
    pub(crate) fn keep(&self, owner: O, now: Instant, until: Instant, make: impl FnOnce(&str) -> T) -> Option<T> {
        let mut open = self.open();
        open.tasks.retain(|_, kept| kept.until > now);
        let each = self.room.each;
        if open.tasks.values().filter(|kept| !each || kept.owner == owner).count() >= self.room.tasks {
            return None;
        }
        let mut number = [0; 16];
        getrandom::fill(&mut number).ok()?;
        let id = format!("{:032x}", u128::from_be_bytes(number));
        let task = make(&id);
        open.last += 1;
        let kept = Kept { number: open.last, owner, task: task.clone(), until, size: None };
        open.tasks.insert(id, kept);
        Some(task)
    }

    /// The task with this id, if it is still kept and this is its owner.
    pub(crate) fn find(&self, id: &str, owner: &O, now: Instant) -> Option<T> {
        let open = self.open();
        open.tasks.get(id).filter(|kept| kept.until > now && kept.owner == *owner).map(|kept| kept.task.clone())
    }

    /// The task with this id, if it is still kept, whoever owns it.
    pub(crate) fn peek(&self, id: &str, now: Instant) -> Option<T> {
        self.open().tasks.get(id).filter(|kept| kept.until > now).map(|kept| kept.task.clone())
    }

    /// The tasks of this owner, oldest first.
    pub(crate) fn of(&self, owner: &O, now: Instant) -> Vec<T> {
        let open = self.open();
        let mut found: Vec<_> = open.tasks.values().filter(|kept| kept.until > now && kept.owner == *owner).collect();
        found.sort_unstable_by_key(|kept| kept.number);
        found.into_iter().map(|kept| kept.task.clone()).collect()
    }

    /// A task has ended, with a result of so many bytes. Returns ended tasks that had to make room for it, the oldest
    /// first in turn; the newest result always stays.
    pub(crate) fn ended(&self, id: &str, size: usize) -> Vec<T> {
        let mut open = self.open();
        let Some(kept) = open.tasks.get_mut(id) else { return Vec::new() };
        kept.size = Some(size);
        let newest = kept.number;
        let Open { tasks, .. } = &*open;
        let owner = &tasks[id].owner;
        let mut ended: Vec<_> = tasks
            .iter()
            .filter(|(_, kept)| !self.room.each || kept.owner == *owner)
            .filter_map(|(id, kept)| Some((kept.number, kept.size?, id.clone())))
            .collect();
        ended.sort_unstable();
        let mut bytes: usize = ended.iter().map(|(_, size, _)| size).sum();
        let mut gone = Vec::new();
        for (number, size, id) in ended {
            if bytes <= self.room.bytes {
                break;
            }
            if number != newest {
                bytes -= size;
                gone.extend(open.tasks.remove(&id).map(|kept| kept.task));
            }
        }
        gone
    }

    /// Its time is up, or it was no task after all.
    pub(crate) fn forget(&self, id: &str) -> Option<T> {
        self.open().tasks.remove(id).map(|kept| kept.task)
    }

    /// Forgets everything of an owner.
    pub(crate) fn close(&self, owner: &O) -> Vec<T> {
        let mut open = self.open();
        open.tasks.extract_if(|_, kept| kept.owner == *owner).map(|(_, kept)| kept.task).collect()
    }

    fn open(&self) -> MutexGuard<'_, Open<O, T>> {
        // Nothing in here can panic half-way through a change.
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn store(tasks: usize, bytes: usize, each: bool) -> TaskStore<u8, String> {
        TaskStore::new(Room { tasks, bytes, each })
    }

    #[test]
    fn a_task_is_found_by_its_owner_until_its_time_is_up() {
        let (store, now) = (store(2, 0, false), Instant::now());
        let soon = now + Duration::from_secs(1);
        let keep = |owner, now, until| store.keep(owner, now, until, str::to_owned);
        let (mine, yours) = (keep(1, now, soon).unwrap(), keep(2, now, soon).unwrap());
        assert!(mine != yours && mine.len() == 32);
        assert!(keep(1, now, soon).is_none(), "there is no room");
        let found = |id: &str, who, now| store.find(id, &who, now).is_some();
        assert!(found(&mine, 1, now) && !found(&mine, 2, now) && !found("0", 1, now) && found(&yours, 2, now));
        assert!(!found(&mine, 1, soon) && store.of(&1, soon).is_empty());
        assert_eq!(store.of(&1, now), [mine]);
        store.forget(&yours);
        assert!(!found(&yours, 2, now));
        assert!(keep(2, soon, soon).is_some(), "those whose time is up make room");
    }

    #[test]
    fn each_owner_has_room_of_its_own_until_it_leaves() {
        let (store, now) = (store(1, 0, true), Instant::now());
        let keep = |owner| store.keep(owner, now, now + Duration::from_secs(1), str::to_owned);
        let (one, two) = (keep(1).unwrap(), keep(2).unwrap());
        assert!(keep(1).is_none());
        assert_eq!(store.close(&1), [one]);
        assert!(keep(1).is_some() && store.find(&two, &2, now).is_some());
    }

    #[test]
    fn the_oldest_results_make_room_for_new_ones() {
        for (bytes, each, left) in [
            (40, false, vec![true; 5]),
            (39, false, vec![false, true, true, true, true]),
            (29, false, vec![false, false, true, true, true]),
            (0, false, vec![false, false, false, true, true]),
            (30, true, vec![true; 5]),
            (29, true, vec![false, true, true, true, true]),
        ] {
            let (store, now) = (store(9, bytes, each), Instant::now());
            let keep = |owner| store.keep(owner, now, now + Duration::from_secs(1), str::to_owned).unwrap();
            // The second belongs to somebody else, and the fourth goes on.
            let ids = [keep(1), keep(2), keep(1), keep(1), keep(1)];
            let gone: Vec<_> = [0, 1, 2, 4].into_iter().flat_map(|index| store.ended(&ids[index], 10)).collect();
            let kept: Vec<_> = ids.iter().map(|id| !gone.contains(id)).collect();
            assert_eq!(kept, left, "{bytes} {each}");
            let found = |id| store.find(id, &1, now).or(store.find(id, &2, now)).is_some();
            assert!(ids.iter().zip(left).all(|(id, left)| found(id) == left));
        }
    }
}
