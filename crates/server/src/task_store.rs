//! Tasks by id: calls that were answered before they have ended, and ended ones until their time is up.
//!
//! The store knows of a task who may ask for it, whom it counts for, since when and until when it is kept, and how many
//! bytes its result has. Callers share the room: what is full is freed by the holder of most, ended tasks first and the
//! oldest first.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use crate::fair::holder_of_most;
use protomcp_session::Owner;

/// The bounds of a store.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Room {
    /// Tasks of all keys together.
    pub(crate) tasks: usize,
    /// Tasks of one key.
    pub(crate) of_one: usize,
    /// Bytes of results.
    pub(crate) bytes: usize,
}

/// Tasks by id, each for those who have its key `K`, as whatever `T` is needed to look after them.
#[derive(Debug)]
pub(crate) struct TaskStore<K, T> {
    room: Room,
    open: Mutex<Open<K, T>>,
}

/// Whom a task belongs to.
#[derive(Debug, Clone)]
pub(crate) struct Belongs<K> {
    /// The key that a caller needs to ask for it.
    pub(crate) key: K,
    /// Whom it counts for.
    pub(crate) owner: Owner,
}

/// The fate of a result.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Kept<T> {
    /// `false`: it has no room.
    pub(crate) is_kept: bool,
    /// Tasks that have made room for it.
    pub(crate) gone: Vec<T>,
}

#[derive(Debug)]
struct Open<K, T> {
    tasks: HashMap<String, Entry<K, T>>,
    /// Orders tasks by their beginning.
    last: u64,
}

#[derive(Debug)]
struct Entry<K, T> {
    number: u64,
    of: Belongs<K>,
    task: T,
    until: Instant,
    /// Bytes of its result; `None`: it has not ended.
    size: Option<usize>,
}

impl<K: Eq, T: Clone> TaskStore<K, T> {
    pub(crate) fn new(room: Room) -> Self {
        Self { room, open: Mutex::new(Open { tasks: HashMap::new(), last: 0 }) }
    }

    /// Takes in a task that is made for its id, which cannot be guessed. Also returns the tasks that have made room for
    /// it. `None`: there is no room.
    pub(crate) fn keep(
        &self,
        of: Belongs<K>,
        now: Instant,
        until: Instant,
        make: impl FnOnce(&str) -> T,
    ) -> Option<(T, Vec<T>)> {
        let mut open = self.open();
        let mut gone = open.expire(now);
        if open.tasks.values().filter(|entry| entry.of.key == of.key).count() >= self.room.of_one {
            return None;
        }
        if open.tasks.len() >= self.room.tasks {
            let most = holder_of_most(open.tasks.values().map(|entry| (entry.of.owner.clone(), 1)), &of.owner)?;
            gone.extend(open.take_oldest(&most, |_| true));
        }
        let mut number = [0; 16];
        getrandom::fill(&mut number).ok()?;
        let id = format!("{:032x}", u128::from_be_bytes(number));
        let task = make(&id);
        open.last += 1;
        let entry = Entry { number: open.last, of, task: task.clone(), until, size: None };
        open.tasks.insert(id, entry);
        Some((task, gone))
    }

    /// The task with this id, if it is still kept and this is its key.
    pub(crate) fn find(&self, id: &str, key: &K, now: Instant) -> Option<T> {
        let open = self.open();
        open.tasks.get(id).filter(|entry| entry.until > now && entry.of.key == *key).map(|entry| entry.task.clone())
    }

    /// The task with this id, if it is still kept, whatever its key.
    pub(crate) fn peek(&self, id: &str, now: Instant) -> Option<T> {
        self.open().tasks.get(id).filter(|entry| entry.until > now).map(|entry| entry.task.clone())
    }

    /// The tasks with this key, oldest first.
    pub(crate) fn of(&self, key: &K, now: Instant) -> Vec<T> {
        let open = self.open();
        let mut found: Vec<_> = open.tasks.values().filter(|entry| entry.until > now && entry.of.key == *key).collect();
        found.sort_unstable_by_key(|entry| entry.number);
        found.into_iter().map(|entry| entry.task.clone()).collect()
    }

    /// A task has ended, with a result of so many bytes. Results make room for it: each time the oldest of the holder
    /// of most, this one only when that holder has no other.
    pub(crate) fn ended(&self, id: &str, size: usize) -> Kept<T> {
        let mut open = self.open();
        let Some(entry) = open.tasks.get_mut(id) else { return Kept { is_kept: true, gone: Vec::new() } };
        entry.size = Some(size);
        let (number, owner) = (entry.number, entry.of.owner.clone());
        let mut gone = Vec::new();
        while open.bytes() > self.room.bytes {
            let held = open.tasks.values().filter_map(|entry| Some((entry.of.owner.clone(), entry.size?)));
            let most = holder_of_most(held, &owner).unwrap_or_else(|| owner.clone());
            match open.take_oldest(&most, |entry| entry.size.is_some_and(|size| size > 0) && entry.number != number) {
                Some(oldest) => gone.push(oldest),
                None => {
                    if let Some(entry) = open.tasks.get_mut(id) {
                        entry.size = Some(0);
                    }
                    return Kept { is_kept: false, gone };
                }
            }
        }
        Kept { is_kept: true, gone }
    }

    /// Removes the tasks whose time is up.
    pub(crate) fn expire(&self, now: Instant) -> Vec<T> {
        self.open().expire(now)
    }

    /// All tasks.
    pub(crate) fn all(&self) -> Vec<T> {
        self.open().tasks.values().map(|entry| entry.task.clone()).collect()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.open().tasks.is_empty()
    }

    /// Removes a task.
    pub(crate) fn forget(&self, id: &str) -> Option<T> {
        self.open().tasks.remove(id).map(|entry| entry.task)
    }

    /// Removes all tasks with a key.
    pub(crate) fn close(&self, key: &K) -> Vec<T> {
        let mut open = self.open();
        open.tasks.extract_if(|_, entry| entry.of.key == *key).map(|(_, entry)| entry.task).collect()
    }

    fn open(&self) -> MutexGuard<'_, Open<K, T>> {
        // Nothing in here can panic half-way through a change.
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K, T> Open<K, T> {
    fn expire(&mut self, now: Instant) -> Vec<T> {
        self.tasks.extract_if(|_, entry| entry.until <= now).map(|(_, entry)| entry.task).collect()
    }

    fn bytes(&self) -> usize {
        self.tasks.values().filter_map(|entry| entry.size).sum()
    }

    /// The oldest of a holder's tasks, ended ones first.
    fn take_oldest(&mut self, owner: &Owner, may_go: impl Fn(&Entry<K, T>) -> bool) -> Option<T> {
        let candidates = self.tasks.iter().filter(|(_, entry)| entry.of.owner == *owner && may_go(entry));
        let (id, _) = candidates.min_by_key(|(_, entry)| (entry.size.is_none(), entry.number))?;
        let id = id.clone();
        self.tasks.remove(&id).map(|entry| entry.task)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn store(room: Room) -> TaskStore<u8, String> {
        TaskStore::new(room)
    }

    fn of(key: u8) -> Belongs<u8> {
        Belongs { key, owner: Owner::Principal(key.to_string().into()) }
    }

    const MANY: Room = Room { tasks: 9, of_one: 9, bytes: 0 };

    #[test]
    fn a_task_is_found_by_its_key_until_its_time_is_up() {
        let (store, now) = (store(Room { tasks: 2, ..MANY }), Instant::now());
        let soon = now + Duration::from_secs(1);
        let keep = |key, now, until| store.keep(of(key), now, until, str::to_owned).map(|(id, _)| id);
        let (mine, yours) = (keep(1, now, soon).unwrap(), keep(2, now, soon).unwrap());
        assert!(mine != yours && mine.len() == 32);
        assert!(keep(1, now, soon).is_none(), "there is no room");
        let found = |id: &str, who, now| store.find(id, &who, now).is_some();
        assert!(found(&mine, 1, now) && !found(&mine, 2, now) && !found("0", 1, now) && found(&yours, 2, now));
        assert!(!found(&mine, 1, soon) && store.of(&1, soon).is_empty());
        assert_eq!(store.of(&1, now), [mine.as_str()]);
        store.forget(&yours);
        assert!(!found(&yours, 2, now));
        assert_eq!((store.expire(now), store.expire(soon)), (vec![], vec![mine]));
        assert!(store.is_empty());
    }

    #[test]
    fn tasks_whose_time_is_up_make_room() {
        let (store, now) = (store(Room { tasks: 1, ..MANY }), Instant::now());
        let soon = now + Duration::from_secs(1);
        let (first, _) = store.keep(of(1), now, soon, str::to_owned).unwrap();
        let (_, gone) = store.keep(of(1), soon, soon, str::to_owned).unwrap();
        assert_eq!(gone, [first]);
    }

    #[test]
    fn each_key_has_room_of_its_own_until_it_is_closed() {
        let (store, now) = (store(Room { of_one: 1, ..MANY }), Instant::now());
        let keep = |key| store.keep(of(key), now, now + Duration::from_secs(1), str::to_owned).map(|(id, _)| id);
        let (one, two) = (keep(1).unwrap(), keep(2).unwrap());
        assert!(keep(1).is_none());
        assert_eq!(store.close(&1), [one]);
        assert!(keep(1).is_some() && store.find(&two, &2, now).is_some());
    }

    #[test]
    fn the_holder_of_most_makes_room_for_the_tasks_of_others() {
        let (store, now) = (store(Room { tasks: 4, ..MANY }), Instant::now());
        let keep = |key| store.keep(of(key), now, now + Duration::from_secs(1), str::to_owned);
        let ids = [1, 1, 1, 2].map(|key| keep(key).unwrap().0);
        assert_eq!(keep(1), None);
        // The second has ended, and goes before the first.
        store.ended(&ids[1], 0);
        let (_, gone) = keep(2).unwrap();
        assert_eq!(gone, [ids[1].as_str()]);
        let (_, gone) = keep(3).unwrap();
        assert!(gone == [ids[0].as_str()] || gone == [ids[3].as_str()]);
    }

    /// Results by key and size, one after the other, with room for 40 bytes.
    #[track_caller]
    fn check(results: &[(u8, usize)], left: &[bool]) {
        let (store, now) = (store(Room { bytes: 40, ..MANY }), Instant::now());
        let keep = |key| store.keep(of(key), now, now + Duration::from_secs(1), str::to_owned).unwrap().0;
        let ids: Vec<_> = results.iter().map(|(key, _)| keep(*key)).collect();
        let mut kept = Vec::new();
        for (id, (_, size)) in ids.iter().zip(results) {
            kept.push(store.ended(id, *size).is_kept);
        }
        for (index, id) in ids.iter().enumerate() {
            kept[index] &= store.find(id, &results[index].0, now).is_some();
        }
        assert_eq!(kept, left, "{results:?}");
    }

    #[test]
    fn the_oldest_results_of_the_largest_holder_make_room() {
        check(&[(1, 10), (1, 10), (1, 10), (1, 10)], &[true, true, true, true]);
        check(&[(1, 10), (1, 10), (1, 10), (1, 11)], &[false, true, true, true]);
        check(&[(1, 30), (1, 40)], &[false, true]);
        check(&[(1, 10), (2, 20), (2, 10), (1, 10)], &[true, false, true, true]);
        check(&[(1, 30), (2, 5), (2, 10)], &[false, true, true]);
    }

    #[test]
    fn a_result_has_no_room_when_its_owner_holds_most_by_it_alone() {
        check(&[(1, 41)], &[false]);
        check(&[(1, 10), (2, 31)], &[true, false]);
        check(&[(1, 21), (2, 21)], &[true, false]);
        check(&[(2, 20), (1, 10), (2, 31)], &[false, true, false]);
        check(&[(1, 10), (2, 31), (1, 30)], &[true, false, true]);
    }

    #[test]
    fn a_forgotten_task_needs_no_room() {
        assert_eq!(store(MANY).ended("0", 1_000), Kept { is_kept: true, gone: vec![] });
    }
}
